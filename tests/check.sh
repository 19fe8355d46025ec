#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh [unit|e2e|vm|hosts|deb|all] - runs the tests by prove and lists what was skipped and why.
set -u
cd "$(dirname "$0")/.." || exit 1
export O=${O:-build}
what=${1:-all}
tap=$(mktemp -d)
trap 'rm -rf "$tap"' EXIT

unit=()
e2e=()
for t in "$O"/unit/test_*; do
	case $t in *.d | *'*') ;; *) [ -x "$t" ] && unit+=("$t") ;; esac
done
for t in tests/*.t tests/e2e/*.t; do
	[ -e "$t" ] && e2e+=("$t")
done
# Nothing is downloaded here: make macos has fetched the headers, or the test is left to .ci/run.
if [ -e "$O/macos/sdk/done" ]; then
	e2e+=(tests/macos/build.t)
	export MACOS_ONCE=1
fi
vm=()
for t in tests/vm/*.t; do
	[ -e "$t" ] && vm+=("$t")
done

case $what in
unit) tests=("${unit[@]}") ;;
e2e) tests=("${e2e[@]}") ;;
vm) tests=("${vm[@]}") ;;
deb) # not part of all; most of its time is the network's
	tests=(tests/packages/*.t)
	export CHECK_LIMIT=${CHECK_LIMIT:-1800}
	;;
# Not part of all. The full suites take more than an hour, one at a time.
hosts)
	tests=(tests/hosts/*.t)
	[ "${HOSTS:-full}" = short ] || CHECK_JOBS=1 CHECK_LIMIT=14400
	export CHECK_LIMIT=${CHECK_LIMIT:-900}
	;;
# The emulated machines last: each needs a core, but not an idle machine.
all) tests=("${unit[@]}" "${e2e[@]}" "${vm[@]}") ;;
*)
	echo "usage: check.sh [unit|e2e|vm|hosts|deb|all]" >&2
	exit 2
	;;
esac
if [ ${#tests[@]} -eq 0 ]; then
	echo "check: no tests found for '$what' in $O" >&2
	exit 1
fi

# prove runs each test through this script, which keeps copies of its TAP and of its stderr for the
# lists of skips and failures. Two pipes have no common order, so these are two files.
cat >"$tap/exec" <<'END'
#!/bin/bash
export CMOCKA_MESSAGE_OUTPUT=TAP
case $1 in *.t) cmd=(bash "$1") ;; *) cmd=("$1") ;; esac
# A test that hangs fails at CHECK_LIMIT seconds, without stopping the tests after it.
copy=$TAP_DIR/${1//\//+}.tap
# cmocka prints "skip: REASON", then "not ok N # SKIP TEST", which prove takes for a failure.
timeout -k 5 "${CHECK_LIMIT:-600}" "${cmd[@]}" 2> >(exec tee -a "${copy%.tap}.err" >&2) | awk '
	/^skip: / { why = substr($0, 7) }
	/^not ok [0-9]+ # SKIP / { $0 = "ok " $3 " - " $6 " # SKIP " why }
	{ print; fflush() }' | tee -a "$copy"
exit "${PIPESTATUS[0]}"
END
chmod +x "$tap/exec"
export TAP_DIR=$tap

prove -j"${CHECK_JOBS:-2}" --timer --exec "$tap/exec" "${tests[@]}" 2>&1 | tee "$tap/prove.log"
rc=${PIPESTATUS[0]}
rebuilt=$(find "$O/pmctl" "$O/libpmcagent.so" -newer "$tap/exec" 2>/dev/null)
if [ -n "$rebuilt" ]; then
	echo "check: the tests rebuilt $rebuilt, while other tests used it" >&2
	rc=1
fi

skips=$(grep -Hi '# *skip' "$tap"/*.tap 2>/dev/null |
	sed -e 's|^.*[/+]\([^/+]*\)\.tap:|\1: |' -e 's/ok [0-9]* - //')
if [ -n "$skips" ]; then
	echo "Skipped:"
	printf '%s\n' "$skips" | sed 's/^/  /'
	tail -n 2 "$tap/prove.log"
fi

# evidence NAME: failed tests, comments and sanitizer reports of a test file; else its last lines.
evidence() {
	{
		awk '/^not ok/ && !/# *(SKIP|T[O]DO)/ { on = 1; n = 0 } /^ok/ { on = 0 }
			on && (/^not ok/ || (/^ *#/ && ++n <= 12))' "$1.tap"
		grep -aE '^ *#|(ERROR|WARNING|SUMMARY): [A-Z][A-Za-z]*Sanitizer|: runtime error: ' "$1.err"
	} >"$1.evidence" 2>/dev/null
	[ -s "$1.evidence" ] || tail -q -n 4 "$1.tap" "$1.err" >"$1.evidence" 2>/dev/null
	cut -c1-300 "$1.evidence" | sed 's/^/    /'
}

if [ "$rc" -ne 0 ]; then
	echo "Failed:"
	sed -n 's/^\([^ ]*\) *(Wstat: \(.*\) Tests: .*/\1 \2/p' "$tap/prove.log" | while read -r file how; do
		echo "  $file: wait status $how"
		evidence "$tap/${file//\//+}" | head -n 60
	done
fi
exit "$rc"
