#!/bin/bash
# SPDX-License-Identifier: MIT
# history.t - pmctl history: planted changes in generated runs, order, labels, refusals.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
gen=$O/bench/gen_history

history_() { run "$PMCTL" history "$@"; }
# FILTER: of the JSON in out, the changes.
changes() { jq -r "[.[] | select(.run != null)] | $1" out; }

mkdir steady && (cd steady && "$gen" 200 1 3 1)
history_ steady --format json
is "$status $(changes length)" "0 0" "a slow wave is no change"
is "$(jq -r '[.[] | select(.name == "cpu_ns") | .runs] | unique | tostring' out)" "[200]" "each run has a value"
between "$(jq '.[] | select(.key == "total" and .name == "cpu_ns").before | round' out)" 1090000000 1110000000 \
	"the level is the mean"

mkdir step && (cd step && "$gen" 200 1 0 2 120 worker 3)
history_ step --order name --format json
is "$(changes '[.[].name] | unique | tostring')" '["cpu_ns"]' "a planted change of 3 %"
is "$(changes '[.[].key] | unique | tostring')" '["total","worker-*"]' "is of its pool and of the total"
between "$(changes '.[] | select(.key == "worker-*").run')" 115 125 "at its run"
is "$(changes '.[] | select(.key == "worker-*") | .run_first <= 120 and .run_last >= 120')" true "which is in its interval"
is "$(changes '.[] | select(.key == "worker-*") | (.change_pct - 3 | fabs) <= .ci_pct + 0.2')" true \
	"and the interval of the change has 3 %"
is "$(changes '.[] | select(.key == "worker-*") | "\(.labels) \(.file)"')" \
	"build=$(changes '.[] | select(.key == "worker-*").run') step/run-$(changes '.[] | select(.key == "worker-*").run').pmc" \
	"its labels and file"
history_ step --order name --label build
like "$(grep worker out)" ' 1[12][0-9]$' "the label that names it in the table"
unlike "$(cat out)" flusher "rows without a change are not there"
like "$(cat out)" '[0-9]+ measurements have no change' "but counted"

history_ step --order name --fail-above 2
is "$status" 1 "--fail-above: a change upwards by more"
like "$(cat err)" 'worker-\* is 3\.[0-9] % above .* run 1[12][0-9]' "is named"
history_ step --order name --fail-above 10
is "$status" 0 "by less: passes"
(cd step && "$gen" 200 1 0 2 60 worker 6 140 worker -6)
history_ step --order name --fail-above 2
is "$status" 0 "a change that was undone passes"
history_ step --order name --format json
is "$(changes '[.[] | select(.key == "worker-*") | .change_pct > 0] | tostring')" "[true,false]" "and is two changes"

