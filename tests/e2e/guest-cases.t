#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-cases.t - programs fork, exec, end, are killed and use threads in many ways, one line of the
# table each: same output and status as without the agent, correct rows.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
cases=$PROG/cases
export PMC_EVENTS=task-clock PMC_REPORT=off

MAKEFLAGS='' rustc -O -o "$T/overflow" "$SRC/overflow.rs" 2>"$T/err" || diag_file "$T/err" rustc
javac -nowarn -d "$T" "$SRC/Crash.java" 2>"$T/err" || diag_file "$T/err" javac
# python3 may be a shell script of a version manager: use the interpreter itself.
python=$(python3 -c 'import sys; print(sys.executable)')
jvm="java -Xint -XX:+UseSerialGC -XX:-UsePerfData -XX:ErrorFile=$T/hs_err -cp $T"

# name | status | images and how they ended | rows and their states | command
# Status as in $?. "*": any number of rows.
read -r -d '' table <<END
fork in a multi-threaded program     |   0 | exit:0 exit:3      | exited:4 live:4        | $cases fork-threads
fork without exec                    |   0 | exit:0 exit:5      | exited:2               | $cases fork-only
_Fork                                |   0 | exit:0 exit:5      | exited:2               | $cases fork-low
raw clone as fork                    |   0 | exit:0 exit:5      | exited:2               | $cases fork-raw
forked child killed                  |   0 | exit:0 signal:15   | exited:2 killed:1      | $cases fork-killed
double-fork daemon closes everything |   0 | exit:0 exit:0 exit:0 | exited:5             | $cases daemon $T/done
exec after threads                   |   4 | exec exit:4        | exec:4 exited:2        | $cases exec-threads
failing exec                         |   0 | exit:0             | exited:3               | $cases exec-fails
every exec function                  |   0 | *                  | exec:10 exited:19      | $cases exec-all $cases
vfork and exec, good and failing     |   0 | exit:0 exit:4      | exited:5               | $cases vfork-exec $cases
system()                             |   0 | exit:0 exit:6      | exited:2               | $cases system
popen()                              |   0 | exit:0 exit:2      | exited:2               | $cases popen
posix_spawn                          |   0 | exit:0 exit:4      | exited:3               | $cases spawn $cases
_exit from a thread                  |   9 | exit:9             | exited:1 live:3        | $cases exit-thread
exit() while threads run             |   6 | exit:6             | exited:1 live:4        | $cases exit-running
quick_exit                           |   8 | exit:8             | exited:2               | $cases quick
abort                                | 134 | signal:6           | killed:3               | $cases abort
fault                                | 139 | signal:11          | killed:3               | $cases fault
fault in a thread                    | 139 | signal:11          | killed:4               | $cases fault-thread
SIGTERM by default                   | 143 | signal:15          | killed:3               | $cases term-default
SIGTERM handled                      |   3 | exit:3             | exited:1 live:2        | $cases term-handled
SIGTERM ignored                      |   0 | exit:0             | exited:1               | $cases term-ignored
sigset and its kin                   | 143 | signal:15          | killed:1               | $cases sysv-signals
a handler that calls the one before  |   0 | exit:0             | exited:1               | $cases chained
calls that are refused               |   0 | exit:0             | exited:1               | $cases bad-calls
the same, with ticks                 |   0 | exec exit:0        | exec:1 exited:1        | env PMC_INTERVAL=10ms $cases bad-calls
a cancelled thread closes files      |   0 | exit:0             | exited:2               | $cases cancelled-close
dlclose of code that a thread ran    |   0 | exit:0             | exited:2               | $PROG/dl_main $PROG/dl_module
unshare(CLONE_NEWUSER)               |   0 | exit:0             | exited:2               | $cases unshare
setrlimit, getrlimit, prlimit        |   0 | exit:0 exit:0      | exited:11 live:8       | $cases limits
200 threads cancelled at birth       |   0 | exit:0             | exited:201             | $cases cancelled
SCHED_FIFO threads that end          |   0 | exit:0             | exited:51              | $cases fifo
thread name at the end of a page     |   0 | exit:0             | exited:1               | $cases edge-name
room for a title                     |   0 | exit:0             | exited:1               | $cases title
room for a title, in a child         |   0 | exec exit:0        | exec:1 exited:1        | env $cases title
Rust stack overflow                  | 134 | signal:6           | *                      | $T/overflow
Python's KeyboardInterrupt           | 130 | signal:2           | killed:1               | $python $SRC/interrupted.py
END

