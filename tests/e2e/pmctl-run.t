#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl-run.t - pmctl run keeps the command's exit status and output, and writes a report and a dump.
. "$(dirname "$0")/lib.sh"

mkdir "$T/tmp" && export TMPDIR=$T/tmp

# ---- exit status -------------------------------------------------------------------------
run "$PMCTL" run -- sh -c 'exit 7'
is "$status" 7 "exit status passes through"
run "$PMCTL" run -- true
is "$status" 0 "success passes through"
run "$PMCTL" run true
is "$status" 0 "-- is optional"
run "$PMCTL" run --report off -- sh -c 'kill -TERM $$'
is "$status" 143 "death by SIGTERM passes through"
run "$PMCTL" run --report off -- sh -c 'kill -SEGV $$'
is "$status" 139 "death by SIGSEGV passes through"
run "$PMCTL" run --report off -- sh -c 'kill -KILL $$'
is "$status" 137 "death by SIGKILL passes through"
is "$(python3 -c '
import subprocess, sys
print(subprocess.run([sys.argv[1], "run", "--report", "off", "--", "sh", "-c",
                      "kill -USR1 $$"]).returncode)' "$PMCTL")" -10 \
	"pmctl is killed by the same signal instead of exiting with 128 + n"

run "$PMCTL" run -- "$T/there-is-no-such-thing"
is "$status" 127 "a missing command: exit status 127"
is "$(cat "$T/err")" \
	"pmctl run: cannot run command '$T/there-is-no-such-thing': not found" "a missing command: one line names it"
run "$PMCTL" run -- no-such-command-in-path
is "$status" 127 "a command not in PATH: exit status 127"
echo data >"$T/data"
run "$PMCTL" run -- "$T/data"
is "$status" 126 "a file without execute permission: exit status 126"
is "$(wc -l <"$T/err")" 1 "a file without execute permission: one line on stderr"
run "$PMCTL" run -- "$T"
is "$status" 126 "a directory as command: exit status 126"
printf '#!/no/such/interpreter\n' >"$T/unrunnable" && chmod 755 "$T/unrunnable"
run "$PMCTL" run -- "$T/unrunnable"
is "$status" 127 "a script whose interpreter is missing: exit status 127"
like "$(cat "$T/err")" "'$T/unrunnable': its interpreter /no/such/interpreter is missing$" "a script whose interpreter is missing: the message names it"
run env PATH="$T:$PATH" "$PMCTL" run -- unrunnable
like "$status $(cat "$T/err")" "^127 .*'unrunnable': its interpreter /no/such/interpreter is missing$" "a script in PATH whose interpreter is missing: the same message"

# ---- transparency ------------------------------------------------------------------------
head -c 300000 /dev/urandom >"$T/bytes"
"$PMCTL" run -- cat "$T/bytes" >"$T/copy" 2>"$T/err"
same "$T/bytes" "$T/copy" "the command's stdout is unchanged"
like "$(cat "$T/err")" "pmcagent" "the report goes to stderr"
"$PMCTL" run -- cat <"$T/bytes" >"$T/copy" 2>/dev/null
same "$T/bytes" "$T/copy" "stdin is passed to the command"
run "$PMCTL" run --report off -- sh -c 'echo out; echo err >&2'
is "$(cat "$T/out")" out "--report off: stdout is unchanged"
is "$(cat "$T/err")" err "--report off: stderr is unchanged"
run "$PMCTL" run --report off -- ls --help
like "$(cat "$T/out")" "Usage: ls" "flags after the command are passed to the command"
# A program without the agent inherits no event descriptors from pmctl or from a program with the agent.
there='env -u LD_PRELOAD sh -c "ls /proc/self/fd | wc -l"'
is "$("$PMCTL" run --report off -e cycles,task-clock -- sh -c "$there")" "$(sh -c "$there")" \
	"a program without the agent inherits no descriptors of pmctl or the agent"
for how in '' 'trap "" INT PIPE CHLD;' 'trap "" HUP TERM;'; do
	plain=$(bash -c "$how exec grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status")
	under=$(bash -c "$how exec '$PMCTL' run --report off -- grep -E '^Sig(Blk|Ign)' /proc/self/status")
	is "$under" "$(grep -v SigCgt <<<"$plain")" "signal mask and ignored signals are unchanged: ${how:-none}"
