#!/bin/bash
# SPDX-License-Identifier: MIT
# CPU time of child processes that the agent did not see, or not from their start: it is in the
# coverage summary, with events and without.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
export PMC_REPORT=off

# child EVENTS KIND END: run.json, and the table.
child() {
	rm -f run.pmc
	PMC_EVENTS=$1 PMC_OUT=$T/run.pmc run agent "$PROG/children" "$2" "$3"
	"$PMCTL" report --format json run.pmc >run.json
	"$PMCTL" report run.pmc >table
}
# tenths FILTER: a CPU time, in tenths of the child's 200 ms.
tenths() { json run.json "$1 / 20000000 | floor"; }

for events in task-clock software/config=98/; do
	for how in "fork kill" "_Fork raw" "clone raw" "clone kill" "vfork raw" "vfork exit"; do
		child $events $how
		between "$(tenths '.processes[0].coverage.descendants_cpu_ns')" 9 11 \
			"$how, $events: the first process has its CPU time" || diag_file run.json run.json
		like "$(cat table)" "coverage [0-9]\.[0-9] %" "$how, $events: coverage is below 10 %"
		unlike "$(cat table)" "1 of 1 thread|at least 0 thread" "$how, $events: it is not said that all threads are counted"
		like "$(tr -s '\n ' ' ' <table)" "CPU of child processes is in no thread" "$how, $events: a line says so"
		unlike "$(cat table)" "some rows could not" "$how, $events: no thread row is said to lack counts"
	done
	for how in "_Fork exit" "clone exit" "_Fork call"; do
		child $events $how
		is "$(json run.json '[.threads[] | select(.pid != .tid or .cpu_ns < 20000000)] | length')" 2 \
			"$how, $events: the child's row has no CPU time from before its first call into the agent"
		between "$(tenths '[.processes[].coverage | .cpu_ns - .attributed_cpu_ns] | max')" 9 11 \
			"$how, $events: the CPU time before is in the coverage of its process"
		like "$(cat table)" "created without fork" "$how, $events: a note says where the row starts"
	done
	child $events fork exit
	like "$(cat table)" "coverage (9[0-9]|100)" "fork exit, $events: coverage is above 90 %"
	between "$(tenths '[.threads[].cpu_ns] | max')" 9 11 "fork exit, $events: the child's row has its CPU time"
done

# A child that was killed after it had written that it runs.
export PMCTL
run agent timeout 60 bash -c 'sleep 1000 & pid=$!; unset LD_PRELOAD
	until "$PMCTL" dump $pid -o killed.pmc; do sleep 0.01; done
	"$PMCTL" report --format json killed.pmc >running.json
	kill -9 $pid; wait $pid
	"$PMCTL" report --format json killed.pmc >reaped.json'
is "$(jq -r '.processes[0].how_ended' running.json reaped.json | paste -sd' ')" "running lost" \
	"how_ended of a child: running, and lost after its parent waited for it" || diag_file reaped reaped.json

# A child is still running when the process that started it ends; then it ends, too.
mkfifo hold
cat_ended() {
	"$PMCTL" report --format json run.pmc |
		jq -e '.processes | any((.exe | test("/cat$")) and .how_ended == "exit:0")'
}
for code in 'cat hold & :' 'cat hold & /bin/true' 'cat hold & /bin/true; :' '(cat hold & :)'; do
	rm -f run.pmc
	PMC_OUT=$T/run.pmc run agent sh -c "$code"
	like "$("$PMCTL" report run.pmc)" "coverage unknown" "sh -c '$code': coverage is unknown while cat runs"
	: >hold
	await cat_ended
	like "$("$PMCTL" report run.pmc)" "coverage [0-9.]+ %" "sh -c '$code': coverage is known after its end"
done

# An orphan's CPU time is in no wait4(2) of the first process, that of a program without the agent is.
burn='my $x; $x++ while (times)[0] + (times)[1] < 0.2'
rm -f run.pmc orphan
PMC_OUT=$T/run.pmc run agent sh -c "LD_PRELOAD= perl -e '$burn'"'; (perl -e "$0; open F, q(>), q(orphan)" &)
	until [ -e orphan ]; do sleep 0.01; done' "$burn"
# Known when all that the first process has left has ended.
await eval '"$PMCTL" report --format json run.pmc | jq -e ".processes[0].coverage.descendants_cpu_ns"'
"$PMCTL" report --format json run.pmc >run.json
between "$(tenths '.processes[0].coverage.descendants_cpu_ns')" 9 12 "beside an orphan with a row the program without one is not lost"

# The host name and process IDs of other namespaces are not those of the first process.
for in in "-pf --mount-proc" "-u sh -c 'hostname 0; \"\$@\"; true' sh" "-u sh -c 'hostname zz; \"\$@\"; true' sh"; do
	if ! eval "unshare $in true" 2>why; then
		skip "$(tail -n 1 why)" "unshare $in"
		continue
	fi
	rm -f run.pmc
	PMC_OUT=$T/run.pmc eval "run agent sh -c '\"\$@\"; true' sh unshare $in perl -e '$burn'"
	"$PMCTL" report --format json run.pmc >run.json
	between "$(tenths '[.threads[].cpu_ns] | add')" 9 14 "unshare $in: a child has a row"
	between "$(tenths '[.processes[].coverage.descendants_cpu_ns // 0] | add')" 0 2 \
		"unshare $in: its CPU time is not that of descendants, too" || diag_file run.json run.json
	run "$PMCTL" explain run.pmc
	is "$status" 0 "unshare $in: explain takes it for a process of the same host"
