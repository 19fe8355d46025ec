# SPDX-License-Identifier: MIT
"""py_threads: four threads that hash outside the interpreter lock, results in order."""
import ctypes
import hashlib
import sys
import threading

libc = ctypes.CDLL(None)
results = {}


def work(i):
    libc.prctl(15, b"py-%d" % i, 0, 0, 0)
    data = bytes([i]) * (1 << 20)
    h = hashlib.sha256()
    for _ in range(30):
        h.update(data)
    results[i] = h.hexdigest()


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for i in range(4):
    print(results[i])
print("done", file=sys.stderr)
sys.exit(9)
