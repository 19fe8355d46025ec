#!/bin/bash
# SPDX-License-Identifier: MIT
# modes.t - software events plain, with :u and with :k, counted for root and for user nobody by this
# kernel: no event that occurred reads 0, clocks count everything, and refusals have their reason.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to count as root and as nobody"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || skip_all "kernel.perf_event_paranoid is not 2"
chmod 755 "$T"
cp "$AGENT" "$PMCTL" "$T/"
AGENT=$T/libpmcagent.so
mkdir -m 777 "$T/nobody"

# Faults in user and in kernel mode, switches, migrations where there are two CPUs, and CPU time.
cat >"$T/busy.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static char *pages(void)
{
	return mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	struct timespec now;
	cpu_set_t all, one;
	char *page = pages();
	for (int i = 0; i < 1 << 16; i += 4096)
		page[i] = 1;
	if (read(zero, pages(), 1 << 16) != 1 << 16)
		return 1;
	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (CPU_ISSET(cpu, &all))
			sched_setaffinity(0, sizeof(one), &one);
		if (CPU_ISSET(cpu, &all))
			usleep(100);
	}
	for (int i = 0; i < 50; i++)
		usleep(10);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec == 0 && now.tv_nsec < 200000000);
	return 0;
}
END
gcc -O1 -o "$T/busy" "$T/busy.c" || exit 1

names="cpu-clock task-clock page-faults context-switches cpu-migrations minor-faults major-faults
	alignment-faults emulation-faults dummy bpf-output cgroup-switches"
list=
for name in $names; do list+=software/$name/,software/$name/u,software/$name/k,; done

# became NAME: state and scope, plain / :u / :k.
became() {
	jq -r --arg n "software/$1/" '[.threads[0].events[] | select(.name == $n or .name == $n + "u" or .name == $n + "k") |
		if .value != null then .state + " " + .scope else .state end] | join(" / ")' "$2"
}

for user in root nobody; do
	as=()
	[ $user = root ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	r=$T/nobody/$user
	run "${as[@]}" env LD_PRELOAD="$AGENT" PMC_EVENTS="${list%,}" PMC_REPORT=off PMC_OUT="$r.pmc" "$T/busy"
	"$PMCTL" report --format json "$r.pmc" >"$r.json"
	r+=.json
	is "$status" 0 "$user: the program runs"
	for name in $names; do
		case $user-$name in
		*-*-clock) want="counted all / counted all / counted all" ;;
		root-context-switches | root-cpu-migrations | root-cgroup-switches)
			want="counted all / not-supported / counted kernel" ;;
		nobody-context-switches | nobody-cpu-migrations | nobody-cgroup-switches)
			want="not-permitted / not-supported / not-permitted" ;;
		root-*) want="counted all / counted user / counted kernel" ;;
		nobody-*) want="counted user / counted user / not-permitted" ;;
		esac
		is "$(became "$name" "$r")" "$want" "$user: $name plain, in user mode, in kernel mode"
	done
	zeros='[.threads[0].events[] | select(.value == 0) | .name |
		select(test("clock|page-faults|minor-faults|context-switches"))] | join(" ")'
	is "$(json "$r" "$zeros")" "" "$user: no event that occurred reads 0"
	is "$(json "$r" '[.threads[0].events[] | select(.name | test("clock")) | .value] | min >= max * 0.8')" true \
		"$user: clocks count the same plain, with :u and with :k" || diag_file "$r" report
	is "$(json "$r" '[.processes[].notes[] | tostring | select(test(":u and :k"))] | length')" 1 \
		"$user: one note that :u and :k have no effect on clocks"
done
is "$(json "$T/nobody/root.json" '.threads[0] | (.voluntary_switches + .involuntary_switches) as $n |
	[.events[] | select(.name == "software/context-switches/") | .value] | .[0] > 50 and .[0] <= $n')" true \
	"root: context-switches are those of the accounting column, less those before the agent"
run setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$AGENT" \
	PMC_EVENTS='{task-clock,page-faults},{context-switches}' PMC_REPORT=off PMC_OUT="$T/nobody/table.pmc" "$T/busy"
"$PMCTL" report "$T/nobody/table.pmc" >"$T/err"
like "$(grep 'user mode only' "$T/err" | head -n 1)" 'user mode only: page-faults;' \
	"nobody: the table marks page-faults only as user mode" || diag_file "$T/err" table
like "$(cat "$T/err")" 'not counted: context-switches: not permitted' \
	"nobody: the table gives the reason for context-switches"

done_testing
