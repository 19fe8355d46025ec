#!/bin/bash
# SPDX-License-Identifier: MIT
# counters.t - the counting library where there is a PMU, kprobes and BPF: exact counts.
. "$(dirname "$0")/lib.sh"
machine

got() {
	sed -n "s/^$1 //p" "$M/counters.out"
}
[ -s "$M/counters.out" ] || diag_file "$M/counters.err" "the program says"

# The loop and the few instructions of switching off.
around=$(($(got hardware) - 1000000))
between "$around" 1 300 "hardware: the loop's instructions and a few"
for kind in raw pmu fields text; do
	is "$(got $kind)" $((1000000 + around)) "$kind: the same event counts the same"
done
is "$(got cycles)" $((1000000 + around)) "cycles: IPC is 1.000"
is "$(got cache)" -2 "cache: the PMU lacks it, ENOENT"
like "$(got cache-says)" ". \| ..........*" "which is explained"

is "$(got group-6)" 0 "a group of as many as there are counters"
is "$(got not-yet)" -11 "never enabled: EAGAIN, not 0"
for i in 0 1 2 3 4 5; do
	is "$(got member-$i-0) $(got member-$i-1) $(got member-$i-2)" \
		"$(got member-0-0) $(got member-0-0) $(got member-0-0)" \
		"member $i: three rounds, each from 0, all the same"
done
between "$(got member-0-0)" 1000000 1000300 "which is the loop"
is "$(got ran-0)$(got ran-1)$(got ran-2)" 111 "its times are of each round too: nothing to scale"
is "$(got group-15)" -22 "a group that can never fit: EINVAL"
is "$(got left-open)" 0 "and no descriptor is left"

for i in $(seq 0 13); do
	within "$(got scaled-$i)" 400000000 1 "14 on 6 counters, number $i: scaled, right within 1 %"
	is "$(got share-$i)" 1 "number $i: it ran part of the time"
done
for i in 0 1 2 3 4 5; do
	between "$(got pinned-$i)" 10 20 "pinned number $i has its counter"
done
for i in 6 7; do
	is "$(got pinned-$i)" -61 "pinned number $i has none: ENODATA, not 0"
done

between "$(got inherit)" 50 50 "inherited: the child's 50 million instructions"
between "$(got on-exec)" 10 11 "from exec on: what the program did, not what was before"

is "$(got kprobe)" 1000 "kprobe: every call"
is "$(got kretprobe)" 1000 "kretprobe: every return"
is "$(got kallsyms)" 1 "the function has an address"
is "$(got kprobe-address)" 1000 "kprobe by address: every call"
like "$(got kprobe-nowhere)" "^-(2|22|99)$" "kprobe on no function is refused"
like "$(got nowhere-says)" "no_such_function" "which is explained"
is "$(got bpf-load)" 0 "a BPF program loads"
is "$(got bpf)" 1000 "it ran at every call"
is "$(got bpf-none)" -9 "no program: EBADF as the kernel says"

is "$(got sampled-cycles)" 100 "100 periods of cycles"
between "$(got samples)" 99 100 "a sample for each"
is "$(got samples-back)" 0 "in order of time"

is "$(got too-big)" -7 "an option of a later kernel: E2BIG"
like "$(got too-big-says)" "^config3 \| .*Linux 6\.3" "which is named, with the version that has it"

done_testing