done

# Forked children and images after an exec take the PID namespace from their parent or the image before, but for the
# first child in a new one.
if unshare -pf true 2>why; then
	rm -f run.pmc
	PMC_OUT=$T/run.pmc run agent unshare -pf sh -c 'readlink /proc/self/ns/pid >inner; (:); exit 0'
	inner=$(tr -dc 0-9 <inner) outer=$(readlink /proc/self/ns/pid | tr -dc 0-9)
	# of_namespace INODE: number of frames of processes in it.
	of_namespace() { perl -0777 -ne 'BEGIN { $n = pack "Q<", shift } print scalar(() = /\Q$n\E/g)' "$1" run.pmc; }
	"$PMCTL" report --format json run.pmc >run.json
	is "$(of_namespace "$inner")" "$(jq '.processes | length - 1' run.json)" \
		"unshare -pf: processes in the new PID namespace" || diag_file run.json run.json
	is "$(of_namespace "$outer")" 1 "unshare -pf: the first process in the old PID namespace"
else
	skip "$(tail -n 1 why)" "unshare -pf"
fi

# What the kernel does at the end of a program with much memory is in the totals of pmctl run.
# python3 may be a shell script of a version manager, whose CPU time is in another image of the process.
if python=$(python3 -c 'import sys; print(sys.executable)'); then
	run "$PMCTL" run -o big.pmc --report json=big.json -- "$python" -c 'import mmap, os
m = mmap.mmap(-1, 400 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, 400 << 20, 4096): m[at] = 1
print(sum(os.times()[:2]), flush=True)
os._exit(0)'
	ok "exit: its CPU time is in that of the process" jq -e --argjson used "$(cat out)" '.processes | map(.coverage) |
		max_by(.cpu_ns) | .cpu_ns > $used * 1e9 + 5e6 and .cpu_ns - .attributed_cpu_ns > 5e6' big.json ||
		diag_file big.json big.json
fi

# left COMMAND ARG...: how many programs the notes of a run say were executed without the agent.
left() {
	rm -f run.pmc
	PMC_OUT=$T/run.pmc run agent "$@"
	"$PMCTL" report --format json run.pmc >run.json
	json run.json '[.processes[].notes[] | select(.text | test("LD_PRELOAD")) | .count] | add // 0'
}
is "$(left sh -c 'env -u LD_PRELOAD true; LD_PRELOAD= /bin/true; /bin/true')" 2 \
	"programs executed without LD_PRELOAD are counted in a note" || diag_file run.json run.json
like "$("$PMCTL" report run.pmc)" "threads? counted, perhaps not all" "and the number of threads is not said to be complete"
left sh -c 'env true; true' >/dev/null
like "$("$PMCTL" report run.pmc)" "3 of 3 threads counted|2 of 2 threads counted" "without such programs it is"
is "$(left sh -c 'LD_PRELOAD= "$0/none"; LD_PRELOAD= /dev/null; true' "$T")" 0 "an exec that fails is not"

# A search of PATH tries files that are not there. None of these tries writes the rows.
rm -f run.pmc
PMC_OUT=$T/run.pmc run agent perl -e 'exec {$_} "x" or print $! + 0, "\n" for ("/nonexistent/x", "/etc/passwd/x", "/", "/etc/passwd") x 25;
	exec "true"'
is "$status $(sort -n out | uniq -c | tr -s ' \n' ' ')" "0  25 2 50 13 25 20 " "an exec of what cannot be executed fails as without the agent"
is "$("$PMCTL" report --timeline --format json run.pmc | jq -s 'map(select(.name == "perl")) | length')" 1 "and writes no rows"

if command -v python3 >/dev/null; then
	is "$(left python3 -c 'import subprocess; subprocess.run(["true"], env={}); subprocess.run(["true"])')" 1 \
		"a program started by vfork and exec is"
else
	skip "no python3" "a program started by vfork and exec is"
fi

if command -v strace >/dev/null; then
	rm -f run.pmc
	PMC_OUT=$T/run.pmc run strace -f -qq -o calls -e trace=openat -E "LD_PRELOAD=$AGENT" sh -c '/bin/true; (/bin/true); true'
	is "$(grep -c boot_id calls)" 1 "a job reads the boot ID once" || diag_file calls calls
	is "$("$PMCTL" report --format json run.pmc | jq -r '.processes[].boot_id' | sort -u)" "$(cat /proc/sys/kernel/random/boot_id)" \
		"all its processes have it"
else
	skip "no strace" "a job reads the boot ID once"
	skip "no strace" "all its processes have it"
fi

done_testing
