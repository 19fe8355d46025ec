#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl-run.t - status and output of the command are unchanged; the report and the dump of a run.
. "$(dirname "$0")/lib.sh"

mkdir "$T/tmp" && export TMPDIR=$T/tmp

# ---- exit status -------------------------------------------------------------------------
run "$PMCTL" run -- sh -c 'exit 7'
is "$status" 7 "exit status passes through"
run "$PMCTL" run -- true
is "$status" 0 "success passes through"
run "$PMCTL" run true
is "$status" 0 "-- may be left out"
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
	"pmctl dies of the signal itself, it does not exit with 128 + n"

run "$PMCTL" run -- "$T/there-is-no-such-thing"
is "$status" 127 "a command that is not there: 127"
is "$(cat "$T/err")" \
	"pmctl run: cannot run command '$T/there-is-no-such-thing': not found" "one line says so"
run "$PMCTL" run -- no-such-command-in-path
is "$status" 127 "a command that is not in PATH: 127"
echo data >"$T/data"
run "$PMCTL" run -- "$T/data"
is "$status" 126 "a file that may not be executed: 126"
is "$(wc -l <"$T/err")" 1 "one line says so"
run "$PMCTL" run -- "$T"
is "$status" 126 "a directory as command: 126"
printf '#!/no/such/interpreter\n' >"$T/script" && chmod 755 "$T/script"
run "$PMCTL" run -- "$T/script"
is "$status" 127 "a script whose interpreter is missing: 127"
like "$(cat "$T/err")" "its interpreter is missing" "and the line says which it is"

# ---- transparency ------------------------------------------------------------------------
head -c 300000 /dev/urandom >"$T/bytes"
"$PMCTL" run -- cat "$T/bytes" >"$T/copy" 2>"$T/err"
same "$T/bytes" "$T/copy" "stdout is untouched, byte for byte"
like "$(cat "$T/err")" "pmcagent" "the report goes to stderr"
"$PMCTL" run -- cat <"$T/bytes" >"$T/copy" 2>/dev/null
same "$T/bytes" "$T/copy" "stdin is the command's"
run "$PMCTL" run --report off -- sh -c 'echo out; echo err >&2'
is "$(cat "$T/out")" out "report off: stdout as it was"
is "$(cat "$T/err")" err "report off: stderr as it was"
run "$PMCTL" run --report off -- ls --help
like "$(cat "$T/out")" "Usage: ls" "flags after the command are the command's"
# A program with the agent has the descriptors of what it counts, one without it has none of anybody's.
there='env -u LD_PRELOAD sh -c "ls /proc/self/fd | wc -l"'
is "$("$PMCTL" run --report off -e cycles,task-clock -- sh -c "$there")" "$(sh -c "$there")" \
	"no descriptor of ours in what the command runs"
for how in '' 'trap "" INT PIPE CHLD;' 'trap "" HUP TERM;'; do
	plain=$(bash -c "$how exec grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status")
	under=$(bash -c "$how exec '$PMCTL' run --report off -- grep -E '^Sig(Blk|Ign)' /proc/self/status")
	is "$under" "$(grep -v SigCgt <<<"$plain")" "signal mask and ignored signals as they were: ${how:-none}"
done

# ---- dump --------------------------------------------------------------------------------
cd "$T" || exit 1
run "$PMCTL" run -o kept.pmc -- sh -c 'cd /; exit 3'
is "$status" 3 "-o: status is the command's"
ok "-o: the dump is kept, relative to where pmctl was started" test -s kept.pmc
is "$(stat -c %a kept.pmc)" 600 "mode 0600"
size=$(stat -c %s kept.pmc)
cp kept.pmc first.pmc
run "$PMCTL" run --report "json=$T/second.json" -o kept.pmc --append -- sh -c 'exit 4'
ok "--append: a dump is appended to" test "$(stat -c %s kept.pmc)" -gt "$size"
is "$(json second.json '[.processes[].how_ended] | join(" ")')" exit:4 \
	"the report is of this run alone"
PMC_OUT=first.pmc run "$PMCTL" run --report off -- true
ok "PMC_OUT: a dump is appended to" test "$(stat -c %s first.pmc)" -gt "$size"
is "$(cat "$T/err")" "" "without a word"
cp kept.pmc first.pmc
run "$PMCTL" run --report off -o kept.pmc -- sh -c 'exit 5'
same first.pmc kept.pmc.old "-o: an existing dump is kept as FILE.old"
like "$(cat "$T/err")" "kept.pmc exists.*kept.pmc.old.*--append" "one line says so"
is "$("$PMCTL" report --format json kept.pmc | jq -r '[.processes[].how_ended] | join(" ")')" exit:5 \
	"the dump has this run alone"
