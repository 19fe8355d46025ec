#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl: wrong arguments give a one-line error with a fix, before anything is started.
. "$(dirname "$0")/lib.sh"

refuses 2 "'report'" "mistyped command" reprot
refuses 2 "pmctl help" "unknown command" frobnicate
refuses 2 "use pmctl profile" "a command of other tools" record
refuses 2 "use pmctl dump PID or pmctl stat -p PID" "a flag of other commands" run -p 12
refuses 2 "" "no abbreviations" rep
refuses 2 "use pmctl diff" "a command of other tools, the second word of a row" compare a b
refuses 2 "use --json" "a flag of other tools with a value" bench --export-json=x true
refuses 2 "-e @cache" "more events of perf stat" stat -d -- true
refuses 2 "use --format csv" "a separator behind its letter" stat -x, -- true
refuses 2 "pmctl list '@\*'" "groups of LIKWID" stat -g MEM true
refuses 2 "timeout 10 CMD" "an end of a run" run --timeout 5 -- true
refuses 2 "use --to html" "a flame graph as a flag" export --flamegraph x.pmc
refuses 2 "use '@\*'" "a list of perf" list metrics
: >x.pmc
refuses 2 "no dump given but the output 'x.pmc'" "a page without a dump" report --html x.pmc
refuses 2 "pmctl report x.pmc" "a dump in place of a process" dump x.pmc
refuses 2 "-- sleep 1" "a duration of counts is that of a command" stat -d 1s -a
refuses 2 "report --html" "a page is of a report" explain --html x true
refuses 2 "put --vs" "more than two dumps need sides" diff a b c d
refuses 2 "EVENT/HZ" "a rate of samples is behind a slash" run --sample=task-clock:500 true
refuses 2 "use -r" "a letter of other tools" bench -M 3 true
refuses 2 "then pmctl report" "a flag of report" run --by pool -- true
refuses 2 "then pmctl report --format json FILE" "a flag that report does not have" run --json -- true
refuses 2 "pmctl report --format json FILE" "output of a recording as JSON" profile --json -- true
refuses 2 "export --to html" "a short name of a flame graph" profile --flame -- true
refuses 2 "use --by KEY" "a flag of report in other words" report --group-by pool x.pmc
refuses 2 "use --by function" "the opposite of a call tree" report --no-children x.pmc
refuses 2 "use --frequency HZ" "a short name of the frequency" profile --freq 99 -- true
refuses 2 "use .*--off-cpu" "an event of other tools" profile -e wall -- true
refuses 2 "-b -n 1$" "letters in one word" top -bn1
refuses 2 "use function" "a value of other tools" report --by symbol x.pmc
refuses 2 "use chrome" "a format of other tools" export --to perfetto x.pmc
refuses 2 "did you mean 'pid'" "a mistyped value" report --by pdi x.pmc
refuses 2 "'merge'" "help of a mistyped command" help megre
refuses 2 "no command" "run without a command" run
refuses 2 "no command" "run with flags alone" run -e cycles --
refuses 2 "'--inherit'" "mistyped flag" run --inhert off -- touch "$T/ran"
refuses 2 "needs a value" "flag without its value" run -o
refuses 2 "'--json'" "mistyped flag of doctor" doctor --jsno
refuses 2 "--format csv" "a word of a flag, as if it were a flag" report --csv x.pmc
refuses 1 "explain -- $PMCTL" "a program in place of a dump" explain "$PMCTL"
refuses 1 "explain -- ls" "a command in place of a dump" explain ls
refuses 1 "explain -- sleep" "a command with an argument in place of dumps" explain sleep 1
refuses 1 "replaces \{NAME}" "a parameter without values" bench -r 1 "false {level}"
refuses 2 "pmctl bench" "the name of another tool" hyperfine
refuses 1 "run -o FILE ls" "a command in place of a dump of another command" report ls

