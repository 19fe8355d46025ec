#!/bin/bash
# SPDX-License-Identifier: MIT
# export.t - dumps in the formats of other tools, beside the report of the same dump.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

run "$PMCTL" run --report off --sample task-clock@1000000 --interval 20ms -e task-clock,page-faults -o x.pmc -- \
	"$PROG/samples" threads 100
is "$status" 0 "a program with samples and snapshots"
"$PMCTL" report --by function --format json x.pmc >report.json
"$PMCTL" report --format json x.pmc >threads.json
weight=$(jq .sampling.weight report.json)
# top FILTER FILE: function with most of its own and its share in percent
heaviest=$(jq -r '[.groups[]] | max_by(.self) | "\(.key) \(.self)"' report.json)
export_() { # FORMAT FILE...
	run "$PMCTL" export --to "$@"
	cp "$T/out" "out.$1"
}

# ---- samples -------------------------------------------------------------------------------------
export_ folded x.pmc
"$PMCTL" report --by path --format folded x.pmc >folded
same out.folded folded "folded: as by pmctl report"
export_ speedscope x.pmc
is "$status $(jq -r '."$schema"' out.speedscope)" "0 https://www.speedscope.app/file-format-schema.json" "speedscope: its schema"
is "$(jq '[.profiles[].weights | add] | add' out.speedscope)" "$weight" "speedscope: the weights are those of the samples"
is "$(jq '[.profiles[] | (.endValue - (.weights | add)), ((.weights | length) - (.samples | length))] | map(select(. != 0)) | length' \
	out.speedscope)" 0 "speedscope: profiles are as long as their weights"
is "$(jq '.shared.frames as $f | [.profiles[].samples[][] | select($f[.] == null)] | length' out.speedscope)" 0 "speedscope: every frame is listed"
is "$(jq -r '.shared.frames as $f | [.profiles[] | [.samples, .weights] | transpose[] | {f: $f[.[0][-1]].name, w: .[1]}] |
	group_by(.f) | map({f: .[0].f, w: map(.w) | add}) | max_by(.w) | "\(.f) \(.w)"' out.speedscope)" "$heaviest" \
	"speedscope: the last frame is where the sample was taken"
is "$(jq -r '[.profiles[].name] | unique | length' out.speedscope)" "$(jq '.profiles | length' out.speedscope)" "speedscope: a profile for each pool"
cp "$PROG/samples" light
cp "$PROG/samples" heavy
"$PMCTL" run --report off --sample task-clock@1000000 -o heavy.pmc -- sh -c './light leaf 20; ./heavy leaf 100'
"$PMCTL" export --to speedscope heavy.pmc >heavy.json
like "$(jq -r '.profiles[].name' heavy.json | paste -sd' ')" '^heavy.* light' "speedscope: the heaviest comes first"

export_ pprof -o x.pb x.pmc
is "$status $(wc -c <"$T/out")" "0 0" "pprof: to a file"
if command -v go >/dev/null; then
	run env HOME="$T" go tool pprof -top -nodecount 1000 -nodefraction 0 -unit ns x.pb
	cp "$T/out" top
	is "$status" 0 "pprof: go tool pprof reads it"
	is "$(awk '/flat%/ { on = 1; next } on { sub("ns", "", $1); print $6, $1; exit }' top)" "$heaviest" "pprof: its heaviest function"
	like "$(cat top)" "^File: samples" "pprof: the program"
	run env HOME="$T" go tool pprof -tags -unit ns x.pb
	like "$(cat "$T/out")" 'tid: Total' "pprof: threads are labels"
	run env HOME="$T" go tool pprof -raw x.pb
	is "$(sed -nE 's/^ *([0-9]+) +[0-9]+: .*/\1/p' "$T/out" | awk '{ n += $1 } END { print n }')" "$(jq .sampling.samples report.json)" \
		"pprof: all samples"
	like "$(cat "$T/out")" 'samples\.c:[0-9]+' "pprof: lines have their file"
else
	skip "no go, which has pprof" "pprof reads it"
fi

# ---- counts ----------------------------------------------------------------------------------------
export_ csv x.pmc
"$PMCTL" report --format csv x.pmc >csv
same out.csv csv "csv: as by pmctl report"
export_ openmetrics x.pmc
is "$status $(tail -n 1 out.openmetrics)" "0 # EOF" "openmetrics: the end"
is "$(awk '/^pmc_thread_event_total.*event="page-faults"/ { n += $NF } END { print n + 0 }' out.openmetrics)" \
	"$(jq '[.threads[].events[] | select(.name == "page-faults") | .value] | add' threads.json)" "openmetrics: an event's sum"
is "$(awk '/^pmc_thread_cpu_seconds_total/ { n += $NF } END { printf "%.6f", n }' out.openmetrics)" \
	"$(jq '[.threads[].cpu_ns] | add' threads.json | awk '{ printf "%.6f", $1 / 1e9 }')" "openmetrics: CPU time"
