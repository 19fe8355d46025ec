#!/bin/bash
# SPDX-License-Identifier: MIT
# explain.t - pmctl explain names the cause that a program was written with, and none where there is
# none; from a command, from dumps, as another user.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/causes.sh"
cd "$T" || exit 1
mkdir -m 1777 tmp
export TMPDIR=$T/tmp
# A command as another user, unlike as_nobody also in the background.
other=
[ "$(id -u)" -ne 0 ] || other="setpriv --reuid=65534 --regid=65534 --clear-groups"

# causes_of CASE [MS]: the causes that explain names.
causes_of() {
	run "$PMCTL" explain --json -- "$PROG/causes" "$@"
	jq -r '[.findings[].cause] | unique | join(" ")' out
}

needs=any
[ "$(nproc)" -lt 2 ] || needs+=" cpus"
[ "$(id -u)" -ne 0 ] || needs+=" waits"
n=0 right=0 busy=0
while read -r program causes; do
	n=$((n + 1))
	found=$(causes_of "$program")
	for cause in $causes; do
		[[ " $found " != *" $cause "* ]] || break
		cause=
	done
	[ -z "$cause" ] || right=$((right + 1))
	# True, too, if other programs of this machine have taken its CPUs.
	if [ -z "$cause" ] && [[ " $found " == *" preempted "* ]]; then
		n=$((n - 1)) busy=$((busy + 1))
		continue
	fi
	[ -n "$cause" ] || diag "$program: '$found' $(jq -c '[.wall_ns, .cpu_ns, .run_delay_ns, (.findings[] | [.pool, .cause, .evidence])]' out)"
# shellcheck disable=SC2086
done < <(planted $needs)
[ $busy -lt 10 ] || diag "$busy programs waited for a CPU because of others"
between "$right" $((n - 2)) "$n" "the planted cause is named, but for two of $n at most"

# Other programs of this machine may cause waits for a CPU; servers do little but send and receive.
wrong=0 nones="one pair sleeper sorter printer poller pipeline rarely-locked copies equal-team two-jobs"
[[ $needs != *waits* ]] || nones+=" servers"
for none in $nones; do
	found=$(causes_of "$none" | tr ' ' '\n' | grep -vxE 'cpu-starved|preempted|kernel')
	[ -n "$found" ] || continue
	wrong=$((wrong + 1))
	diag "$none: $found $(jq -c '[.findings[] | [.pool, .evidence]]' out)"
done
between $wrong 0 1 "no cause where there is none, but for one of $(wc -w <<<"$nones") at most"

# Threads of OpenMP that wait for each other by futexes of its library. Without waits, which root has, the library shows it.
for user in "" "$other"; do
	OMP_WAIT_POLICY=passive run $user "$PMCTL" explain --json -- "$PROG/omp" 30000
	is "$(sed 1d out | jq -c '[.findings[] | select(.try | contains("CPUs")) | .pool]')" "[]" "tiny parallel regions: no more CPUs are advised" || diag "$(cat out)"
	is "$(sed 1d out | jq -c '[.findings[] | select(.cause == "handoff" and (.try | contains("OMP_NUM_THREADS"))) | .pool]')" \
		'["omp (3 threads)","(main) (1 thread)"]' "but fewer threads of OpenMP${user:+, as another user}" || diag "$(cat out)"
done

# One thread of two has 30 times the work. Others of this machine may take their CPUs.
if [[ $needs == *cpus* ]]; then
	OMP_WAIT_POLICY=active run "$PMCTL" explain --json -- "$PROG/omp" -300
	said=$(sed 1d out | jq -r '.findings[] | .cause, .text, .evidence[]')
	like "$said" '[0-9]+ % of its CPU time in the OpenMP runtime' "a thread of OpenMP that spins" || diag "$(cat out)"
	like "$said" 'imbalance|waits for a CPU' "and that it has less work" || diag "$(cat out)"
	OMP_WAIT_POLICY=passive run "$PMCTL" explain --json -- "$PROG/omp" -300
	like "$(sed 1d out | jq -r '.findings[] | .cause, .text')" 'imbalance|waits for a CPU' "so if it sleeps meanwhile" || diag "$(cat out)"
