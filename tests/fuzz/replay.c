/* SPDX-License-Identifier: MIT */
/*
 * replay.c - runs a fuzz target once for each file, without libFuzzer, so that make check tests the
 * corpus with any compiler.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

/* Not every target has an initializer. */
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
		/* A copy of the exact size, so that a sanitizer detects a read past the end. */
		data = malloc(len ? (size_t)len : 1);
	}
	if (!data || fread(data, 1, (size_t)len, file) != (size_t)len) {
		fprintf(stderr, "cannot read %s\n", path);
		len = -1;
	}
	if (len >= 0) {
		/* After a crash, the last line names the input. */
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

	/* A target may change the directory: paths are made absolute. */
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&count, &list);
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
