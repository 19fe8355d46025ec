#!/bin/bash
# SPDX-License-Identifier: MIT
# outputs.t - files that the agent and pmctl write: symbolic and hard links, pipes, other users' files,
# modes; a dump that is renamed, deleted or full; what killed runs leave.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
umask 022
export PMC_EVENTS=task-clock PMC_REPORT=off
PMC_OUT=$T/dump.pmc agent "$PROG/churn" 3 100 >/dev/null
cp dump.pmc good.pmc

dump_json() { "$PMCTL" report --format json "$1" 2>/dev/null | jq -r "$2"; }
before() { sha256sum <"$1"; }

# ---- PMC_OUT -------------------------------------------------------------------------------------
ln -s dump.pmc link.pmc
cp good.pmc first.pmc && ln first.pmc second.pmc
cp good.pmc other.pmc && chmod 666 other.pmc && chown 65534 other.pmc
mkfifo pipe
# PMC_OUT=... FILE: the target that must not change, what the message says.
for case in "link.pmc dump.pmc symbolic.link" "second.pmc first.pmc several.names" "pipe good.pmc nor.a.dump" \
	"other.pmc other.pmc another.user"; do
	read -r out target why <<<"$case"
	was=$(before "$target")
	PMC_OUT=$T/$out run timeout -s KILL 100 env LD_PRELOAD="$AGENT" "$PROG/churn" 3 100
	is "$status $(cat out)" "0 joined 3" "PMC_OUT=$out: the program runs"
	like "$(cat err)" "$why" "PMC_OUT=$out: it is refused, with the reason"
	is "$(before "$target")" "$was" "PMC_OUT=$out: $target is unchanged"
done
rm -f x.pmc
PMC_OUT=$T/x.pmc run agent sh -c "/bin/true; setpriv --reuid=65534 --regid=65534 --clear-groups /bin/true"
is "$(stat -c '%a %u' x.pmc)" "600 $(id -u)" "a new dump has mode 0600"
dump_json x.pmc '[.processes[].exe | split("/")[-1]] | sort | join(" ")' >names
like "$(cat names)" "true" "children of the same user append to it"

# ---- reports -------------------------------------------------------------------------------------
echo precious >precious
ln -s precious plink
cp precious ptwo && ln ptwo pthree
report_to() {
	case $1 in
	agent) PMC_REPORT=auto=$2 run timeout -s KILL 100 env LD_PRELOAD="$AGENT" "$PROG/churn" 3 100 ;;
	run) run timeout -s KILL 100 "$PMCTL" run --report "json=$2" -- "$PROG/churn" 3 100 ;;
	report) run timeout -s KILL 100 "$PMCTL" report --format json -o "$2" good.pmc ;;
	merge) run timeout -s KILL 100 "$PMCTL" merge good.pmc -o "$2" ;;
	esac
}
declare -A failing=([agent]=0 [run]=125 [report]=1 [merge]=1)
for by in agent run report merge; do
	report_to $by "$T/plink"
	is "$status $(cat precious)" "${failing[$by]} precious" "$by: a symbolic link is not followed"
	like "$(cat err)" "symbolic link" "$by: the error names the cause"
	report_to $by "$T/pipe"
	is "$status" "${failing[$by]}" "$by: a pipe without a reader does not block"
	like "$(cat err)" "pipe without a reader" "$by: the error names the cause"
	exec 7<>pipe
	report_to $by "$T/pipe"
	is "$status $(timeout 100 head -c 1 <&7 | wc -c)" "0 1" "$by: a pipe with a reader gets it"
	exec 7<&-
	[ $by = merge ] && continue
	report_to $by "$T/pthree"
	is "$status $(cat ptwo)" "${failing[$by]} precious" "$by: a file with several names is not written"
	head -c 100000 /dev/zero >long
	report_to $by "$T/long"
	is "$(tr -dc '\000' <long | wc -c) $(grep -c '"pmc": *1\|^  total' long)" "0 1" "$by: a longer file is replaced"
	rm -f new
	report_to $by "$T/new"
	is "$(stat -c %a new)" 644 "$by: a report has an ordinary mode"
done
rm -f new
report_to merge "$T/new"
is "$(stat -c %a new) $(ls "$T" | grep -c pmctl-tmp)" "600 0" "merge: a dump has mode 0600, and no temporary file is left"
"$PMCTL" report --format json -o /dev/stdout good.pmc | cat >stdout.json
ok "report: -o /dev/stdout to a pipe" jq .pmc stdout.json

