#!/bin/bash
# SPDX-License-Identifier: MIT
# musl.t - the agent builds with musl-gcc and counts a program linked with musl; one built for glibc leaves
# programs linked with musl as they are.
. "$(dirname "$0")/lib.sh"
command -v musl-gcc >/dev/null || skip_all "no musl-gcc"

# The agent of this build, which is glibc's.
musl-gcc -O2 -D_GNU_SOURCE -o "$T/calls" "$SRC/libc_calls.c" -pthread 2>"$T/log"
is "$?" 0 "a program that calls what the agent interposes compiles with musl-gcc" || diag_file "$T/log" musl-gcc
"$T/calls" >"$T/plain"
is "$? $(tail -n 1 "$T/plain")" "8 again 1" "it runs without the agent"
run agent "$T/calls"
is "$status" 8 "LD_PRELOAD of glibc's agent: the musl program ends as without"
same "$T/plain" "$T/out" "and does the same"
for flags in "" --off-cpu; do
	run "$PMCTL" run $flags --report json="$T/report.json" -- "$T/calls"
	[ -z "$flags" ] || ! grep -q 'perf_event\|not permitted' "$T/err" || continue
	is "$status" 8 "pmctl run $flags: the status of the musl program"
	same "$T/plain" "$T/out" "pmctl run $flags: it does the same"
	like "$(cat "$T/err")" 'another C library' "pmctl run $flags: one line gives the reason for no rows"
	ok "pmctl run $flags: it has CPU time" jq -e '.processes[0].coverage.cpu_ns > 0' "$T/report.json"
done
report sh -c '"$0"; echo "status $?"' "$T/calls"
is "$(tail -n 1 "$T/out")" "status 8" "a musl program as a child: its status"
is "$(json "$T/report.json" '[.processes[] | .cmdline | select(endswith("calls") and (startswith("sh") | not))] | length')" 0 "it has no rows"
is "$(json "$T/report.json" '[.processes[] | .cmdline | select(test("exit 5"))] | length')" 1 \
	"the glibc program that it starts is counted"

# musl-gcc finds musl's headers only: add the kernel's and those of libraries that are not linked.
mkdir "$T/inc"
for h in /usr/include/linux /usr/include/asm-generic /usr/include/*-linux-gnu/asm \
	/usr/include/xxhash.h /usr/include/uthash.h "/usr/include/$(gcc -print-multiarch)"/libunwind*.h; do
	[ -e "$T/inc/${h##*/}" ] || ln -s "$h" "$T/inc/"
done
make -s -C "$ROOT" O="$T/musl" CC=musl-gcc CFLAGS="-O2 -g -isystem $T/inc" \
	"$T/musl/libpmcagent.so" >"$T/log" 2>&1
is "$?" 0 "the agent builds with musl-gcc" || { grep -E -A3 "error|warning|undefined" "$T/log" >"$T/log.bad"; diag_file "$T/log.bad" make; }
is "$(grep -c 'warning:' "$T/log")" 0 "musl-gcc prints no warning" || diag_file "$T/log" make
unlike "$(readelf -d "$T/musl/libpmcagent.so" 2>/dev/null)" 'libc\.so\.6' "the musl agent does not depend on glibc"

musl-gcc -O2 -D_GNU_SOURCE -o "$T/churn" "$SRC/churn.c" -pthread 2>"$T/log"
is "$?" 0 "a program compiles with musl-gcc" || diag_file "$T/log" musl-gcc
AGENT=$T/musl/libpmcagent.so
PMC_EVENTS=task-clock report "$T/churn" 50 2000
is "$status $(cat "$T/out")" "0 joined 50" "the musl program runs under the musl agent" ||
	diag_file "$T/err" stderr
is "$(json "$T/report.json" '[.threads[] | select(.cpu_ns > 0)] | length')" 51 \
	"every thread of the musl program has a row with CPU time"
is "$(json "$T/report.json" '[.threads[].events[] | select(.state == "counted")] | length')" 51 \
	"every thread of the musl program is counted"

done_testing
