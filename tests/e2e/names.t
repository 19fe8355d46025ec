#!/bin/bash
# SPDX-License-Identifier: MIT
# names.t - names of functions in dumps: reports after the programs are gone or were built again.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

# app NAME [FLAG]: builds a program whose samples are in one line of the function NAME, inlined into its caller
# A loaded machine records one sample for several periods, and warnings about names need ten samples.
app() {
	cat >app.c <<-END
		#include <stdint.h>
		static volatile uint64_t sum;
		static inline __attribute__((always_inline)) void $1(void)
		{
			for (uint32_t i = 0; i < 240000000; i++) sum += i;
		}
		__attribute__((noinline)) static void caller(void) { $1(); __asm__ volatile(""); }
		int main(void) { caller(); return 3; }
	END
	gcc -O1 -g ${2-} -o app app.c
}
# self FILE BY: the key with the largest share of its own
self() {
	"$PMCTL" report --by "$2" --format json "$1" 2>err | jq -r '[.groups[]] | max_by(.self) | .key'
}
bare() { # FILE COMMAND...: a dump without names
	PMC_REPORT=off PMC_SAMPLE=task-clock@1000000 PMC_OUT=$T/$1 LD_PRELOAD=$AGENT "${@:2}"
}

# ---- by pmctl run --------------------------------------------------------------------------------
app before
run "$PMCTL" run --report off --sample task-clock@1000000 -o run.pmc -- ./app
is "$status $(wc -c <"$T/err")" "3 0" "the exit status is the command's"
bare bare.pmc ./app
cp bare.pmc both.pmc
"$PMCTL" merge --names bare.pmc -o named.pmc
run "$PMCTL" run --report off --sample -- ./app
is "$status $(wc -c <"$T/err")" "3 0" "a run without a dump to keep"
run "$PMCTL" run --report off --sample task-clock@1000000 -o '%e.each' -- ./app
like "$(cat "$T/err")" 'get no names of functions; .*merge --names' "a dump for each process has no names, as a warning says"
"$PMCTL" merge --names app.each -o each.pmc
is "$(self each.pmc function)" before "a dump for each process gets names by merge"
for line in app.c:5 5 '*.c*5'; do
	is "$("$PMCTL" report --by line --where "line=$line" --format json run.pmc | jq -r '[.groups[].key | sub(".*/"; "")] | join(" ")')" app.c:5 \
		"a line is selected as tables show it, or by its number: $line"
done
for exe in app "$T/app" '*/ap?'; do
	is "$("$PMCTL" report --where "exe=$exe" --format json run.pmc | jq '.threads | length')" 1 "a program is selected with or without its directory"
done
app after
for file in run.pmc named.pmc; do
	is "$(self $file function) $(wc -c <err)" "before 0" "$file: the function as it was, without a warning"
	like "$(self $file line) $(wc -c <err)" '/app\.c:5 0$' "$file: and its line"
	is "$("$PMCTL" report --by path --format folded $file | grep -c 'main;caller;before [0-9]*$')" 1 "$file: inlined functions have their callers"
done
like "$(self bare.pmc function)" '^app\+0x' "a dump without names has offsets"
like "$(cat err)" 'merge --names' "the warning says how to keep names"
bare other.pmc ./app
is "$(self other.pmc function) $(self run.pmc function)" "after before" "the next build has its own names"
run "$PMCTL" report --by function --format json run.pmc other.pmc
is "$(jq '[.groups[].key] | length - (unique | length)' "$T/out")" 0 "functions of two builds are one row"
"$PMCTL" merge --names bare.pmc -o x.pmc 2>err
like "$(cat err)" 'app is not the file' "merge says whose names it has not found"
rm app
is "$(self run.pmc function) $(wc -c <err)" "before 0" "the program is gone"
like "$(self other.pmc function)" '^app\+0x' "nothing is known without names"

# ---- a name wins over none -----------------------------------------------------------------------
# With its debug file away the function has no name in the dump of the first run.
app hidden
strip --only-keep-debug -o app.debug app && strip app && objcopy --add-gnu-debuglink=app.debug app && mv app.debug away
run "$PMCTL" run --report off --sample task-clock@1000000 -o less.pmc -- ./app
like "$(self less.pmc function)" '^app\+0x' "a stripped program has no names to keep"
is "$(wc -l <err) $(grep -c 'app+0x.*debug symbols.*--symfs' err)" "1 1" "a line says what would give it names"
bare lesser.pmc ./app
run "$PMCTL" diff --by function less.pmc lesser.pmc
is "$(grep -c 'debug symbols' "$T/err")" 1 "one line of two dumps"
is "$(self less.pmc line) $(wc -l <err)" "$(self less.pmc function) 1" "by line, too"
like "$(self less.pmc module) $(wc -l <err)" '/app 0$' "modules need none"
mv away app.debug
"$PMCTL" merge --names less.pmc -o more.pmc
rm app app.debug
like "$(self more.pmc function)" hidden "names that are found later are added"
is "$(wc -c <err)" 0 "of which no warning is left"

