#!/bin/bash
# SPDX-License-Identifier: MIT
# badinput.t - bad input: a one-line error and the documented exit code; the host program continues.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
churn="$PROG/churn 3 1000"

# host NAME REGEX: $churn runs normally under the given environment; stderr is one line like REGEX.
# shellcheck disable=SC2086
host() {
	local name=$1 regex=$2
	shift 2
	run env LD_PRELOAD="$AGENT" "$@" $churn
	is "$status $(cat out)" "0 joined 3" "$name: the host continues"
	is "$(wc -l <err)" 1 "$name: one line" || diag_file err stderr
	like "$(cat err)" "$regex" "$name: it names variable and cause"
}

# ---- malformed variables: one line, uncounted ----------------------------------------------
host "unknown event" "PMC_EVENTS.*cylces.*cycles" PMC_EVENTS=cylces
host "malformed list" "PMC_EVENTS" PMC_EVENTS='{cycles,instructions'
host "empty event" "PMC_EVENTS" PMC_EVENTS='task-clock,,cycles'
host "unknown set" "PMC_EVENTS.*@cahce.*@cache" PMC_EVENTS=@cahce
host "PMC_INHERIT" "PMC_INHERIT.*sometimes.*auto, full, clock or off" PMC_INHERIT=sometimes
host "PMC_REPORT" "PMC_REPORT.*nicely.*auto, off, summary, threads, json, csv or html" PMC_REPORT=nicely
host "escape sequences in a value" 'PMC_EVENTS=.*x1b\[31m' PMC_EVENTS=$'\e[31m\r\xe2\x80\xae'
is "$(LC_ALL=C tr -d ' -~\n' <err)" "" "escape sequences in a value are escaped"
host "PMC_LOG" "PMC_LOG.*loud.*error, warn, info or debug" PMC_LOG=loud

# ---- misspelt variables: told once in a job ------------------------------------------------------
host "a misspelt variable" "PMC_EVENT.*PMC_EVENTS" PMC_REPORT=off PMC_EVENT=task-clock
PMC_REPORT=off PMC_OUTT=x PMC_SAMPEL=on PMC_HOME=x PMC_OUTT_OF_RANGE=x run agent sh -c "$churn; $churn"
is "$status $(grep -c . err) $(grep -c 'PMC_OUTT.*PMC_OUT\b' err) $(grep -c 'PMC_SAMPEL.*PMC_SAMPLE' err)" "0 2 1 1" \
	"two misspelt variables and two of others, three processes: two lines" || diag_file err stderr

# ---- PMC_OUT ------------------------------------------------------------------------------
export PMC_EVENTS=task-clock PMC_REPORT=off
echo "my thesis" >thesis.txt
cp thesis.txt thesis.was
host "PMC_OUT is a foreign file" "thesis.txt.*dump" PMC_OUT=thesis.txt
same thesis.was thesis.txt "PMC_OUT is a foreign file: it is unchanged"
mkdir dir
host "PMC_OUT is a directory" "dir" PMC_OUT=dir
host "PMC_OUT in a missing directory" "nowhere/x.pmc" PMC_OUT=nowhere/x.pmc
host "escape sequences in PMC_OUT" 'x1b\[2J' PMC_OUT=nowhere/$'\e[2J\xc2\x9b'.pmc
is "$(LC_ALL=C tr -d ' -~\n' <err)" "" "escape sequences in PMC_OUT are escaped"
ln -s target link.pmc
host "PMC_OUT is a symbolic link" "link.pmc" PMC_OUT=link.pmc
ok "PMC_OUT is a symbolic link: its target is not created" test ! -e target
host "PMC_OUT with an unknown %" "PMC_OUT" PMC_OUT=x%Qy
: >empty.pmc
run env LD_PRELOAD="$AGENT" PMC_OUT=empty.pmc $churn
is "$status $(cat err)" "0 " "an empty file may become a dump"
ok "and does" test -s empty.pmc
run env LD_PRELOAD="$AGENT" PMC_OUT=empty.pmc $churn
is "$("$PMCTL" report --format json empty.pmc | jq '.threads | length')" 8 \
	"a second run appends to it"

# ---- disk full, no permission: the host continues --------------------------------------------
if [ "$(id -u)" -eq 0 ]; then
	drop="setpriv --reuid=65534 --regid=65534 --clear-groups"
else
	drop=
fi
mkdir -m 777 pub
cp "$AGENT" "$PROG/churn" pub/
mkdir -m 755 readonly
[ -n "$drop" ] || chmod 555 readonly
run $drop env LD_PRELOAD="$T/pub/libpmcagent.so" PMC_OUT="$T/readonly/x.pmc" pub/churn 3 1000
is "$status $(cat out)" "0 joined 3" "read-only directory: the host continues"
like "$(cat err)" 'readonly/x.pmc' "read-only directory: one line names it"
is "$(wc -l <err)" 1 "read-only directory: one line only" || diag_file err stderr

