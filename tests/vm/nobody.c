/* SPDX-License-Identifier: MIT */
/* nobody CMD...: CMD as a user without any privilege. */
#include <grp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) {
		perror("nobody");
		return 125;
	}
	execvp(argv[1], argv + 1);
	return 127;
}
