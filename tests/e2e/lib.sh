# SPDX-License-Identifier: MIT
# lib.sh - shared by every end-to-end test: paths, TAP output, running programs, reading reports.
#
# A test is a bash script tests/e2e/NAME.t that starts with
#	. "$(dirname "$0")/lib.sh"
# and ends with done_testing. $O is the build directory.
#
#	run CMD...                  runs CMD; sets $status, files $T/out and $T/err
#	agent CMD...                CMD with the agent preloaded (use: run agent CMD, VAR=x agent CMD)
#	json FILE FILTER            jq -r FILTER on a report
#	ok NAME CMD...              passes if CMD succeeds; prints its output if not
#	mostly NAME CMD...          passes if at least 8 of 10 runs of CMD succeed ($least, if it is set);
#	                            stops when that is decided. For what a kernel or a loaded machine may
#	                            spoil now and then
#	is GOT WANT NAME            equal as text
#	like TEXT REGEX NAME        TEXT matches the extended regular expression; unlike: does not
#	between VALUE LOW HIGH NAME numbers, low <= value <= high
#	within VALUE WANT PCT NAME  numbers, |value - want| <= pct % of want
#	same FILE_A FILE_B NAME     equal bytes, else the diff is shown
#	skip REASON NAME            a test this machine cannot run: absent hardware only
#	skip_all REASON             the same for the whole file
#	diag TEXT                   evidence, on stderr with a #
#	refuses CODE REGEX NAME ARGS...
#	                            pmctl ARGS exits with CODE, one line on stderr that matches REGEX, and
#	                            nothing on stdout
#	as_nobody CMD...            CMD without the privilege of root
#	finish                      ends program $pid, which waits for input on descriptor 9
#	with_tracefs                runs the test where tracefs is mounted, or skips it
#	stolen                      time that a hypervisor has taken from all CPUs since boot, in ns
set -u
export LC_ALL=C.UTF-8

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
O=${O:-build}
case $O in /*) ;; *) O=$ROOT/$O ;; esac
AGENT=$O/libpmcagent.so
PMCTL=$O/pmctl
PROG=$O/prog
SRC=$ROOT/tests/prog
if [ -z "${NOTHING_BUILT:-}" ] && { [ ! -e "$AGENT" ] || [ ! -x "$PMCTL" ] || [ ! -d "$PROG" ]; }; then
	echo "Bail out!  no libpmcagent.so, pmctl and prog/ in $O: make all progs first"
	exit 1
fi
T=$(mktemp -d "${TMPDIR:-/tmp}/pmc-e2e.XXXXXX")
chmod 755 "$T"
# The tests do not belong to a job of the caller.
for v in $(compgen -e | grep '^PMC_'); do unset "$v"; done
unset LD_PRELOAD MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
trap 'rm -rf "$T"' EXIT

n_tests=0
n_failed=0
status=0

diag() {
	printf '%s\n' "$*" | sed 's/^/# /' >&2
}

# Evidence of a failing test from a file, at most a screenful.
diag_file() {
	[ -s "$1" ] || return 0
	diag "--- $2"
	head -c 3000 "$1" | head -n 20 | LC_ALL=C cat -v | sed 's/^/# /' >&2
}

# What a failure may depend on, once per file.
diag_machine() {
	[ -z "${machine_shown:-}" ] || return 0
	machine_shown=1
	diag "machine: Linux $(uname -r), $(nproc) CPUs, load $(cut -d' ' -f1-4 /proc/loadavg)," \
		"$(stolen) ns stolen since boot, user ID $(id -u)"
}

# Output of the last program, unless an earlier failure has shown it.
diag_last() {
	local file
	for file in out err; do
		cmp -s "$T/$file" "$T/.shown.$file" && continue
		cp "$T/$file" "$T/.shown.$file" 2>/dev/null && diag_file "$T/$file" "std$file"
	done
	return 0
}

pass() {
	n_tests=$((n_tests + 1))
	echo "ok $n_tests - $1"
}

# finish: closes descriptor 9, at the end of which program $pid ends, and waits for it: $status.
finish() {
	exec 9>&-
	wait "$pid"
	status=$?
}

# fail NAME [EVIDENCE...]: then the output of the last program.
fail() {
	local text
	n_tests=$((n_tests + 1))
	n_failed=$((n_failed + 1))
	echo "not ok $n_tests - $1"
	diag "failed: $1 (${BASH_SOURCE[2]##*/}:${BASH_LINENO[1]})"
	shift
	for text; do
		head -c 3000 <<<"$text" | head -n 20 | LC_ALL=C cat -v | sed 's/^/# /' >&2
	done
	diag_machine
	diag_last
}

ok() {
	local name=$1
	shift
	local rc=0
	"$@" >"$T/.ok" 2>&1 || rc=$?
	if [ $rc -eq 0 ]; then
		pass "$name"
	else
		fail "$name" "exit $rc of: $*"
		diag_file "$T/.ok" output
		return 1
	fi
}

