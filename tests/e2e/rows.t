#!/bin/bash
# SPDX-License-Identifier: MIT
# rows.t - every command that prints rows, with every flag that chooses or forms rows, in every format.
. "$(dirname "$0")/lib.sh"
with_tracefs
cd "$T" || exit 1

for dump in a b; do
	PMC_EVENTS=task-clock,page-faults PMC_OUT=$dump.pmc PMC_REPORT=off run agent "$PROG/churn" 8 3000
done
mkdir h && (cd h && "$O/bench/gen_history" 12 1 0 1)
mkfifo in
"$PROG/waiters" 3 <in >ready &
pid=$!
exec 9>in
until grep -q ready ready; do :; done

# Name | the command with its arguments | FLAG VALUE for each flag that it has. It refuses the others
# with 2 and a line that names the flag; so with "FORMAT: FLAG" a flag in one format. A VALUE
# of - leaves the flag out.
flags="--by --sort --where --columns --top --width -o"
while IFS='|' read -r name command has; do
	command=${command/PID/$pid}
	formats="table csv json jsonl markdown"
	for format in $formats; do
		for flag in "" $flags; do
			value=$(grep -oE -e "(^|;)$flag [^;]*" <<<"$has" | sed "s/^.*$flag //")
			[ -n "$flag" ] || value=
			case $has in *";$format: $flag"*) value= ;; esac
			[ "$value" != - ] || continue
			cell="$name --format $format${flag:+ $flag${value:+ $value}}"
			rm -f o
			# shellcheck disable=SC2086
			run "$PMCTL" $command --format "$format" $flag ${flag:+"${value:-x}"}
			if [ -n "$flag" ] && [ -z "$value" ]; then
				is "$status $(cat out err | grep -c -e "$flag")" "2 1" "$cell: refused with the flag's name"
				continue
			fi
			[ "$flag" != -o ] || { is "$(wc -c <out)" 0 "$cell: nothing on stdout" && mv o out; }
			is "$status $(python3 "$ROOT/tests/e2e/rows.py" "$format" "$flag" "$value" out 2>&1)" "0 good" "$cell"
		done
	done
done <<'END'
report|report a.pmc|--by pool;--sort vol;--where name=*;--columns thread,vol;--top 1;--width 60;-o o
report by keys|report a.pmc --by exe,pool|--by -;--sort pool;--where exe=*;--columns exe,vol;--top 1;--width 60;-o o
diff by keys|diff a.pmc b.pmc --all --by exe,name|--by -;--sort delta;--where key=*;--columns key,a;--top 1;--width 60;-o o;json: --sort;json: --where;json: --columns
diff|diff a.pmc b.pmc --all|--by name;--sort delta;--where name=*;--columns thread,a;--top 1;--width 60;-o o;json: --sort;json: --where;json: --columns
history|history h --all|--by name;--sort runs;--where name=*;--columns thread,before;--top 1;--width 60;-o o
stat|stat -p PID -n 1 -I 20ms|--by thread;--columns task-clock;--width 60;-o o
stat of threads|stat -p PID -n 1 -I 20ms --by thread|--by -;--sort name;--where name=*;--columns thread,task-clock;--top 1;--width 60;-o o
top|top -b -n 1 -I 20ms PID|--by pool;--sort tid;--where name=*;--columns thread,cpu;--top 1;--width 60
trace|trace --summary -d 20ms -a|--by pool;--sort tid;--where name=*;--columns name,tid;--top 1;-o o
bench|bench -r 2 true|--sort command;--where command=true;--columns command,command;--width 60;-o o;json: --sort;json: --where;json: --columns
list|list *-faults|--sort name;--where name=*;--columns name,pmu;--top 1;--width 60;-o o
doctor|doctor|
END
finish
done_testing
