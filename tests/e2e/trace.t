#!/bin/bash
# SPDX-License-Identifier: MIT
# trace.t - pmctl trace: forms of output, targets, lost records, refusals.
. "$(dirname "$0")/lib.sh"
with_tracefs
cd "$T" || exit 1
# The interpreter itself: what is called python3 may be a shell script of a version manager.
python=$(python3 -c 'import sys; print(sys.executable)')

cat >bare <<'END'
while umount /sys/kernel/tracing 2>/dev/null; do :; done
while umount /sys/kernel/debug/tracing 2>/dev/null; do :; done
while umount /sys/kernel/debug 2>/dev/null; do :; done
for e in sched:sched_switch 'sched:*' sched_switch; do "$PMCTL" trace -e "$e" -a || echo "$?"; done
[ -e /sys/kernel/tracing/events ] && echo mounted
END
PMCTL=$PMCTL run unshare -m bash bare
is "$(tr '\n' ' ' <out)" "1 1 1 " "without tracefs it fails, and mounts nothing"
is "$(grep -c 'mount -t tracefs' err)" 3 "the error says how to mount tracefs"

# nobody may perhaps read a tracepoint's own files, but not the list of their names.
cp "$PMCTL" pmctl && chmod 755 . pmctl
run setpriv --reuid 65534 --regid 65534 --clear-groups ./pmctl trace -e sched:sched_switch -a
is "$status" 1 "nobody may not trace"
like "$(cat err)" "ermission .*root" "the error gives the reason and the fix"

trace() { run timeout -s KILL 100 "$PMCTL" trace "$@"; }
lost_of() { jq 'select(.summary).lost' "$1"; }

# ---- refusals ---------------------------------------------------------------------------------
refused() {
	local code=$1 regex=$2
	shift 2
	trace "$@"
	is "$status" "$code" "trace $*: exit status $code"
	like "$(cat err)" "$regex" "and why"
}
refused 2 "no tracepoint.* --summary" -a
trace -e sched:sched_process_exec -- true
is "$(sed -n 's/^pmctl trace: //p' err)" "1 record, 0 lost" "one record is singular"
for how in --summary '-e sched:sched_process_exec'; do
	trace $how -- echo of the command
	is "$(cat out)" "of the command" "trace $how: standard output is that of the command"
	trace $how -o - -- echo of the command
	# A record may be printed before the command runs on.
	like "$(grep -vx 'of the command' out)" "(on CPU|echo:[0-9]+/[0-9]+ )" "with -o - text is beside it"
done
trace --summary --format json -- echo of the command
is "$(sed 1d out | jq -r .name)" echo "so is JSON without -o"
trace --summary --format json -o x.json -- "$PROG/work" exec-by-thread sleep 0.1
is "$(jq -r 'select(.blocked_ns.clock_nanosleep).name' x.json)" sleep "a thread that calls exec goes on under another number"
refused 2 "--summary has no filters" --summary -a --filter 'prev_pid > 0'
refused 2 "more than one" -e sched:sched_switch -a -p 1
refused 2 "'sched:sched_switch'" -e sched:sched_swich -a
refused 2 "unknown tracepoint" -e 'nonesuch*' -a
refused 2 "'sys_enter_openat'" -e openat -a
refused 2 "empty name" -e 'sched:sched_switch,' -a
refused 2 "-p 4711 .* -- before a command" -e sched:sched_switch 4711
refused 2 "power of 2" -e sched:sched_switch -a -m 3
refused 2 "invalid --cpus" -e sched:sched_switch -C 1-0
refused 2 "text, json, csv" -e sched:sched_switch -a --format xml
refused 2 "fields are prev_comm, prev_pid," -e sched:sched_switch -a --filter 'no_such_field == 1'
refused 2 "leave out -e" --summary -e sched:sched_switch -a
refused 2 "leave out -C" --summary -C 0
refused 1 "not online" -e sched:sched_switch -C 99999
refused 1 "no such process" -e sched:sched_switch -p 2147483647
refused 127 "not found" -e sched:sched_switch -- ./nosuchprogram
echo old >kept
refused 127 "not found" -e sched:sched_switch -o kept -- ./nosuchprogram
is "$(cat kept)" old "the file of -o is unchanged"
refused 126 "cannot run" -e sched:sched_switch -- ./err
PMC_OUT=own.pmc PMC_REPORT=off LD_PRELOAD=$AGENT "$PROG/churn" 1 1 >/dev/null
cp own.pmc was.pmc
refused 125 "own.pmc: it is a dump; " -e sched:sched_switch -o own.pmc -- touch ran
ok "-o naming a dump: it is unchanged" cmp own.pmc was.pmc
ok "-o naming a dump: the command did not run" test ! -e ran
refused 1 "No space left" -e sched:sched_switch -o /dev/full -- "$PROG/churn" 50 1