states() {
	jq -r '[.threads[].state] | group_by(.) | map("\(.[0]):\(length)") | join(" ")' "$T/r.json"
}
ends() {
	jq -r '[.processes[].how_ended] | sort | join(" ")' "$T/r.json"
}
readable() {
	"$PMCTL" report --format json "$T/x.pmc" >"$T/r.json" 2>"$T/r.err" && [ ! -s "$T/r.err" ]
}
as_wanted() {
	readable && [ "$(ends)" = "$1" ]
}
# Numbers of threads differ between runs.
own() {
	sed -E "s/(thread '[^']*' )\([0-9]+\)/\1(TID)/" "$1"
}
status_of() {
	jq -r 'if .signal > 0 then 128 + .signal else .exit end' "$1"
}

ulimit -c 0
while IFS='|' read -r name want ends states cmd; do
	read -r name <<<"$name"
	read -r want <<<"$want"
	read -r ends <<<"$ends"
	read -r states <<<"$states"
	rm -f x.pmc "$T/done"
	# shellcheck disable=SC2086
	run timeout -k 1 100 "$PROG/rusage" ru0 $cmd
	mv out out0
	own err >err0
	[ "${cmd/daemon/}" = "$cmd" ] || ok "$name: it ends" await test -s "$T/done"
	rm -f "$T/done"
	# shellcheck disable=SC2086
	run timeout -k 1 100 "$PROG/rusage" ru1 env LD_PRELOAD="$AGENT" "PMC_OUT=$T/x.pmc" $cmd
	own err >err1
	is "$(status_of ru0) $(status_of ru1)" "$want $want" "$name: status without and with the agent"
	same out0 out "$name: same stdout"
	same err0 err1 "$name: same stderr"
	if [ "$ends" != "*" ]; then
		await as_wanted "$ends"
		is "$(ends)" "$ends" "$name: its process images"
	else
		readable
	fi
	[ "$states" = "*" ] || is "$(states)" "$states" "$name: its rows" ||
		diag "$(jq -c '.threads[] | [.pid, .tid, .seq, .name, .state]' r.json)"
	is "$(cat r.err)" "" "$name: no frame is damaged"
	is "$(jq '[.threads[] | select(.cpu_ns == null or .cpu_ns <= 0)] | length' r.json)" 0 \
		"$name: every row has CPU time"
	# After unshare of the user namespace, or a lowered limit, later threads may not be counted.
	case $cmd in *unshare* | *limits*) continue ;; esac
	is "$(jq -c '[.threads[].events[0].state] | unique' r.json)" '["counted"]' \
		"$name: every row is counted"
done <<<"$table"
is "$(cat "$T/done" 2>/dev/null)" "" "every case removed its file"

# Without limits each thread has a counted row.
PMC_OUT=$T/c.pmc run agent "$cases" fork-threads
is "$("$PMCTL" report --format json c.pmc | jq '[.threads[] | select(.events[0].state == "counted" and
	.events[0].value > 0)] | length')" 8 "fork: the threads of both are counted"
is "$("$PMCTL" report --format json c.pmc |
	jq '[.threads[] | select(.name == "cases" and .cpu_ns > 1500000)] | length >= 2')" true \
	"fork: the child's threads have their own CPU time"
