#!/bin/bash
# SPDX-License-Identifier: MIT
# diff.t - pmctl diff: differences between dumps, incomparable dumps, refusals.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

record() { run "$PMCTL" run --report off "$@"; }
diff_() { run "$PMCTL" diff "$@"; }
# of KEY NAME FIELD: of the JSON in $T/out.
of() { jq -r --arg k "$1" --arg n "$2" ".rows[] | select(.key == \$k) | .events[] | select(.name == \$n) | $3" "$T/out"; }

for i in 1 2 3; do
	record -e page-faults -o a$i.pmc -- "$PROG/faults" 2
	record -e page-faults -o b$i.pmc -- "$PROG/faults" 3
done
# Thread i touches 1,000 + 500 i pages.
diff_ a1.pmc b1.pmc --format json
is "$status" 0 "two dumps"
between "$(of 'fault-*' page-faults .delta)" 2490 2520 "the difference of a pool is its new thread's count"
is "$(of 'fault-*' threads '"\(.a) \(.b) \(.delta_pct)"')" "2 3 50" "threads are counted"
is "$(of '(main)' threads .delta)" 0 "other rows are unchanged"
is "$(jq '[.rows[].events[] | select(.name == "cpu_ns").delta | fabs] | . == (sort | reverse)' out)" true \
	"the largest change of CPU time comes first"
is "$(jq '[.total[].events[]|select(.name=="threads")|.delta][0]' out)" 1 "the last row is the total"
is "$(of 'fault-*' cpu_ns .significant)" null "one dump a side has no interval"

diff_ a1.pmc a2.pmc a3.pmc --vs b1.pmc b2.pmc b3.pmc --format json
is "$(of 'fault-*' page-faults .significant)" true "several dumps a side: a significant difference"
like "$(of 'fault-*' page-faults .ci_pct)" '^[0-9.]+$' "has an interval"
diff_ a1.pmc a2.pmc a3.pmc --vs b1.pmc b2.pmc b3.pmc
like "$(cat out)" '\*' "the table marks a significant difference"
is "$(cat "$T/err")" "" "without a warning"
diff_ a1.pmc a2.pmc a3.pmc a1.pmc --vs b1.pmc b2.pmc b3.pmc
like "$(cat err)" 'a1\.pmc is left out: its runs are in other dumps' "one dump twice on a side: a warning"
mv out twice
diff_ a1.pmc a2.pmc a3.pmc --vs b1.pmc b2.pmc b3.pmc
is "$(cat twice)" "$(cat out)" "and the dump counts once"
head -c -20 a1.pmc >cut.pmc
diff_ cut.pmc a2.pmc a3.pmc --vs b1.pmc b2.pmc --format json
is "$status $(of 'fault-*' threads .a)" "0 2" "a damaged dump among several is left out"
like "$(cat err)" 'cut.pmc is left out, since it is damaged' "which a warning says"
diff_ cut.pmc a1.pmc
is "$status" 0 "one damaged dump a side is compared"
run "$PMCTL" merge -o sums.pmc a1.pmc a2.pmc
diff_ sums.pmc b1.pmc
like "$(cat out)" 'sums of 2 runs in A and 1 in B' "different numbers of runs in two dumps are told"
diff_ a1.pmc b1.pmc
unlike "$(cat out)" 'sums of' "equal ones are not"
diff_ a1.pmc b1.pmc --vs a1.pmc b2.pmc
is "$(cat "$T/err")" "" "one dump on both sides: no warning"
for i in {1..13}; do
	record -o "two-$i.pmc" -- "$PROG/faults" 2
	record -o "three-$i.pmc" -- "$PROG/faults" 3
