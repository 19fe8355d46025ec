#!/bin/bash
# SPDX-License-Identifier: MIT
# counters.t - the counting library on a machine with a PMU, kprobes and BPF: exact counts.
. "$(dirname "$0")/lib.sh"
machine

got() {
	sed -n "s/^$1 //p" "$M/counters.out"
}
[ -s "$M/counters.out" ] || diag_file "$M/counters.err" "the program says"

# The loop and the few instructions that disable the counter.
around=$(($(got hardware) - 1000000))
between "$around" 1 300 "hardware: at most 300 instructions beside those of the loop"
for kind in raw pmu fields text; do
	is "$(got $kind)" $((1000000 + around)) "$kind: the same event gives the same value"
done
is "$(got cycles)" $((1000000 + around)) "cycles: equal to instructions, so IPC is 1.000"
is "$(got cache)" -2 "cache: an event that the PMU lacks gives ENOENT"
like "$(got cache-says)" ". \| ..........*" "cache: the error has an explanation"

is "$(got group-6)" 0 "a group of six events on six counters opens"
is "$(got not-yet)" -11 "reading a group that was never enabled: EAGAIN, not 0"
for i in 0 1 2 3 4 5; do
	is "$(got member-$i-0) $(got member-$i-1) $(got member-$i-2)" \
		"$(got member-0-0) $(got member-0-0) $(got member-0-0)" \
		"group member $i: three rounds, each after a reset, give the same value"
done
between "$(got member-0-0)" 1000000 1000300 "the values of the group match the loop"
is "$(got ran-0)$(got ran-1)$(got ran-2)" 111 "reset also resets the times: no round is scaled"
is "$(got group-15)" -22 "a group of 15 on 6 counters: EINVAL"
is "$(got left-open)" 0 "a group that cannot be opened leaves no descriptor open"

for i in $(seq 0 13); do
	within "$(got scaled-$i)" 400000000 1 "14 events on 6 counters, event $i: the scaled value is within 1 %"
	is "$(got share-$i)" 1 "14 events on 6 counters, event $i: it ran part of the time"
done
for i in 0 1 2 3 4 5; do
	between "$(got pinned-$i)" 10 20 "pinned event $i has a counter"
done
for i in 6 7; do
	is "$(got pinned-$i)" -61 "pinned event $i has no counter: ENODATA, not 0"
done

between "$(got inherit)" 50 50 "inherited counter: includes the child's 50 million instructions"
between "$(got on-exec)" 10 11 "enable on exec: counts only instructions after exec"

is "$(got kprobe)" 1000 "kprobe: counts every call"
is "$(got kretprobe)" 1000 "kretprobe: counts every return"
is "$(got kallsyms)" 1 "/proc/kallsyms gives the address of the probed function"
is "$(got kprobe-address)" 1000 "kprobe by address: counts every call"
like "$(got kprobe-nowhere)" "^-(2|22|99)$" "kprobe on a function that does not exist: an error"
like "$(got nowhere-says)" "no_such_function" "kprobe on a function that does not exist: the message names it"
is "$(got bpf-load)" 0 "a BPF program loads"
is "$(got bpf)" 1000 "the BPF program ran at every call"
is "$(got bpf-none)" -9 "attaching an invalid BPF descriptor: EBADF from the kernel"

is "$(got sampled-cycles)" 100 "the sampled counter ran for 100 periods of cycles"
between "$(got samples)" 99 100 "there is a sample for each period"
is "$(got samples-back)" 0 "samples are in order of time"

is "$(got too-big)" -7 "an option that this kernel is too old for: E2BIG"
like "$(got too-big-says)" "^config3 \| .*perf_event_open" "E2BIG: the message names the option"

done_testing