# ---- a name without a line -----------------------------------------------------------------------
app plain -g0
run "$PMCTL" run --report off --sample task-clock@1000000 -o plain.pmc -- ./app
is "$(self plain.pmc line)" caller "a program without line information has functions"
like "$(cat err)" 'caller: .*/app ' "a warning says so, once"
is "$(wc -l <err)" 1 "in one line"
is "$(self plain.pmc function) $(wc -c <err)" "caller 0" "but not where no lines are shown"

# ---- local functions of C++ --------------------------------------------------------------------------
cat >local.cc <<-END
	#include <cstdint>
	static volatile uint64_t sum;
	namespace {
	struct Parser { __attribute__((noinline)) void run() { for (uint32_t i = 0; i < 150000000; i++) sum = sum + i; } };
	struct Writer { __attribute__((noinline)) void run() { for (uint32_t i = 0; i < 100000000; i++) sum = sum + i; } };
	}
	int main() { Parser().run(); Writer().run(); return 0; }
END
for flags in -g -g0; do
	g++ -O1 $flags -o local local.cc
	"$PMCTL" run --report off --sample task-clock@1000000 -o local$flags.pmc -- ./local
	is "$("$PMCTL" report --by function --format json local$flags.pmc | jq -r '[.groups[] | select(.samples > 5) | .key] | sort | join(" ")')" \
		"(anonymous namespace)::Parser::run() (anonymous namespace)::Writer::run()" "functions of one name in two classes, $flags"
done

# ---- in containers, and stripped later -----------------------------------------------------------
app before
bare full.pmc ./app
"$PMCTL" merge --names full.pmc -o full-named.pmc
strip app
like "$(self full-named.pmc line)" '/app\.c:5$' "lines are known after the program was stripped"
"$PMCTL" merge --names full-named.pmc -o again.pmc
like "$(self again.pmc line)" '/app\.c:5$' "names of less value do not take their place"

# ---- no build ID -----------------------------------------------------------------------------
app before -Wl,--build-id=none
run "$PMCTL" run --report off --sample task-clock@1000000 -o first.pmc -- ./app
bare none.pmc ./app
is "$(self none.pmc function) $(wc -c <err)" "before 0" "no build ID: a file that has not changed has the names"
app after -Wl,--build-id=none
run "$PMCTL" run --report off --sample task-clock@1000000 -o second.pmc -- ./app
is "$(self first.pmc function) $(self second.pmc function)" "before after" "no build ID: names in the dump are valid"
"$PMCTL" merge first.pmc second.pmc -o two.pmc
is "$("$PMCTL" report --by function --format json two.pmc | jq -r '[.groups[].key | select(. == "before" or . == "after")] | sort | join(" ")')" \
	"after before" "no build ID: each process has the names of its build"
like "$(self none.pmc function) $(wc -l <err)" '^app\+0x[0-9a-f]* 1$' "no build ID: a file that has changed has no names, as one warning says"
"$PMCTL" merge --names none.pmc -o none-named.pmc 2>err
like "$(self none-named.pmc function)" '^app\+0x' "no build ID: merge keeps none of the next build"

# ---- merges ------------------------------------------------------------------------------------
"$PMCTL" merge run.pmc named.pmc both.pmc -o one.pmc
"$PMCTL" merge both.pmc named.pmc run.pmc named.pmc -o two.pmc
same one.pmc two.pmc "merging is commutative and idempotent with names"
is "$(self one.pmc function)" before "a merged dump has names"
"$PMCTL" merge --compact one.pmc -o compact.pmc
is "$(self compact.pmc function)" before "and a compact one"
app before
bare fresh.pmc ./app
"$PMCTL" merge --names fresh.pmc -o x.pmc && "$PMCTL" merge --names - -o - <fresh.pmc >y.pmc
same x.pmc y.pmc "names for a dump from a pipe"
"$PMCTL" merge --names x.pmc -o y.pmc
same x.pmc y.pmc "names are added once"
"$PMCTL" merge x.pmc fresh.pmc -o y.pmc
same x.pmc y.pmc "a dump with names is a superset"