PMC_FOLLOW=off PMC_OUT=$T/f.pmc run agent bash -c "$cases leaf; exit 0"
is "$("$PMCTL" report --format json f.pmc | jq -r '[.processes[].exe | sub(".*/"; "")] | unique | join(" ")')" \
	bash "PMC_FOLLOW=off: no agent in exec'd children"

# The agent must not change whether the kernel writes a core file.
for case in fault abort; do
	mkdir "core-$case"
	for with in 0 1; do
		pre=()
		[ $with = 0 ] || pre=(env LD_PRELOAD="$AGENT")
		(cd "core-$case" && ulimit -Sc unlimited 2>/dev/null
		 exec "$PROG/rusage" "$T/core$with" "${pre[@]}" "$cases" $case >/dev/null 2>&1)
	done
	is "$(jq -c '[.signal, .core]' core1)" "$(jq -c '[.signal, .core]' core0)" \
		"$case with a core: as without the agent ($(jq -c .core core0))"
	rm -rf "core-$case"
done

# Real-time threads that end while they are read.
PMC_DUMP=USR2 PMC_OUT=$T/rt.pmc run agent "$cases" fifo yes
is "$status $(cat out)" "0 50 real-time threads" "SCHED_FIFO threads ending during dumps: host unharmed"
is "$("$PMCTL" report --format json rt.pmc | jq '[.threads[] | select(.state == "exited")] | length')" \
	51 "SCHED_FIFO threads ending during dumps: every row"

# The JVM handles SIGSEGV itself; after a crash it writes its report.
# shellcheck disable=SC2086
PMC_OUT=$T/j.pmc run agent $jvm Crash
is "$status $(head -n 1 out)" "134 null pointers: 500" "Java: SIGSEGVs that it handles, then the crash"
like "$(head -n 12 "$T/hs_err" 2>/dev/null)" 'SIGSEGV' "Java: the hs_err file is written"
"$PMCTL" report --format json j.pmc >r.json
is "$(jq -r '.processes[].how_ended' r.json)" signal:6 "Java: how_ended"
ok "Java: its threads have rows" jq -e '[.threads[] | select(.state == "killed")] | length > 5' r.json

# ---- limits of memory ----------------------------------------------------------------------------
# What malloc gets of a limit, in MiB.
gets() {
	# shellcheck disable=SC2086 # an option and its value
	(ulimit $1 && shift && exec "$@")
}
for limit in '-d 102400' '-v 204800'; do
	plain=$(gets "$limit" "$PROG/fills")
	between "$(gets "$limit" env LD_PRELOAD="$AGENT" "$PROG/fills")" $((plain * 95 / 100)) "$plain" \
		"ulimit $limit: the agent leaves the program 95 % of $plain MiB"
	between "$(gets "$limit" env PMC_SAMPLE=cpu-clock PMC_OUT="$T/x.pmc" LD_PRELOAD="$AGENT" "$PROG/fills")" \
		$((plain * 85 / 100)) "$plain" "ulimit $limit: samples leave it 85 %"
done

# ---- a library that falsifies clocks -------------------------------------------------------------
PMC_REPORT=off PMC_OUT=$T/fake.pmc run env LD_PRELOAD="$AGENT $PROG/faketime" "$PROG/churn" 3 1000
is "$status $("$PMCTL" report --format json "$T/fake.pmc" | jq '.processes[0] | .end_ns - .start_ns < 86400e9')" "0 true" \
	"a library that falsifies clock_gettime does not falsify times"

# ---- a library behind the agent ------------------------------------------------------------------
LD_PRELOAD=$PROG/behind "$cases" leaves "$cases" >bare
for job in "" off; do
	run env PMC_JOB=$job LD_PRELOAD="$AGENT $PROG/behind" "$cases" leaves "$cases"
	same bare out "PMC_JOB=$job: functions of a library behind the agent are called"
done

done_testing
