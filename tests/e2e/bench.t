#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.t - pmctl bench: what it measures, compares and refuses.
. "$(dirname "$0")/lib.sh"

bench() { run "$PMCTL" bench "$@"; }
# of COMMAND FILTER: a value of the JSON in $T/out.
of() { jq -r ".commands[$1]$2" "$T/out"; }

# ---- figures ----------------------------------------------------------------------------------
bench -r 5 -e task-clock,page-faults --format json "$PROG/pages 1000" "$PROG/pages 3000"
is "$status" 0 "two commands are measured"
is "$(of 0 '.runs | length') $(of 1 '.runs | length')" "5 5" "-r is the number of runs of each"
# The pages of the two programs differ by exactly 2,000.
between "$(($(of 1 .summary[\"page-faults\"].min) - $(of 0 .summary[\"page-faults\"].min)))" 1995 2005 \
	"page faults of the two commands differ by their number of pages"
is "$(jq '.commands[0] | ([.runs[].events["page-faults"]] | add / length) as $mean |
	.summary["page-faults"].mean - $mean | fabs < 0.001' "$T/out")" true "the mean is that of the runs"
is "$(jq '[.commands[].runs[] | .wall_ns >= .user_ns + .sys_ns - 20000000] | all' "$T/out")" true \
	"one thread's CPU time is within its wall time"
is "$(jq '[.commands[] | .runs[] | .cpu_ns == .user_ns + .sys_ns] | all' "$T/out") $(of 0 '.summary.cpu_ns.n')" "true 5" \
	"CPU time is that in user and kernel mode together"
is "$(of 1 '.summary["page-faults"].significant') $(of 0 '.summary["page-faults"].significant')" "true null" \
	"only the second command is compared, and differs"
unlike "$(cat "$T/out")" "nan|inf" "no number is undefined"

# What pmctl itself uses must not show: Linux keeps peak memory over exec.
bench -r 3 -e task-clock --format json -- "$PROG/pages" 2000
small=$(of 0 .summary.peak_rss_bytes.max)
bench -r 3 -e task-clock --format json -- "$PROG/pages" 22000
between "$(($(of 0 .summary.peak_rss_bytes.min) - small))" 79000000 85000000 "peak memory follows the command's"
bench -r 3 -e task-clock --format json true
between "$(of 0 .summary.peak_rss_bytes.max)" 1 4000000 "true needs less memory than pmctl"

bench -r 2 -e task-clock true "sh -c :"
like "$(cat "$T/out")" "no statistically significant difference in wall_time|times faster than" \
	"the last line names the quantity that does not differ"
bench -r 3 -e task-clock "sleep 0" "sleep 1"
like "$(grep ' ran ' "$T/out")" "^'sleep 0' ran [0-9.]+ times faster than 'sleep 1' \(by [0-9.,]+ [^ ]+ [0-9.,]+ m?s\)$" \
	"a significant difference has its interval, as in the table"
bench -r 3 -e task-clock "sh -c 'exec sleep \$2' with-a-text-that-is-longer-than-a-sentence-shows 1 0" \
	"sh -c 'exec sleep \$2' with-a-text-that-is-longer-than-a-sentence-shows 1 1"
like "$(tr -s ' \n' ' ' <"$T/out")" "' \(benchmark 1\) ran [0-9.]+ times faster than .*' \(benchmark 2\)" "commands that begin alike have their numbers" || diag "$(cat "$T/out")"
COLUMNS=60 bench -r 2 -e task-clock,cycles,instructions,page-faults:u "$PROG/pages 100" \
	"sh -c 'exec true # with a longer text'"
is "$(grep -vE '^(Benchmark| )' "$T/out" | grep -E '^.{61}' || true)" "" "the last lines are wrapped at COLUMNS"

