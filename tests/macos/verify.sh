#!/bin/sh
# SPDX-License-Identifier: MIT
# verify.sh DIR - for the first person with a Mac: runs the steps of docs/MACOS.md with libpmcagent.dylib
# and pmctl in DIR, and prints for each what is expected and what came. Steps with sudo are skipped
# unless it runs as root.
set -u
dir=$(cd "${1:?usage: verify.sh DIR}" && pwd) || exit 2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
failed=0

cat >spin.c <<'C'
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void *spin(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "spin-%d", (int)(long)arg);
	if (arg)
		pthread_setname_np(name);
	for (volatile long i = 0; i < 100000000; i++)
		;
	return NULL;
}

static void block(void *unused)
{
	(void)unused;
	spin(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "1";
	pthread_t threads[64];
	int n = atoi(what);

	if (strcmp(what, "fork") == 0) {
		if (fork() == 0) {
			spin(NULL);
			exit(3);
		}
		wait(NULL);
	} else if (strcmp(what, "exec") == 0) {
		spin(NULL);
		execv(argv[0], (char *[]){ argv[0], "0", NULL });
	} else if (strcmp(what, "execl") == 0) {
		spin(NULL);
		execlp(argv[0], argv[0], "0", NULL);
	} else if (strcmp(what, "setexec") == 0) {
		posix_spawnattr_t attr;

		spin(NULL);
		posix_spawnattr_init(&attr);
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETEXEC);
		posix_spawn(NULL, argv[0], NULL, &attr, (char *[]){ argv[0], "0", NULL }, environ);
	} else if (strcmp(what, "long") == 0) {
		for (time_t end = time(NULL) + 3; time(NULL) < end;)
			spin(NULL);
	} else if (strcmp(what, "signal") == 0) {
		spin(NULL);
		raise(SIGUSR1);
	} else if (strcmp(what, "killed") == 0) {
		spin(NULL);
		raise(SIGTERM);
	} else if (strcmp(what, "fault") == 0) {
		spin(NULL);
		*(volatile int *)16 = 1;
	} else if (strcmp(what, "dispatch") == 0) {
		dispatch_group_t group = dispatch_group_create();

		for (int i = 0; i < 4; i++)
			dispatch_group_async_f(group, dispatch_get_global_queue(0, 0), NULL, block);
		dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
	} else if (n > 1) {
		for (long i = 0; i < n && n <= 64; i++)
			pthread_create(&threads[i], NULL, spin, (void *)(i + 1));
		for (int i = 0; i < n && n <= 64; i++)
			pthread_join(threads[i], NULL);
	} else {
		spin(NULL);
	}
	return 7;
}
C
cc -O1 -o spin spin.c || exit 1

# step NUMBER EXPECTED COMMAND...: prints the command's output.
step() {
	echo
	echo "== step $1. Expected: $2"
	shift 2
	"$@" 2>&1
	echo "-- exit status $?"
}

# check TEXT FILE PATTERN: whether the file has the pattern.
check() {
	if grep -q "$3" "$2"; then
		echo "ok: $1"
	else
		echo "NOT ok: $1"
		failed=1
	fi
}

with() {
	env_out=$1
	shift
	# Not by env(1), which drops DYLD_* itself.
	(
		export PMC_OUT="$tmp/$env_out" DYLD_INSERT_LIBRARIES="$dir/libpmcagent.dylib"
		exec "$@"
	)
}

