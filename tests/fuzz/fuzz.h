/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzz targets share: libFuzzer's entry points, files in memory, checks.
 *
 * A target is tests/fuzz/fuzz_NAME.c with its seeds and its past crashes in tests/fuzz/corpus/NAME.
 * It is linked with libFuzzer and sanitizers by `make fuzz`, and with replay.c for make check.
 */
#ifndef PMC_TESTS_FUZZ_H
#define PMC_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A property that no input may break; assert() of the C library is off with NDEBUG. */
#define FUZZ_CHECK(what)                                                                           \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A file that holds the bytes, read from its start. */
static inline int fuzz_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(write(fd, data, size) == (ssize_t)size);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* The next piece of the input, which ends at a NUL byte, as a string; "" behind the end. */
static inline char *fuzz_piece(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
	size_t len = end ? (size_t)(end - *data) : *size, whole = len + (end != NULL);
	char *text = malloc(len + 1);

	FUZZ_CHECK(text);
	if (len)
		memcpy(text, *data, len);
	text[len] = '\0';
	*data += whole;
	*size -= whole;
	return text;
}

#endif
