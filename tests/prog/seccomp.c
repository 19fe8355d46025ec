/* SPDX-License-Identifier: MIT */
/* seccomp errno|nosys|kill|killthread CMD...: runs CMD with a filter that rejects perf_event_open.
 * seccomp reads|killreads CMD...: with one that rejects process_vm_readv, or kills for it.
 * seccomp signal CMD...: with a filter that kills on fcntl(2) commands for descriptor signals. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned action = SECCOMP_RET_ERRNO | EPERM;
	const int of_signal = argc > 1 && !strcmp(argv[1], "signal");
	const int of_reads = argc > 1 && strstr(argv[1], "reads");

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "kill") || !strcmp(argv[1], "killreads") || of_signal)
		action = SECCOMP_RET_KILL_PROCESS;
	else if (!strcmp(argv[1], "killthread"))
		action = SECCOMP_RET_KILL_THREAD;
	else if (!strcmp(argv[1], "nosys"))
		action = SECCOMP_RET_ERRNO | ENOSYS;
	else if (strcmp(argv[1], "errno") && strcmp(argv[1], "reads"))
		return 2;

	struct sock_filter events[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 of_reads ? SYS_process_vm_readv : SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter signals[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETSIG, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETSIG, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = of_signal ? 7 : 4,
				     .filter = of_signal ? signals : events };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 125;
	}
	execvp(argv[2], argv + 2);
	return 127;
}
