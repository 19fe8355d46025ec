#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-fds.t - the host keeps its descriptor numbers, its limit and its EMFILE.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS='{task-clock,page-faults}' PMC_REPORT=off
hard=$(ulimit -Hn)
[ "$hard" = unlimited ] && hard=1048576

# limited SOFT HARD CMD...: under these limits, stdin from /dev/null.
limited() {
	local soft=$1 hard=$2
	shift 2
	# shellcheck disable=SC2016
	bash -c 'ulimit -Sn "$1" && ulimit -Hn "$2" && shift 2 && exec "$@"' limited "$soft" "$hard" "$@" </dev/null
}
summary() {
	"$PMCTL" report --format json "$1" >r.json 2>r.err
	jq -r '"\(.threads | length) rows, \([.threads[] | select(all(.events[]; .state == "counted" and
		.value != null))] | length) counted"' r.json
}

# ---- soft 64 below a high hard limit -------------------------------------------------------------
run limited 64 "$hard" "$PROG/fds" 200
cp out out0
is "$(head -n 1 out)" "200 threads" "soft 64: 200 threads run without the agent"
run limited 64 "$hard" env LD_PRELOAD="$AGENT" PMC_OUT="$T/a.pmc" "$PROG/fds" 200
is "$status" 0 "soft 64, hard $hard: the host ends normally"
same out0 out "soft 64: numbers, EMFILE, dup2, close and the limit of children as without the agent"
summary a.pmc >/dev/null
pid=$(jq '[.processes[] | select(.exe | endswith("fds"))][0].pid' r.json)
is "$(jq --argjson p "$pid" '[.threads[] | select(.pid == $p and all(.events[]; .state == "counted"))] |
	length' r.json)" 201 "soft 64: every thread is counted"

# ---- a host that closes descriptors, and more, past libc -------------------------------------------
for how in call inline tsc limits numbers; do
	limits=(100 100)
	[ $how != limits ] || limits=(1000 "$hard")
	limited "${limits[@]}" "$PROG/raw_fds" $how >bare
	bare=$?
	for set in X=1 PMC_INTERVAL=5ms PMC_SAMPLE=task-clock/2000; do
		# Snapshots have files of /proc open, at low numbers, for a moment.
		[ "$how $set" != "numbers PMC_INTERVAL=5ms" ] || continue
		run limited "${limits[@]}" env LD_PRELOAD="$AGENT" PMC_OUT="$T/raw-%p.pmc" "$set" timeout -s KILL 60 "$PROG/raw_fds" $how
		is "$status" $bare "raw_fds $how, $set: ends as without the agent"
		same bare out "raw_fds $how, $set: finds its descriptors"
	done
done

# ---- a host that closes all descriptors ----------------------------------------------------------
closes() {
	"$(python3 -c 'import sys; print(sys.executable)')" -c '
import os
failed = []
fds = [int(name) for name in os.listdir("/proc/self/fd")]
for fd in fds:
    try:
        if fd > 2: os.close(fd)
    except OSError:
        failed.append(fd)
print(len(failed), "not closed")'
}
run closes
is "$(cat out)" "1 not closed" "a host that closes all of /proc/self/fd: only the directory is closed already"
LD_PRELOAD=$AGENT PMC_OUT=$T/closes.pmc run closes
is "$status $(cat out err)" "0 1 not closed" "a host that closes all of /proc/self/fd: same output with the agent"
ok "a host that closes all of /proc/self/fd: the dump has all rows" "$PMCTL" report closes.pmc

# ---- numbers while the host samples --------------------------------------------------------------
for unwind in dwarf fp; do
	is "$(LD_PRELOAD=$AGENT PMC_OUT=$T/numbers.pmc PMC_REPORT=off PMC_SAMPLE=task-clock@1000000 PMC_UNWIND=$unwind \
		python3 -c 'import os; print(os.open("/dev/null", 0))')" 3 "sampling by $unwind: the host's first descriptor is 3"
