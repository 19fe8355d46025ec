#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl dump: snapshots from outside are correct, interrupt no thread; each refusal names the fix.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
mkfifo in

# start CMD...: exec CMD with the agent; run in the background so that $! is its process ID.
start() {
	LD_PRELOAD=$AGENT exec "$@"
}

# target CMD...: start CMD in the background with the agent, stdin from the fifo, stdout to $T/log.
target() {
	: >log
	start "$@" <in >log 2>"$T/target.err" &
	pid=$!
	exec 9>in
	await grep -q ready log
}

gone() {
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# ---- correct counts -------------------------------------------------------------------------
PMC_EVENTS=task-clock,page-faults PMC_REPORT=off PMC_OUT="$T/own.pmc" target "$PROG/waiters" 50 5
before=$(stat -c %s own.pmc)
run "$PMCTL" dump "$pid"
is "$status" 0 "pmctl dump of a process with 51 threads succeeds"
is "$(cat "$T/out")" "$T/own.pmc" "pmctl dump prints the path of the process's dump file"
is "$(cat "$T/err")" "" "pmctl dump prints nothing on stderr"
ok "the snapshot is appended to the process's dump file" test "$(stat -c %s own.pmc)" -gt "$before"
"$PMCTL" report --format json own.pmc >live.json
is "$(json live.json '[.threads[] | select(.state == "live")] | length')" 51 "the snapshot has a row for every live thread"
is "$(json live.json '[.threads[] | select(.state == "exited")] | length')" 5 "the dump has a row for every exited thread"
is "$(json live.json '[.threads[] | select(.state == "live" and all(.events[]; .state == "counted"))] | length')" \
	51 "all events of all live threads are counted"
is "$(json live.json '[.threads[] | select(.state == "live" and .cpu_ns > 0 and .voluntary_switches > 0
	and .minor_faults != null and .events[1].value == .minor_faults + .major_faults)] | length')" 51 \
	"live rows have CPU time, context switches and faults"
is "$(json live.json '.processes[0] | "\(.how_ended) \(.coverage.threads_seen)"')" "running 56" \
	"the process is reported as running with 56 threads seen"
is "$(json live.json '[.processes[0].unattributed[].state] | join(" ")')" "counted not-counted" \
	"the snapshot has the unattributed CPU time, but not the faults of threads that ended"
run "$PMCTL" dump "$pid"
is "$status" 0 "a second snapshot succeeds"
"$PMCTL" report --timeline --format json own.pmc >timeline 2>/dev/null
ok "both snapshots are in the timeline" test "$(jq -s '[.[] | select(.seq == 10)] | length' timeline)" -ge 2
"$PMCTL" dump "$pid" -o - >piped.pmc
cmp_rows='[.threads[] | select(.state == "live" and .seq > 0) | [.seq, .name, (.events | map(.value))]] | sort'
"$PMCTL" report --format json piped.pmc | jq -c "$cmp_rows" >piped.rows
like "$("$PMCTL" report piped.pmc)" ' 5 threads had ended' "a line says how many threads are in the process's dump only"
unlike "$("$PMCTL" report piped.pmc own.pmc)$("$PMCTL" report own.pmc)" 'threads had ended' "which that dump does not have"
is "$(jq length piped.rows)" 50 "-o - writes the snapshot to standard output"
"$PMCTL" report --format json own.pmc | jq -c '[.threads[] | [.seq, .start_routine]] | sort | .[6:20]' >site.own
"$PMCTL" report --format json piped.pmc own.pmc | jq -c '[.threads[] | [.seq, .start_routine]] | sort | .[6:20]' >site.piped
same site.own site.piped "start routines in the piped snapshot equal those in the process's dump"
run "$PMCTL" dump "$pid" -o elsewhere.pmc
is "$(cat "$T/out")" elsewhere.pmc "-o FILE: the path of FILE is printed"
is "$(stat -c %a elsewhere.pmc)" 600 "-o FILE: FILE has mode 0600"
is "$("$PMCTL" report --format json elsewhere.pmc | jq -r '[.threads[].start_routine] | unique | sort | join(" ")')" \
	" wait_for_end" "-o FILE: start routines are in FILE"

