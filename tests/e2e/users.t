#!/bin/bash
# SPDX-License-Identifier: MIT
# users.t - programs that change their user and execute another program, which may not open the dump: it
# has rows all the same. Where it cannot, the report says why, and not that all threads are counted.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root, to change the user"
cd "$T" || exit 1
# A program of its own name; its loop takes a few milliseconds.
cp "$(command -v dash || command -v sh)" burner
cp "$PROG/setids" "$PROG/seccomp" .
burn='i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
mkdir -m 755 readable
mkdir -m 1777 sticky

# burners N NAME [PROCESSES]: run.json has N rows of burner with CPU time, and no note; every row of the command counts.
burners() {
	is "$status $(json run.json '[.threads[] | select(.name == "burner" and .pid == .tid and .cpu_ns > 1000000)] | length')" \
		"0 $1" "$2: the rows" || diag_file run.json report
	is "$(json run.json '[.processes[].notes[] | select(.code != 35) | .text] | join("; ")')" "" "$2: no note"
	is "$(grep -v '^burn' err | head -n 3)" "" "$2: no message"
}

# changed N NAME CMD...: of a run with a private dump, a named one, and one for each process.
changed() {
	local n=$1 name=$2
	shift 2
	run "$PMCTL" run --report json=run.json -- "$@"
	burners "$n" "$name"
	rm -rf named.pmc
	run "$PMCTL" run -o named.pmc --report json=run.json -- "$@"
	burners "$n" "$name, -o FILE"
	"$PMCTL" report --format json named.pmc >run.json
	burners "$n" "$name, the file"
	for dir in readable sticky; do
		rm -rf $dir/*
		run "$PMCTL" run -o $dir/%p.pmc --report json=run.json -- "$@"
		burners "$n" "$name, -o $dir/%p"
	done
}

changed 1 "setpriv" $nobody ./burner -c "$burn"
if command -v runuser >/dev/null && runuser -u nobody true; then
	changed 1 "runuser, by fork" runuser -u nobody -- ./burner -c "$burn"
else
	skip "no runuser" "runuser, by fork"
fi
if su -s /bin/sh nobody -c true; then
	changed 1 "su, by fork" su -s "$T/burner" nobody -c "$burn"
else
	skip "no su" "su, by fork"
fi
changed 3 "a shell of the other user" $nobody ./burner -c "./burner -c '$burn'; ./burner -c '$burn' & wait; $burn"
changed 2 "an exec of the other user" $nobody ./burner -c "$burn; exec ./burner -c '$burn'"
changed 1 "in a child" sh -c "$nobody ./burner -c '$burn'; :"
if python=$(python3 -c 'import sys; print(sys.executable)') && $nobody "$python" -c ''; then
	changed 3 "programs that close all descriptors" $nobody "$python" -c '
import os, subprocess, sys
subprocess.run(["./burner", "-c", sys.argv[1]])
os.closerange(3, 5000)
subprocess.run(["./burner", "-c", sys.argv[1]], close_fds=True)
for fd in os.listdir("/proc/self/fd"):
    try: int(fd) > 2 and os.close(int(fd))
    except OSError: pass
os.execv("./burner", ["burner", "-c", sys.argv[1]])' "$burn"
	changed 1 "posix_spawn" $nobody "$python" -c 'import os, sys
os.waitpid(os.posix_spawn("./burner", ["burner", "-c", sys.argv[1]], os.environ), 0)' "$burn"
	# The change, the closing and the exec in one process, by the program and by a vfork child.
	changed 1 "closed before the exec" "$python" -c '
import os, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.closerange(3, 5000)
os.execv("./burner", ["burner", "-c", sys.argv[1]])' "$burn"
	changed 1 "subprocess with a user" "$python" -c '
import subprocess, sys
subprocess.run(["./burner", "-c", sys.argv[1]], user=65534, group=65534, extra_groups=[])' "$burn"
else
	skip "no python3 for nobody" "programs that close all descriptors"
fi
cat >vfork.c <<'E'
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>
/* vfork CMD...: CMD as nobody in a vfork child, twice; an exec that fails comes first. */
int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		if (!vfork()) {
			if (setgroups(0, 0) || setgid(65534) || setuid(65534))
				_exit(1);
			execv("/nonexistent", argv + 1);
			execv(argv[1], argv + 1);
			_exit(127);
		}
		wait(0);
	}
	return argc < 2;
}
E
if cc -w -o vfork vfork.c; then
	changed 2 "an exec in a vfork child" ./vfork ./burner -c "$burn"
