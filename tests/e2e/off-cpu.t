#!/bin/bash
# SPDX-License-Identifier: MIT
# off-cpu.t - pmctl run --off-cpu: where threads wait and for how long, seen from outside.
. "$(dirname "$0")/lib.sh"

# total NAME [FILE]: the time in a function, what it calls included, in ns
total() {
	json "${2:-$T/functions}" "[.groups[] | select(.function == \"$1\") | .total] | add // 0"
}

# places: compares each line that the program printed with the report in $T/functions. Clocks are
# the same; a wait ends after the thread was woken and begins before it was seen asleep.
places() {
	local name least most
	while read -r name least most; do
		between "$(total "$name")" "$least" "$most" "$1: time in $name"
	done <"$T/out"
}

run "$PMCTL" run --off-cpu -o "$T/run.pmc" --report off -- "$PROG/off_cpu"
is "$status" 0 "the command's status; no call of it was interrupted"
is "$(wc -l <"$T/out")" 4 "the command printed its places"
"$PMCTL" report --by function --format json "$T/run.pmc" >"$T/functions"
"$PMCTL" report --by path --format json "$T/run.pmc" >"$T/paths"
# They end in the C library, none in the program itself.
like "$("$PMCTL" report --by line --format csv --top 0 "$T/run.pmc")" 'off_cpu\.c:[0-9]+' "lines of the program's functions that wait"
is "$(json "$T/functions" '.sampling | "\(.event) \(.unit)"')" "off-cpu ns" "waits are samples of the event off-cpu"
places "unwind tables"
for want in 'place_sleep;call_nanosleep;' 'place_pipe;call_read;' 'place_mutex;[^;]*mutex_lock' \
	'place_cond;[^;]*cond_wait'; do
	like "$(json "$T/paths" '.groups[].key')" "start_thread;start;$want" "path: $want"
done
# The sum over all threads is that of the rows without callees.
is "$(json "$T/functions" '([.groups[].self] | add) == .sampling.weight')" true "self times add up to all waits"
for name in place_sleep place_pipe place_mutex place_cond; do
	"$PMCTL" report --by function --format json --where "name=$name" "$T/run.pmc" >"$T/one"
	is "$(total "$name" "$T/one")" "$(total "$name")" "$name: all of it in the thread of that name"
done
"$PMCTL" report --by function "$T/run.pmc" >"$T/table"
like "$(cat "$T/table")" 'waits of .* together, by off-cpu' "the table names the event"
unlike "$(cat "$T/table")" 'not counted' "counting was on all the time"
"$PMCTL" run --off-cpu --start off -o "$T/off.pmc" --report off -- sleep 0.01
for by in thread "function --event off-cpu"; do
	# shellcheck disable=SC2086
	like "$("$PMCTL" report --by $by "$T/off.pmc" | tr -s '\n ' ' ')" 'waits? (is|are|of)[^:]* whole run' \
		"waits while counting is off: the table by $by says that they are of the whole run"
	# shellcheck disable=SC2086
	unlike "$("$PMCTL" report --by $by "$T/run.pmc" | tr -s '\n ' ' ')" 'whole run' \
		"counting on all the time: the table by $by does not"
done
"$PMCTL" export --to html -o "$T/off.html" "$T/off.pmc"
is "$(grep -o 'whole run' "$T/off.html" | sort -u)" "whole run" "the page says so, too"
like "$("$PMCTL" report "$T/run.pmc")" 'by tree --event off-cpu' "a report of threads names the one of waits"
"$PMCTL" merge "$T/run.pmc" "$T/run.pmc" -o "$T/twice.pmc"
"$PMCTL" report --by path --format json "$T/twice.pmc" | jq '.groups' >"$T/twice"
is "$(cat "$T/twice")" "$(jq '.groups' "$T/paths")" "merged with itself it is the same"

# Frame pointers: the C library has none, so the function that called it is left out.
run "$PMCTL" run --off-cpu --unwind fp -o "$T/fp.pmc" --report off -- "$PROG/off_cpu"
is "$status" 0 "frame pointers: the command's status"
"$PMCTL" report --by function --format json "$T/fp.pmc" >"$T/functions"
sed -i -E '/place_(mutex|cond)/d' "$T/out"
places "frame pointers"

# A child by fork, below a shell that was replaced by exec.
run "$PMCTL" run --off-cpu -o "$T/fork.pmc" --report off -- sh -c "exec sh -c '\"$PROG/off_cpu\" fork; :'"
is "$status" 0 "forked child: the command's status"
"$PMCTL" report --by function --format json "$T/fork.pmc" >"$T/functions"
places "forked child"

