/* SPDX-License-Identifier: MIT */
/* sudo CMD...: CMD as root, by any user; setuid in the emulated machine. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (setgid(0) || setuid(0)) {
		perror("sudo");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