# ---- an older file stays until the new one is complete -----------------------------------------------
writers=("report --format json good.pmc" "export --to openmetrics good.pmc" "diff good.pmc good.pmc" "list")
if mkdir small && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
	echo precious >small/file
	cat /dev/zero >small/fill 2>/dev/null
	for writer in "${writers[@]}"; do
		run "$PMCTL" $writer -o small/file
		is "$status $(cat small/file) $(ls -A small | xargs)" "1 precious file fill" "$writer, disk full: the older file"
	done
	umount small
fi
mkdir closed
echo precious >kept
echo precious >closed/file
chmod 640 kept
chmod 555 closed
[ "$(id -u)" != 0 ] || chown 65534 closed/file
for writer in "${writers[@]:3}"; do
	run "$PMCTL" $writer -o kept
	is "$(stat -c %a kept) $(grep -c precious kept)" "640 0" "$writer: the mode of the older file"
	run as_nobody "$PMCTL" $writer -o closed/file
	is "$(grep -c precious closed/file)" 0 "$writer: a file in a directory that is closed to the user"
	echo precious | tee kept >closed/file
done

# ---- dumps, files of other users, files that are named twice ---------------------------------------
# write_to WHAT FILE: each command that writes text to a file that is named.
write_to() {
	case $1 in
	agent) PMC_REPORT=summary=$2 run timeout -s KILL 100 env LD_PRELOAD="$AGENT" "$PROG/churn" 3 100 ;;
	run) run timeout -s KILL 100 "$PMCTL" run --report "summary=$2" -- touch ran ;;
	report) run timeout -s KILL 100 "$PMCTL" report -o "$2" good.pmc ;;
	html) run timeout -s KILL 100 "$PMCTL" report --html "$2" good.pmc ;;
	export) run timeout -s KILL 100 "$PMCTL" export --to csv -o "$2" good.pmc ;;
	stat) run timeout -s KILL 100 "$PMCTL" stat -o "$2" -- touch ran ;;
	top) run timeout -s KILL 100 "$PMCTL" top -b -I 50ms -o "$2" -- sh -c 'echo x; touch ran' ;;
	bench) run timeout -s KILL 100 "$PMCTL" bench -r 1 --output "$2" -- sh -c 'echo x; touch ran' ;;
	esac
}
failing=([agent]=0 [run]=125 [report]=1 [html]=1 [export]=1 [stat]=1 [top]=125 [bench]=1 [merge]=1)
foreign=()
[ "$(id -u)" != 0 ] || foreign=("foreign.txt foreign.txt another.user")
for by in agent run report html export stat top bench; do
	echo precious >precious
	# FILE: the file that must not change, what the message says.
	for case in "own.pmc own.pmc is.a.dump" "plink precious symbolic.link" "pthree ptwo several.names" "dangling none symbolic.link" \
		"${foreign[@]}"; do
		read -r out target why <<<"$case"
		cp good.pmc own.pmc
		ln -sf none dangling
		echo precious >foreign.txt && chmod 666 foreign.txt && chown "${foreign[0]:+65534}" foreign.txt
		rm -f ran none
		was=$(before "$target" 2>&1)
		write_to $by "$out"
		is "$status" "${failing[$by]}" "$by to $out: exit status"
		like "$(grep -v joined err)" "^[^;]*: [^;]*$why[^;]*; |PMC_REPORT: .*$why" "$by to $out: the reason and the fix"
		is "$(before "$target" 2>&1)" "$was" "$by to $out: the file is unchanged"
		ok "$by to $out: nothing was started" test ! -e ran
		rm -f foreign.txt
	done
	write_to $by /dev/null
	is "$status" 0 "$by to /dev/null"
	rm -f sink
	write_to $by >(cat >sink)
	is "$status" 0 "$by to a process substitution"
	ok "$by to a process substitution: it gets the output" await test -s sink
	[ $by = agent ] && continue
	# Of stat and run: what the command prints stays.
	(echo before; write_to $by /dev/stdout; cat out) >all
	like "$status $(head -n 1 all) $(wc -l <all)" "0 before ([2-9]|[1-9][0-9]+)$" "$by to /dev/stdout, which is a file"
