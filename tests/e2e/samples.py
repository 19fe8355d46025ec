# SPDX-License-Identifier: MIT
"""samples.py DUMP total|match|paths ... - reads the samples of a dump, for samples.t.

total: a JSON object per thread. match REGEX [LEAF]: the share in percent of the samples whose path
matches as a whole (of those that start with LEAF), and their number. paths: each with its count.
creation: the paths that created threads. lost: how often samples and rows refer to stacks that
the dump does not have, and stacks to modules; twice: how many stacks it has more than once. A path has the innermost function first, joined by '<'.
Programs of another machine are looked for in SAMPLES_PROGS; ADDR2LINE is the tool for them.
"""
import json
import os
import re
import struct
import subprocess
import sys

data = open(sys.argv[1], "rb").read()
modules, stacks, samples, created = {}, {}, {}, []
twice = 0
NO_MODULE = 0xFFFF


def text(body, at):
    (n,) = struct.unpack_from("<I", body, at)
    return body[at + 4 : at + 4 + n].decode("latin-1"), at + ((4 + n + 7) & ~7)


def frames():
    at = 0
    while at + 48 <= len(data):
        size, digest = struct.unpack_from("<IQ", data, at + 4)
        kind, (fixed,) = data[at + 17], struct.unpack_from("<H", data, at + 18)
        (snapshot,) = struct.unpack_from("<Q", data, at + 40)
        yield kind, digest, data[at + 24 : at + 40], snapshot, data[at + 48 : at + size], fixed
        at += size


for kind, digest, who, snapshot, body, fixed in frames():
    if kind == 8:
        modules[digest] = text(body, fixed)[0]
for kind, digest, who, snapshot, body, fixed in frames():
    if kind == 9:
        n_modules, n = struct.unpack_from("<II", body)
        known = struct.unpack_from(f"<{n_modules}Q", body, fixed)
        at = fixed + 8 * n_modules
        for _ in range(n):
            number, depth, flags = struct.unpack_from("<IHH", body, at)
            words = struct.unpack_from(f"<{depth}Q", body, at + 8)
            at += 8 + 8 * depth
            places = [(modules.get(known[w >> 48], "?") if w >> 48 != NO_MODULE else "",
                       w & (1 << 48) - 1) for w in words]
            twice += (who, number) in stacks
            stacks[who, number] = places, flags
    elif kind == 4:
        seq, number = struct.unpack_from("<Q", body)[0], struct.unpack_from("<I", body, 124)[0]
        if number:
            created.append((who, number))
    elif kind == 10:
        seq, time, _, part, n, _, _, taken, lost, _, cut = struct.unpack_from("<3Q2I6Q", body)
        groups, flags = struct.unpack_from("<HH", body, 80)
        at, value = fixed, 0
        if groups:
            *_, n_values = struct.unpack_from("<QQII", body, at)
            value = struct.unpack_from("<Q", body, at + 24)[0] if n_values else 0
            at += 24 + 8 * n_values
        listed = [struct.unpack_from("<IIQ", body, at + 16 * i) for i in range(n)]
        key = who, seq, part
        if key not in samples or samples[key][0] < (snapshot, time):
            samples[key] = (snapshot, time), dict(samples=taken, lost=lost, cut=cut, value=value, flags=flags), listed

wanted = {}
for places, _ in stacks.values():
    for module, address in places:
        wanted.setdefault(module, set()).add(address)
names = {}
for module, addresses in wanted.items():
    order = sorted(addresses)
    out = []
    here = os.path.join(os.environ.get("SAMPLES_PROGS", "/"), os.path.basename(module))
    here = here if os.path.isfile(here) else module if "SAMPLES_PROGS" not in os.environ else ""
    if here.startswith("/"):
        out = subprocess.run([os.environ.get("ADDR2LINE", "addr2line"), "-f", "-e", here], input="\n".join(map(hex, order)),
                             capture_output=True, text=True).stdout.split("\n")[::2]
    for i, address in enumerate(order):
        name = out[i] if i < len(out) and out[i] != "??" else module.rsplit("/", 1)[-1] or "raw"
        names[module, address] = name


def path(who, number):
    places, flags = stacks.get((who, number), ([], 0))
    return "<".join(names[p] for p in places), flags


what = sys.argv[2]
if what == "lost":
    used = {(who, number) for (who, _, _), (_, _, listed) in samples.items()
            for number, _, _ in listed if number}
    print(len((used | set(created)) - set(stacks)), "?" in wanted)
elif what == "twice":
    print(twice)
elif what == "total":
    sums = {}
    for (who, seq, part), (_, head, listed) in sorted(samples.items()):
        row = sums.setdefault((who, seq), dict(seq=seq, weight=0, listed=0))
        if not part:
            row.update(head)
        row["weight"] += sum(entry[2] for entry in listed)
        row["listed"] += sum(entry[1] for entry in listed)
    for row in sums.values():
        print(json.dumps(row))
elif what == "creation":
    for who, number in created:
        print(path(who, number)[0])
else:
    count = {}
    for (who, seq, part), (_, _, listed) in samples.items():
        for number, n, _ in listed:
            key = path(who, number)[0]
            count[key] = count.get(key, 0) + n
    if what == "paths":
        for key, n in sorted(count.items(), key=lambda item: -item[1]):
            print(n, key)
    else:
        start = sys.argv[4] if len(sys.argv) > 4 else ""
        some = {key: n for key, n in count.items() if key.startswith(start)}
        good = sum(n for key, n in some.items() if re.fullmatch(sys.argv[3], key))
        every = sum(some.values())
        print(int(100 * good / every) if every else 0, every)
