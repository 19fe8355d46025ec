#!/bin/bash
# SPDX-License-Identifier: MIT
# parquet.t - pmctl export --to parquet, read back by DuckDB and hyparquet: the report's sums, types,
# nulls, text; exports into one directory; the queries of docs/RECIPES.md.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
command -v node >/dev/null || skip_all "no node, which runs the readers"
sh "$ROOT/tests/parquet/fetch.sh" "$O/parquet" 2>"$T/err" ||
	skip_all "npm fetches nothing: $(tail -n 1 "$T/err")"

# sql DIR QUERY...: rows of the queries, cells joined by |.
sql() { (cd "$O/parquet" && node "$ROOT/tests/parquet/read.mjs" duckdb "$(realpath -m "$OLDPWD/$1")" "${@:2}"); }
export_() { run "$PMCTL" export --to parquet "$@"; }
launch() {
	env OMPI_COMM_WORLD_RANK=$1 PMIX_NAMESPACE=${job:-job/7:a} LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_INTERVAL=20ms \
		PMC_EVENTS=task-clock,page-faults,run-delay PMC_SAMPLE=task-clock@1000000 PMC_OUT="${job:-rank-$1}.pmc" \
		"$PROG/burners" "${@:2}"
}
launch 0 2 20 >/dev/null
launch 11 4 60 >/dev/null
job=later launch 0 8 90 >/dev/null
touch -d 2026-02-01T00:00:00Z rank-0.pmc
"$PMCTL" report --format json rank-0.pmc rank-11.pmc >report.json
export_ -o db rank-0.pmc rank-11.pmc
is "$status $(cat err)" "0 " "an export"
is "$(find db -name '*.parquet' | sed 's|/[^/]*$||' | sort | grep events)" \
	"db/events/job=job%2f7%3aa/host=$(hostname)/rank=0
db/events/job=job%2f7%3aa/host=$(hostname)/rank=11" "partitions by job, host and rank"
is "$(sql db 'SELECT DISTINCT job, host, rank FROM threads ORDER BY rank')" \
	"job/7:a|$(hostname)|0
job/7:a|$(hostname)|11" "which are columns"

# ---- sums --------------------------------------------------------------------------------------------
is "$(sql db 'SELECT count(*), sum(cpu_ns), sum(minor_faults), sum(major_faults), sum(voluntary_switches), sum(involuntary_switches), sum(samples)
	FROM threads')" "$(json report.json '[(.threads | length), (("cpu_ns", "minor_faults", "major_faults", "voluntary_switches",
	"involuntary_switches", "samples") as $key | [.threads[][$key]] | add)] | join("|")')" "threads: sums of the report"
is "$(sql db "SELECT event, sum(value), sum(raw), sum(enabled_ns), count(*) FROM events WHERE newest AND kind = 'thread' GROUP BY event ORDER BY event")" \
	"$(json report.json '[.threads[].events[]] | group_by(.name)[] | [.[0].name, (map(.value) | add), (map(.raw) | add),
		(map(.enabled_ns) | add), length] | join("|")')" "events: those of the report"
is "$(sql db "SELECT event, sum(value) FROM events WHERE kind = 'unattributed' GROUP BY event ORDER BY event")" \
	"$(json report.json '[.processes[].unattributed[]] | group_by(.name)[] | [.[0].name, (map(.value // empty) | add // "NULL")] | join("|")')" \
	"events: unattributed"
is "$(sql db 'SELECT pid, exe, ended, cpu_ns, attributed_cpu_ns, max_rss_bytes, threads_seen FROM processes ORDER BY rank')" \
	"$(json report.json '.processes | sort_by(.rank)[] | [.pid, .exe, .how_ended, .coverage.cpu_ns, .coverage.attributed_cpu_ns,
		.max_rss_bytes, .coverage.threads_seen] | join("|")')" "processes"
is "$(sql db 'SELECT date_trunc(CAST($$day$$ AS VARCHAR), recorded)::VARCHAR FROM processes WHERE rank = 0')" "2026-02-01 00:00:00+00" \
	"processes: the time of their dump"
like "$(sql db "SELECT count(DISTINCT snapshot) FROM events WHERE kind = 'thread'")" '^([2-9]|[1-9][0-9]+)$' "events: snapshots"
is "$(sql db "SELECT count(*) FROM (SELECT process, seq, event, max(value) AS most, max(value) FILTER (newest) AS last
	FROM events WHERE kind = 'thread' GROUP BY ALL) WHERE most <> last")" 0 "events: the newest snapshot has the largest value"
