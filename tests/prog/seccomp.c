/* SPDX-License-Identifier: MIT */
/* seccomp errno|nosys|kill|killthread CMD...: runs CMD with a filter that rejects perf_event_open.
 * seccomp reads|killreads CMD...: with one that rejects process_vm_readv, or kills for it.
 * seccomp ioctl CMD...: with one that kills for ioctl.
 * seccomp exit CMD...: with one that rejects exit(2), which only threads call.
 * seccomp signal CMD...: with a filter that kills on fcntl(2) commands for descriptor signals. */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned number, action;
} modes[] = {
	{ "errno", SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM },
	{ "nosys", SYS_perf_event_open, SECCOMP_RET_ERRNO | ENOSYS },
	{ "kill", SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS },
	{ "killthread", SYS_perf_event_open, SECCOMP_RET_KILL_THREAD },
	{ "reads", SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM },
	{ "killreads", SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS },
	{ "ioctl", SYS_ioctl, SECCOMP_RET_KILL_PROCESS },
	{ "exit", SYS_exit, SECCOMP_RET_ERRNO | EPERM },
	{ "signal", SYS_fcntl, SECCOMP_RET_KILL_PROCESS },
};

int main(int argc, char **argv)
{
	const unsigned n = sizeof(modes) / sizeof(modes[0]);
	const int of_signal = argc > 1 && !strcmp(argv[1], "signal");
	unsigned m = 0;

	while (argc > 1 && m < n && strcmp(argv[1], modes[m].name) != 0)
		m++;
	if (argc < 3 || m == n)
		return 2;

	struct sock_filter calls[] = FILTER(modes[m].number, modes[m].action);
	struct sock_filter signals[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETSIG, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETSIG, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, modes[m].action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = of_signal ? 7 : FILTER_LEN,
				     .filter = of_signal ? signals : calls };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 125;
	}
	execvp(argv[2], argv + 2);
	return 127;
}
