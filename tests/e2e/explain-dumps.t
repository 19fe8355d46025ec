#!/bin/bash
# SPDX-License-Identifier: MIT
# explain-dumps.t - pmctl explain without the evidence that root has: as another user, and from dumps
# that pmctl run makes without flags. Fewer causes are named, and never another one than the
# program's own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/causes.sh"
cd "$T" || exit 1
as_nobody true 2>why || skip_all "no other user: $(tail -n 1 why)"
mkdir -m 777 dumps
cd dumps || exit 1

# count NAME: whether the causes in the report $T/out are right, for the counts named, false and all.
# A wait for a CPU may be that for other programs of this machine, and many of these programs do little but call the kernel.
named=0 false=0 all=0
count() {
	local found other=0 cause
	found=$(jq -r '[.findings[].cause] | unique | .[]' "$T/out")
	for cause in $found; do
		case " $causes " in
		*" $cause "*) named=$((named + 1)) ;;
		*) case $cause in cpu-starved | preempted | kernel) ;; *) other=1 ;; esac ;;
		esac
	done
	all=$((all + 1)) false=$((false + other))
	[ $other -eq 0 ] || diag "$program, $1: '$found' $(jq -c '[.wall_ns, .cpu_ns, .run_delay_ns, (.findings[] | [.pool, .cause, .evidence])]' "$T/out")"
}

while read -r program causes; do
	rm -f ./*.pmc
	run as_nobody "$PMCTL" explain --json -o explained.pmc -- "$PROG/causes" "$program" 100
	count "another user"
	run as_nobody "$PMCTL" run --report off -o plain.pmc -- "$PROG/causes" "$program" 100
	run "$PMCTL" explain --json plain.pmc
	count "a dump"
done < <(planted any cpus waits)
is "$all $false" "72 0" "of $all reports none names a cause that the program does not have"
# On a busy machine few threads get enough CPU time to be judged.
between $named 6 $all "some name the program's own"

# ---- run delay without flags ------------------------------------------------------------------
# Both processes on one CPU: it is theirs at most half of the time.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
PMC_REPORT=off PMC_OUT=$T/pinned.pmc LD_PRELOAD=$AGENT sh -c 'taskset -c $0 awk "$1" & taskset -c $0 awk "$1"; wait' \
	"$cpu" 'BEGIN { for (i = 0; i < 5000000; i++) sum += i }'
run "$PMCTL" explain --json "$T/pinned.pmc"
like "$(jq -r '.findings[].cause' "$T/out")" 'cpu-starved|preempted' "a dump has the run delay of main threads"
if [ "$(nproc)" -gt 1 ]; then
	like "$(jq -r '.findings[].try' "$T/out")" 'affinity' "two processes that may use one of several CPUs"
else
	skip "a machine of one CPU" "two processes that may use one of several CPUs"
fi

# ---- preemptions alone -------------------------------------------------------------------------
run "$PMCTL" run --report off -o "$T/starved.pmc" -- "$PROG/causes" cpu-starved 500
run "$PMCTL" explain "$T/starved.pmc"
like "$(tr -s ' \n' ' ' <"$T/out")" 'worker-\* .*: waits for a CPU: preempted after every .* unknown how long it waits .* try pmctl run -e run-delay' \
	"threads whose run delay is unknown, on too few CPUs" || diag "$(cat "$T/out")"
run "$PMCTL" run -e @default,run-delay --report off -o "$T/measured.pmc" -- "$PROG/causes" cpu-starved 500
run "$PMCTL" explain "$T/measured.pmc"
like "$(tr -s ' \n' ' ' <"$T/out")" 'worker-\* .*: waits for a CPU [0-9]+ % of its time' "the event it names shows for how long" || diag "$(cat "$T/out")"

# ---- wall time ---------------------------------------------------------------------------------
wall() { "$PMCTL" explain --json "$@" | jq .wall_ns; }
for run in 1 2; do
	run "$PMCTL" run --report off -o "$T/$run.pmc" -- awk 'BEGIN { for (i = 0; i < 500000; i++) sum += i }'
done
is "$(wall "$T/1.pmc" "$T/2.pmc")" $(($(wall "$T/1.pmc") + $(wall "$T/2.pmc"))) "of several runs, without what is between them"
run "$PMCTL" run --delay 500ms --report off -o "$T/late.pmc" -- sh -c 'sleep 0.5; awk "BEGIN { for (i = 0; i < 2000000; i++) sum += i }"'
"$PMCTL" report --format json "$T/late.pmc" >"$T/late.json"
all=$(jq '[.processes[] | .start_ns, .end_ns] | max - min' "$T/late.json")
cpu=$(jq '[.threads[].cpu_ns] | add // 0' "$T/late.json")
between $(((all - $(wall "$T/late.pmc")) / 1000000)) 300 $(((all - cpu) / 1000000)) "without the time when counting was off"

done_testing