# ---- repeated by the wall clock: every thread of this process waits --------------------------
run "$PMCTL" dump "$pid" -o "$T/often.pmc" -I 5ms -n 3
is "$status $(cat "$T/out")" "0 $T/often.pmc" "pmctl dump -I -n prints the path once"
is "$("$PMCTL" report --timeline --format json often.pmc | jq -s 'map(select(.seq == 0)) | length')" 3 \
	"pmctl dump -I 5ms -n 3: three snapshots of a process that waits"
rm often.pmc
run timeout 60 "$PMCTL" dump "$pid" -o "$T/while.pmc" -I 1ms -d 50ms
is "$status $(cat "$T/out")" "0 $T/while.pmc" "pmctl dump -I -d ends while the process goes on"
rm while.pmc
for bad in "-I 0" "-I soon" "-I 1s -n 0" "-I 1s -n -1" "-n 2" "-d 2" "-I 1s -d 0" "-I 1s --signal"; do
	# shellcheck disable=SC2086
	run "$PMCTL" dump "$pid" -o "$T/never.pmc" $bad
	is "$status $(wc -l <"$T/err") $(ls never.pmc 2>/dev/null)" "2 1 " "pmctl dump $bad: exit 2 and one line"
done
sleep 1000 &
sleeper=$!
LD_PRELOAD=$AGENT PMC_REPORT=off tail --pid=$sleeper -f /dev/null &
waiter=$!
await "$PMCTL" dump $waiter -o "$T/first.pmc"
"$PMCTL" dump $waiter -o "$T/until.pmc" -I 5ms >until.out 2>until.err &
dumper=$!
until_two() {
	[ "$("$PMCTL" report --timeline --format json until.pmc | jq -s 'map(select(.seq == 0)) | length')" -ge 2 ]
}
ok "pmctl dump -I: snapshots go on" await until_two
kill $sleeper
wait $waiter
wait $dumper
is "$? $(cat until.out)" "0 $T/until.pmc" "pmctl dump -I ends with the process" || diag_file until.err stderr
rm first.pmc until.pmc
finish
is "$status" 0 "after snapshots the program exits with status 0"
is "$(tail -n 1 log)" "50 threads, 0 disturbed, 0 handled" "after snapshots: no read or poll of the program failed"
"$PMCTL" report --format json own.pmc >final.json
is "$(json final.json '.threads | length')" 56 "rows written at exit replace snapshot rows: one row per thread"
is "$(json final.json '[.threads[] | select(.state == "live")] | length')" 0 "no thread is reported as live after exit"
jq -c '[.threads[] | {seq, v: (.events | map(.value))}] | sort_by(.seq)' final.json >final.v
jq -c '[.threads[] | {seq, v: (.events | map(.value))}] | sort_by(.seq)' live.json >live.v
ok "no count decreased, and waiting threads had under 30 page faults more" jq -e -n --slurpfile a live.v --slurpfile b final.v \
	'[$a[0], $b[0]] | transpose | all(.[1].v[0] >= .[0].v[0] and .[1].v[1] >= .[0].v[1] and
		(.[0].seq == 0 or .[1].v[1] - .[0].v[1] < 30))'

# ---- repeated while the process calls exec ----------------------------------------------------
# again FIFO: waits for a line, then executes itself until it is killed.
cat >again <<'END'
#!/bin/sh
[ "$1" = "" ] || read -r line <"$1"
i=0
while [ $i -lt 10000 ]; do i=$((i + 1)); done
exec "$0"
END
chmod +x again
mkfifo go
LD_PRELOAD=$AGENT PMC_REPORT=off ./again go &
pid=$!
await "$PMCTL" dump $pid -o "$T/first.pmc"
"$PMCTL" dump $pid -o "$T/again.pmc" -I 2ms -n 100 >again.out 2>again.err &
dumper=$!
await test -s again.out
echo now >go
wait $dumper
is "$? $(cat again.err)" "0 " "pmctl dump -I goes on while the process calls exec all the time"
ok "the snapshots are of several programs" test \
	"$("$PMCTL" report --format json again.pmc | jq '.processes | length')" -gt 2
