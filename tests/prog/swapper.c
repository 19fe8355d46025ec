/* SPDX-License-Identifier: MIT */
/* swapper VICTIM DUMP NAME...: as another user, replaces the names, in a directory that everybody
 * may write to, by links to files that it may not write, pipes, and files of its own, until it is
 * killed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void replace(const char *name, const char *victim, const char *dump, unsigned how)
{
	char other[4096];
	int fd;

	snprintf(other, sizeof(other), "%s.swap", name);
	unlink(other);
	switch (how % 6) {
	case 0:
		(void)!symlink(victim, other);
		break;
	case 1:
		(void)!symlink(dump, other);
		break;
	case 2:
		(void)!link(dump, other);
		break;
	case 3:
		(void)!mkfifo(other, 0666);
		break;
	case 4:
		fd = open(other, O_WRONLY | O_CREAT, 0666);
		if (fd >= 0)
			close(fd);
		break;
	default:
		unlink(name);
		return;
	}
	if (rename(other, name) != 0)
		unlink(other);
}

int main(int argc, char **argv)
{
	if (argc < 4 || setgid(65534) != 0 || setuid(65534) != 0)
		return 1;
	umask(0);
	for (unsigned i = 0;; i++)
		for (int name = 3; name < argc; name++)
			replace(argv[name], argv[1], argv[2], (unsigned)rand());
}
