#!/bin/bash
# SPDX-License-Identifier: MIT
# tracepoints.t - tracepoints in the rows of threads count the program's calls, not the agent's.
. "$(dirname "$0")/lib.sh"
with_tracefs
cat >"$T/calls.c" <<'END'
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	return arg;
}
int main(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}
END
gcc -O1 -pthread -o "$T/calls" "$T/calls.c" || exit 1

events=raw_syscalls:sys_enter,syscalls:sys_enter_read,syscalls:sys_enter_getppid
measured() {
	rm -f "$T/r.pmc"
	PMC_EVENTS=$events PMC_REPORT=off PMC_OUT=$T/r.pmc run agent "$T/calls"
	"$PMCTL" report --format json "$T/r.pmc" >"$T/r.json"
}
measured
is "$status" 0 "a program with tracepoints"
is "$(json "$T/r.json" '[.threads[] | select(.seq > 0) | [.events[1, 2].value]] | unique | tostring')" '[[0,1000]]' \
	"a thread has its own calls, and no read of the agent"
# The call that stops the group is counted.
between "$(json "$T/r.json" '[.threads[] | select(.seq > 0) | .events[0].value] | max')" 1000 1001 \
	"of all calls at most one is the agent's"
is "$(json "$T/r.json" '[.processes[0].unattributed[]?.value] | unique | tostring')" '[]' \
	"work outside rows, which would be the agent's, has no value"
PMC_INHERIT=full measured
ok "PMC_INHERIT=full: it has" jq -e '.processes[0].unattributed[0].value > 100' "$T/r.json"

done_testing
