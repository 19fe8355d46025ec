#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-ticks.t - PMC_INTERVAL and PMC_DELAY: programs behave as without them, in threads, signals,
# system calls and processes; snapshots come while the program uses CPU time.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_REPORT=off
ticks=$PROG/ticks
python=$(python3 -c 'import sys; print(sys.executable)')

status_of() {
	jq -r 'if .signal > 0 then 128 + .signal else .exit end' "$1"
}

# Snapshots of the processes whose program matches a regular expression.
snapshots() {
	"$PMCTL" report --format json x.pmc >r.json 2>r.err || return
	"$PMCTL" report --timeline --format json x.pmc | jq -s --argjson pids \
		"$(jq -c --arg exe "$1" '[.processes[] | select(.exe | test($exe)) | .pid]' r.json)" \
		'[.[] | select(.pid | IN($pids[])) | [.pid, .t_ns]] | unique | length'
}

# ---- programs behave as without the agent --------------------------------------------------------
# name | status | command. Includes tools that count the threads of a process or allow only one.
read -r -d '' table <<END
one task, no child process           |   0 | $ticks tasks
system calls that are not restarted  |   0 | $ticks calls
handlers of all real-time signals    |   0 | $ticks handlers
a real-time signal that kills        | 162 | $ticks lethal
real-time signals ignored            |   0 | $ticks ignored
all signals blocked, sigwaitinfo     |   0 | $ticks waits
timer with SIGRTMIN, sigwaitinfo     |   0 | $ticks timer
alternate stacks too small           |   0 | $ticks small-stack
the same, ended by SIGTERM           | 143 | $ticks small-stack 15
100 execs with a tick due            |   4 | $ticks execs
fork from a thread, child returns    |   0 | $ticks thread-forks
main leaves by pthread_exit          |   0 | $ticks main-leaves
seccomp strict                       |   5 | $ticks strict
seccomp calls that fail              |   0 | $ticks probes
handlers reset past libc in a child  |   0 | $ticks resets
all signals blocked, then a handler  |   0 | $ticks keeps
SIGRTMIN ignored, and exec           |   0 | $ticks hands-over ignored
SIGRTMIN blocked, and exec           |   0 | $ticks hands-over blocked
all signals blocked, and exec        |   0 | $ticks hands-over all
setpriv                              |   0 | setpriv --reuid 65534 --regid 65534 --clear-groups id -u
unshare(1) with a user namespace     |   0 | unshare -Ur id -u
nsenter(1)                           |   0 | nsenter -t $$ -m -p id -u
fork in Python                       |   0 | $python -W error -c import\u0020os;[os.wait()if(os.fork())else(os._exit(0))for(i)in(range(9))]
fork in a thread of Python           |   0 | $python -W always $SRC/py_processes.py fork
END

while IFS='|' read -r name want cmd; do
	read -r name <<<"$name"
	read -r want <<<"$want"
	read -ra cmd <<<"$cmd"
	cmd=("${cmd[@]//\\u0020/ }")
	rm -rf x.pmc any && mkdir -m 1777 any
	run timeout -k 1 100 "$PROG/rusage" ru0 "${cmd[@]}"
	mv out out0
	mv err err0
	# %e: after setpriv another user writes.
	case ${cmd[0]} in "$ticks") dump=$T/x.pmc ;; *) dump=$T/any/%e.pmc ;; esac
	run timeout -k 1 100 "$PROG/rusage" ru1 env "LD_PRELOAD=$AGENT" PMC_INTERVAL=10ms "PMC_OUT=$dump" "${cmd[@]}"
	is "$(status_of ru0) $(status_of ru1)" "$want $want" "$name: status without and with ticks"
	same out0 out "$name: same stdout"
	same err0 err "$name: same stderr"
	case ${cmd[0]} in
	"$ticks")
		between "$(snapshots '/ticks$')" 2 100000 "$name: there were snapshots" ||
			diag "$(jq -c '.processes[] | [.pid, .exe, .coverage, .notes]' r.json)"
		;;
	esac
done <<<"$table"

# ---- the program's own real-time signals ---------------------------------------------------------
# The agent goes on to another number, in all threads, whose own signals nobody sees.
# Not so many samples that the kernel throttles them while other tests take theirs.
sampled() {
	rm -f x.pmc
	env "LD_PRELOAD=$AGENT" PMC_SAMPLE=task-clock@500000 "PMC_OUT=$T/x.pmc" "$PROG/rt_signals" "$1" >out
	"$PMCTL" report --format json x.pmc >r.json &&
		jq -e 'all(.threads[]; .samples * 1e6 > .cpu_ns)' r.json >/dev/null
}
for case in alone signalfd worker worker-one worker-two worker-default worker-ignored filtered \
	starts restores unblocks forks takes-last ignores; do
	run "$PROG/rt_signals" $case
	mv out out0
	for vars in PMC_INTERVAL=10ms PMC_SAMPLE=task-clock@100000; do
		rm -f x.pmc
		run timeout -k 1 100 env "LD_PRELOAD=$AGENT" $vars "PMC_OUT=$T/x.pmc" "$PROG/rt_signals" $case
		is "$status" 0 "rt_signals $case, $vars: status"
		same out0 out "rt_signals $case, $vars: the program gets its signals alone"
	done
	case $case in
	filtered | starts | takes-last | ignores) ;;
	*) least=6 mostly "rt_signals $case: all threads are sampled to their end" sampled $case ;;
	esac