done
# Threads of A: 9 x 2, 2 x 3; of B: 6 x 2, 5 x 3. The middle half of A has no spread.
diff_ two-{1..9}.pmc three-{1..2}.pmc --vs two-{1..6}.pmc three-{1..5}.pmc --format json
is "$(of 'fault-*' threads '(.delta / .a * 100 - .delta_pct | fabs) < 1e-3')" true "delta and percentage are of the same means"
is "$(of 'fault-*' threads '"\(.a * 11 | round) \(.b * 11 | round)"')" "24 27" "means where one side cannot be trimmed"
# 13 x 2, 7 x 3 and 11 x 2, 9 x 3 without 5 of each end: 2 and 4 of 10.
diff_ two-{1..13}.pmc three-{1..7}.pmc --vs two-{1..11}.pmc three-{1..9}.pmc --format json
is "$(of 'fault-*' threads '"\(.a) \(.b)"')" "2.2 2.4" "trimmed means where both sides can be"
is "$(of 'fault-*' threads '(.delta / .a * 100 - .delta_pct | fabs) < 1e-3')" true "with their percentage"
# The shell's descendants are the other dumps of its job.
for side in a b; do
	record -o "$side-%j/%p.pmc" -- sh -c '"$1" 1 & "$1" 2 & wait' sh "$PROG/faults"
done
diff_ a-* b-* --format json
mv out whole.json
diff_ --a 'a-*/*' --b 'b-*/*' --format json
is "$(find a-*/ -name '*.pmc' | wc -l) $(jq -c .rows out)" "3 $(jq -c .rows whole.json)" "the dumps of a job are one run"
diff_ a1.pmc a1.pmc --format json
is "$(jq '[.rows[].events[].delta | select(. != 0)] | length' out)" 0 "a dump does not differ from itself"

record -o shell.pmc -- sh -c '"$1" 2 & wait' sh "$PROG/faults"
run "$PMCTL" report --format json shell.pmc
processes=$(jq -c '[.processes | (map(.minor_faults + .major_faults), map(.voluntary_switches), map(.involuntary_switches)) | add]' out)
diff_ shell.pmc shell.pmc --format json
is "$(jq -c '[.total[0].events[] | select(.name == ("page_faults", "voluntary_switches", "involuntary_switches")) | .b]' out)" \
	"$processes" "faults and switches of the total are those of the processes"

# ---- --by, --fail-above, forms -----------------------------------------------------------------
diff_ --by name a1.pmc b1.pmc --format json
is "$(jq -r '.rows[] | select(.key == "fault-3") | .side' out)" new "a thread of one side only is new"
diff_ --by name a1.pmc b1.pmc
is "$(sed -n '/^  fault-3/,/^  [^ ]/p' out | awk '{ print $NF }' | sort -u | tr '\n' ' ' | grep -o new)" new "which the table says"
diff_ --by name b1.pmc a1.pmc --format json
is "$(jq -r '.rows[] | select(.key == "fault-3") | .side' out)" gone "or gone"
is "$(of fault-3 page-faults .b)" 0 "a thread of one side only: its values on the other side are 0"
diff_ --fail-above 10 a1.pmc b1.pmc
is "$status" 1 "--fail-above: more page faults"
# CPU time counts too, and half the work may take longer on a busy machine.
diff_ --fail-above 1000 b1.pmc a1.pmc
is "$status" 0 "--fail-above: fewer"
cp out table
for size in 4k 4M; do
	record -o "dd-$size.pmc" -- dd status=none if=/dev/zero of=/dev/null count=1 bs=$size