"$PMCTL" report --by function --format json rank-0.pmc rank-11.pmc >functions.json
is "$(sql db "SELECT function, sum(samples), sum(weight) FROM samples GROUP BY function ORDER BY function")" \
	"$(json functions.json '[.groups[] | select(.samples > 0)] | sort_by(.function)[] | [.function, .samples, .self] | join("|")')" \
	"samples: functions of the report"
is "$(sql db 'SELECT count(*) FROM samples s LEFT JOIN stacks f ON s.process = f.process AND s.stack = f.stack AND f.frame = 0
	WHERE s.function IS DISTINCT FROM f.function')" 0 "stacks: the innermost frames are the functions of the samples"

# ---- types, as the manual has them -----------------------------------------------------------------------
queries=()
for table in processes threads events samples waits stacks; do
	queries+=("SELECT '$table', column_name, column_type FROM (DESCRIBE $table) WHERE column_name NOT IN ('job', 'host', 'rank')")
done
sql db "${queries[@]}" | tr '|' ' ' >types
awk '/^\.S[HS]/ { table = $1 == ".SS" && NF == 2 ? $2 : "" } /^\.EX/ { on = table != ""; next } /^\.EE/ { on = 0 }
	on && /^[a-z]/ { print table, $1, $3 == "WITH" ? "TIMESTAMP WITH TIME ZONE" : $2 }' "$ROOT/docs/man/pmc-parquet.5" >documented
same types documented "names and types of columns are those of pmc-parquet(5)"
(cd "$O/parquet" && node "$ROOT/tests/parquet/read.mjs" hyparquet "$T/db") >hyparquet.json
is "$(json hyparquet.json '.threads.cpu_ns.sum')" "$(json report.json '[.threads[].cpu_ns] | add')" "hyparquet: CPU time"
is "$(json hyparquet.json '[.events.value.rows, .events.value.nulls, .events.value.sum, .events.reason.nulls] | join("|")')" \
	"$(sql db 'SELECT count(*), count(*) FILTER (value IS NULL), sum(value), count(*) FILTER (reason IS NULL) FROM events')" \
	"hyparquet: values and nulls of events"

# ---- nulls and text ----------------------------------------------------------------------------------------
"$PMCTL" run --report off --start off -e task-clock -o off.pmc -- "$PROG/samples" leaf 20
export_ -o off off.pmc
is "$(sql off 'SELECT count(value), count(raw), min(state), min(reason) FROM events' 'SELECT count(cpu_ns) FROM threads' 'SELECT count(cpu_ns) FROM processes')" \
	"0|0|not-counted|counting was off (PMC_START, PMC_DELAY, pmctl ctl)
0
0" "what was not counted is NULL, with the reason"
is "$(sql off 'SELECT count(*) FROM samples' 'SELECT count(*) FROM waits')" "0
0" "tables without rows are there"
name=$'na\xc3\xafve "b"\\c\n\xff;d'
cp "$PROG/samples" "./$name"
"$PMCTL" run --report off -e task-clock -o text.pmc -- "./$name" leaf 20
export_ -o text text.pmc
is "$(sql text 'SELECT name FROM threads' "SELECT split_part(exe, '/', -1) FROM processes")" 'naïve "b"\c\x0a\xff;
naïve "b"\c\x0a\xff;d' "names: UTF-8, the rest escaped"
is "$(sql text "SELECT count(*) FROM threads WHERE name LIKE 'naïve%'" "SELECT count(*) FROM threads WHERE name = 'other'")" "1
0" "names can be searched"

# ---- many rows: several row groups, and dictionaries of many texts ---------------------------------------------
"$O/bench/gen_dump" 50000 3 >many.pmc
export_ -o many many.pmc
"$PMCTL" report --format csv many.pmc >many.csv
is "$(sql many "SELECT count(*), count(DISTINCT name), sum(value) FILTER (event = 'cycles'), sum(value) FILTER (event = 'branch-misses')
	FROM events WHERE newest AND kind = 'thread'")" \
	"$(sql many "SELECT count(*) * 6, count(DISTINCT name), sum(cycles), sum(\"branch-misses\") FROM read_csv('$T/many.csv')")" \
	"300,000 rows: the sums of CSV"
is "$(sql many "SELECT count(DISTINCT row_group_id) FROM parquet_metadata('$T/many/events/**/*.parquet')")" 3 "row groups"
is "$(sql many "SELECT bool_and(stats_min_value IS NOT NULL), bool_and(compression = 'ZSTD') FROM parquet_metadata('$T/many/events/**/*.parquet')
	WHERE path_in_schema IN ('value', 'event', 'newest', 'scale')")" "true|true" "columns have statistics"
is "$(sql many "SELECT count(*) FROM events WHERE value > 9000000" "SELECT count(*) FROM events WHERE value + 0 > 9000000" |
	uniq | wc -l)" 1 "a filter by statistics gives the same rows"

