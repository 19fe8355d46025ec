#!/bin/bash
# SPDX-License-Identifier: MIT
# typed.t - what of groups and benchmarks a compiler decides: programs that must not compile and
# why, units and languages that share a group, the documentation's examples; and the harness
# against perf stat.
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1

strict=(-O2 -pedantic -Wall -Wextra -Wshadow -Wundef -Werror -iquote "$ROOT" -I"$ROOT/include")
# The archive that gets installed.
link=(-L"$O/public" -lpmc -ldl -pthread)

# compile COMPILER ARG...: by the standard that its name implies.
compile() {
	local compiler=$1
	shift
	case $compiler in
	*++) "$compiler" -std=c++17 -Wold-style-cast "${strict[@]}" "$@" ;;
	*) "$compiler" -std=c11 "${strict[@]}" "$@" ;;
	esac
}

# as COMPILER: what makes it take a C source for its own language.
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
			# The first complaint is the one that is read.
			like "$(grep -m1 'error:' "$T/err")" "error: .*($want)" "$name, and says why" ||
				diag_file "$T/err" "$compiler"
		fi
	done
done
is "$(grep -l 'expect: ' tests/compile/*.c | wc -l)" 7 "seven ways to be wrong"

# ---- one group in many units, in two languages ---------------------------------------------
for pair in "gcc g++" "clang clang++"; do
	read -r c cxx <<<"$pair"
	for unit in many_a.c many_b.c; do
		compile "$c" -c -o "$T/${unit%.c}.o" tests/compile/$unit || fail "$c: $unit compiles"
	done
	ok "$cxx: a unit of three" compile "$cxx" -c -o "$T/many_c.o" tests/compile/many_c.cc
	ok "$cxx: three units that share a group link" \
		"$cxx" -o "$T/many" "$T"/many_[abc].o "${link[@]}"
	run "$T/many"
	is "$status $(tr '\n' ' ' <"$T/out")" "0 faults 1 cpu 1 " "$c: opened, read and closed in turn" ||
		diag_file "$T/err" stderr
done

# ---- the documentation's examples ----------------------------------------------------------
for compiler in gcc clang; do
	for example in typed_group bench_sum; do
		ok "$compiler: $example compiles" \
			compile $compiler -o "$T/$example" docs/examples/$example.c "${link[@]}"
		run "$T/$example"
		is $status 0 "$compiler: $example runs" || diag_file "$T/err" stderr
		cp "$T/out" "$T/$example.out"
	done
	like "$(cat "$T/typed_group.out")" '^20[0-9][0-9] page faults in [0-9.]+ ms of CPU time' \
		"$compiler: typed_group counts its 8 MiB"
	is "$(sed 1d "$T/typed_group.out" | awk '{ print $1 }' | tr '\n' ' ')" "cpu faults switches " \
		"$compiler: typed_group has a line for each field"
	is "$(grep -c '^|' "$T/bench_sum.out")" 5 "$compiler: bench_sum has a table of three"
	run "$T/bench_sum" --json
	cp "$T/out" "$T/bench_sum.json"
	is "$(jq -r '.benchmarks | map(.name) | join(",")' "$T/out")" "sum,sum by four,sum backwards" \
		"$compiler: bench_sum in JSON"
	is "$(jq -r '.benchmarks[] | .time_ns | .min > 0 and .min <= .median and .median <= .max' \
		"$T/out" | sort -u)" true "$compiler: its times are in order"
done
for compiler in g++ clang++; do
	ok "$compiler: bench_lambda compiles" \
		compile $compiler -o "$T/bench_lambda" docs/examples/bench_lambda.cc "${link[@]}"
	run "$T/bench_lambda"
	is "$status $(grep -c '^| std::' "$T/out")" "0 2" "$compiler: bench_lambda runs" ||
		diag_file "$T/err" stderr
done

# Without a PMU the columns are gone and a line says why; with one they are there.
if "$PMCTL" list --json cycles | jq -e '.[] | select(.name == "cycles") | .available' >/dev/null; then
	like "$(head -n 1 "$T/bench_sum.out")" 'cycles/op .*instructions/op' "a PMU has its columns"
	# Each of 4,096 numbers takes an addition, and a few instructions with it.
	between "$(jq '.benchmarks[0].events[] | select(.name == "instructions") | .per_op.mean' \
		"$T/bench_sum.json")" 4096 40960 "and its figures are of one operation"
else
	unlike "$(head -n 1 "$T/bench_sum.out")" 'cycles|instructions|IPC|misses' \
		"without a PMU there are no columns of it"
	like "$(cat "$T/bench_sum.out")" \
		'Not counted: cycles, instructions, cache-misses, branch-misses: .{20}' \
		"and one line says why"
fi

# ---- the harness and perf stat -------------------------------------------------------------
# Of one and the same run, whatever else this machine does meanwhile.
ok "a program that does nothing but measure" \
	compile gcc -o "$T/loop_bench" tests/compile/loop_bench.c "${link[@]}"
run perf stat -x, -e task-clock -o "$T/perf" "$T/loop_bench"
is $status 0 "it runs under perf stat" || diag_file "$T/err" stderr
ours=$(jq '.benchmarks[0].events[0].total / 1e6' "$T/out")
perf=$(awk -F, '$3 ~ /^task-clock/ { print $1 }' "$T/perf")
diag "task-clock: the harness $ours ms, perf stat $perf ms"
within "$ours" "$perf" 2 "task-clock is that of perf stat, within 2 %"
is "$(jq '.benchmarks[0] | .events[0] as $e |
	($e.per_op.mean * .ops_per_sample * .samples / $e.total * 1e4 | round)' "$T/out")" 10000 \
	"the mean per operation, times the operations, is that total"

done_testing
