#!/bin/bash
# SPDX-License-Identifier: MIT
# explain.t - pmctl explain names the cause that a program was written with, and none where there is
# none; from a command, from dumps, as another user.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

# causes_of CASE [MS]: the causes that explain names, but for waits for a CPU, which other programs
# of this machine may cause.
causes_of() {
	run "$PMCTL" explain --json -- "$PROG/causes" "$@"
	jq -r '[.findings[].cause] | unique | join(" ")' out
}

planted="handoff short-lived page-faults allocator"
[ "$(nproc)" -lt 2 ] || planted+=" imbalance spin serial"
[ "$(id -u)" -ne 0 ] || planted+=" lock"
right=0
for cause in $planted cpu-starved; do
	found=$(causes_of "$cause")
	if [[ " $found " == *" $cause "* ]]; then
		right=$((right + 1))
	else
		diag "$cause: '$found' $(jq -c '[.findings[] | [.pool, .cause, .evidence]]' out)"
	fi
done
n=$(wc -w <<<"$planted cpu-starved")
between "$right" $((n - 1)) "$n" "the planted cause is named, but for one of $n at most"
found=$(causes_of processes)
# 500 processes, which the rule calls short up to 5 ms of CPU time.
if [ "$(jq '.cpu_ns > 500 * 4000000' out)" = true ]; then
	skip "a process takes more than 4 ms of CPU time here" "short-lived: processes"
else
	like " $found " " short-lived " "short-lived: processes"
fi
[ "$(id -u)" -ne 0 ] || like " $(causes_of turns) " " handoff " "handoff: between threads of one name"

wrong=0
for none in one pair sleeper copier; do
	found=$(causes_of "$none" | tr ' ' '\n' | grep -vxE 'cpu-starved|preempted')
	[ -n "$found" ] || continue
	wrong=$((wrong + 1))
	diag "$none: $found $(jq -c '[.findings[] | [.pool, .evidence]]' out)"
done
between $wrong 0 1 "no cause where there is none, but for one of 4 at most"

# ---- forms -----------------------------------------------------------------------------------
run "$PMCTL" explain -o kept.pmc -- "$PROG/causes" short-lived 100
like "$(tr -s ' \n' ' ' <err)" 'causes \(2000 threads\): .* evidence .* not .* unknown .* try ' "a finding as text"
run "$PMCTL" explain --json kept.pmc
# On a busy machine it may be preempted even more.
is "$status $(jq -c '(.findings[] | select(.cause == "short-lived")) as $found | [$found.cause, (.cpus > 0), ($found | keys)]' out)" \
	'0 ["short-lived",true,["arithmetic","cause","evidence","excluded","gain","pool","text","try","unknown"]]' "a kept dump says the same"
# What is right of the last = is the gain that is printed above, to a digit.
run "$PMCTL" explain -v kept.pmc
is "$(tr -s ' \n' ' ' <out | grep -oE 'some [0-9.]+ times .* gain \(CPU time [0-9.]+ [mu]?s \+ 2000 threads x 30 us\) / [0-9.]+ [mu]?s = [0-9.]+' |
	awk '{ print $2 - $NF < 0.06 && $NF - $2 < 0.06 }')" 1 "-v: the arithmetic behind a gain"
PMC_REPORT=off PMC_OUT=$T/plain.pmc run agent "$PROG/causes" one 100
run "$PMCTL" explain plain.pmc
like "$(tr -s ' \n' ' ' <out)" "nothing stands out unknown waits for a CPU .*; locks" \
	"a dump without run delay and waits: what is unknown is said"
run "$PMCTL" explain -- sh -c 'exit 7'
is "$status" 7 "the exit status is that of the command"
run "$PMCTL" explain -- "$T/none"
is "$status $(wc -l <err)" "127 1" "a command that is not there"
refuses 2 "nothing to explain" "no operand" explain
refuses 2 "at once" "a dump and a command" explain kept.pmc -- true
refuses 1 "cannot read" "a dump that is not there" explain none.pmc
# ---- running processes -------------------------------------------------------------------------
"$PROG/causes" handoff 60000 &
pid=$!
two_threads() { [ "$(ls /proc/$pid/task | wc -l)" = 2 ]; }
await two_threads
run "$PMCTL" explain --json -p $pid -d 500ms
kill $pid
wait $pid 2>/dev/null
like " $(jq -r '[.findings[].cause] | unique | join(" ")' out) " " handoff " "-p: a running process"
between "$(jq .wall_ns out)" 480e6 2e9 "-p: for the time that was asked for"
refuses 1 "no such process" "a process that is not there" explain -p 4194304

if [ "$(id -u)" -eq 0 ]; then
	chmod 777 "$T"
	run as_nobody "$PMCTL" explain --json -- "$PROG/causes" lock 100
	is "$(jq -c '[([.findings[].cause] - ["cpu-starved", "preempted"])]' out)" "[[]]" "another user: no guess without waits"
else
	skip "not root" "another user: no guess without waits"
fi
is "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'pmctl-explain-*' -newer kept.pmc | wc -l)" 0 "no directory stays"

done_testing
