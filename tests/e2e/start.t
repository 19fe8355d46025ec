#!/bin/bash
# SPDX-License-Identifier: MIT
# start.t - the system calls that the agent adds to a program that starts and ends.
. "$(dirname "$0")/lib.sh"
with_tracefs
[ "$(id -u)" = 0 ] || skip_all "system calls are counted by a tracepoint of root's"
grep -q '^Seccomp:.*0$' /proc/self/status || skip_all "under a seccomp filter the agent tries calls first"
cd "$T" || exit 1
echo 'int main(void) { return 0; }' | ${CC:-cc} -x c -o program - || skip_all "no C compiler"
unset PMC_JOB PMC_SAMPLE PMC_INTERVAL
# Events that are opened take calls of their own, on machines that count them.
export PMC_EVENTS=task-clock,page-faults PMC_REPORT=off PMC_OUT=$T/x.pmc

# calls [NAME=VALUE]...: of the program in this environment.
calls() { "$PMCTL" stat -e raw_syscalls:sys_enter --format json -- env "$@" "$T/program" 2>err | jq '.events[0].value'; }
# The preloaded library itself takes open, read, stat, map and protect.
bare=$(calls TZ=UTC)
first=$(calls LD_PRELOAD="$AGENT")
between "$first" $((bare + 21)) $((bare + 85)) "the first process of a job: at most 85 system calls more" ||
	diag "bare $bare, with the agent $first, $(cat err)"
job=$(LD_PRELOAD=$AGENT bash -c 'echo "$PMC_JOB"')
next=$(calls LD_PRELOAD="$AGENT" PMC_JOB="$job")
between "$next" $((bare + 21)) $((bare + 85)) "a descendant: at most 85 system calls more" ||
	diag "bare $bare, with the agent $next, $(cat err)"

done_testing