done

# ---- dump --------------------------------------------------------------------------------
cd "$T" || exit 1
run "$PMCTL" run -o kept.pmc -- sh -c 'cd /; exit 3'
is "$status" 3 "-o: exits with the status of the command"
ok "-o: a relative dump path is in the directory where pmctl was started" test -s kept.pmc
is "$(stat -c %a kept.pmc)" 600 "-o: the dump has mode 0600"
size=$(stat -c %s kept.pmc)
cp kept.pmc first.pmc
run "$PMCTL" run --report "json=$T/second.json" -o kept.pmc --append -- sh -c 'exit 4'
ok "--append: the run is appended to the dump" test "$(stat -c %s kept.pmc)" -gt "$size"
is "$(json second.json '[.processes[].how_ended] | join(" ")')" exit:4 \
	"--append: the report has this run only"
PMC_OUT=first.pmc run "$PMCTL" run --report off -- true
ok "PMC_OUT: the run is appended to the dump" test "$(stat -c %s first.pmc)" -gt "$size"
is "$(cat "$T/err")" "" "PMC_OUT: appending prints no message"
cp kept.pmc first.pmc
run "$PMCTL" run --report off -o kept.pmc -- sh -c 'exit 5'
same first.pmc kept.pmc.old "-o: an existing dump is kept as FILE.old"
like "$(cat "$T/err")" "kept.pmc exists.*kept.pmc.old.*--append" "-o: one line names FILE.old and --append"
is "$("$PMCTL" report --format json kept.pmc | jq -r '[.processes[].how_ended] | join(" ")')" exit:5 \
	"-o: the dump has this run only"
run "$PMCTL" run --report off -o kept.pmc -- "$T/there-is-no-such-thing"
same first.pmc kept.pmc.old "-o with a missing command: FILE.old is unchanged"
run "$PMCTL" run --report off -o kept.pmc -- true
like "$(cat "$T/err")" "kept.pmc.old, which replaces an older one" "-o: the message says that an older FILE.old is replaced"
cp kept.pmc kept.was
cp kept.pmc.old old.was
echo "no program" >noexec
run "$PMCTL" run -o kept.pmc -- ./noexec
is "$status" 126 "-o with a command that cannot be executed: exit status 126"
same kept.was kept.pmc "-o with a command that cannot be executed: the dump is unchanged"
same old.was kept.pmc.old "-o with a command that cannot be executed: FILE.old is unchanged"
run "$PMCTL" run -o none.pmc -- ./noexec
is "$([ -e none.pmc ] && echo there)" "" "-o with a command that cannot be executed: no dump is created"
run "$PMCTL" run -o both.pmc --report json=both.json -- \
	sh -c "/bin/true; $PMCTL run -o both.pmc --report off -- /bin/true; exit 3"
like "$(cat "$T/err")" "both.pmc is being written by another pmctl run: appending" "-o naming a dump that another pmctl run writes: appended to, not renamed"
is "$status $(jq '[.processes[] | select(.how_ended == "running")] | length' both.json) $([ -e both.pmc.old ] && echo old)" \
	"3 0 " "-o naming a dump that another pmctl run writes: both runs have ended, no FILE.old"
echo precious >kept.pmc.old
run "$PMCTL" run --report off -o kept.pmc -- touch "$T/ran"
is "$status $(cat kept.pmc.old)" "125 precious" "a FILE.old that is not a dump is not replaced: exit status 125"
run "$PMCTL" run --append -- touch "$T/ran"
is "$status" 2 "--append without -o: exit status 2"
run "$PMCTL" run --sample=bogus -- touch "$T/sampled"
is "$status $(ls "$T/sampled" 2>/dev/null)" "2 " "--sample with an unknown event: exit status 2, nothing started"
for cmd in ls "$PROG/churn"; do
	run "$PMCTL" run --sample "$cmd"
	is "$status" 2 "--sample takes $cmd for an event: exit status 2"
	like "$(cat "$T/err")" 'a program.*--sample=EVENT.*--sample --' "--sample takes $cmd for an event: the error says how to give a command"