mostly() {
	local name=$1 least=${least:-8} good=0 bad=0
	shift
	while [ $good -lt "$least" ] && [ $bad -le $((10 - least)) ]; do
		if "$@"; then
			good=$((good + 1))
			continue
		fi
		bad=$((bad + 1))
		cat "$T/out" "$T/err" >"$T/.spoilt" 2>/dev/null
	done
	if [ $good -eq "$least" ]; then
		pass "$name"
	else
		fail "$name" "$bad of $((good + bad)) runs failed"
		diag_file "$T/.spoilt" output
		return 1
	fi
}

is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3" "got:  $1" "want: $2"
		return 1
	fi
}

like() {
	if [[ $1 =~ $2 ]]; then
		pass "$3"
	else
		fail "$3" "got:   $1" "wants: $2"
		return 1
	fi
}

unlike() {
	if [[ $1 =~ $2 ]]; then
		fail "$3" "got:        $1" "must lack:  $2"
		return 1
	else
		pass "$3"
	fi
}

between() {
	if awk -v v="$1" -v lo="$2" -v hi="$3" \
		'BEGIN { exit !(v ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ && v + 0 >= lo + 0 && v + 0 <= hi + 0) }'; then
		pass "$4"
	else
		fail "$4" "got:  $1" "want: $2 to $3"
		return 1
	fi
}

within() {
	local lo hi
	lo=$(awk -v w="$2" -v p="$3" 'BEGIN { printf "%.3f", w * (1 - p / 100) }')
	hi=$(awk -v w="$2" -v p="$3" 'BEGIN { printf "%.3f", w * (1 + p / 100) }')
	between "$1" "$lo" "$hi" "$4" || {
		diag "that is $2 within $3 %"
		return 1
	}
}

same() {
	if cmp -s "$1" "$2"; then
		pass "$3"
	else
		fail "$3"
		diff -a -u "$1" "$2" 2>&1 | head -n 30 | cat -v | sed 's/^/# /' >&2
		return 1
	fi
}

skip() {
	n_tests=$((n_tests + 1))
	echo "ok $n_tests - $2 # SKIP $1"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

done_testing() {
	echo "1..$n_tests"
	[ "$n_failed" -eq 0 ] || exit 1
	exit 0
}

run() {
	"$@" >"$T/out" 2>"$T/err"
	status=$?
	return 0
}

agent() {
	LD_PRELOAD=$AGENT "$@"
}

refuses() {
	local code=$1 regex=$2 name=$3
	shift 3
	run "$PMCTL" "$@"
	is "$status" "$code" "$name: exit status $code"
	like "$(cat "$T/err")" "^pmctl[ a-z]*: .*$regex" "$name: the reason"
	is "$(wc -l <"$T/err")/$(cat "$T/out")" 1/ "$name: one line on stderr, nothing on stdout"
}

as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

json() {
	jq -r "$2" "$1"
}

# A JSON report of CMD's threads in $T/report.json; CMD's own output in $T/out and $T/err.
report() {
	local dump=${PMC_OUT:-$T/report.pmc}
	[ -n "${PMC_OUT:-}" ] || rm -f "$dump"
	PMC_REPORT=off PMC_OUT=$dump run agent "$@"
	check_report "$@"
}

# The report of $dump, or $T/report.pmc. A missing or broken one is a failure; the tests after it get an empty one.
check_report() {
	"$PMCTL" report --format json "${dump:-$T/report.pmc}" >"$T/report.json" 2>"$T/report.err"
	jq -e '.threads | length > 0' "$T/report.json" >/dev/null 2>&1 && return
	n_tests=$((n_tests + 1))
	n_failed=$((n_failed + 1))
	echo "not ok $n_tests - a report of: $*"
	diag "failed: no report of: $* (exit $status)"
	diag_machine
	diag_last
	diag_file "$T/report.json" report
	echo '{"processes":[],"threads":[]}' >"$T/report.json"
}

# Names of the rows, sorted, one a line.
names() {
	jq -r '.threads[].name' "${1:-$T/report.json}" | sort
}

# CPU clocks exclude this time, where the hypervisor tells it; the event task-clock includes it.
stolen() {
	awk '/^cpu / { printf "%.0f\n", $9 * 1e7; exit }' /proc/stat
}

# Waits for CMD to succeed, at most two minutes.
await() {
	local end=$((SECONDS + 120))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# with_tracefs: runs the test in a mount namespace of its own, if the system has no tracefs mounted.
with_tracefs() {
	[ -d /sys/kernel/tracing/events ] && return
	[ -z "${MOUNTED:-}" ] && unshare -m mount -t tracefs tracefs /sys/kernel/tracing 2>"$T/err" ||
		skip_all "tracefs cannot be mounted: $(head -n 1 "$T/err")"
	rm -rf "$T"
	MOUNTED=1 exec unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing && exec bash "$@"' sh "$0"
}
