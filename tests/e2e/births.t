#!/bin/bash
# SPDX-License-Identifier: MIT
# births.t - every way in which a thread is created, named and ended.
. "$(dirname "$0")/lib.sh"
export PMC_EVENTS=task-clock

# counted NAME WANT: the report has WANT rows with this name, each counted and with CPU time. CPU clocks
# exclude stolen time, up to all of a short thread's.
stolen_before=$(stolen)
counted() {
	is "$(jq --arg n "$1" --argjson least $(($(stolen) == stolen_before)) '[.threads[] |
		select(.name == $n and .cpu_ns != null and .cpu_ns >= $least and
		all(.events[]; .state == "counted"))] | length' "$T/report.json")" "$2" \
		"${3:-$1: counted}" ||
		diag "$(jq -c --arg n "$1" '(.threads[] | select(.cpu_ns == 0 or any(.events[]; .state != "counted"))),
			(.threads | group_by(.name) | map({(.[0].name): length}) | add)' "$T/report.json")"
}

report "$PROG/ends" 20
is "$status $(cat "$T/out")" "0 all ended" "ends: results are unchanged, cleanup handlers and destructors ran"
for name in by-return by-exit by-cancel by-async at-birth by-detach; do
	counted "$name" 20 "20 threads $name"
done
is "$(json "$T/report.json" '.threads | length')" 121 "ends: 121 rows, none missing or duplicate"

report "$PROG/end_race" 200 6
is "$status $(cat "$T/out") $(json "$T/report.json" '.threads | length')" "0 all ended 1401" \
	"end_race: threads that are about to end when their process exits have rows"

report "$PROG/c11"
is "$(cat "$T/out")" "42 43" "thrd_create: thread results are unchanged"
counted c11-return 1
counted c11-exit 1

report "$PROG/main_exit"
like "$status $(cat "$T/out")" "^0 main is gone" "main_exit: main ends by pthread_exit and the process exits with 0"
counted outlives-main 1
is "$(json "$T/report.json" '.threads | length')" 2 "main_exit: two rows"
# At least the CPU time that the program read before, without the other thread's 20 ms.
own=$(tr -dc 0-9 <"$T/out")
between "$(json "$T/report.json" '.threads[] | select(.seq == 0) | .cpu_ns')" "$own" $((own + 19000000)) \
	"main_exit: main's row has main's CPU time only"

report "$PROG/named"
for name in by-pthread by-prctl-and-to by-syscall by-creator last-name; do
	counted "${name:0:15}" 1
done
counted named 2 "main and the unnamed thread have the program's name"
is "$(json "$T/report.json" '[.threads[] | select(.name | test("red"))] | length')" 1 \
	"a thread name with escape sequences has a row"
report "$PROG/named" live
is "$(json "$T/report.json" '[.threads[].name] | sort | join(" ")')" "at-once later named" \
	"a thread named by its creator: the row of a live thread has the name"
PMC_REPORT=threads run agent "$PROG/named"
is "$(tr -cd '\033' <"$T/err" | wc -c)" 0 "no escape sequence of a thread name reaches a terminal" ||
	diag_file "$T/err" report

report "$PROG/dl_main" "$PROG/dl_module"
is "$(cat "$T/out")" "module ran" "dlopen: the module ran"
counted in-module 1
like "$(json "$T/report.json" '.threads[] | select(.name == "in-module") | .start_routine')" \
	'work_in_module|dl_module' "the start routine in an unloaded module is named"

# A thread that another thread creates waits for no lock of the loader.
report timeout 100 "$PROG/dl_main" "$PROG/dl_waits"
is "$status $(cat "$T/out")" "0 module ran" "a constructor that waits for a thread that creates one"
is "$(json "$T/report.json" '[.threads[] | select(.start_routine == "dl_waits_outer")] | length')" 1 \
	"its start routine is named"