done
mkdir "$T/path" && cp "$(type -P true)" "$T/path/task-clock"
run env PATH="$T/path:$PATH" "$PMCTL" run --sample task-clock --report off -- task-clock
is "$status" 0 "--sample with an event that has the name of a program"
for sample in task-clock@20000 task-clock/20000; do
	run "$PMCTL" run --report off --sample=$sample -- true
	like "$status $(cat "$T/err")" "^0 .*--sample=$sample" "--sample=$sample: a warning"
done
run "$PMCTL" run --sample=task-clock@100000 -- true
unlike "$(cat "$T/err")" "warning" "--sample=task-clock@100000: no warning"
like "$(cat "$T/err")" "keep this run: add -o run.pmc" "a run that is not kept: the hint says how"
for mode in errno nosys kill; do
	run "$PROG/seccomp" $mode "$PMCTL" run --report off --sample=task-clock -- touch "$T/ran.$mode"
	is "$status $(ls "$T/ran.$mode")" "0 $T/ran.$mode" "--sample where perf_event_open fails ($mode): the command runs"
	like "$(cat "$T/err")" "task-clock.*--sample.*seccomp" "--sample where perf_event_open fails ($mode): a warning gives the reason"
	is "$(wc -l <"$T/err")" 1 "--sample where perf_event_open fails ($mode): in one line"
done
run "$PMCTL" run --report off --unwind fp -- true
like "$status $(cat "$T/err")" "^0 .*--unwind.*--sample" "--unwind alone: a warning"
for flags in --sample --off-cpu "--stacks on"; do
	run "$PMCTL" run --report off --unwind fp $flags -o unwind.pmc -- true
	unlike "$(cat "$T/err")" "--unwind" "--unwind with $flags: no warning"
done
run env PMC_SAMPLE=bogus@100 "$PMCTL" run -- touch "$T/sampled"
is "$status $(ls "$T/sampled" 2>/dev/null)" "2 " "PMC_SAMPLE with an unknown event: exit status 2, nothing started"
is "$(ls "$TMPDIR")" "" "the private dumps are gone"
run "$PMCTL" run -o "d-%p-%%-%e.pmc" --report "json=$T/pattern.json" -- sh -c 'sleep 0; true'
is "$(json pattern.json '[.processes[] | .exe | sub(".*/"; "")] | sort | join(" ")')" \
	"$(basename "$(readlink -f "$(command -v sh)")") sleep" "-o with a pattern: the report has all files"
is "$(ls d-*-%-*.pmc | wc -l)" 2 "-o with a pattern: one file per process"

for out in none/%p.pmc none/%j/%p.pmc none/%%-%p.pmc; do
	run "$PMCTL" run -o $out -- touch "$T/ran"
	is "$status $(ls "$T/ran" none 2>/dev/null)" "125 " "-o $out: exit status 125, nothing started"
	like "$(cat "$T/err")" "dump to $out: its directory does not exist" "-o $out: the message gives the reason"
done
mkdir has
run "$PMCTL" run --report off -o 'has/%j/%e.pmc' -- "$PROG/churn" 2 10
is "$status $(find has -name churn.pmc | wc -l) $(wc -c <"$T/err")" "0 1 0" "-o with a placeholder in the directory: it is made; no warning of names"
for out in x-%q.pmc x-%; do
	run "$PMCTL" run -o $out -- touch "$T/ran"
	is "$status $(ls "$T/ran" 2>/dev/null)" "2 " "-o $out: exit status 2, nothing started"
	like "$(cat "$T/err")" "--output: '$out'; give a path with no other % than %p" "-o $out: the message gives the fix"
done

echo "not a dump" >foreign
run "$PMCTL" run -o foreign -- touch "$T/ran"
is "$status" 125 "-o naming a file that is not a dump: exit status 125"
is "$(cat foreign)" "not a dump" "-o naming a file that is not a dump: the file is unchanged"
like "$(cat "$T/err")" "^pmctl run: .*foreign: it exists and is not a dump" "-o naming a file that is not a dump: the message gives the reason"
run "$PMCTL" run -o "$T" -- touch "$T/ran"
is "$status" 125 "-o naming a directory: exit status 125"
run "$PMCTL" run -o "$T/none/x.pmc" -- touch "$T/ran"
is "$status" 125 "-o in a missing directory: exit status 125"
like "$(cat "$T/err")" "its directory does not exist" "-o in a missing directory: the message gives the reason"
run "$PMCTL" run -o /proc/x.pmc -- touch "$T/ran"
is "$status" 125 "-o in a file system without new files: exit status 125"
unlike "$(cat "$T/err")" "does not exist" "and the reason is not that /proc does not exist"
ln -s kept.pmc link.pmc
run "$PMCTL" run -o link.pmc -- touch "$T/ran"
is "$status" 125 "-o naming a symbolic link: exit status 125"
TMPDIR=$T/none run "$PMCTL" run -- touch "$T/ran"
is "$status" 125 "TMPDIR missing for the private dump: exit status 125"
ok "after these errors the command was not started" test ! -e "$T/ran"