is "$(grep -v '^#' out.openmetrics | sed 's/ [^ ]*$//' | sort | uniq -d | wc -l)" 0 "openmetrics: no series is there twice"
is "$(grep -vcE '^(# (TYPE|UNIT|HELP|EOF).*|[a-z_]+\{([a-z]+="([^"\\]|\\.)*",?)+\} [0-9.]+)$' out.openmetrics)" 0 "openmetrics: the form of lines"
is "$(grep '^[^#]' out.openmetrics | sed 's/{.*//' | uniq | sort | uniq -d)" "" "openmetrics: a family is in one piece"
is "$(grep -o '^pmc_thread_event[a-z_]*{.*event="task-clock"' out.openmetrics | sed 's/{.*//' | sort -u)" pmc_thread_event_seconds_total "openmetrics: times are a family in seconds"
# Debian's interpreter has Debian's package.
run /usr/bin/python3 -c 'import sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families as families
print(*sorted(family.name for family in families(sys.stdin) if family.name.startswith("pmc_thread_event")))' <out.openmetrics
is "$status $(cat "$T/out")" "0 pmc_thread_event pmc_thread_event_seconds" "openmetrics: a parser of the format takes it"
export_ prometheus x.pmc
is "$status $(grep -c '^# EOF' out.prometheus)" "0 0" "prometheus: no mark of the end"
is "$(grep -v '^#' out.prometheus)" "$(grep -v '^#' out.openmetrics)" "prometheus: the samples of openmetrics"
is "$(grep -v '^#' out.prometheus | sed 's/{.*//' | uniq)" "$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' out.prometheus)" "prometheus: types have the names of samples"
promtool=$(command -v promtool)
[ -z "$promtool" ] || is "$("$promtool" check metrics <out.prometheus 2>&1)" "" "prometheus: promtool has no complaint"
export_ chrome x.pmc
is "$(jq -r '[.traceEvents[] | select(.ph == "X")] | length' out.chrome)" "$(jq '.threads | length' threads.json)" "chrome: each thread's life"
is "$(jq -c '[.traceEvents[] | select(.ph == "X") | [.tid, .args.cpu_ns]] | sort' out.chrome)" \
	"$(jq -c '[.threads[] | [.tid, .cpu_ns]] | sort' threads.json)" "chrome: and its CPU time"
is "$(jq '[.traceEvents[] | select(.ph == "C")] | group_by(.pid, .name) | map(.[-1].args.value) | map(select(. != 0)) | length' out.chrome)" 0 \
	"chrome: every counter ends with 0"
is "$(jq '[.traceEvents[] | select(.ph == "C" and (.name | endswith("CPUs"))) | [.pid, (.name | capture("(?<tid>[0-9]+): ").tid), .name]] |
	unique | length' out.chrome)" "$(jq '[.threads[] | [.pid, .tid]] | unique | length' threads.json)" "chrome: a counter for each thread"
is "$(jq -r '[.traceEvents[] | select(.ph == "C") | .name | sub(".*: "; "")] | unique | join(", ")' out.chrome)" \
	"CPUs, page-faults per second, task-clock in ns per second" "chrome: counters name their units"
# Rates times steps are the sums again.
between "$(jq '[.traceEvents[] | select(.ph == "C" and (.name | endswith("CPUs")))] | group_by(.name) |
	map(. as $c | [range(length - 1) | $c[.].args.value * ($c[. + 1].ts - $c[.].ts)] | add) | add * 1000' out.chrome)" \
	"$(jq '[.threads[].cpu_ns] | add * 0.98 | floor' threads.json)" "$(jq '[.threads[].cpu_ns] | add * 1.02 | ceil' threads.json)" \
	"chrome: rates add up to the CPU time"

# ---- lines of JSON -----------------------------------------------------------------------------------
"$PMCTL" run --report off -e task-clock -o marked.pmc -- "$PROG/regions" nest 20
for dump in x marked; do
	export_ jsonl $dump.pmc
	"$PMCTL" report --format json $dump.pmc >json
	is "$status" 0 "$dump: jsonl"
	for kind in process:processes thread:threads region:regions; do
		jq -c --arg type "${kind%:*}" 'select(.type == $type) | del(.type)' out.jsonl >a
		jq -c ".${kind#*:}[]" json >b
		same a b "$dump: jsonl: ${kind#*:} are those of the report"
	done
	is "$(wc -l <out.jsonl)" "$(jq '[.processes, .threads, .regions | length] | add' json)" "$dump: jsonl: an object a line"
done