# ---- nothing is counted twice ------------------------------------------------------------------------------------
files() { (cd "$1" && find . -type f ! -path './processes/*' | sort | xargs sha256sum); }
files db >want
head -c 3000 rank-0.pmc >damaged.pmc
printf garbage >>damaged.pmc
python3 - rank-0.pmc rank-11.pmc reversed.pmc <<'PY'
import struct, sys
frames = []
for name in sys.argv[1:3]:
    data, at = open(name, "rb").read(), 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 4)[0]
        frames.append(data[at:at + size])
        at += size
open(sys.argv[3], "wb").write(b"".join(reversed(frames)))
PY
for inputs in "rank-11.pmc rank-0.pmc rank-0.pmc" "reversed.pmc" "damaged.pmc rank-0.pmc reversed.pmc rank-11.pmc"; do
	export_ -o again $inputs
	files again >got
	same got want "the same tables of $inputs"
	rm -r again
done
run "$PMCTL" merge --to parquet -o merged rank-0.pmc rank-11.pmc
files merged >got
same got want "pmctl merge --to parquet: the same"
count() { sql "$1" "SELECT count(*), count(DISTINCT process) FROM threads"; }
head -c $(($(stat -c %s rank-11.pmc) * 2 / 3)) rank-11.pmc >part.pmc
export_ -o grown rank-0.pmc
export_ -o grown part.pmc
export_ -o grown rank-11.pmc
export_ -o grown rank-11.pmc
is "$status $(count grown)" "0 $(count db)" "dumps one by one, one that has grown, and one again"
files grown >want
export_ -o grown rank-0.pmc part.pmc
is "$status $(grep -c 'has newer snapshots of 1 of these processes; export their newest' err)" "1 1" "an older copy of a dump is refused"
files grown >got
same got want "which changes no file"
export_ -o several text.pmc off.pmc
export_ -o several text.pmc
is "$status $(count several)" "0 $(sql several 'SELECT 2, 2')" "one of several jobs again"
"$PMCTL" run --report off -e task-clock -o forks.pmc -- sh -c "'$PROG/samples' leaf 5; '$PROG/samples' leaf 5; true"
"$PMCTL" export --to jsonl forks.pmc >/dev/null
export_ -o overlap forks.pmc
python3 - forks.pmc some.pmc <<'PY'
import struct, sys
data, at, kept, first = open(sys.argv[1], "rb").read(), 0, b"", None
while at < len(data):
    size = struct.unpack_from("<I", data, at + 4)[0]
    identity = data[at + 24:at + 40]
    if first is None and any(identity):
        first = identity
    if identity in (first, bytes(16)):
        kept += data[at:at + size]
    at += size
open(sys.argv[2], "wb").write(kept)
PY
files overlap >want
refuses 1 'has 1 of these processes and others; export all their dumps at once' "an overlap with an earlier export" \
	export --to parquet -o overlap some.pmc
files overlap >got
same got want "which changes no file"
export_ -o superseded some.pmc
export_ -o superseded forks.pmc
is "$status $(count superseded)" "0 $(count overlap)" "a part is replaced by the whole"
python3 - rank-0.pmc unsampled.pmc <<'PY'
import struct, sys
data, at, kept = open(sys.argv[1], "rb").read(), 0, b""
while at < len(data):
    size = struct.unpack_from("<I", data, at + 4)[0]
    if data[at + 17] != 10:
        kept += data[at:at + size]
    at += size
open(sys.argv[2], "wb").write(kept)
PY
export_ -o stale rank-0.pmc
export_ -o stale unsampled.pmc
is "$status $(sql stale 'SELECT count(*) FROM samples')" "0 0" "a table without rows replaces one with rows"
mkdir locked
exec 8<locked
flock 8
"$PMCTL" export --to parquet -o locked rank-0.pmc 8<&- &
pid=$!
ok "an export waits for another one into the same directory" await grep -E -- "-> FLOCK.* $pid " /proc/locks
is "$(find locked -type f | wc -l)" 0 "before it writes"
exec 8<&-
wait "$pid"
is "$? $(count locked)" "0 $(sql db 'SELECT count(*), 1 FROM threads WHERE rank = 0')" "and goes on after it"
"$PMCTL" export --to parquet -o ended many.pmc &
pid=$!
until find ended -name ".pmctl-tmp.*" 2>/dev/null | grep -q . || ! kill -0 "$pid" 2>/dev/null; do :; done
kill -TERM "$pid"
wait "$pid"
is "$? $(find ended -type f | wc -l)" "143 0" "a signal leaves no file"