run "$PMCTL" run --report off -o kept.pmc -- "$T/there-is-no-such-thing"
same first.pmc kept.pmc.old "a command that does not exist moves no dump"
run "$PMCTL" run --report off -o kept.pmc -- true
like "$(cat "$T/err")" "kept.pmc.old, which replaces an older one" "a replaced FILE.old is named"
cp kept.pmc kept.was
cp kept.pmc.old old.was
echo "no program" >noexec
run "$PMCTL" run -o kept.pmc -- ./noexec
is "$status" 126 "a command that cannot be executed"
same kept.was kept.pmc "leaves the dump"
same old.was kept.pmc.old "and FILE.old as they were"
run "$PMCTL" run -o none.pmc -- ./noexec
is "$([ -e none.pmc ] && echo there)" "" "and makes no dump"
run "$PMCTL" run -o both.pmc --report json=both.json -- \
	sh -c "/bin/true; $PMCTL run -o both.pmc --report off -- /bin/true; exit 3"
like "$(cat "$T/err")" "both.pmc is being written by another pmctl run: appending" "a dump in use is not moved away"
is "$status $(jq '[.processes[] | select(.how_ended == "running")] | length' both.json) $([ -e both.pmc.old ] && echo old)" \
	"3 0 " "both runs are in it"
echo precious >kept.pmc.old
run "$PMCTL" run --report off -o kept.pmc -- touch "$T/ran"
is "$status $(cat kept.pmc.old)" "125 precious" "FILE.old that is not a dump is not replaced"
run "$PMCTL" run --append -- touch "$T/ran"
is "$status" 2 "--append without a dump: 2"
is "$(ls "$TMPDIR")" "" "the private dumps are gone"
run "$PMCTL" run -o "d-%p-%%-%e.pmc" --report "json=$T/pattern.json" -- sh -c 'sleep 0; true'
is "$(json pattern.json '[.processes[] | .exe | sub(".*/"; "")] | sort | join(" ")')" \
	"$(basename "$(readlink -f "$(command -v sh)")") sleep" "a pattern's files are all read"
is "$(ls d-*-%-*.pmc | wc -l)" 2 "a file per process"

echo "not a dump" >foreign
run "$PMCTL" run -o foreign -- touch "$T/ran"
is "$status" 125 "-o naming something else: 125"
is "$(cat foreign)" "not a dump" "and it is untouched"
like "$(cat "$T/err")" "^pmctl run: .*foreign: it exists and is not a dump" "one line says why"
run "$PMCTL" run -o "$T" -- touch "$T/ran"
is "$status" 125 "-o naming a directory: 125"
run "$PMCTL" run -o "$T/none/x.pmc" -- touch "$T/ran"
is "$status" 125 "-o in a directory that is not there: 125"
like "$(cat "$T/err")" "its directory does not exist" "one line says why"
ln -s kept.pmc link.pmc
run "$PMCTL" run -o link.pmc -- touch "$T/ran"
is "$status" 125 "-o naming a symbolic link: 125"
TMPDIR=$T/none run "$PMCTL" run -- touch "$T/ran"
is "$status" 125 "no place for the private dump: 125"
ok "and the command was not started in any of them" test ! -e "$T/ran"

# ---- the end of a killed program, from wait4 -----------------------------------------
run "$PMCTL" run --report "json=$T/killed.json" -o killed.pmc -- sh -c 'kill -KILL $$'
is "$(json killed.json '.processes[0].how_ended')" signal:9 "SIGKILL is in the report"
run "$PMCTL" report --format json killed.pmc
is "$(json "$T/out" '.processes[0].how_ended')" signal:9 "and in the dump"
run "$PMCTL" run --report "json=$T/killed.json" -- sh -c '/bin/true; kill -KILL $$'
is "$(json killed.json '[.processes[].how_ended] | sort | join(" ")')" "exit:0 signal:9" \
	"also beside a child that ended by itself"
ok "all in one job's tree, with its CPU time" \
	jq -e '[.processes[].coverage.cpu_ns] | all(. > 0)' killed.json

# ---- report ------------------------------------------------------------------------------
run "$PMCTL" run --report json -- true
ok "--report json: JSON on stderr" jq -e '.pmc == 1' "$T/err"
run "$PMCTL" run --report "summary=$T/summary" -- true
is "$status" 0 "--report summary=FILE"
ok "writes the file" test -s "$T/summary"
is "$(cat "$T/err")" "" "and nothing else"
run "$PMCTL" run --report "json=$T/none/x" -- touch "$T/ran"
is "$status" 125 "a report that cannot be written: 125"
ok "before the command starts" test ! -e "$T/ran"
PMC_REPORT=off run "$PMCTL" run -- true
is "$(cat "$T/err")" "" "PMC_REPORT is obeyed"
PMC_REPORT=off run "$PMCTL" run --report "json=$T/flag.json" -- true
ok "a flag overrules it" jq -e . "$T/flag.json"
run "$PMCTL" run --report "json=/dev/full" -- sh -c 'exit 5'
is "$status" 5 "a full disk under the report leaves the status alone"
like "$(cat "$T/err")" "cannot write the report to /dev/full: No space left" "and is told"