done
"$PMCTL" merge good.pmc -o /dev/stdout >sink
ok "merge to /dev/stdout, which is a file" "$PMCTL" report sink
"$PMCTL" merge good.pmc -o >("$PMCTL" report --format json - >sink)
ok "merge to a process substitution" await jq -e .pmc sink
refused() {
	local code=$1 regex=$2
	rm -f ran
	shift 2
	run "$PMCTL" "$@"
	is "$status" "$code" "$*: exit status $code"
	like "$(cat err)" "^pmctl [a-z]*: .*$regex.*; " "$*: the reason and the fix"
	ok "$*: nothing was started" test ! -e ran
}
# unchanged FILE NAME: it is still good.pmc, and was not renamed.
unchanged() {
	ok "$2: the dump is unchanged" cmp good.pmc "$1"
	ok "$2: nothing was renamed" test ! -e "$1.old"
}
ln -s . here
mkdir twice
for report in "$T/twice/new" twice/new twice/../here/twice/new; do
	refused 2 "overwrite the dump" run -o twice/new --report "json=$report" -- touch ran
done
is "$(ls twice)" "" "a new file that is named twice is not created"
for flags in "--append" ""; do
	cp good.pmc own.pmc
	refused 2 "overwrite the dump" run $flags -o own.pmc --report summary=./own.pmc -- touch ran
	unchanged own.pmc "run $flags: the dump as report"
done
PMC_OUT=$T/own.pmc refused 2 "overwrite the dump" run --report json=own.pmc -- touch ran
unchanged own.pmc "PMC_OUT as report"
refused 2 "overwrite FILE.old" run -o own.pmc --report json=own.pmc.old -- touch ran
unchanged own.pmc "FILE.old as report"
cp good.pmc third.pmc
refused 125 "is a dump" run -o own.pmc --report json=third.pmc -- touch ran
unchanged own.pmc "a report that is refused"
unchanged third.pmc "another dump as report"
for flag in --input --baseline; do
	echo '{"commands":[]}' >in.json
	refused 2 "overwrite the file of $flag" bench -r 1 $flag in.json --output ./in.json -- touch ran
	is "$(cat in.json)" '{"commands":[]}' "bench $flag and --output: the file is unchanged"
done
echo precious >precious
"$PMCTL" report -o precious good.pmc >>precious 2>err
is "$? $(cat precious)" "1 precious" "-o is not the file of standard output"
PMC_OUT=$T/own.pmc PMC_REPORT=summary=$T/own.pmc run agent "$PROG/churn" 3 100
is "$status $(dump_json own.pmc '.processes | length')" "0 2" "PMC_OUT as PMC_REPORT: the dump has both runs"
like "$(cat err)" "PMC_REPORT: .*is a dump" "PMC_OUT as PMC_REPORT: the reason"
# The report's file became a dump while the command ran.
rm -f late
run "$PMCTL" run --report json=late -- sh -c "'$PMCTL' run --report off -o late -- true; exit 3"
is "$status $(dump_json late '.processes | length')" "3 1" "the report does not overwrite a dump of the command"
like "$(cat err)" "late: it is a dump; " "and the reason is given"

if [ "$(id -u)" = 0 ]; then
	for case in "125 run --append -o other.pmc -- touch ran" "125 run -o other.pmc -- touch ran" \
		"125 run -o mine.pmc -- touch ran" \
		"1 merge good.pmc -o other.pmc"; do
		read -r code args <<<"$case"
		rm -f other.pmc.old
		for file in other.pmc mine.pmc.old; do
			cp good.pmc $file && chmod 666 $file && chown 65534 $file
		done
		cp good.pmc mine.pmc
		refused "$code" "another user" $args
		unchanged other.pmc "$args"
		is "$(before mine.pmc.old) $(before mine.pmc)" "$(before good.pmc) $(before good.pmc)" "$args: FILE.old of another user is kept"
	done
else
	skip "takes root" "dumps of other users"
fi

