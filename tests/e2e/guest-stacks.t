#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-stacks.t - ticks and samples in programs with unusual stacks, cancellations and changes of
# user ID: shared and unmapped alternate stacks, coroutines, libraries of Go code. And in programs that
# unmap memory to map it again, or emulate system calls.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock PMC_REPORT=off

# guest VARIABLE OUTPUT NAME CMD...: CMD prints OUTPUT, exits with 0, and leaves a whole dump.
guest() {
	local variable=$1 output=$2 name=$3
	shift 3
	rm -f x.pmc
	PMC_OUT=$T/x.pmc run env "$variable" LD_PRELOAD="$AGENT" timeout -s KILL 300 "$@"
	is "$status $(cat out)" "0 $output" "$name, $variable" || diag_file err stderr
	"$PMCTL" report --format json x.pmc >r.json 2>r.err
	is "$? $(cat r.err)" "0 " "$name, $variable: the dump is whole"
}

for variable in PMC_INTERVAL=10ms PMC_SAMPLE=task-clock/997 PMC_SAMPLE=task-clock/4999; do
	guest $variable "shared: 0 wrong" "threads share one alternate stack" "$PROG/stacks" shared
	guest $variable "handler: 0 wrong" "threads share an alternate stack that a handler uses" "$PROG/stacks" handler
	guest $variable "unmapped: 0 wrong" "alternate stacks that are unmapped" "$PROG/stacks" unmapped
	guest $variable "coroutines: 0 wrong" "coroutines with stacks of 16 KiB" "$PROG/stacks" coroutines
	guest $variable "0 taken" "nothing is mapped where the program has unmapped memory" "$PROG/holes"
	guest $variable "$("$PROG/dispatched")" "system calls that the program emulates" "$PROG/dispatched"
done
for rate in 997 4999; do
	guest PMC_SAMPLE=task-clock/$rate "400 cancelled, 0 bad children" \
		"threads are cancelled while they compute" "$PROG/cancelled" 100
	guest PMC_SAMPLE=task-clock/$rate "0 failed" "setuid beside threads that compute" "$PROG/setids" 300
done

# on_stack CMD...: how often a handler of the agent's own signal was set to use alternate stacks.
on_stack() {
	PMC_INTERVAL=100ms PMC_OUT=$T/x.pmc strace -f -o trace -E LD_PRELOAD="$AGENT" -e trace=rt_sigaction \
		-e signal=none "$@" >out 2>err
	grep -cE 'SIGRT_2, \{sa_handler=0x[^}]*SA_ONSTACK[^}]*\}' trace
}
# Code of OCaml 5, Erlang and Poly/ML runs on small stacks, too.
for function in caml_try_realloc_stack enif_make_atom polymain; do
	if echo "void $function(void) { } int main(void) { return 0; }" |
		"${CC:-cc}" -rdynamic -x c -o small - 2>err; then
		is "$(on_stack ./small)" 1 "alternate stacks are used in a program that exports $function"
	else
		skip "$(head -n 1 err)" "a program that exports $function"
	fi
done
is "$(on_stack "$PROG/stacks" shared)" 0 "alternate stacks are not used in other programs"

# Go requires alternate stacks, and ends the program if a handler runs on another one.
if command -v go >/dev/null && GOCACHE=$T/gocache GO111MODULE=off CGO_ENABLED=1 \
	go build -buildmode=c-shared -o golib.so "$SRC/golib.go" 2>err; then
	want=$("$PROG/go_host" ./golib.so)
	for variable in PMC_INTERVAL=4ms PMC_SAMPLE=task-clock/4999; do
		guest $variable "$want" "a library of Go code, loaded late" "$PROG/go_host" ./golib.so
	done
	is "$(on_stack "$PROG/go_host" ./golib.so)" 1 "alternate stacks are used once Go code is loaded"
else
	ok "a Go toolchain with cgo is installed (sh tests/deps.sh check)" false
fi
done_testing