# ---- hostile names -----------------------------------------------------------------------------------
name=$'a"b\\c\n\xff;d'
cp "$PROG/samples" "./$name"
run "$PMCTL" run --report off --sample task-clock@1000000 -o y.pmc -- "./$name" leaf 50
export_ openmetrics y.pmc
is "$(grep -vcE '^(# (TYPE|UNIT|HELP|EOF).*|[a-z_]+\{([a-z]+="([^"\\]|\\.)*",?)+\} [0-9.]+)$' out.openmetrics)" 0 "openmetrics: a hostile name"
is "$(iconv -f UTF-8 -t UTF-8 out.openmetrics | cmp - out.openmetrics && echo valid)" valid "openmetrics: UTF-8"
for format in speedscope chrome jsonl; do
	export_ $format y.pmc
	is "$status $(jq -e type out.$format | uniq)" '0 "object"' "$format: a hostile name"
done

run "$PMCTL" run --report off --start off -o off.pmc -- "$PROG/samples" leaf 50
export_ openmetrics off.pmc
is "$status $(grep -v '^#\|_rss_' out.openmetrics)" "0 " "openmetrics: a process that was never counted"

# ---- samples by several events -----------------------------------------------------------------------
"$PMCTL" run --report off --sample page-faults@1 -o faults.pmc -- "$PROG/samples" leaf 50
export_ folded x.pmc faults.pmc
is "$status $(grep -c 'task-clock.*page-faults\|page-faults.*task-clock' "$T/err")" "0 1" "folded: several events are named"
export_ folded --event page-faults x.pmc faults.pmc
is "$status $(grep -c task-clock "$T/err")" "0 0" "folded: but not with --event"

# ---- samples that stand for different times ------------------------------------------------------------
# A timer that fires late makes a sample of several periods; a page fault is one.
unlike "$("$PMCTL" export --to folded faults.pmc 2>&1 >out)" speedscope "folded: samples of one period"
"$PMCTL" run --report off --sample task-clock@10000000 -o slow.pmc -- "$PROG/samples" leaf 200
for command in 'export --to folded' 'report --by path --format folded'; do
	run "$PMCTL" $command x.pmc slow.pmc
	is "$status $(grep -c 'task-clock.*speedscope' "$T/err")" "0 1" "$command: of two periods, a warning names formats with weights"
done

# ---- samples without rows of threads -----------------------------------------------------------------
python3 - x.pmc rowless.pmc <<'PY'
import struct, sys
data, at, frames = open(sys.argv[1], "rb").read(), 0, []
while at < len(data):
    size = struct.unpack_from("<I", data, at + 4)[0]
    if data[at + 17] != 4:
        frames.append(data[at:at + size])
    at += size
open(sys.argv[2], "wb").write(b"".join(frames))
PY
cp x.pb kept
export_ folded -o kept rowless.pmc
is "$status $(wc -l <"$T/err")" "1 1" "folded: no thread is known"
same kept x.pb "folded: the output is kept"
export_ speedscope rowless.pmc
is "$status $(jq '[.profiles[].weights | add] | add' out.speedscope)" "0 $weight" "speedscope: samples of unknown threads"

# ---- refusals --------------------------------------------------------------------------------------
"$PMCTL" run --report off -o none.pmc -- true
for format in folded speedscope pprof perf-data; do
	export_ $format -o text none.pmc
	is "$status $(wc -l <"$T/err")" "1 1" "$format: a dump without samples"
done
"$PMCTL" run --report off --sample task-clock@1000000000 -o few.pmc -- "$PROG/samples" leaf 20
for format in folded speedscope pprof perf-data html; do
	export_ $format -o text few.pmc
	is "$status $(wc -l <"$T/err") $(grep -c task-clock "$T/err")" "0 1 1" "$format: a warning for an event without samples"
done
export_ speedscope --event nothing x.pmc
is "$status $(grep -c nothing "$T/err")" "1 1" "an event without samples"
run "$PMCTL" export x.pmc
is "$status $(grep -c -- --to "$T/err")" "2 1" "no format"
run "$PMCTL" export --to pdf x.pmc
is "$status $(grep -c speedscope "$T/err")" "2 1" "an unknown format"
run "$PMCTL" export --to csv --event task-clock x.pmc
is "$status" 2 "an event of samples for a format without samples"
run "$PMCTL" export --to csv -o x.pmc x.pmc
is "$status" 2 "an input is no output"
run "$PMCTL" export --to jsonl -o none.pmc x.pmc
is "$status" 1 "neither is another dump"
run "$PMCTL" export --to csv missing.pmc
is "$status" 1 "a missing dump"
run "$PMCTL" export --to csv missing.pmc x.pmc
is "$status $(grep -c 'missing.pmc (No such file' err)" "0 1" "a missing dump among others is left out"
run bash -c '"$1" export --to speedscope x.pmc >/dev/full' - "$PMCTL"
is "$status" 1 "a full disk"

done_testing
