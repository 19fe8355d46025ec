#!/bin/bash
# SPDX-License-Identifier: MIT
# export-html.t - a dump as a page, beside the JSON report of the same dump.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

run "$PMCTL" run --report off --sample task-clock@1000000 -e task-clock,page-faults -o x.pmc -- \
	"$PROG/samples" threads 100
is "$status" 0 "a program with samples"
"$PMCTL" run --report off -e task-clock,page-faults -o none.pmc -- "$PROG/regions" nest 20
"$PMCTL" report --by function --format json x.pmc >samples.json
"$PMCTL" report --format json x.pmc >report.json
"$PMCTL" report --by pool --format json x.pmc >pools.json

# page_data FILE: the JSON in a page; page_rest FILE: all but it and the nonces
no_nonce='s/(nonce(-|="))[0-9a-f]{32}/\1/g'
page_data() {
	sed -n '/^<script type="application\/json"/,/^<\/script>/p' "$1" | sed '1d;$d'
}
page_rest() {
	sed '/^<script type="application\/json"/,/^<\/script>/d' "$1" | sed -E "$no_nonce"
}
# same_page PAGE OTHER NAME
same_page() {
	sed -E "$no_nonce" "$1" >one
	sed -E "$no_nonce" "$2" >other
	same one other "$3"
}
nonces() { grep -ohE 'nonce(-|=")[0-9a-f]{32}' "$@" | grep -oE '[0-9a-f]{32}$'; }
# column TABLE NAME FILE: the sum of a column
column() {
	jq --arg by "$1" --arg name "$2" '.tables[] | select(.by == $by).table |
		(.columns | map(.name) | index($name)) as $i | [.rows[][$i][0]] | add' "$3"
}

# ---- the page ------------------------------------------------------------------------------------
run "$PMCTL" export --to html -o x.html x.pmc
is "$status $(wc -c <"$T/out")" "0 0" "a page in a file"
"$PMCTL" export --to html x.pmc >again.html
same_page again.html x.html "to standard output the same"
is "$(nonces x.html | wc -l) $(nonces x.html | sort -u | wc -l)" "4 1" "policy, style and script have one nonce"
is "$(nonces x.html again.html | sort -u | wc -l)" 2 "each page has its own"
page_data x.html >data.json
ok "its data is JSON" jq -e .pmctl data.json
is "$(column thread task-clock data.json)" "$(jq '[.threads[].events[] | select(.name == "task-clock").value] | add' report.json)" \
	"threads: an event's sum is that of the report"
is "$(column thread page-faults data.json)" "$(jq '[.threads[].events[] | select(.name == "page-faults").value] | add' report.json)" \
	"threads: another one's"
is "$(jq '[.tables[] | select(.by == "thread").table.rows[][1][0]] | sort' -c data.json)" "$(jq -c '[.threads[].tid] | sort' report.json)" \
	"each thread has a row"
is "$(column pool threads data.json)" "$(jq '[.groups[].threads] | add' pools.json)" "pools: their threads"
is "$(column pool page-faults.sum data.json)" "$(jq '[.groups[].events[] | select(.name == "page-faults").sum] | add' pools.json)" \
	"pools: an event's sum"
"$PMCTL" run --report off -o exec.pmc -- sh -c 'sh -c "exec true"; true'
"$PMCTL" export --to html exec.pmc >exec.html
is "$(page_data exec.html | jq -c '[.processes, (.tables[] | select(.by == "process").table.all)]')" \
	"$("$PMCTL" report --format json exec.pmc | jq -c '.processes | [(map(select(.after_exec | not)) | length), length]')" \
	"processes, and their images"
is "$(jq -r '.hosts[]' data.json)" "$(jq -r '[.processes[].host] | unique[]' report.json)" "the host"
if perf stat -a true >/dev/null 2>&1; then
	"$PMCTL" profile -o waits.pmc -- python3 -c 'import time
for ms in range(1, 30): time.sleep(ms / 1000)' 2>/dev/null
	"$PMCTL" export --to html waits.pmc >waits.html
	is "$(page_data waits.html | jq '[.flames[] | select(.waits).lengths[] | . as $list | range(1; length; 2) | $list[.]] | add')" \
		"$("$PMCTL" report --format json waits.pmc | jq '[.threads[].wait_histogram[][1]] | add')" "each wait is in a histogram"
else
	skip "no permission to record waits" "each wait is in a histogram"
fi
"$PMCTL" export --to html x.pmc none.pmc >two.html
is "$(page_data two.html | jq -c .files)" '["x.pmc","none.pmc"]' "the dumps"
boxes='.flames[0].boxes as $b | [range(0; $b | length; 5) | $b[.:. + 5]]'
is "$(jq '.flames[0] | "\(.event) \(.samples) \(.weight)"' data.json)" \
	"$(jq '.sampling | "\(.event) \(.samples) \(.weight)"' samples.json)" "the samples' event, number and weight"
is "$(jq -r '.flames[0].explained' data.json)" "$("$PMCTL" report --by function --width 1000 x.pmc | sed -n 's/^ \([0-9,]* samples by .*\)/\1/p')" \
	"what the samples explain is the line of the report"