# ---- a command --------------------------------------------------------------------------------
trace -e sched:sched_process_exit --format json -o x.json -- "$PROG/churn" 20 10
is "$status $(cat out) $(jq -s length x.json)" "0 joined 20 21" "a command: each of its threads ends once"
is "$(jq -s 'map(.tid == .fields.pid) | all' x.json)" true "TID of a record is the thread that ended"
is "$(jq '.records' err)" 21 "the summary counts the records"
trace -e 'sched:sched_process_e*' --format fields -o x -- sh -c '/bin/true; exit 7'
is "$status $(grep -c event=sched:sched_process_exec x)" "7 2" "children of the command are traced; its exit status is returned"
is "$(grep -oE '(^| )[a-z_.]+=' x | sed 's/^ //' | sort -u | grep -E "^(args.)?pid=")" $'args.pid=\npid=' "fields named as the record's own have a prefix"
is "$(awk '{ delete seen; for (i = 1; i <= NF; i++) if (split($i, of, "=") > 1 && seen[of[1]]++) print }' x)" "" \
	"no key is twice in a line"
is "$(grep -c event=sched:sched_process_exit x)" 2 "a glob names several tracepoints"
trace -e sched:sched_process_exec -o x sh -c 'exit 9' sh -o
is "$status" 9 "the first argument that is no flag begins the command"
trace -e 'sched:sched_process_e*' --format record -o x -- true
is "$(grep -c '^TID: [0-9]*, PID: [0-9]*$' x) $(grep -c '^sched:sched_process_exec filename=.*true pid=' x) $(($(wc -l <x) % 4))" \
	"2 1 0" "records of other tracepoints have their fields"
trace -e sched:sched_waking --format record -o x -- "$PROG/churn" 5 5
is "$(grep '^sched:sched_waking ' x | grep -c ' target_cpu=[0-9][0-9][0-9]$')" "$(jq -n "$(wc -l <x) / 4")" \
	"in the form of the kernel's print format"
task='[a-z0-9]+:[0-9]+/[0-9]+ +' line='^ *[0-9]+\.[0-9]{6} \[[0-9]{3}\] '
trace -e sched:sched_waking,sched:sched_process_exit,syscalls:sys_enter_openat,syscalls:sys_exit_openat -o x -- \
	sh -c 'cat /nonexistent 2>/dev/null; "$1" 3 5 >&2' sh "$PROG/churn"
is "$(grep -vE "$line$task(sched|syscalls):[a-z_]+ +[a-z_]+=" x)" "" "text is a line a record: time, CPU, task, event, fields"
is "$(head -n 1 x | awk '{ print $1 }')" 0.000000 "its times are from the first record on"
is "$(grep -cE "$line"'(sh|churn|cat):([0-9]+)/[0-9]+ +sched:sched_process_exit +comm=\1 ' x)" \
	"$(grep -c sched_process_exit x)" "a task has the name that its program has"
