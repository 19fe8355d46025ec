#!/bin/bash
# SPDX-License-Identifier: MIT
# views.t - the report at exit equals that of pmctl report; settings that select what is reported.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

PMC_EVENTS=task-clock,page-faults PMC_OUT=x.pmc PMC_REPORT="json=$T/exit.json" run agent "$PROG/tree" 1 20
"$PMCTL" report --format json x.pmc >later.json
# pmctl report may resolve symbols that the agent could not.
norm() { jq -S 'del(.threads[].start_routine)' "$1"; }
norm exit.json >a
norm later.json >b
same a b "JSON at exit equals pmctl report's"

PMC_EVENTS=task-clock,page-faults PMC_OUT=y.pmc PMC_REPORT="threads=$T/exit.txt" run agent "$PROG/churn" 50 3000
"$PMCTL" report y.pmc >later.txt
sed 's/ · keep it:.*//' exit.txt >a
sed 's/ · keep it:.*//' later.txt >b
same a b "the table at exit equals pmctl report's"

"$PMCTL" report --format csv y.pmc >y.csv
is "$(wc -l <y.csv)" 52 "CSV: a header line and 51 rows"
is "$(awk -F, '{ print NF }' y.csv | sort -u | wc -l)" 1 "CSV: every row has every column"
is "$("$PMCTL" report --by name --format json y.pmc | jq '[.groups[].threads] | add')" 51 \
	"--by name: every thread is in one group"
is "$("$PMCTL" report --top 3 --format csv y.pmc | wc -l)" 4 "--top 3: three rows"
a=$("$PMCTL" report --by name --format json y.pmc |
	jq '[.groups[].events[] | select(.name == "task-clock") | .sum] | add')
b=$("$PMCTL" report --format json y.pmc |
	jq '[.threads[].events[] | select(.name == "task-clock") | .value] | add')
is "$a" "$b" "--by name: sums over groups equal sums over rows"

# Numbers are formatted the same in every locale.
a=$(LC_ALL=C "$PMCTL" report --format json y.pmc | md5sum)
b=$(LC_ALL=de_DE.UTF-8 "$PMCTL" report --format json y.pmc | md5sum)
is "$a" "$b" "JSON does not depend on the locale"

# PMC_REPORT
for kind in off summary threads json; do
	PMC_REPORT=$kind run agent "$PROG/churn" 3 1000
	is "$(cat out)" "joined 3" "PMC_REPORT=$kind: stdout is the program's own"
	case $kind in
	off) is "$(wc -c <err)" 0 "PMC_REPORT=off: nothing on stderr" ;;
	summary)
		like "$(cat err)" 'coverage' "PMC_REPORT=summary: the coverage summary is printed"
		unlike "$(cat err)" '\(main\)' "PMC_REPORT=summary: no thread rows"
		;;
	threads) like "$(cat err)" '\(main\)' "PMC_REPORT=threads: thread rows are printed" ;;
	json) is "$(jq '.threads | length' err)" 4 "PMC_REPORT=json: JSON on stderr" ;;
	esac
done

mkdir deep
PMC_REPORT=json=rel.json run agent sh -c 'cd deep && "$0" 3 1000; true' "$PROG/churn"
ok "PMC_REPORT=json=FILE: a relative FILE is in the directory where the program started" test -s rel.json

# PMC_ONLY and PMC_SKIP match the program's base name.
PMC_SKIP='churn' PMC_REPORT="json=$T/skip.json" run agent "$PROG/churn" 3 1000
is "$(cat out)" "joined 3" "PMC_SKIP: the program runs"
is "$(jq '.threads | length' skip.json 2>/dev/null || echo 0)" 0 "PMC_SKIP: the program has no rows"
PMC_ONLY='spawn,bur*' PMC_REPORT="json=$T/only.json" run agent "$PROG/spawn" "$PROG/churn" 3 1000
is "$(jq -r '[.threads[].name] | unique | join(" ")' only.json)" spawn "PMC_ONLY: only spawn has rows"

# Child processes: the first process prints the only report; its footer sums up the others.
PMC_EVENTS=task-clock run agent "$PROG/tree" 3 20
is "$(grep -c 'pmcagent: ' err)" 1 "a process tree prints one report" || diag_file err stderr
like "$(cat err)" 'child process' "a process tree: the footer mentions child processes" || diag_file err stderr
is "$(find "$T" -mindepth 1 -name 'pmc-*' | wc -l)" 0 "a process tree: no dump file is left in the current directory"

# Names in PMC_OUT.
PMC_REPORT=off PMC_OUT='d-%e-%p-%%.pmc' run agent "$PROG/churn" 3 1000
like "$(ls d-* 2>/dev/null)" '^d-churn-[0-9]+-%\.pmc$' "PMC_OUT: %e, %p and %% are expanded"
is "$(stat -c %a d-churn-*)" 600 "PMC_OUT: the dump has mode 0600"

# Without PMC_OUT a job's private dump is in TMPDIR and is removed at the end.
mkdir priv
TMPDIR=$T/priv PMC_REPORT="json=$T/tree.json" run agent "$PROG/tree" 3 10
is "$(jq '[.processes[].pid] | unique | length' tree.json)" 3 "without PMC_OUT the report includes descendants"
is "$(ls -A priv | wc -l)" 0 "without PMC_OUT the private dump is removed"

# Visible to the program: one environment variable, no descriptor below 1,024.
PMC_REPORT=off run agent env
is "$(grep -c '^PMC_JOB=' out)" 1 "PMC_JOB is in a child's environment"
env | sort >env.bare
PMC_REPORT=off LD_PRELOAD=$AGENT env | sort | grep -vE '^(PMC_|LD_PRELOAD|_=)' >env.agent
grep -vE '^(PMC_|LD_PRELOAD|_=)' env.bare >env.want
same env.want env.agent "PMC_JOB is the only variable added to a child's environment"
low='for f in /proc/self/fd/*; do echo "${f##*/}"; done | sort -n | awk "\$1 < 1024"'
sh -c "$low" >fd.want
PMC_EVENTS=task-clock PMC_REPORT=off agent sh -c "$low" >fd.agent
same fd.want fd.agent "the agent adds no descriptor below 1,024 to a child"

done_testing
