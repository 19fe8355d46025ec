#!/bin/bash
# SPDX-License-Identifier: MIT
# export-perf.t - dumps as perf.data files, read by perf, beside the report of the same dump.
. "$(dirname "$0")/lib.sh"
command -v perf >/dev/null && perf version >/dev/null 2>&1 || skip_all "no perf, which reads the files"
cd "$T" || exit 1
# perf caches debug files in the home directory.
export HOME=$T

# as_perf NAME: NAME.pmc as NAME.data, and NAME.json with its functions
as_perf() {
	"$PMCTL" report --by function --format json "$1.pmc" >"$1.json"
	run "$PMCTL" export --to perf-data -o "$1.data" "$1.pmc"
	is "$status $(wc -c <"$T/out")" "0 0" "$1: exported"
	is "$(script "$1" period | awk '{ n++; sum += $1 } END { print n, sum }')" \
		"$(jq -r '.sampling | "\(.samples) \(.weight)"' "$1.json")" "$1: number of samples and sum of periods"
}

# script NAME FIELDS: perf script
script() {
	perf script -i "$1.data" -F "$2" 2>"$T/perf.err"
}

# heaviest NAME: functions, without inlined ones, with 5 % of the samples or more, and their shares in percent, by perf
heaviest() {
	perf report -i "$1.data" --stdio -q --no-children -g none --percent-limit 5 -t '|' -F overhead,sym 2>"$T/perf.err" |
		sed -nE 's/^ *([0-9.]+)%? *\| *\[\.\] *(.*[^ ]) *$/\2 \1/p' | sort
}

# same_functions NAME: the same functions as in the report, with shares within a point
same_functions() {
	local function share theirs
	heaviest "$1" >theirs
	jq -r '.groups[] | select(.self_pct >= 5) | "\(.key) \(.self_pct)"' "$1.json" | sort >ours
	is "$(cut -d' ' -f1 theirs)" "$(cut -d' ' -f1 ours)" "$1: the functions of the report"
	while read -r function share; do
		theirs=$(sed -n "s/^$function //p" theirs)
		between "$theirs" "$(awk -v s="$share" 'BEGIN { print s - 1 }')" "$(awk -v s="$share" 'BEGIN { print s + 1 }')" \
			"$1: the share of $function"
	done <ours
}

# paths NAME FUNCTION: lines of folded stacks below main or FUNCTION, by perf
paths() {
	script "$1" ip,sym | awk -v from="$2" '
		NF == 0 { if (n) print stack; n = 0; stack = ""; open = 0; next }
		!open { stack = $2 (n++ ? ";" stack : ""); if ($2 == "main" || $2 == from) open = 1 }' | sort | uniq -c |
		awk '{ print $2, $1 }' | sort
}

# ---- threads and calls ---------------------------------------------------------------------------
run "$PMCTL" run --report off --sample task-clock@1000000 -o threads.pmc -- "$PROG/samples" threads 100
is "$status" 0 "a program with threads"
as_perf threads
is "$(cat "$T/err")" "" "no warning"
same_functions threads
"$PMCTL" export --to perf-data threads.pmc | cat >piped
same piped threads.data "to a pipe: the same bytes"
perf report -i threads.data --stdio --no-children -g >callers 2>"$T/perf.err"
is "$? $(grep -c kallsyms "$T/perf.err")" "0 0" "perf report reads it, and misses no symbols of the kernel"
like "$(cat callers)" "of event 'task-clock'" "the event has its name"
like "$(cat callers)" '---clone3' "perf report shows callers"

"$PMCTL" run --report off --sample task-clock@1000000 -o leaf.pmc -- "$PROG/samples" leaf 100
as_perf leaf
# One sample in some runs is in clock_gettime, for which perf has another name, and no inlined caller.
paths leaf main | grep ';leaf ' >theirs
"$PMCTL" report --by path --format folded leaf.pmc | sed -n 's/.*;main;/main;/p' | grep ';leaf ' | sort >ours
same theirs ours "call stacks are those of the report"

# ---- processes -----------------------------------------------------------------------------------
run "$PMCTL" run --report off --sample task-clock@1000000 -e task-clock -o tree.pmc -- "$PROG/tree" 3 50
as_perf tree
script tree comm,pid,tid | sed 's/^ *//; s/ *$//' | sort | uniq -c | awk '{ print $2, $3, $1 }' | sort >theirs
"$PMCTL" report --format json tree.pmc | jq -r '.threads[] | select(.samples > 0) | "\(.name) \(.pid)/\(.tid) \(.samples)"' | sort >ours
same theirs ours "threads, their names and samples"
is "$(wc -l <ours)" 6 "all of them"