like "$(cat x)" 'sys_enter_openat +dfd=AT_FDCWD filename=("/|0x).* flags=0x[0-9a-f]+ mode=0' "the arguments of system calls are as people know them"
like "$(cat x)" 'sys_exit_openat +ret=-2' "and their results"
cat >opens.py <<'END'
import os, time
print("ready", flush=True)
while True:
    try: os.close(os.open("/proc/self/status", os.O_RDONLY))
    except OSError: pass
    time.sleep(0.001)
END
"$python" opens.py >opens &
pid=$!
await grep -q ready opens
trace -e syscalls:sys_enter_openat -p $pid -d 300ms -o x
kill $pid
wait
like "$(cat x)" 'filename="/proc/self/status"' "a file's name is read from a process that runs"
# Several processes: the trace ends with the last of them.
mkfifo first last
sh -c 'read -r line <first' &
first=$!
bash -c 'read -r line <last; read -r -t 0.05 line <>last' &
last=$!
"$PMCTL" trace --summary --format json -p $first,$last -o both.json 2>err &
tracer=$!
sleepers() { grep -q pipe /proc/$1/wchan && [ -e "/proc/$2/fd" ] && ls -l "/proc/$2/fd" | grep -q perf_event; }
await sleepers $first $tracer
echo >first
wait $first
echo >last
wait $last $tracer
ok "-p PID,PID: a row of each, until the last has ended" \
	jq -se --argjson a $first --argjson b $last 'map(.tid) | contains([$a, $b])' both.json ||
	diag_file both.json both.json
trace -e sched:sched_switch -a -d 50ms -o x
is "$(grep -vcE ' prev_state=(R\+?|[SDTtXZPI]) next_comm=' x)" 0 "the state of a thread is a letter"
if grep -q '^irq_vectors:irq_work_exit$' /sys/kernel/tracing/available_events; then
	trace -e 'irq_vectors:irq_work_e*' -a -d 50ms
	is "$status" 0 "a glob that matches a tracepoint that the kernel refuses to all"
	like "$(cat err)" "irq_work_exit is not traced" "leaves it out and says so"
	refused 1 "irq_work_exit" -e irq_vectors:irq_work_exit -a
else
	skip "this kernel has no irq_vectors:irq_work_exit" "a tracepoint that the kernel refuses"
fi
trace -e sched_process_exit -o x -- sh -c 'kill -9 $$'
is "$status" 137 "a command that is killed by a signal"
trace -e 'sched:sched_process_exec,sched_process_exec,sched:sched_proces*_exec' --format json -o x.json -- true
is "$(jq -s length x.json)" 1 "a tracepoint that is named three times is traced once"
trace -e sched:sched_process_exit --filter 'comm == "true"' --format json -o x.json -- sh -c '/bin/true; /bin/echo'
is "$(jq -r .fields.comm x.json)" true "--filter"
trace -e sched:sched_process_exit --filter 'comm == "true"' -e sched:sched_process_exec --format json -o x.json -- sh -c '/bin/true; /bin/echo'
is "$(jq -r '.event + " " + (.fields.comm // .fields.filename | sub(".*/"; ""))' x.json | sort | tr '\n' ' ')" \
	"sched:sched_process_exec echo sched:sched_process_exec sh sched:sched_process_exec true sched:sched_process_exit true " \
	"a filter is for the tracepoints of the -e before it"
refused 2 "-e before it" --filter 'comm == "x"' -e sched:sched_process_exit -a
refused 2 "&&" -e sched:sched_process_exit --filter 'pid > 0' --filter 'prio > 0' -a
refused 1 "joined by" -e sched:sched_process_exit --filter 'pid > 0' -e sched:sched_process_exit -a
# The command ends when the trace has printed its totals.
mkfifo gate
: >err
(await grep -q records err && echo go >gate) &
trace -d 10ms -e sched:sched_process_exit -o x -- sh -c 'read -r _ <gate; exit 3'
wait
is "$status $(grep -c . x)" "3 0" "-d ends the trace and leaves the command running"

