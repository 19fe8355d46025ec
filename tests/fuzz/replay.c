/* SPDX-License-Identifier: MIT */
/*
 * replay.c - runs a fuzz target once over each file it is given, without libFuzzer: what a
 * corpus found once is found again by any compiler, in make check.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not every target has one. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long len = -1;

	if (file && !fseek(file, 0, SEEK_END))
		len = ftell(file);
	if (len >= 0) {
		rewind(file);
		/* Just as long as the input, so that a sanitizer sees the first byte behind it. */
		data = malloc(len ? (size_t)len : 1);
	}
	if (!data || fread(data, 1, (size_t)len, file) != (size_t)len) {
		fprintf(stderr, "cannot read %s\n", path);
		len = -1;
	}
	if (len >= 0) {
		/* The last line of a crash names the input. */
		printf("%s\n", path);
		fflush(stdout);
		LLVMFuzzerTestOneInput(data, (size_t)len);
	}
	free(data);
	if (file)
		fclose(file);
	return len < 0;
}

int main(int argc, char **argv)
{
	int failed = 0, count = argc;
	char **list = argv;

	/* It may change the directory: paths are absolute. */
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&count, &list);
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
