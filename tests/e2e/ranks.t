#!/bin/bash
# SPDX-License-Identifier: MIT
# Ranks, jobs, pods and labels: in names of dumps, as keys and columns, and sums across them.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

# launch RANK WORK...: a rank as a launcher starts it, with a thread for each amount of work.
launch() {
	env OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_LOCAL_RANK=$(($1 % 2)) PMIX_NAMESPACE=job/7 \
		LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_LABEL=commit=1a2b,branch=main \
		PMC_OUT='runs-%j/rank-%r.pmc' "$PROG/burners" "${@:2}"
}
for rank in 0 1 2; do
	launch $rank 1 $((rank + 2)) >/dev/null || diag "rank $rank: $?"
done
is "$(find runs-* | sort | xargs)" "runs-job_7 runs-job_7/rank-0.pmc runs-job_7/rank-1.pmc runs-job_7/rank-2.pmc" \
	"%j is the job of the launcher, %r the rank; the directory of the job is made"
report() { run "$PMCTL" report "$@" runs-job_7; }
PMC_LABEL=k=1,l=2,k=3 run "$PMCTL" run --report off -o twice.pmc -- true
for format in json jsonl; do
	"$PMCTL" report --format $format twice.pmc >out
	is "$(grep -o '"k": *"[0-9]"' out | tr -d ' ')" '"k":"1"' "$format: of two labels with one key the first"
done
mkdir hidden
run env SLURM_JOB_ID=.x "$PMCTL" run -o 'hidden/%j.pmc' -- true
is "$status $(grep -c 'nothing was recorded' err) $(ls -A hidden)" "0 0 .x.pmc" "%j that begins with a dot"
mkfifo runs-job_7/fifo
(exec echo text >runs-job_7/fifo) &
ok "a writer waits" await grep -q 'State:.S' /proc/$!/status
report
is "$status $(timeout 60 cat runs-job_7/fifo)" "0 text" "a pipe in a directory of dumps is not opened"
rm runs-job_7/fifo
report --format json
is "$(jq -c '[.processes[] | [.rank, .labels]]' out)" \
	"$(jq -nc '[range(3) | [., { commit: "1a2b", branch: "main", "local-rank": "\(. % 2)", job: "job/7" }]]')" \
	"processes have their rank and labels"
jq '.threads' out >threads.json
report --by rank,job --format json
is "$(jq -c '[.groups[].keys] | sort' out)" \
	'[{"rank":"0","job":"job/7"},{"rank":"1","job":"job/7"},{"rank":"2","job":"job/7"}]' "--by rank,job"
report --where local-rank=1 --where labels='*commit=1a2b*' --columns rank,job,labels --format csv
is "$(sort -u out | grep -v ^rank)" '1,job/7,"commit=1a2b,branch=main,local-rank=1,job=job/7"' \
	"ranks, jobs and labels are columns and conditions"

# sums FILTER: of each rank, computed from the rows of its threads.
report --across rank --by exe --format json
jq -n --slurpfile threads threads.json --slurpfile report out '
	[$threads[0] | group_by(.pid)[] | map(.cpu_ns) | add] as $sums |
	($sums | add / length) as $mean |
	$report[0].groups[0] | [.parts == 3, .cpu.sum == ($sums | add), .cpu.min == ($sums | min),
		.cpu.max == ($sums | max), (.cpu.mean - $mean | fabs < 1),
		(.cpu.imbalance - ($sums | max) / $mean | fabs < 0.00001)]' >checks
is "$(jq -c . checks)" '[true,true,true,true,true,true]' \
	"--across rank: sum, minimum, mean, maximum and imbalance are those of the ranks' sums"
largest=$(jq -r 'group_by(.pid) | map([(map(.cpu_ns) | add), .[0].pid]) | max | .[1]' threads.json)
is "$(jq -r '.groups[0].cpu.largest' out)" \
	"$("$PMCTL" report --format json runs-job_7 | jq ".processes[] | select(.pid == $largest).rank")" \
	"and it names the rank with the most"
# A launcher without a rank, as the first and as the last process.
PMC_OUT=$T/launcher.pmc PMC_REPORT=off agent true
statistics() { "$PMCTL" report --across rank --by host --format json "$@" | jq -c '.groups[0].cpu | [.min, .mean, .max, .imbalance]'; }
is "$(statistics launcher.pmc runs-job_7) $(statistics runs-job_7 launcher.pmc)" "$(statistics runs-job_7) $(statistics runs-job_7)" \
	"--across rank: a process without a rank is not one of them"
is "$("$PMCTL" report --across rank --by host --format json launcher.pmc runs-job_7 | jq '.groups[0].cpu.sum')" \
	"$("$PMCTL" report --format json launcher.pmc runs-job_7 | jq '[.threads[].cpu_ns] | add')" "but in the sum"
report --across rank
like "$(cat out)" "ranks .*max/mean.*max rank" "a table across ranks has their number and imbalance"
like "$(cat out)" "samples show the slow rank" "ranks without samples: the report says how to find the slow one"
"$PMCTL" report --across rank --format csv runs-job_7 >pools.csv
is "$("$PMCTL" report --across rank --by pool --format csv runs-job_7 | cmp - pools.csv && echo same)" same \
	"--across alone is by pool"

for bad in "--across function" "--across region" "--across rank --by thread" "--across rank --by function" \
	"--across rank --timeline"; do
	# shellcheck disable=SC2086
	refuses 2 "across" "report $bad is refused" report $bad runs-job_7
done
refuses 2 "invalid --across 'rnk'" "an unknown key" report --across rnk runs-job_7
refuses 2 "PMC_LABEL|--label" "a label without a value" run --label commit -- true
PMC_LABEL=commit run env LD_PRELOAD="$AGENT" PMC_OUT="$T/none.pmc" echo went on
is "$(cat out)" "went on" "PMC_LABEL=commit: the program runs on"
like "$(cat err)" "PMC_LABEL=commit: invalid value; accepted: KEY=VALUE" "and one line says why it is not counted"
run "$PMCTL" run --label commit=2c,pod=web-3 -o labels.pmc -- true
run "$PMCTL" report --by pod --format csv labels.pmc
is "$(sed 1d out | cut -d, -f1)" web-3 "--label sets labels, also those that are known by variables"

# A directory that no % is part of is not made: its name may be mistyped.
PMC_OUT='typo/%r.pmc' run env LD_PRELOAD="$AGENT" PMC_REPORT=off true
is "$status $(ls -d typo 2>/dev/null)" "0 " "a directory that is the same for all is not made"
like "$(cat err)" "its directory does not exist" "and the agent says so"

# pmctl dump takes the labels of a running process.
mkfifo in
: >log
env SLURM_PROCID=5 SLURM_JOB_ID=88 LD_PRELOAD="$AGENT" PMC_REPORT=off "$PROG/waiters" 1 <in >log &
pid=$!
exec 9>in
await grep -q ready log
run "$PMCTL" dump $pid -o now.pmc
finish
"$PMCTL" report --format json now.pmc >now.json
is "$(jq -c '.processes[] | [.rank, .labels.job]' now.json)" '[5,"88"]' "pmctl dump has rank and labels"
"$PMCTL" merge --strip-args now.pmc -o stripped.pmc
is "$("$PMCTL" report --format json stripped.pmc | jq -c '.processes[] | [.cmdline, .rank, .labels.job]')" \
	'["",5,"88"]' "merge --strip-args keeps them"
done_testing
