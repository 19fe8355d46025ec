/* SPDX-License-Identifier: MIT */
/*
 * title - takes argv and the environment for one block of memory, as programs that write a title
 * over it do: adds up the lengths, looks for the auxiliary vector behind main's environment, and
 * clears the block.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv, char **envp)
{
	size_t length = 0;
	char *end = argv[0];
	const unsigned long *word;

	for (int i = 0; i < argc; i++)
		length += strlen(argv[i]) + 1;
	for (int i = 0; environ[i]; i++)
		length += strlen(environ[i]) + 1;
	while (*envp) {
		if (*envp > end)
			end = *envp;
		envp++;
	}
	end += strlen(end) + 1;
	for (word = (const unsigned long *)(envp + 1); word[0] != AT_NULL && word[0] != AT_PAGESZ;)
		word += 2;
	printf("%s the block, page size %s\n", argv[0] + length <= end ? "within" : "beyond",
	       word[0] == AT_PAGESZ && (long)word[1] == sysconf(_SC_PAGESIZE) ? "found" :
										"not found");
	fflush(stdout);
	memset(argv[0], 0, length);
	return 0;
}