done

# ---- soft = hard = 64 ----------------------------------------------------------------------------
run limited 64 64 "$PROG/fds" 200
bare=$(tail -n 1 err)
run limited 64 64 env LD_PRELOAD="$AGENT" PMC_OUT="$T/b.pmc" "$PROG/fds" 200
is "$status" 0 "soft = hard = 64: the host ends normally"
between "$(tail -n 1 err)" $((bare - 9)) "$bare" \
	"soft = hard = 64: the agent uses at most an eighth, and one for the dump" || diag "bare: $bare"
like "$(cat out)" "EMFILE" "soft = hard = 64: the host gets EMFILE"
summary b.pmc >/dev/null
jq --argjson p "$(jq '[.processes[] | select(.exe | endswith("fds"))][0].pid' r.json)" \
	'{ threads: [.threads[] | select(.pid == $p)],
	   process: [.processes[] | select(.pid == $p)][0] }' r.json >f.json
is "$(jq '.threads | length' f.json)" 201 "soft = hard = 64: every thread has a row"
is "$(jq '[.threads[] | select(.cpu_ns > 500000)] | length' f.json)" 201 "soft = hard = 64: each row has CPU time"
counted=$(jq '[.threads[] | select(all(.events[]; .state == "counted"))] | length' f.json)
between "$counted" 1 8 "soft = hard = 64: some threads are counted"
is "$(jq '[.threads[].events[] | select(.state != "counted" and .value != null)] | length' f.json)" 0 \
	"soft = hard = 64: the others have null, not 0"
is "$(jq -c '[.process.coverage.threads_seen, .process.coverage.threads_counted,
	([.process.coverage.threads_uncounted[].count] | add)]' f.json)" \
	"[201,$counted,$((201 - counted))]" "soft = hard = 64: the coverage summary adds up" ||
	diag "$(jq -c .process.coverage f.json)"
like "$(jq -r '.process.coverage.threads_uncounted[].reason' f.json)" "descriptor|file" \
	"soft = hard = 64: the coverage summary gives the reason"
like "$(jq -r '.process.notes[]' f.json)" "ulimit -n" "soft = hard = 64: a note has the fix"
within "$(jq .process.coverage.attributed_cpu_ns f.json)" "$(jq .process.coverage.cpu_ns f.json)" 15 \
	"soft = hard = 64: the rows explain the CPU time"

# ---- a limit that the host lowers ----------------------------------------------------------------
PMC_EVENTS={task-clock} run limited 1024 "$hard" env LD_PRELOAD="$AGENT" PMC_OUT="$T/lowered.pmc" "$PROG/crowd" 100 512
is "$(cat out)" "crowd of 100" "soft = hard = 512 after the start: the host ends normally"
is "$(summary lowered.pmc)" "101 rows, 101 counted" "soft = hard = 512 after the start: every thread is counted"

# ---- limits of new images ------------------------------------------------------------------------
run limited 64 "$hard" env LD_PRELOAD="$AGENT" PMC_OUT="$T/child.pmc" "$PROG/child_limit"
is "$status $(cat out)" "0 $hard" "a vfork child that sets its own limit keeps it in its exec"

# ---- forks while threads start and end -----------------------------------------------------------
# A fork waits for a thread that opens its events, but for 20 ms at most, in which a busy machine may not run
# that thread. Without any wait 20 to 35 of 200 children had events of others.
forks() {
	run limited "$1" "$2" env LD_PRELOAD="$AGENT" PMC_OUT="$T/forks.pmc" "$PROG/forkfds" 200
	between "$(sed -n 's/ children with 2$//p' out)" 190 200 "soft $1, hard $2: a child has its own events only" ||
		diag_file out "children and threads"
	like "$(tail -n 1 out)" "^0 threads with an errno" "soft $1, hard $2: errno is 0 in a new thread"
}
forks 1024 "$hard"
forks "$hard" "$hard"
# A delay as if the thread were preempted between opening its events and recording them.
run limited 1024 "$hard" strace -f --seccomp-bpf -o /dev/null -e trace=perf_event_open \
	-e inject=perf_event_open:delay_exit=5000 \
	env LD_PRELOAD="$AGENT" PMC_OUT="$T/slow.pmc" "$PROG/forkfds" 20
