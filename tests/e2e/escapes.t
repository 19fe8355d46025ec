#!/bin/bash
# SPDX-License-Identifier: MIT
# escapes.t - names of a hostile process, with escape sequences and direction overrides, in the
# output of the commands that print names of processes and threads.
. "$(dirname "$0")/lib.sh"

cat >"$T/hostile.py" <<'PY'
import ctypes, os, sys, threading
def name(text):
    ctypes.CDLL(None).prctl(15, text, 0, 0, 0)
def named(text):
    name(text)
    ready.release()
    end.wait()
ready, end = threading.Semaphore(0), threading.Event()
name(b"m\xc2\x9b\xe2\x80\xae\x1b[1m\n")
names = [b"t\x1b[31m", b"u\xc2\x9b31m", b"v\xe2\x80\xaetxt", b"w\x9b\r\n"]
for text in names:
    threading.Thread(target=named, args=(text,), daemon=True).start()
for text in names:
    ready.acquire()
print("ready", os.getpid(), flush=True)
sys.stdin.read()
PY
mkfifo "$T/in"
PMC_OUT=$T/x.pmc PMC_EVENTS=task-clock PMC_REPORT=off agent python3 "$T/hostile.py" <"$T/in" >"$T/ready" &
exec 7>"$T/in"
until grep -q ready "$T/ready"; do sleep 0.05; done
read -r _ pid <"$T/ready"

# harmless TEXT FILE...: valid UTF-8 without controls but line breaks, and without characters that
# change the direction; TEXT is in it.
cat >"$T/harmless.py" <<'PY'
import sys, unicodedata
text = b"".join(open(f, "rb").read() for f in sys.argv[2:]).decode()
bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
if bad or sys.argv[1] not in text:
    sys.exit("%r: %r" % (bad, text))
PY
harmless() {
	python3 "$T/harmless.py" "$1" "$T/out" "$T/err"
}

run "$PMCTL" doctor
ok "doctor" harmless perf_event_paranoid
for format in table csv json; do
	run "$PMCTL" stat --per-thread -n 1 -I 100ms --format $format -e task-clock -p "$pid"
	ok "stat --per-thread --format $format" harmless 31m
done
run "$PMCTL" top -b -n 1 -I 100ms --by thread "$pid"
ok "top -b" harmless futex
run "$PMCTL" dump -o "$T/now.pmc" "$pid"
ok "dump" harmless now.pmc
for format in table csv json; do
	run "$PMCTL" report --format $format "$T/now.pmc"
	ok "report --format $format" harmless 31m
done
run "$PMCTL" diff --all --by name "$T/now.pmc" "$T/now.pmc"
ok "diff --by name" harmless 31m
exec 7>&-
wait

# ---- an event of a forged dump -------------------------------------------------------------------
cat >"$T/forge.py" <<'PY'
import ctypes, struct, sys
xxh = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh.restype, xxh.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
data, out, at, sets = open(sys.argv[1], "rb").read(), [], 0, {}
while at < len(data):
    frame = bytearray(data[at:at + struct.unpack_from("<I", data, at + 4)[0]])
    at += len(frame)
    old = struct.unpack_from("<Q", frame, 8)[0]
    if frame[17] == 1:
        frame = frame.replace(b"task-clock", b"e\x1b[31m;\n\xff\x9b")
    if frame[17] == 10:
        struct.pack_into("<Q", frame, 64, sets[struct.unpack_from("<Q", frame, 64)[0]])
    sets[old] = xxh(bytes(frame[16:]), len(frame) - 16)
    struct.pack_into("<Q", frame, 8, sets[old])
    out.append(frame)
open(sys.argv[2], "wb").write(b"".join(sorted(out, key=lambda f: f[17] != 1)))
PY
PMC_OUT=$T/s.pmc PMC_EVENTS= PMC_REPORT=off PMC_SAMPLE=task-clock@1000000 agent "$PROG/samples" leaf 50
"$PMCTL" merge "$T/s.pmc" -o "$T/sorted.pmc"
python3 "$T/forge.py" "$T/sorted.pmc" "$T/forged.pmc"
for by in function path line; do
	run "$PMCTL" report --by $by "$T/forged.pmc"
	ok "report --by $by: an event" harmless 31m
done
for by in function line; do
	for format in table csv json; do
		run "$PMCTL" diff --by $by --format $format "$T/forged.pmc" "$T/forged.pmc"
		ok "diff --by $by --format $format: an event" harmless 31m
	done
done
for format in folded speedscope chrome openmetrics csv jsonl; do
	run "$PMCTL" export --to $format "$T/forged.pmc"
	ok "export --to $format: an event" harmless ''
done
done_testing