is "$(jq "$boxes"' | map(select(.[0] == 0)[3]) | add' data.json)" "$(jq .sampling.weight samples.json)" "the flame graph has the whole weight"
is "$(jq "$boxes"' | map(.[2]) | add' data.json)" "$(jq .sampling.weight samples.json)" "so have its boxes, each for itself"
is "$(jq -r '.flames[0].functions as $f | '"$boxes"' | map(select(.[0] > 0)) | group_by(.[1]) |
	map({f: $f[.[0][1]], w: map(.[2]) | add}) | max_by(.w) | "\(.f) \(.w)"' data.json)" \
	"$(jq -r '[.groups[]] | max_by(.self) | "\(.key) \(.self)"' samples.json)" "the heaviest function"
is "$(jq -c '.roots as $r | '"$boxes"' | map(select(.[0] == 0) | [$r[.[1]].tid, .[4]]) | sort' data.json)" \
	"$(jq -c '[.threads[] | select(.samples > 0) | [.tid, .samples]] | sort' report.json)" "threads have their samples"
is "$(page_rest x.html | grep -cE '(src|href) *=|https?:|@import|url\(')" 0 "the page loads nothing"
is "$(grep -cE '^@(page|data)' x.html)" 0 "the page has all its parts"
if command -v node >/dev/null; then
	sed -n '/^<script nonce/,/^<\/script>/p' x.html | sed '1d;$d' >page.js
	ok "its script is valid" node --check page.js
else
	skip "no node, which checks scripts" "its script is valid"
fi

"$PMCTL" report --html report.html x.pmc
same_page report.html x.html "report --html writes the same"
"$PMCTL" report --html event.html --event task-clock x.pmc
same_page event.html x.html "with --event"
run "$PMCTL" export --to html -o none.html none.pmc
page_data none.html >none.json
is "$status $(jq '.flames | length' none.json)" "0 0" "a dump without samples"
"$PMCTL" run --report off --sample task-clock@1000000000 -o few.pmc -- "$PROG/samples" leaf 20
run "$PMCTL" export --to html -o few.html few.pmc
page_data few.html >few.json
is "$status $(jq -c '.flames[0] | [.samples, (.explained | startswith("0 samples"))]' few.json)" "0 [0,true]" "an event without samples explains why"
"$PMCTL" report --by region --format json none.pmc >regions.json
is "$(column region calls none.json)" "$(jq '[.groups[].calls] | add' regions.json)" "regions have a table"
page_rest none.html >a
page_rest x.html >b
same a b "pages differ in their data only"

# ---- source lines, and the time ------------------------------------------------------------------
"$PMCTL" report --by line --format json x.pmc >lines.json
is "$(jq -c '[.flames[0].lines | [range(0; length; 4) as $i | {f: .[$i + 1], l: .[$i + 2], w: .[$i + 3]}] | group_by([.f, .l])[] | [.[0].f, .[0].l, (map(.w) | add)]] | sort' data.json)" \
	"$(jq -c '[.groups[] | select(.self > 0 and .line and .file) | [.file, .line, .self]] | group_by(.[0:2]) | map([.[0][0], .[0][1], (map(.[2]) | add)]) | sort' lines.json)" \
	"own weights of source lines"
PMC_OUT=$T/steps.pmc PMC_INTERVAL=20ms PMC_REPORT=off agent "$PROG/burners" 3 200 >out
"$PMCTL" export --to html steps.pmc >steps.html
page_data steps.html >steps.json
"$PMCTL" report --format json steps.pmc >rows.json
is "$(jq '.strip | "\(.lanes | length) \([.lanes[].cpu_ns | length] | unique)"' steps.json)" \
	"$(jq '"\(.threads | map(select(.cpu_ns > 0)) | length) [200]"' rows.json)" "snapshots: a lane for each thread"
within "$(jq '[.strip.lanes[].cpu_ns | add] | add' steps.json)" "$(jq '[.threads[].cpu_ns] | add' rows.json)" 1 \
	"with its CPU time"
if "$PMCTL" profile -o times.pmc -- sh -c 'sleep 0.3' >"$T/out" 2>"$T/err"; then
	"$PMCTL" export --to html times.pmc >times.html
	page_data times.html >times.json
	between "$(jq '[.strip.lanes[] | select(.thread == "sleep") | .waits_ns | add] | add' times.json)" 290000000 1000000000 \
		"pmctl profile: waits over time"
else
	skip "waits cannot be recorded here: $(tail -n 1 "$T/err")" "pmctl profile: waits over time"
fi

# ---- rows that are missing ----------------------------------------------------------------------
"$PMCTL" run --report off --sample task-clock@1000000 -o two.pmc -- "$PROG/samples" threads 50
# A THREAD frame has type 4, behind magic, size, hash and version.
python3 - two.pmc missing.pmc <<'END'
import struct, sys
dump, at, done = bytearray(open(sys.argv[1], "rb").read()), 0, False
while at < len(dump) and not done:
    size = struct.unpack_from("<I", dump, at + 4)[0]
    if dump[at + 17] == 4:
        dump[at + size - 1] ^= 1
        done = True
    at += size
