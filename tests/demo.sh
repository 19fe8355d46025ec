#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh - measures two real programs and prints their per-thread reports.
set -u
cd "$(dirname "$0")/.." || exit 1
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
T=$(mktemp -d "${TMPDIR:-/tmp}/pmc-demo.XXXXXX")
trap 'rm -rf "$T"' EXIT
for v in $(compgen -e | grep '^PMC_'); do unset "$v"; done
unset LD_PRELOAD

say() { printf '\n\033[1m%s\033[0m\n' "$*" | { [ -t 1 ] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; }

say "Making a 100 MB file of text"
seq 1 7000000 | awk '{ printf "%d the %x quick %o brown fox\n", $1, $1 * 7919, $1 }' 2>/dev/null |
	head -c 100000000 >"$T/big.txt"
ls -l "$T/big.txt" | awk '{ print $5, "bytes" }'

# The interpreter itself: the shim of a version manager starts dozens of shells.
python=$(python3 -c 'import sys; print(sys.executable)') || exit 1

cd "$T" || exit 1
say "\$ LD_PRELOAD=libpmcagent.so xz -T4 -0 -k big.txt"
LD_PRELOAD=$O/libpmcagent.so xz -T4 -0 -k big.txt || exit 1

say "\$ pmctl run -e task-clock,page-faults -o threads.pmc -- python3 threads.py"
cat >threads.py <<'END'
import ctypes, hashlib, threading, zlib

libc = ctypes.CDLL(None)

def named(name, work):
    def go():
        libc.prctl(15, name.encode(), 0, 0, 0)
        work()
    return threading.Thread(target=go)

data = bytes(range(256)) * 16384

def hashing(rounds):
    for _ in range(rounds):
        hashlib.sha256(data).digest()

def packing():
    for _ in range(3):
        zlib.compress(data, 6)

def allocating():
    for _ in range(40):
        bytearray(1 << 24)

threads = [named("hash-0", lambda: hashing(60)), named("hash-1", lambda: hashing(30)),
           named("pack", packing), named("allocate", allocating)]
for t in threads:
    t.start()
for t in threads:
    t.join()
END
"$O/pmctl" run -e task-clock,page-faults -o threads.pmc -- "$python" threads.py || exit 1

say "\$ pmctl report --by pool threads.pmc"
"$O/pmctl" report --by pool threads.pmc || exit 1

cd - >/dev/null || exit 1
say "Next: ${O#"$PWD"/}/pmctl run -- COMMAND"
