#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.t - replays every input of tests/fuzz/corpus through its fuzz target, so that past findings
# stay fixed.
NOTHING_BUILT=1 # needs neither agent nor pmctl
. "$(dirname "$0")/e2e/lib.sh"
export TMPDIR=$T

for source in "$ROOT"/tests/fuzz/fuzz_*.c; do
	name=${source##*/fuzz_}
	name=${name%.c}
	inputs=("$ROOT/tests/fuzz/corpus/$name"/*)
	if [ ! -e "${inputs[0]}" ]; then
		fail "$name: the corpus has inputs"
		continue
	fi
	run "$O/fuzz/replay_$name" "${inputs[@]}"
	is "$status" 0 "$name: replay of ${#inputs[@]} inputs exits with status 0" || {
		diag "the last of these: $(tail -n 1 "$T/out")"
		tail -n 20 "$T/err" >"$T/last"
		diag_file "$T/last" stderr
	}
done
is "$(du -sb "$ROOT/tests/fuzz/corpus" | awk '{ print $1 < 1048576 ? "below" : $1 }')" below \
	"tests/fuzz/corpus is smaller than 1 MiB"

done_testing