else
	skip "no compiler" "an exec in a vfork child"
fi
# An exec that fails leaves the descriptor as it was.
run "$PMCTL" run -o fds.pmc -- perl -e '$) = $( = 65534; $< = $> = 65534; exec {"/nonexistent"} "x"; print -d "/proc/self/fd", "\n";
	for (glob "/proc/self/fdinfo/*") { open my $f, $_ or next; s/info//; next unless readlink($_) =~ /fds.pmc/; local $/;
	my $text = <$f>; $text =~ /flags:\s*(\d+)/ and print oct($1) & 02000000 ? "closed\n" : "left open\n" }'
is "$(tail -n 1 out)" closed "an exec that fails: FD_CLOEXEC is set again"
# A program that changes no user passes nothing on.
run "$PMCTL" run -- sh -c "exec sh -c 'echo \$PMC_JOB'"
like "$(cat out)" "^2:[0-9a-z]+z[g-z]:" "no other user: no descriptor is passed on"
run "$PMCTL" run -- $nobody sh -c 'echo $PMC_JOB'
like "$(cat out)" "^2:[0-9a-z]+[0-9a-f]{2}[g-m]:" "another user: it is"

# ---- the job's private dump, reports of the agent -------------------------------------------------
mkdir -m 1777 tmp
cp burner other
printf '%s\n' "$burn" >loop
printf './other loop\n%s\n' "$burn" >twice
PMC_REPORT=threads TMPDIR=$T/tmp run agent sh -c "true; exec $nobody ./burner twice"
for row in "sh +[0-9]" "setpriv +[0-9]" "1 child process,"; do
	like "$(cat err)" $'\n'" *$row" "a private dump: ${row%% *} is in the table" || diag_file err table
done

# ---- snapshots ------------------------------------------------------------------------------------
for how in signal pmctl; do
	rm -f held.pmc
	mkfifo hold 2>/dev/null
	chmod 666 hold
	PMC_DUMP=USR2 "$PMCTL" run -o held.pmc -- $nobody ./burner -c "$burn; echo \$\$ >pid; read -r _ <hold" >/dev/null 2>err &
	pid=$!
	chmod 777 .
	await test -s pid
	if [ $how = signal ]; then
		kill -USR2 "$(cat pid)"
	else
		ok "pmctl dump of the other user's program" "$PMCTL" dump -p "$(cat pid)"
	fi
	snapshots() { "$PMCTL" report --timeline --format csv held.pmc | grep -c ',burner,' | grep -qv '^0$'; }
	ok "$how: a snapshot in the dump" await snapshots || "$PMCTL" report --timeline --format csv held.pmc >&2
	echo >hold
	wait $pid
	unlike "$(cat err)" "permission|note: " "$how: no message"
	rm -f pid
	chmod 755 .
done

# ---- PMC_JOB may say anything ---------------------------------------------------------------------
# The job of a program of another user, with the number of another file in place of the dump's.
rm -f job.pmc
run "$PMCTL" run -o job.pmc -- $nobody sh -c 'echo "$PMC_JOB"'
job=$(cat out)
cat >forge.py <<'E'
import fcntl, os, struct, sys
kind, job, command = sys.argv[1], os.environ["JOB"], sys.argv[2:]
head, text, rest = job.split(":", 2)
# A letter from g on stands for 1 to 20 bytes of 0.
fixed = bytearray.fromhex("".join("00" * (ord(c) - ord("f")) if c > "f" else c for c in text))
flags = os.O_RDWR | os.O_APPEND
if kind == "plain": flags = os.O_RDWR
fd = os.open("readonly.pmc" if kind == "readonly" else "precious.pmc" if kind != "text" else "precious",
	os.O_RDONLY if kind == "readonly" else flags)