# In a PID namespace of its own: a child, its threads, and a program that it starts.
if [ "$(id -u)" -eq 0 ]; then
	run "$PMCTL" run --off-cpu -o "$T/space.pmc" --report off -- unshare -pf --mount-proc sh -c "'$PROG/off_cpu'; :"
	is "$status" 0 "another PID namespace: the command's status"
	"$PMCTL" report --by function --format json "$T/space.pmc" >"$T/functions"
	places "another PID namespace"
	is "$(grep -c 'without a row' "$T/err")" 0 "another PID namespace: all waits are reported"
fi

# Waits of the agent are one row; here the program has its name.
cp "$PROG/off_cpu" "$T/libpmcagent.so"
mkfifo "$T/input"
rm -f "$T/pid"
"$PMCTL" run --off-cpu -o "$T/agent.pmc" --report off -- sh -c 'echo $$ >"$1/pid"; exec "$1/libpmcagent.so" input' sh "$T" \
	<"$T/input" 9>&- &
exec 9>"$T/input"
waits() { grep -qs pipe_read "/proc/$(cat "$T/pid")/wchan"; }
await waits
# At least as long as its wait has to be.
sleep 0.2
exec 9>&-
wait $!
for by in function path; do
	"$PMCTL" report --by $by --format json "$T/agent.pmc" >"$T/functions"
	between "$(total "(agent)")" 50000000 60000000000 "by $by: waits of the agent are a row"
	is "$(total call_input)" 0 "by $by: its functions are none"
done

# With samples of CPU time in one dump.
run "$PMCTL" run --off-cpu --sample task-clock/997 -o "$T/both.pmc" --report off -- "$PROG/off_cpu"
"$PMCTL" report --by function --event off-cpu --format json "$T/both.pmc" >"$T/functions"
places "beside samples of task-clock"

# A reader that is stopped: one ring holds some 1,000 switches. No thread waits all the time.
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
run "$PMCTL" run --off-cpu -o "$T/lost.pmc" --report off -- taskset -c "$cpu" sh -c \
	'kill -STOP $PPID; perl -e "select(undef, undef, undef, 0.00001) for 1 .. 5000"; kill -CONT $PPID'
is "$status" 0 "stopped reader: the command's status"
like "$(cat "$T/err")" '[0-9]+ records of switches were lost' "stopped reader: a warning"
is "$("$PMCTL" report --by function --format json "$T/lost.pmc" | jq '.sampling.lost > 1000')" true \
	"stopped reader: a report of the dump counts lost records"
is "$("$PMCTL" report --format json "$T/lost.pmc" | jq -c '[.threads[] | select(.name == "perl").partial | index("wait_ns") != null] | unique')" \
	"[true]" "stopped reader: JSON names the sums that are lower bounds"

# The job may put another file in the place of its dump.
run "$PMCTL" run --off-cpu -o "$T/other.pmc" --report off -- \
	env -u LD_PRELOAD sh -c 'rm "$1"; echo precious >"$1"; sleep 0.01' sh "$T/other.pmc"
is "$(cat "$T/other.pmc")" "precious" "a file that is no dump: nothing is appended"

run "$PMCTL" run --off-cpu -- sleep 0.01
like "$(cat "$T/err")" 'add -o run.pmc, then pmctl report .* run.pmc' "a run that is not kept: the hint says how"
run "$PMCTL" run --off-cpu -o "$T/hint.pmc" -- sleep 0.01
like "$(tr -s "\n " " " <"$T/err")" "report --by tree --event off-cpu $T/hint.pmc" "a run that is kept: the hint names the file"

run "$PMCTL" run --off-cpu -o "$T/a b.pmc" -- sleep 0.01
like "$(tr -s "\n " " " <"$T/err")" "report --by tree --event off-cpu '$T/a b.pmc'" "quoted for the shell"

run "$PMCTL" run --off-cpu -o "$T/%p.pmc" -- true
is "$status" 2 "a dump for each process: refused"
run "$PMCTL" run --off-cpu -- "$T/missing"
is "$status" 127 "a missing command"
run env PMC_SAMPLE=context-switches@1 "$PMCTL" run -- touch "$T/started"
is "$status" 2 "PMC_SAMPLE=context-switches@1 is refused"
like "$(cat "$T/err")" 'wake' "with the reason"

# Refused before the command starts, or permitted.
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	mkdir -m 777 "$T/nobody"
	run "${as_nobody[@]}" env TMPDIR="$T/nobody" "$PMCTL" run --off-cpu -- touch "$T/nobody/started"
	is "$status" 125 "as nobody: refused"
	is "$(wc -l <"$T/err")" 1 "in one line"
	like "$(cat "$T/err")" 'perf_event_paranoid' "with the reason"
	is "$(ls "$T/nobody")" "" "before the command has started; no file is left"
fi

done_testing