# ---- how a killed program ended, from wait4 ------------------------------------------
run "$PMCTL" run --report "json=$T/killed.json" -o killed.pmc -- sh -c 'kill -KILL $$'
is "$(json killed.json '.processes[0].how_ended')" signal:9 "killed by SIGKILL: the report has signal:9"
run "$PMCTL" report --format json killed.pmc
is "$(json "$T/out" '.processes[0].how_ended')" signal:9 "killed by SIGKILL: the dump has signal:9"
is "$("$PMCTL" report killed.pmc | tr -s ' \n' ' ' | grep -o "killed by signal 9" | wc -l)" 1 "killed by SIGKILL: the table says so once"
rm -f segv.pmc
run "$PMCTL" run -o segv.pmc -- sh -c 'kill -SEGV $$'
like "$(cat err)" "note: [^ ]*sh was killed by signal 11 \(Segmentation fault\)" "killed by SIGSEGV, with all rows: a note"
"$PMCTL" report segv.pmc >out
like "$(cat out)" "note: [^ ]*sh was killed by signal 11" "and in a report of the file"
run "$PMCTL" run -- sh -c 'sh -c "kill -SEGV \$\$"; :'
unlike "$(cat err)" "was killed" "not of a child"
run "$PMCTL" run --report "json=$T/killed.json" -- sh -c '/bin/true; kill -KILL $$'
is "$(json killed.json '[.processes[].how_ended] | sort | join(" ")')" "exit:0 signal:9" \
	"killed by SIGKILL: a child that exited normally has exit:0"
ok "killed by SIGKILL: every process has CPU time" \
	jq -e '[.processes[].coverage.cpu_ns] | all(. > 0)' killed.json
like "$(json killed.json '[.processes[].notes[].text] | tostring')" "signal 9" "killed by SIGKILL: a note says so"
# A thread whose row makes the last image known; then CPU time that no row has, written to the file.
cat >late.c <<'EOF'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
static void *nothing(void *arg) { return arg; }
int main(int argc, char **argv)
{
	FILE *file = fopen(argv[1], "w");
	struct timespec cpu;
	pthread_t thread;

	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	for (volatile long i = 0; i < 100000000; i++)
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	fprintf(file, "%lld\n", cpu.tv_sec * 1000000000LL + cpu.tv_nsec);
	fclose(file);
	return argc > 2 ? raise(SIGKILL) : 0;
}
EOF
gcc -O1 -pthread -o late late.c
# Some tenths of a millisecond between the last frame of an image and its execve(2) are in none.
while read -r ended command; do
	run "$PROG/rusage" "$T/ru" "$PMCTL" run --report "json=$T/late.json" -- sh -c "$command"
	ok "$command: the images together have the CPU time of the process" jq -e --slurpfile ru ru \
		--slurpfile burnt burnt --arg ended "$ended" '(.processes | length > 1 and .[-1].how_ended == $ended) and
		(.processes | length * 1000000) as $execs |
		([.processes[].coverage.cpu_ns] | add | . >= $burnt[0] - $execs and . <= $ru[0].cpu_ns) and
		all(.processes[].coverage; .attributed_cpu_ns <= .cpu_ns * 1.001)' late.json || diag "$(cat burnt ru late.json)"
	[ "$ended" = exit:0 ] || like "$(json late.json '.processes[-1].notes | tostring')" "signal 9" "and a note says that it was killed"