gone $pid
# The next program has no agent: an error, when its agent could have started. Checked at the end.
LD_PRELOAD=$AGENT PMC_REPORT=off sh -c 'read -r line <"$1"; LD_PRELOAD= exec sleep 1000' sh go &
without=$!
await "$PMCTL" dump $without -o "$T/first.pmc"
"$PMCTL" dump $without -o "$T/without.pmc" -I 2ms >without.out 2>without.err &
without_dumper=$!
await test -s without.out
echo now >go

# ---- a stopped process without a dump file ------------------------------------------------
mkdir cwd
PMC_EVENTS=task-clock,page-faults PMC_REPORT=off target "$PROG/waiters" 20
kill -STOP "$pid"
run env -C cwd "$PMCTL" dump "$pid"
is "$status" 0 "pmctl dump of a stopped process succeeds"
is "$(cat "$T/out")" "pmc-$(uname -n)-$pid.pmc" "process without a dump file: pmctl dump prints the name of a new file"
is "$(ls cwd)" "pmc-$(uname -n)-$pid.pmc" "process without a dump file: the new file is in the current directory"
"$PMCTL" report --format json cwd/*.pmc >stopped.json
is "$(json stopped.json '[.threads[] | select(all(.events[]; .state == "counted"))] | length')" 21 \
	"stopped process: all events of every thread are counted"
like "$(cat "/proc/$pid/status")" "State:.T" "pmctl dump leaves a stopped process stopped"
ok "merging the snapshot with itself gives the same report" bash -c \
	"'$PMCTL' merge --compact cwd/*.pmc cwd/*.pmc -o - | '$PMCTL' report --format json - | cmp - stopped.json"
kill -CONT "$pid"
finish
is "$(tail -n 1 log)" "20 threads, 0 disturbed, 0 handled" "stopped process: after SIGCONT no read or poll failed"

# ---- a thread that bypasses pthread_create --------------------------------------------------
PMC_EVENTS=task-clock PMC_REPORT=off start "$PROG/rawclone" 300 3000 >/dev/null 2>&1 &
pid=$!
# Repeat until the thread has used CPU time.
unseen() {
	rm -f raw.pmc
	"$PMCTL" dump "$pid" -o raw.pmc &&
		"$PMCTL" report --format json raw.pmc >raw.json &&
		jq -e '(.threads | length == 1) and .processes[0].unattributed[0].value > 0' raw.json
}
ok "a raw clone thread has no row in a snapshot, its CPU time is unattributed" await unseen
gone "$pid"

# ---- no system call is interrupted (strace) ---------------------------------------------------
if command -v strace >/dev/null; then
	cat >sleeper.c <<'END'
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static int fds[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *polls(void *arg) { poll(NULL, 0, -1); return arg; }
static void *sleeps(void *arg) { nanosleep(&(struct timespec){ 1000, 0 }, NULL); return arg; }
static void *reads(void *arg) { char c; (void)!read(fds[0], &c, 1); return arg; }
static void *locks(void *arg) { pthread_mutex_lock(&mutex); return arg; }
int main(void)
{
	void *(*all[])(void *) = { polls, sleeps, reads, locks };
	pthread_t thread;
	(void)!pipe(fds);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, all[i], NULL);
	puts("ready");
	fflush(stdout);
	return pthread_join(thread, NULL);
}
END
	gcc -O1 -pthread -o sleeper sleeper.c
	PMC_EVENTS=task-clock PMC_REPORT=off start ./sleeper >log &
	pid=$!
	blocked() { [ "$(grep -l '^State:.S' "/proc/$pid/task/"*/status 2>/dev/null | wc -l)" = 5 ]; }
	await grep -q ready log
	await blocked
	strace -f -p "$pid" -o calls 2>strace.err &
	tracer=$!
	await grep -q attached strace.err
	# Wait until strace has printed the five pending calls.
	all_seen() { [ "$(grep -c '' calls)" = 5 ]; }
	await all_seen
	cp calls calls.before
	for i in 1 2 3; do ok "pmctl dump $i under strace succeeds" "$PMCTL" dump "$pid" -o strace.pmc; done
	"$PMCTL" ctl "$pid" stop >/dev/null
	"$PMCTL" ctl "$pid" reset >/dev/null
	"$PMCTL" ctl "$pid" start >/dev/null
	is "$("$PMCTL" report --format json strace.pmc | jq '.threads | length')" 5 "the snapshot under strace has five threads"
	same calls.before calls "pending poll, nanosleep, read and futex calls continue, no new call is made"
	is "$(grep -c '' calls)" 5 "strace recorded all five pending calls"
	kill "$tracer"
	wait "$tracer" 2>/dev/null
	unlike "$(cat calls)" "EINTR" "strace recorded no EINTR"
	gone "$pid"