done
diff_ dd-4k.pmc dd-4M.pmc
like "$(cat out)" ' page-faults ' "page faults that take less time than the threshold"
is "$(grep '^  [^ ]' out | grep -Ev '^  thread  | cpu ')" "" "CPU time of each row is there: it adds up to the total's"
diff_ --top 1 a1.pmc b1.pmc
like "$(cat out)" '[0-9]+ others? +cpu' "--top leaves rows out and says so"
run "$PMCTL" report --diff b1.pmc a1.pmc
same out table "report --diff is the same"
mkdir a-directory-with-a-long-name && cp "$PROG/faults" a-directory-with-a-long-name/
record -e page-faults -o long.pmc -- "$T/a-directory-with-a-long-name/faults" 2
diff_ --by exe --width 80 long.pmc a1.pmc
is "$(grep -E '^.{81}' out)" "" "--width: lines fit"
COLUMNS=80 diff_ --by exe long.pmc a1.pmc
is "$(grep -E '^.{81}' out)" "" "COLUMNS: lines fit"
diff_ --by exe --width 60 long.pmc a1.pmc
is "$(grep -E '^.{61}' out)" "" "--width 60: lines fit"
diff_ --all --width 50 a1.pmc a2.pmc a3.pmc --vs long.pmc b2.pmc b3.pmc
is "$(grep -E '^.{51}' out)" "" "--width 50: lines with intervals fit"
like "$(cat out)" 'columns not shown: B - A' "a line names the columns that did not fit"
LC_ALL=C COLUMNS=60 diff_ --all a1.pmc a2.pmc a3.pmc --vs long.pmc b2.pmc b3.pmc
is "$(LC_ALL=C grep -E '^.{61}|[^ -~]' out)" "" "the same in ASCII"
diff_ --width 1 long.pmc a1.pmc
is "$status" 2 "--width: too small"
diff_ --all a1.pmc b1.pmc
like "$(cat out)" 'page-faults +3,[0-9]{3} +6,[0-9]{3} +\+2,[0-9]{3} ' "counts are printed exactly, as in reports"
units() { awk '$1 ~ /^cpu$/ || $2 ~ /^cpu$/ { sub(/.*cpu /, ""); print $1, length($2) - index($2, ".") }' out | sort -u | wc -l; }
is "$(units)" 1 "times have one unit and one number of decimals in all rows"
is "$(awk '/^  [^ ]/ { key = $1 } / page-faults / { print key }' out | sort | uniq -d)" "" \
	"page faults have one line where an event counts them, too"
like "$(cat out)" ' vol +[0-9]' "context switches are named as in reports"
diff_ a1.pmc b1.pmc --format csv
is "$(python3 -c 'import csv; print({len(r) for r in csv.reader(open("out"), strict=True)})')" "{9}" "CSV"

for format in table csv jsonl markdown; do
	diff_ a1.pmc b1.pmc --where 'key=fault-*' --where name=threads --format $format -o "$T/chosen"
	is "$status $(grep -c 'threads.*2.*3' chosen) $(grep -c total chosen)" "0 1 0" "--where, -o: $format"
done
diff_ a1.pmc b1.pmc --where key=fault
is "$status" 1 "--where that no row meets"
like "$(cat err)" "mean 'fault-\*'" "names the nearest"
diff_ a1.pmc b1.pmc -o a1.pmc
is "$status" 2 "-o does not overwrite a dump"
for flag in --sort=a --columns=a --where=a=1; do
	diff_ a1.pmc b1.pmc "$flag" --format json
	is "$status $(wc -l <err)" "2 1" "$flag with JSON, whose rows are whole: refused"
done
diff_ a1.pmc b1.pmc --sort a --columns a --format csv
is "$(tail -n +2 out | head -n -7 | sort -rn)" "$(tail -n +2 out | head -n -7)" "--sort"

# ---- incomparable dumps --------------------------------------------------------------------------
record -e task-clock -o clock.pmc -- "$PROG/faults" 2
diff_ a1.pmc clock.pmc
like "$(cat out)" 'page-faults was counted on side A only' "different events: a note names them"
diff_ a1.pmc clock.pmc --format json
is "$(of 'fault-*' page-faults .delta)" null "different events: no difference is formed"
record -e page-faults:u -o user.pmc -- "$PROG/faults" 2
diff_ a1.pmc b1.pmc --format json
unlike "$(cat out)" 'nan|inf' "no number is undefined"

