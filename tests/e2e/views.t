#!/bin/bash
# SPDX-License-Identifier: MIT
# views.t - the summary at exit has the figures of pmctl report; settings that select what is reported.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

PMC_EVENTS=task-clock,page-faults PMC_OUT=y.pmc run agent "$PROG/churn" 50 3000
"$PMCTL" report --format json y.pmc >y.json
like "$(cat err)" '51 of 51 threads counted' "summary: every thread is counted" || diag_file err summary
# The row of the pool and the total: name, n, CPU time.
is "$(awk '$1 == "total" { print $2 }' err)" "$(jq '.threads | length' y.json)" "summary: as many threads as pmctl report has"
faults=$(jq '[.threads[].events[] | select(.name == "page-faults") | .value] | add' y.json)
is "$(awk '$1 == "total" { gsub(/[,+]/, ""); print $NF; exit }' <(awk '/page-faults/ { for (i = 1; i <= NF; i++) if ($i == "page-faults") c = NF - i }
	$1 == "total" { print $1, $(NF - c) }' err))" "$faults" "summary: the sum of page-faults is that of pmctl report" ||
	diag_file err summary

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

# ---- a narrow screen: requested events stay longest ----------------------------------------------
COLUMNS=80 run "$PMCTL" run -e task-clock,task-clock:u,user-time,system-time -- true
like "$(grep -h "^ *thread " out err)" 'task-clock:u .*user-time .*system-time' "requested events fit"
like "$(cat out err)" 'not shown: .*page-faults' "in place of what was not asked for"

# Numbers are formatted the same in every locale.
a=$(LC_ALL=C "$PMCTL" report --format json y.pmc | md5sum)
b=$(LC_ALL=de_DE.UTF-8 "$PMCTL" report --format json y.pmc | md5sum)
is "$a" "$b" "JSON does not depend on the locale"

# PMC_REPORT
for kind in off summary auto threads json csv html=page; do
	PMC_REPORT=$kind run agent "$PROG/churn" 3 1000
	is "$(cat out)" "joined 3" "PMC_REPORT=$kind: stdout is the program's own"
	case $kind in
	off) is "$(wc -c <err)" 0 "PMC_REPORT=off: nothing on stderr" ;;
	summary)
		like "$(cat err)" 'coverage' "PMC_REPORT=summary: the coverage is printed"
		unlike "$(cat err)" '\(main\)' "PMC_REPORT=summary: no thread rows"
		;;
	auto) like "$(cat err)" '\(main\)' "PMC_REPORT=auto: thread rows are printed" ;;
	*)
		like "$(cat err)" '\(main\)' "PMC_REPORT=$kind: thread rows are printed"
		like "$(cat err)" "PMC_REPORT=${kind%=*}: pmctl" "PMC_REPORT=$kind: a line says that pmctl makes this form"
		;;
	esac
done
ok "PMC_REPORT=html=FILE: the agent writes no file" test ! -e page

mkdir deep
PMC_REPORT=auto=rel.txt run agent sh -c 'cd deep && "$0" 3 1000; true' "$PROG/churn"
ok "PMC_REPORT=auto=FILE: a relative FILE is in the directory where the program started" test -s rel.txt

# The first process's images before an exec of its own have rows.
rm -f e.pmc
for out in '' e.pmc e.pmc; do
	PMC_OUT=$out run agent sh -c 'exec "$0" 3 1000' "$PROG/churn"
	is "$(awk '$1 == "sh" || $1 == "dash" || $1 == "bash" || $1 == "churn"' err | wc -l) $(grep -c '(main)' err)" "4 1" \
		"after an exec the summary has both images, and none of another job (PMC_OUT=$out)" || diag_file err summary
done

# PMC_ONLY and PMC_SKIP match the program's base name.
PMC_SKIP='churn' PMC_REPORT=off PMC_OUT=skip.pmc run agent "$PROG/churn" 3 1000
is "$(cat out)" "joined 3" "PMC_SKIP: the program runs"
is "$("$PMCTL" report --format json skip.pmc | jq '.threads | length')" 0 "PMC_SKIP: the program has no rows"
PMC_ONLY='spawn,bur*' PMC_REPORT=off PMC_OUT=only.pmc run agent "$PROG/spawn" "$PROG/churn" 3 1000
"$PMCTL" report --format json only.pmc >only.json
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
TMPDIR=$T/priv run agent "$PROG/tree" 3 10
like "$(cat err)" '2 child processes' "without PMC_OUT the summary counts descendants"
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