else
	skip "no strace" "no system call is interrupted"
fi

# youngest PID: the last process in a chain of only children.
youngest() {
	local pid=$1 child

	while child=$(pgrep -P "$pid"); do
		pid=$child
	done
	echo "$pid"
}

# ---- several processes -------------------------------------------------------------------------
cp "$PROG/waiters" waiters-of-tree
cp "$PROG/waiters" later
mkfifo later.in
: >log
PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT="$T/tree.pmc" start bash -c '
	env -u LD_PRELOAD sleep 1000 &
	./waiters-of-tree 1 <in >>log & ./waiters-of-tree 2 <in >>log &
	read -r line <later.in; ./later 1 <in >>log & wait' 2>/dev/null &
pid=$!
exec 9<>in 8<>later.in
both() { [ "$(grep -c ready log)" = 2 ]; }
await both
processes() { "$PMCTL" report --format json "$1" | jq -c '[.processes[] | select(.how_ended == "running") | .exe | split("/")[-1]] | sort'; }
run "$PMCTL" dump "$pid" -o one.pmc
like "$(cat "$T/err")" "pmctl dump --tree $pid has them" "a process with children: a warning names --tree"
run "$PMCTL" dump --tree "$pid" -o three.pmc
is "$status $(cat "$T/out")" "0 three.pmc" "--tree: exit status 0, and the path once"
is "$(processes three.pmc)" '["bash","waiters-of-tree","waiters-of-tree"]' "--tree: the process and its descendants are in the snapshot"
like "$(cat "$T/err")" "^pmctl dump: warning: 1 of 4 processes were left out: no agent in process [0-9]* \(.*sleep\)[^;]*" \
	"--tree: a process without an agent is left out, with one warning"
is "$(wc -l <"$T/err")" 1 "--tree: and nothing else is said"
run "$PMCTL" dump --tree $$ -o self.pmc
unlike "$(cat "$T/err")" "$PMCTL" "--tree: pmctl itself is not a process to dump"
run "$PMCTL" dump --name 'waiters-of-*'
is "$status $(cat "$T/out")" "0 $T/tree.pmc" "--name: the path of the dump that the processes share is printed once"
run "$PMCTL" ctl --name 'waiters-of-*' stop
is "$status $(grep -c stopped "$T/out")" "0 2" "ctl --name: both are stopped"
run "$PMCTL" ctl --tree "$pid" status
is "$(sed 's/^process [0-9]*: //' "$T/out" | sort | paste -sd,)" "counting is off, 2 threads,counting is off, 3 threads,counting is on, 1 thread" \
	"ctl --tree status: of each process"
both=$(pgrep -P "$pid" -d, -x waiters-of-tree)
run "$PMCTL" ctl -p "$both" start
is "$status $(grep -c started "$T/out")" "0 2" "ctl -p PID,PID: both are started"
run "$PMCTL" dump -p "${both%,*}" -o single.pmc -I 1ms -n 2
is "$status $(processes single.pmc)" '0 ["waiters-of-tree"]' "dump -p PID: as PID"