# ---- commands ---------------------------------------------------------------------------------
bench -r 1 --output "$T/words" "printf '%s|' 'a b' \"c'd\" e\\ f '' \"g\\\\\" 'h\\''"
is "$(cat "$T/words")" "a b|c'd|e f||g\\\\|h'|" "a string is split into words as in a shell"
bench -r 1 --output "$T/words" -- printf '%s|' 'a b' '$HOME'
is "$(cat "$T/words")" 'a b|$HOME|' "an argument vector is not split"
like "$(cat "$T/out")" "'%s\\|' 'a b' '.HOME'" "an argument vector is shown quoted"
bench -r 1 --shell --output "$T/words" 'echo a b | tr a-z A-Z'
is "$(cat "$T/words")" "A B" "--shell runs shell lines"
# Some of 200 runs of an empty shell take less than the mean of such runs.
bench -r 200 --shell :
unlike "$(cat "$T/out")" "-[0-9.]+ .?s" "--shell: no time is shown below 0"
like "$(cat "$T/err")" "warning: ':' takes about as long as the shell" "a warning says that it is of the shell"
bench -r 200 --shell --format json : : 2>"$T/err"
is "$(jq '[.commands[0].runs[].wall_ns] | min < 0' "$T/out")" true "JSON has the times as they are"
printf '3\n1\n' >"$T/lines"
bench -r 2 --input "$T/lines" --output "$T/words" sort
is "$(tr '\n' ' ' <"$T/words")" "1 3 1 3 " "each run reads --input from its start"
bench -r 2 -w 1 --prepare "echo p >>$T/log" --setup "echo s >>$T/log" --cleanup "echo c >>$T/log" \
	"sh -c 'echo A >>$T/log'" "sh -c 'echo B >>$T/log'"
like "$(tr -d '\n' <"$T/log")" '^s(pApB|pBpA){3}c$' "commands take turns, with --setup, --prepare and --cleanup"
rm "$T/log"
# Twenty rounds in the same order have a probability of 1 in 500,000.
bench -r 20 "sh -c 'echo A >>$T/log'" "sh -c 'echo B >>$T/log'"
is "$(paste -d '' - - <"$T/log" | sort -u | tr '\n' ' ')" "AB BA " "the order changes from round to round"
rm "$T/log"
bench -r 2 --sequential --setup "echo s >>$T/log" --cleanup "echo c >>$T/log" \
	"sh -c 'echo A >>$T/log'" "sh -c 'echo B >>$T/log'"
is "$(tr -d '\n' <"$T/log")" "sAAcsBBc" "--sequential: one after the other"
bench -r 1 --output "$T/words" -- ls /proc/self/fd
ls /proc/self/fd >"$T/bare"
same "$T/words" "$T/bare" "the command inherits no descriptor of pmctl"

# ---- failures ---------------------------------------------------------------------------------
bench -r 3 "sh -c 'exit 7'"
is "$status" 1 "a failing command stops the bench"
like "$(cat "$T/err")" "status 7" "the error gives the exit status of the command"
bench -r 3 --ignore-failure --format json "sh -c 'exit 7'" "sh -c 'kill -9 \$\$'"
is "$status $(of 0 '|[.runs[].exit]|unique|join(",")') $(of 1 '|[.runs[].exit]|unique|join(",")') $(of 0 .failures)" \
	"0 7 137 3" "--ignore-failure measures failing runs and keeps their status"
bench -r 2 --sequential true "sh -c 'exit 7'"
is "$status $(grep -c Benchmark "$T/out")" "1 1" "no table without a run"
bench -r 1 --timeout 100ms "sh -c 'sleep 100 & wait'"
is "$status" 1 "--timeout kills a run"
like "$(cat "$T/err")" "timeout" "and says so"
bench nosuchprogram
is "$status" 127 "a missing program"
bench "$T/err"
is "$status" 126 "a file that is no program"
bench ''
is "$status" 2 "an empty command"
bench "echo 'a"
is "$status" 2 "an open quote"
bench -d 1x true
is "$status" 2 "a duration without a unit"
bench -d 1s -r 3 true
is "$status" 2 "a duration and a number of runs"
bench --fail-above 5 true
is "$status" 2 "--fail-above with nothing to compare"
bench --fromat json true
like "$(cat "$T/err")" "format" "a mistyped flag: the nearest is suggested"
bench -r 1 --input "$T/none" true
is "$status" 1 "a missing input file"
bench -r 2 --prepare 'exit 4' true
is "$status" 1 "a failing --prepare"
bench -r 2 "sh -c 'yes | head -c 100000000'"
is "$status" 0 "a command with much output"
bench -r 2 "sh -c '(sleep 5; :) >/dev/null 2>&1 &'"
is "$status" 0 "a command that leaves a process behind"
bench -r 1 --format json true
is "$(of 0 .summary.wall_ns.stddev)" null "one run has no deviation"

