# SPDX-License-Identifier: MIT
"""The module pmc from a script or a notebook (a cell starts at %%): count, mark, and read a dump.

    pmctl run -o run.pmc -- python3 python.py       # without pmctl run the marks do nothing
    python3 python.py run.pmc
"""
# %% Count a block: events that cannot be counted here are None or replaced by the fallback
import sys
from concurrent.futures import ThreadPoolExecutor

import pmc

with pmc.Group("cycles", "instructions", fallback="task-clock") as group:
    squares = [i * i for i in range(100000)]
reading = group.read()
print("counted:", dict(reading))
if reading.scaled:
    print("estimates, from", reading.running_ns, "of", reading.enabled_ns, "ns")


# %% Mark regions: each thread's counts in them, under the agent
@pmc.region
def work(n):
    with pmc.region("fill"):
        numbers = list(range(n))
    with pmc.region("sum"):
        return sum(numbers)


with ThreadPoolExecutor(2) as pool:
    print("sum:", *pool.map(work, [1000000, 1000000]))

# %% Read a dump: a dict per row; with pandas, pmc.read(..., frame=True) is a DataFrame
for row in pmc.read(*sys.argv[1:2], by="region", sort="calls") if sys.argv[1:] else []:
    print(row["key"], row["threads"], row["calls"], f"{row['cpu_ns'] / 1e6:.1f} ms")
