#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-signals.t - snapshots by signal and by interval; the dump of a killed program.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock PMC_REPORT=off

readable() {
	"$PMCTL" report --format json "$1" >r.json 2>r.err && [ ! -s r.err ]
}
now_ns() {
	python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'
}

# start VARIABLES... -- ARGUMENTS: run waiters in the background and wait until all its threads run.
# It ends when descriptor 9 is closed. $pid: its process ID.
start() {
	local vars=()
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	rm -f hold out err x.pmc
	mkfifo hold
	env "${vars[@]}" LD_PRELOAD="$AGENT" PMC_OUT="$T/x.pmc" "$PROG/waiters" "$@" <hold >out 2>err 9>&- &
	pid=$!
	exec 9>hold
	await grep -q ready out
}

# ---- a dump signal, 200 threads ----------------------------------------------------------------
# Threads that ran between the snapshot before a time and one after it.
live_after() {
	"$PMCTL" report --timeline --format json x.pmc |
		jq -s --argjson t "$1" '[.[] | select(.t_ns >= $t) | .tid] | unique | length'
}
live_since() {
	[ "$(live_after "$1")" = "$2" ]
}
start PMC_DUMP=USR2 -- 200 30
since=$(now_ns)
kill -USR2 "$pid"
ok "kill -USR2: the first snapshot has every live thread" await live_since "$since" 201
readable x.pmc
is "$(jq '[.threads[] | select(.state == "exited")] | length' r.json)" 30 \
	"threads that ended before the dump have a row"
is "$(jq '[.threads[] | select(.events[0].state != "counted" or .events[0].value <= 0)] | length' \
	r.json)" 0 "every row of the snapshot is counted"
is "$(jq -r '.processes[].how_ended' r.json)" running "the process is running"
# A thread may still be on its way to sleep; main runs the handler.
newer() { [ "$(live_after "$since")" -gt 0 ]; }
quiet() {
	since=$(now_ns)
	kill -USR2 "$pid"
	await newer && live_since "$since" 1
}
ok "later snapshots have only the threads that ran" await quiet
finish
is "$status $(tail -n 1 out) $(cat err)" "0 200 threads, 0 disturbed, 0 handled " "the host continues after a dump signal"
readable x.pmc
is "$(jq -r '[.threads[].state] | group_by(.) | map("\(.[0]):\(length)") | join(" ")' r.json)" \
	exited:231 "at the end each thread has one row"

# ---- the host's use of the signal has priority ---------------------------------------------------
start PMC_DUMP=USR2 -- 5 0 handler
for i in 1 2 3; do
	kill -USR2 "$pid"
done
finish
like "$(tail -n 1 out)" "5 threads, 0 disturbed, [1-3] handled" "a host's own handler stays installed"
readable x.pmc
like "$(jq -r '.processes[].notes[]' r.json)" "PMC_DUMP" "a note names PMC_DUMP"
run bash -c "trap '' USR2; LD_PRELOAD=$AGENT PMC_DUMP=USR2 PMC_OUT=$T/ign.pmc exec $PROG/churn 5 100"
is "$status $(cat out)" "0 joined 5" "a signal that is ignored stays ignored"
readable ign.pmc
like "$(jq -r '.processes[].notes[]' r.json)" "PMC_DUMP" "ignored signal: a note names PMC_DUMP"
for name in SIGUSR1 10 RTMIN+3 SIGRTMIN+3; do
	start PMC_DUMP=$name -- 3
	since=$(now_ns)
	case $name in 10) kill -10 "$pid" ;; *) kill -"${name#SIG}" "$pid" ;; esac
	ok "PMC_DUMP=$name: a snapshot" await live_since "$since" 4
	finish
done

# ---- 1,000 dump signals while threads and processes start and end --------------------------------
run "$PROG/storm" 2000
cp out out0
for seed in 1 2; do
	rm -f x.pmc
	PMC_DUMP=USR2 PMC_OUT=$T/x.pmc run timeout -s KILL 100 env LD_PRELOAD="$AGENT" \
		"$PROG/storm" 2000 1000 $seed
	same out0 out "1,000 dump signals, seed $seed: nothing crashed, hung, or read the host's descriptors"
	is "$status $(cat err)" "0 " "seed $seed: status and stderr"
	readable x.pmc
	is "$(cat r.err)" "" "seed $seed: no frame is damaged"
	main=$(jq '[.processes[] | select(.exe | endswith("storm"))][0].pid' r.json)
	is "$(jq --argjson p "$main" '[.threads[] | select(.pid == $p and .state == "exited")] | length' r.json)" \
		2002 "seed $seed: no row is lost"
	is "$(jq -r '[.processes[].how_ended] | unique | join(" ")' r.json)" "exec exit:0 exit:3" \
		"seed $seed: the children have rows"
	# Signals that are pending at the same time are one: on one CPU most of them.
	between "$("$PMCTL" report --timeline --format json x.pmc |
		jq -c "select(.seq == 0 and .tid == $main)" | wc -l)" 10 1100 \
		"seed $seed: between 10 and 1,100 snapshots"
