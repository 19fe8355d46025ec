#!/bin/bash
# SPDX-License-Identifier: MIT
# musl.t - the agent builds with musl-gcc and counts a program linked with musl.
. "$(dirname "$0")/lib.sh"

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
