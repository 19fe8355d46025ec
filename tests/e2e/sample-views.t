#!/bin/bash
# SPDX-License-Identifier: MIT
# sample-views.t - functions, lines and paths of a sampled program, beside perf's; large dumps.
. "$(dirname "$0")/lib.sh"

# ---- a program with 20 paths of equal shares -----------------------------------------------------
tree=$PROG/call_tree
run "$PMCTL" run --sample task-clock/4999 --report off -o "$T/tree.pmc" -- "$tree" 100000
is "$status" 0 "a program is sampled"

run "$PMCTL" report --by path --format json "$T/tree.pmc"
cp "$T/out" "$T/tree.json"
# paths FILE: of each path with more than 1 % of the samples its share, from main on
paths() {
	jq -r '.sampling.samples as $all | .groups[] | select(.samples > $all / 100) |
		[.samples / $all * 100, (.key | split(";") | .[index("main"):] | join(";"))] | @tsv' "$1" |
		sort -k2
}
paths "$T/tree.json" >"$T/ours"
is "$(wc -l <"$T/ours")" 20 "there are 20 paths"
# Some processors run one of the loops in 0.6 of the time: memory renaming. perf is compared below.
is "$(awk '$1 < 2 || $1 > 8' "$T/ours")" "" "each has its share"
is "$(jq '.sampling | .samples > 1000 and .weight > 0 and .frequency == 4999' "$T/tree.json")" true \
	"JSON says what was sampled"

run "$PMCTL" report --by function --format csv --columns key,total_pct "$T/tree.pmc"
like "$(cat "$T/out")" $'\nround_of_work,(9[89]|100)' "a caller has what it called"
like "$(cat "$T/out")" $'\ncount,' "an inlined function has a row"
run "$PMCTL" report --by line "$T/tree.pmc"
like "$(cat "$T/out")" 'call_tree\.c:[0-9]+ ' "lines have their file"
run "$PMCTL" report --by module --format json "$T/tree.pmc"
is "$(jq '[.groups[].samples] | add' "$T/out")" "$(jq .sampling.samples "$T/tree.json")" "samples of modules add up to all"
is "$(jq '.groups[0] | .key == .module and (.key | endswith("/call_tree")) and .self_pct > 90' "$T/out")" true \
	"the program has most"
run "$PMCTL" report --by path --bottom-up --top 3 "$T/tree.pmc"
is "$status" 0 "a tree from the functions to their callers"


# ---- code without unwind tables -------------------------------------------------------------------
cat >"$T/bare.c" <<-'END'
	static volatile unsigned long sum;
	__attribute__((noinline)) static void spin(void) { for (long i = 0; i < 100000000; i++) sum += i; }
	int main(void) { spin(); __asm__ volatile(""); return 0; }
END
gcc -O1 -fomit-frame-pointer -fno-asynchronous-unwind-tables -o "$T/bare" "$T/bare.c"
run "$PMCTL" run --sample --report off -o "$T/bare.pmc" -- "$T/bare"
"$PMCTL" report --by function "$T/bare.pmc" >"$T/out"
like "$(cat "$T/out")" 'truncated stack.*--unwind fp' "code without unwind tables: the table says why callers are missing"
"$PMCTL" report --by function "$T/tree.pmc" >"$T/out"
unlike "$(cat "$T/out")" '--unwind fp' "and of other code nothing"

# ---- for flame graph tools -----------------------------------------------------------------------
run "$PMCTL" report --by path --format folded "$T/tree.pmc"
is "$status" 0 "folded paths"
is "$(awk '{ n += $NF } END { print n }' "$T/out")" "$(jq .sampling.samples "$T/tree.json")" \
	"their counts add up to all samples"
is "$(grep -cvE '^\(main\);.* [1-9][0-9]*$' "$T/out")" 0 "each is below the thread's name"
run "$PMCTL" report --by function --format folded "$T/tree.pmc"
is "$status" 2 "functions cannot be folded"
like "$(cat "$T/err")" '--by tree' "the error says what can"

cp "$tree" "$T/stripped" && strip "$T/stripped"
# Without pmctl run, which would keep in the dump that there are no names.
PMC_REPORT=off PMC_SAMPLE=task-clock/4999 PMC_OUT=$T/stripped.pmc run agent "$T/stripped" 20000
run "$PMCTL" report --by function "$T/stripped.pmc"
like "$(cat "$T/out")" 'stripped\+0x[0-9a-f]+ ' "functions of a stripped program have an offset"
cp "$PROG/tree" "$T/stripped"
run "$PMCTL" report --by function "$T/stripped.pmc"
like "$(cat "$T/err")" "build ID differs" "a program of another build is not used"
rm "$T/stripped"
run "$PMCTL" report --by function "$T/stripped.pmc"
like "$(cat "$T/err")" "stripped" "a program that is gone is named"

# ---- the same paths by perf ------------------------------------------------------------------
if perf record -q -e task-clock:u -F 4999 --call-graph dwarf,4096 -o "$T/perf.data" \
	"$tree" 100000 >/dev/null 2>"$T/perf.err"; then
	perf script -i "$T/perf.data" -F ip,sym 2>/dev/null | perl -ne '
		if (/^\s*[0-9a-f]+ (.*)/) {
			my $name = $1;
			$name =~ s/ \(inlined\)$//;
			unshift @stack, $name;
		} elsif (@stack) {
			my ($from) = grep { $stack[$_] eq "main" } 0 .. $#stack;
			$count{join ";", @stack[($from // 0) .. $#stack]}++;
			$all++;
			@stack = ();
		}
		END {
			for (keys %count) { printf "%f\t%s\n", 100 * $count{$_} / $all, $_ if $count{$_} > $all / 100 }
		}' | sort -k2 >"$T/perf"
	is "$(cut -f2 "$T/ours")" "$(cut -f2 "$T/perf")" "perf finds the same paths"
	is "$(paste "$T/ours" "$T/perf" | awk '$1 - $3 > 2 || $3 - $1 > 2')" "" \
		"their shares are within 2 points"
else
	skip "perf cannot record: $(tail -n 1 "$T/perf.err")" "perf finds the same paths"
fi

# ---- a million samples of 10,000 threads -----------------------------------------------------
"$O/bench/gen_samples" 10000 1000000 >"$T/large.pmc"
# peak KEY: kilobytes of memory that the report takes
peak() {
	python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
		"$T/large.csv" "$PMCTL" report --by "$1" --format csv --columns samples "$T/large.pmc"
}
for key in function path; do
	kb=$(peak $key)
	between "${kb:-0}" 1 500000 "--by $key of a million samples takes less than 500 MB"
	is "$(awk 'NR > 1 { n += $1 } END { print n }' "$T/large.csv")" 1000000 "none is lost"
done

done_testing