done

# ---- signals that end a program by default --------------------------------------------------------
lost=
for signal in $(seq 1 31); do
	case $(kill -l "$signal") in
	KILL | STOP | TSTP | TTIN | TTOU | CONT | CHLD | URG | WINCH | IO | POLL) continue ;;
	esac
	rm -f x.pmc
	PMC_OUT=$T/x.pmc run agent sh -c "kill -$signal \$\$"
	ended=$("$PMCTL" report --format json x.pmc | jq -r '"\(.processes[0].how_ended) \(.threads | length)"')
	[ "$status $ended" = "$((128 + signal)) signal:$signal 1" ] || lost+="$(kill -l "$signal"): $status $ended; "
done
is "$lost" "" "a program that dies of a signal has its rows, and its status is that signal"
PMC_OUT=$T/yes.pmc LD_PRELOAD=$AGENT yes | head -n 1 >out
is "${PIPESTATUS[0]}" 141 "a program whose output nobody reads dies of SIGPIPE"
is "$("$PMCTL" report --format json yes.pmc | jq -r '.processes[0].how_ended')" "signal:13" "it has its rows"

# ---- SIGKILL -------------------------------------------------------------------------------------
start PMC_INTERVAL=100ms -- 50 30 busy
since=$(now_ns)
ok "PMC_INTERVAL: periodic snapshots are written" await live_since 0 81
kill -KILL "$pid"
finish
is "$status" 137 "it is killed"
readable x.pmc
is "$(cat r.err)" "" "SIGKILL: the dump is valid"
is "$(jq '[.threads[] | select(.state == "live")] | length' r.json)" 51 \
	"SIGKILL: every live thread has a row"
is "$(jq '[.threads[] | select(.state == "exited")] | length' r.json)" 30 \
	"SIGKILL: every ended thread has a row"
is "$(jq '[.processes[].notes[]] | length' r.json)" 0 "SIGKILL: there is no note" ||
	diag "$(jq -c '.processes[].notes' r.json)"
start PMC_INTERVAL=20ms -- 5 0 busy
since=$(now_ns)
ok "PMC_INTERVAL=20ms: periodic snapshots are written" await live_since "$since" 1
finish
is "$status $(tail -n 1 out)" "0 5 threads, 0 disturbed, 0 handled" "PMC_INTERVAL: the host is not disturbed"

# ---- counting that begins later ------------------------------------------------------------------
start PMC_START=off -- 5
finish
readable x.pmc
is "$(jq '[.threads[].events[] | select(.value != null and .value != 0)] | length' r.json)" 0 \
	"PMC_START=off: nothing is counted"
is "$(jq '[.threads[].events[] | select(.value == 0 and .state == "counted")] | length' r.json)" 0 \
	"PMC_START=off: values are null, not 0"
is "$(jq '[.threads[] | select(.cpu_ns == null and .minor_faults == null and .voluntary_switches == null)] | length' \
	r.json)" 6 "PMC_START=off: every thread has a row without CPU time"
like "$(jq -r '.processes[].notes[]' r.json)" "counting was off" "PMC_START=off: a note"
PMC_DELAY=60s PMC_OUT=$T/d.pmc run agent "$PROG/churn" 3 1000
is "$status $(cat out)" "0 joined 3" "PMC_DELAY beyond the end: the host does not wait"
readable d.pmc
is "$(jq '[.threads[].events[] | select(.value != null and .value != 0)] | length' r.json)" 0 \
	"PMC_DELAY beyond the end: nothing is counted"

# ---- invalid values ------------------------------------------------------------------------------
refused() {
	run env "$1" LD_PRELOAD="$AGENT" "$PROG/churn" 3 1000
	is "$status $(cat out)" "0 joined 3" "$1: the host runs on"
	is "$(wc -l <err)" 1 "$1: one line" || diag_file err stderr
	is "$(grep -cF -e "$1" err)" 1 "$1: which names variable and value"
	run env "$1" "$PMCTL" run -- touch ran
	is "$status $(wc -l <err) $(ls ran 2>/dev/null)" "2 1 " "pmctl run, $1: exit 2 and one line"
}
for bad in KILL STOP SIGKILL 9 19 0 65 -1 NOSUCH RTMIN+99; do
	refused "PMC_DUMP=$bad"
