#!/bin/bash
# SPDX-License-Identifier: MIT
# doctor.t - pmctl doctor in situations set up by the test: it names the cause, and its fix works.
# tests/vm/doctor.t does the same on a machine with a PMU.
. "$(dirname "$0")/lib.sh"

# nobody needs to reach the files.
mkdir "$T/bin"
cp "$PMCTL" "$AGENT" "$PROG/seccomp" "$T/bin/"
PMCTL=$T/bin/pmctl
mkdir -m 777 "$T/out.d"

# part FILE CHECK KEY
part() {
	jq -r --arg check "$2" ".checks[] | select(.name == \$check) | .$3" "$1"
}

"$PMCTL" doctor --json >"$T/plain"
is "$? $(jq -r .ok "$T/plain")" "0 true" "software events at least: exit 0"
has_pmu=$(jq 'if .hardware then 1 else 0 end' "$T/plain")
ok "a fix is a command or text; checks that are ok have none" jq -e '
	.checks | all((.remedy_is_command | type == "boolean") and
		(.hint == null or (.hint | length > 0)) and
		(.status != "ok" or .remedy == null) and
		(.status == "ok" or .remedy != null))' "$T/plain"
bad=$(jq -r '.checks[] | select(.remedy_is_command) | .remedy' "$T/plain" | while read -r command; do
	bash -n -c "$command" 2>&1 || echo "$command"
done)
is "$bad" "" "every command has valid shell syntax"
is "$(part "$T/plain" agent status)" ok "the agent beside pmctl is found, of this version"
if [ -z "$(ls -d /sys/bus/event_source/devices/{cpu,cpu_*,armv8_*} 2>/dev/null)" ]; then
	is "$(part "$T/plain" pmu status) $(part "$T/plain" cycles status) $(jq .hardware "$T/plain")" \
		"blocks blocks false" "no PMU: blocks"
	like "$(part "$T/plain" cycles detail)" 'ENOENT: this (virtual )?machine .*no hardware PMU' \
		"no PMU: the errno and the cause"
	run "$PMCTL" run -e cycles,task-clock -- true
	like "$(grep 'pmctl doctor' "$T/err")" 'cycles: not supported here \(no PMU\)' \
		"no PMU: the report of a run gives the reason" || diag_file "$T/err" report
else
	skip "this machine has a PMU" "a machine without one"
fi
# Table and JSON must agree on each check.
"$PMCTL" doctor >"$T/table"
is "$(awk '/^[a-z]/ { print $1, $2 }' "$T/table" | head -n "$(jq '.checks | length' "$T/plain")")" \
	"$(jq -r '.checks[] | .name + " " + .status' "$T/plain")" "table and JSON agree"

# Every check is in the manual.
sed 's/\\-/-/g' "$ROOT/docs/man/pmctl-doctor.1" >"$T/manual"
is "$(jq -r '.checks[].name' "$T/plain" | while read -r name; do
	grep -qE "^\\.BR.*[ \"]$name([ \"]|\$)" "$T/manual" || echo "$name"
done)" "" "every check is in the manual"

# ---- --require -------------------------------------------------------------------------------
unlike "$(tail -n 1 "$T/table")" '\\x' "the last line has no escapes"
COLUMNS=70 "$PMCTL" doctor >"$T/narrow"
# A word that is longer than its column stays whole.
is "$(grep -vE '^ *fix: |^ {30}[^ ]*$' "$T/narrow" | grep -E '^.{71}' || true)" "" "lines are wrapped at the width"
is "$(tr -s ' \n' ' ' <"$T/narrow")" "$(tr -s ' \n' ' ' <"$T/table")" "wrapped lines lose no word"
run "$PMCTL" doctor task-clock
like "$status $(cat "$T/out")" '^0 event +ok +task-clock: counted' "an event: one line about it"
is "$(wc -l <"$T/out")" 1 "an event: no other checks"
run "$PMCTL" doctor --json cycles
is "$status $(jq -r '.checks | length, .[0].name, (.[0].status == "ok")' "$T/out" | tr '\n' ' ')" \
	"$((1 - has_pmu)) 1 event $([ $has_pmu = 1 ] && echo true || echo false) " "an event in JSON: one check"
