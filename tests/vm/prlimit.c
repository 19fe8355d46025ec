/* SPDX-License-Identifier: MIT */
/* prlimit --pid PID --nofile=S:H|--memlock=S:H: what util-linux's does, which busybox lacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
	unsigned long long soft, hard;
	int resource;

	if (argc != 4 || strcmp(argv[1], "--pid"))
		return 2;
	if (sscanf(argv[3], "--nofile=%llu:%llu", &soft, &hard) == 2)
		resource = RLIMIT_NOFILE;
	else if (sscanf(argv[3], "--memlock=%llu:%llu", &soft, &hard) == 2)
		resource = RLIMIT_MEMLOCK;
	else
		return 2;
	if (prlimit(atoi(argv[2]), resource, &(struct rlimit){ soft, hard }, NULL)) {
		perror("prlimit");
		return 1;
	}
	return 0;
}
