#!/bin/bash
# SPDX-License-Identifier: MIT
# Root may run pmctl dump and ctl on a hostile process: no file is created, no other process is read or
# written, and memory and time stay small.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "takes root"
cd "$T" || exit 1

# ---- the process changes at each system call of pmctl ----------------------------------------
cp "$PROG/snatch" hold && chmod 4755 hold
attack() { # CASE EXIT-STATUS
	run timeout -s KILL 120 "$PROG/snatch" "$T" "$PMCTL" "$1"
	if [ "$status" = 3 ] && grep -qE 'chosen process ID|setuid program' "$T/err"; then
		skip "$(cat "$T/err")" "$1"
		return
	fi
	is "$status" 0 "$1: no attack succeeds at any system call" || diag_file "$T/out" won
	like "$(tail -n 1 "$T/out")" "^[1-9][0-9]+ rounds, 0 won, exit status $2 without" \
		"$1: pmctl exits with status $2 if it is not attacked" || diag_file errors messages
}
attack dump-die 0
attack dump-reuse 0
attack dump-exec 0
# The process ends at the signal.
attack signal-reuse 1
attack stop-die 0
attack stop-reuse 0
attack reset-reuse 0

# ---- text and sizes that the process chooses ---------------------------------------------------
mkdir cwd cwd/pmc-x && chmod 777 cwd cwd/pmc-x
if unshare --uts true 2>/dev/null; then
	LD_PRELOAD=$AGENT PMC_REPORT=off unshare --uts sh -c 'printf x/../../created >/proc/sys/kernel/hostname
		exec sleep 1000' &
	pid=$!
	named() { [ "$(cat "/proc/$pid/comm")" = sleep ]; }
	await named
	await "$PMCTL" dump "$pid" -o ready.pmc
	file=cwd/pmc-$(uname -n)-$pid.pmc
	cp ready.pmc "$file" && chown 65534 "$file"
	run env -C cwd "$PMCTL" dump "$pid"
	is "$status $(cmp ready.pmc "$file")" "1 " "a snapshot without -o is not written to a file of another user"
	rm "$file"
	run env -C cwd "$PMCTL" dump "$pid"
	is "$status $(ls)" "0 $(ls -I "created*")" "the host name of the process does not lead out of the current directory"
	kill "$pid"
	wait "$pid" 2>/dev/null
else
	skip "no UTS namespaces" "the host name of the process does not lead out of the current directory"
fi

out=$T/$(printf 'e\033[31m')
LD_PRELOAD=$AGENT PMC_REPORT=off PMC_OUT=$out.pmc sleep 1000 &
pid=$!
ready() { "$PMCTL" dump "$pid" -o ready.pmc; }
await ready
run "$PMCTL" dump "$pid"
is "$status $(cat "$T/out")" "1 " "a dump whose name has control characters is refused"
like "$(cat "$T/err")" "e.x1b\[31m.pmc: .*use -o" "a name with control characters is printed escaped"
run "$PMCTL" dump "$pid" -o plain.pmc
is "$status" 0 "-o writes its snapshot"
ln plain.pmc linked.pmc
size=$(stat -c %s plain.pmc)
run "$PMCTL" dump "$pid" -o plain.pmc
is "$status $(stat -c %s plain.pmc)" "1 $size" "-o refuses a dump with a second name"
kill "$pid"
wait "$pid" 2>/dev/null

# The process grows its dump by a hole when it gets the signal, and writes no snapshot.
cat >hole.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void grow(int signo) { (void)signo; (void)!truncate("hole.pmc", 1 << 30); }
static struct sigaction action = { .sa_handler = grow };
extern int __sigaction(int, const struct sigaction *, struct sigaction *);
int main(void)
{
	/* Behind the agent's back. */
	__sigaction(SIGUSR2, &action, NULL);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
END
if gcc -O1 -o hole hole.c 2>/dev/null; then
	LD_PRELOAD=$AGENT PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=hole.pmc ./hole >log &
	pid=$!
	await grep -q ready log
	run python3 -c 'import resource, subprocess, sys
print(subprocess.call(sys.argv[1:]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)' \
		"$PMCTL" dump --signal "$pid"
	like "$(cat "$T/err")" "no snapshot from process $pid" "--signal: a hole in the dump is no snapshot"
	like "$(cat "$T/out")" "^1 [0-9]{1,2}$" "--signal: a dump that grows by a hole of 1 GB costs less than 100 MB"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
else
	skip "libc does not export __sigaction" "--signal: a dump that grows by a hole"
fi

done_testing