# ---- secrets in command lines --------------------------------------------------------------------
# secret FILE: how many times it has the secret.
secret() { grep -c hunter2 "$1"; }
args=(--password hunter2 --api-key=hunter2 https://u:hunter2@h)
PMC_OUT=$T/a.pmc run agent bash -c 'exec "$@"' bash "$PROG/churn" 3 100 "$T/rss" "${args[@]}"
is "$(secret a.pmc)" 0 "a dump has no secrets of command lines"
like "$(dump_json a.pmc '.processes[].cmdline')" 'churn 3 100 .*--password \*\*\*' "other words of command lines are kept"
PMC_ARGS=full PMC_OUT=$T/f.pmc run agent "$PROG/churn" 3 100 "$T/rss" "${args[@]}"
like "$(dump_json f.pmc '.processes[].cmdline')" 'hunter2' "PMC_ARGS=full keeps them"
PMC_ARGS=name PMC_OUT=$T/n.pmc run agent "$PROG/churn" 3 100 "$T/rss" "${args[@]}"
is "$(dump_json n.pmc '.processes[].cmdline')" "$PROG/churn" "PMC_ARGS=name: the program's name"
run "$PMCTL" merge f.pmc -o stripped.pmc --strip-args
is "$(secret stripped.pmc)" 0 "merge --strip-args removes them"
run "$PMCTL" run -o s.pmc --report off -- "$PROG/burn_static" "${args[@]}"
is "$(secret s.pmc)" 0 "a dump of a program without the agent has no secrets, either"

# ---- renamed, deleted, full ----------------------------------------------------------------------
# held VARIABLES...: waiters with 20 threads and a dump signal, at work until descriptor 9 closes.
mkfifo hold
held() {
	rm -f out err
	env LD_PRELOAD="$AGENT" PMC_DUMP=USR2 PMC_OUT="$T/held.pmc" "$@" "$PROG/waiters" 20 20 <hold >out 2>err 9>&- &
	pid=$!
	exec 9>hold
	await grep -q ready out
}
end_held() {
	exec 9>&-
	wait $pid
	is "$? $(tail -n 1 out)$(cat err)" "0 20 threads, 0 disturbed, 0 handled" "$1: the program is not disturbed"
}
has() { [ "$("$PMCTL" report --format json "$1" 2>/dev/null | jq "$2")" = "$3" ]; }

for how in mv rm; do
	rm -f held.pmc* kept.pmc
	held
	kill -USR2 $pid
	ok "$how: a snapshot" await has held.pmc '.threads | length' 41
	cp held.pmc kept.pmc
	[ $how = mv ] && mv held.pmc held.pmc.1
	[ $how = rm ] && rm held.pmc
	kill -USR2 $pid
	ok "$how: the dump comes back under its name, complete" await has held.pmc '.threads | length' 21
	end_held "$how"
	is "$(dump_json held.pmc '[.processes[].notes[] | select(.text | test("renamed or deleted"))] | length')" 1 \
		"$how: a note says so"
	is "$(dump_json held.pmc '.processes[0].how_ended')" "exit:0" "$how: it has the end"
	is "$("$PMCTL" report --format json held.pmc kept.pmc | jq '[.threads[].state] | map(select(. == "exited")) | length')" \
		41 "$how: both files have all rows"
done
# At the end, without a snapshot after the rename.
rm -f held.pmc*
held
mv held.pmc held.pmc.1
end_held "renamed before the end"
is "$(dump_json held.pmc '.processes[0].how_ended')" "exit:0" "renamed before the end: the last rows are in a new file of that name"
# A deleted directory; and chroot, after which the path names another file.
mkdir gone
held PMC_OUT="$T/gone/x.pmc" PMC_REPORT="summary=$T/gone.txt"
mv gone/x.pmc kept.pmc && rmdir gone
kill -USR2 $pid
end_held "directory deleted"
like "$(dump_json kept.pmc '.processes[].notes[].text')" "could not be created again" "directory deleted: the open file is used further, with a note"
like "$(cat gone.txt)" "41 of 41 threads counted" "directory deleted: the report is made from it"
if [ "$(id -u)" = 0 ]; then
	# As nginx: the worker may not search the directory in which its dump is.
	mkdir -m 700 unsearchable
	echo 'int setuid(int); int main(void) { return setuid(65534); }' >worker.c && gcc -o worker worker.c
	PMC_OUT=$T/unsearchable/w.pmc run agent ./worker
	is "$status $(dump_json unsearchable/w.pmc '.processes[] | "\(.how_ended) \(.notes | length)"')" "0 exit:0 0" \
		"a directory that the process may not search any more: no note that the dump was renamed"
else
	skip "takes root" "a directory that the process may not search any more"
fi

rm -f held.pmc*
held PMC_OUT_MAX=2K
for _ in 1 2 3; do
	kill -USR2 $pid
	ok "PMC_OUT_MAX: a note" await has held.pmc '[.processes[].notes[] | select(.text | test("PMC_OUT_MAX"))] | length' 1
done
size=$(stat -c %s held.pmc)
kill -USR2 $pid
end_held PMC_OUT_MAX
is "$(dump_json held.pmc '[.threads[].state] | map(select(. == "exited")) | length')" 41 "PMC_OUT_MAX: rows of ended threads are kept"
between "$size" 2048 12000 "PMC_OUT_MAX: snapshots stop"
PMC_OUT_MAX=2X run agent "$PROG/churn" 3 100
like "$(cat err)" "PMC_OUT_MAX=2X: .*500M" "PMC_OUT_MAX: an invalid value is named"

# ---- private dumps, PMC_JOB ----------------------------------------------------------------------
mkdir tmp
export TMPDIR=$T/tmp
unset PMC_REPORT
private() { find tmp -name 'pmc-*.job' | wc -l; }
run agent sh -c '/bin/true; ls "$TMPDIR"'
like "$(cat out)" '^pmc-.*\.job$' "a job with children has a private dump"
is "$(stat -c %a tmp 2>/dev/null) $(private)" "755 0" "the private dump is removed at the end"
# killed: its first process, with a private dump that has a child's row, when the children have ended.
killed() {
	rm -f job children-ended
	env LD_PRELOAD="$AGENT" sh -c '/bin/true; env >job; : >children-ended; read -r _ <hold' 2>/dev/null 9>&- &
	pid=$!
	await test -e children-ended
	kill -KILL $pid
	wait $pid 2>/dev/null
	is "$(private)" 1 "SIGKILL leaves the private dump"
}
killed
name=$(basename tmp/pmc-*.job)
job=$(sed -n 's/^PMC_JOB=//p' job)
# Not to be removed: another name, not a dump, a link, another user's, of a live process.
cp good.pmc tmp/pmc-run.job
cp good.pmc "tmp/${name/-*-/-$(printf %032d 1)-}"
printf text >"tmp/pmc-$(printf %032d 2)-${name#pmc-*-}"
ln -s ../good.pmc "tmp/pmc-$(printf %032d 3)-${name#pmc-*-}"
cp good.pmc "tmp/pmc-$(printf %032d 4)-${name#pmc-*-}"
chown 65534 "tmp/pmc-$(printf %032d 4)-${name#pmc-*-}"
cp good.pmc "tmp/pmc-$(printf %032d 5)-$$-${name##*-}"
is "$(private)" 7 "files that look like private dumps"
run agent sh -c /bin/true\;:
ok "the next job with children removes it" test ! -e "tmp/$name"
is "$(private)" 6 "files of other users, files in use and other files are kept" || diag "$(ls -l tmp)"
rm -f tmp/*

# A forged PMC_JOB: as the job's first process, and as a child whose first process is gone.
echo precious >precious
cp good.pmc precious.pmc
prefix=${job%%:[po]/*}
for path in "$T/precious" "$T/precious.pmc" "$T/tmp/pmc-$(printf %032d 1)-1-1.job" precious.pmc ""; do
	mkdir -p tmp && cp good.pmc "tmp/pmc-$(printf %032d 1)-1-1.job"
	for who in self 4194303; do
		run bash -c 'pid=$1; [ "$pid" != self ] || pid=$BASHPID
			text=$(printf %016x $pid | fold -w 2 | tac | tr -d "\n")
			PMC_JOB=2:${2:2:32}$text${2:50}:p$3 LD_PRELOAD=$4 exec '"$PROG/churn 3 100" \
			bash $who "$prefix" "$path" "$AGENT"
		is "$status $(cat out)" "0 joined 3" "forged PMC_JOB, $who, ${path##*/}: the program runs"
		ok "forged PMC_JOB, $who, ${path##*/}: nothing is removed" \
			test -e precious -a -e precious.pmc -a -e "tmp/pmc-$(printf %032d 1)-1-1.job"
		is "$(before precious.pmc)" "$(before good.pmc)" "forged PMC_JOB, $who, ${path##*/}: nothing is written to it"
	done
done
done_testing