done <<'EOF'
signal:9 exec ./late burnt killed
signal:9 exec env A=1 sh -c 'exec ./late burnt killed'
exit:0 exec env A=1 sh -c 'exec ./late burnt'
EOF
# -I takes snapshots by the wall clock, also of a program that waits.
times() { "$PMCTL" report --timeline --format json "$1" | jq -s 'map(.t_ns) | unique | length'; }
"$PMCTL" run -I 50ms -o waits.pmc --report off -- sleep 1
between "$(times waits.pmc)" 3 30 "-I: a program that waits has snapshots" || diag "$("$PMCTL" report --timeline waits.pmc)"
"$PMCTL" run -I 50ms -o waits.pmc --report off -- sleep 60 &
pmctl=$!
sleeps() { "$PMCTL" dump -o here.pmc $pmctl 2>/dev/null >&2; }
ok "-I: pmctl dump PID acts on the program" await sleeps
is "$(pgrep -c -P $pmctl)" 1 "which is the only child"
pkill -P $pmctl
wait $pmctl
if command -v strace >/dev/null; then
	strace -f -o trace -e trace=pidfd_getfd,execve -e inject=pidfd_getfd:error=EPERM \
		"$PMCTL" run -I 50ms -o refused.pmc --report off -- sh -c 'echo "$PMC_INTERVAL"' >interval 2>err
	like "$(cat interval err)" '^50ms.*not permitted; the program takes the snapshots' "-I: where pmctl may not read it, the program takes them"
else
	skip "no strace" "-I: where pmctl may not read it, the program takes them"
fi
# What it did while counting was off is not counted, and -I gives it a row.
"$PMCTL" run --start off -I 10ms --report "json=$T/off.json" -o off.pmc -- sh -c 'while :; do :; done' 2>off.err &
pmctl=$!
has_row() { "$PMCTL" report --format json off.pmc 2>/dev/null | jq -e '.threads | length > 0' >/dev/null && off=$(pgrep -P $pmctl); }
ok "counting is off: the program has a row" await has_row
kill -KILL "$off"
wait $pmctl
is "$(json off.json '.processes[0] | "\(.how_ended) \(.coverage.cpu_ns)"')" "signal:9 null" "killed while counting was off: no CPU time"
like "$("$PMCTL" report off.pmc)" "at least 1 thread" "the number of threads is a lower bound"
# Nobody is left to write how it ended.
"$PMCTL" run -I 10ms -o both.pmc --report off -- sh -c 'while :; do :; done' 2>/dev/null &
pmctl=$!
has_snapshot() {
	"$PMCTL" report --format json both.pmc 2>/dev/null |
		jq -e '.threads | length > 0' >/dev/null && off=$(pgrep -P $pmctl)
}
ok "killed with pmctl: the program has a row" await has_snapshot
kill -KILL $pmctl "$off"
wait $pmctl 2>/dev/null
gone() { ! kill -0 "$off"; }
# The process that takes the snapshots may write one more.
written() { ! pgrep -f -- "run -I 10ms -o both.pmc" >/dev/null; }
await written
before=$("$PMCTL" report both.pmc)
await gone
for how in "" --timeline "--timeline --by pool" "--by exe"; do
	# shellcheck disable=SC2086
	like "$("$PMCTL" report $how --width 200 both.pmc)" "the end of process $off is not in the dump" "killed with pmctl, $how: its end is not there"
done
# A thread beside the one that takes the snapshots.
PMC_INTERVAL=10ms "$PMCTL" run -o two.pmc --report off -- "$PROG/faults" 2 >/dev/null
PMC_INTERVAL=10ms "$PMCTL" run -e page-faults,context-switches -o events.pmc --report off -- "$PROG/faults" 2 >/dev/null
is "$("$PMCTL" report --timeline two.pmc | grep -c '^ -: ') $("$PMCTL" report --timeline --columns tid two.pmc | grep -c '^ -: ') $("$PMCTL" report --timeline events.pmc | grep -c '^ -: ')" \
	"1 0 0" "--timeline: a line explains switches that a snapshot lacks"
is "$("$PMCTL" report both.pmc)" "$before" "killed with pmctl: a report does not depend on who runs"
run "$PMCTL" run --report "json=$T/killed.json" -- sh -c 'exec sh -c "kill -KILL \$\$"'
like "$(json killed.json '.processes[-1].notes | tostring')" "killed" "killed after an exec, without rows: a note says so"

