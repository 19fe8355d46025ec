#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-hosts.t - language run times, other preloaded libraries, setuid and static programs: they run
# as without the agent, with rows or with a one-line reason for no rows.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock PMC_REPORT=off

# alike NAME ROWS CMD...: same stdout, stderr and status; at least that many counted rows.
alike() {
	local name=$1 rows=$2
	shift 2
	rm -f x.pmc
	run timeout -k 1 100 "$@"
	status0=$status
	mv out out0
	mv err err0
	PMC_OUT=$T/x.pmc run timeout -k 1 100 env "LD_PRELOAD=${PRE:-$AGENT}" "$@"
	is "$status" "$status0" "$name: same status ($status0)"
	same out0 out "$name: same stdout"
	same err0 err "$name: same stderr"
	"$PMCTL" report --format json x.pmc >r.json 2>r.err
	is "$? $(cat r.err)" "0 " "$name: the dump is whole"
	between "$(jq '[.threads[] | select(.cpu_ns > 0 and .events[0].state == "counted")] | length' r.json)" \
		"$rows" 999 "$name: its threads are counted" ||
		diag "$(jq -c '.threads[] | [.name, .state, .cpu_ns, .events[0].state]' r.json)"
}

# ---- run times -----------------------------------------------------------------------------------
javac -nowarn -d "$T" "$SRC/Threads.java" 2>err || diag_file err javac
alike "JVM, C2 and G1" 10 java -XX:+UseG1GC -cp "$T" Threads
if command -v go >/dev/null && GOCACHE=$T/gocache GO111MODULE=off CGO_ENABLED=1 \
	go build -o cgo "$SRC/cgo.go" 2>err; then
	alike "Go with cgo" 1 ./cgo
	# Go ends by its own exit_group system call, which cannot be interposed: rows come from periodic
	# snapshots. It replaces the handlers of most signals, but not of the lowest real-time one.
	mkfifo hold
	go_rows() {
		"$PMCTL" report --format json x.pmc >r.json 2>r.err &&
			jq -e --arg name "$1" '[.threads[] | select(.name == $name and .cpu_ns > 0 and
				.events[0].state == "counted")] | length >= 3' r.json
	}
	# held NAME ARG...: the program, with snapshots, until its threads have rows.
	held() {
		rm -f x.pmc
		PMC_INTERVAL=20ms PMC_OUT=$T/x.pmc LD_PRELOAD=$AGENT "./$@" <hold >out 2>err 9>&- &
		pid=$!
		exec 9>hold
		ok "Go, $1: its threads are counted, with PMC_INTERVAL" await go_rows "$1" ||
			diag "$(jq -c '.threads[] | [.name, .state, .cpu_ns, .events[0].state]' r.json)"
		exec 9>&-
		wait $pid
	}
	held cgo wait
	is "$? $(tail -n 1 out)" "0 recovered: true" "Go with cgo: it continues and ends normally"
	GOCACHE=$T/gocache GO111MODULE=off go build -o gonet "$SRC/gonet.go"
	held gonet
	is "$? $(cat out err)" "0 " "Go with package net: it ends normally"
	run "$PMCTL" run --report json=children.json -- ./gonet "$PROG/churn" 2 10 </dev/null
	is "$status $(jq -r '[.processes[].exe | sub(".*/"; "")] | join(" ")' children.json)" "0 gonet churn" \
		"Go with package net: programs that it starts are in the report of pmctl run"
	run "$PMCTL" run --report json=static.json -- ./gonet "$PROG/burn_static" 50 </dev/null
	ok "Go with package net: the CPU time of static programs that it starts is in the report of pmctl run" \
		jq -e '.processes[0].coverage.descendants_cpu_ns > 40000000' static.json
else
	ok "a Go toolchain with cgo is installed (sh tests/deps.sh check)" false
fi
for lib in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	path=$(ldconfig -p | awk -v l=$lib '$1 == l { print $NF; exit }')
	if [ -z "$path" ]; then
		ok "$lib is installed (sh tests/deps.sh check)" false
		continue
	fi
	PRE="$path:$AGENT" alike "$lib first" 21 "$PROG/churn" 20 1000
	PRE="$AGENT:$path" alike "$lib after" 21 "$PROG/churn" 20 1000
	PRE="$AGENT:$path" alike "$lib, fork and exec" 20 "$PROG/cases" exec-all "$PROG/cases"
done

# ---- raw clones, small stacks --------------------------------------------------------------------
alike "RTLD_DEEPBIND plug-in" 1 "$PROG/dl_main" deepbind "$PROG/dl_module"
alike "stacks of 16 KiB" 21 "$PROG/smallstack"
PMC_EVENTS=task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults \
	PMC_INTERVAL=1ms alike "stacks of 16 KiB, 6 events, snapshots" 21 "$PROG/smallstack"

# ---- setuid --------------------------------------------------------------------------------------
if [ "$(id -u)" -eq 0 ] && ! findmnt -no OPTIONS -T "$T" | grep -q nosuid; then
	cp "$PROG/churn" suid
	chmod 4755 suid
	cp "$AGENT" agent.so
	mkdir -m 777 nobody
	run setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$T/agent.so" \
		PMC_OUT="$T/nobody/x.pmc" ./suid 20 1000
	is "$status $(cat out)" "0 joined 20" "setuid: same output as without the agent"
	is "$(cat nobody/x.pmc 2>/dev/null)" "" "setuid: no agent, no file owned by root"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$PMCTL" run --agent "$T/agent.so" \
		-o "$T/nobody/y.pmc" -- ./suid 20 1000
	is "$status $(cat out)" "0 joined 20" "setuid under pmctl run: same output as without the agent"
	is "$(grep -c 'setuid' err)" 1 "setuid under pmctl run: one line gives the reason for no rows" ||
		diag_file err stderr
else
	skip "not root, or nosuid" "setuid"
fi
run "$PMCTL" run -e task-clock -- "$PROG/burn_static"
is "$status" 0 "a static program under pmctl run: its status"
like "$(cat err)" 'static' "a static program under pmctl run: one line gives the reason for no rows" ||
	diag_file err stderr
run "$PMCTL" run --report off -o static.pmc -- "$PROG/burn_static" 20
run "$PMCTL" report static.pmc
is "$(grep -cE 'unattributed .* [0-9]+ +[0-9]+ +[0-9]+$' out) $(grep -c 'children' out)" "1 0" \
	"its faults and switches are in the table, as it had no children" || diag_file out

# ---- a static launcher that uses two CPUs --------------------------------------------------------
run "$PMCTL" run -e task-clock --report json=r.json -- "$PROG/burn_static" 300 "$PROG/pages" 10
is "$status $(jq -c '[.processes[] | [(.exe | sub(".*/"; "")), .coverage.cpu_ns > 600e6]]' r.json)" \
	'0 [["pages",true]]' "a static launcher that execs is the same process" || diag_file r.json
is "$(jq '.processes[0] | .end_ns - .start_ns > 300e6' r.json)" true "its start is that of the launcher"

done_testing