mkfifo "$T/fifo"
bench -r 1 --input "$T/fifo" cat
is "$status" 1 "a pipe as input, which nobody writes"
bench -r 1 --output "$T/fifo" true
is "$status" 1 "a pipe as output, which nobody reads"
bench -r 1 --timeout 200ms -- python3 -c 'import os, time; os.setpgid(0, os.getppid()); time.sleep(100)'
is "$status" 1 "--timeout kills a command that left its process group"
bench -r 1 'echo a | cat'
like "$(cat "$T/err")" "shell" "an operator of the shell is named"
# What a shell would read as more than itself, and what it would not.
for word in '>/dev/null' 'a|cat' '2>&1' '$HOME' '"$HOME"' '${HOME}' '`date`' '"`date`"' '$(date)' '~/x' 'x*' 'x?' 'x[0-9]' '[x]' '#x' 'a;'; do
	bench -r 1 "echo $word b"
	like "$(cat "$T/err")" "is an argument of echo; --shell runs shell lines" "echo $word: --shell is named"
done
for word in "'>/dev/null'" "\\>" "'\$HOME'" "\\\$HOME" '"\$HOME"' "'\`date\`'" '5$' 'a~' "'x*'" '"x*"' 'a#' '"a;"' '[ ]' 'a=b' '{a,b}'; do
	bench -r 1 "echo $word b"
	is "$status $(cat "$T/err")" "0 " "echo $word: no warning"
done
for line in '~/x' 'A=b true' 'cat<x' '(true)'; do
	bench -r 1 "$line"
	like "$(cat "$T/err")" "cannot run .*; --shell runs shell lines" "$line: --shell is named"
done
bench -r 1 --format json -- echo --password=hunter2
unlike "$(cat "$T/out")" "hunter2" "secrets are masked as in dumps"
timeout -s TERM 1 "$PMCTL" bench -r 1 --setup 'exec sleep 100' true >"$T/out" 2>"$T/err"
is "$?" 124 "a signal ends a --setup line"
echo '{"commands":[{"command":"true","runs":[{"wall_ns":1e-308},{"wall_ns":1e308},{"wall_ns":"x"}]}]}' >"$T/odd.json"
bench -r 2 --baseline "$T/odd.json" --format json true
unlike "$(cat "$T/out")" "nan|inf|e-30" "odd numbers in a baseline are none"

# An interrupt ends the run in progress; earlier runs are reported.
"$PMCTL" bench -d 100s --format json "sh -c 'echo x >>$T/ticks; test \$(wc -l <$T/ticks) -lt 3 || sleep 100'" \
	>"$T/out" 2>"$T/err" &
pid=$!
third() { [ "$(wc -l <"$T/ticks")" -ge 3 ]; }
await third
kill -INT $pid
# A background job of a script ignores SIGINT, and so does pmctl.
kill -TERM $pid
wait $pid
is "$?" 143 "SIGTERM: pmctl bench is killed by it"
is "$(of 0 '.runs|length') $(jq .interrupted "$T/out")" "2 true" "SIGTERM: earlier runs are reported"

# The process that starts the commands is killed.
"$PMCTL" bench -r 1 -- sh -c "echo \$\$ \$PPID >$T/spawned; exec sleep 1000" >"$T/out" 2>"$T/err" &
pid=$!
await test -s "$T/spawned"
read -r command helper <"$T/spawned"
kill -KILL "$helper"
wait $pid
is "$?" 1 "pmctl bench fails if its helper is killed"
command_ended() { ! kill -0 "$command"; }
ok "the command is killed with the helper" await command_ended || kill -KILL "$command"

