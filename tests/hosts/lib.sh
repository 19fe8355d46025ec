# SPDX-License-Identifier: MIT
# lib.sh - shared by the tests of host programs: compares a suite without the agent, with it, with
# periodic snapshots and with sampling, test by test.
#
# A test is a bash script tests/hosts/NAME.t that defines suites: functions that print a line
# "pass TEST", "fail TEST" or "skip TEST" for each test and start the host through `host`. A suite runs
# in an empty directory; what it writes to stderr is its log.
#
#	compare NAME LEAST SUITE [ARG...]  a TAP line for each of $VARIANTS (agent, interval, sample); LEAST
#	                                   tests must pass without the agent
#	host CMD...                        runs CMD under the variant that is compared
#	check TEST CMD...                  prints "pass TEST" if CMD succeeds, and runs nothing after the
#	                                   first failure; the output of CMD goes to the log
#	free_port                          prints a free TCP port
#	full                               succeeds unless HOSTS=short
#	keep NAME CMD...                   CMD makes files in an empty directory that later runs use again;
#	                                   $KEPT is that directory
#
# A failure is new if a test that passes without the agent fails in three of three runs with it, and
# passes once more without it. Results and logs stay in $O/hosts/$HOSTS.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

HOSTS=${HOSTS:-full}
# What is compared with the bare run; the short part samples only where a test asks for it.
VARIANTS="agent interval"
[ "$HOSTS" = short ] || VARIANTS+=" sample"
RESULTS=$O/hosts/$HOSTS
mkdir -p "$RESULTS"
variant=bare
export TERM=dumb ASAN_OPTIONS=verify_asan_link_order=0
# Hosts that give up root load the agent from a place that they can read, and may write the dump.
install -m 755 "$AGENT" "$T/agent.so"
mkdir -m 777 "$T/dump"
AGENT=$T/agent.so

full() {
	[ "$HOSTS" = full ]
}

host() {
	local with=("LD_PRELOAD=$AGENT" "PMC_OUT=$T/dump/x.pmc" PMC_REPORT=off)
	case $variant in
	bare) with=() ;;
	interval) with+=(PMC_INTERVAL=20ms) ;;
	sample) with+=(PMC_SAMPLE=task-clock/997) ;;
	esac
	env "${with[@]}" "$@"
}

check() {
	if [ -z "${unusable:-}" ] && "${@:2}" >&2; then
		echo "pass $1"
	else
		echo "fail $1"
		[ -n "${unusable:-}" ] || echo "failed: $1: ${*:2}" >&2
		unusable=1
	fi
}

free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

keep() {
	KEPT=${PMC_HOSTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pmcagent-hosts}/$1
	shift
	[ -e "$KEPT/complete" ] && return
	rm -rf "$KEPT"
	mkdir -p "$KEPT"
	(cd "$KEPT" && "$@" && touch "$KEPT/complete") >"$T/keep.log" 2>&1 && return
	echo "Bail out!  $*: $(tail -n 1 "$T/keep.log")"
	exit 1
}

# once FILE SUITE ARG...: results sorted into FILE, log and seconds beside it.
once() {
	local file=$1 from=$SECONDS
	shift
	[ "$variant" = bare ] || rm -f "$T"/dump/*
	rm -rf "$T/work"
	mkdir -m 777 "$T/work"
	: >"$file.log"
	(cd "$T/work" && "$@" 2>>"$file.log" </dev/null) | sort -u >"$file"
	echo $((SECONDS - from)) >"$file.seconds"
}

# Tests that pass: names may repeat, and one failure counts.
passed() {
	comm -23 <(sed -n 's/^pass //p' "$1") <(sed -n 's/^fail //p' "$1")
}

# The number of tests that fail, or that pass bare and are missing.
failures() {
	{
		sed -n 's/^fail //p' "$1"
		comm -23 "$T/good" <(passed "$1")
	} | sort -u | wc -l
}

# Share of CPU time that the rows of the dump explain; unknown if a process ended without its last rows.
coverage() {
	"$PMCTL" report --width 100 "$T/dump/x.pmc" 2>/dev/null | sed -nE 's/^ *coverage ([0-9.]+|unknown).*/\1/p'
}

compare() {
	local name=$1 least=$2 file=$RESULTS/${1//\//-} try seconds covered=
	shift 2
	variant=bare
	for try in 1 2 3; do
		once "$file.bare" "$@"
		passed "$file.bare" >"$T/good"
		[ "$(wc -l <"$T/good")" -lt "$least" ] || break
	done
	seconds=$(cat "$file.bare.seconds")
	if [ "$(wc -l <"$T/good")" -lt "$least" ]; then
		fail "$name without the agent: $least tests pass"
		diag_file "$file.bare" results
		diag "--- the end of the log"
		tail -n 20 "$file.bare.log" | cat -v | sed 's/^/# /' >&2
		return
	fi
	for variant in $VARIANTS; do
		cp "$T/good" "$T/lost"
		for try in 1 2 3; do
			once "$file.$variant" "$@"
			[ $try -gt 1 ] || seconds+=" $(cat "$file.$variant.seconds")" covered+=" $(coverage)"
			comm -23 "$T/lost" <(passed "$file.$variant") >"$T/still"
			mv "$T/still" "$T/lost"
			[ -s "$T/lost" ] || break
		done
		if [ -s "$T/lost" ]; then
			variant=bare once "$file.again" "$@"
			comm -12 "$T/lost" <(passed "$file.again") >"$T/still"
			mv "$T/still" "$T/lost"
		fi
		[ -s "$T/dump/x.pmc" ] || echo "the agent wrote no dump" >>"$T/lost"
		cp "$T/lost" "$file.$variant.lost"
		is "$(head -n 20 "$T/lost")" "" "$name, $variant: no new failure" ||
			diag_file "$file.$variant.log" "log: $file.$variant.log"
	done
	local counts=
	for variant in bare $VARIANTS; do
		counts+=" $(failures "$file.$variant") $variant,"
	done
	diag "$name: $(wc -l <"$file.bare") tests; failures:${counts%,}; seconds: $seconds; coverage in %:$covered"
}
