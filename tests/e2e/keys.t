#!/bin/bash
# SPDX-License-Identifier: MIT
# keys.t - report --by KEY,KEY: rows of threads and of samples folded by several keys; columns of events that
# were asked for and cannot be counted.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

run "$PMCTL" run --sample task-clock/997 -e task-clock,page-faults -o x.pmc --report off -- \
	sh -c "$PROG/call_tree 40000; $PROG/burners 2 50"

# report FLAG...: in $T/out
by() { run "$PMCTL" report x.pmc "$@"; }
# sum FILTER: of all groups
sum() { jq "[.groups[] | $1] | add" "$T/out"; }

by --by pool --format json
cpu=$(sum .cpu_ns) threads=$(sum .threads)
by --by exe,pool --format json
is "$(sum .cpu_ns) $(sum .threads)" "$cpu $threads" "exe and pool: each thread is in one row"
is "$(jq '[.groups[] | .key == .keys.exe + "," + .keys.pool and (.keys | keys == ["exe", "pool"])] | all' out)" true \
	"JSON has the text and the parts of a key"
is "$(jq '[.groups[].key] | length == (unique | length)' out)" true "no combination is there twice"
by --by exe,pool --format csv
is "$(head -1 out | cut -d, -f1-3)" exe,pool,threads "CSV has a column for each key"
by --by pool,exe --sort exe --columns pool,exe,cpu_ns --format csv
is "$(sed 1d out | cut -d, -f2)" "$(sed 1d out | cut -d, -f2 | LC_ALL=C sort)" "rows are sorted by one of the keys"
by --by process,host --width 80
like "$(grep '  process ' out)" '^  process +host ' "a table begins with the keys"
like "$(grep ' total ' out)" '^  total  ' "labels of sums are in the column of the first key"
between "$(wc -L <out)" 60 80 "it fits the screen"
by --by exe,pool --where exe=*call_tree --format json
is "$(jq -r '[.groups[].keys.exe] | unique | length' out)" 1 "--where chooses threads"

by --by function --format json
samples=$(sum .samples)
for last in function line module tree; do
	by --by exe,pool,$last --format json
	is "$(sum .samples)" "$samples" "exe, pool and $last: each sample is in one row"
done
by --by thread,function --where function=count --format json
is "$(jq -c '[.groups[].keys | keys] | unique' out)" '[["function","thread"]]' "thread and function"
is "$(jq '[.groups[].keys.function] | unique == ["count"]' out)" true "--where chooses functions"
by --by exe,path --format folded
is "$(awk '{ n += $NF } END { print n }' out)" "$samples" "folded: each sample is in one path"
is "$(grep -c "^[^;]*/call_tree;.*;round_of_work" out | sed 's/^[1-9][0-9]*$/some/')" some "folded: groups are below all functions"

while IFS='|' read -r keys why; do
	by --by "$keys"
	is "$status $(wc -l <err)" "2 1" "--by $keys: refused in a line"
	like "$(cat err)" "$why" "--by $keys: the line says why"
done <<'END'
pool,pool|pool is there twice
function,pool|function can only be the last key
region,thread|region can only be the last key
line,function|line can only be the last key
pool,nonesuch|invalid --by 'nonesuch'
pool,|invalid --by ''
thread,pool,name,start,process,exe,host|more than 6
END
run "$PMCTL" diff x.pmc x.pmc --by exe,function
is "$status $(wc -l <err)" "2 1" "diff compares samples by one key"

# ---- events that were asked for ------------------------------------------------------------------
run "$PMCTL" run -e L1-dcache-load-misses:k,page-faults --report=threads=report -o y.pmc -- true
like "$(cat report)" 'L1-dcache-load-misses:k.*page-faults' "run: the event has a column"
run "$PMCTL" report y.pmc
like "$(cat out)" 'L1-dcache-load-misses:k.*page-faults' "report: the event has a column"
if ! "$PMCTL" doctor L1-dcache-load-misses:k >/dev/null; then
	like "$(grep ' total ' out)" ' - ' "of dashes"
	like "$(tr -s '\n ' ' ' <out)" ' not counted: L1-dcache-load-misses:k: ' "and a line with the reason"
fi
done_testing
