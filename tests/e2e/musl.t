#!/bin/bash
# SPDX-License-Identifier: MIT
# musl.t - the agent builds with musl-gcc, and counts a musl program.
. "$(dirname "$0")/lib.sh"

# musl-gcc sees musl's headers only: beside them the kernel's, and the two that are header-only.
mkdir "$T/inc"
for h in /usr/include/linux /usr/include/asm-generic /usr/include/*-linux-gnu/asm \
	/usr/include/xxhash.h /usr/include/uthash.h; do
	[ -e "$T/inc/${h##*/}" ] || ln -s "$h" "$T/inc/"
done
make -s -C "$ROOT" O="$T/musl" CC=musl-gcc CFLAGS="-O2 -g -isystem $T/inc" \
	"$T/musl/libpmcagent.so" >"$T/log" 2>&1
is "$?" 0 "the agent builds with musl-gcc" || { grep -E -A3 "error|warning|undefined" "$T/log" >"$T/log.bad"; diag_file "$T/log.bad" make; }
is "$(grep -c 'warning:' "$T/log")" 0 "without a warning" || diag_file "$T/log" make
unlike "$(readelf -d "$T/musl/libpmcagent.so" 2>/dev/null)" 'libc\.so\.6' "it does not need glibc"

musl-gcc -O2 -D_GNU_SOURCE -o "$T/churn" "$SRC/churn.c" -pthread 2>"$T/log"
is "$?" 0 "a musl program" || diag_file "$T/log" musl-gcc
AGENT=$T/musl/libpmcagent.so
PMC_EVENTS=task-clock report "$T/churn" 50 2000
is "$status $(cat "$T/out")" "0 joined 50" "the musl program runs under it" ||
	diag_file "$T/err" stderr
is "$(json "$T/report.json" '[.threads[] | select(.cpu_ns > 0)] | length')" 51 "every thread has a row"
is "$(json "$T/report.json" '[.threads[].events[] | select(.state == "counted")] | length')" 51 \
	"and is counted"

done_testing