# Of all until they have ended, one that starts later included; `sleep` has no agent.
"$PMCTL" dump --tree "$pid" -I 5ms -o often.pmc >often.out 2>often.err &
dumper=$!
snapshots_of() { # PROGRAM
	"$PMCTL" report --timeline --format json often.pmc 2>/dev/null |
		jq -s --arg exe "$1" '[.[] | select(.seq == 0 and .name == $exe)] | length'
}
twice() { [ "$(snapshots_of "$1")" -ge "$2" ] 2>/dev/null; }
ok "dump --tree -I: snapshots of each process" await twice waiters-of-tree 4
echo go >&8
ok "dump --tree -I: a process that starts later is in them" await twice later 2
run "$PMCTL" dump --name 'no-such-program*'
like "$status $(cat "$T/err")" "^1 .*no-such-program" "--name without a match: exit status 1"
pkill -P "$pid"
pkill -x later
wait "$pid" 2>/dev/null
exec 9>&- 8>&-
wait $dumper
is "$? $(cat often.out)" "0 often.pmc" "dump --tree -I ends with the processes, and prints the path once" || diag_file often.err stderr
like "$(cat often.err)" "^pmctl dump: warning: 1 of [0-9]* processes were left out: no agent in process [0-9]* \(.*sleep\)[^;]*" \
	"dump --tree -I: a process without an agent is named once"
is "$(wc -l <often.err)" 1 "dump --tree -I: and nothing else is said"
for bad in "--tree 1 1" "-p 1 1" "--tree 1 --name x" "--tree x"; do
	# shellcheck disable=SC2086
	run "$PMCTL" dump $bad
	is "$status $(wc -l <"$T/err")" "2 1" "pmctl dump $bad: exit 2 and one line"
done

# ---- a process that calls exec again and again -------------------------------------------------
cat >again <<'END'
#!/bin/bash
for ((i = 0; i < 20000; i++)); do :; done
[ "$1" = 0 ] || exec "$0" $(($1 - 1))
END
chmod +x again
rm -f again.pmc
PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT=$T/again.pmc LD_PRELOAD=$AGENT ./again 40 &
pid=$!
images() { "$PMCTL" report --format json again.pmc 2>/dev/null | jq '.processes | length'; }
started() { [ "$(images)" -ge 2 ] 2>/dev/null; }
await started
"$PMCTL" dump -I 1ms $pid >again.out 2>again.err
wait $pid
is "$("$PMCTL" report --format json again.pmc | jq -c '[.processes[].how_ended] | [(map(select(. == "exec")) | length), (map(select(. != "exec")) | .[])]')" \
	'[40,"exit:0"]' "snapshots during an exec do not take the place of final rows" || diag_file again.err "pmctl dump"
is "$("$PMCTL" report --format json again.pmc | jq ".threads | length")" 41 "nor is the thread there twice in a new image"

# ---- a process whose main thread has ended -----------------------------------------------------
cat >left.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *stays(void *arg)
{
	char c;
	for (volatile int i = 0; i < 1000000; i++)
		;
	puts("ready");
	fflush(stdout);
	(void)!read(0, &c, 1);
	_exit(0);
	return arg;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, stays, NULL);
	pthread_exit(NULL);
}
END
gcc -O1 -pthread -o left left.c
PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT="$T/left.pmc" target ./left
main_left() { grep -q '^State:.Z' "/proc/$pid/status"; }
await main_left
run "$PMCTL" dump "$pid"
is "$status $(cat "$T/out")" "0 $T/left.pmc" "a process whose main thread has ended can be dumped"
is "$("$PMCTL" report --format json left.pmc | jq -r '[.threads[] | "\(.state)"] | sort | join(" ")')" "exited live" \
	"the snapshot has the thread that is left"
# Descriptors of a single thread can be duplicated since Linux 6.9.
like "$("$PMCTL" report --format json left.pmc | jq -r '.threads[] | select(.state == "live").events[0].state')" \
	"^(not-)?counted$" "its events are counted where the kernel permits"
finish

