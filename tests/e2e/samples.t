#!/bin/bash
# SPDX-License-Identifier: MIT
# samples.t - sampling: weights and stacks of known call trees, which thread they belong to, stacks
# of thread creation, refused values, and a storm of threads, dlopen, throw, fork and signals.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
read_samples="python3 $ROOT/tests/e2e/samples.py"
outer='main<main_with_job<__libc_start_call_main<__libc_start_main(_impl)?(<_start)?'

# sample CASE [ARG]: run the case under task-clock sampling; dump to x.pmc.
sample() {
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/samples" "$@"
	is "$status $(cat err)" "0 " "$*: the program ends as without sampling"
}

# stacks REGEX LEAF NAME: at least 99 % of the samples whose path starts with LEAF match.
stacks() {
	local share n
	read -r share n < <($read_samples x.pmc match "$1" "$2")
	between "$share" 99 100 "$3: 99 % of the stacks are complete" ||
		diag "$($read_samples x.pmc paths | head -n 5 | cut -c1-300)"
	between "$n" 20 100000 "$3: there are samples"
}

# ---- weights --------------------------------------------------------------------------------
export PMC_SAMPLE=task-clock/997
sample leaf
$read_samples x.pmc total >x.json
# A thread that others interrupt very often is sampled by a timer.
is "$(jq -c '[.samples == .listed, .flags > 0 or .weight == .samples * 1003009, .lost, .cut]' x.json)" "[true,true,0,0]" \
	"task-clock/997: every sample stands for 1/997 s and has a complete stack"
# What the kernel does in the thread's time (interrupts, preemption) has no samples. Nor has what a
# hypervisor takes, which the event counts and the CPU time does not.
between "$(jq .weight x.json)" "$("$PMCTL" report --format json x.pmc | jq '.threads[0].cpu_ns * 0.7')" \
	"$(jq '.value * 1.3' x.json)" "samples explain the event's own count"
PMC_SAMPLE=task-clock@2000000 sample leaf
is "$($read_samples x.pmc total | jq -c '(.flags > 0 or .weight == .samples * 2000000) and .samples > 0')" true \
	"task-clock@2000000: every sample stands for 2 ms"

# ---- stacks by unwind tables ------------------------------------------------------------------
sample leaf
stacks "leaf<burn<$outer" leaf "a leaf"
sample deep
stacks "leaf<(deep<){61}deep_60<burn<$outer" leaf "recursion"
sample deeper
stacks "leaf<(deep<){127}.*|leaf(<deep){127}" leaf "recursion beyond 128 frames"
is "$($read_samples x.pmc total | jq '.cut >= .samples * 0.9')" true "recursion beyond 128 frames: counted as cut"
sample tail
stacks "leaf<tail_caller<burn<$outer" leaf "a tail call"
sample signal
stacks "leaf<on_signal<__restore_rt<.*raise.*<raiser<burn<$outer" leaf "a signal handler"
sample alternate
stacks "leaf<on_signal<__restore_rt<.*raise.*<on_alternate_stack<burn<$outer" leaf "a signal handler on an alternate stack"
sample sort
stacks "compare<(msort_with_tmp<|.*qsort.*<)+sorter<burn<$outer" compare "called by libc"
sample vdso
stacks "\[vdso\]<.*clock_gettime.*<(clock_reader<burn|now_ms(<burn)?)<$outer" '[vdso]' "the vdso"
sample module "$PROG/samples_module"
stacks "leaf<in_module<(module<)?(main<)?${outer#main<}" leaf "a module that is closed before the dump"

