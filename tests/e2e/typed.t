#!/bin/bash
# SPDX-License-Identifier: MIT
# typed.t - typed groups and benchmarks: programs that must not compile and the error they give,
# groups shared between units and languages, the documentation's examples; the benchmark harness
# compared with perf stat.
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1

strict=(-O2 -pedantic -Wall -Wextra -Wshadow -Wundef -Werror -iquote "$ROOT" -I"$ROOT/include")
# The archive that `make install` installs.
link=(-L"$O/public" -lpmc -ldl -pthread)

# compile COMPILER ARG...: with C++17 for a C++ compiler, otherwise with C11.
compile() {
	local compiler=$1
	shift
	case $compiler in
	*++) "$compiler" -std=c++17 -Wold-style-cast "${strict[@]}" "$@" ;;
	*) "$compiler" -std=c11 "${strict[@]}" "$@" ;;
	esac
}

# as COMPILER: the flag that compiles a .c file in the compiler's own language.
as() {
	case $1 in
	*++) echo "-xc++" ;;
	*) echo "-xc" ;;
	esac
}

# ---- what must not compile -----------------------------------------------------------------
for compiler in gcc clang g++ clang++; do
	ok "$compiler: a group compiles without a warning" \
		compile $compiler "$(as $compiler)" -c -o "$T/alone.o" tests/compile/alone.c
	for source in tests/compile/*.c; do
		want=$(sed -n 's,^/\* expect: \(.*\) \*/$,\1,p' "$source")
		[ -n "$want" ] || continue
		name="$compiler: ${source##*/} does not compile"
		run compile $compiler "$(as $compiler)" -c -o "$T/bad.o" "$source"
		if [ $status -eq 0 ]; then
			fail "$name"
			diag "it compiled"
		else
			# Users read the first error, so that one has to be clear.
			like "$(grep -m1 'error:' "$T/err")" "error: .*($want)" "$name: the first error gives the reason" ||
				diag_file "$T/err" "$compiler"
		fi
	done
done
is "$(grep -l 'expect: ' tests/compile/*.c | wc -l)" 9 "tests/compile has nine programs that must not compile"

# ---- what may be left out or added -----------------------------------------------------------
for compiler in gcc clang g++ clang++; do
	ok "$compiler: rows without unit and description, a semicolon, and the example of group.h compile" \
		$compiler "$(as $compiler)" -Wall -Wextra -Wshadow -Werror -I include -c -o "$T/short.o" tests/compile/short.c
done

# ---- the names of standard events ------------------------------------------------------------
sed -n 's/^#define \(PMC_EVENT_[A-Z0-9_]*\)[[:space:]]*\("[^"]*"\)$/\1 \2/p' include/pmc/event_names.h >"$T/macros"
is "$(awk '{ name = $2; gsub(/-/, "_", name); gsub(/"/, "", name)
	if ($1 != "PMC_EVENT_" toupper(name)) print }' "$T/macros")" "" "each macro is called like its event"
"$PMCTL" list --json | jq -r '.[] | select(.type == "hardware" or .type == "software" or .type == "cache") | .name' |
	sort >"$T/builtin"
sed 's/.*"\(.*\)"/\1/' "$T/macros" | sort >"$T/named"
same "$T/builtin" "$T/named" "event_names.h has the built-in events, all of them"

# ---- one group in many units, in two languages ---------------------------------------------
for pair in "gcc g++" "clang clang++"; do
	read -r c cxx <<<"$pair"
	for unit in many_a.c many_b.c; do
		compile "$c" -c -o "$T/${unit%.c}.o" tests/compile/$unit || fail "$c: $unit compiles"
	done
	ok "$cxx: the C++ unit of a shared group compiles" compile "$cxx" -c -o "$T/many_c.o" tests/compile/many_c.cc
	ok "$cxx: three units that share a group link" \
		"$cxx" -o "$T/many" "$T"/many_[abc].o "${link[@]}"
	run "$T/many"
	is "$status $(tr '\n' ' ' <"$T/out")" "0 faults 1 cpu 1 " "$c and $cxx: each unit opens, reads or closes the shared group" ||
		diag_file "$T/err" stderr
done