else
	skip "one CPU" "a thread of OpenMP that spins"
fi

# All of its calls of futex are those of the library, whatever its CPU time is.
if OMP_WAIT_POLICY=passive "$PMCTL" profile -e syscalls:sys_enter_futex -o calls.pmc -- "$PROG/omp" -300 >/dev/null 2>err; then
	run "$PMCTL" explain --json calls.pmc
	is "$status $(jq '[.findings[] | .text, .evidence[] | select(contains("OpenMP runtime"))] | length' out)" "0 0" "samples of calls are no CPU time" || diag "$(cat out)"
else
	skip "$(head -n 1 err)" "samples of calls are no CPU time"
fi

# System time is counted by ticks, of which a short program has one or two.
wrong=0
for _ in 1 2 3 4 5 6 7 8; do
	run "$PMCTL" explain --json -- awk 'BEGIN { for (i = 0; i < 100000; i++) sum += i }'
	[ "$(jq '[.findings[] | select(.cause == "kernel")] | length' out)" = 0 ] || wrong=$((wrong + 1))
done
is $wrong 0 "a program of a few ms spends no time in the kernel by one tick" || diag "$(cat out)"

# Its CPU is that of two other programs for most of the time, which is too short for a finding.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" "$PROG/causes" one 60000 &
taskset -c "$cpu" "$PROG/causes" one 60000 &
run taskset -c "$cpu" "$PMCTL" explain -- awk 'BEGIN { for (i = 0; i < 50000; i++) sum += i }'
# shellcheck disable=SC2046
kill $(jobs -p)
wait 2>/dev/null
like "$(tr -s ' \n' ' ' <err)" "\(main\) .*waits for a CPU [0-9]+ %" "a program that does nothing for most of its time: what it does is said" || diag "$(cat err)"

# A cgroup's limit of CPU time; the shell is in the cgroup, and leaves it.
cgroup=/sys/fs/cgroup
[ ! -d $cgroup/cpu ] || cgroup=$cgroup/cpu
if mkdir $cgroup/pmc-explain-$$ 2>"$T/err"; then
	if { echo 5000 >$cgroup/pmc-explain-$$/cpu.cfs_quota_us || echo "5000 100000" >$cgroup/pmc-explain-$$/cpu.max; } 2>"$T/err"; then
		(echo $BASHPID >$cgroup/pmc-explain-$$/cgroup.procs && exec "$PMCTL" explain --json -o limited.pmc -- "$PROG/causes" one 1000) >limited 2>"$T/err"
		like "$(jq -r '.findings[].text' limited)" 'limit of its cgroup, 0\.05 CPUs' "a limit of CPU time" || diag "$(cat limited)"
		like "$("$PMCTL" explain --json limited.pmc | jq -r '.findings[].text')" 'limit of its cgroup, 0\.05 CPUs' \
			"a limit of CPU time, from the dump"
	else
		skip "no limit can be set: $(tail -n 1 "$T/err")" "a limit of CPU time"
	fi
	rmdir $cgroup/pmc-explain-$$
else
	skip "no cgroup can be made: $(head -n 1 "$T/err")" "a limit of CPU time"
fi

# ---- forms -----------------------------------------------------------------------------------
run "$PMCTL" explain -o kept.pmc -- "$PROG/causes" short-lived 100
like "$(tr -s ' \n' ' ' <err)" 'causes \(2000 threads\): .* evidence .* not .* unknown .* try ' "a finding as text"
run "$PMCTL" explain --json kept.pmc
# On a busy machine it may be preempted even more.
is "$status $(jq -c '(.findings[] | select(.cause == "short-lived")) as $found | [$found.cause, (.cpus > 0), ($found | keys)]' out)" \
	'0 ["short-lived",true,["arithmetic","cause","evidence","excluded","gain","pool","text","try","unknown"]]' "a kept dump says the same"
