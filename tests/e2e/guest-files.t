#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-files.t - disk full, file size limit, no permission, stderr closed, dump deleted: the host runs
# as without the agent, there is one note, and written frames stay readable.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock PMC_REPORT=off
trap 'umount "$T/small" 2>/dev/null; rm -rf "$T"' EXIT

# unharmed NAME: the last run had the output and status of churn 2000 100 without the agent.
unharmed() {
	is "$status $(cat out)" "0 joined 2000" "$1: the host ends well"
	[ "$(wc -l <err)" -le 1 ] || fail "$1: at most one line on stderr"
}
readable() {
	"$PMCTL" report --format json "$1" >r.json 2>r.err
	is "$?" 0 "$2: what was written is readable"
	between "$(jq '.threads | length' r.json)" "$3" 2001 "$2: and has rows"
}

# ---- disk full ------------------------------------------------------------------------------
mkdir small
if mount -t tmpfs -o size=64k,mode=777 none small 2>err; then
	PMC_OUT=$T/small/x.pmc run timeout -s KILL 100 env LD_PRELOAD="$AGENT" "$PROG/churn" 2000 100
	unharmed "disk full"
	readable small/x.pmc "disk full" 100
	PMC_OUT=$T/small/y.pmc run agent "$PROG/churn" 3 100
	is "$status $(cat out)" "0 joined 3" "disk full from the start: the host ends normally"
	: >small/x.pmc
	PMC_REPORT=auto=$T/full.txt PMC_OUT=$T/small/z.pmc run agent "$PROG/churn" 2000 100
	is "$(grep -c 'note: .*could not be written' full.txt)" 1 "disk full: one note says that rows are lost" ||
		diag_file full.txt summary
	dd if=/dev/zero of=small/fill bs=1k count=64 2>err
	for format in threads json off; do
		echo '{"old": 1}' >old.json
		run "$PMCTL" run --report $format=old.json -o small/r.pmc -- "$PROG/churn" 3 100
		is "$status $(cat out)" "0 joined 3" "pmctl run --report $format, disk full: the status and output of the command"
		is "$(wc -l <err) $(grep -c 'r.pmc: No space left on device; .*-o' err)" "1 1" \
			"pmctl run --report $format, disk full: one line says that nothing was recorded, and the fix" ||
			diag_file err stderr
		[ $format = off ] || is "$(cat old.json)" "" "pmctl run --report $format, disk full: no report"
	done
	run "$PMCTL" run --off-cpu -o small/r.pmc -- sh -c 'exit 3'
	is "$status $(grep -c 'nothing was recorded' err)" "3 1" "pmctl run --off-cpu, disk full" || diag_file err stderr
	umount small
else
	skip "no tmpfs can be mounted here: $(head -n 1 err)" "disk full"
fi

# As with a quota, writes are short, then fail.
for blocks in 1 7 64; do
	rm -f q.pmc
	run bash -c "ulimit -f $blocks; LD_PRELOAD=$AGENT PMC_OUT=$T/q.pmc exec timeout -s KILL 100 $PROG/churn 2000 100"
	unharmed "file size limit of $blocks KiB"
	[ $blocks = 1 ] || readable q.pmc "file size limit of $blocks KiB" 5
	between "$(stat -c %s q.pmc)" 1 $((blocks * 1024)) "file size limit of $blocks KiB: the dump is no larger"
done
run bash -c "ulimit -f 4; LD_PRELOAD=$AGENT PMC_OUT=$T/f.pmc exec timeout -s KILL 100 $PROG/cases fork-only"
is "$status $(cat out)" "0 child exit 5" "file size limit and fork: same status"
# SIGXFSZ belongs to the host: writes of the agent must not raise it, in any state of the signal.
for how in default ignored handled blocked turns pending changed; do
	rm -f x.pmc mine
	run "$PROG/filelimit" $how
	without="$status $(cat out)"
	PMC_OUT=$T/x.pmc run agent "$PROG/filelimit" $how
	is "$status $(cat out)" "$without" "SIGXFSZ $how: same output as without the agent"
	readable x.pmc "SIGXFSZ $how" 20
	rm -f x.pmc
done
# A SIGXFSZ sent by another process must not get lost during a write of the agent.
PMC_OUT=$T/x.pmc run agent "$PROG/filelimit" sent
is "$(cat out)" "20 ended" "a SIGXFSZ from outside ends the process, also while threads write rows"
rm -f x.pmc