# It is stopped.
"$PMCTL" bench -r 1 -- sh -c "echo \$PPID >$T/stopped; exec sleep 1000" >"$T/out" 2>"$T/err" &
pid=$!
await test -s "$T/stopped"
helper=$(cat "$T/stopped")
kill -STOP "$helper"
helper_stopped() { grep -q ') T ' "/proc/$helper/stat"; }
await helper_stopped
kill -TERM $pid
bench_ended() { ! kill -0 $pid; }
ok "a signal ends pmctl bench while its helper is stopped" await bench_ended || kill -CONT "$helper"
wait $pid
is "$?" 143 "and it ends as by that signal"

# ---- comparison -------------------------------------------------------------------------------
bench -r 4 -e page-faults --format json "$PROG/pages 1000"
cp "$T/out" "$T/base.json"
bench -r 4 -e page-faults --baseline "$T/base.json" --fail-above 5 "$PROG/pages 1500"
is "$status" 1 "--fail-above: more page faults than in the baseline"
bench -r 4 -e page-faults --baseline "$T/base.json" --format json "$PROG/pages 1000"
between "$(of 0 '.summary["page-faults"].delta_pct')" -0.5 0.5 "equal to the baseline: no difference"
# From 10 runs on differences are of trimmed means.
bench -r 9 -e page-faults "$PROG/pages 10" "$PROG/pages 20"
unlike "$(cat "$T/out")" "trimmed" "with 9 runs, a difference is that of the means"
bench -r 10 -e page-faults "$PROG/pages 10" "$PROG/pages 20"
like "$(tr "\n" " " <"$T/out")" "delta .*trimmed mean .* paired runs" "with 10 runs, a line says what it is of"
bench -r 10 --sequential -e page-faults "$PROG/pages 10" "$PROG/pages 20"
unlike "$(cat "$T/out")" "paired" "and that runs are not paired"
bench -r 10 -e page-faults --format json "$PROG/pages 10" "$PROG/pages 20"
is "$(of 0 .summary.wall_ns.delta_of) $(of 1 .summary.wall_ns.delta_of)" "null pairs-trimmed" "so does JSON"
middle() { of 0 '.runs | map(.wall_ns) | sort | .[2:8] | add / 6'; }
between "$(of 1 .summary.wall_ns.delta_base)" "$(middle | awk '{ print int($1) - 1 }')" "$(middle | awk '{ print int($1) + 1 }')" \
	"delta_base is the trimmed mean of the reference's runs"
echo '{}' >"$T/bad.json"
# Work of pmctl's own tells that the machine was as fast in the other session, or a hundred times as fast.
bench -r 10 -e task-clock --format json "$PROG/pages 1000"
ok "work between the runs" jq -e '.machine | .wall_ns > 1e4 and .cpu_ns > 1e4' "$T/out"
cp "$T/out" "$T/same.json"
jq '.machine.wall_ns /= 100' "$T/same.json" >"$T/machine.json"
bench -r 10 -e task-clock --baseline "$T/same.json" --format json "$PROG/pages 1000"
between "$(of 0 .summary.wall_ns.ci_pct)" 0 4000 "an equally fast machine: an interval of the runs"
bench -r 10 -e task-clock --baseline "$T/machine.json" --format json "$PROG/pages 1000"
between "$(of 0 .summary.wall_ns.ci_pct)" 4000 1e6 "a faster machine: a wider interval"
is "$(of 0 .summary.wall_ns.significant)" false "and no difference"
jq '.machine.cpu_ns *= 100' "$T/machine.json" >"$T/both.json"
bench -r 3 --baseline "$T/both.json" --width 1000 "$PROG/pages 1000"
like "$(cat "$T/out")" "2 x that of .* \(wall time [0-9]{4,}\.[0-9] %, CPU time -[0-9]{2}\.[0-9] %\)" \
	"a note has how much wall time and CPU times are widened by"