record --start off -e page-faults -o off.pmc -- "$PROG/faults" 3
diff_ off.pmc b1.pmc --format json
is "$(jq -c '[.rows[], .total[] | .events[] | select(.name != "threads") | .a, .delta] | unique' out)" "[null]" \
	"a side that was never counted has no value"
like "$(cat err)" "could be compared.*side A" "a warning names it"
diff_ --fail-above 10 b1.pmc off.pmc
is "$status" 1 "--fail-above: a side that was never counted"

# ---- samples -------------------------------------------------------------------------------------
record --sample task-clock@1000000 -o leaf.pmc -- "$PROG/samples" leaf 200
record --sample task-clock@1000000 -o deep.pmc -- "$PROG/samples" deep 200
run "$PMCTL" report --by function --format json deep.pmc
deepest=$(jq '[.. | objects | select(.function? == "deep_60") | .total] | .[0]' out)
diff_ --by function --format json leaf.pmc deep.pmc
is "$(jq -r '.rows[] | select(.key == "deep_60") | .side' out)" new "samples: a function of one side only"
is "$(of deep_60 'task-clock total' .b)" "${deepest:-none}" "samples: the time of a function is that of report"
is "$(jq '([.rows[].events[] | select(.name == "task-clock self") | .delta] | add) -
	(.total[0].events[] | select(.name == "task-clock self") | .delta)' out)" 0 "samples: differences add up to the total's"
is "$(jq '[.rows[].events[] | select(.name == "cpu_ns")] | length' out)" 0 "samples: no other columns"
diff_ --by function leaf.pmc deep.pmc
like "$(cat out)" 'function +A +B' "samples: a table of functions"
like "$(cat out)" 'deep_60 +task-clock total ms' "samples: with a line of what it calls"
diff_ --by line leaf.pmc deep.pmc
like "$(cat out)" 'samples\.c:[0-9]+ ' "samples: source lines"
unlike "$(cat out)" '/samples\.c:' "samples: a table has the last part of a path"
diff_ --by line --format json leaf.pmc deep.pmc
is "$(jq '[.rows[].key | test("/samples\\.c:[0-9]+$")] | any' out)" true "samples: JSON has the whole path"
record --sample task-clock@1000000 -o deeper.pmc -- "$PROG/samples" deeper 200
"$PMCTL" report --by function --format json deeper.pmc >sampling
diff_ --by function --format json leaf.pmc deeper.pmc
is "$(jq -c '[.samples_a > 0, .incomplete_a < .samples_a / 10, .samples_b, .incomplete_b]' out)" \
	"$(jq -c '.sampling | [true, true, .samples, .incomplete]' sampling)" "samples: how many stacks of each side are truncated"
