#!/bin/bash
# SPDX-License-Identifier: MIT
# progress.t - long work shows on a terminal how far it is, and leaves nothing behind.
. "$(dirname "$0")/lib.sh"
terminal=$(cd "$(dirname "$0")" && pwd)/terminal.py
cd "$T" || exit 1
export TERM=xterm PMC_REPORT=off

command -v python3 >/dev/null || skip_all "no python3, which has terminals"
# screen CMD...: as `run`, with a terminal as standard error, whose last state is $T/screen, and all of it $T/raw.
screen() {
	run python3 "$terminal" "$T/raw" "$@"
	cp "$T/out" "$T/screen"
}
lines() { tr '\r' '\n' <raw | grep -c "$1"; }

# Runs of half a second: the line is there after the second.
screen "$PMCTL" bench -r 4 -o results -- sleep 0.5
is "$status $(cat screen)" "0 " "bench leaves nothing on the terminal"
like "$(tr '\r' '\n' <raw)" "pmctl bench: measuring, 75 %, 1 s left" "and has shown how much is done, and the time left"
is "$(grep -c '^Benchmark' results)" 1 "the results are elsewhere"
between "$(lines measuring)" 1 3 "nothing is shown in the first second"
screen "$PMCTL" bench -r 4 -o results --prepare 'echo prepared' --per-thread -- sleep 0.5
is "$(cat screen)" "$(printf 'prepared\r\n%.0s' 1 2 3 4 5 6 7 8 | tr -d '\r')" "lines of --prepare are whole"
between "$(lines 'measuring')" 1 3 "beside the progress"
between "$(lines 'running under the agent')" 1 3 "of both stages"
for flags in "--output inherit" "--output x"; do
	# shellcheck disable=SC2086
	screen "$PMCTL" bench -r 4 -o results $flags -- sh -c 'sleep 0.5; printf word >&2'
	is "$(cat screen)" wordwordwordword "$flags: the terminal is the command's"
done
run "$PMCTL" bench -r 4 -o results -- sleep 0.5
is "$(cat err)" "" "nothing is shown in a pipe or file"
TERM=dumb screen "$PMCTL" bench -r 4 -o results -- sleep 0.5
is "$(cat raw)" "" "nor where TERM is dumb"
screen "$PMCTL" bench -r 4 -o results -- sh -c "sleep 0.5; test \$(wc -l <count) -lt 3 && echo >>count"
like "$(cat screen)" "^pmctl bench: run 1 .*exited with status" "an error stands on a line of its own"

# The writer of a pipe holds up the merge until the second is over.
PMC_EVENTS=task-clock PMC_OUT=a.pmc run agent "$PROG/churn" 30 1000
mkfifo fifo
held() {
	(
		exec 3>fifo
		sleep 1.1
		cat a.pmc >&3
	) &
	screen "$PMCTL" "$@"
	wait
}
held merge fifo a.pmc -o merged
is "$status $(cat screen)" "0 " "merge leaves nothing on the terminal"
like "$(tr '\r' '\n' <raw)" "pmctl merge: reading dumps, [0-9]+ s" "and has shown what it does"
"$PMCTL" merge a.pmc -o plain
same merged plain "with the same result"
printf junk >bad.pmc
held merge fifo bad.pmc -o merged
is "$(cat screen)" "pmctl merge: warning: left out: bad.pmc (no valid frame)" "a warning replaces the line"
held report fifo --format csv -o report.csv
is "$status $(cat screen) $(lines 'report: reading dumps')" "0  1" "so does report"
held export --to csv -o export.csv fifo
is "$status $(cat screen) $(lines 'export: reading dumps')" "0  1" "and export"

# With a command, the terminal is the command's.
screen "$PMCTL" profile --on-cpu -p $$ -d 1500ms -o p.pmc
if [ "$status" -eq 0 ]; then
	unlike "$(cat screen)" recording "profile leaves nothing on the terminal"
	like "$(tr '\r' '\n' <raw)" "pmctl profile: recording, [0-9]+ %, [01] s left" "and has shown the time left"
	screen "$PMCTL" profile --on-cpu -o q.pmc -- sh -c 'printf word >&2; sleep 1.2'
	like "$(cat screen)" "^word" "what a command has written stays"
	unlike "$(cat raw)" recording "with no progress in it"
else
	skip "profile: $(cat screen)" "profile shows the time left"
fi

done_testing