# A line of the agent beyond the limit of a file would raise SIGXFSZ.
head -c 1024 /dev/zero >full.log
run sh -c "ulimit -f 1; LD_PRELOAD=$AGENT PMC_EVENTS=none exec sh -c 'exit 3' 2>>full.log"
is "$status $(wc -c <full.log)" "3 1024" "a log at its size limit: the line is left out, the program runs on"
run sh -c "ulimit -f 8; LD_PRELOAD=$AGENT PMC_OUT=small.pmc exec $PROG/churn 2000 100"
is "$status $(cat out)" "0 joined 2000" "file size limit: the agent's write does not kill the host"
"$PMCTL" report --format json small.pmc >small.json 2>/dev/null
is "$(jq '.threads | length > 10' small.json)" true "file size limit: the written part is readable"

run env LD_PRELOAD="$AGENT" PMC_REPORT=threads=/dev/full $churn
is "$status $(cat out)" "0 joined 3" "report to a full device: the host ends normally"
# stderr is closed, or a pipe without a reader.
run sh -c "LD_PRELOAD=$AGENT PMC_REPORT=auto exec $PROG/churn 3 1000 2>&-"
is "$status $(cat out)" "0 joined 3" "stderr closed: the host ends normally"
run bash -c "set -o pipefail; { LD_PRELOAD=$AGENT PMC_REPORT=auto $PROG/churn 3 1000 >out.own; echo \$? >rc; } 2>&1 | true"
is "$(cat rc) $(cat out.own)" "0 joined 3" "report into a closed pipe: the host ends normally"
unset PMC_REPORT PMC_EVENTS

# ---- pmctl -----------------------------------------------------------------------------------
# refuses NAME CODE REGEX CMD...: exit code, nothing on stdout, one line on stderr.
refuses() {
	local name=$1 code=$2 regex=$3
	shift 3
	run "$@"
	is "$status" "$code" "$name: exit $code"
	is "$(wc -c <out)" 0 "$name: nothing on stdout"
	is "$(wc -l <err)" 1 "$name: one line" || diag_file err stderr
	like "$(cat err)" "$regex" "$name: it names the cause"
}
refuses "run: unknown event" 2 'cylces.*cycles' "$PMCTL" run -e cylces -- $churn
refuses "run: bad value" 2 'inherit.*sometimes' "$PMCTL" run --inherit sometimes -- $churn
refuses "run: bad PMC_ value" 2 'PMC_INHERIT.*sometimes' env PMC_INHERIT=sometimes "$PMCTL" run -- $churn
refuses "run: no such command" 127 'no-such-command' "$PMCTL" run -- no-such-command
touch plain.txt
refuses "run: not executable" 126 'plain.txt' "$PMCTL" run -- ./plain.txt
refuses "run: no agent" 125 'nowhere.so' "$PMCTL" run --agent ./nowhere.so -- $churn
refuses "report: missing" 1 'missing.pmc' "$PMCTL" report missing.pmc
: >nil.pmc
refuses "report: empty" 1 'nil.pmc.*empty' "$PMCTL" report nil.pmc
refuses "report: foreign" 1 'thesis.txt' "$PMCTL" report thesis.txt
refuses "report: directory" 1 'dir has no dump' "$PMCTL" report dir
head -c 4000 /dev/urandom >noise.pmc
refuses "report: noise" 1 'noise.pmc' "$PMCTL" report noise.pmc
refuses "merge: missing" 1 'missing.pmc' "$PMCTL" merge missing.pmc -o m.pmc
refuses "merge: foreign" 1 'thesis.txt' "$PMCTL" merge thesis.txt -o m.pmc
refuses "merge refuses a foreign file as output" 1 'thesis.txt' "$PMCTL" merge empty.pmc -o thesis.txt
same thesis.was thesis.txt "merge leaves it unchanged"
refuses "merge: no output" 2 '' "$PMCTL" merge empty.pmc
refuses "mistyped command" 2 'report' "$PMCTL" reprot empty.pmc
refuses "report: unknown column" 2 'cpu' "$PMCTL" report --sort cpuu empty.pmc
refuses "report: unknown format" 2 'json' "$PMCTL" report --format jsn empty.pmc
refuses "report: no file" 2 '' "$PMCTL" report

run bash -c "'$PMCTL' report --format json empty.pmc >/dev/full"
is "$status" 1 "report to a full disk is an error"
like "$(jq -r .error.message err)" 'No space left' "report to a full disk: the error is JSON with --format json"

# A truncated dump is a dump.
head -c $(($(wc -c <empty.pmc) - 20)) empty.pmc >torn.pmc
run "$PMCTL" report --format json torn.pmc
is "$status $(jq .damaged_frames out)" "0 1" "torn tail: exit 0, one damaged frame"
like "$(cat err)" 'damaged' "torn tail: a warning"

done_testing