is "$(jq -c '.findings[] | select(.cause == "short-lived") | [(.evidence | map(select(contains("overhead of the agent"))) | length), .gain]' out)" "[1,null]" \
	"most of its CPU time is the agent's: that is said, and no gain" || diag "$(cat out)"
# What is right of the last = is the gain that is printed above, to a digit, and that of the numbers.
run "$PMCTL" explain -o faults.pmc -- "$PROG/causes" page-faults 100
run "$PMCTL" explain -v faults.pmc
# Where faults of pmctl itself took longer, as beside other programs, they are nearly all; or it waits longer for these.
grep -qE 'nearly all of its CPU time|: waits for a CPU' out ||
	is "$(tr -s ' \n' ' ' <out | sed -nE 's/.*some ([0-9.]+) times .* gain CPU time ([0-9.]+) s \/ \(([0-9.]+) s - ([0-9]+) faults x ([0-9]+) ns\) = ([0-9.]+).*/\1 \2 \3 \4 \5 \6/p' |
		awk '{ gain = $2 / ($3 - $4 * $5 / 1e9); print ($6 - $1) ^ 2 < 0.06 ^ 2 && ($6 - gain) ^ 2 < (0.006 + gain / 1000) ^ 2 }')" 1 \
		"-v: the arithmetic behind a gain" || diag "$(cat out)"
run "$PMCTL" explain --json -o heap.pmc -- "$PROG/causes" growing
"$PMCTL" export --to folded --event task-clock heap.pmc >heap.folded
heap=$(awk '/;_*(GI_+)?(libc_|int_)?(malloc|c?free|calloc|realloc)[@.;]?[^ ;]*[; ]/ { n += $NF } { all += $NF } END { print n " of " all " samples" }' heap.folded)
like "$(jq -r '.findings[] | select(.cause == "allocator").evidence[0] // .evidence[] | select(test("^also allocates|samples in malloc"))' out)" "^$heap |^also " "what malloc and free call is theirs, by the stacks" || diag "$(cat out heap.folded)"
PMC_REPORT=off PMC_OUT=$T/plain.pmc run agent "$PROG/causes" one 100
run "$PMCTL" explain plain.pmc
like "$(tr -s ' \n' ' ' <out)" "unknown .*locks, disks and sockets " \
	"a dump without waits: what is unknown is said"
PMC_REPORT=off PMC_OUT=$T/waits.pmc run agent "$PROG/causes" sleeper 500
run "$PMCTL" explain --json waits.pmc
like "$(jq -r '.states[]' out)" "waits [5-9][0-9] % " "a dump without waits: which pools wait is said, beside waits for a CPU" || diag "$(cat out)"
is "$(jq '[.unknown[] | select(contains("pmctl profile"))] | length' out)" 1 "and once what records where, of any program" || diag "$(cat out)"
# What is advised can be done: flags are those of explain, or follow the command that has them.
"$PMCTL" explain --help >help
foreign_flags() { tr -s ' \n' ' ' <"$1" | sed -E 's/pmctl [a-z]+( -[^,;)]*)?//g' | grep -oE '[ (]-(-[a-z-]+|[a-z]\b)' | tr -d ' (' | sort -u | grep -vxFf <(grep -oE -- '-(-[a-z-]+|[a-z]\b)' help); }
is "$(foreign_flags out)" "" "with flags that there are" || diag "$(cat out)"
run "$PMCTL" explain -o kept.pmc -- true
like "$(cat err)" "kept as .*kept\\.pmc\\.old" "a dump in the place of another one"
is "$(foreign_flags err)" "" "and no flags of other commands" || diag "$(cat err)"
# As a server with one worker. Where other programs take the CPUs, it waits for one.
mkfifo gate
run "$PMCTL" explain -- sh -c '(head -c 4G /dev/zero >/dev/null; : >gate) & head -n 1 gate; wait'
like "$(cat err)" "one thread of head \\(2 threads\\) computes|head .*(waits for a CPU|in the kernel)" "one busy thread of a pool that waits"
run "$PMCTL" explain -- sh -c 'exit 7'
is "$status" 7 "the exit status is that of the command"
run "$PMCTL" explain --json -- "$PROG/burn_static" 50
is "$status $(sed 1d out | jq '.cpu_ns > 30000000 and .without_row_ns < .cpu_ns / 10')" "0 true" \
	"a static program is recorded from outside, with rows of threads"