done
for bad in 0 999us 1us 0.5 -1s 1fortnight 0.0001ms; do
	refused "PMC_INTERVAL=$bad"
done
refused PMC_START=maybe
refused PMC_DELAY=soon
refused PMC_FOLLOW=them

# ---- handlers that are gone when the program dies ------------------------------------------------
for how in raise second sysv again siginfo abort; do
	rm -f x.pmc
	run "$PROG/once" $how
	status0=$status
	cp out out0
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/once" $how
	is "$status" "$status0" "once $how: status"
	same out0 out "once $how: the program sees its own actions"
	is "$("$PMCTL" report --format json x.pmc | jq -r '"\(.processes[0].how_ended) \(.threads | length)"')" \
		"signal:$((status0 - 128)) 1" "once $how: the thread has a row"
done
rm -f x.pmc
PMC_REPORT=off PMC_OUT=$T/x.pmc run agent bash -c "trap '' TERM; exec $PROG/once ignored"
is "$status $(xargs <out) $("$PMCTL" report --format json x.pmc | jq -r '.processes[-1].how_ended')" \
	"143 ignored default signal:15" "a signal that was ignored and is set to the default: the thread has a row"

# ---- a fatal signal in a wait with another mask ---------------------------------------------------
for how in sigsuspend ppoll pselect epoll_pwait once several handler thread queue fork; do
	rm -f x.pmc
	run "$PROG/masked" $how
	status0=$status
	cp out out0
	for vars in PMC_REPORT=off "PMC_REPORT=off PMC_INTERVAL=10ms"; do
		# shellcheck disable=SC2086 # two variables
		run env $vars PMC_OUT="$T/x.pmc" timeout -s KILL 100 env LD_PRELOAD="$AGENT" "$PROG/masked" $how
		is "$status" "$status0" "masked $how, $vars: status"
		same out0 out "masked $how, $vars: no code runs after the wait"
	done
	"$PMCTL" report --format json x.pmc >r.json
	is "$(jq -r '.processes[-1].how_ended' r.json)" \
		"$(case $how in several) echo signal:2 ;; *) echo signal:15 ;; esac)" "masked $how: the process has its rows"
done

# ---- a forked init of a PID namespace ------------------------------------------------------------
if unshare -p true 2>/dev/null; then
	run env LD_PRELOAD="$AGENT" PMC_REPORT=off unshare -p "$(python3 -c 'import sys; print(sys.executable)')" -c 'import os, signal
if os.fork():
    os.wait()
else:
    os.kill(1, signal.SIGTERM)
    os.kill(1, signal.SIGHUP)
    print(os.getpid(), len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "signals blocked", flush=True)'
	is "$status $(cat out)" "0 1 0 signals blocked" "signals without a handler do not end it, and block none"
else
	skip "no PID namespaces" "signals without a handler do not end it, and block none"
fi

# ---- the host's signal stack ---------------------------------------------------------------------
run env LD_PRELOAD="$AGENT" PMC_DUMP=USR2 PMC_REPORT=off PMC_OUT="$T/alt.pmc" PMC_EVENTS=task-clock,page-faults \
	"$PROG/altstack" 12 15 11
{
	read -r dump
	read -r fatal
	read -r fault
} <"$T/out"
between "$dump" -99999 -1 "a dump at a signal takes nothing of the host's signal stack"
between "$fatal" -99999 -1 "nor does the final dump at SIGTERM"
between "$fault" 1 1280 "the final dump at SIGSEGV takes less than 1.25 KiB of it"
run env LD_PRELOAD="$AGENT" PMC_DUMP=USR2 PMC_OUT="$T/small.pmc" "$PROG/ticks" small-stack 12
is "$status $(cat out)" "0 0 bytes written below" "PMC_DUMP, an alternate stack that is too small: the host runs on"
is "$("$PMCTL" report --timeline --format json small.pmc | jq -s 'map(select(.state == "live")) | length')" 1 \
	"PMC_DUMP, an alternate stack that is too small: there is a snapshot"

# ---- the mask of the agent's handlers, as the kernel has it (arm64 has a restorer, too) -------------
is "$(LD_PRELOAD=$AGENT python3 -c 'import ctypes, signal, struct, sys
number = {"x86_64": 13, "aarch64": 134}[__import__("platform").machine()]
action = ctypes.create_string_buffer(32)
ctypes.CDLL(None).syscall(number, signal.SIGTERM.value, None, action, 8)
print("%x" % struct.unpack("4Q", action.raw)[3])')" fffffffffffbfeff 'handlers of fatal signals block all signals'

done_testing
