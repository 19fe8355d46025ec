#!/bin/bash
# SPDX-License-Identifier: MIT
# transparent.t - real programs behave the same with and without the agent, and all their threads have
# rows with their names. The expected threads are from perf's record of every fork.
. "$(dirname "$0")/lib.sh"

# Process and thread IDs differ between any two runs.
norm() {
	sed -E -e "s/(thread '[^']*' )\([0-9]+\)/\1(TID)/" "$1"
}

# alike NAME CMD...: run without the agent, with a JSON report to a file, and with a report on stderr.
alike() {
	local name=$1 rc sig n
	shift
	run "$PROG/rusage" "$T/ru0" "$@"
	rc=$(json "$T/ru0" .exit) sig=$(json "$T/ru0" .signal)
	mv "$T/out" "$T/out0"
	norm "$T/err" >"$T/err0"

	rm -f "$T/report.pmc"
	run perf record -q -e dummy -o "$T/perf.data" -- "$PROG/rusage" "$T/ru1" \
		env LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_OUT="$T/report.pmc" "$@"
	norm "$T/err" >"$T/err1"
	"$PMCTL" report --format json "$T/report.pmc" >"$T/report.json"
	same "$T/out0" "$T/out" "$name: same stdout"
	same "$T/err0" "$T/err1" "$name: same stderr"
	is "$(json "$T/ru1" '"\(.exit) \(.signal)"')" "$rc $sig" "$name: same status"

	# Compare the rows with the threads that the kernel created in processes with the agent.
	perf script -i "$T/perf.data" --show-task-events 2>/dev/null |
		sed -nE 's/.*PERF_RECORD_FORK\(([0-9]+):([0-9]+)\):.*/\1 \2/p' | sort -u >"$T/born"
	jq -r '.threads[] | "\(.pid) \(.tid)"' "$T/report.json" 2>/dev/null | sort -u >"$T/rows"
	cut -d' ' -f1 "$T/rows" | sort -u >"$T/pids"
	{
		awk 'NR == FNR { ours[$1]; next } $1 in ours' "$T/pids" "$T/born"
		sed 's/.*/& &/' "$T/pids"
	} | sort -u >"$T/born.ours"
	same "$T/born.ours" "$T/rows" "$name: every thread has a row ($(wc -l <"$T/rows"))"
	jq -c '.threads[] | select(.cpu_ns <= 0 or .name == "" or .name == null)' "$T/report.json" >"$T/odd"
	is "$(wc -l <"$T/odd")" 0 "$name: every row has a name and CPU time" ||
		diag_file "$T/odd" "rows without"

	# The report on stderr must follow the program's own output.
	run "$PROG/rusage" "$T/ru2" env LD_PRELOAD="$AGENT" \
		PMC_EVENTS=task-clock,page-faults "$@"
	same "$T/out0" "$T/out" "$name: same stdout under the report on stderr"
	is "$(json "$T/ru2" '"\(.exit) \(.signal)"')" "$rc $sig" "$name: same status again"
	n=$(wc -c <"$T/err0")
	norm "$T/err" >"$T/err2"
	head -c "$n" "$T/err2" >"$T/err2.own"
	same "$T/err0" "$T/err2.own" "$name: own stderr comes first, whole"
	like "$(tail -c +$((n + 1)) "$T/err2")" '^.?.? pmcagent: ' "$name: then the report" ||
		diag_file "$T/err2" "stderr under the agent"
}

# rows PATTERN COUNT NAME: COUNT rows have names that match PATTERN.
rows() {
	local n
	n=$(names | grep -cE "^$1\$")
	is "$n" "$2" "$3" || diag "names: $(names | tr '\n' ' ')"
}

seq 400000 | sed 's/.*/& the quick brown fox &/' >"$T/big"

alike "xz -T2" xz -T2 --block-size=1MiB -1 -c "$T/big"
rows xz 3 "xz -T2: two workers and main, by name"

shuf --random-source=<(yes) "$T/big" >"$T/shuffled" 2>/dev/null
alike "sort --parallel=2" sort --parallel=2 -S 64M "$T/shuffled"
rows sort 2 "sort --parallel=2: both threads, by name"

javac -d "$T" "$SRC/Threads.java" || diag "javac failed"
alike Java java -Xint -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$T" Threads
for i in 0 1 2 3; do
	rows "java-$i" 1 "Java: thread java-$i, by name"
done
rows 'VM Thread' 1 "Java: the VM's own thread, by name"

alike Node node "$SRC/node_workers.js"
between "$(names | grep -c .)" 9 40 "Node: main, platform and worker threads, by name"

alike python3 python3 "$SRC/py_threads.py"
for i in 0 1 2 3; do
	rows "py-$i" 1 "python3: thread py-$i, by name"
done

# shellcheck disable=SC2016
alike "shell pipeline" sh -c 'seq 20000 | sort -rn | head -n 3; (exit 3) | cat; exit 11'
rows seq 1 "pipeline: seq has rows"
rows head 1 "pipeline: head has rows"

alike std::thread "$PROG/cxx_threads"
for i in 0 1 2 3; do
	rows "cxx-$i" 1 "std::thread: cxx-$i, by name"
done

alike OpenMP "$PROG/omp"
for i in 1 2 3; do
	rows "omp-$i" 1 "OpenMP: omp-$i, by name"
done

alike Rust "$PROG/rust_threads"
for i in 0 1 2 3; do
	rows "rust-$i" 1 "Rust: rust-$i, by name"
done

# The agent must not change a program's exit status.
for how in "exit 0" "exit 77" "_exit 5" "exit_group 6" "signal 15" "signal 9" abort segv; do
	run "$PROG/rusage" "$T/ru0" sh -c "ulimit -c 0; exec $PROG/how $how"
	mv "$T/out" "$T/out0"
	mv "$T/err" "$T/err0"
	run "$PROG/rusage" "$T/ru1" env LD_PRELOAD="$AGENT" PMC_REPORT=off \
		sh -c "ulimit -c 0; exec $PROG/how $how"
	is "$(json "$T/ru1" '"\(.exit) \(.signal)"')" "$(json "$T/ru0" '"\(.exit) \(.signal)"')" \
		"same status: $how"
	same "$T/out0" "$T/out" "same stdout: $how"
	same "$T/err0" "$T/err" "same stderr: $how"
done

# As vsftpd and uWSGI do.
run "$PROG/title"
is "$status $(cat "$T/out")" "0 within the block, page size found" "a program that clears argv and the environment"
run "$PMCTL" run --report off -o "$T/title.pmc" -- "$PROG/title"
is "$status $(cat "$T/out")" "0 within the block, page size found" "the same under pmctl run"
run env -i LD_PRELOAD="$AGENT" PMC_REPORT=off "$PROG/title"
is "$status $(cat "$T/out")" "0 beyond the block, page size not found" \
	"under LD_PRELOAD alone PMC_JOB is outside that block, and what is cleared behind it is memory"

done_testing