# ---- report ------------------------------------------------------------------------------
run "$PMCTL" run --report json -- true
ok "--report json: JSON on stderr" jq -e '.pmc == 1' "$T/err"
run "$PMCTL" run --report "summary=$T/summary" -- true
is "$status" 0 "--report summary=FILE succeeds"
ok "--report summary=FILE writes FILE" test -s "$T/summary"
is "$(cat "$T/err")" "" "--report summary=FILE prints nothing on stderr"
run "$PMCTL" run --report "json=$T/none/x" -- touch "$T/ran"
is "$status" 125 "a report that cannot be created: exit status 125"
ok "a report that cannot be created: the command is not started" test ! -e "$T/ran"
PMC_REPORT=off run "$PMCTL" run -- true
is "$(cat "$T/err")" "" "PMC_REPORT=off: no report"
PMC_REPORT=off run "$PMCTL" run --report "json=$T/flag.json" -- true
ok "--report overrides PMC_REPORT" jq -e . "$T/flag.json"
run "$PMCTL" run --report "json=/dev/full" -- sh -c 'exit 5'
is "$status" 5 "no space for the report: exits with the status of the command"
like "$(cat "$T/err")" "cannot write the report to /dev/full: No space left" "no space for the report: the message gives the reason"

# ---- nested ------------------------------------------------------------------------------
run "$PMCTL" run --report "json=$T/outer.json" -- \
	"$PMCTL" run --report "json=$T/inner.json" -- sh -c 'exit 6'
is "$status" 6 "nested: exits with the status of the command"
is "$(json "$T/inner.json" '[.processes[].how_ended] | join(" ")')" exit:6 \
	"nested: the inner report has only the inner command"
is "$(json "$T/inner.json" '.threads | length')" 1 "nested: its thread has a row"
ok "nested: the outer report has processes" jq -e '.processes | length > 0' "$T/outer.json"
is "$(json "$T/outer.json" '[.processes[].exe | select(test("/pmctl$"))] | length > 0')" true \
	"nested: the outer report has the inner pmctl"
"$PMCTL" run -- "$PMCTL" run -- true 2>"$T/err"
is "$(grep -c '^ pmcagent:' "$T/err")" 2 "nested: each pmctl prints one report"
is "$(ls "$TMPDIR")" "" "the private dumps are gone"

# ---- programs that read the environment from the kernel's block --------------------------
printf '#include <signal.h>\n#include <sys/syscall.h>\n#include <sys/wait.h>\n#include <unistd.h>
int main(int n, char **v) { if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
	syscall(SYS_execve, v[1], v + 1, v + n + 1); _exit(1); } wait(0); return 0; }\n' >block.c
gcc -O1 -o block block.c
run "$PMCTL" run --report "json=$T/block.json" -- ./block "$(command -v sh)" -c 'env | grep -c ^PMC_JOB=; exec env'
names='[.processes[] | .exe | sub(".*/"; "")] | unique | join(" ")'
is "$(json block.json "$names")" "block $(basename "$(readlink -f "$(command -v sh)")") env grep" \
	"a program that passes on the environment of the kernel's block: its children are in its report"
is "$(sed -n 1p out) $(grep -c ^PMC_JOB= out)" "1 1" "and they have one PMC_JOB"
run "$PMCTL" run --report "json=$T/block.json" -- ./block ./block "$(command -v env)"
is "$(json block.json "$names") $(jq '.processes | length' block.json)" "block env 3" "and so are theirs"

# ---- programs that cannot load the agent ------------------------------------------------
printf 'int main(void) { for (volatile long i = 0; i < 500000000; i++); return 9; }\n' >burn.c
gcc -O1 -static -o static burn.c
run "$PMCTL" run -- ./static
is "$status" 9 "a static program: exits with the status of the command"
like "$(cat "$T/err")" "static is statically linked" "a static program: the message says that it is statically linked"
like "$(cat "$T/err")" "unattributed +[0-9.]+" "a static program: the report has its CPU time as unattributed"
run "$PMCTL" run -e task-clock,page-faults -- ./static
like "$(cat "$T/err")" "unattributed +[0-9.]+ +[1-9][0-9]*" "a static program: the report has its events as unattributed"
run "$PROG/rusage" "$T/ru" "$PMCTL" run -e task-clock,page-faults --report "json=$T/counted.json" -- ./static
# Only task-clock includes time that a hypervisor takes.
ok "a static program: an inherit group opened by pmctl counts its events" jq -e --slurpfile ru "$T/ru" '
	($ru[0] | .task_clock_ns - .cpu_ns | [., 0] | max) as $taken | .processes[0] | .coverage.cpu_ns as $cpu |
	(.unattributed | map(.state) == ["counted", "counted"]) and
	([.unattributed[].value] | all(. > 0)) and
	(.unattributed[0].value | . > 0.9 * $cpu and . < 1.1 * $cpu + $taken)' "$T/counted.json" ||
	diag "$(json "$T/counted.json" .processes[0])"