jq 'del(.commands[].runs[].cpu_ns)' "$T/same.json" >"$T/older.json"
bench -r 3 --baseline "$T/older.json" --format json "$PROG/pages 1000"
is "$(of 0 '.summary.cpu_ns.delta_pct != null')" true "CPU time is compared with a baseline that has its parts alone"
bench -r 1 --baseline "$T/bad.json" true
is "$status" 1 "a baseline without runs"
bench -r 1 --baseline /dev/null true
is "$status" 1 "an empty baseline"

bench -r 3 --per-thread -e page-faults --format json "$PROG/named 2"
is "$status" 0 "--per-thread"
between "$(of 0 '.threads|length')" 2 20 "has rows for threads"
like "$(of 0 '.threads[].name')" "main" "by name"
bench -r 2 --per-thread "$PROG/named 2" "$PROG/pages 10"
like "$(cat "$T/out")" "under the agent, CPU time" "a line says what the rows of threads are"
like "$(cat "$T/out")" 'by-pthread +.* gone' "a thread of the first command only is gone"
unlike "$(grep by-pthread "$T/out")" '% *$' "and has no percentage"
bench -r 2 --per-thread "$PROG/pages 10" "$PROG/named 2"
like "$(cat "$T/out")" 'by-pthread +.* new' "a thread of the second command only is new"
bench -r 2 --per-thread -- "$PROG/nothing_there"
is "$status" 127 "--per-thread of no program"

# ---- scans of parameters --------------------------------------------------------------------
cat >"$T/args" <<'X'
#!/bin/sh
printf '%s\n' "$*" >>"$0.log"
X
chmod +x "$T/args"
bench -r 2 -e page-faults -L n=1,2 -L word=a,b\\,c --json "$T/scan.json" --html "$T/scan.html" \
	"$T/args {n} '{word}'" "$T/args <{n}> {other}" --prepare "echo {word} >>$T/prepared"
is "$status $(sort "$T/args.log" | uniq -c | awk '{ print $1, $2, $3 }' | tr '\n' ' ')" \
	"0 2 1 a 2 1 b,c 2 2 a 2 2 b,c 4 <1> {other} 4 <2> {other} " "each command runs with each value that it has"
is "$(sort "$T/prepared" | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')" "8 a 8 b,c " "--prepare has the values of its command"
is "$(jq -c '[.commands[].parameters | [.n, .word]]' "$T/scan.json")" \
	'[["1","a"],["1","b,c"],["2","a"],["2","b,c"],["1","a"],["1","b,c"],["2","a"],["2","b,c"]]' "--json FILE has the values"
like "$(jq -r '.commands[7].command' "$T/scan.json")" "<2> \{other\} \(word=b,c\)$" "a parameter of --prepare alone is behind the command"
like "$(grep wall_time "$T/out")" "  n +word +wall_time (ms|µs|s) .*command" "and the table is printed, with a row for each combination"
is "$(python3 - "$T/scan.html" <<'X'
import re, sys
page = open(sys.argv[1]).read()
import xml.etree.ElementTree as tree
plots = [tree.fromstring(x) for x in re.findall("<svg.*?</svg>", page, re.S)]
ns = "{http://www.w3.org/2000/svg}"
print(*[len(list(plot.iter(ns + "circle"))) for plot in plots], "<script" in page, "args <" in page)
X
)" "8 8 8 8 8 8 False False" "--html FILE has a plot of each measurement with all points, and escaped text"
bench -r 1 -e page-faults --html "$T/two.html" true "echo $(printf '%80s')x"
is "$(grep -c "anchor='start'" "$T/two.html") $(grep -c "anchor='middle'" "$T/two.html")" "12 0" \
	"without -L each plot has a line with the text of each command, which could overlap below the axis"
