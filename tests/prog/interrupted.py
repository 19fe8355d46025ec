# SPDX-License-Identifier: MIT
# An interrupt that is handled, then one that is not: a traceback and death by SIGINT.
import os
import signal

print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, flush=True)
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.sigtimedwait([], 10)
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(os.getpid(), signal.SIGINT)
signal.sigtimedwait([], 10)
