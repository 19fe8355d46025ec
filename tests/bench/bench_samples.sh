# SPDX-License-Identifier: MIT
# bench_samples.sh - the cost of a sample beside libprofiler's; a part of bench.sh.

profiler=$(ldconfig -p | awk '/libprofiler\.so\.0/ { print $NF; exit }')
sampled() { # DEPTH VARIANT...: median ns of a signal, in microseconds
	local depth=$1
	shift
	paired "$T/samples" "$B/sample_cost $depth 400" "$@"
	awk 'NF == 2 * n' n=$# "$T/samples" >"$T/samples.full"
}
# 250 Hz: libprofiler's rate ends at the kernel's tick.
ours="PMC_REPORT=off PMC_OUT=$T/dump.samples PMC_EVENTS= PMC_SAMPLE=task-clock/250 LD_PRELOAD=$agent"
theirs="CPUPROFILE=$T/dump.profile CPUPROFILE_FREQUENCY=250 LD_PRELOAD=$profiler"
us() { calc '%.1f µs' "$(med "$T/samples.full" "$1") / 1000"; }
for depth in 1 10 30; do
	if [ -z "$profiler" ]; then
		line "sample, $depth functions deep" "skipped: no libprofiler (libgoogle-perftools4)"
		continue
	fi
	sampled $depth "$theirs" "PMC_UNWIND=dwarf $ours" "PMC_UNWIND=fp $ours" 2>/dev/null
	line "sample at 250 Hz, $depth functions, libprofiler" "$(us 1)"
	line "  agent, by unwind tables" "$(us 3)  $(calc '%.2f ×' "$(med "$T/samples.full" 3 1)") libprofiler" "≤ 1.00 × libprofiler"
	line "  agent, by frame pointers" "$(us 5)  $(calc '%.2f ×' "$(med "$T/samples.full" 5 1)") libprofiler"
done
# libprofiler says on stderr how many samples there were.
sed -i '/^PROFILE: interrupts/d' "$T/err"
if [ -s "$O/vm/sample_costs" ]; then
	cost() { awk -v k="$1" '$1 == k { print $2 }' "$O/vm/sample_costs"; }
	for depth in 1 10 30; do
		line "instructions of a sample, $depth functions" \
			"$(cost depth-$depth-dwarf), by frame pointers $(cost depth-$depth-fp)" "(make check-vm, arm64)"
	done
fi
rm -f "$T"/dump*