bench -r 2 -e page-faults --html "$T/units.html" "sleep 0.001" "sleep 1"
is "$(python3 - "$T/units.html" <<'END'
import re, sys
page = open(sys.argv[1]).read()
rows = set(re.findall(r"<td class='text'>([a-z_]+ [^<]+)", page))
plots = set(re.findall("<h2>([^<]+)</h2>", page))
print({row for row in rows if "_time" in row} == {plot for plot in plots if "_time" in plot}, len(plots))
END
)" "True 6" "--html FILE: a measurement has one unit in table and plot"
is "$(grep -o "text-anchor='end'[^<]*" "$T/units.html" | sed 's/.*>//; s/[.,]//g; s/^0*//; s/0*$//' | grep -c ...)" 0 \
	"the lines of its axis are at round numbers" || diag "$(grep "text-anchor='end'" "$T/units.html")"
bench -r 2 -e page-faults -L pages 100,3000 --fail-on page-faults -- "$PROG/pages" {pages}
is "$status $(grep -c 'page-faults of .* larger; --fail-on permits 0.0' "$T/err")" "1 1" "-L NAME A,B as of hyperfine; --fail-on of the reference"
bench -r 2 -e page-faults -L pages 3000,100 --fail-on page-faults --format csv -- "$PROG/pages" {pages}
is "$status $(cut -d, -f2 "$T/out" | tr '\n' ' ')" "0 pages 3000 3000 100 100 " "fewer is no failure, and CSV has a column"
bench -r 2 -e page-faults --fail-on page-faults=5000% "$PROG/pages 100" "$PROG/pages 3000"
is "$status" 0 "--fail-on permits what it says"
bench -r 2 --fail-above 5000 --fail-on page-faults -e page-faults "$PROG/pages 100" "$PROG/pages 3000"
is "$status" 0 "--fail-above is the percentage of --fail-on"
bench -r 1 --fail-on wall_ns true true
is "$status $(grep -c 'each side needs two runs' "$T/err")" "1 1" "--fail-on of one run is no success"
bench -r 2 -e major-faults --fail-on major-faults true true
is "$status" 0 "--fail-on of what stays 0"
bench -r 1 -e page-faults -L n=1..3,x..y,7 --format csv -- echo {n}
is "$status $(cut -d, -f2 "$T/out" | tr '\n' ' ')" "0 n 1..3 x..y 7 " "-L has no ranges"
is "$(grep -c '1\.\.3' "$T/err") $(wc -l <"$T/err")" "1 1" "and a line says so of one of numbers"
bench -r 2 -e page-faults -L n=1,2 --width 84 -- echo {n}
like "$(tr -s ' \n' ' ' <"$T/out")" "columns not shown: [a-z_, ]*peak_rss" "columns of the table of the values that do not fit are named"
# The rows of the table of the values: commands, by their value.
values() { awk '/^  n +wall_time/ { on = 1; next } on && !NF { exit } on { print $1 }' "$T/out" | xargs; }
bench -r 2 -e page-faults -L n=10,3000,300 --sort page-faults -- "$PROG/pages" {n}
is "$status $(values)" "0 3000 300 10" "--sort by a measurement orders the table of the values"
bench -r 2 -e page-faults -L n=10,3000,300 --sort n --where 'n=3*' --where measurement=page-faults -- "$PROG/pages" {n}
is "$status $(values) $(grep -c '^  page-faults' "$T/out") $(grep -c '^  wall_time' "$T/out")" "0 300 3000 2 0" \
	"--where of a parameter chooses rows of both tables, of a column of one table its rows"