run "$PMCTL" doctor cycles --require cycles
is "$status" 2 "an event and --require: exit 2"
run "$PMCTL" doctor --require task-clock
is "$status" 0 "--require task-clock: exit 0"
like "$(grep '^require' "$T/out")" '^require +ok +task-clock' "the table has a row for it"
run "$PMCTL" doctor --json --require task-clock,sched:no_such
is "$status" 2 "--require with an unknown event: exit 2"
ok "with --json the error is JSON" jq -e '.error.code == 2' "$T/err"
run "$PMCTL" doctor --json --require task-clock,cycles
is "$status $(jq .ok "$T/out")" "$((1 - has_pmu)) $(jq .hardware "$T/plain")" "--require cycles: exit 1 without a PMU"
run "$PMCTL" doctor --require cycles
is "$(grep -c "^cycles cannot be counted here (required)" "$T/out")" $((1 - has_pmu)) "the last line names the event"
run "$PMCTL" doctor --json --require task-clock,cycles
[ $has_pmu = 1 ] || ok "the row has the cause and a fix" jq -e '
	.checks[-1] | .name == "require" and .status == "blocks" and (.remedy | length > 0) and
	(.detail | test("^cycles: not countable .*PMU"))' "$T/out"
run "$PROG/seccomp" kill "$PMCTL" doctor --require task-clock
is "$status" 1 "--require under a filter that kills: exit 1"

# ---- filters ---------------------------------------------------------------------------------
for mode in errno nosys kill; do
	case $mode in
	errno) cause='EPERM: .*refuses perf_event_open' ;;
	nosys) cause='ENOSYS: .*hides perf_event_open' ;;
	kill) cause='kills processes' ;;
	esac
	"$T/bin/seccomp" $mode "$PMCTL" doctor --json >"$T/filtered"
	is "$?" 1 "seccomp $mode: exit 1"
	like "$(part "$T/filtered" seccomp status) $(part "$T/filtered" seccomp detail)" "^blocks .*$cause" \
		"seccomp $mode: the filter and its action are named"
	is "$(jq -r '.checks[] | select(.detail | test("perf_event_paranoid is|whole CPUs only")) | .name' \
		"$T/filtered")" "" "seccomp $mode: perf_event_paranoid is not named as a cause"
done

# ---- levels and capabilities -----------------------------------------------------------------
level=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$(id -u)" = 0 ] && [ "$level" = 2 ]; then
	as_nobody "$PMCTL" doctor --json >"$T/nobody"
	is "$(part "$T/nobody" perf_event_paranoid status) $(part "$T/nobody" software-events status)" \
		"limits limits" "nobody at paranoid 2: user mode only"
	like "$(part "$T/nobody" software-events detail)" 'EACCES: kernel.perf_event_paranoid is 2' \
		"nobody: the errno and the cause"
	is "$(part "$T/nobody" perf_event_paranoid remedy)" "sudo sysctl -w kernel.perf_event_paranoid=1" \
		"nobody: the fix needs sudo"
	unlike "$(jq -r '.checks[].remedy // ""' "$T/plain")" 'sudo' "root: fixes do not need sudo"

	# The fix starts a shell, here doctor.
	printf '#!/bin/sh\nexec "%s" doctor --json\n' "$PMCTL" >"$T/bin/shell"
	chmod 755 "$T/bin/shell"
	(
		sudo() { "$@"; }
		id() { echo 65534; }
		SHELL=$T/bin/shell
		eval "$(part "$T/nobody" capability remedy)"
	) >"$T/capable" 2>"$T/err"
	is "$(part "$T/capable" capability status) $(part "$T/capable" perf_event_paranoid status) $(
		part "$T/capable" software-events status)" "ok ok ok" "nobody: the capability fix works" ||
		diag_file "$T/err" stderr
	like "$(part "$T/capable" capability detail)" '^CAP_PERFMON; .*uid 65534' "nobody: the fix starts doctor with the capability"
else
	skip "needs root and perf_event_paranoid 2" "levels and capabilities"
fi

# ---- namespaces ------------------------------------------------------------------------------
if unshare -Ur true 2>/dev/null && [ "$level" -ge 2 ]; then
	unshare -Ur "$PMCTL" doctor --json >"$T/namespace"
	like "$(part "$T/namespace" capability status) $(part "$T/namespace" capability detail)" \
		"limits .*outside the user namespace.*effective set 1ff" "a user namespace: its root is not privileged"
	like "$(part "$T/namespace" capability hint)" 'outside' "a user namespace: the fix must be applied outside"
else
	skip "no user namespaces here, or perf_event_paranoid below 2" "a user namespace"
fi

