#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl dump of a process that takes samples: they are those that the process writes itself, count
# once beside them, and are whole while threads sample.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
read_samples="python3 $ROOT/tests/e2e/samples.py"
mkfifo in

cat >spinner.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long sink;
static atomic_int over;
__attribute__((noinline)) void spin(void)
{
	for (int i = 0; i < 100000; i++)
		sink += i;
}
static void *spins(void *arg)
{
	while (!over)
		spin();
	return arg;
}
__attribute__((noinline)) void creator(pthread_t *threads)
{
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spins, NULL);
	sink++;
}
int main(void)
{
	pthread_t threads[2];
	char c;
	creator(threads);
	puts("ready");
	fflush(stdout);
	(void)!read(0, &c, 1);
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
END
"${CC:-cc}" -O1 -g -o spinner spinner.c -pthread 2>/dev/null || skip_all "the compiler does not build for this machine"

# spinner VAR=VALUE...: in the background, with samples; its process ID is $pid.
spinner() {
	rm -f own.pmc outside.pmc
	: >log
	env PMC_SAMPLE=task-clock/1999 PMC_REPORT=off PMC_OUT="$T/own.pmc" "$@" LD_PRELOAD="$AGENT" ./spinner <in >log 2>spinner.err &
	pid=$!
	exec 9>in
	await grep -q ready log
}
# Both threads have samples.
enough() {
	rm -f outside.pmc
	"$PMCTL" dump "$pid" -o "$T/outside.pmc" >/dev/null 2>dump.err || return
	[ "$($read_samples outside.pmc total | jq -s 'map(select(.samples >= 20)) | length')" = 2 ]
}

# ---- what a snapshot has -----------------------------------------------------------------------
spinner PMC_STACKS=on
ok "samples of both threads are in a snapshot from outside" await enough
is "$(cat dump.err)" "" "pmctl dump prints no warning"
"$PMCTL" report --by function --format json outside.pmc >live.json
is "$(json live.json .damaged_frames)" 0 "its frames are whole"
between "$(json live.json '100 * ([.groups[] | select(.key == "spin")][0].samples) / .sampling.samples')" 95 100 \
	"nearly all samples are in the function that runs"
is "$($read_samples outside.pmc total | jq -s -c 'map([.samples == .listed, .lost, .cut])[1:]')" "[[true,0,0],[true,0,0]]" \
	"its samples are complete"
is "$($read_samples outside.pmc total | jq -s 'map(select(.seq > 0)) | all(.value >= .weight * 0.9)')" true \
	"the event's own count was read from outside"
is "$($read_samples outside.pmc creation | grep -c '^creator<main<')" 2 "PMC_STACKS: each thread has the stack that created it"
is "$($read_samples outside.pmc lost)" "0 False" "every stack and module that is referred to is there"
is "$(json live.json '[.processes[]?.notes[]? | select(.code >= 1000)] | length')" 0 "no note"

# ---- a stopped process ---------------------------------------------------------------------------
kill -STOP "$pid"
stopped() { [ "$(grep -l '^State:.T' "/proc/$pid/task/"*/status 2>/dev/null | wc -l)" = 3 ]; }
await stopped
for i in 1 2; do
	run "$PMCTL" dump "$pid" -o "$T/stopped$i.pmc"
	is "$status $(cat err) $($read_samples stopped$i.pmc lost)" "0  0 False" "snapshot $i of a stopped process"
done
is "$($read_samples stopped1.pmc total)" "$($read_samples stopped2.pmc total)" "they have the same samples"
kill -CONT "$pid"

# ---- stacks once to each file --------------------------------------------------------------------
run "$PMCTL" dump "$pid" -o "$T/often.pmc" -I 5ms -n 20
is "$status $(cat err)" "0 " "pmctl dump -I of a process that samples"
is "$($read_samples often.pmc twice)" 0 "it writes a stack once"
mv often.pmc first.pmc
"$PMCTL" dump "$pid" -o "$T/often.pmc" -I 5ms >often.out 2>often.err 9>&- &
dumper=$!
await test -s often.pmc
mv often.pmc first.pmc
await test -s often.pmc
whole() { [ "$($read_samples often.pmc paths | wc -l)" -gt 0 ]; }
ok "snapshots go on in a new file" await whole
is "$($read_samples often.pmc lost)" "0 False" "and stacks are in the new file as well"

# ---- beside what the process writes itself ------------------------------------------------------
run "$PMCTL" dump "$pid"
is "$status $(cat err)" "0 " "a snapshot in the process's own dump"
is "$($read_samples own.pmc lost)" "0 False" "has its stacks there"
finish
wait "$dumper"
"$PMCTL" report --by path --format json own.pmc >own.json
"$PMCTL" merge own.pmc outside.pmc first.pmc often.pmc -o both.pmc
"$PMCTL" merge --compact own.pmc outside.pmc often.pmc -o small.pmc
"$PMCTL" report --by path --format json both.pmc >both.json
same own.json both.json "after the end, snapshots from outside change nothing"
is "$($read_samples small.pmc total)" "$($read_samples own.pmc total)" "nor in a compact dump"

spinner PMC_INTERVAL=20ms
await enough
await enough
finish
"$PMCTL" report --by path --format json own.pmc >own.json
"$PMCTL" merge own.pmc outside.pmc -o both.pmc
"$PMCTL" report --by path --format json both.pmc >both.json
same own.json both.json "nor beside periodic snapshots"

# ---- sampling that has ended, and none ----------------------------------------------------------
spinner PMC_SAMPLE=
run "$PMCTL" dump "$pid" -o "$T/outside.pmc"
is "$status $(cat err) $($read_samples outside.pmc total)" "0  " "of a process without samples there are none"
finish

# ---- storm ---------------------------------------------------------------------------------------
PMC_SAMPLE=task-clock/4999 PMC_STACKS=on PMC_INTERVAL=100ms PMC_REPORT=off PMC_OUT="$T/storm.pmc" \
	LD_PRELOAD="$AGENT" timeout -s KILL 300 "$PROG/sample_storm" "${STORM_SECONDS:-3}" "$PROG/samples_module" >storm.out 2>&1 &
began=$!
storming() { pid=$(pgrep -P "$began" sample_storm) && "$PMCTL" dump "$pid" -o "$T/outside.pmc"; }
rm -f outside.pmc often.pmc
await storming
n=0
warned=
while "$PMCTL" dump "$pid" -o "$T/each.pmc" >/dev/null 2>each.err; do
	n=$((n + 1))
	[ "$n" != 1 ] || "$PMCTL" dump "$pid" -o "$T/often.pmc" -I 5ms >/dev/null 2>often.err &
	warned+=$(grep -v -e ': regions' -e 'child processes' each.err)
	[ "$n" -gt 20 ] || cat each.pmc >>some.pmc
	# A snapshot has the samples since the last reset, which some.pmc must not lack.
	[ "$n" -le 20 ] || [ $((n % 4)) != 0 ] || "$PMCTL" ctl "$pid" reset >/dev/null
	mv each.pmc last.pmc
done
wait
is "$(cat storm.out)" "storm: 0 errors" "storm: the process is not disturbed"
is "$warned$(grep samples often.err)" "" "storm: no table looks damaged"
between "$n" 5 1000000 "storm: there are snapshots"
for file in some often last; do
	is "$($read_samples $file.pmc lost)" "0 False" "storm, $file: every stack and module that is referred to is there"
	is "$("$PMCTL" report --format json $file.pmc 2>report.err | jq .damaged_frames)$(cat report.err)" 0 "storm, $file: no frame is damaged"
	# Near the end of the process few threads are left, perhaps just reset.
	[ $file != some ] ||
		between "$($read_samples $file.pmc total | jq -s 'map(.samples) | add')" 1 10000000 "storm, $file: there are samples"
done
"$PMCTL" report --by path --format json storm.pmc >own.json
"$PMCTL" merge storm.pmc some.pmc often.pmc last.pmc -o both.pmc
"$PMCTL" report --by path --format json both.pmc >both.json
same own.json both.json "storm: snapshots from outside change nothing after the end"
done_testing
