#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-checkers.t - programs under sanitizers and valgrind start, run and end as without the agent,
# and nothing is reported about the agent.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock,page-faults PMC_REPORT=off

# ---- functions that sanitizers intercept ---------------------------------------------------------
# Calls from the agent's constructor come before a sanitizer is initialised, and its accesses to the
# agent's memory would look like races. The functions allowed here are called in hooks, which the
# host calls, for events that libpfm4 knows or uncore events (dlclose, strtod_l), or have no
# memory to look at. A call of a function that the agent exports may end in a sanitizer's, too.
allowed='dlclose dup2 fork pthread_getcpuclockid pthread_mutex_init pthread_mutex_lock
	pthread_mutex_trylock pthread_mutex_unlock pthread_setcancelstate pthread_sigmask sigaction
	signal strtod_l'
for kind in address thread leak; do
	echo 'int main(void) { return 0; }' | gcc -fsanitize=$kind -x c -o "empty-$kind" - &&
		ldd "empty-$kind" | awk '/lib[atl]*san/ { print $3 }'
done | xargs -n 1 nm -D --defined-only | awk '{ print $3 }' | sort -u >intercepted
is "$(grep -x 'memcpy\|mmap\|sigaction' intercepted | xargs)" "memcpy mmap sigaction" \
	"gcc's sanitizers intercept some functions"
readelf -rW "$AGENT" | awk '$3 ~ /JUMP_SLO|GLOB_DAT|ABS64|_64_64/ { sub("@.*", "", $5); print $5 }' |
	sort -u | comm -12 - intercepted | grep -vxF "$(printf '%s\n' $allowed)" >called
is "$(cat called)" "" "the agent calls no function that they intercept"

# ---- sanitizers ----------------------------------------------------------------------------------
# Process IDs, and the loader's allocations, which include the agent's thread-local storage, differ.
neutral() {
	sed -e 's/==[0-9]*==/====/' -e '/total heap usage/d'
}
# same_under NAME CMD...: status, stdout and stderr, with and without the agent.
same_under() {
	local name=$1
	shift
	run timeout -k 1 120 "$@"
	local status0=$status
	mv out out0
	neutral <err >err0
	rm -f x.pmc
	PMC_OUT=$T/x.pmc run timeout -k 1 120 env LD_PRELOAD="$AGENT" "$@"
	is "$status" "$status0" "$name: same status ($status0)"
	same out0 out "$name: same stdout"
	neutral <err >err1
	same err0 err1 "$name: same stderr"
	"$PMCTL" report --format json x.pmc >r.json 2>r.err
	is "$? $(cat r.err)" "0 " "$name: the dump is whole"
}
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
for kind in gcc-address gcc-thread gcc-undefined gcc-leak clang-address clang-thread clang-undefined clang-memory; do
	if ! "${kind%-*}" -O1 -g -D_GNU_SOURCE -fsanitize="${kind#*-}" -o "churn-$kind" "$SRC/churn.c" -pthread 2>err; then
		ok "${kind%-*} has -fsanitize=${kind#*-} (sh tests/deps.sh check)" false
		continue
	fi
	same_under "$kind" "./churn-$kind" 20 1000
	between "$(jq '[.threads[] | select(.name | test("churn"))] | length' r.json)" 21 22 \
		"$kind: every thread has a row"
done
# Regions are written by their thread and read by snapshots.
for cc in gcc clang; do
	$cc -O1 -g -D_GNU_SOURCE -I"$ROOT/include" -fsanitize=thread -o regions-thread "$SRC/regions.c" -pthread -ldl
	PMC_DUMP=USR2 same_under "$cc-thread, regions" ./regions-thread churn
done
PMC_EVENTS=perf::PERF_COUNT_SW_CPU_CLOCK run env LD_PRELOAD="$AGENT" ./churn-clang-thread 20 1000
is "$status $(cat out)" "0 joined 20" "clang-thread: an event that libpfm4 knows does not disturb the program"
unset ASAN_OPTIONS
run "$PMCTL" run -o x.pmc -- ./churn-gcc-address 20 1000
is "$status $(cat out)" "0 joined 20" "gcc-address under pmctl run: as without the agent"
unlike "$(cat err)" 'ERROR|WARNING' "gcc-address under pmctl run: no report about the agent"
# Sanitizers still find the defects of a program.
for kind in address thread; do
	gcc -O0 -g -fsanitize=$kind -o "bad-$kind" "$SRC/bad.c" -pthread
	PMC_OUT=$T/bad.pmc run env LD_PRELOAD="$AGENT" \
		ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 "./bad-$kind"
	like "$(cat err)" 'heap-use-after-free|data race' "-fsanitize=$kind finds what it is there for" ||
		diag_file err stderr
done
# They give the status in _exit.
for how in process child; do
	run ./bad-thread $how
	status0=$status
	run env LD_PRELOAD="$AGENT" ./bad-thread $how
	is "$status $status0" "66 66" "-fsanitize=thread, a $how that ends by _exit: its status"
done

# ---- valgrind ------------------------------------------------------------------------------------
if command -v valgrind >/dev/null; then
	same_under memcheck valgrind --leak-check=full --show-leak-kinds=all "$PROG/ends" 2
	same_under "memcheck, fork and exec" valgrind -q --trace-children=yes "$PROG/tree"
else
	ok "valgrind is installed (sh tests/deps.sh check)" false
fi

done_testing