# ---- a process --------------------------------------------------------------------------------
# Kernels drop records of some threads, for every tool alike. Nine of ten shells must be there: before events were
# enabled again, one of ten went on with an event that was off.
shown=true
shell_ends() {
	rm -f done
	sh -c 'while [ ! -e done ]; do /bin/true; done; exit 3' &
	pid=$!
	named_sh() { [ "$(cat /proc/$pid/comm)" = sh ]; }
	await named_sh
	: >out
	"$PMCTL" trace -e sched:sched_process_exit --format json -p $pid >out 2>err &
	tracer=$!
	await test -s out || shown=false
	touch done
	wait $pid
	wait $tracer
	[ "$? $(jq -r .fields.comm out | sort | uniq -c | awk '{ print ($1 > 1 ? "some" : $1), $2 }' | sort | tr '\n' ' ')" = \
		"0 1 sh some true " ]
}
least=9 mostly "-p: children are traced, and the end of the process ends the trace" shell_ends
ok "-p: records are shown while the process runs" $shown
sh -c '(while [ ! -e done.child ]; do /bin/true; done); :' &
pid=$!
has_child() { [ -n "$(cat /proc/$pid/task/$pid/children)" ]; }
await has_child
trace -e sched:sched_process_exit --format json -p $pid -d 300ms
touch done.child
is "$status $(jq -r .fields.comm out | sort -u)" "0 true" "-p: a child that ran before is traced"
wait
sh -c 'while [ ! -e done.too ]; do "$1" 5 10 >/dev/null; done' sh "$PROG/churn" &
pid=$!
await named_sh
trace -e sched:sched_process_exit --format json -p $pid -d 300ms
touch done.too
is "$(jq -s 'length == 0 or (map(select(.tid != .pid)) | length > 0)' out)" true "-p: threads of children too"
wait
# Where a thread is not traced, those that it starts are not either. Kernels drop single records. A slow
# machine may attach too late.
cat >links.py <<'END'
import json
seen = {json.loads(line)["fields"]["pid"] for line in open("x.json")}
last = {int(line) for line in open("links").readlines()[-20:]}
exit(not seen & last)
END
relays_end() {
	rm -f links
	"$PROG/relay" 400 2000 >links &
	pid=$!
	await test -s links
	trace -e sched:sched_process_exit --format json -p $pid -o x.json
	wait
	python3 links.py
}
mostly "-p: threads that only other threads create are traced to the last" relays_end

# ---- --summary ----------------------------------------------------------------------------------
# A child that runs and sleeps; what the kernel says of it, as it is kept until it is waited for.
cat >summed.py <<'END'
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", """
import time
for i in range(20):
    end = time.thread_time() + 0.005
    while time.thread_time() < end: pass
    time.sleep(0.01)
