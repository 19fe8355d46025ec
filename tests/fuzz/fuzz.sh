#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh [NAME...] - runs the fuzz targets for FUZZ_SECONDS each, two at a time, or keeps new inputs.
#
# Each target starts from tests/fuzz/corpus/NAME and $O/corpus/NAME, where new inputs are stored. An
# input that crashes a target is kept in $O/crashes/NAME, and the exit status is 1. FUZZ_KEEP=1 runs
# nothing, but adds a minimal set of inputs that reach new code to tests/fuzz/corpus. FUZZ_SEED=N starts
# from that seed, with the corpus alone, and ends after RUNS inputs: nearly the same inputs each time.
set -u
cd "$(dirname "$0")/../.." || exit 1
case ${O:=build-fuzz} in /*) ;; *) O=$PWD/$O ;; esac
seconds=${FUZZ_SECONDS:-60}
corpus=$PWD/tests/fuzz/corpus
# Some 20 s each on an idle machine.
declare -A RUNS=([attach]=40000 [config]=900000 [db]=100000 [dump]=30000 [elf]=150000 [events]=150000
	[format]=40000 [macho]=300000 [record]=300000)
# In memory if possible: some targets write files for each input, and libFuzzer ends them without
# their exit handlers.
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
tmp=$(mktemp -d -p "$shm" pmc-fuzz.XXXXXX)
export TMPDIR=$tmp
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
# Leaks are findings. allocator_may_return_null: a refused allocation is an ordinary error.
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for f in "$O"/fuzz/fuzz_*; do
		case $f in *.d | *'*') ;; *) names+=("${f##*/fuzz_}") ;; esac
	done
fi
if [ ${#names[@]} -eq 0 ]; then
	echo "fuzz: no targets in $O/fuzz" >&2
	exit 1
fi

# one NAME: runs one target; output in $tmp/NAME.log, exit status in $tmp/NAME.rc.
one() {
	local options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -close_fd_mask=3
		-print_final_stats=1 -artifact_prefix="$O/crashes/$1/")
	mkdir -p "$O/corpus/$1" "$O/crashes/$1" "$corpus/$1"
	[ ! -e "tests/fuzz/$1.dict" ] || options+=(-dict="$PWD/tests/fuzz/$1.dict")
	touch "$tmp/$1.start"
	if [ -n "${FUZZ_SEED:-}" ]; then
		mkdir "$tmp/$1.new"
		options+=(-seed="$FUZZ_SEED" -runs="${RUNS[$1]}")
		# In the order of names, not of the directory; the same addresses for the inputs' tables.
		options+=(-seed_inputs="$(find "$corpus/$1" -type f | LC_ALL=C sort | paste -sd,)")
		setarch -R "$O/fuzz/fuzz_$1" "${options[@]}" "$tmp/$1.new" >"$tmp/$1.log" 2>&1
	else
		"$O/fuzz/fuzz_$1" "${options[@]}" "$O/corpus/$1" "$corpus/$1" >"$tmp/$1.log" 2>&1
	fi
	echo $? >"$tmp/$1.rc"
}

# Keep inputs with descriptive names: seeds written by hand, past findings.
keep() {
	local new=$tmp/$1.new
	mkdir -p "$O/corpus/$1" "$corpus/$1" "$new"
	find "$corpus/$1" -type f | grep -vE '/[0-9a-f]{40}$' | xargs -rd '\n' cp -t "$new"
	"$O/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=0 -close_fd_mask=3 "$new" "$corpus/$1" "$O/corpus/$1" \
		>"$tmp/$1.log" 2>&1 || {
		tail -n 20 "$tmp/$1.log"
		return 1
	}
	rm -r "${corpus:?}/$1"
	cp -r "$new" "$corpus/$1"
	echo "$1: $(find "$corpus/$1" -type f | wc -l) inputs, $(du -sb "$corpus/$1" | cut -f1) bytes"
}

if [ -n "${FUZZ_KEEP:-}" ]; then
	for name in "${names[@]}"; do
		keep "$name" || exit 1
	done
	exit 0
fi

echo "fuzz: ${#names[@]} targets, $seconds s each: ${names[*]}"
for name in "${names[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "${FUZZ_JOBS:-2}" ]; do
		wait -n
	done
	one "$name" &
done
wait

failed=0
for name in "${names[@]}"; do
	if [ "$(cat "$tmp/$name.rc")" -eq 0 ]; then
		awk -v name="$name" '/stat::number_of_executed_units/ { runs = $2 }
			/stat::new_units_added/ { new = $2 } / cov: / { cov = $0; sub(/.* cov: /, "", cov) }
			END { split(cov, c, " ")
			      printf "%-8s %10d inputs, %6d points reached, %5d new, no finding\n", name, runs, c[1], new }' \
			"$tmp/$name.log"
		continue
	fi
	failed=1
	echo "$name: A FINDING"
	# The report without progress lines, with our part of the stack.
	grep -vE '^#[0-9]+[[:space:]]|NEW_FUNC|^INFO:|^stat::|^0x|^Base64|/usr/|sysdeps|fuzzer::' \
		"$tmp/$name.log" | cut -c1-200 | head -n 40
	find "$O/crashes/$name" -type f -newer "$tmp/$name.start" |
		sed "s|^|again: $O/fuzz/fuzz_$name |"
done
exit $failed