(cd step && "$gen" 200 1 0 2 60 worker 30 140 worker -4)
history_ step --order name --fail-above 5
is "$status" 1 "one that was undone in part fails"
history_ step --order name --fail-above 5 --where 'key=flusher*'
is "$status" 0 "--where: only these rows are judged, and one without a change is there"
like "$(cat out)" flusher "in the table"
history_ step step/run-7.pmc --order name
like "$(cat err)" 'step/run-7.pmc is left out: its runs are in other dumps' "a run counts once"
(cd step && "$gen" 14 0.5 0 3 8 worker 100)
history_ step/run-{1..14}.pmc --order name --format json
is "$(changes '.[] | select(.key == "worker-*").run')" 8 "a large step in few runs"
is "$(changes '[.[].trend_pct] | unique | tostring')" "[null]" "which is no trend"
(cd step && "$gen" 200 0.5 0 3 195 worker 100)
history_ step --order name --format json
is "$(changes '.[] | select(.key == "worker-*").run')" 195 "and in the last runs of many"
mkdir ramp
# shellcheck disable=SC2046
(cd ramp && "$gen" 12 1 0 1 $(printf '%s worker 6 ' {2..12}))
history_ ramp --order name
like "$(cat out)" 'total .*\+[0-9.]+ +[0-9.]+ *'$'\n' "a gradual rise has a trend and no run of a change"
unlike "$(cat out)" 'no measurement has changed' "which is not called unchanged"
like "$(cat out)" ' 1 measurement .*--vs' "the table counts it, and names what compares sets of runs"
like "$(sed -n '/trend/p' out)" 'mean +before +after' "its value in the table is the mean of all runs"
history_ ramp --order name --format markdown
like "$(grep -F '| total | cpu s |' out)" '^\| total \| cpu s \| \+[0-9.]+ \| [0-9.]+ \|  \|  \|  \|  \|' "which is not before or after anything"
history_ ramp --order name --format csv --columns key,name,before,after,mean
like "$(grep '^total,cpu_ns,' out)" ',([0-9.]+),,\1$' "CSV has it as before, or as mean"
history_ steady
like "$(cat out)" 'no measurement has changed' "runs without a trend are"
# Steps that too few runs have.
(cd step && rm ./* && "$gen" 13 0.5 0 3 11 worker 600 11 flusher 600)
history_ step --order name --fail-above 5
is "$status" 0 "a step in the last 3 runs is not judged"
like "$(cat out)" '5 runs on each side' "the table says how many runs a change needs"
like "$(cat out)" 'last 3 runs .*5[0-9][0-9] % .*above' "and that the last runs are apart"
like "$(cat err)" 'warning: .*last 3 runs' "of which --fail-above warns"
(cd step && "$gen" 13 0.5 0 3)
history_ step --order name --fail-above 5
unlike "$(cat out) $(cat err)" 'last [0-9]* *runs? ' "runs as those before are not mentioned"
(cd step && rm ./* && "$gen" 200 0.5 0 3 195 worker 100)
mkdir copied && cp -p step/run-{1..30}.pmc copied && cp copied/run-7.pmc copied/a.pmc
touch -d '1 hour' copied/a.pmc # times of files are read in seconds
history_ copied --order time
like "$(cat err)" 'copied/a.pmc is left out' "of two copies the older one is kept, in its place"
mkdir merged && cp step/run-{1..30}.pmc merged && "$PMCTL" merge merged/* -o merged/all.pmc
history_ merged --order name
like "$(cat err) $(cat out)" 'merged/all.pmc is left out.* 30 runs' "a merged dump is left out, not the runs in it"
# Ranks with a job each, as a launcher starts them; a scheduler has one job for all runs.
mkdir ranks
for i in {10..19}; do
	for rank in 0 1; do
		SLURM_JOB_ID=7 SLURM_PROCID=$rank "$PMCTL" run --report off -o "ranks/$i-$rank.pmc" -- "$PROG/$([ "$i" = 19 ] && echo ./)faults" 1 >/dev/null
	done
done
history_ ranks --by rank --format csv
is "$(grep -E '^(0|1|total),threads,' out | cut -d, -f1,3,5 | sort)" $'0,10,2\n1,10,2\ntotal,10,4' "the ranks of a job are one run"
history_ ranks
like "$(tr '\n' ' ' <out)" '/faults 1 \(9 times\); .*/\./faults 1:' "each command"
head -c -20 step/run-20.pmc >cut && mv cut step/run-20.pmc
history_ step --order name
like "$(cat err)" 'run-20.pmc is left out' "a damaged dump is left out"
history_ step --label branch
is "$status" 1 "a label that no run has"

# By time of the files, which is not that of their names.
(cd step && "$gen" 60 0.1 0 3 31 worker 5 && for i in {61..200}; do rm "run-$i.pmc"; done)
for i in {1..60}; do touch -d "2026-01-01 +$((61 - i)) hours" "step/run-$i.pmc"; done
history_ step --format json --where key=worker-\* --where name=cpu_ns
is "$(jq -r '.[] | "\(.run) \(.change_pct < 0) \(.file)"' out)" "31 true step/run-30.pmc" "runs are in the order of time"
history_ 'step/*.pmc' --order name --format json --where key=worker-\* --where name=cpu_ns
is "$(jq -r '.[] | "\(.run) \(.change_pct > 0) \(.file)"' out)" "31 true step/run-31.pmc" \
	"a pattern, in the order of the numbers in names"

: >step/empty.pmc
history_ step step/empty.pmc --format json
is "$status" 0 "an empty dump"
like "$(cat err)" 'left out: step/empty.pmc .*empty' "is named and left out"

history_
is "$status" 2 "no dumps: refused"
history_ step/run-1.pmc
is "$status" 1 "one run"
like "$(cat err)" 'at least 10 runs are needed' "is too few"
history_ step --by function
is "$status" 1 "no samples: refused"
history_ step --by thread
is "$status" 2 "threads are not the same in two runs"
done_testing
