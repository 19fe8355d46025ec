#!/bin/bash
# SPDX-License-Identifier: MIT
# doctor.t - pmctl doctor in situations set up by the test, on a machine with a PMU: it names the cause,
# and its fix works exactly as printed.
. "$(dirname "$0")/lib.sh"
# Two CPUs: a counter may be held on the CPU where doctor does not run.
machine -smp 2

# A check's status, detail or fix ("remedy").
part() {
	jq -r --arg check "$2" ".checks[] | select(.name == \$check) | .$3" "$M/$1"
}

# fixed NAME CHECK STATUS DETAIL FIX: before the fix, CHECK has STATUS, and its detail and fix match DETAIL
# and FIX; after the fix, its status is ok.
fixed() {
	is "$(part "case/$1.before" "$2" status)" "$3" "$1: status of check $2 is $3" ||
		diag "$(part "case/$1.before" "$2" detail)"
	like "$(part "case/$1.before" "$2" detail)" "$4" "$1: the detail names the cause"
	like "$(part "case/$1.before" "$2" remedy)" "$5" "$1: the fix is given"
	is "$(part "case/$1.before" "$2" remedy_is_command)" true "$1: the fix is a command"
	is "$(part "case/$1.after" "$2" status)" ok "$1: the check is ok after running the fix as printed" || {
		diag "$(part "case/$1.after" "$2" detail)"
		diag_file "$M/case/$1.remedy" "fix"
		diag_file "$M/case/$1.log" "output of the fix"
	}
}

statuses() {
	tr '\n' ' ' <"$M/case/$1.status"
}

is "$(jq -r '[.checks[] | select(.status != "ok") | .name] | join(" ")' "$M/healthy")" \
	"user-access" "root: only user access is not ok" ||
	jq -r '.checks[] | select(.status != "ok") | .name + ": " + .detail' "$M/healthy" | sed 's/^/# /' >&2
is "$(jq .ok "$M/healthy")" true "root: doctor reports that hardware counting works"
like "$(part healthy pmu detail)" 'armv8' "the PMU is named"
like "$(part healthy counters detail)" '^6 events' "the number of counters is given"
like "$(part healthy virtual-machine detail)" 'qemu' "the virtual machine is detected"

fixed paranoid-3 perf_event_paranoid blocks '^3' '^sudo sysctl -w kernel.perf_event_paranoid=1$'
is "$(statuses paranoid-3)" "1 0 " "paranoid-3: doctor exits with 1 before and 0 after the fix"
fixed paranoid-2 perf_event_paranoid limits '^2.*user mode' '^sudo sysctl -w kernel.perf_event_paranoid=1$'
is "$(statuses paranoid-2)" "0 0 " "paranoid-2: doctor exits with 0 because user mode can be counted"
is "$(part case/paranoid-2.before cycles status) $(part case/paranoid-2.after cycles status)" "limits ok" \
	"paranoid-2: cycles are limited to user mode before the fix, ok after it"
fixed paranoid-1 system-wide limits 'own programs' '^sudo sysctl -w kernel.perf_event_paranoid=0$'
fixed namespace capability limits 'outside the user namespace' 'perf_event_paranoid=1$'
like "$(part case/namespace.before capability hint)" outside \
	"namespace: the hint says to run the fix outside the namespace"

fixed few-fds file-descriptors limits '^limit 64, hard limit 64' '^sudo prlimit --pid \$\$ --nofile='
fixed no-rings locked-memory limits 'no ring buffer of 512 KiB' '^sudo prlimit --pid \$\$ --memlock='
fixed slow-rate sample-rate limits '1000 samples' 'perf_event_max_sample_rate=100000$'

fixed thief counters limits "^2 of 6 .*on CPU 0.* $(cat "$M/thief") \(sleep\)" \
	"^kill $(cat "$M/thief")\$"
fixed thief-all counters limits '^6 of 6' '^kill [0-9]+$'

for mode in errno nosys; do
	name=seccomp-$mode
	is "$(part "case/$name.before" seccomp status) $(part "case/$name.after" seccomp status)" "blocks ok" \
		"$name: the seccomp check blocks under the filter, ok without it"
	like "$(part "case/$name.before" seccomp remedy)" 'filter' "$name: the fix names the filter"
	is "$(statuses $name)" "1 0 " "$name: doctor exits with 1 under the filter and 0 without it"
done
like "$(part case/seccomp-errno.before seccomp detail)" 'EPERM: .*refuses' "seccomp-errno: the detail names EPERM"
like "$(part case/seccomp-nosys.before seccomp detail)" 'ENOSYS: .*hides' "seccomp-nosys: the detail names ENOSYS"

fixed user-access user-access limits 'perf_user_access is 0' 'perf_user_access=1$'
fixed tracefs-shut tracefs limits 'not readable' '^sudo mount -o remount'
fixed tracefs tracefs limits 'not mounted' '^mount -t tracefs'
fixed agent agent limits '/tmp/bin' "^cp libpmcagent.so '/tmp/bin/'\$"
if [ "$(part case/ptrace-1.before ptrace detail | grep -c 'no Yama')" = 1 ]; then
	skip "this kernel has no Yama" "ptrace_scope"
else
	fixed ptrace-1 ptrace limits 'ptrace_scope is 1: .*own children' 'ptrace_scope=0$'
	fixed ptrace-2 ptrace limits 'ptrace_scope is 2: .*CAP_SYS_PTRACE' 'ptrace_scope=0$'
	like "$(part case/ptrace-3.before ptrace detail)" 'until the next boot' \
		"ptrace-3: the detail says that the setting lasts until the next boot"
	is "$(part case/ptrace-3.before ptrace remedy_is_command)" false "ptrace-3: the fix is not marked as a command"
fi
is "$(wc -c <"$M/table" | awk '{ print ($1 > 500) }')" 1 "doctor prints its table"

done_testing
