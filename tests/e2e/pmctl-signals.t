#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl run: signals sent to pmctl are forwarded to the command; terminal signals arrive once.
. "$(dirname "$0")/lib.sh"

cat >"$T/count.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* Prints the name of each signal received, one per line; exits with 42 on SIGTERM. */
int main(int argc, char **argv)
{
	const int sigs[] = { SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTERM };
	sigset_t set;

	(void)argc, (void)argv;
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		sigaddset(&set, sigs[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	for (int sig;;) {
		fflush(stdout);
		if (sigwait(&set, &sig) != 0)
			return 1;
		puts(sigabbrev_np(sig));
		if (sig == SIGTERM)
			return 42;
	}
}
END
gcc -D_GNU_SOURCE -o "$T/count" "$T/count.c" || exit 1

set -m # each job is its own process group, with pmctl as the leader

# start CMD...: run CMD in the background under pmctl; stdout to $T/log, the process ID of pmctl in $pid.
start() {
	: >"$T/log"
	"$PMCTL" run --report off -- "$@" >"$T/log" 2>"$T/err" &
	pid=$!
	await grep -q ready "$T/log"
}

# got: the signals received so far, on one line.
got() {
	grep -v ready "$T/log" | tr '\n' ' '
}

# fence: send USR2 and wait for it; signals sent earlier have then been received.
fence() {
	local before
	before=$(grep -c USR2 "$T/log")
	kill -USR2 "$pid"
	await test_count USR2 $((before + 1))
}

test_count() {
	[ "$(grep -c "$1" "$T/log")" -ge "$2" ]
}

start "$T/count"
for sig in INT QUIT HUP USR1 WINCH CONT; do
	kill -$sig "$pid"
	await test_count "$sig" 1
done
fence
is "$(got)" "INT QUIT HUP USR1 WINCH CONT USR2 " "a signal to pmctl alone is forwarded once"

kill -INT -- "-$pid"
await test_count INT 2
fence
ok "SIGINT to the group reaches the command" test "$(grep -c INT "$T/log")" -le 3
kill -STOP -- "-$pid"
kill -CONT -- "-$pid"
await test_count CONT 2
fence
conts=$(grep -c CONT "$T/log")
kill -STOP -- "-$pid"
kill -CONT "$pid"
await test_count CONT $((conts + 1))
pass "process group stopped, SIGCONT to pmctl alone: pmctl continues the command"
kill -TERM "$pid"
wait "$pid"
is "$?" 42 "SIGTERM to pmctl alone: pmctl exits with the status of the command"

start sh -c 'echo ready; exec sleep 1000'
kill -TERM "$pid"
wait "$pid" 2>/dev/null
is "$?" 143 "a command killed by a signal: pmctl is killed by the same signal"
start sh -c 'echo ready; exec sleep 1000'
kill -INT -- "-$pid"
wait "$pid" 2>/dev/null
is "$?" 130 "SIGINT to the process group: the command is killed by it, then pmctl"
start sh -c 'trap "" INT; echo ready; while :; do sleep 0.05; done'
kill -INT -- "-$pid"
kill -INT "$pid"
fence_alive() { kill -0 "$pid"; }
ok "a command that ignores SIGINT: pmctl keeps running" fence_alive
kill -TERM "$pid"
wait "$pid" 2>/dev/null

# The report after Ctrl-C.
: >"$T/log"
"$PMCTL" run -- sh -c 'echo ready; exec sleep 1000' >"$T/log" 2>"$T/err" &
pid=$!
await grep -q ready "$T/log"
kill -INT -- "-$pid"
wait "$pid" 2>/dev/null
like "$(cat "$T/err")" "pmcagent" "SIGINT to the process group: the report is printed"
set +m

# A terminal: ^C and ^Z sent to a shell job.
cat >"$T/terminal.py" <<'END'
import os, pty, signal, sys, time

pmctl, count, log = sys.argv[1:]

def lines():
    with open(log) as f:
        return f.read().split()

def until(what):
    for _ in range(1200):
        if what():
            return
        time.sleep(0.05)
    sys.exit("gave up on " + repr(lines()))

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
master, slave = pty.openpty()
shell = os.fork()
if shell == 0:
    os.setsid()
    os.close(master)
    import fcntl, termios
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.dup2(slave, 0)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execv(pmctl, [pmctl, "run", "--report", "off", "--", count])
    try:
        os.setpgid(job, job)
    except OSError:
        pass
    until(lambda: os.path.exists(log) and "ready" in lines())
    os.tcsetpgrp(slave, job)
    os.kill(os.getppid(), signal.SIGUSR1)
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        os._exit(10)
    os.killpg(job, signal.SIGCONT)
    until(lambda: lines().count("CONT") >= 1)
    os.kill(job, signal.SIGTERM)
    _, status = os.waitpid(job, 0)
    os._exit(0 if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 42 else 11)

os.close(slave)
signal.sigwait({signal.SIGUSR1})
os.write(master, b"\x03")
until(lambda: lines().count("INT") >= 1)
os.write(master, b"\x1a")
_, status = os.waitpid(shell, 0)
print(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1, *lines())
END
is "$(timeout 200 python3 "$T/terminal.py" "$PMCTL" "$T/count" "$T/tty.log" 2>&1)" \
	"0 ready INT CONT TERM" "on a terminal: ^C arrives once, ^Z stops the job, SIGCONT continues it"

# When a terminal hangs up, the kernel sends SIGHUP to the session leader only, here pmctl.
cat >"$T/hangup.py" <<'END'
import os, pty, sys
shell, master = pty.fork()
if shell == 0:
    os.execv(sys.argv[1], [sys.argv[1], "run", "--report", "off", "--", "sh", "-c", "echo ready; exec sleep 100"])
os.read(master, 100)
os.close(master)
_, status = os.waitpid(shell, 0)
print(os.WTERMSIG(status))
END
is "$(timeout 200 python3 "$T/hangup.py" "$PMCTL" 2>&1)" 1 "terminal hangup: pmctl and the command are killed by SIGHUP"

# ---- the background of a script ----------------------------------------------------------------
# A shell without job control ignores SIGINT there, and scripts end what they have started by it.
set +m
sleep 1000 &
target=$!
waits_for_signals() { ls -l "/proc/$pid/fd" 2>/dev/null | grep -q signalfd; }
for command in "stat" "top -b" "trace --summary" "profile -o $T/x.pmc"; do
	case $command in trace*) [ -r /sys/kernel/tracing/events/sched/sched_switch/id ] ;; esac || {
		skip "tracepoints cannot be read" "SIGINT ends $command -p"
		continue
	}
	# shellcheck disable=SC2086
	timeout -s KILL 100 "$PMCTL" $command -p $target >"$T/log" 2>"$T/err" &
	job=$!
	pid=
	started() { pid=$(pgrep -P $job -x pmctl) && waits_for_signals; }
	await started
	kill -INT "$pid"
	wait $job
	is $? 0 "SIGINT ends $command -p" || diag "$(tail -n 3 "$T/err")"
done
kill $target

done_testing