printf '#include <unistd.h>\n#include <sys/wait.h>\nint main(int n, char **v) {
	(void)n; if (!fork()) { execv(v[1], v + 1); _exit(1); } wait(0); return 0; }\n' >start.c
gcc -O1 -static -o start start.c && gcc -O1 -o dynamic burn.c
run "$PMCTL" run -e task-clock --report "json=$T/started.json" -- ./start ./static
ok "a static program: events of static programs it starts are counted" \
	jq -e '.processes[0].unattributed[0].value > 10000000' "$T/started.json"
run "$PMCTL" run --report "json=$T/started.json" -- ./start ./static
ok "a static program: without events, the CPU time of static programs it starts is known" \
	jq -e '.processes[0].coverage.descendants_cpu_ns > 10000000' "$T/started.json"
run "$PMCTL" run -e task-clock --report "json=$T/started.json" -o started.pmc -- ./start ./dynamic
# Of its own it has next to nothing, perhaps 0: perf events lack some microseconds of each switch, which
# the row of the dynamic program has.
ok "a static program: a dynamic program it starts is not counted twice" jq -e '.threads[0].events[0].value as $dynamic | (.threads | length == 1) and
	([.processes[] | select(.exe | endswith("/start")) | .unattributed[0].value] |
	.[0] >= 0 and .[0] < $dynamic / 2)' "$T/started.json" || diag "$(cat "$T/started.json")"
run "$PMCTL" report --format json started.pmc
is "$(json "$T/out" '[.processes[].unattributed[0].value] | tostring')" \
	"$(json "$T/started.json" '[.processes[].unattributed[0].value] | tostring')" "a static program: the dump has the same unattributed values"
printf '#include <sys/mman.h>\nint main(void) { char *p = mmap(0, 4096000, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, 4096000, MADV_NOHUGEPAGE); for (int i = 0; i < 1000; i++) p[i * 4096] = 1; return 0; }\n' >faults.c
gcc -O1 -static -o faults faults.c
PMC_INHERIT=full run "$PMCTL" run -e page-faults --report "json=$T/started.json" -- ./start /bin/sh -c './faults; true'
ok "a static program that starts a job: the job's descendants are not counted twice" jq -e '
	([.processes[].descendants[].value] | add) as $below | ([.processes[].unattributed[].value] | add) as $rest |
	$below > 1000 and $below < 2000 and $rest < 1000' "$T/started.json" || diag "$(cat "$T/started.json")"
run "$PMCTL" run -o replaced.pmc -- sh -c 'exec ./static'
is "$status" 9 "exec of a static program: exits with its status"
run "$PMCTL" report --format json replaced.pmc
ok "exec of a static program: its CPU time is in the coverage of the process, a note says why" \
	jq -e '[.processes[] | select(.exe == "")] | length == 1 and (.[0] |
	.how_ended == "exit:9" and .coverage.cpu_ns > 10000000 and .coverage.attributed_cpu_ns == 0 and
	(.notes | tostring | test("agent")))' "$T/out" || diag "$(cat "$T/out")"
run "$PMCTL" run -o replaced2.pmc -- sh -c 'exec ./dynamic'
run "$PMCTL" report --format json replaced2.pmc
ok "exec of a dynamic program: nothing is added" jq -e '(.processes | length == 2) and
	all(.processes[].exe; . != "")' "$T/out" || diag "$(cat "$T/out")"
if [ "$(id -u)" = 0 ]; then
	cp dynamic setuid && chown nobody setuid && chmod 4755 setuid
	run "$PMCTL" run -e task-clock -- ./setuid
	is "$status" 9 "a setuid program: exits with the status of the command"
	like "$(cat "$T/err")" "is setuid.*totals only" \
		"a setuid program: the message says that there are totals only"
	unlike "$(cat "$T/err")" "task-clock (ms|µs)" "a setuid program: the report has no task-clock column"