# ---- PMC_OUT is not a regular file ------------------------------------------------------------
mkfifo pipe
for out in "$T/pipe" /dev/full /dev/null; do
	PMC_OUT=$out run timeout -s KILL 100 env LD_PRELOAD="$AGENT" "$PROG/churn" 2000 100
	unharmed "PMC_OUT=${out##*/}: refused without waiting for a reader"
	like "$(cat err)" "PMC_OUT=$out: .*neither a regular file" "PMC_OUT=${out##*/}: a one-line error"
done

# ---- the dump is deleted during the run ----------------------------------------------------------
mkfifo hold
env LD_PRELOAD="$AGENT" PMC_DUMP=USR2 PMC_OUT="$T/gone.pmc" "$PROG/waiters" 20 20 <hold >out 2>err &
pid=$!
exec 9>hold
await grep -q ready out
ln gone.pmc kept.pmc
rm gone.pmc
kill -USR2 "$pid"
exec 9>&-
wait $pid
is "$? $(tail -n 1 out)$(cat err)" "0 20 threads, 0 disturbed, 0 handled" \
	"dump deleted during the run: the host ends normally"
"$PMCTL" report --format json kept.pmc gone.pmc >r.json 2>r.err
is "$(jq '[.threads[] | select(.state == "exited")] | length' r.json)" 41 \
	"dump deleted during the run: the open file and the new one have all rows"

# ---- stderr --------------------------------------------------------------------------------------
unset PMC_REPORT
run bash -c "LD_PRELOAD=$AGENT exec $PROG/churn 2000 100 2>&-"
unharmed "stderr closed"
run bash -c "LD_PRELOAD=$AGENT $PROG/churn 2000 100 2> >(true)"
unharmed "stderr is a closed pipe"
run bash -c "LD_PRELOAD=$AGENT exec $PROG/churn 2000 100 2>/dev/full"
unharmed "stderr is full"
# A program whose descriptor 2 is a file of its own: no message of the agent may be written to it.
for report in summary=/nonexistent/x auto=fifo2; do
	[ -p fifo2 ] || mkfifo fifo2
	seq 1 100 >mine
	cp mine mine0
	run bash -c "PMC_REPORT=$report LD_PRELOAD=$AGENT exec bash -c 'exec 2<>mine; exit 3'"
	is "$status $(cat out err)" "3 " "PMC_REPORT=$report, descriptor 2 is a file: the program ends"
	same mine0 mine "PMC_REPORT=$report, descriptor 2 is a file of the program: it is unchanged"
	run bash -c "PMC_REPORT=$report LD_PRELOAD=$AGENT exec bash -c 'exec 2<>mine; exit 3' 2>&-"
	same mine0 mine "PMC_REPORT=$report, stderr closed, then a file of the program: it is unchanged"
done
run bash -c "PMC_REPORT=summary=limited LD_PRELOAD=$AGENT exec bash -c 'exec 2<>mine; ulimit -f 0; exit 3'"
same mine0 mine "the report does not fit in its file, and descriptor 2 is a file of the program: it is unchanged"
run bash -c "PMC_REPORT=summary=limited LD_PRELOAD=$AGENT bash -c 'ulimit -f 0; exit 3' 2>&1 | cat"
like "$(cat out)" 'the report is incomplete' "the report does not fit in its file: a message says so"

# ---- a daemon that outlives $(cmd 2>&1) ----------------------------------------------------------
mkfifo go
got=$(PMC_OUT=$T/daemon.pmc timeout 100 env LD_PRELOAD="$AGENT" "$PROG/detach" "$T/go" "$T/done" 2>&1)
# The daemon still waits here: it must not hold the pipe of $() open.
ok "\$(cmd 2>&1) does not wait for the daemon" test ! -e done
is "$(head -n 1 <<<"$got")" starting "\$(cmd 2>&1) has what it printed"
timeout 100 bash -c 'echo >go'
ok "a daemon: it runs on after its parent, and ends" await grep -q done "$T/done"
both() {
	"$PMCTL" report --format json daemon.pmc >r.json &&
		[ "$(jq '[.processes[] | select(.how_ended == "exit:0")] | length' r.json)" = 2 ]
}
ok "a daemon: it is in the dump" await both
is "$(jq '[.threads[] | select(.name == "detach")] | length' r.json)" 3 "a daemon: its thread and its parent have rows"
is "$(stat -c %a daemon.pmc)" 600 "the mode of a dump is 0600"

done_testing