# A process that has ended and that its parent does not reap.
sh -c 'exit 0 & exec sleep 1000' >/dev/null 2>&1 &
parent=$!
zombie() { dead=$(pgrep -P "$parent" 2>/dev/null) && grep -q '^State:.Z' "/proc/$dead/status"; }
await zombie || ok "a zombie process was created" false
refuses 1 "process $dead has ended" "stat of a zombie" stat -p "$dead"
same_error=$(sed 's/^[^:]*//' "$T/err")
for command in "stat --per-thread" "stat --by pool" "trace -e sched:sched_switch" "trace --summary" "top -b"; do
	refuses 1 "process $dead has ended" "$command of a zombie" $command -p "$dead"
	is "$(sed 's/^[^:]*//' "$T/err")" "$same_error" "$command of a zombie: the same answer"
done
kill "$parent"
for command in stat "stat --by pool" "trace -e sched:sched_switch" "top -b"; do
	refuses 1 "no such process: 4194300" "$command of an unused ID" $command -p 4194300
done

touch_ran=(-- touch "$T/ran")
refuses 2 "--events 'cycels': .*cycles" "unknown event" run -e cycels "${touch_ran[@]}"
refuses 2 "--events 'cycels': .*cycles" "unknown event, long flag" run --events=cycels "${touch_ran[@]}"
refuses 2 "--events: ''" "empty event list" run -e '' "${touch_ran[@]}"
refuses 2 "--inherit: 'all'.*auto, full, clock or off" "bad value" \
	run --inherit all "${touch_ran[@]}"
refuses 2 "--report: 'html'" "bad report" run --report html "${touch_ran[@]}"
export PMC_EVENTS=cycels
refuses 2 "PMC_EVENTS 'cycels': .*cycles" "bad PMC_EVENTS" run "${touch_ran[@]}"
unset PMC_EVENTS
export PMC_LOG=loud
refuses 2 "PMC_LOG: 'loud'.*error, warn, info or debug" "bad PMC_LOG" \
	run "${touch_ran[@]}"
unset PMC_LOG

refuses 125 "cannot use the agent $T/none.so: No such file" "--agent that is not there" \
	run --agent "$T/none.so" "${touch_ran[@]}"
echo text >"$T/text.so"
refuses 125 "text.so: " "--agent that is no library" run --agent "$T/text.so" "${touch_ran[@]}"
mkdir -p "$T/inst/bin" "$T/a b"
cp "$PMCTL" "$T/inst/bin/"
real=$PMCTL
PMCTL=$T/inst/bin/pmctl
refuses 125 "libpmcagent.so in $T/inst/bin or $T/inst/bin/../lib/pmc; .*--agent" \
	"no agent anywhere" run "${touch_ran[@]}"
ok "no command was started by wrong arguments" test ! -e "$T/ran"
mkdir -p "$T/inst/lib/pmc"
cp "$AGENT" "$T/inst/lib/pmc/"
run "$PMCTL" run --report "json=$T/json" -- true
ok "an installed agent is found" jq -e '.threads | length > 0' "$T/json"
PMCTL=$real
cp "$AGENT" "$T/a b/"
refuses 125 "space or colon" "an agent that LD_PRELOAD cannot name" run --agent "$T/a b/libpmcagent.so" -- true

for args in "" help --help; do
	run "$PMCTL" $args
	is "$status" 0 "pmctl $args: exit 0"
	for command in run report merge doctor help; do
		like "$(cat "$T/out")" "
  $command  " "pmctl $args lists $command"
	done
done
for command in run report merge doctor help; do
	run "$PMCTL" help "$command"
	cp "$T/out" "$T/help"
	is "$status" 0 "pmctl help $command: exit 0"
	run "$PMCTL" "$command" --help
	same "$T/help" "$T/out" "pmctl $command --help prints the same"
	is "$(sed '1,/^Examples:/d' "$T/help" | grep -c '^  [^#]*pmctl ')" 2 "$command: two examples"
done
like "$("$PMCTL" --version)" '^pmctl [0-9]+\.[0-9]+\.[0-9]+$' "--version"
is "$("$PMCTL" -V) $("$PMCTL" version)" "$("$PMCTL" --version) $("$PMCTL" --version)" "-V and version are the same"

for args in help doctor "doctor --json" --version "help run" "run -n -e task-clock"; do
	run bash -c "'$PMCTL' $args >/dev/full"
	is "$status" 1 "pmctl $args to a full disk: exit 1"
	like "$(cat "$T/err")" "cannot write to standard output: No space left" "pmctl $args to a full disk: the error"
	run bash -c "'$PMCTL' $args >&-"
	is "$status" 1 "pmctl $args to a closed stdout: exit 1"