if command -v go >/dev/null && GOCACHE=$T/gocache GO111MODULE=off go build -o gonet "$SRC/gonet.go" 2>err; then
	run "$PMCTL" explain --json -- ./gonet < <("$PROG/burn_static" 50)
	is "$status $(jq '.cpu_ns > 0 and .without_row_ns < .cpu_ns / 10' out)" "0 true" \
		"and a Go program with libc, whose end the agent does not see"
	[ "$(id -u)" -ne 0 ] || is "$(jq '.unknown | map(select(contains("goroutines"))) | length' out)" 1 "whose waits between goroutines are unknown" || diag "$(cat out)"
	mkfifo gate-of-go
	chmod 777 "$T"
	$other ./gonet <>gate-of-go &
	pid=$!
	await grep -q gonet /proc/$pid/comm
	run $other "$PMCTL" explain --json -p $pid -d 100ms
	kill $pid
	wait $pid 2>/dev/null
	is "$(jq '.unknown | map(select(contains("goroutines"))) | length' out)" 1 "nor are they in /proc" || diag "$(cat out)"
else
	ok "a Go toolchain with cgo is installed (sh tests/deps.sh check)" false
fi
run "$PMCTL" explain -- "$T/none"
is "$status $(wc -l <err)" "127 1" "a command that is not there"
refuses 2 "nothing to explain" "no operand" explain
refuses 2 "at once" "a dump and a command" explain kept.pmc -- true
refuses 1 "cannot read" "a dump that is not there" explain none.pmc
refuses 2 "no dump 4194304; .* -p 4194304" "a process without -p" explain 4194304
refuses 2 "-d .*running processes" "-d with a command" explain -d 1s -- true
# Signals are forwarded, and what was recorded is explained.
"$PMCTL" explain --json -o ended.pmc -- sh -c 'echo $$ >started; exec "$1" one 60000' sh "$PROG/causes" >ended.json 2>"$T/err" &
pid=$!
computes() { [ -s started ] && grep -q worker /proc/$(<started)/task/*/comm 2>/dev/null; }
await computes
kill -TERM $pid
wait $pid
is "$? $(kill -0 "$(<started)" 2>&1 | grep -c 'No such process')" "143 1" "SIGTERM: the command ends by it"
ok "and its threads are judged" jq -e '.cpu_ns > 0' ended.json

# ---- running processes -------------------------------------------------------------------------
"$PROG/causes" handoff 60000 &
pid=$!
two_threads() { [ "$(ls /proc/$pid/task | wc -l)" = 2 ]; }
await two_threads
run "$PMCTL" explain --json -p $pid -d 500ms
kill $pid
wait $pid 2>/dev/null
like " $(jq -r '[.findings[].cause] | unique | join(" ")' out) " " handoff " "-p: a running process"
between "$(jq .wall_ns out)" 480e6 2e9 "-p: for the time that was asked for"
refuses 1 "no such process" "a process that is not there" explain -p 4194304
"$PMCTL" explain --json -p $$ -d 60m >stopped.json &
pid=$!
# SIGINT is ignored in the background. Records are read once SIGTERM is blocked, /proc once it is caught.
handled() { grep -q pmctl /proc/$pid/comm && grep -qE '^Sig(Blk|Cgt):.*[4567cdef]...$' /proc/$pid/status; }
await handled
kill -TERM $pid
wait $pid
is "$? $(jq '.wall_ns > 0' stopped.json)" "0 true" "-p: at a signal, what was seen by then"

# The shell's own pmctl is no part of what it looks at.
run bash -c '"$1" explain --json -o shell.pmc -p $$ -d 300ms; exit $?' bash "$PMCTL"
[ "$(id -u)" -ne 0 ] || is "$status $("$PMCTL" report --format json shell.pmc | jq '.processes | length')" "0 1" "-p: of the shell that starts it, without itself" || diag "$(cat out)"

works() { grep -q worker /proc/$pid/task/*/comm; }
# running CASE [as_nobody]: what explain -p says of the program, as root with its locks
running() {
	"$PROG/causes" "$1" 60000 &
	pid=$!
	await works
	run ${2:-} "$PMCTL" explain --json -p $pid -d 1s
	kill $pid
	wait $pid 2>/dev/null
}
if [ "$(id -u)" -eq 0 ]; then
	chmod 777 "$T"
	running lock
	like " $(jq -r '[.findings[].cause] | unique | join(" ")' out) " " lock " "-p: locks of a running process"
	for user in "" "$other"; do
		$user "$PROG/causes" acceptor 60000 &
		pid=$!
		await works
		run $user "$PMCTL" explain --json -p $pid -d 500ms
		kill $pid
		wait $pid 2>/dev/null
		is "$status $(jq -c '[.findings[].cause] - ["cpu-starved", "preempted"]' out)" "0 []" \
			"-p: accept on a UNIX socket waits for no answer, ${user:+not }as root" || diag "$(cat out)"
	done
	# A machine may hardly wait for its disk.
	paged='.findings[] | .text, .evidence[] | select(test("waits for (a disk|pages)"))'
	disk_as() {
		if [ -z "$(jq "$paged" out)" ]; then
			skip "it hardly waits for its disk: $(jq -c '[.findings[] | [.text, .excluded]]' out)" "$1"
		else
			like "$(jq "$paged" out)" "$2" "$1" || diag "$(cat out)"
		fi
	}
	run "$PMCTL" explain --json -- "$PROG/causes" mapped
	disk_as "page faults of a mapped file are no reads" "for pages"
	run "$PMCTL" explain --json -- "$PROG/causes" synced
	disk_as "and fsync is no page fault" "for a disk"
	# Less than 50 ms: many short waits.
	run "$PMCTL" explain --json -- "$PROG/causes" synced 20
	disk_as "a short program that often calls fsync" "for a disk"
	$other "$PROG/causes" mapped 60000 &
	pid=$!
	await works
	run $other "$PMCTL" explain --json -p $pid -d 500ms
	kill $pid
	wait $pid 2>/dev/null
	disk_as "-p: page faults of a mapped file, by /proc alone" "for pages"
	running acceptor as_nobody
	is "$(jq '[.states[] | select(contains("unknown where")) | contains("pmctl profile --off-cpu -p '$pid'")] | unique == [true]' out)" true \
		"-p: what shows waits that explain does not see" || diag "$(cat out)"
	run "$PMCTL" explain --json -- "$PROG/causes" gil
	like "$(jq -r '.findings[] | .text, .try' out | tr '\n' ' ')" "GIL .*processes" "the lock of Python's interpreter, and what helps" || diag "$(cat out)"
	strip -o stripped "$PROG/causes"
	for program in "$PROG/causes" ./stripped; do
		"$PMCTL" explain --json -- $program poller >out
		is "$(jq -r '.states[]' out | grep -o 'most in .*')" "most in poll$([ $program = ./stripped ] || echo ' (poller)')" \
			"a wait is that of a system call, by a function if it has a name: ${program##*/}" || diag "$(cat out)"
	done
	strip -K update_row -o partly-stripped "$PROG/causes"
	for program in "$PROG/causes" ./partly-stripped; do
		"$PMCTL" explain --json -- $program rows >out
		like "$(jq -r '.states[]' out | grep -o 'those that also compute most in .*')" \
			"\($([ $program = ./partly-stripped ] && echo 'below update_row' || echo await_row)\)$" \
			"threads that wait for each other, among idle ones: ${program##*/}" || diag "$(cat out)"
	done
	"$PROG/causes" lock 60000 &
	pid=$!
	await works
	kill -STOP $pid
	are_stopped() { ! grep -h '^State:' /proc/$pid/task/*/status | grep -qv stopped; }
	await are_stopped
	run "$PMCTL" explain --json -p $pid -d 500ms
	is "$(jq -c '[.findings, (.states | map(contains("stopped")) | unique)]' out)" "[[],[true]]" "-p: a stopped process waits for no lock" || diag "$(cat out)"
	run as_nobody "$PMCTL" explain --json -p $pid -d 500ms
	is "$status $(jq -c .findings out)" "0 []" "-p: as another user neither"
	kill -KILL $pid
	wait $pid 2>/dev/null
	rm -f recorded.pmc
	run "$PMCTL" profile -o recorded.pmc -- "$PROG/causes" pinned 200
	run "$PMCTL" explain --json recorded.pmc
	like "$(jq -r '.findings[].cause' out)" "cpu-starved|preempted" "a recording without run delay: what switches say of it" || diag "$(cat out)"
	is "$(jq -r '.unknown[]' out | grep -c '^waits for a CPU after a wake-up (of threads that have ended; pmctl run -e run-delay')" 1 "and what has the rest" || diag "$(cat out)"
	run "$PMCTL" run --off-cpu --report off -o off-cpu.pmc -- "$PROG/causes" pinned 200
	run "$PMCTL" explain --json off-cpu.pmc
	is "$(jq -r '.findings[].unknown[] | select(startswith("waits for a CPU"))' out)" "waits for a CPU after a wake-up (pmctl run -e run-delay)" \
		"a dump with waits alone: which waits for a CPU are unknown" || diag "$(cat out)"
	is "$(jq '[.unknown[] | select(endswith("(their waits include those for a CPU)"))] | length' out)" 1 "and why locks are" || diag "$(cat out)"
	"$PMCTL" profile --on-cpu -o on-cpu.pmc -- "$PROG/causes" pinned 200 2>err
	run "$PMCTL" explain --json on-cpu.pmc
	is "$(jq -r '.unknown[]' out | grep -c 'pmctl run') $(jq -r '.unknown[]' out | grep -c 'pmctl profile')" "0 2" "a recording of CPU time: no advice to run it otherwise" || diag "$(cat out)"
	run "$PMCTL" explain --json -o waiting.pmc -- "$PROG/causes" waiting
	futexes=$(jq '.states[] | capture("waits (?<all>[0-9]+) % of its time, (?<n>[0-9]+) % for conditions") | 100 * (.n | tonumber) / (.all | tonumber)' out)
	"$PMCTL" export --to folded --event off-cpu waiting.pmc >waiting.folded
	known=$(awk '/^causes;/ { all += $NF } /^causes;.*sem_wait/ { n += $NF } END { print int(100 * n / all) }' waiting.folded)
	between "$futexes" $((known - 2)) $((known + 2)) "waits for semaphores and others: the share of each" || diag "$(cat out waiting.folded)"
	running lock as_nobody
	is "$status $(jq -c '[.findings[].cause] - ["cpu-starved", "preempted"]' out)" "0 []" "-p: as another user, no guess"
	run as_nobody "$PMCTL" explain --json -- "$PROG/causes" lock 100
	is "$(jq -c '[([.findings[].cause] - ["cpu-starved", "preempted", "kernel"])]' out)" "[[]]" "another user: no guess without waits" || diag "$(cat out)"
	is "$(jq '[.unknown[] | select(startswith("locks, disks and sockets"))] | length' out)" 1 "and what is unknown is said" || diag "$(cat out)"
else
	skip "not root" "another user: no guess without waits"
fi
is "$(ls tmp)" "" "no directory stays"

done_testing