# ---- a child of vfork, which has its parent's memory and so its agent -----------------------------
cat >shares.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char c;
	if (!vfork()) {
		(void)!write(1, "ready\n", 6);
		(void)!read(0, &c, 1);
		_exit(0);
	}
	return wait(NULL) < 0;
}
END
gcc -O1 -o shares shares.c
PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT="$T/shares.pmc" target ./shares
child=$(pgrep -P "$pid")
refuses 1 "process $child has no agent of its own, .* is $pid unless it has ended" "a child of vfork" dump "$child" -o child.pmc
refuses 1 "process $child has no agent of its own" "pmctl ctl: a child of vfork" ctl "$child" stop
is "$(ls child.pmc 2>&1 >/dev/null | wc -l)" 1 "a child of vfork: no file is written"
run "$PMCTL" dump "$pid"
is "$status $(cat "$T/out")" "0 $T/shares.pmc" "its parent, which waits for it, can be dumped"
finish
: >log
"$PMCTL" run -I 5ms -e page-faults -o shared.pmc --report off -- ./shares <in >log &
pid=$!
exec 9>in
await grep -q ready log
taken() { "$PMCTL" report --timeline --format json shared.pmc 2>/dev/null | jq -s 'map(.t_ns) | unique | length'; }
further() { [ "$(taken)" -ge "$1" ]; }
# At least three rounds are as a whole while the child is there.
await further $(($(taken) + 10))
finish
is "$("$PMCTL" report --timeline --format json shared.pmc | jq -s 'map(.events[0].state) | unique | join(" ")')" '"counted"' \
	"run -I while there is a child of vfork: no snapshot lacks values"

# ---- as an unprivileged user ---------------------------------------------------------------------
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	cp "$AGENT" "$PMCTL" "$PROG/waiters" . && chmod 755 libpmcagent.so pmctl waiters
	mkdir -m 777 open
	mkfifo -m 666 in2
	: >log
	nobody env LD_PRELOAD="$T/libpmcagent.so" PMC_EVENTS=task-clock:u PMC_REPORT=off \
		PMC_OUT="$T/open/nobody.pmc" ./waiters 3 <in2 >log 2>/dev/null &
	began=$!
	exec 8>in2
	await grep -q ready log
	pid=$(youngest "$began")
	run nobody ./pmctl dump "$pid"
	is "$status $(cat "$T/out")" "0 $T/open/nobody.pmc" "an unprivileged user can dump a process of the same user"
	is "$("$PMCTL" report --format json open/nobody.pmc | jq '[.threads[] | select(.state == "live" and
		.events[0].state == "counted")] | length')" 4 "an unprivileged user's snapshot has all threads counted"
	before=$(stat -c %s open/nobody.pmc)
	run "$PMCTL" dump "$pid"
	is "$status $(cat "$T/out")" "0 $T/open/nobody.pmc" "root can dump a user's process"
	ok "root appends to the user's dump" test "$(stat -c %s open/nobody.pmc)" -gt "$before"
	mv open/nobody.pmc open/renamed.pmc
	run "$PMCTL" dump "$pid"
	is "$status $(cat "$T/out")" "0 $T/open/renamed.pmc" "a dump that was renamed is written under its new name"
	rm open/renamed.pmc
	run "$PMCTL" dump "$pid"
	is "$status $(ls open)" "1 " "root does not create a file that a user's process names"
	like "$(cat "$T/err")" "nobody.pmc: it was deleted; use -o" "a dump that was deleted: the message gives the fix"
	sleep 1000 &
	other=$!
	run nobody ./pmctl dump "$other"
	is "$status" 1 "dump of another user's process: exit status 1"
	like "$(cat "$T/err")" "process $other.* another user.*sudo" "dump of another user's process: the message suggests sudo"
	gone "$other"
	exec 8>&-
	wait "$began"
else
	skip "takes root" "pmctl dump as an unprivileged user"
fi

# ---- in a container, agent file deleted ---------------------------------------------------------
if [ "$(id -u)" = 0 ] && unshare -pfmu --mount-proc true 2>/dev/null; then
	mkdir inner agent-here
	cp "$AGENT" agent-here/
	: >log
	PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT="$T/inner/%p.pmc" unshare -pfmu --mount-proc \
		sh -c 'hostname boxed; mount -t tmpfs none "$1"/inner
		LD_PRELOAD=$1/agent-here/libpmcagent.so exec "$2" 3' sh "$T" "$PROG/waiters" <in >log 2>/dev/null &
	began=$!
	exec 9>in
	await grep -q ready log
	rm -r agent-here
	pid=$(youngest "$began")
	run "$PMCTL" dump "$pid"
	is "$status $(cat "$T/out")" "0 /proc/$pid/root$T/inner/1.pmc" \
		"a container's dump is written in the container; the path printed is valid outside"
	"$PMCTL" report --format json "/proc/$pid/root$T/inner/1.pmc" >boxed.json
	is "$(json boxed.json '.processes[0] | "\(.host) \(.pid)"')" "boxed 1" "a container's dump has the host name and process ID of the container"
	is "$(json boxed.json '[.threads[] | select(.tid < 100 and .cpu_ns > 0 and
		.events[0].state == "counted")] | length')" 4 "a container's dump has the thread IDs of the container"
	exec 9>&-
	wait "$began"
