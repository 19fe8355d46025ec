#!/bin/bash
# SPDX-License-Identifier: MIT
# sanitizers.t - programs under gcc's and clang's sanitizers and valgrind's tools: a correct program
# runs to its end without a report, and an error is still found.
. "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1

# silent CMD...: it ends with 0 and its output is that of churn, without a report.
silent() {
	host timeout -k 5 120 "$@" >out 2>err
	local rc=$?
	cat out err >&2
	[ "$rc $(cat out)" = "0 joined 20" ] && ! grep -E 'ERROR|WARNING|runtime error|^==' err
}
found() {
	host timeout -k 5 120 "${@:2}" >out 2>&1
	cat out >&2
	grep -qE "$1" out
}

# sanitized CC KIND [REPORT]: a correct program, and one with errors that KIND finds.
sanitized() {
	"$1" -O1 -g "-fsanitize=$2" -o churn "$SRC/churn.c" -pthread &&
		"$1" -O0 -g "-fsanitize=$2" -o bad "$SRC/bad.c" -pthread || return
	check "a correct program" silent ./churn 20 1000
	[ -z "${3:-}" ] || check "an error is found" found "$3" ./bad
}

# valgrind's tools start the agent with the program.
checked() {
	gcc -O1 -g -o churn "$SRC/churn.c" -pthread && gcc -O0 -g -o bad "$SRC/bad.c" -pthread || return
	check "a correct program" silent valgrind -q --tool="$1" --error-exitcode=9 ./churn 20 1000
	check "an error is found" found "$2" valgrind -q --tool="$1" ./bad
}

for cc in gcc clang; do
	compare "sanitizers/$cc-address" 2 sanitized $cc address heap-use-after-free
	compare "sanitizers/$cc-thread" 2 sanitized $cc thread 'data race'
	full && compare "sanitizers/$cc-undefined" 1 sanitized $cc undefined
done
full && compare sanitizers/clang-memory 1 sanitized clang memory
compare sanitizers/valgrind-memcheck 2 checked memcheck 'Invalid read'
done_testing
