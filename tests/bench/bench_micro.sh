# SPDX-License-Identifier: MIT
# bench_micro.sh - times of pmc/bench.h beside those of google-benchmark (libbenchmark-dev) and
# nanobench (nanobench.h in a folder of CPATH), of the same functions in turns; a part of bench.sh,
# after bench_price.sh. A peer that is not installed is left out.

google=$(echo 'int main() {}' | ${CXX:-g++} -xc++ -include benchmark/benchmark.h -o /dev/null - -lbenchmark -pthread \
	2>/dev/null && echo -lbenchmark)
${CXX:-g++} -std=c++17 -O2 -Iinclude ${google:+-DGOOGLE} -o "$T/peers" tests/bench/micro_peers.cc \
	"$O/public/libpmc.a" $google -ldl -pthread 2>>"$T/err"
peers=$("$T/peers" --peers 2>/dev/null)
echo
if [ -z "$peers" ]; then
	line "microbenchmarks beside others" "not installed: libbenchmark-dev, nanobench.h"
else
	"$T/peers" "$rounds" >"$T/micro" 2>>"$T/err"
	for name in $(cut -d' ' -f1 "$T/micro" | sort -u); do
		grep "^$name " "$T/micro" >"$T/price"
		line "pmc/bench.h: $name" "$(med "$T/price" 2) ns" "0.90 to 1.10 × (layout of code)"
		for peer in $peers; do
			column=3
			[ "$peer" = google-benchmark ] || column=4
			line "  to $peer" "$(price "$T/price" 2 $column)"
		done
	done
fi
