#!/bin/bash
# SPDX-License-Identifier: MIT
# views.t - the report at exit and pmctl report are the same; knobs that choose what is reported.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

PMC_EVENTS=task-clock,page-faults PMC_OUT=x.pmc PMC_REPORT="json=$T/exit.json" run agent "$PROG/tree" 1 20
"$PMCTL" report --format json x.pmc >later.json
# Symbols may be better known later, and notes of the exit report itself.
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
is "$(wc -l <y.csv)" 52 "CSV: a head and 51 rows"
is "$(awk -F, '{ print NF }' y.csv | sort -u | wc -l)" 1 "CSV: every row has every column"
is "$("$PMCTL" report --by name --format json y.pmc | jq '[.groups[].threads] | add')" 51 \
	"--by name: every thread is in one group"
is "$("$PMCTL" report --top 3 --format csv y.pmc | wc -l)" 4 "--top 3"
a=$("$PMCTL" report --by name --format json y.pmc |
	jq '[.groups[].events[] | select(.name == "task-clock") | .sum] | add')
b=$("$PMCTL" report --format json y.pmc |
	jq '[.threads[].events[] | select(.name == "task-clock") | .value] | add')
is "$a" "$b" "--by: the sums are the rows'"

# A number is the same in every locale.
a=$(LC_ALL=C "$PMCTL" report --format json y.pmc | md5sum)
b=$(LC_ALL=de_DE.UTF-8 "$PMCTL" report --format json y.pmc | md5sum)
is "$a" "$b" "JSON does not depend on the locale"

# PMC_REPORT
for kind in off summary threads json; do
	PMC_REPORT=$kind run agent "$PROG/churn" 3 1000
	is "$(cat out)" "joined 3" "PMC_REPORT=$kind: stdout is the program's own"
	case $kind in
	off) is "$(wc -c <err)" 0 "off: nothing" ;;
	summary)
		like "$(cat err)" 'coverage' "summary: the ledger"
		unlike "$(cat err)" '\(main\)' "summary: no rows"
		;;
	threads) like "$(cat err)" '\(main\)' "threads: rows" ;;
	json) is "$(jq '.threads | length' err)" 4 "json: on stderr" ;;
	esac
done

mkdir deep
PMC_REPORT=json=rel.json run agent sh -c 'cd deep && "$0" 3 1000; true' "$PROG/churn"
ok "PMC_REPORT=json=FILE: a relative FILE lies where the program started" test -s rel.json

# PMC_ONLY and PMC_SKIP go by the program's base name.
PMC_SKIP='churn' PMC_REPORT="json=$T/skip.json" run agent "$PROG/churn" 3 1000
is "$(cat out)" "joined 3" "PMC_SKIP: the program runs"
is "$(jq '.threads | length' skip.json 2>/dev/null || echo 0)" 0 "PMC_SKIP: and has no rows"
PMC_ONLY='spawn,bur*' PMC_REPORT="json=$T/only.json" run agent "$PROG/spawn" "$PROG/churn" 3 1000
is "$(jq -r '[.threads[].name] | unique | join(" ")' only.json)" spawn "PMC_ONLY: spawn alone"

# Children: one report, from the first process; the rest in its footer.
PMC_EVENTS=task-clock run agent "$PROG/tree" 3 20
is "$(grep -c 'pmcagent: ' err)" 1 "a tree prints one report" || diag_file err stderr
like "$(cat err)" 'child process' "with a footer of its children" || diag_file err stderr
is "$(find "$T" -mindepth 1 -name 'pmc-*' | wc -l)" 0 "and leaves no dump behind"

# Names in PMC_OUT.
PMC_REPORT=off PMC_OUT='d-%e-%p-%%.pmc' run agent "$PROG/churn" 3 1000
like "$(ls d-* 2>/dev/null)" '^d-churn-[0-9]+-%\.pmc$' "PMC_OUT: %e %p %%"
is "$(stat -c %a d-churn-*)" 600 "a dump is private"

# The private dump of a job without PMC_OUT lives in TMPDIR and goes.
mkdir priv
TMPDIR=$T/priv PMC_REPORT="json=$T/tree.json" run agent "$PROG/tree" 3 10
is "$(jq '[.processes[].pid] | unique | length' tree.json)" 3 "without PMC_OUT the report knows the descendants"
is "$(ls -A priv | wc -l)" 0 "and the private dump is gone"

# What the host may see of us: one variable, no descriptor below its own limit's top.
PMC_REPORT=off run agent env
is "$(grep -c '^PMC_JOB=' out)" 1 "PMC_JOB is in a child's environment"
env | sort >env.bare
PMC_REPORT=off LD_PRELOAD=$AGENT env | sort | grep -vE '^(PMC_|LD_PRELOAD|_=)' >env.agent
grep -vE '^(PMC_|LD_PRELOAD|_=)' env.bare >env.want
same env.want env.agent "and nothing else is new"
low='for f in /proc/self/fd/*; do echo "${f##*/}"; done | sort -n | awk "\$1 < 1024"'
sh -c "$low" >fd.want
PMC_EVENTS=task-clock PMC_REPORT=off agent sh -c "$low" >fd.agent
same fd.want fd.agent "a child's low descriptors are its own"

done_testing