# ---- threads --------------------------------------------------------------------------------
sample without_main
stacks "leaf<(deep<){61}deep_60<burn<one<start_thread<clone3?" leaf "a thread that outlives the main thread"
PMC_STACKS=on sample threads 150
stacks "(leaf<(deep<){61}deep_60<burn<one|leaf<tail_caller<burn<two)<start_thread<clone3?" leaf "threads"
$read_samples x.pmc total >x.json
# Threads 1, 3, 5, 7 run one(), the others two(): a sample of another thread would show.
is "$(jq -s '[.[] | select(.seq > 0 and .samples > 0)] | length' x.json)" 8 "each thread has samples of its own"
is "$($read_samples x.pmc creation | grep -cE "^(threads<)?(main<)?${outer#main<}\$")" 8 "PMC_STACKS: each thread has the stack that created it"

# A file that cannot grow: what is lost is written again by later snapshots, of which each ends.
rm -f x.pmc
run bash -c 'ulimit -f 16; PMC_REPORT=off PMC_SAMPLE=task-clock/1999 PMC_INTERVAL=20ms PMC_OUT=$1/x.pmc LD_PRELOAD=$2 \
	exec timeout -s KILL 100 "$3/sample_storm" 1 "$3/samples_module"' - "$T" "$AGENT" "$PROG"
is "$status $(cat out)" "0 storm: 0 errors" "sampling goes on where the dump cannot grow"
PMC_SAMPLE=off sample leaf 50
is "$("$PMCTL" report --format json x.pmc | jq -c '[.threads[0].samples, .threads[0].cpu_ns > 0]')" "[null,true]" "PMC_SAMPLE=off: counts only"
sample past 150
"$PMCTL" report --format json x.pmc >x.json
is "$(jq '[.threads[] | select(.main | not) | .samples // 0] | add' x.json)" 0 \
	"a thread that started past the agent does not get the samples of the main thread"
is "$(jq '[.threads[] | select(.main) | .samples > 20] | all' x.json)" true "which has them"

rm -f x.pmc
# None if a busy machine preempts the thread so often that it is sampled by a timer.
for rate in 500:[012] 4999:[01]; do
	PMC_SAMPLE=task-clock/${rate%:*} PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/samples" queue 100
	like "$(cat out)" "^${rate#*:} pending" "at ${rate%:*} Hz signals do not queue up, nor do failed calls of exec add to them"
done

PMC_SAMPLE=task-clock/500 PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/samples" taken 100
is "$status $(cat out)" "0 0 taken" "a handler of the program for the agent's number gets no signal of samples"

# ---- threads that switch often -------------------------------------------------------------------
sample switching 1200
# Each of two threads computes for some 10 us and then waits for the other.
is "$($read_samples x.pmc total | jq -s '[.[] | select(.samples > 0) | .flags] | add')" 2 "threads that switch often are sampled by a timer"
"$PMCTL" report --by function --format json x.pmc >x.json
# Beside busy programs these are some 25 samples.
between "$(jq '[.groups[] | {(.function): .self}] | add | .most / .few' x.json)" 0.5 5 \
	"the weights are those of the CPU time: 3 to 2"
between "$(jq '[.groups[] | select(.function == "leaf")][0] | .self / 1200e6' x.json)" 0.7 1.1 \
	"of the time after that as well"
# At least half of the 1.2 s by the event, at 997 Hz; by the timer alone some 300 samples.
between "$(jq '[.groups[] | select(.function == "leaf")][0].samples' x.json)" 450 1240 "when it switches no more it has its event again"
like "$("$PMCTL" report --by function x.pmc | tr -s ' \n' ' ')" "2 threads that switch often" "the report says so"

# ---- memory that goes --------------------------------------------------------------------------
for unwind in dwarf fp; do
	rm -f x.pmc
	PMC_SAMPLE=task-clock/10000 PMC_UNWIND=$unwind PMC_REPORT=off PMC_OUT=$T/x.pmc \
		run agent "$PROG/withdrawn" 1500
	case $status in
	77) skip "no machine code for this processor" 2 ;;
	*)
		is "$status $(cat out)" "0 done" "$unwind: frames that another thread withdraws meanwhile do no harm"
		between "$($read_samples x.pmc total | jq -s '[.[].samples] | add')" 10 10000000 "$unwind: there are samples of them"
		;;
	esac
done

# ---- by frame pointers ------------------------------------------------------------------------
"${CC:-cc}" -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -g -D_GNU_SOURCE -o samples_fp "$ROOT/tests/prog/samples.c" -pthread -ldl 2>/dev/null
if [ -x samples_fp ]; then
	rm -f x.pmc
	PMC_UNWIND=fp PMC_REPORT=off PMC_OUT=$T/x.pmc run agent ./samples_fp deep
	# gcc gives a leaf no frame: its caller is missing.
	stacks "leaf<(deep<){60,61}deep_60<burn<main.*" leaf "PMC_UNWIND=fp"
	rm -f x.pmc
	PMC_UNWIND=fp PMC_REPORT=off PMC_OUT=$T/x.pmc run agent ./samples_fp garbled
	"$PMCTL" report --by path --format json x.pmc >x.json
	is "$(jq -c '[.groups[] | select(.key == "(truncated stack);garbled") | .samples > 20]' x.json)" "[true]" \
		"PMC_UNWIND=fp: an address of no code ends the stack"
	is "$(jq '.sampling | .incomplete > 20' x.json)" true "and the stack counts as truncated"
	is "$(grep -c -F '[unknown]' x.json)" 0 "it is not shown as a caller"
else
	skip "the compiler does not build for this machine" 5
fi

# ---- filters that forbid reads of memory ---------------------------------------------------------
for how in reads killreads; do
	rm -f x.pmc
	run "$PROG/seccomp" $how env LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_OUT="$T/x.pmc" "$PROG/samples" deep
	is "$status $(cat err)" "0 " "seccomp $how: the program ends as without sampling"
	is "$($read_samples x.pmc total | jq '.samples > 20 and .cut == .samples')" true \
		"seccomp $how: there are samples, their stacks counted as truncated"
	is "$($read_samples x.pmc paths | grep -c '<')" 0 "seccomp $how: stacks have one frame"