"""])
os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
print(child.pid, open(f"/proc/{child.pid}/schedstat").read())
child.wait()
sys.exit(4)
END
cp "$(type -P sleep)" mark
(while [ ! -e quiet ]; do ./mark 0.01; done) &
# Kernels drop records of some threads, for every tool alike.
row() { jq "select(.tid == $tid) | $1" x.json; }
child_is_summed() {
	trace --summary --format json -o x.json -- "$python" summed.py
	read -r tid oncpu delay slices <out
	[ "$(row '.switches, .unseen_switches' | xargs)" = "$slices 0" ]
}
mostly "the turns of a child are those of /proc/PID/schedstat" child_is_summed
touch quiet
wait
is "$status" 4 "--summary of a command"
trace --summary --format csv --columns thread,run-delay,longest_blocked,blocked-p50 -- true
is "$(head -n 1 out)" "name,run_delay_ns,longest_blocked_ns,blocked_p50_ns" \
	"columns by their heads, and by their names without the unit"
within "$(row .oncpu_ns)" "$oncpu" 5 "CPU time of a child is that of /proc/PID/schedstat"
between "$(($(row .run_delay_ns) - delay))" -20000000 20000000 "and so is its run delay"
between "$(row '.blocked_ns | add')" 100000000 60000000000 "and it slept"
is "$(row '([.run_delay_histogram[][1]] | add) >= .involuntary_switches and .longest_run_delay_ns <= .run_delay_ns')" true \
	"the waits are in the histogram"
is "$(jq -s 'map(select(.name == "mark")) | length' x.json)" 0 \
	"only threads of the command have rows"

# The same run by two other clocks: task-clock of the agent's rows, and run delay as each thread reads
# it from schedstat at its end. A thread may be preempted once more after that, or be in the kernel
# for some milliseconds, as 3 of 100 are on a busy machine.
cat >agree.py <<'END'
import json
rows = {row["tid"]: row for row in map(json.loads, open("x.json")) if not row["unseen_switches"]}
clocks = {row["tid"]: row["events"][0]["value"] for row in json.load(open("rows.json"))["threads"]}
compared = wrong = 0
for tid, delay in (map(int, line.split()[:2]) for line in open("out")):
    if tid not in rows or clocks[tid] < 100e6: # the one that sleeps
        continue
    compared += 1
    for name, want in ("oncpu_ns", clocks[tid]), ("run_delay_ns", delay):
        got = rows[tid][name]
        wrong += abs(got - want) > want / 100 + 2e6
        print(f"{tid} {name} {got} wants {want}")
exit(wrong > 0 or not compared)
END
clocks_agree() {
	rm -f rows.pmc
	trace --summary --format json -o x.json -- env LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_OUT=rows.pmc PMC_EVENTS=task-clock \
		"$PROG/starve" 3 150
	"$PMCTL" report --format json rows.pmc >rows.json
	python3 agree.py >>err
}
least=3 mostly "time on CPU and run delay are those of task-clock and schedstat, to 1 %" clocks_agree
sh -c 'read -r _ <gate; exec sleep 0.1' &
pid=$!
"$PMCTL" trace --summary --format json -p $pid >out 2>err &
tracer=$!
# It waits for records, with its rings open.
tracing() { grep -q '^State:.S' /proc/$tracer/status && ls -l /proc/$tracer/fd | grep -q perf_event; }
await tracing
echo go >gate
wait $tracer
is "$? $(jq -r .name out)" "0 sleep" "--summary -p: the process has a row, and its end ends the trace"
is "$(jq -c '.blocked_ns | [has("openat"), has("sleep"), has("other")]' out)" "[true,false,false]" \
	"a wait that began before the trace has its system call"
wait $pid
# The shell waits for a program that sleeps, and is woken by its end.
shell_waits() {
	trace --summary --format json -o x.json -- sh -c './mark 0.1; :'
	[ "$(jq -r 'select(.name == "sh" or .name == "mark") |
		"\(.name) \(.blocked_ns | to_entries | max_by(.value).key) \(.woken_by[0].name // "(interrupt)")"' x.json | sort | tr '\n' ' ')" = \
		'mark clock_nanosleep (interrupt) sh wait4 mark ' ] &&
		jq -es 'map(select(.name == "sh"))[0] | .woken_by[0].wait_ns as $known |
			$known > 50000000 and $known <= ([.blocked_ns[]] | add)' x.json >>out
}
# The timer's wake-up has no record on a CPU whose idle task has a stuck recursion count. On a loaded
# machine a third of the runs lacks another one, or has the long wait in another call.
least=3 mostly "threads wait in system calls, and somebody wakes them: the time until then is known" shell_waits
# The last thread of a program, not its first one, ends the shell's wait; it has no ID any more by then.
parent_is_woken() {
	trace --summary --format json -o x.json -- sh -c '"$1"; :' sh "$PROG/main_exit"
	[ "$(jq -r 'select(.name == "sh") | .woken_by[] | select(.wait_ns > 10000000) | .name' x.json | xargs)" = outlives-main ]
}
least=3 mostly "a thread that ends is the one that wakes its parent" parent_is_woken
trace --summary --by pool --format json -o x.json -- "$PROG/waiters" 5 </dev/null
is "$(jq -r '"\(.pool) \(.threads)"' x.json | sort | xargs)" "(main) 1 waiters 5" "--by pool: threads of one name are a row, but for the main thread"
trace --summary --by pool -- "$PROG/waiters" 5 </dev/null
like "$(cat err)" "waiters +5 .*futex" "and in the table"
mkfifo idle
"$PROG/waiters" 5 <idle >waiting &
pid=$!
exec 9>idle
await grep -q ready waiting
# Its main thread may wait for a CPU before it reads.
threads_sleep() {
	trace --summary -p $pid -d 50ms --format json
	[ "$(jq -rs 'map(select(.blocked_ns | add > 50000000) | .blocked_ns | keys[0] | sub("ppoll"; "poll")) | sort | join(" ")' out)" = \
		"futex futex poll read read read" ]
}
mostly "threads that sleep throughout have rows, and where they sleep" threads_sleep
is "$(jq -s 'map(.pid) | unique == ['$pid']' out)" true "of their process"
sh -c '"$1" 5 <idle; :' sh "$PROG/waiters" >waiting.too 9>&- &
shell=$!
await grep -q ready waiting.too
trace --summary --by pool -p $shell -d 50ms
like "$(cat out)" "waiters +6 " "--summary -p: a child that ran before has rows"
trace --summary -a -d 50ms --format json
between "$(jq 'select(.summary).asleep' err)" 1 10000000 "those of the machine are counted"
exec 9>&-
wait $pid $shell
trace --summary -o x -- "$PROG/waiters" 30 </dev/null
like "$(cat x)" "^2 pools of 31 threads in .*waiters +30 " "more than 20 threads are shown as pools"
trace --summary --by thread -o x -- "$PROG/waiters" 30 </dev/null
like "$(cat x)" "^31 threads in " "unless threads are asked for"
# Four threads end the waits of a fifth.
cat >wakers.py <<'END'
import os, threading, time
end, begin = os.pipe()
def name(text):
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write(text)
def wake(i):
    name("waker-%d" % i)
    for n in range(5):
        time.sleep(0.05 + i / 100)
        os.write(begin, b"x")
threads = [threading.Thread(target=wake, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
name("woken")
for i in range(20):
    os.read(end, 1)
END
pool_wakes() {
	trace --summary --by thread -- "$python" wakers.py
	grep -qE '^woken +[0-9]+ <- waker-\* \(4 threads\) [0-9]+ %' err
}
mostly "who ends waits: threads of a pool together" pool_wakes
# A chain of wakers on a terminal of 80 columns.
cat >chain.py <<'END'
import os, threading, time
pipes = [os.pipe() for i in range(4)]
def work(i):
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("link-%s-in-chain" % "abcd"[i])
    for n in range(10):
        os.read(pipes[i - 1][0], 1) if i else time.sleep(0.02)
        os.write(pipes[i][1], b"x")
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
END
cat >terminal.py <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
try:
    while more := os.read(fd, 65536):
        text += more
except OSError: # the end of a pty
    pass
os.waitpid(pid, 0)
lines = text.decode().splitlines()
print("\n".join(lines))
print("longest", max(map(len, lines)))
END
links_wake() {
	run timeout -s KILL 100 python3 terminal.py "$PMCTL" trace --summary --by thread -- "$python" chain.py
	[[ $(cat out) =~ link-d-in-chain\ .*\<-\ link-c-in-chain\ [0-9]+\ [0-9]+\ %.*\ \<-\ link-a ]] &&
		grep -qE '^link-a-in-chain .* clock_n[a-z]*… [0-9]+ %' out
}
mostly "a chain of wakers, and the place of a wait is cut" links_wake
between "$(sed -n 's/^longest //p' out)" 70 80 "no line is longer than the terminal"
refused 2 "thread, pool or pool,waker" --summary --by x -a
refused 2 "for --summary" --by pool -e sched_switch -a
refused 2 "for --summary" --format csv -e sched_switch -a
refused 2 "unknown column" --summary --sort delai -a -d 10ms
for format in text json csv markdown; do
	trace --summary --by thread --where name=sleep --top 1 --sort tid --format $format -o x -- sleep 0.01
	is "$status $(sed '/<-/d' x | grep -c 'sleep.*[0-9]')" "0 1" "--where, --sort and --top: $format"
done
trace --summary -a -d 100ms
# Of threads, or of pools on a busy machine; other columns depend on the width, and on whether any was delayed.
like "$(cat out)" '(thread|pool) .*blocked ms' "--summary -a prints a table"
# The last records take 100 ms to come; a loaded machine may be late.
ends_with_events() {
	trace --summary -a -d 100ms
	[[ $(head -n 1 out) =~ \ in\ 1[0-9][0-9]\.[0-9]\ ms$ ]]
}
mostly "the summary ends with the events" ends_with_events

# ---- the machine: two traces of the same switches ------------------------------------------------
cp "$PROG/churn" tracee
both='prev_comm == "tracee" || prev_comm == "mark"'
"$PMCTL" trace -e sched:sched_switch -a --filter "$both" --format json -o all.json 2>all.err &
all=$!
mkfifo slow
cat <slow >few.json &
"$PMCTL" trace -e sched:sched_switch -a --filter "$both" --format json -m 2 2>few.err >slow &
few=$!
seen() { ./mark 0.01 && grep -q mark all.json && grep -q mark few.json; }
ok "records are shown while the trace runs" await seen
kill -STOP "$few"
./tracee 50 1 >/dev/null
./tracee 50 1 >/dev/null &
last=$!
wait $last
# A parent learns of the end before the last switch.
ended() { jq -e "select(.tid == $last and .fields.prev_state % 64 >= 16)" all.json; }
await ended >/dev/null
kill -CONT "$few"
kill -TERM "$few" $all
wait $all
is "$?" 0 "SIGTERM ends a trace"
wait
is "$(lost_of all.err)" 0 "default rings and output to a file lose nothing"
between "$(lost_of few.err)" 1 1000000 "a ring of 2 pages loses records"
# The second trace started later: records count from the first one of tracee on, which both have.
from_tracee() { grep '"time_ns"' "$1" | sed -n '/"tracee"/,$p' | wc -l; }
is "$(($(from_tracee few.json) + $(lost_of few.err)))" "$(from_tracee all.json)" \
	"printed + lost = produced"
is "$(jq -s 'map(.lost // 0) | add' few.json)" "$(lost_of few.err)" "the losses in the stream add up to the summary's"
is "$(jq -sc '[.[] | select(.lost) | .cpu] | unique' few.json)" "$(jq -c 'select(.summary) | [.cpus[] | select(.lost > 0) | .cpu]' few.err)" \
	"losses in the stream are of the same CPUs as in the summary"

# A summary whose rings overflow: pmctl is stopped meanwhile.
COLUMNS=120 "$PMCTL" trace --summary -m 2 -o out -- sh -c 'kill -STOP $PPID
	for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; done
	kill -CONT $PPID; /bin/true' 2>err
like "$(cat out)" '~: [0-9,]* records were lost' "the summary says that records were lost"
like "$(grep '^sh ' out)" '~[0-9.]* [µm]s.*~[0-9.]* [µm]s' "and marks percentiles and longest times"

# ---- every switch, as text and as JSON -----------------------------------------------------------
check() {
	jq -rn --argjson late "$(jq .late "$2")" 'reduce (inputs | select(.time_ns)) as $r ([0, 0, 0];
		[.[0] + (if $r.tid == $r.fields.prev_pid then 0 else 1 end),
		 .[1] + (if $r.time_ns < .[2] then 1 else 0 end), ([.[2], $r.time_ns] | max)]) |
		"other TIDs: \(.[0]), late: \(.[1] - ([.[1], $late] | min))"' "$1"
}
(while [ ! -e enough ]; do "$PROG/churn" 50 1; done) >/dev/null 2>&1 &
switches() { awk '$1 == "ctxt" { print $2 }' /proc/stat; }
before=$(switches)
trace -e sched:sched_switch -a -d 1s -o all.json --format json
between "$(jq '.records + .lost' err)" 1 $(($(switches) - before)) "no more switches than /proc/stat counts"
is "$(check all.json err)" "other TIDs: 0, late: 0" "TID = PrevPID, and records are in order of time"
is "$(grep -c '"time_ns"' all.json)" "$(jq .records err)" "the summary counts the records"
trace -e sched:sched_switch -a -d 300ms --format record -o x
tail -n +1 x | paste -d'|' - - - - |
	grep -vcE '^TID: [0-9]+, PID: -?[0-9]+\|TIME: [0-9]+\|PrevPID: [0-9]+ PrevComm: .* NextComm: .* NextPID:[0-9]+\|$' >bad
is "$(cat bad) $(($(wc -l <x) / 4))" "0 $(sed -n 's/.*: \([0-9]*\) records.*/\1/p' err | head -n 1)" \
	"a record of sched_switch has four lines"
cpu=$(jq .cpu all.json | sort -u | head -n 1)
# Some kernels drop records of threads whose recursion count is stuck, for every tool: few of the many of
# churn; none is dropped in the emulated machine.
switches_meet() {
	trace -e sched:sched_switch -C "$cpu" -d 300ms --format record -o x
	[ "$(python3 "$ROOT/tests/e2e/switches.py" x 0 50)" = "$(sed -n 's/.*: \([0-9]*\) records, 0 lost$/\1/p' err)" ]
}
mostly "NextPID is the PrevPID of the next record of a CPU" switches_meet
touch enough
wait
trace -e sched:sched_switch,sched:sched_waking -C "$cpu" -d 300ms --format json
is "$(jq -r 'select(.time_ns).cpu' out | sort -u)" "$cpu" "-C: records of this CPU only"
rm x
env --default-signal=INT "$PMCTL" trace -e sched:sched_switch -a >x 2>err &
tracer=$!
ok "records are shown at once" await test -s x
kill -INT $tracer
wait $tracer
is "$? $(grep -vc ' next_prio=[0-9]*$' x) $(tail -c 1 x | wc -l)" "0 0 1" "SIGINT ends it after a whole record"
"$PMCTL" trace -e sched:sched_switch 2>err | head -n 4 >x
is "${PIPESTATUS[0]} $(wc -l <x) $(cat err)" "1 4 " "without a target all CPUs are traced; a closed pipe ends the trace, silently"

# An event that counts something has one record, not one for each of what it counts. Each question for the CPU time
# writes one, too: few, as rings would overflow.
trace -e sched:sched_stat_runtime --format json -o x -- \
	python3 -c 'import time
while time.process_time() < 0.2: sum(range(10000))'
if jq -e 'select(.event)' x >/dev/null; then
	is "$(jq -c 'select(.event)' x | sort | uniq -d | wc -l)" 0 "sched_stat_runtime: no record stands twice"
	between "$(jq -s 'map(.fields.runtime // 0) | add / 1000000 | floor' x)" 180 10000 \
		"sched_stat_runtime: its records have the time of the program"
else
	skip "this kernel has no such records" "sched_stat_runtime"
fi

done_testing