# ---- nested ------------------------------------------------------------------------------
run "$PMCTL" run --report "json=$T/outer.json" -- \
	"$PMCTL" run --report "json=$T/inner.json" -- sh -c 'exit 6'
is "$status" 6 "nested: the status comes through"
is "$(json "$T/inner.json" '[.processes[].how_ended] | join(" ")')" exit:6 \
	"the inner report has the inner program alone"
ok "the outer report is there" jq -e '.processes | length > 0' "$T/outer.json"
is "$(json "$T/outer.json" '[.processes[].exe | select(test("/pmctl$"))] | length > 0')" true \
	"and has pmctl, which ran in it"
"$PMCTL" run -- "$PMCTL" run -- true 2>"$T/err"
is "$(grep -c '^ pmcagent:' "$T/err")" 2 "nested: each reports once"
is "$(ls "$TMPDIR")" "" "the private dumps are gone"

# ---- programs that cannot load the agent ------------------------------------------------
printf 'int main(void) { for (volatile long i = 0; i < 100000000; i++); return 9; }\n' >burn.c
gcc -O1 -static -o static burn.c
run "$PMCTL" run -- ./static
is "$status" 9 "a static program runs, and its status comes through"
like "$(cat "$T/err")" "static is statically linked" "one line says why there are no rows"
like "$(cat "$T/err")" "unattributed +[0-9.]+" "the report has its CPU time"
run "$PMCTL" run -e task-clock,page-faults -- ./static
like "$(cat "$T/err")" "unattributed +[0-9.]+ +[1-9][0-9]*" "and its events"
run "$PMCTL" run -e task-clock,page-faults --report "json=$T/counted.json" -- ./static
ok "a static program's events are counted by a group of pmctl's" jq -e '.processes[0] |
	(.unattributed | map(.state) == ["counted", "counted"]) and
	([.unattributed[].value] | all(. > 0)) and
	(.unattributed[0].value / .coverage.cpu_ns | . > 0.9 and . < 1.1)' "$T/counted.json" ||
	diag "$(json "$T/counted.json" .processes[0])"
printf '#include <unistd.h>\n#include <sys/wait.h>\nint main(int n, char **v) {
	(void)n; if (!fork()) { execv(v[1], v + 1); _exit(1); } wait(0); return 0; }\n' >start.c
gcc -O1 -static -o start start.c && gcc -O1 -o dynamic burn.c
run "$PMCTL" run -e task-clock --report "json=$T/started.json" -- ./start ./static
ok "so are those of the static programs it starts" \
	jq -e '.processes[0].unattributed[0].value > 10000000' "$T/started.json"
run "$PMCTL" run -e task-clock --report "json=$T/started.json" -o started.pmc -- ./start ./dynamic
ok "one that has rows is not counted twice" jq -e '(.threads | length == 1) and
	([.processes[] | select(.exe | endswith("/start")) | .unattributed[0].value] |
	.[0] > 0 and .[0] < 10000000)' "$T/started.json" || diag "$(cat "$T/started.json")"
run "$PMCTL" report --format json started.pmc
is "$(json "$T/out" '[.processes[].unattributed[0].value] | tostring')" \
	"$(json "$T/started.json" '[.processes[].unattributed[0].value] | tostring')" "the dump has it too"
if [ "$(id -u)" = 0 ]; then
	cp dynamic setuid && chown nobody setuid && chmod 4755 setuid
	run "$PMCTL" run -e task-clock -- ./setuid
	is "$status" 9 "a setuid program runs, and its status comes through"
	like "$(cat "$T/err")" "is setuid.*totals only" \
		"and one line says that nobody can count it"
	unlike "$(cat "$T/err")" "task-clock (ms|µs)" "no count is made up"
else
	skip "takes root to make one" "setuid programs"
fi
run "$PMCTL" run --report "json=$T/static.json" -o static.pmc -- ./static
ok "its CPU time is in the JSON" \
	jq -e '.processes[0] | .how_ended == "exit:9" and .coverage.cpu_ns > 10000000' static.json
like "$(json static.json '.processes[0].notes | tostring')" "statically linked" "the reason is in its notes"
printf '#!%s/static\n' "$T" >static.sh && chmod 755 static.sh
run "$PMCTL" run -- ./static.sh
like "$(cat "$T/err")" "/static is statically linked" "a script is looked through"

gcc -O1 -fsanitize=address -o asan burn.c
run "$PMCTL" run -- ./asan
is "$status" 9 "a gcc AddressSanitizer program runs"
unlike "$(cat "$T/err")" "ASan runtime does not come first" "its runtime does not object"
run "$PMCTL" run --report off -- sh -c 'echo "$ASAN_OPTIONS"'
is "$(cat "$T/out")" "" "others get no ASAN_OPTIONS"

done_testing