is "$(jq '.sampling | .incomplete > 50' sampling)" true "which most of one side are"
diff_ --by function leaf.pmc deeper.pmc
like "$(tr -s ' \n' ' ' <out)" "B deeper.pmc: [^;]*; [^;]* truncated .* totals .* cannot be compared" "samples: a table says so, and what cannot be compared"
# The loader knows the library by a link.
mkdir lib
cp -L "$(ldd "$PROG/samples" | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')" lib/libc-2.so
ln -s libc-2.so lib/libc.so.6
LD_LIBRARY_PATH=$PWD/lib record --sample task-clock@1000000 -o linked.pmc -- "$PROG/samples" leaf 50
diff_ --by module --all leaf.pmc linked.pmc
like "$(cat out)" ' libc-2\.so +task-clock' "samples: a module has the name of its file"
# The shell has no samples, but CPU time of its own, and its children's after their rows.
record --sample task-clock@1000000 -o tree.pmc -- sh -c "i=0; while [ \$i -lt 40 ]; do /bin/true; i=\$((i + 1)); done; $PROG/samples leaf 50"
"$PMCTL" report --by function tree.pmc >out
share=$(sed -n 's/.* samples by task-clock.*: \([0-9.]* % of [0-9.]* m*s CPU\) .*/\1/p' out)
diff_ --by function leaf.pmc tree.pmc
like "$(tr -s ' \n' ' ' <out)" "B tree.pmc: .*, ${share:-none}" "samples: their share of CPU time is that of report"
diff_ --by function deep.pmc deeper.pmc --vs deep.pmc deeper.pmc
unlike "$(cat out)" "cannot be compared" "samples: not where both sides have as many"
mkdir moved && cp "$PROG/samples" moved && record --sample task-clock@1000000 -o moved.pmc -- moved/samples deep 200
diff_ --by module --format json leaf.pmc moved.pmc
is "$(jq -r '.rows[] | select(.key == "samples") | .side' out)" both "samples: a module in another directory"
diff_ --by module leaf.pmc moved.pmc
like "$(cat out)" 'module +A +B' "samples: a table of modules"
diff_ --by function --fail-above 10 leaf.pmc leaf.pmc
is "$status" 0 "samples: --fail-above, nothing changed"
record --sample task-clock@1000000000 -o sampleless.pmc -- "$PROG/churn" 1 10
for lacking in a1 sampleless; do
	diff_ --by function --fail-above 10 $lacking.pmc leaf.pmc
	is "$status" 1 "samples: --fail-above fails if A has none ($lacking)"
	like "$(cat err)" "side A has no samples" "and says so"
	diff_ --by function --fail-above 10 leaf.pmc $lacking.pmc
	is "$status" 1 "samples: --fail-above fails if B has none ($lacking)"
	like "$(cat err)" "side B has no samples" "and says so"
done
record --sample page-faults@1 -o faulted.pmc -- "$PROG/faults" 2
diff_ --by function --fail-above 10 leaf.pmc faulted.pmc
is "$status $(wc -l <err)" "1 1" "samples: --fail-above fails if they are of different events"
diff_ --by function a1.pmc leaf.pmc
is "$status" 0 "samples: without --fail-above this is no failure"
like "$(cat out)" 'task-clock self was counted on side B only' "samples on one side only: a note"
for lacking in a1 sampleless; do
	diff_ --by function --format json leaf.pmc $lacking.pmc
	is "$status $(wc -l <err)" "0 1" "samples on one side only: a warning ($lacking)"
	like "$(jq -r .warning.message err)" "$lacking.pmc" "which names the dump"
