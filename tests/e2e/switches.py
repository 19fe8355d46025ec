#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""switches.py FILE LATE STRAY: whether the records that sched_switch printed fit together.

TID is PrevPID, and TIME does not go back but as often as the reader said (LATE). Of one CPU's records
who leaves is who came before: STRAY in a thousand may be otherwise, since kernels drop the event of a
task that leaves with its recursion count stuck, for every tool alike; STRAY of all: not looked at.
Prints what is wrong, then the number of records.
"""
import re
import sys

# A thread's name may hold any byte, line ends too.
text = open(sys.argv[1], "rb").read().decode("latin-1")
late, stray = int(sys.argv[2]), sys.argv[3]
pattern = re.compile(r"TID: (\d+), PID: (-?\d+)\nTIME: (\d+)\n"
                     r"PrevPID: (\d+) PrevComm: ([^\0]{0,15}) NextComm: ([^\0]{0,15}) NextPID:(\d+)\n\n")
records = pattern.findall(text)
if "".join(pattern.split(text)[::8]):
    print("text that is no record")
last, wrong, broken, before = 0, [], [], None
for tid, pid, time, prev, _, _, coming in records:
    if tid != prev:
        wrong.append(f"TID {tid} is not PrevPID {prev} at {time}")
    if int(time) < last:
        late -= 1
        if late < 0:
            wrong.append(f"{time} after {last}")
    if before not in (None, prev):
        broken.append(f"{before} came, {prev} leaves at {time}")
    last, before = max(last, int(time)), coming
if stray != "all" and len(broken) * 1000 > int(stray) * len(records):
    wrong += broken
for line in wrong[:5]:
    print(line)
print(len(records))