done
"$PMCTL" run --report "json=$T/closed.json" -- no-such-command 2>&-
is "$?" 127 "stderr closed: same exit code"
is "$(cat "$T/closed.json")" "" "stderr closed: no message is written to a file with descriptor 2"
exec 8> >(exec true)
wait $! # no reader is left
"$PMCTL" help >&8 2>"$T/err"
is "$? $(cat "$T/err")" "1 " "to a closed pipe: exit 1, silently"
exec 8>&-

run "$PMCTL" run -n -e task-clock,page-faults,cycles -- true
is "$status" 0 "-n: exit 0"
like "$(cat "$T/out")" "task-clock" "-n: the plan names the events"
like "$(cat "$T/out")" "per thread: descriptors [0-9]+, groups [0-9]+" "-n: and the cost per thread"
run "$PMCTL" run -n --sample task-clock/499 --unwind fp -- true
like "$(cat "$T/out")" "samples: 499 per second of CPU time by task-clock" "-n --sample: the event and its rate"
like "$(cat "$T/out")" "call stacks by frame pointers" "-n --sample: how stacks are found"
run "$PMCTL" run -n --off-cpu -- true
like "$status $(cat "$T/out")" "^0 .*waits: .*call stacks by unwind tables" "-n --off-cpu: waits"
run "$PMCTL" run -n -- touch "$T/ran"
unlike "$(cat "$T/out")" "samples|waits" "-n: neither samples nor waits without their flags"
ok "-n: nothing is started" test ! -e "$T/ran"

run "$PMCTL" doctor
table_status=$status
run "$PMCTL" doctor --json
is "$status" "$table_status" "doctor: same exit with and without --json"
ok "doctor --json: its shape" jq -e '
	(.ok | type == "boolean") and (.checks | length > 5) and
	(.checks | all((.name | type == "string") and (.detail | length > 0) and
	               (.status | IN("ok", "limits", "blocks")) and
	               (.remedy == null or (.remedy | length > 0))))' "$T/out"
is "$status" "$(jq 'if .ok then 0 else 1 end' "$T/out")" "doctor: exit 0 if any perf event counts"
is "$(jq -r '.checks[] | select(.name == "software-events").status' "$T/out")" ok \
	"doctor: software events open here"
for mode in errno kill killthread; do
	run "$PROG/seccomp" "$mode" "$PMCTL" doctor --json
	is "$status" 1 "doctor under a seccomp filter ($mode): exit 1"
	is "$(jq -r '.checks[] | select(.name == "seccomp").status' "$T/out")" blocks \
		"doctor under a seccomp filter ($mode): the filter is named"
	run "$PROG/seccomp" "$mode" "$PMCTL" run -n -e task-clock
	is "$status" 0 "run -n under a seccomp filter ($mode) survives"
	unlike "$(cat "$T/out")" "group 1" "run -n under a seccomp filter ($mode): no group is planned"
done
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T"
	level=$(cat /proc/sys/kernel/perf_event_paranoid)
	run setpriv --reuid=65534 --clear-groups --no-new-privs -- "$PMCTL" doctor --json
	if [ "$level" -ge 2 ]; then
		is "$(jq -r '.checks[] | select(.name == "perf_event_paranoid").status' "$T/out")" \
			"$([ "$level" = 2 ] && echo limits || echo blocks)" "doctor as nobody: the level applies"
	else
		is "$(jq -r '.checks[] | select(.name == "perf_event_paranoid").status' "$T/out")" ok \
			"doctor as nobody: the level does not apply"
	fi
fi

# ---- hardening: not in builds with sanitizers or without optimisation ----------------------------
like "$(readelf -dW "$PMCTL")" 'BIND_NOW|NOW' "pmctl binds its symbols at its start"
like "$(nm -D "$PMCTL")" '__stack_chk_fail.*_chk@' "pmctl has stack protection and checked copies"
case $(uname -m) in
x86_64) like "$(readelf -nW "$AGENT" 2>&1)" SHSTK "the agent permits a shadow stack" ;;
esac

done_testing