is "$(head -n 1 out)" "20 children with 2" "slow opens: a child has its own events only" ||
	diag_file err stderr

# ---- calls beside which no event may be opened block, or do not return ---------------------------
# In 60 s at most, as a call that holds the agent up for ever did.
for soft in 256 "$hard"; do
	for case in cancel jump flush fifo full; do
		[ "$soft $case" != "$hard full" ] || continue
		limited $soft "$hard" "$PROG/holds" $case >bare
		run limited $soft "$hard" env LD_PRELOAD="$AGENT" PMC_OUT="$T/holds.pmc" timeout 60 "$PROG/holds" $case
		is "$status $(cat out)" "0 $(cat bare)" "holds $case, limits $soft and $hard: as without the agent"
	done
done
# The agent's numbers start at half of the limit, or 1,024.
run limited 4096 4096 env LD_PRELOAD="$AGENT" PMC_OUT="$T/holds.pmc" "$PROG/holds" taken 1024
# So does a host that takes one, for a thread that uses it: some reads in a million are wrong on a busy machine.
like "$status $(cat out)" "^0 [01] of 20000 reads are wrong" "a host that takes the agent's numbers has its own files there"

# ---- the dump's descriptor is replaced without a hook --------------------------------------------
PMC_OUT=$T/usurped.pmc run agent "$PROG/usurp" "$T/usurped.pmc" "$T/usurper"
is "$status $(cat out)" "0 0 bytes" "no row is written to the file that has the dump's number"
summary usurped.pmc >/dev/null
is "$(jq -c '[[.threads[].name], [.processes[0].notes[].code]]' r.json)" \
	'[["usurp","before","after"],[13]]' "the dump is opened again and has all rows" || diag_file r.json r.json

# ---- 5,000 threads, six events each --------------------------------------------------------------
export PMC_EVENTS='{task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults}'
# Raise the hard limit if permitted.
many() {
	bash -c '{ [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 65536 ] || ulimit -Hn 65536; } 2>/dev/null
		ulimit -Sn 1024 && exec "$@"' many "$@"
}
room=$(many bash -c 'h=$(ulimit -Hn); [ "$h" = unlimited ] && h=1048576; echo $((h - 1024))')
run many env LD_PRELOAD="$AGENT" PMC_OUT="$T/c.pmc" "$PROG/crowd" 5000
is "$status $(cat out)" "0 crowd of 5000" "5,000 threads x 6 events: the host ends normally"
if [ "$room" -ge 30100 ]; then
	is "$(summary c.pmc)" "5001 rows, 5001 counted" "5,000 threads x 6 events: all are counted"
else
	diag "hard limit leaves $room descriptors"
	between "$(summary c.pmc | sed 's/.*rows, //; s/ .*//')" $((room / 6 - 20)) $((room / 6)) \
		"5,000 threads x 6 events: all that the limit allows are counted"
fi
run limited "$hard" "$hard" env LD_PRELOAD="$AGENT" PMC_OUT="$T/d.pmc" "$PROG/crowd" 5000
is "$status $(cat out)" "0 crowd of 5000" "5,000 threads, soft = hard = $hard: the host ends normally"
is "$(summary d.pmc | cut -d' ' -f1,2)" "5001 rows," "5,000 threads, soft = hard: every thread has a row"
between "$(summary d.pmc | sed 's/.*rows, //; s/ .*//')" $((hard / 4 / 6 - 2)) 5001 \
	"5,000 threads: the agent uses its share of descriptors"

done_testing