# ---- addresses -----------------------------------------------------------------------------------
# perf finds functions by their place in the file, which has no simple relation to addresses here.
for flags in "-no-pie" "-no-pie -Wl,-Ttext-segment=0x10000000" "-pie -fPIE -fuse-ld=lld"; do
	# shellcheck disable=SC2086
	if "${CC:-cc}" -O2 -g -D_GNU_SOURCE $flags -o built "$SRC/samples.c" -pthread -ldl 2>/dev/null; then
		mv built linked
		rm -f linked.pmc
		"$PMCTL" run --report off --sample task-clock@1000000 -o linked.pmc -- ./linked leaf 50
		as_perf linked
		same_functions linked
	else
		skip "the compiler does not build with $flags" "a program with $flags"
	fi
done
rm -f linked linked.data
run "$PMCTL" export --to perf-data -o linked.data linked.pmc
is "$status $(grep -c "linked.*not on this machine" "$T/err")" "0 1" "a program that is gone"
is "$(grep -c -e --names "$T/err")" 0 "names in the dump, which perf cannot use, are not the fix"
is "$(script linked period | wc -l)" "$(jq .sampling.samples linked.json)" "and its samples"

# ---- waits, and several events ---------------------------------------------------------------------
if "$PMCTL" run --report off --off-cpu --sample task-clock@1000000 -o waits.pmc -- "$PROG/off_cpu" >/dev/null 2>&1; then
	"$PMCTL" report --by function --event off-cpu --format json waits.pmc >waits.json
	"$PMCTL" export --to perf-data -o waits.data waits.pmc 2>"$T/perf.err"
	is "$(script waits event,period | awk '$2 == "off-cpu:" { n++; sum += $1 } END { print n, sum }')" \
		"$(jq -r '.sampling | "\(.samples) \(.weight)"' waits.json)" "waits and their time"
	"$PMCTL" export --to perf-data --event off-cpu -o waits.data waits.pmc
	is "$(script waits event | sort -u | tr -d ' ')" "off-cpu:" "--event: waits only"
else
	skip "waits cannot be recorded here" "waits and their time"
fi

if "$PMCTL" profile --off-cpu -o times.pmc -- sh -c 'sleep 0.3; sleep 0.3' >"$T/out" 2>"$T/err"; then
	"$PMCTL" export --to perf-data -o times.data times.pmc
	script times comm,time,period | awk '$1 == "sh" && $3 > 250000000 { print $2 + 0 }' | sort -n >times
	between "$(awk 'NR > 1 { print $1 - last } { last = $1 }' times)" 0.28 1 "samples of pmctl profile have their times" ||
		diag "$(cat times)"
	"$PMCTL" report --format json times.pmc >rows.json
	is "$(perf report -T --stdio -g none -i times.data 2>/dev/null | sed -n '/^# *PID .*off-cpu/,$p' | awk '/^ *[0-9]/ { print $2 }' | sort -n | xargs)" \
		"$(jq -r '.threads[].tid' rows.json | sort -nu | xargs)" "perf report -T has the threads"
	if [ "$(awk '$3 == "do_wait" { print ($1 != 0) }' /proc/kallsyms 2>/dev/null)" = 1 ]; then
		is "$(perf script -i times.data -F comm,ip,sym 2>/dev/null | awk '/^[^ \t]*sh/ { want = 1; next } want && / do_wait/ { n++ } { want = 0 } END { print n + 0 }')" \
			"$("$PMCTL" report --by thread,function --format json times.pmc |
				jq '[.groups[] | select(.keys.function == "do_wait [k]" and .self > 0).samples] | add')" "and functions of the kernel"
	else
		skip "addresses of the kernel are hidden" "functions of the kernel"
	fi
else
	skip "waits cannot be recorded here: $(tail -n 1 "$T/err")" "times of samples"
fi

# ---- hosts ---------------------------------------------------------------------------------------
if unshare -u -p -f --mount-proc sh -c 'hostname elsewhere && exec "$@"' sh \
	"$PMCTL" run --report off --sample task-clock@1000000 -o other.pmc -- "$PROG/tree" 1 30 >/dev/null 2>&1; then
	"$PMCTL" export --to perf-data -o hosts.data tree.pmc other.pmc
	is "$(script hosts pid | tr -d ' ' | sort -u | awk '{ print ($1 > 4194304) }' | sort | uniq -c | awk '{ print $1 }' | sort | paste -sd' ')" \
		"1 3" "processes of another host have other PIDs"
else
	skip "no other host name and PID namespace here" "processes of another host"
fi

# ---- refusals ------------------------------------------------------------------------------------
if command -v python3 >/dev/null; then
	python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$PMCTL" export --to perf-data leaf.pmc >screen </dev/null
	is "$? $(grep -c -- 'perf-data is binary.*-o FILE' screen)" "2 1" "not to a terminal"
else
	skip "no python3, which has terminals" "not to a terminal"
fi
run bash -c '"$1" export --to perf-data leaf.pmc >/dev/full' - "$PMCTL"
is "$status" 1 "a full disk"

done_testing