done
diff_ --by function leaf.pmc faulted.pmc
like "$(cat err)" 'no event in common' "samples of different events: a warning says so"
diff_ --by function leaf.pmc deep.pmc
is "$(wc -c <err)" 0 "samples on both sides: no warning"
diff_ --by function --format json leaf.pmc a1.pmc --vs leaf.pmc
is "$(of leaf 'task-clock self' .delta) $(grep -c 'a1.pmc' err)" "0 1" "a dump without samples among several: left out, a warning names it"
diff_ --by function --event cycles leaf.pmc deep.pmc
is "$status $(grep -c cycles err)" "2 1" "--event without samples: the message names it"
# A program that is rebuilt in place.
for part in 100:200 300:200; do
	[ ! -e app ] || { mkdir -p "kept$T" && mv app "kept$T/app"; }
	cat >app.c <<-END
		#include <time.h>
		static void burn(long ms)
		{
			struct timespec t;
			do
				for (volatile int i = 0; i < 20000; i++)
					;
			while (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) && t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
		}
		__attribute__((noinline)) void early(void) { burn(${part%:*}); __asm__(""); }
		__attribute__((noinline)) void late(void) { burn(${part%:*} + ${part#*:}); __asm__(""); }
		int main(void) { early(); late(); return $((${part%:*})) > 1000; }
	END
	gcc -O1 -g -o app app.c
	record --sample task-clock@1000000 -o "app${part%:*}.pmc" -- "$T/app"
	PMC_REPORT=off PMC_SAMPLE=task-clock@1000000 PMC_OUT=$T/bare${part%:*}.pmc LD_PRELOAD=$AGENT "$T/app"
done
grown='(.a > 50e6 and .b > 200e6 and .delta > 0)'
diff_ --by function --format json app100.pmc app300.pmc
is "$status $(of early 'task-clock total' "$grown") $(wc -c <err)" "0 true 0" "names are in the dumps of pmctl run"
is "$(jq -c '[.rows[] | [.events[].delta // 0 | fabs] | max] | (max / 20) as $some | map(. >= $some) | . == (sort | reverse)' out)" true \
	"functions whose totals changed come before those that hardly did"
for format in json csv; do
	diff_ --by function --top 1 --format $format app100.pmc app300.pmc
	is "$(if [ $format = json ]; then jq '.rows | length' out; else tail -n +2 out | cut -d, -f1 | grep -v ^total | sort -u | wc -l; fi)" 1 \
		"--top in $format"
done
diff_ --by function --symfs "$T/missing" app100.pmc app300.pmc
is "$status $(wc -l <err)" "2 1" "--symfs: a directory that is not there"
diff_ --by function --format json bare100.pmc bare300.pmc
is "$(jq -r '.rows[] | select(.key == "early") | .side' out)" new "a dump without names, and another file at its place"
like "$(cat err)" 'build ID' "which a warning says"
diff_ --by function --symfs "$T/kept" --format json bare100.pmc bare300.pmc
is "$status $(of early 'task-clock total' "$grown") $(wc -c <err)" "0 true 0" "--symfs: older files, and the machine's own"
run "$PMCTL" run --report off --sample --off-cpu -o waits.pmc -- sh -c '"$1" leaf 100; sleep 0.1' sh "$PROG/samples"
if [ "$status" = 0 ]; then
	diff_ --by function --format json waits.pmc waits.pmc
	is "$(jq -r '[.rows[].events[].name] | unique | map(select(startswith("off-cpu"))) | length' out)" 0 "waits are not compared"
	diff_ --by function --event off-cpu --format json waits.pmc waits.pmc
	is "$(jq -r '[.rows[].events[].name] | unique | join(" ")' out)" "off-cpu self off-cpu total" "unless they are asked for"
fi
diff_ --event off-cpu a1.pmc b1.pmc
is "$status $(wc -l <err)" "2 1" "--event without --by function: refused"
diff_ --by function a1.pmc b1.pmc
is "$status $(wc -l <err)" "2 1" "no samples: refused"
diff_ --by path leaf.pmc deep.pmc
is "$status $(wc -l <err)" "2 1" "trees of calls: refused"

# ---- refused -------------------------------------------------------------------------------------
diff_ a1.pmc
is "$status" 2 "one dump"
diff_ a1.pmc a2.pmc a3.pmc
is "$status" 2 "three dumps without --vs"
diff_ a1.pmc --vs
is "$status" 2 "nothing after --vs"
diff_ a1.pmc --vs b1.pmc --vs b2.pmc
is "$status" 2 "two --vs"
diff_ --by thread a1.pmc b1.pmc
is "$status" 2 "a key that differs in every run is refused"
diff_ --by nonesuch leaf.pmc deep.pmc
keys=$(sed -n 's/.*; give //; s/ or / /; s/,//gp' err)
like "$keys" "pool.* line" "an unknown key: the message lists keys"
for key in $keys; do
	diff_ --by "$key" leaf.pmc deep.pmc
	[ "$key" = region ] && status=$((status - 2)) # they have none
	is "$status" 0 "each of them is accepted: $key"
done
diff_ --by pol a1.pmc b1.pmc
like "$(cat err)" "pool" "a mistyped key: the nearest is suggested"
diff_ a1.pmc /etc/passwd
is "$status" 1 "no dump"
diff_ none.pmc also-none.pmc
is "$status $(wc -l <err)" "1 2" "each missing file is named"

done_testing