else
	skip "takes root and namespaces" "pmctl dump of a process in a container"
fi

# ---- memory of the process refused; --signal ---------------------------------------------------
cat >forbid.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
/* /proc/PID/mem cannot be opened, as with kernel.yama.ptrace_scope. */
int openat(int dir, const char *path, int flags, ...)
{
	if (strcmp(path, "mem") == 0) {
		errno = EACCES;
		return -1;
	}
	return syscall(SYS_openat, dir, path, flags, 0600);
}
/* With _FORTIFY_SOURCE. */
int __openat_2(int dir, const char *path, int flags) { return openat(dir, path, flags); }
END
gcc -O1 -shared -fPIC -o forbid.so forbid.c
forbid() { LD_PRELOAD=$T/forbid.so "$@"; }
PMC_DUMP=USR2 PMC_OUT="$T/signal.pmc" PMC_EVENTS=task-clock PMC_REPORT=off target "$PROG/waiters" 6
run forbid "$PMCTL" dump "$pid"
is "$status" 1 "memory refused: exit status 1"
like "$(cat "$T/err")" "^pmctl dump: cannot read process $pid: .*; .*--signal" \
	"memory refused: the message suggests --signal"
is "$(grep -c sudo "$T/err")" "$(($(id -u) != 0))" "memory refused: the message suggests sudo, but not to root"
is "$(wc -l <"$T/err")" 1 "memory refused: the message is one line"
run forbid "$PMCTL" ctl "$pid" stop
is "$status" 1 "memory refused: pmctl ctl exits with status 1"
unlike "$(cat "$T/err")" "--signal" "memory refused: pmctl ctl does not suggest --signal"
run "$PMCTL" dump --signal "$pid"
is "$status $(cat "$T/out")" "0 $T/signal.pmc" "--signal: the process writes its dump file, and its path is printed"
is "$("$PMCTL" report --format json signal.pmc | jq '[.threads[] | select(.state == "live")] | length')" 7 \
	"--signal: the dump has every live thread"
run forbid "$PMCTL" dump --signal "$pid"
is "$status $(cat "$T/out")" "0 $T/signal.pmc" "--signal works where reading memory is refused"
finish
PMC_EVENTS=task-clock PMC_REPORT=off target "$PROG/waiters" 1
run "$PMCTL" dump --signal "$pid"
is "$status" 1 "--signal without PMC_DUMP: exit status 1"
like "$(cat "$T/err")" "process $pid has no dump signal.*PMC_DUMP=USR2" "--signal without PMC_DUMP: the message suggests PMC_DUMP=USR2"
finish
is "$status" 0 "--signal without PMC_DUMP: no signal is sent"
# A program with a handler of its own for the signal, and no agent.
mkfifo never
exec 8<>never
PMC_DUMP=USR2 bash -c 'trap "echo handled" USR2; echo ready; read -r _' <&8 >own &
pid=$!
await grep -q ready own
run "$PMCTL" dump --signal "$pid"
like "$status $(cat "$T/err")" "^1 .*no agent" "--signal to a process without an agent: refused"
kill "$pid"
wait "$pid" 2>/dev/null
exec 8>&-
unlike "$(cat own)" handled "--signal to a process without an agent: no signal is sent"

