#!/bin/bash
# SPDX-License-Identifier: MIT
# dump_page.t - pmc-dump(5) agrees with pmc/dump.h and the golden dump: offset and size of every
# field, value of every constant, every byte of the examples.
cd "$(dirname "$0")/.." || exit 1
exec python3 - include/pmc/dump.h docs/man/pmc-dump.5 tests/golden/version-1.dump <<'END'
import re
import sys

header, page = (open(name, encoding="utf-8").read() for name in sys.argv[1:3])
golden = open(sys.argv[3], "rb").read()
n = failed = 0


def ok(good, name, why=""):
    global n, failed
    n += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {n} - {name}")
    if not good:
        print(f"# {why}")


code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
sizes = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8, "double": 8, "char": 1}
for struct, body in re.findall(r"struct (pmc_\w+) \{(.*?)\};", code, flags=re.S):
    fields, at = [], 0
    for kind, names in re.findall(r"(\w+) ([^;]+);", body):
        for name, times in re.findall(r"(\w+)(?:\[(\d+)\])?", names):
            at = -(-at // sizes[kind]) * sizes[kind]
            size = sizes[kind] * int(times or 1)
            fields.append((at, size, name))
            at += size
    text = re.search(rf"^struct {struct}\n(.*?)^\.EE", page, flags=re.S | re.M)
    rows = re.findall(r"^ +(\d+) +(\d+) +(\w+)", text.group(1), flags=re.M) if text else []
    rows = [(int(a), int(s), name) for a, s, name in rows]
    ok(rows == fields, f"struct {struct}", f"header {fields}, page {rows}")

# Constants: #define and enum, with their values.
values = {}
for name, value in re.findall(r"#define (PMC_\w+)[ \t]+(\S.*)", code):
    values[name] = value.strip()
for body in re.findall(r"enum pmc_\w+ \{(.*?)\};", code, flags=re.S):
    last = -1
    for name, value in re.findall(r"(PMC_\w+)(?:\s*=\s*(\d+))?", body):
        last = int(value) if value else last + 1
        values[name] = last
plain = page.replace("\\-", "-")
missing = []
for name, value in values.items():
    if re.match(r"PMC_(DUMP_H|FRAME_MAGIC_\d|DUMP_VERSION|FRAME_MAX_BYTES|EVENTS_MAX)$", name):
        continue
    if name.startswith("PMC_FRAME_"):
        found = f".SS {value}: {name}" in plain
    elif name in ("PMC_NO_GROUP", "PMC_NO_SEQ", "PMC_REASON_NONE"):
        found = name in plain
    else:
        found = re.search(rf"\b{value}\s+(?:\.BR? )?{name}\b|{name}\s+\({value}\b", plain)
    if not found:
        missing.append(f"{name} = {value}")
ok(not missing, f"{len(values)} constants with their values", "; ".join(missing))

rows = re.findall(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:\s|$)", page, flags=re.M)
wrong = [a for a, b in rows if golden[int(a, 16):].find(bytes.fromhex(b)) != 0]
ok(len(rows) > 50 and not wrong, "the hex examples equal the bytes of the golden dump", wrong)
gaps = [b[0] for a, b in zip(rows, rows[1:])
        if int(a[0], 16) + len(a[1].split()) != int(b[0], 16)]
ok(len(gaps) == 1, "the hex examples have exactly one gap", gaps)
print(f"1..{n}")
sys.exit(failed != 0)
END
