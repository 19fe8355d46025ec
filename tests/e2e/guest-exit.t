#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-exit.t - the end of a process: no row is lost, no status changes, nothing waits for long.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

# ended HOW N: N children of leavers HOW; their outcome, and how_ended in the dump.
ended() {
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/leavers" "$1" "$2"
	is "$status $(cat out err)" "0 $1: $2 ended, 0 not as expected, 0 busy" \
		"$1: the children end as without the agent"
	"$PMCTL" report --format json x.pmc >r.json 2>r.err
	is "$? $(cat r.err)" "0 " "$1: the dump is whole"
}
how_ended() {
	jq -r '[.processes[].how_ended] | unique | join(" ")' r.json
}

# ---- two threads call _exit; a signal arrives meanwhile ------------------------------------------
for how in both exits handler; do
	ended $how 60
	is "$(how_ended)" "exit:0" "$how: every process has its last rows"
done
ended term 100
is "$(jq '[.processes[] | select(.how_ended | test("exit:0|signal:15") | not)] | length' r.json)" 0 \
	"term: every process has its last rows" || diag "$(jq -r '.processes[].how_ended' r.json | sort | uniq -c)"

ended early 600
# The thread may lose its CPU after it has taken the signal and before its handler has begun, which no
# other thread can see.
rm -f x.pmc
PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/leavers" taken 60
read -r _ killed _ others _ _ _ busy _ <out
is "$status $((killed + others)) $busy" "0 60 0" "taken: the children end"
between "$killed" 57 60 "taken: nearly all of them by the signal"
"$PMCTL" report --format json x.pmc >r.json 2>r.err
is "$? $(cat r.err)" "0 " "taken: the dump is whole"

# ---- other fatal signals while a thread dies of one ----------------------------------------------
for report in off threads; do
	PMC_REPORT=$report run agent timeout -k 1 100 "$PROG/overtake" 60
	is "$status $(cat out)" "0 60 of 60 ended by SIGTERM" \
		"PMC_REPORT=$report: the first of several fatal signals ends the program"
done

# SIGTERM and SIGHUP in quick succession, as systemd sends them: the kernel delivers SIGHUP first.
is "$(LD_PRELOAD=$AGENT PMC_REPORT=off python3 -c 'import os, signal, subprocess
ended = []
for i in range(20):
    child = subprocess.Popen("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    child.stdin.write(b"x")
    child.stdout.read(1)
    os.kill(child.pid, signal.SIGTERM)
    os.kill(child.pid, signal.SIGHUP)
    ended.append(child.wait())
print(set(ended))')" "{-15}" "SIGTERM, then SIGHUP: SIGTERM ends the program"

# ---- many threads compute ------------------------------------------------------------------------
# Each time slice that the ending thread uses up costs it one of all others: it must need few.
spinners=$((75 * $(nproc)))
for events in task-clock page-faults; do
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc PMC_EVENTS=$events run agent "$PROG/spinners" $spinners
	"$PMCTL" report --format json x.pmc >r.json
	is "$status $(jq -c '[.threads[] | select(.main | not) | [.cpu_ns != null, .voluntary_switches]] | [length, (unique | .[])]' r.json)" \
		"0 [$spinners,[true,null]]" "$events: threads that compute at the end: no files are read for each"
done

# ---- exit_group by syscall() ---------------------------------------------------------------------
rm -f x.pmc
PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/how" exit_group 6
"$PMCTL" report --format json x.pmc >r.json 2>r.err
is "$status $(how_ended) $(cat r.err)" "6 exit:6 " "syscall(SYS_exit_group): the process has its last rows"

# ---- a seccomp filter against one system call ----------------------------------------------------
for action in kill errno; do
	for end in exit signal; do
		"$PROG/denied" $action $end >plain 2>/dev/null
		PMC_REPORT=off PMC_OUT=$T/x.pmc agent "$PROG/denied" $action $end >with 2>err
		# Without rt_sigaction or getpid the signal cannot be sent again: exit status 143 instead.
		[ $action = kill ] || sed -i -E 's/^((13|39|134|172) )8f00$/\1f/' with
		same plain with "a filter that has $action for one system call, $end: the status is as without the agent"
	done
done

# ---- no process for the seccomp probe ------------------------------------------------------------
chmod 777 "$T"
cp "$AGENT" agent.so
AGENT=$T/agent.so ended nproc 1
like "$(jq -r '.processes[].notes[]' r.json)" "seccomp filter" "nproc: a note gives the reason for missing rows"

# ---- dlopen and dlclose --------------------------------------------------------------------------
AGENT=$T/agent.so PMC_REPORT=off run "$PROG/leavers" unload 1
is "$status $(cat out err)" "0 unload: 1 ended, 0 not as expected, 0 busy" \
	"dlopen and dlclose of the agent, then exit"

# ---- no reader of the report ---------------------------------------------------------------------
mkfifo fifo
for kind in auto summary; do
	PMC_REPORT=$kind=fifo run timeout 100 env LD_PRELOAD="$AGENT" "$PROG/churn" 3 1000
	is "$status $(cat out)" "0 joined 3" "PMC_REPORT=$kind=FIFO without a reader: the program ends"
	is "$(wc -l <err) $(grep -c 'PMC_REPORT: .*fifo' err)" "1 1" \
		"PMC_REPORT=$kind=FIFO without a reader: a one-line error" || diag_file err stderr
done

# full_stderr CMD...: runs CMD with a full pipe without a reader as stderr.
full_stderr() {
	python3 -c '
import os, subprocess, sys
r, w = os.pipe()
os.set_blocking(w, False)
for size in 4096, 1:
    try:
        while True:
            os.write(w, b"x" * size)
    except BlockingIOError:
        pass
os.set_blocking(w, True)
sys.exit(subprocess.run(sys.argv[1:], stderr=w, timeout=100).returncode & 255)' "$@"
}
for kind in threads json; do
	PMC_REPORT=$kind run full_stderr env LD_PRELOAD="$AGENT" "$PROG/churn" 3 1000
	is "$status $(cat out err)" "0 joined 3" "a full pipe on stderr, PMC_REPORT=$kind: the program ends"
done
PMC_OUT=/nonexistent/x.pmc run full_stderr env LD_PRELOAD="$AGENT" "$PROG/churn" 3 1000
is "$status $(cat out err)" "0 joined 3" "a full pipe on stderr and an error to log: the program ends"
PMC_REPORT=threads run full_stderr env LD_PRELOAD="$AGENT" bash -c 'kill -TERM $$'
is "$status $(cat err)" "241 " "a full pipe on stderr: a signal ends the program"
# quick CMD...: CMD takes less time than the report waits for a reader.
quick() {
	local start=${EPOCHREALTIME/./}
	full_stderr "$@"
	[ $((${EPOCHREALTIME/./} - start)) -lt 900000 ]
}
# The other threads of the program run on meanwhile.
for signal in SEGV ABRT; do
	PMC_REPORT=threads least=3 mostly "a full pipe on stderr: after SIG$signal the report does not wait" \
		quick env LD_PRELOAD="$AGENT" bash -c "kill -$signal \$\$"
done

# socket_stderr KIND READS CMD...: runs CMD with a socket that has little room, perhaps with a reader.
socket_stderr() {
	python3 -c '
import select, socket, subprocess, sys
kind, reads = sys.argv[1], sys.argv[2] == "read"
if kind == "tcp":
    listening = socket.create_server(("127.0.0.1", 0))
    a = socket.create_connection(listening.getsockname())
    b = listening.accept()[0]
else:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM if kind == "stream" else socket.SOCK_DGRAM)
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
if not reads:
    a.setblocking(False)
    try:
        while True:
            a.send(b"x" * (65536 if kind == "tcp" else 1))
    except BlockingIOError:
        a.setblocking(True)
    # Room for a part of the report.
    while kind == "stream" and not select.select([], [a], [], 0)[1]:
        b.recv(1)
process = subprocess.Popen(sys.argv[3:], stderr=a)
a.close()
while reads and (got := b.recv(100)):
    sys.stdout.buffer.write(got)
sys.exit(process.wait(20))' "$@"
}
many=page-faults,minor-faults,major-faults,context-switches,cpu-migrations,alignment-faults,emulation-faults
many+=,task-clock,cpu-clock,run-delay,user-time,system-time,elapsed-time
cat >rows.py <<'END'
import ctypes, threading
libc = ctypes.CDLL(None)
for i in range(26):
    thread = threading.Thread(target=lambda: libc.prctl(15, b"kind-%c" % (97 + i), 0, 0, 0))
    thread.start()
    thread.join()