os.dup2(fd, 900)
if kind in ("marked", "text", "right"): fcntl.fcntl(900, fcntl.F_SETSIG, 61)
st = os.fstat(900)
if kind == "marked": st = os.stat("other.pmc")
fixed[-24:] = struct.pack("QQII", st.st_dev, st.st_ino, 901, 0)
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.execve(command[0], command, {"PMC_JOB": ":".join((head, fixed.hex(), rest)), "LD_PRELOAD": os.environ["FORGED_PRELOAD"],
	"PMC_REPORT": "off"})
E
if [ -n "${python:-}" ]; then
	echo precious >precious
	cp job.pmc precious.pmc
	cp job.pmc other.pmc
	cp job.pmc readonly.pmc
	sums() { cksum precious precious.pmc other.pmc readonly.pmc; }
	before=$(sums)
	for kind in plain unmarked marked text readonly; do
		JOB=$job FORGED_PRELOAD=$AGENT run "$python" forge.py $kind ./burner -c 'echo ran'
		is "$status $(cat out)" "0 ran" "forged PMC_JOB, $kind: the program runs"
		is "$(sums)" "$before" "forged PMC_JOB, $kind: nothing is written"
	done
	JOB=$job FORGED_PRELOAD=$AGENT run "$python" forge.py right ./burner -c 'echo ran'
	is "$(sums | wc -l) $([ "$(sums)" != "$before" ] && tail -c 4 precious)" "4 ous" "a dump that an agent has opened is written to"
else
	skip "no python3" "forged PMC_JOB"
fi

# ---- under a seccomp filter, as in containers -----------------------------------------------------
PMC_EVENTS=task-clock run ./seccomp errno "$PMCTL" run --report json=run.json -- $nobody ./burner -c "$burn"
is "$status $(json run.json '[.threads[] | select(.name == "burner" and .cpu_ns > 1000000)] | length')" "0 1" "a filter from before: the rows" ||
	diag_file run.json report

# ---- the reason, where it has no rows -------------------------------------------------------------
run "$PMCTL" run -- sh -c "ulimit -f 0; exec ./burner -c '$burn'"
like "$(tr -s ' \n' ' ' <err)" "note: [^ ]+ could not write to the dump \(a limit of file sizes" "ulimit -f 0: the reason" || diag_file err table
run "$PMCTL" run -o named.pmc -- sh -c "ulimit -f 0; exec ./burner -c '$burn'"
like "$(tr -s ' \n' ' ' <err)" "note: [^ ]+ did not load the agent, or could not write to the dump" "ulimit -f 0, -o FILE: the possible reasons" ||
	diag_file err table
# A static program changes the user: nothing is passed on.
cat >static.c <<'E'
#include <grp.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	return argc < 2 || setgroups(0, 0) || setgid(65534) || setuid(65534) || execv(argv[1], argv + 1);
}
E
if cc -static -w -o static static.c; then
	for out in "" "-o named.pmc" "-o readable/%p.pmc"; do
		rm -rf named.pmc readable/*
		run "$PMCTL" run $out -- sh -c "exec ./static ./burner -c '$burn; $burn'"
		table=$(tr -s ' \n' ' ' <err)
		like "$table" "could not write to the dump as user 65534" "a static program changes the user, '$out': the reason" || diag_file err table
		unlike "$table" "[0-9] of [0-9]+ threads? counted" "a static program changes the user, '$out': not all threads are said to be counted" ||
			diag_file err table
		unlike "$table" "coverage (9[0-9]|100)" "a static program changes the user, '$out': coverage is low"
	done
else
	skip "no static libc" "a static program changes the user"
fi
# Another real than effective user: the loader ignores LD_PRELOAD.
run "$PMCTL" run -- perl -e '$< = 65534; exec @ARGV' ./burner -c "$burn"
like "$(tr -s ' \n' ' ' <err)" "ignores LD_PRELOAD" "another real user: a note says that the loader ignores LD_PRELOAD" || diag_file err table
unlike "$(cat err)" "[0-9] of [0-9]+ threads? counted" "another real user: not all threads are said to be counted"
done_testing