if [ "$(id -u)" = 0 ] && { mountpoint -q /sys/kernel/tracing ||
	unshare -m mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; }; then
	export PMCTL T
	# shellcheck disable=SC2016
	unshare -m bash -c '
		while umount /sys/kernel/tracing 2>/dev/null; do :; done
		while umount /sys/kernel/debug/tracing 2>/dev/null; do :; done
		"$PMCTL" doctor --json >"$T/tracefs.before"
		eval "$(jq -r ".checks[] | select(.name == \"tracefs\") | .remedy" "$T/tracefs.before")"
		"$PMCTL" doctor --json >"$T/tracefs.after"'
	is "$(part "$T/tracefs.before" tracefs status) $(part "$T/tracefs.after" tracefs status)" \
		"limits ok" "tracefs not mounted: the fix mounts it"
	unshare -m bash -c 'mount -t tmpfs none /proc; "$PMCTL" doctor --json >"$T/noproc"'
	like "$(part "$T/noproc" perf_event_paranoid detail)" '/proc' "no /proc: reported"
	is "$(part "$T/noproc" software-events status)" ok "no /proc: events still open"
else
	skip "cannot mount tracefs here" "tracefs not mounted"
fi

# ---- parts -----------------------------------------------------------------------------------
mkdir "$T/alone"
cp "$PMCTL" "$T/alone/"
"$T/alone/pmctl" doctor --json >"$T/missing"
is "$(part "$T/missing" agent status)" limits "agent missing: reported"
like "$(part "$T/missing" agent detail)" "$T/alone" "agent missing: the directory is named"
(
	cd "$T/bin" || exit
	sudo() { "$@"; }
	eval "$(part "$T/missing" agent remedy)"
)
"$T/alone/pmctl" doctor --json >"$T/found"
is "$(part "$T/found" agent status)" ok "agent missing: the fix works" ||
	diag "$(part "$T/missing" agent remedy)"
printf 'pmcagent-version:0.0.9\0' >"$T/version"
objcopy --update-section .pmc.version="$T/version" "$T/alone/libpmcagent.so"
"$T/alone/pmctl" doctor --json >"$T/other"
like "$(part "$T/other" agent status) $(part "$T/other" agent detail)" 'limits .*0\.0\.9.*pmctl' \
	"an agent of another version: reported"
mkdir "$T/broken"
echo nothing >"$T/broken/libpfm.so.4"
LD_LIBRARY_PATH=$T/broken "$PMCTL" doctor --json >"$T/nopfm"
is "$(part "$T/nopfm" libpfm4 status)" limits "libpfm4 cannot be loaded: reported"

# ---- limits ----------------------------------------------------------------------------------
(ulimit -n 64 && exec "$PMCTL" doctor --json) >"$T/fds"
like "$(part "$T/fds" file-descriptors status) $(part "$T/fds" file-descriptors detail)" \
	'limits limit 64, hard limit 64' "64 descriptors: reported"
(
	exec bash -c 'ulimit -n 64; sudo() { "$@"; }
		'"$(part "$T/fds" file-descriptors remedy)"' && exec "$0" doctor --json' "$PMCTL"
) >"$T/more-fds" 2>"$T/err"
if grep -q 'not permitted' "$T/err"; then
	skip "root may not raise limits here" "64 descriptors: the fix works"
else
	is "$(part "$T/more-fds" file-descriptors status)" ok "64 descriptors: the fix works" ||
		diag_file "$T/err" stderr
fi
# Too few descriptors to try the events.
(ulimit -n 4 && exec "$PMCTL" doctor --json) >"$T/none" 2>"$T/err"
is "$? $(jq .hardware "$T/none")" "0 $(jq .hardware "$T/plain")" "four descriptors: no crash" ||
	diag_file "$T/err" stderr
unlike "$(part "$T/none" counters detail)" '[0-9]' "four descriptors: the number of counters is null"
is "$(part "$T/none" user-access detail)" "$(part "$T/plain" user-access detail)" \
	"four descriptors: user access is known"

# ---- run -n: same cause and fix ----------------------------------------------------------------
run as_nobody "$PMCTL" run -n -e cycles:k -- true
if [ "$(id -u)" = 0 ] && [ "$level" = 2 ]; then
	like "$(cat "$T/out")" 'cycles:k: not-permitted \(kernel.perf_event_paranoid is 2.*sysctl -w' \
		"run -n: cause and fix"
else
	skip "needs root and perf_event_paranoid 2" "run -n: cause and fix"
fi

done_testing
