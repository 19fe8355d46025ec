#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-many.t - many processes append to one dump: every frame is intact, every process has rows.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock PMC_REPORT=off

readable() {
	"$PMCTL" report --format json "$1" >r.json 2>r.err
	is "$? $(cat r.err) $(jq .damaged_frames r.json)" "0  0" "$2: every frame is intact"
}

# ---- 64 jobs at once --------------------------------------------------------------------------
# Each process waits for a line from the pipe before its exec, so that all start together.
mkfifo gate
exec 9<>gate
for i in $(seq 64); do
	# shellcheck disable=SC2016
	LD_PRELOAD=$AGENT PMC_OUT=$T/64.pmc PMC_INTERVAL=5ms sh -c 'read -r _ <&9; exec "$1" 100 200' \
		sh "$PROG/churn" >"o.$i" 2>"e.$i" &
done
yes '' | head -n 64 >&9
wait
exec 9>&-
is "$(cat o.* | sort | uniq -c | tr -s ' ')" " 64 joined 100" "64 processes at once: same output as without the agent"
is "$(cat e.*)" "" "and quiet"
readable 64.pmc "64 processes at once"
is "$(jq '[.processes[] | select(.exe | endswith("churn"))] | length' r.json)" 64 \
	"64 processes at once: all have rows"
is "$(jq '[.threads[] | select(.name == "churn" and .state == "exited")] | length' r.json)" 6464 \
	"64 processes at once: all threads have rows"
is "$(jq '[.processes[] | select(.exe | endswith("churn")) |
	select(.coverage.threads_seen != 101 or .coverage.threads_counted != 101)] | length' r.json)" 0 \
	"64 processes at once: each has its own coverage summary"

# ---- 2,000 processes, one job, as a shell starts them --------------------------------------------
# shellcheck disable=SC2016
PMC_OUT=$T/2000.pmc run agent bash -c 'for i in {1..1000}; do "$1" & "$1"; wait; done; echo all' \
	bash "$(type -P true)"
is "$status $(cat out) $(cat err)" "0 all " "2,000 short processes: same shell output as without the agent"
readable 2000.pmc "2,000 short processes"
is "$(jq '[.processes[] | select((.exe | endswith("/true")) and .how_ended == "exit:0")] | length' r.json)" \
	2000 "2,000 short processes: all have rows"
is "$(jq '[.threads[] | select(.state == "exec")] | length' r.json)" 2000 \
	"2,000 short processes: so have the shell's children before their exec"
is "$(jq '[.threads[] | select(.events[0].state != "counted")] | length' r.json)" 0 \
	"2,000 short processes: every row is counted"

# ---- a file per process --------------------------------------------------------------------------
mkdir each
# shellcheck disable=SC2016
PMC_OUT=$T/each/%e-%p.pmc run agent bash -c 'for i in {1..20}; do "$1"; done' bash "$(type -P true)"
is "$(find each -name 'true-*.pmc' | wc -l)" 20 "%p: a file per process"
"$PMCTL" report --format json each/*.pmc >r.json 2>r.err
is "$(jq '[.processes[] | select(.exe | endswith("/true"))] | length' r.json)" 20 \
	"%p: together the files hold all rows"
is "$(jq '[.processes[] | select(.notes[] | .code == 35).exe | sub(".*/"; "")] | unique[]' r.json) $(ls each/bash-*.pmc | wc -l)" \
	"\"bash\" 21" "%p: the first process notes that a report of one file lacks the others"

done_testing
