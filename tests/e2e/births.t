#!/bin/bash
# SPDX-License-Identifier: MIT
# births.t - every way a thread begins, is named and ends.
. "$(dirname "$0")/lib.sh"
export PMC_EVENTS=task-clock

# counted NAME WANT: that many rows of this name, each counted and with CPU time.
counted() {
	is "$(jq --arg n "$1" '[.threads[] | select(.name == $n and .cpu_ns > 0 and
		all(.events[]; .state == "counted"))] | length' "$T/report.json")" "$2" \
		"${3:-$1: counted}" ||
		diag "$(jq -c '.threads[] | {name, state, cpu_ns, e: .events[0].state}' "$T/report.json")"
}

report "$PROG/ends" 20
is "$status $(cat "$T/out")" "0 all ended" "ends: same results, handlers and destructors ran"
for name in by-return by-exit by-cancel by-async at-birth by-detach; do
	counted "$name" 20 "20 threads $name"
done
is "$(json "$T/report.json" '.threads | length')" 121 "no row lost or doubled"

report "$PROG/c11"
is "$(cat "$T/out")" "42 43" "thrd_create: results as they were"
counted c11-return 1
counted c11-exit 1

report "$PROG/main_exit"
like "$status $(cat "$T/out")" "^0 main is gone" "main leaves by pthread_exit"
counted outlives-main 1
is "$(json "$T/report.json" '.threads | length')" 2 "main_exit: two rows"
# At least what the program saw before; not the other thread's 20 ms as well.
own=$(tr -dc 0-9 <"$T/out")
between "$(json "$T/report.json" '.threads[] | select(.seq == 0) | .cpu_ns')" "$own" $((own + 19000000)) \
	"main's row holds what it did before it left"

report "$PROG/named"
for name in by-pthread by-prctl-and-to by-syscall by-creator last-name; do
	counted "${name:0:15}" 1
done
counted named 2 "main and the unnamed thread go by the program's name"
is "$(json "$T/report.json" '[.threads[] | select(.name | test("red"))] | length')" 1 \
	"hostile: its row is there"
PMC_REPORT=threads run agent "$PROG/named"
is "$(tr -cd '\033' <"$T/err" | wc -c)" 0 "no escape sequence of a thread name reaches a terminal" ||
	diag_file "$T/err" report

report "$PROG/dl_main" "$PROG/dl_module"
is "$(cat "$T/out")" "module ran" "dlopen: ran"
counted in-module 1
like "$(json "$T/report.json" '.threads[] | select(.name == "in-module") | .start_routine')" \
	'work_in_module|dl_module' "its start routine is known though unloaded"

# One after the other at the same address, most likely; without symbols they differ by file.
ok "two modules" strip -o "$T/one" "$PROG/dl_module"
strip -o "$T/two" "$PROG/dl_module"
report "$PROG/dl_main" "$T/one" "$T/two"
is "$(json "$T/report.json" '[.threads[] | select(.name == "in-module") | .start_routine | sub("\\+.*"; "")]
	| join(" ")')" "one two" "a routine where another was before has its own name"

report "$PROG/dl_main" deepbind "$PROG/dl_module"
is "$(cat "$T/out")" "module ran" "RTLD_DEEPBIND: ran"

cat >"$T/app.c" <<'END'
#include <stdio.h>
int main(void) { puts("app"); return 0; }
END
ok "link a program to a library with a constructor" \
	cc -o "$T/app" "$T/app.c" -Wl,--no-as-needed "$PROG/ctor_lib" -Wl,-rpath,"$PROG"
report "$T/app"
is "$status $(cat "$T/out")" "0 app" "library with constructor and destructor threads"
counted in-ctor 1 "a thread of a constructor before main: counted"
is "$(json "$T/report.json" '[.threads[] | select(.name == "in-ctor")] | length')" 1 \
	"in-ctor has its row"
# Its destructor runs after the report at exit was made; the dump gets the row.
rm -f "$T/app.pmc"
PMC_REPORT=off PMC_OUT="$T/app.pmc" run agent "$T/app"
"$PMCTL" report --format json "$T/app.pmc" >"$T/report.json"
counted in-dtor 1 "a thread of a destructor after ours: counted, in the dump"

report "$PROG/rawclone" 30
is "$(cat "$T/out")" "raw clone done" "raw clone: ran"
is "$(json "$T/report.json" '.threads | length >= 1')" true "raw clone: main has its row"

for of in posix c11; do
	set --
	[ $of = posix ] || set -- c11
	report "$PROG/tsd" "$@"
	like "$(cat "$T/out")" "^2 rounds" "destructors of thread-specific data run as ever: $of"
	# By the program's own clock; a round is a half.
	within "$(json "$T/report.json" '.threads[] | select(.name == "with-tsd") | .events[0].value')" \
		"$(sed 's/.*, //; s/ ns//' "$T/out")" 10 \
		"and what they do is counted: $of"
done

# What went before the agent is in main's CPU time, and in the time it had for it.
PMC_REPORT="json=$T/report.json" run bash -c 'for ((i = 0; i < 60000; i++)); do :; done
	LD_PRELOAD=$0 exec "$1" 1 1000' "$AGENT" "$PROG/churn"
check_report churn
is "$(json "$T/report.json" '.processes[0].coverage.before_agent_cpu_ns > 20000000')" true \
	"CPU time from before the agent"
is "$(json "$T/report.json" '.processes[0] | .end_ns - .start_ns >= .coverage.cpu_ns * 0.9')" true \
	"is not more than the process had time for"

# Who made whom.
report "$PROG/tree" 1 10
is "$(json "$T/report.json" '.threads[] | select(.name == "leaf") | .created_by')" 0 \
	"created_by names the creating thread"
like "$(json "$T/report.json" '.threads[] | select(.name == "leaf") | .start_routine')" 'work|tree' \
	"start_routine names the function"

# Snapshots take none for a thread that nobody saw begin: not what has had its row and still is on
# its way out, nor what begins as the process ends.
PMC_INTERVAL=1ms PMC_OUT=$T/bursts.pmc report "$PROG/bursts" 40 500
is "$(cat "$T/out") $(json "$T/report.json" '[(.threads | length), ([.threads[] | select(.start_ns == 0)] |
	length)] | join(" ")')" "40003 threads 40003 0" "threads that end in bursts have one row each"
rm -f "$T/bursts.pmc"
report "$PROG/lingers" 40000
is "$(cat "$T/out") $(json "$T/report.json" '[(.threads | length), ([.threads[] | select(.start_ns == 0)] |
	length)] | join(" ")')" "40002 threads 40002 0" "a thread on its way out has one row, however many end meanwhile"
for i in {1..30}; do
	PMC_REPORT=off PMC_INTERVAL=1s PMC_OUT=$T/short.pmc agent "$(type -P true)"
done
is "$("$PMCTL" report --format json "$T/short.pmc" | jq '.threads | length')" 30 \
	"the agent's own thread is none of a program that hardly runs"

done_testing