# ---- refusals ----------------------------------------------------------------------------------
refused() { refuses "${@:1:3}" dump "${@:4}"; }
refused 2 "process ID" "no process ID"
refused 2 "process ID 'abc'" "an invalid process ID" abc
refused 2 "process ID '0'" "process ID 0" 0
refused 2 "'--singal'; did you mean '--signal'" "a mistyped flag" --singal 1
refused 2 "'2'" "two process IDs" 1 2
refused 2 "-o .*--signal" "--signal with -o" --signal -o x 1
refused 1 "no such process: 4194300" "a process ID not in use" 4194300
sleep 1000 &
plain=$!
is_sleep() { [ "$(cat "/proc/$plain/comm")" = sleep ]; }
await is_sleep
refused 1 "no agent in process $plain \(.*sleep\): start the program with pmctl run" "a process without the agent" "$plain"
gone "$plain"
[ "$(id -u)" = 0 ] && refused 1 "process 2 is a kernel thread, " "a kernel thread" 2
sh -c 'exit 0 & exec sleep 1000' &
parent=$!
zombie() { dead=$(pgrep -P "$parent" 2>/dev/null) && grep -q '^State:.Z' "/proc/$dead/status"; }
if await zombie; then
	refused 1 "process $dead has ended" "a zombie process" "$dead"
else
	ok "a zombie process was created" false
fi
gone "$parent"
PMC_EVENTS=no-such-event start sleep 1000 2>/dev/null &
dormant=$!
is_up() { grep -q libpmcagent "/proc/$dormant/maps" && [ "$(cat "/proc/$dormant/comm")" = sleep ] &&
	grep -q '^State:.S' "/proc/$dormant/status"; }
await is_up
refused 1 "the agent in process $dormant is dormant: PMC_EVENTS=no-such-event" "a dormant agent" "$dormant"
gone "$dormant"
PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT="$T/foreign.pmc" target "$PROG/waiters" 1
thread=$(ls "/proc/$pid/task" | grep -v "^$pid$" | head -n 1)
refused 1 "$thread is a thread" "a thread ID" "$thread"
echo "not a dump" >foreign
refused 1 "foreign: .*not a dump" "-o naming a file that is not a dump" -o foreign "$pid"
is "$(cat foreign)" "not a dump" "-o naming a file that is not a dump: the file is unchanged"
refused 1 "it is a directory" "-o naming a directory" -o cwd "$pid"
ln -s own.pmc link
refused 1 "it is a symbolic link" "-o naming a symbolic link" -o link "$pid"
refused 1 "its directory does not exist" "-o in a missing directory" -o none/x "$pid"
refused 1 "neither a regular file" "-o naming a device" -o /dev/null "$pid"
if [ "$(id -u)" = 0 ]; then
	cp own.pmc other.pmc && chmod 666 other.pmc && chown 65534 other.pmc
	refused 1 "belongs to another user" "-o naming a dump of another user" -o other.pmc "$pid"
	ok "-o naming a dump of another user: it is unchanged" cmp own.pmc other.pmc
else
	skip "takes root" "-o naming a dump of another user"
fi
finish
refused 1 "no such process: $pid" "a process that has ended" "$pid"

# The kernel adds a wait for a CPU when it ends: this thread has hardly ended one.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" sh -c 'while :; do :; done' &
spins=$!
PMC_REPORT=off LD_PRELOAD=$AGENT sh -c 'while :; do :; done' 2>starves.err &
starves=$!
await "$PMCTL" dump $starves -o first.pmc
taskset -acp "$cpu" $starves >/dev/null
chrt -a -i -p 0 $starves
run "$PMCTL" dump $starves -o starves.pmc -I 40ms -n 10
kill $starves $spins
"$PMCTL" report --timeline --format json starves.pmc >starves
jq -sc '[.[1:][] | [.dt_ns, .cpu_ns, .run_delay_ns]]' starves >steps
is "$(jq 'length, (map(.[1] + .[2] < .[0] * 1.02 + 1000000) | all), ((map(.[1] + .[2]) | add) > (map(.[0]) | add) * 0.7)' steps | xargs)" \
	"9 true true" "pmctl dump -I: waits for a CPU that have not ended" || diag "$(cat steps)"

wait $without_dumper
like "$? $(cat without.err)" "^1 pmctl dump: no agent in process $without " \
	"pmctl dump -I ends with an error if the next program has no agent"
gone $without

done_testing