else
	skip "takes root to make one" "a setuid program"
fi
run "$PMCTL" run --report "json=$T/static.json" -o static.pmc -- ./static
ok "a static program: the JSON has its CPU time" \
	jq -e '.processes[0] | .how_ended == "exit:9" and .coverage.cpu_ns > 10000000' static.json
like "$(json static.json '.processes[0].notes | tostring')" "statically linked" "a static program: a note in the JSON says that it is statically linked"
printf '#!%s/static\n' "$T" >static.sh && chmod 755 static.sh
run "$PMCTL" run -- ./static.sh
like "$(cat "$T/err")" "/static is statically linked" "a script: the message names its static interpreter"

gcc -O1 -fsanitize=address -o asan burn.c
run "$PMCTL" run -- ./asan
is "$status" 9 "a gcc AddressSanitizer program runs"
unlike "$(cat "$T/err")" "ASan runtime does not come first" "a gcc AddressSanitizer program: no message about the order of libraries"
run "$PMCTL" run --report off -- sh -c 'echo "$ASAN_OPTIONS"'
is "$(cat "$T/out")" "" "ASAN_OPTIONS is not set for other programs"

# The limit ends no write of pmctl by SIGXFSZ, which the command still has by default.
run bash -c "ulimit -f 1; exec '$PMCTL' run --report off -o '$T/limit.pmc' -- sh -c 'for i in 1 2 3 4; do /bin/true \
	\$(seq 500); done; exit 4'"
is "$status" 4 "a file size limit: the command's status"
run bash -c "ulimit -f 1; exec '$PMCTL' run --report off -- sh -c 'kill -XFSZ \$\$; sleep 100'"
is "$status" 153 "SIGXFSZ is at its default in the command"

# ---- --strict ----------------------------------------------------------------------------
run "$PMCTL" run --strict -e page-faults,task-clock,sched:none -o strict.pmc -- touch started
is "$status" 2 "--strict: an unknown event is bad usage"
run "$PMCTL" run --strict --report off -- true
is "$status $(cat "$T/err")" "0 " "--strict: nobody asked for the default events"
run "$PMCTL" run --strict -e page-faults,task-clock -o strict.pmc --report off -- touch started
is "$status $(ls started strict.pmc)" "0 started
strict.pmc" "--strict: the command runs if every event can be counted"
rm started strict.pmc
if "$PMCTL" run -n -e cycles,branches -- true | grep -q '^not counted here'; then
	why=$("$PMCTL" list --json cycles | jq -r '.[0].reason')
	run "$PMCTL" run --strict -e cycles,task-clock,branches -o strict.pmc -- touch started
	is "$status $(ls started strict.pmc 2>/dev/null)" "125 " "--strict: exit status 125, nothing runs and nothing is written"
	is "$(grep -c '^pmctl run: cannot count [a-z]*: .' "$T/err") $(wc -l <"$T/err")" "2 2" "--strict: a line for each event that cannot be counted"
	# One event has one reason everywhere.
	like "$(cat "$T/err")" "cannot count cycles: $why; " "the reason is that of pmctl list"
	like "$("$PMCTL" run -n -e cycles)" "cycles: [a-z-]* \($why; " "and of pmctl run -n"
	run "$PMCTL" run -e cycles --report json=why.json -- true
	is "$(json why.json '.threads[0].events[0].reason')" "$why" "and of the report as JSON"
	like "$("$PMCTL" doctor cycles)" "\($why\)" "and of pmctl doctor EVENT"
	like "$("$PMCTL" doctor | grep "^cycles ")" ": $why\)" "and of the check of pmctl doctor"
else
	skip "all hardware events can be counted" "--strict refuses"
fi

run "$PMCTL" run -o - -- true
is "$status $(wc -l <"$T/err") $(ls -- - 2>/dev/null)" "2 1 " "run -o -: refused"
run "$PMCTL" run --report json=- -- true
is "$status $(wc -l <"$T/err") $(ls -- - 2>/dev/null)" "2 1 " "run --report json=-: refused"
done_testing
