/* SPDX-License-Identifier: MIT */
/* filter.h - a seccomp filter against one system call. */
#ifndef PMC_TESTS_PROG_FILTER_H
#define PMC_TESTS_PROG_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

/* clang-format off */
/* Initializer of FILTER_LEN struct sock_filter. */
#define FILTER(number, action) { \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, action), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), \
}
/* clang-format on */
#define FILTER_LEN 4

#endif