open(sys.argv[2], "wb").write(dump)
END
run "$PMCTL" export --to html -o missing.html missing.pmc
is "$status $(grep -c '1 damaged frame' err)" "0 1" "samples of a thread whose row is damaged"

# ---- bounds ----------------------------------------------------------------------------------------
"$O/bench/gen_samples" 5000 50000 >large.pmc
"$PMCTL" export --to html -o large.html large.pmc
page_data large.html >large.json
is "$(jq -c '.tables[0].table | [.all, (.rows | length) == .all]' large.json 2>/dev/null)" "[5000,false]" "many threads: not all have a row"
is "$(jq '.tables[0].table | (.columns | map(.name) | index("cpu_ns")) as $i |
	[(.rows[], .sums[0])[$i][0]] | add' large.json)" "$("$PMCTL" report --format json large.pmc | jq '[.threads[].cpu_ns] | add')" \
	"many threads: the others are one row"
is "$(jq .by_pool large.json)" true "many threads: flame graphs of pools"
is "$(jq '.flames[0] | .left_out > 0 and (.boxes | length) <= 250000' large.json)" true "small boxes are left out"
is "$(jq "$boxes"' | map(select(.[0] == 0)[3]) | add' large.json)" "$(jq '.flames[0].weight' large.json)" "many threads: the whole weight"

# ---- hostile names -----------------------------------------------------------------------------------
# Names of all kinds are replaced by others of the same length, and frames get their hashes again.
cat >forge.py <<'PY'
import ctypes, struct, sys
xxh = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh.restype, xxh.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
names = {b"tail_caller": b"</script><i", b"task-clock": b"<img/src=x", b"samples": b"<script", b"threads": b"a\xe2\x80\xa8<!&"}
data, at, frames, known = open(sys.argv[1], "rb").read(), 0, [], {}
while at < len(data):
    frame = bytearray(data[at:at + struct.unpack_from("<I", data, at + 4)[0]])
    at += len(frame)
    for old, new in names.items():
        frame[24:] = frame[24:].replace(old, new)
    frames.append(frame)
def seal(frame):
    known[struct.unpack_from("<Q", frame, 8)[0]] = new = xxh(bytes(frame[16:]), len(frame) - 16)
    struct.pack_into("<Q", frame, 8, new)
shared = [f for f in frames if f[17] in (1, 2, 8)]
others = [f for f in frames if f[17] not in (1, 2, 8)]
for frame in shared:
    seal(frame)
for frame in others:
    for i in range(24, len(frame) - 7, 8):
        word = struct.unpack_from("<Q", frame, i)[0]
        if word in known:
            struct.pack_into("<Q", frame, i, known[word])
for frame in others:
    seal(frame)
open(sys.argv[2], "wb").write(b"".join(shared + others))
PY
python3 forge.py x.pmc forged.pmc
run "$PMCTL" export --to html -o forged.html forged.pmc
is "$status" 0 "hostile names"
diag_file "$T/err" "warnings"
page_data forged.html >forged.json
page_rest forged.html >a
page_rest x.html >b
same a b "hostile names are in the data only"
is "$(grep -c '[<&]' forged.json)" 0 "the data has no < and &"
is "$(LC_ALL=C grep -c $'\xe2\x80[\xa8\xa9]' forged.json)" 0 "the data has no U+2028"
is "$(jq -ac '[(.flames[0] | .event, (.functions | index("</script><i") != null)), (.tables[0].table | .command, (.rows | map(.[0]) | index("<script") != null))]' \
	forged.json)" '["<img/src=x",true,"<script a\u2028<!& 100",true]' "but the names"

# ---- refusals ----------------------------------------------------------------------------------------
for args in "export --to html -o x.pmc x.pmc" "report --html x.pmc x.pmc" \
	"report --html a.html --by pool x.pmc" \
	"report --html a.html --format csv x.pmc" "report --html a.html -o a x.pmc" "report --html a.html"; do
	# shellcheck disable=SC2086
	run "$PMCTL" $args
	is "$status $(wc -l <"$T/err") $([ -e a.html ] && echo written)" "2 1 " "refused: $args"
done
run "$PMCTL" report --html x.pmc
is "$status" 2 "refused: a dump in place of the page"
cp none.pmc kept.pmc
for args in "export --to html -o none.pmc x.pmc" "report --html none.pmc x.pmc"; do
	# shellcheck disable=SC2086
	run "$PMCTL" $args
	is "$status $(wc -l <"$T/err")" "1 1" "refused: $args"
	same none.pmc kept.pmc "another dump is kept"
done
run "$PMCTL" export --to html --event nothing x.pmc
is "$status $(grep -c nothing "$T/err")" "1 1" "an event without samples"
run bash -c '"$1" export --to html x.pmc >/dev/full' - "$PMCTL"
is "$status" 1 "a full disk"

done_testing