bench -r 2 -e page-faults -L n=10,3000 --where wall_ns=x -- "$PROG/pages" {n}
is "$status $(values)" "1 10 3000" "--where without a row of the values: told, and the results are not lost"
long=$(printf 'x%.0s' {1..2000})
bench -r 1 -e page-faults -L n=1,2 --json "$T/long.json" --prepare 'echo {n}' -- true "$long"
is "$(jq -r '.commands[].command' "$T/long.json" | grep -oE '\(n=.\)$' | xargs)" "(n=1) (n=2)" "also behind a long command"
for flags in "-L ${long:0:61}=1" "-L n" "-L n=" "-L n=1,2 -L n=3" "-L m=1" "-L mean=1 -- echo {mean}" "--setup {n} -L n=1 -- echo {n}" \
	"--fail-on wal true" "--fail-on cycle true true" "--json $T/same -o $T/same true" "-L n $(seq -s, 1001) -- echo {n}"; do
	# shellcheck disable=SC2086
	bench -r 2 $flags true
	is "$status $(wc -l <"$T/err")" "2 1" "refused: ${flags:0:60}"
done
bench -r 1 --json /dev/full true
is "$status $(grep -c '^Benchmark 1' "$T/out")" "1 1" "--json that cannot be written: told, and the table is printed"
bench -r 1 --json "$T/x.json" nosuchprogram
unlike "$(cat "$T/err")" '^{' "--json FILE leaves errors as text"

# ---- forms ------------------------------------------------------------------------------------
bench -r 3 -e page-faults --format csv true 'echo "a,b"'
is "$(python3 -c 'import csv,sys; print([len(r) for r in csv.reader(open(sys.argv[1]), strict=True)])' "$T/out")" \
	"[9, 9, 9, 9, 9, 9, 9]" "CSV has a row per run"
bench -r 2 --format markdown 'echo a|b'
is "$(grep '^|' "$T/out" | sed 's/[^|]//g' | sort | uniq -c | wc -l)" 1 "Markdown rows have equal columns"
is "$(grep -vcE '^($|\||- |\*\*Benchmark)' "$T/out")" 0 "its notes are items, as those of report and diff"
bench -r 3 -e page-faults --format jsonl --sort run --where run=[12] true
is "$(jq -c '[.command, .run, .exit]' "$T/out" | tr '\n' ' ')" '["true",2,0] ["true",1,0] ' "JSON lines are runs, and obey flags of rows"
bench -r 3 -e page-faults --columns measurement,delta --where 'measurement=page*' "$PROG/pages 1000" "$PROG/pages 3000"
is "$(grep -c page-faults "$T/out") $(grep -c time "$T/out")" "2 1" "--where chooses measurements of each command"
bench -r 2 --where 'measurement=walltime' true
is "$status $(grep -c wall_time "$T/out") $(grep -c walltime "$T/err")" "1 1 1" "--where without a row: told, and the results are not lost"
mkdir -p "$T/here" && cp "$(type -P true)" "$T/here/only-here"
(cd "$T/here" && PATH=:$PATH "$PMCTL" bench -r 1 only-here) >"$T/out" 2>"$T/err"
is "$?" 0 "an empty element of PATH in front is the current directory"
bench -r 3 --sort nothing true
is "$status $(grep -c "unknown column 'nothing'.* measurement, mean" "$T/err")" "2 1" \
	"an unknown column is refused before the runs, and the columns are named"
bench -r 3 --sort wall_time true
is "$status $(grep -c " median" "$T/err") $(grep -c csv "$T/err")" "2 1 0" "a measurement is no column without -L, and CSV has others"
bench -r 3 -L n=1 --sort wall_tim -- echo {n}
is "$status $(grep -c "'wall_time'" "$T/err")" "2 1" "with -L it is one"
bench -r 2 -o "$T/results" --output "$T/results" true
is "$status" 2 "-o and --output are not one file"
bench -r 1 --format json -- true "$(printf '%5000s' x)"
is "$(of 0 '.command | length')" 5007 "a long command is not cut"
for c in always never; do bench -r 3 --color $c "$PROG/pages 100" "$PROG/pages 9000"; sed 's/\x1b\[[0-9;]*m//g' "$T/out" | sed 's/[0-9.]//g' | wc -l >"$T/$c"; done
same "$T/always" "$T/never" "color changes no line"
like "$("$PMCTL" bench -r 3 --color always "$PROG/pages 100" "$PROG/pages 9000" | tr '\033' E)" 'E\[31m' "worse is red"

done_testing