# Apple silicon, also from a translated shell; else Intel.
events=INST_ALL,INST_BRANCH
[ "$(sysctl -n hw.optional.arm64 2>/dev/null)" = 1 ] || events=INST_RETIRED.ANY,BR_INST_RETIRED.ALL_BRANCHES
sw_vers
sysctl -n machdep.cpu.brand_string
step 1 "the version" "$dir/pmctl" --version
step 2 "one row, cycles above 0, exit status 7" with one.pmc ./spin 1
step 3 "five rows, four named spin-N with similar counts" with four.pmc ./spin 4
step 4 "five threads as JSON" "$dir/pmctl" report --format json -o four.json four.pmc
check "the process ended by exit, of no other status" four.json '"how_ended":"exit\(:7\)*"'
check "threads have names" four.json 'spin-4'
step 29 "a page" "$dir/pmctl" export --to html -o four.html four.pmc
check "the page has the threads" four.html '"spin-4"'
check "cycles were counted" four.json '"state":"counted"'
step 5 "two processes" with fork.pmc ./spin fork
"$dir/pmctl" report --by process fork.pmc
step 6 "two images of spin, the first ended by exec" with exec.pmc ./spin exec
"$dir/pmctl" report --format json -o exec.json exec.pmc
check "the first image ended by exec" exec.json '"how_ended":"exec"'
step 28 "two images of spin, the first ended by exec" with execl.pmc ./spin execl
"$dir/pmctl" report --format json -o execl.json execl.pmc
check "the first image ended by exec" execl.json '"how_ended":"exec"'
step 26 "start routine spin, four threads" "$dir/pmctl" report --by start four.pmc
step 27 "two images of spin, the first ended by exec" with setexec.pmc ./spin setexec
"$dir/pmctl" report --format json -o setexec.json setexec.pmc
check "the first image ended by exec" setexec.json '"how_ended":"exec"'
PMC_DUMP=USR1
export PMC_DUMP
step 7 "a snapshot before the last rows" with signal.pmc ./spin signal
unset PMC_DUMP
"$dir/pmctl" report --timeline --format csv signal.pmc
step 8 "rows of dispatch workers" with dispatch.pmc ./spin dispatch
PMC_EVENTS=$events
export PMC_EVENTS
if [ "$(id -u)" = 0 ]; then
	step 9 "both events counted" with kperf.pmc ./spin 1
else
	echo "== step 9 skipped: run this script as root"
	step 10 "a note that other events need root" with user.pmc ./spin 1
fi
unset PMC_EVENTS
step 11 "no report" with none.pmc /bin/ls /
step 21 "a report, exit status 143" with killed.pmc ./spin killed
"$dir/pmctl" report --format json -o killed.json killed.pmc
check "the process ended by SIGTERM" killed.json '"how_ended":"signal:15"'
check "its thread was killed" killed.json '"state":"killed"'
step 22 "a report, exit status 139" with fault.pmc ./spin fault
"$dir/pmctl" report --format json -o fault.json fault.pmc
check "the process ended by SIGSEGV" fault.json '"how_ended":"signal:11"'
step 12 "the report of step 3, exit status 7" "$dir/pmctl" run -- ./spin 4
"$dir/pmctl" run -o run.pmc -- ./spin 4 >/dev/null 2>&1
"$dir/pmctl" report --format json -o run.json run.pmc
check "pmctl run knows the status" run.json '"how_ended":"exit:7"'
step 13 "a report of two processes" "$dir/pmctl" run -- ./spin fork
step 14 "a warning: System Integrity Protection; no thread rows" "$dir/pmctl" run -- /bin/ls /
cp spin hard
codesign -f -s - -o runtime hard
step 15 "a warning: hardened runtime; exit status 7" "$dir/pmctl" run -- ./hard 1
step 16 "cycles and instructions for each level, others with the reason" "$dir/pmctl" run -n
step 17 "events of type kpep with descriptions" "$dir/pmctl" list '*BRANCH*'
step 18 "both events at once" "$dir/pmctl" list --fit "$events"
step 19 "one line, cycles and instructions above 0; exit status 7" "$dir/pmctl" stat -- ./spin 1
step 23 "two tables; spin 2 has about twice the cycles and instructions" \
	"$dir/pmctl" bench -r 3 --ignore-failure -e cycles,instructions './spin 1' './spin 2'
if [ "$(id -u)" = 0 ]; then
	step 24 "both events with values; 3 more runs under the agent" \
		"$dir/pmctl" bench -r 3 --ignore-failure -e "$events" './spin 1'
else
	echo "== step 24 skipped: run this script as root"
fi
step 25 "ten checks; cycles, kperf, events, agent and insertion ok; exit status 0" "$dir/pmctl" doctor
./spin long &
step 20 "three lines and the total" "$dir/pmctl" stat -p $! -I 100ms -n 3
wait
exit $failed