if unshare -u true 2>/dev/null; then
	for host in one two; do
		unshare -u -p -f sh -c "hostname $host; exec '$PMCTL' run --report off -e task-clock -o $host.pmc -- '$PROG/samples' leaf 20"
	done
	export_ -o hosts one.pmc two.pmc two.pmc
	is "$(sql hosts 'SELECT host, count(*) FROM threads GROUP BY host ORDER BY host' 'SELECT count(DISTINCT pid) FROM threads')" "one|1
two|1
1" "hosts with equal process IDs"
else
	skip "no privilege for a host name of its own" "hosts with equal process IDs"
fi

# ---- refusals --------------------------------------------------------------------------------------------------------
# Of samples that no thread ran long enough for, a warning says so; this dump has none.
refuses 2 'parquet is files in a directory; add -o DIR' "no directory" export --to parquet rank-0.pmc
refuses 1 'cannot write off.pmc/.*: a part of it is a file; name a directory' "a dump in the place of the directory" \
	export --to parquet -o off.pmc forks.pmc
refuses 1 'cannot write no/where.*: No such file' "a directory in no directory" export --to parquet -o no/where forks.pmc
refuses 2 'takes no flag but -o' "merge with a flag for dumps" merge --to parquet --compact -o x rank-0.pmc
mkdir empty
echo 'int nothing;' | gcc -shared -o empty/libzstd.so.1 -x c -
run env LD_LIBRARY_PATH=empty "$PMCTL" export --to parquet -o x rank-0.pmc
is "$status $(grep -c 'install the package libzstd1' err) $(ls -d x 2>&1 | wc -l)" "1 1 1" "without libzstd"
if [ -e /dev/full ] && mkdir small && mount -t tmpfs -o size=16k tmpfs small 2>/dev/null; then
	run "$PMCTL" export --to parquet -o small/out many.pmc
	is "$status $(grep -c 'No space left' err) $(find small -type f | wc -l)" "1 1 0" "a full disk leaves no file"
	umount small
fi

# ---- the queries of the recipes ------------------------------------------------------------------------------------------
run "$PMCTL" run --off-cpu --report off --sample task-clock@1000000 -o waits.pmc -- "$PROG/off_cpu"
export_ -o tables rank-0.pmc rank-11.pmc later.pmc off.pmc waits.pmc many.pmc
awk '/^```sql$/ { on = 1; next } /^```$/ && on { on = 0; printf "%c", 0; next } on' "$ROOT/docs/RECIPES.md" >recipes
mapfile -d '' -t recipes <recipes
is "${#recipes[@]}" 11 "ten queries, and views"
mapfile -d ';' -t views < <(printf %s "${recipes[0]%$'\n'}" | sed "s|'tables/|'$T/tables/|")
recipe() { sql tables "${views[@]}" "${recipes[$1]}"; }
is "$(recipe 1 | head -n 1 | cut -d'|' -f4)" "$("$PMCTL" report --sort cpu_ns --format csv --columns tid,cpu_ns rank-*.pmc later.pmc off.pmc waits.pmc many.pmc |
	sed -n 2p | cut -d, -f1)" "recipe: slowest threads"
is "$(recipe 2 | cut -d'|' -f1,3)" "job/7:a|11
later|0" "recipe: imbalance of ranks"
is "$(recipe 3 | cut -d'|' -f1)" "$PROG/burners" "recipe: regressions since a date"
like "$(recipe 4)" '\|task|burn|spin|work|leaf' "recipe: functions by pool"
like "$(recipe 5)" '(main|start_thread)\|[0-9]+' "recipe: functions with what they call"
if grep -q . <(sql tables 'SELECT 1 FROM waits LIMIT 1'); then
	is "$(sql tables 'SELECT sum(waits), sum(wait_ns) FROM waits')" \
		"$("$PMCTL" report --by function --event off-cpu --format json waits.pmc | jq -r '.sampling | "\(.samples)|\(.weight)"')" "waits: the report's sums"
	like "$(recipe 6)" '\|[0-9]+\|[0-9.]+' "recipe: waits"
else
	skip "$(tail -n 1 err)" "recipe: waits"
fi
like "$(recipe 7)" 'NULL\|worker-\*\|1\.[45]' "recipe: instructions per cycle"
like "$(recipe 8 | grep task-clock | grep -v NULL)" '\|task-clock\|[0-9]+\|[0-9.e+]+' "recipe: rates"
like "$(recipe 9)" 'task-clock\|not-counted\|counting was off .*\|1' "recipe: what was not counted"
like "$(recipe 10)" "$PROG/burners\|[0-9.]+\|0?1?\.[0-9]+" "recipe: coverage"
done_testing
