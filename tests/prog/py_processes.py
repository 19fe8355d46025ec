# SPDX-License-Identifier: MIT
# METHOD: a pool of two and one process of its own, started by fork or spawn.
import multiprocessing as mp
import os
import sys


def square(n):
    return n * n


def child(queue):
    queue.put(sum(i * i for i in range(20000)))
    sys.exit(7)


if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(square, range(10)))
        pool.close()
        pool.join()
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)
    pid = os.fork()
    if pid == 0:
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