done
# No function of libc installs it, so no hook sees it.
sample filter
between "$($read_samples x.pmc total | jq .samples)" 20 330 "a filter by a raw system call: there are samples from before only"
is "$("$PMCTL" report --format json x.pmc | jq '[.processes[].notes[] | select(.code == 34)] | length')" 1 \
	"a filter by a raw system call: a note says that sampling ended"
sample often_filter
is "$("$PMCTL" report --format json x.pmc | jq '[.processes[].notes[] | select(.code == 34)] | length')" 1 \
	"the same in a thread that is sampled by a timer"

sample ioctl
between "$($read_samples x.pmc total | jq .samples)" 20 330 "a filter that kills for ioctl: there are samples from before only"

# ---- the signal cannot be queued ----------------------------------------------------------------
# The kernel then sends SIGIO.
sigpending=$(ulimit -S -i)
ulimit -S -i 0
for i in 1 2 3; do
	sample leaf
	between "$($read_samples x.pmc total | jq .samples)" 20 100000 "no signal can be queued, run $i: there are samples"
done
sample threads 150
stacks "(leaf<(deep<){61}deep_60<burn<one|leaf<tail_caller<burn<two)<start_thread<clone3?" leaf "no signal can be queued, threads"
sample blocked
between "$($read_samples x.pmc total | jq .samples)" 20 100000 "no signal can be queued, SIGIO blocked for a time, an exec: there are samples"
PMC_REPORT=off PMC_OUT=$T/x.pmc run agent bash -c 'kill -IO $$; echo not reached'
is "$status $(cat out)" "$((128 + $(kill -l IO))) " "a SIGIO that another process sends ends the program"
ulimit -S -i "$sigpending"

# ---- values -----------------------------------------------------------------------------------
for bad in context-switches@1 cs 99 task-clock@0 task-clock@1000 cpu-clock@9999 task-clock/0 task-clock/x @5 task-clock:k no-such-event/99; do
	PMC_SAMPLE=$bad PMC_REPORT=off run agent "$PROG/samples" leaf 10
	is "$status $(wc -l <err)" "0 1" "PMC_SAMPLE=$bad: one line, and the program runs on"
	case $bad in no-such-event*) continue ;; esac # the agent looks it up
	run "$PMCTL" run --report off --sample "$bad" -- "$PROG/samples" leaf 10
	is "$status $(wc -l <err)" "2 1" "pmctl run --sample $bad: exit 2 and one line"
done
PMC_SAMPLE=on PMC_OUT=named.pmc run agent "$PROG/samples" leaf 100
like "$(cat err)" 'pmctl report [^ ]*named\.pmc' "the summary at exit names the dump that has samples"
rm -f x.pmc
run "$PMCTL" run --report off -o x.pmc --sample -- "$PROG/samples" leaf 100
is "$status" 0 "pmctl run --sample without a value"
between "$($read_samples x.pmc total | jq .samples)" 1 1000 "pmctl run --sample without a value: there are samples"

# ---- snapshots and merges ----------------------------------------------------------------------
rm -f x.pmc
PMC_INTERVAL=50ms PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/samples" leaf 400
"$PMCTL" merge x.pmc x.pmc -o twice.pmc && "$PMCTL" merge --compact x.pmc -o small.pmc
is "$($read_samples twice.pmc total)" "$($read_samples x.pmc total)" "a dump merged twice counts once"
is "$($read_samples small.pmc total)" "$($read_samples x.pmc total)" "a compact dump has the newest samples"

# ---- storm --------------------------------------------------------------------------------------
# At the lower rate the event goes on while the handler runs.
for tunables in '' glibc.malloc.arena_max=1; do
	rm -f x.pmc
	rate=$((${#tunables} ? 4999 : 1999))
	run env ${tunables:+GLIBC_TUNABLES=$tunables} PMC_SAMPLE=task-clock/$rate PMC_STACKS=on PMC_INTERVAL=100ms \
		PMC_REPORT=off PMC_OUT="$T/x.pmc" LD_PRELOAD="$AGENT" \
		timeout -s KILL 300 "$PROG/sample_storm" "${STORM_SECONDS:-3}" "$PROG/samples_module"
	is "$status $(cat out)" "0 storm: 0 errors" "storm at $rate Hz${tunables:+, $tunables}: no deadlock, crash or wrong result" ||
		diag_file err stderr
	between "$($read_samples x.pmc total | jq -s '[.[].samples] | add')" 100 10000000 "storm${tunables:+, $tunables}: there are samples"
done
# ---- kernel mode ------------------------------------------------------------------------------
PMC_SAMPLE=task-clock/997 run "$PMCTL" run -- dd if=/dev/zero of=/dev/null bs=64k count=100000
like "$(cat out err)" 'samples explain .* pmctl profile -- CMD' "most of dd is in the kernel: what samples that"
PMC_SAMPLE=task-clock/997 run "$PMCTL" run -- awk 'BEGIN { while (i < 5000000) i++ }'
is "$(cat out err | grep -c 'samples explain')" 0 "most of this program is not"
done_testing