END
PMC_EVENTS=$many COLUMNS=400 PMC_REPORT=auto run agent python3 rows.py
between "$(wc -c <err)" 4600 20000 "a report of more than a page"
for kind in stream dgram tcp; do
	PMC_EVENTS=$many COLUMNS=400 PMC_REPORT=auto run socket_stderr $kind ignore env LD_PRELOAD="$AGENT" python3 rows.py
	is "$status $(cat err)" "0 " "a $kind socket on stderr that nobody reads: the program ends"
	[ $kind = dgram ] && continue
	PMC_REPORT=auto run socket_stderr $kind read env LD_PRELOAD="$AGENT" "$PROG/churn" 20 20000
	is "$status $(grep -c 'keep this run' out)" "0 1" "a $kind socket on stderr: its reader gets the report"
done

# ---- a background process of a terminal with tostop ----------------------------------------------
# background CMD...: prints what the terminal gets, and how CMD ends or is stopped.
background() {
	timeout 100 python3 -c '
import os, pty, sys, termios
pid, fd = pty.fork()
if pid == 0:
    mode = termios.tcgetattr(0)
    mode[3] |= termios.TOSTOP
    termios.tcsetattr(0, termios.TCSANOW, mode)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.execvp(sys.argv[1], sys.argv[1:])
    os.setpgid(child, child)
    status = os.waitpid(child, os.WUNTRACED)[1]
    os.write(1, b"stopped by %d\n" % os.WSTOPSIG(status) if os.WIFSTOPPED(status) else b"ended %d\n" % status)
    os._exit(0)
try:
    while got := os.read(fd, 4096):
        os.write(1, got)
except OSError:
    pass' "$@" | tr -d '\r'
}
is "$(background sh -c 'echo stopped here' | tail -n 1)" "stopped by 22" "tostop stops a program that writes"
for how in 'exit 3' 'kill -TERM $$'; do
	PMC_REPORT=auto background env LD_PRELOAD="$AGENT" sh -c "$how" >got
	is "$(tail -n 1 got)" "$([ "$how" = 'exit 3' ] && echo ended 768 || echo ended 15)" \
		"tostop, $how: the report stops no program"
	like "$(cat got)" 'keep this run' "tostop, $how: there is a report"
done
PMC_REPORT=off PMC_EVENT=x background env LD_PRELOAD="$AGENT" sh -c 'exit 3' >got
is "$(tail -n 1 got)" "ended 768" "tostop: a message of the agent stops no program"
like "$(cat got)" 'PMC_EVENT=x: unknown' "tostop: the message is there"

# Small reads of a small pipe: it is full most of the time.
PMC_REPORT=auto agent "$PROG/churn" 2000 10 2>&1 >/dev/null | dd bs=16 2>/dev/null | grep -c 'keep this run' >n
is "$(cat n)" 1 "a slow reader gets all of a summary"

done_testing
