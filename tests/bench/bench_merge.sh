# SPDX-License-Identifier: MIT
# bench_merge.sh - merging and reporting in rows/s and MB/s; a part of bench.sh.
#
# Eight dumps as agents write them. Measured as CPU time of one process.

files=()
for seed in 1 2 3 4 5 6 7 8; do
	"$B/gen_dump" $((rows / 8)) $seed >"$T/in$seed.pmc"
	files+=("$T/in$seed.pmc")
done
bytes=$(cat "${files[@]}" | wc -c)

# cost NAME TARGET CMD...: best of three, in CPU time and in wall time. CMD reads $bytes with $rows of $unit.
unit=rows
cost() {
	local name=$1 target=$2 i cpu wall best_cpu= best_wall=
	shift 2
	for i in 1 2 3; do
		local from=$EPOCHREALTIME to
		"$O/prog/rusage" "$T/ru" "$@" >/dev/null 2>>"$T/err" || echo "$name failed" >>"$T/err"
		to=$EPOCHREALTIME
		cpu=$(jq .cpu_ns "$T/ru")
		wall=$(awk "BEGIN { printf \"%.0f\", ($to - $from) * 1e9 }")
		[ -n "$best_cpu" ] && [ "$best_cpu" -le "$cpu" ] || best_cpu=$cpu
		[ -n "$best_wall" ] && [ "$best_wall" -le "$wall" ] || best_wall=$wall
	done
	line "$name" "$(awk -v n="$rows" -v b="$bytes" -v c="$best_cpu" -v w="$best_wall" 'BEGIN {
		printf "%.2f M '"$unit"'/s, %.0f MB/s (wall %.2f s)", n / c * 1e3, b / c * 1e3, w / 1e9 }')" \
		"$target"
	peak=$(jq .max_rss_kib "$T/ru")
}

cost "cat of $rows rows, $((bytes / 1000000)) MB" "" cat "${files[@]}"
cost "merge of 8 dumps" "≥ 3 M rows/s, ≥ 500 MB/s per core" \
	"$O/pmctl" merge "${files[@]}" -o "$T/merged.pmc"
line "  its memory" "$((peak / 1024)) MiB" "bounded"
cost "merge --memory 256M" "≥ 2 M rows/s per core" \
	"$O/pmctl" merge --memory 256M "${files[@]}" -o "$T/again.pmc"
line "  its memory" "$((peak / 1024)) MiB" "≤ 300 MiB"
cmp "$T/merged.pmc" "$T/again.pmc" 2>>"$T/err" || echo "merge --memory: other bytes" >>"$T/err"
cost "merge of the merged" "" "$O/pmctl" merge "$T/merged.pmc" -o "$T/again.pmc"
rm -f "$T/again.pmc"
cost "report, table" "≥ 2 M rows/s" "$O/pmctl" report "$T/merged.pmc"
line "  its memory" "$((peak * 1024 / rows)) B a row" "≤ 200 B a row"
for format in csv json; do
	cost "report, $format of every row" "≥ 1.5 M rows/s" \
		"$O/pmctl" report --jobs 1 --format $format "$T/merged.pmc"
	cost "  by two processes" "wall 1.6 × as fast" \
		"$O/pmctl" report --jobs 2 --format $format "$T/merged.pmc"
	cost "report --by thread, $format" "" \
		"$O/pmctl" report --jobs 1 --by thread --format $format "$T/merged.pmc"
done

# 10,000 dumps merged by the ranks of a job; wall time.
if command -v mpirun.openmpi >/dev/null && make -s O="$O" MPICC=mpicc.openmpi mpi >/dev/null 2>>"$T/err"; then
	mkdir "$T/ranks"
	for seed in $(seq 10000); do "$B/gen_dump" $((rows / 10000 + 1)) "$seed" 1 >"$T/ranks/$seed.pmc"; done
	for ranks in 1 2 4; do
		from=$EPOCHREALTIME
		mpirun.openmpi --allow-run-as-root --oversubscribe -n $ranks "$O/pmctl-mpi" merge "$T/ranks" -o "$T/ranks.pmc" 2>>"$T/err"
		line "pmctl-mpi merge of 10,000 dumps, $ranks rank(s)" "$(awk "BEGIN { printf \"%.2f s\", $EPOCHREALTIME - $from }")"
	done
	rm -r "$T/ranks" "$T/ranks.pmc"
fi

# One dump a run, with a change of 3 % at run 6,000.
mkdir "$T/history"
(cd "$T/history" && "$B/gen_history" 10000 1 0 1 6000 worker 3)
(rows=10000 unit=runs bytes=$(cat "$T"/history/*.pmc | wc -c)
	cost "history of 10,000 dumps" "10,000 in 5 s" "$O/pmctl" history "$T/history" --order name)
rm -r "$T/history"

# All with different stacks: a row for each function, and for each path.
"$B/gen_samples" 10000 $((rows / 3)) >"$T/samples.pmc"
unit=samples rows=$((rows / 3)) bytes=$(stat -c %s "$T/samples.pmc")
cost "report --by function of $rows samples" "" "$O/pmctl" report --by function "$T/samples.pmc"
line "  its memory" "$((peak / 1024)) MiB"
cost "report --by path" "" "$O/pmctl" report --by path "$T/samples.pmc"
line "  its memory" "$((peak / 1024)) MiB"

# Tables with 3 million rows of events, and sums of them in DuckDB beside those of the CSV.
"$B/gen_dump" 500000 >"$T/tables.pmc"
(rows=3000000 unit=rows bytes=$(stat -c %s "$T/tables.pmc")
	cost "export --to parquet of 3 M rows of events" "≥ 1 M rows/s" "$O/pmctl" export --to parquet -o "$T/tables" "$T/tables.pmc")
line "  a row" "$(du -sb "$T/tables/events" | awk '{ printf "%.1f B", $1 / 3000000 }')" "≤ 40 B"
"$O/pmctl" export --to csv -o "$T/tables.csv" "$T/tables.pmc"
if command -v node >/dev/null && sh tests/parquet/fetch.sh "$O/parquet" 2>>"$T/err"; then
	read=$PWD/tests/parquet/read.mjs
	mapfile -t ms < <(cd "$O/parquet" && node "$read" time 5 \
		"SELECT name, sum(value) FROM read_parquet('$T/tables/events/**/*.parquet') WHERE newest AND event = 'cycles' GROUP BY name" \
		"SELECT name, sum(cycles) FROM read_csv('$T/tables.csv') GROUP BY name")
	line "  sums by name in DuckDB" "$(awk "BEGIN { printf \"%.1f × as fast as of CSV (%.0f ms)\", ${ms[1]} / ${ms[0]}, ${ms[0]} }")" "≥ 5 ×"
fi
rm -r "$T/tables" "$T/tables.pmc" "$T/tables.csv"