# Both modules are probably loaded at the same address; stripped, they differ by file name only.
ok "strip makes a module without symbols" strip -o "$T/one" "$PROG/dl_module"
strip -o "$T/two" "$PROG/dl_module"
report "$PROG/dl_main" "$T/one" "$T/two"
is "$(json "$T/report.json" '[.threads[] | select(.name == "in-module") | .start_routine | sub("\\+.*"; "")]
	| join(" ")')" "one two" "start routines of two modules loaded in turn have different names"

report "$PROG/dl_main" deepbind "$PROG/dl_module"
is "$(cat "$T/out")" "module ran" "RTLD_DEEPBIND: the module ran"

cat >"$T/app.c" <<'END'
#include <stdio.h>
int main(void) { puts("app"); return 0; }
END
ok "a program links with a library that has a constructor" \
	cc -o "$T/app" "$T/app.c" -Wl,--no-as-needed "$PROG/ctor_lib" -Wl,-rpath,"$PROG"
report "$T/app"
is "$status $(cat "$T/out")" "0 app" "threads in a library's constructor and destructor: the program exits with 0"
counted in-ctor 1 "a thread created by a constructor before main is counted"
is "$(json "$T/report.json" '[.threads[] | select(.name == "in-ctor")] | length')" 1 \
	"a thread created by a constructor has one row"
# The library's destructor runs after the report at exit; only the dump has the row.
rm -f "$T/app.pmc"
PMC_REPORT=off PMC_OUT="$T/app.pmc" run agent "$T/app"
"$PMCTL" report --format json "$T/app.pmc" >"$T/report.json"
counted in-dtor 1 "a thread created after the agent's destructor is counted in the dump"

report "$PROG/rawclone" 30
is "$(cat "$T/out")" "raw clone done" "raw clone: the program's output is unchanged"
is "$(json "$T/report.json" '.threads | length >= 1')" true "raw clone: the main thread has a row"

for of in posix c11; do
	set --
	[ $of = posix ] || set -- c11
	report "$PROG/tsd" "$@"
	like "$(cat "$T/out")" "^2 rounds" "$of: destructors of thread-specific data run in two rounds"
	# The expected value is from the program's own clock; one round is half of it.
	# task-clock may be more: it includes stolen time.
	burnt=$(sed 's/.*, //; s/ ns//' "$T/out")
	within "$(json "$T/report.json" '.threads[] | select(.name == "with-tsd") | .cpu_ns')" "$burnt" 10 \
		"$of: destructors of thread-specific data are in the thread's CPU time"
	between "$(json "$T/report.json" '.threads[] | select(.name == "with-tsd") | .events[0].value')" \
		$((burnt / 10 * 9)) 1e15 "$of: they are counted"
done

# Work before the agent starts is in main's CPU time and in the elapsed time of the process.
rm -f "$T/report.pmc"
PMC_REPORT=off PMC_OUT="$T/report.pmc" run bash -c 'for ((i = 0; i < 60000; i++)); do :; done
	LD_PRELOAD=$0 exec "$1" 1 1000' "$AGENT" "$PROG/churn"
check_report churn
is "$(json "$T/report.json" '.processes[0].coverage.before_agent_cpu_ns > 20000000')" true \
	"before_agent_cpu_ns has the CPU time before the agent starts"
is "$(json "$T/report.json" '.processes[0] | .end_ns - .start_ns >= .coverage.cpu_ns * 0.9')" true \
	"the CPU time of the process is at most its elapsed time"

# A program that the loader keeps waiting: it prints the time before that, and runs the program that it is given.
cat >"$T/waits.c" <<'END'
#include "lib/base/sys.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static struct timespec before;
static int yes(void) { return 1; }
/* The loader calls it for the relocation, when there may be no libc yet. */
static int (*resolve(void))(void)
{
	const struct timespec nap = { 0, 100000000 };
	pmc_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
	pmc_sys2(SYS_nanosleep, &nap, NULL);
	return yes;
}
int waits(void) __attribute__((ifunc("resolve")));
int main(int argc, char **argv)
{
	if (waits())
		printf("%lld\n", before.tv_sec * 1000000000LL + before.tv_nsec);
	fflush(stdout);
	return argc > 1 ? execv(argv[1], argv + 1) : 0;
}
END
ok "a program that waits in the loader compiles" cc -I"$ROOT" -o "$T/waits" "$T/waits.c"
# The row starts at the exec, not after the loader: of the first process, of one that it becomes, of a child.
"$PMCTL" run --report "json=$T/report.json" -- "$T/waits" "$T/waits" >"$T/out"
ok "the loader's waits belong to the life of the program" jq -e --rawfile told "$T/out" '
	($told | split("\n") | map(select(. != "") | tonumber)) as $told | [.threads[] | select(.seq == 0)] |
	sort_by(.start_ns) | length == 2 and .[0].start_ns <= $told[0] and .[1].start_ns <= $told[1] and
	.[1].start_ns >= .[0].end_ns and .[0].end_ns > $told[0]' "$T/report.json" || diag_file "$T/report.json" report