# ---- the documentation's examples ----------------------------------------------------------
for compiler in gcc clang; do
	for example in typed_group bench_sum bench_cases; do
		ok "$compiler: $example compiles" \
			compile $compiler -o "$T/$example" docs/examples/$example.c "${link[@]}"
		run "$T/$example"
		is $status 0 "$compiler: $example runs" || diag_file "$T/err" stderr
		cp "$T/out" "$T/$example.out"
	done
	like "$(cat "$T/typed_group.out")" '^20[0-9][0-9] page faults in [0-9.]+ ms$' \
		"$compiler: typed_group counts its 8 MiB"
	is "$(grep -c '^|' "$T/bench_sum.out")" 5 "$compiler: bench_sum prints a table of three benchmarks"
	run "$T/bench_sum" --json
	cp "$T/out" "$T/bench_sum.json"
	is "$(jq -r '.benchmarks | map(.name) | join(",")' "$T/out")" "sum,sum by four,sum backwards" \
		"$compiler: bench_sum --json has three benchmarks"
	is "$(jq -r '.benchmarks[] | .time_ns | .min > 0 and .min <= .median and .median <= .max' \
		"$T/out" | sort -u)" true "$compiler: bench_sum --json: 0 < min ≤ median ≤ max"
done
run "$T/bench_cases" --json
is "$(jq -r '[.benchmarks[] | "\(.name) \(.parameter) \(.value) \(.threads) \(.baseline)"] | join("; ")' "$T/out")" \
	"qsort n 16 1 true; qsort n 256 1 true; insertion n 16 1 false; insertion n 256 1 false; atomic add null null 1 false; atomic add null null 2 false" \
	"bench_cases --json has each value and number of threads"
is "$(jq -r '[.benchmarks[] | .speedup != null and .speedup_low < .speedup and .speedup < .speedup_high] | map(tostring) | join(" ")' \
	"$T/out")" "true true true true false false" "bench_cases --json: speed-ups to the same value, with intervals"
is "$(jq -r '[.benchmarks[] | (.samples_ns | length) == .samples] | all' "$T/out")" true "bench_cases --json has all samples"
is "$(jq -r '.host | "\(.cpus) \(.kernel) \(.machine)"' "$T/out")" "$(nproc --all) $(uname -rm)" "bench_cases --json names the host"
is "$(jq -r '.options | "\(.total_ns) \(.sample_ns) \(.min_samples)"' "$T/out")" "50000000 1000000 10" "bench_cases --json has the options"
for compiler in g++ clang++; do
	ok "$compiler: bench_lambda compiles" \
		compile $compiler -o "$T/bench_lambda" docs/examples/bench_lambda.cc "${link[@]}"
	run "$T/bench_lambda"
	is "$status $(grep -c '^| std::' "$T/out")" "0 4" "$compiler: bench_lambda runs" ||
		diag_file "$T/err" stderr
done

# Columns of hardware events need a PMU; without one a line gives the reason.
if "$PMCTL" list --json cycles | jq -e '.[] | select(.name == "cycles") | .available' >/dev/null; then
	like "$(head -n 1 "$T/bench_sum.out")" 'cycles/op .*instructions/op' "with a PMU bench_sum has columns of hardware events"
	# One operation adds 4,096 numbers, each with 1 to 10 instructions.
	between "$(jq '.benchmarks[0].events[] | select(.name == "instructions") | .per_op.mean' \
		"$T/bench_sum.json")" 4096 40960 "with a PMU values are per operation"
else
	unlike "$(head -n 1 "$T/bench_sum.out")" 'cycles|instructions|IPC|misses' \
		"without a PMU bench_sum has no columns of hardware events"
	like "$(cat "$T/bench_sum.out")" \
		'Not counted: cycles, instructions, cache-misses, branch-misses: .{20}' \
		"without a PMU one line gives the reason"
fi

# ---- the harness and perf stat -------------------------------------------------------------
# Both measure the same run, so that other load does not matter.
ok "loop_bench compiles" \
	compile gcc -o "$T/loop_bench" tests/compile/loop_bench.c "${link[@]}"
run perf stat -x, -e task-clock -o "$T/perf" "$T/loop_bench"
is $status 0 "loop_bench runs under perf stat" || diag_file "$T/err" stderr
ours=$(jq '.benchmarks[0].events[0].total / 1e6' "$T/out")
perf=$(awk -F, '$3 ~ /^task-clock/ { print $1 }' "$T/perf")
diag "task-clock: the harness $ours ms, perf stat $perf ms"
within "$ours" "$perf" 2 "task-clock of loop_bench equals that of perf stat within 2 %"
is "$(jq '.benchmarks[0] | .events[0] as $e |
	($e.per_op.mean * .ops_per_sample * .samples / $e.total * 1e4 | round)' "$T/out")" 10000 \
	"mean per operation times number of operations equals the total"

done_testing