done

# ---- snapshots come while the program runs -------------------------------------------------------
# start VARIABLES...: `ticks busy` in the background, $pid, until descriptor 9 is closed.
start() {
	rm -f hold out x.pmc
	mkfifo hold
	env "$@" LD_PRELOAD="$AGENT" PMC_OUT="$T/x.pmc" "$ticks" busy <hold >out 2>err 9>&- &
	pid=$!
	exec 9>hold
	await grep -q ready out
}
at_least() {
	[ "$(snapshots ticks)" -ge "$1" ]
}
counted() {
	"$PMCTL" dump "$pid" -o now.pmc && "$PMCTL" report --format json now.pmc >r.json &&
		jq -e '[.threads[].events[] | select(.state == "counted" and .value > 0)] | length >= 2' r.json
}

start PMC_INTERVAL=20ms
ok "PMC_INTERVAL: snapshots come as long as the program runs" await at_least 20
finish
is "$status $(cat err)" "0 " "PMC_INTERVAL: the program ends normally"
start PMC_DELAY=300ms PMC_EVENTS=task-clock
ok "PMC_DELAY: counting starts while the program runs" await counted
finish
is "$status $("$PMCTL" report --format json x.pmc | jq -c '.threads[] | select(.main) |
	(.end_ns - .start_ns - 300000000) as $most | [.cpu_ns, .events[0].value] | map(. <= $most)')" \
	"0 [true,true]" "PMC_DELAY: earlier work is not counted"
# A child that was forked before the delay is over starts counting, too.
PMC_DELAY=200ms PMC_EVENTS=task-clock PMC_OUT=$T/f.pmc run agent bash -c \
	'(i=0; while [ $SECONDS -lt 2 ]; do i=$((i + 1)); done; exit 0) & wait'
is "$("$PMCTL" report --format json f.pmc | jq '.threads | max_by(.cpu_ns) | .events[0].value > 0')" true \
	"PMC_DELAY: a child forked before counting starts" ||
	diag "$("$PMCTL" report --format json f.pmc | jq -c '.threads[] | [.pid, .cpu_ns, .events[0].value]')"

# ---- threads that run little ---------------------------------------------------------------------
# None uses as much CPU time as an interrupt every 12.5 ms would find. After SIGKILL all have rows.
rm -f x.pmc out
mkfifo idle
PMC_INTERVAL=100ms PMC_REPORT=off PMC_OUT=$T/x.pmc LD_PRELOAD=$AGENT "$PROG/idlers" 50 200 <idle >out 2>err &
pid=$!
exec 9>idle
await grep -q done out
kill -KILL $pid
wait $pid 2>/dev/null
exec 9>&-
"$PMCTL" report --timeline --format json x.pmc >r.json
between "$(jq -r .t_ns r.json | sort -n | awk '$1 > last + 25e6 { n++ } { last = $1 } END { print n + 0 }')" 12 40 \
	"50 threads of 0.5 % CPU: snapshots are taken at most of the times"
is "$("$PMCTL" report --format json x.pmc | jq '[.threads[] | select(.main | not)] | length')" 50 \
	"50 threads of 0.5 % CPU, SIGKILL: a row for each"

# ---- coverage of short processes -----------------------------------------------------------------
PMC_INTERVAL=20ms PMC_OUT=$T/short.pmc run agent bash -c \
	'for i in {1..40}; do /bin/true; (:); done'
PMC_INTERVAL=20ms PMC_OUT=$T/short.pmc run agent "$python" "$SRC/py_processes.py" fork
between "$("$PMCTL" report --format json short.pmc | jq '[.processes[].coverage | select(.cpu_ns)] |
	100 * (map(.attributed_cpu_ns) | add) / (map(.cpu_ns) | add)')" 95 100 \
	"PMC_INTERVAL=20ms: thread rows explain 95 % of the CPU time of short processes"

# ---- limits --------------------------------------------------------------------------------------
notes() {
	"$PMCTL" report --format json x.pmc | jq -r '.processes[].notes[]'
}
rm -f x.pmc
PMC_INTERVAL=1ms PMC_OUT=$T/x.pmc run agent "$ticks" tasks
between "$(snapshots '/ticks$')" 2 100000 "PMC_INTERVAL=1ms, below most clock ticks: there are snapshots"
rm -f x.pmc
# No pending signals are left: the program and its descendants run without timers.
PMC_INTERVAL=10ms PMC_OUT=$T/x.pmc run agent bash -c 'ulimit -i 0 && exec "$1" calls' limited "$ticks"
is "$status $(cat out)" "0 0 interrupted" "RLIMIT_SIGPENDING 0: the program runs"
like "$(notes)" "RLIMIT_SIGPENDING" "RLIMIT_SIGPENDING 0: a note names it"
between "$(snapshots '/ticks$')" 2 100 "RLIMIT_SIGPENDING 0: threads that start and end take snapshots"

done_testing
