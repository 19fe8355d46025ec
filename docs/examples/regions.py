# SPDX-License-Identifier: MIT
"""Marked regions from Python, by ctypes: what each thread did in them.

    LD_PRELOAD=libpmcagent.so PMC_OUT=run.pmc python3 regions.py
    pmctl report --by region run.pmc

Without the agent the marks do nothing. The same two functions serve every language that can call
C by name (Java: JNA's NativeLibrary.getProcess(), or java.lang.foreign's Linker.defaultLookup()).
"""
import contextlib
import ctypes
import threading


def _agent():
    program = ctypes.CDLL(None)  # whatever is loaded, the agent too
    try:
        begin, end = program.pmc_region_begin, program.pmc_region_end
    except AttributeError:
        return None, None
    begin.argtypes, begin.restype = [ctypes.c_char_p], None
    end.argtypes, end.restype = [], None
    return begin, end


_begin, _end = _agent()


@contextlib.contextmanager
def region(name):
    """Marks the block, however it is left. Begin and end must be in one thread."""
    if _begin is None:
        yield
        return
    _begin(name.encode())
    try:
        yield
    finally:
        _end()


sums = []


def job():
    with region("job"):
        with region("fill"):
            numbers = list(range(1000000))
        with region("sum"):
            sums.append(sum(numbers))


if __name__ == "__main__":
    threads = [threading.Thread(target=job) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("sum", sums[0])