# ---- code that is compiled at run time -----------------------------------------------------------
cp "$PROG/jit" .
run "$PMCTL" run --report off --sample task-clock@1000000 -o jit.pmc -- ./jit
map=$(cat "$T/out")
like "$map" '^/tmp/perf-[0-9]+\.map$' "a program with a perf map"
like "$("$PMCTL" report --by function jit.pmc 2>&1 >out)" '^$' "they have names: no hint"
echo "0 ffffffffffff another_process" >"$map"
is "$(self jit.pmc function)" compiled_at_run_time "its functions have names when another process has written the map"
rm "$map"
is "$(self jit.pmc function)" compiled_at_run_time "and when the map is gone"
map=$(bare large.pmc ./jit)
truncate -s 20G "$map"
is "$(self large.pmc function)" "[unknown]" "a perf map of 20 GiB is not read"
is "$(wc -l <err)" 1 "one warning says that names are missing" || diag_file err stderr
rm "$map"
run "$PMCTL" export --to perf-data -o jit.data jit.pmc
is "$status $(wc -l <"$T/err")" "0 1" "one warning where perf cannot have the names"

bare nameless.pmc ./jit >out
rm "$(cat out)"
for by in function line path; do
	is "$("$PMCTL" report --by $by nameless.pmc 2>&1 >out | grep -c 'perf map.*java.*node')" 1 "--by $by: without a map a line says how to get one"
done
is "$("$PMCTL" report --by module nameless.pmc 2>&1 >out)" "" "modules need none"

# ---- start routines --------------------------------------------------------------------------------
# threads NAME FLAG...: builds a program that starts a thread in the function NAME
threads() {
	cat >threads.c <<-END
		#include <pthread.h>
		static void *$1(void *arg) { return arg; }
		int main(void)
		{
			pthread_t thread;
			pthread_create(&thread, 0, $1, 0);
			return pthread_join(thread, 0);
		}
	END
	gcc -O1 "${@:2}" -o threads threads.c -pthread
}
# start FILE: the start routine of its one thread, without address and callers
start() { "$PMCTL" report --by start --format json "$1" 2>err | jq -r '[.groups[].key | select(. != "(main)") | sub("0x.*| <.*"; "")] | join(" ")'; }
for flag in -pie -no-pie; do
	threads before $flag; rm -f *.pmc
	run "$PMCTL" run --report off -o start.pmc -- ./threads
	is "$status $(wc -c <"$T/err")" "0 0" "a program with a thread, $flag"
	run "$PMCTL" run --report off --sample --append -o start.pmc -- ./threads
	bare late.pmc ./threads
	PMC_STACKS=on bare stacks.pmc ./threads
	for file in late stacks; do "$PMCTL" merge --names $file.pmc -o $file-named.pmc; done
	strip threads
	is "$(start start.pmc) $(start late-named.pmc) $(start stacks-named.pmc)" "before before before" "the start routine has its name after the program was stripped"
	is "$(start late.pmc)" "threads+" "a dump without names has the offset"
	threads after $flag
	is "$(start start.pmc) $(start late-named.pmc)" "before before" "and after it was built again"
	for file in late stacks; do "$PMCTL" merge --names $file.pmc -o other-$file.pmc 2>err; done
	rm threads
	is "$(start start.pmc) $(start late-named.pmc)" "before before" "the program is gone"
	is "$(start other-late.pmc) $(start other-stacks.pmc)" "threads+ threads+" "the names of another build are not kept"
done
"$PMCTL" merge --names start.pmc -o x.pmc && "$PMCTL" merge --compact x.pmc -o y.pmc
is "$(start y.pmc)" before "merges keep the name"

# ---- waits and creation ----------------------------------------------------------------------------
PMC_REPORT=off PMC_STACKS=on PMC_EVENTS= PMC_OUT=$T/s.pmc LD_PRELOAD=$AGENT "$PROG/samples" threads 50
"$PMCTL" merge --names s.pmc -o s2.pmc
is "$(cmp -s s.pmc s2.pmc; echo $?)" 1 "stacks of thread creation get names, too"
run "$PMCTL" run --report off --sample -o %p.pmc -- "$PROG/samples" leaf 50
like "$status $(cat "$T/err")" "^0 .*merge --names adds them$" "dumps of each process stay without names, and a warning says so"

done_testing