ok "and to the elapsed time of the processes" jq -e '.processes | length == 2 and all(.end_ns - .start_ns >= 1e8)' \
	"$T/report.json"
report bash -c '"$0"; :' "$T/waits"
ok "and a child's" jq -e --rawfile told "$T/out" '.threads | max_by(.start_ns) | .start_ns <= ($told | tonumber) and
	.end_ns > ($told | tonumber)' "$T/report.json" || diag_file "$T/report.json" report
# PMC_JOB may have the time of an exec of another process, or of one that had the PID before, or be damaged.
before=$("$T/waits")
for job in '0:1:1:0' '0:$$:1:0' '0:$$:1' '0:$$:99999999999999999999:0'; do
	rm -f "$T/report.pmc"
	PMC_REPORT=off PMC_OUT="$T/report.pmc" run bash -c 'PMC_JOB='"$job"' LD_PRELOAD=$0 exec "$1"' "$AGENT" "$T/waits"
	check_report waits
	ok "PMC_JOB=$job: the program starts as without" jq -e --argjson before "$before" '.threads[0].start_ns > $before' \
		"$T/report.json"
done

# The creating thread and the start routine.
report "$PROG/tree" 1 10
is "$(json "$T/report.json" '.threads[] | select(.name == "leaf") | .created_by')" 0 \
	"created_by names the creating thread"
like "$(json "$T/report.json" '.threads[] | select(.name == "leaf") | .start_routine')" 'work|tree' \
	"start_routine names the function"

# Snapshots must not take these for threads that started without the agent: threads that have their
# final row and are still exiting, and threads that start as the process ends.
PMC_INTERVAL=1ms PMC_OUT=$T/bursts.pmc report "$PROG/bursts" 40 500
is "$(cat "$T/out") $(json "$T/report.json" '[(.threads | length), ([.threads[] | select(.start_ns == 0)] |
	length)] | join(" ")')" "40003 threads 40003 0" "threads that end in bursts have one row each"
rm -f "$T/bursts.pmc"
# One may end while pmctl reads its row.
"$PMCTL" run -I 1ms -o "$T/bursts.pmc" --report off -- "$PROG/bursts" 40 500 >"$T/out"
"$PMCTL" report --timeline --format json "$T/bursts.pmc" >"$T/lines"
ok "-I: no snapshot of a thread is later than its end" jq -es 'group_by(.seq) | length == 40003 and
	all(.[-1].state == "exited")' "$T/lines" || diag "$(wc -l <"$T/lines") lines" \
	"$(jq -sc 'group_by(.seq)[] | select(.[-1].state != "exited")[] | [.seq, .state, .t_ns, .end_ns]' "$T/lines")"
rm -f "$T/bursts.pmc"
report "$PROG/lingers" 40000
is "$(cat "$T/out") $(json "$T/report.json" '[(.threads | length), ([.threads[] | select(.start_ns == 0)] |
	length)] | join(" ")')" "40002 threads 40002 0" "an exiting thread has one row while 40,000 others end"
for i in {1..30}; do
	PMC_REPORT=off PMC_INTERVAL=1s PMC_OUT=$T/short.pmc agent "$(type -P true)"
done
is "$("$PMCTL" report --format json "$T/short.pmc" | jq '.threads | length')" 30 \
	"the agent's own thread has no row in a very short program"

done_testing
