#!/bin/bash
# SPDX-License-Identifier: MIT
# samples.t - sampling on the cycle counter: weights add up to the count, complete stacks on
# arm64 by unwind tables and by frame pointers.
. "$(dirname "$0")/lib.sh"
machine
export SAMPLES_PROGS=$GUEST/prog ADDR2LINE=aarch64-linux-gnu-addr2line
samples() { python3 "$ROOT/tests/e2e/samples.py" "$M/$1.pmc" "${@:2}"; }

for name in dwarf fp; do
	row=$(samples $name total | head -n 1)
	within "$(jq .weight <<<"$row")" "$(jq .value <<<"$row")" 2 "$name: the weights are within 2 % of the event's count"
	is "$(jq -c "[.samples == .listed, .lost, .cut]" <<<"$row")" "[true,0,0]" "$name: no sample is lost or cut"
	# The interrupt of the emulated PMU may come late: fewer samples than periods.
	between "$(jq '.samples * 100000000 / .value | floor' <<<"$row")" 70 102 "$name: a sample for most periods, in percent"
done
row=$(samples hz total | head -n 1)
# What came after the last sample is in no weight: up to a period, and interrupts come late.
within "$(jq .weight <<<"$row")" "$(jq .value <<<"$row")" "$(jq '2 + 200 / .samples' <<<"$row")" \
	"cycles/997: the weights are within 2 % and two periods of the event's count"
between "$(jq .samples <<<"$row")" 20 2000 "cycles/997: there are samples"

# The outermost frames are of libc, which has no symbols here.
outer='main<(main_with_job|libpmcagent.so)<.*'
stacks() {
	local share n
	read -r share n < <(samples "$1" match "$2" leaf)
	between "$share" 99 100 "$1: 99 % of the stacks are complete" || diag "$(samples "$1" paths | head -n 3 | cut -c1-300)"
	between "$n" 20 100000 "$1: there are samples"
}
stacks dwarf "leaf<(deep<){61}deep_60<burn<$outer"
# gcc for arm64 keeps frame pointers but in leaves, which have no frame: their caller is missing.
stacks fp "leaf<(deep<){60,61}deep_60<burn<.*"
stacks signal "leaf<on_signal<\[vdso\]<.*<raiser<burn<$outer"
stacks threads '(leaf<(deep<){61}deep_60<burn<one|leaf<tail_caller<burn<two)<.*'
is "$(samples threads total | jq -s '[.[] | select(.seq > 0 and .samples > 0)] | length')" 8 "threads: each has samples of its own"

# ---- cost -------------------------------------------------------------------------------------
# Instructions that a sample takes, user and kernel: what a long run takes more than a short one.
longer() { echo $(($(cat "$M/depth-$1.220") - $(cat "$M/depth-$1.20"))); }
taken() { samples "depth-$1" total | jq -s '[.[].samples] | add'; }
cost() { # DEPTH-UNWIND
	echo $((($(longer "$1") - $(longer "${1%-*}-none")) / ($(taken "$1-220") - $(taken "$1-20"))))
}
for depth in 1 10 30; do
	for unwind in dwarf fp; do
		echo "depth-$depth-$unwind $(cost $depth-$unwind)"
	done
done >"$T/costs"
mkdir -p "$O/vm" && cp "$T/costs" "$O/vm/sample_costs"
diag_file "$T/costs" "instructions of a sample, user and kernel"
# Bounds above the present values.
each() { awk -v k="$1" '$1 == k { print $2 }' "$T/costs"; }
between "$(each depth-1-dwarf)" 1 60000 "a sample of a shallow stack, by unwind tables"
between "$(each depth-30-dwarf)" 1 170000 "a sample of a deep stack, by unwind tables"
between "$(each depth-30-fp)" 1 40000 "a sample of a deep stack, by frame pointers"
done_testing
