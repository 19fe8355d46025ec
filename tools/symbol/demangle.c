/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - names of C++ and Rust (legacy and v0) functions as in their sources, by libiberty.
 *
 * Only cp-demangle.o, rust-demangle.o and safe-ctype.o of libiberty.a are linked. The first two
 * allow that in any program; the last is LGPL. __cxa_demangle of libstdc++ does not know Rust's v0
 * names, and its library would have to be loaded into a program without C++.
 */
#include "tools/symbol/symbol.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

enum { NAME_MOST = 16384 }; /* no compiler makes longer ones */

struct text {
	char *to;
	size_t len, cap;
	jmp_buf full;
};

/* A name of a few hundred bytes can stand for a text without end: stop when the room is used up.
 * Neither demangler holds memory while it prints. */
static void put(const char *bytes, size_t len, void *arg)
{
	struct text *text = arg;
	bool full = len >= text->cap - text->len;

	if (full)
		len = text->cap - text->len - 1;
	memcpy(text->to + text->len, bytes, len);
	text->len += len;
	text->to[text->len] = '\0';
	if (full)
		longjmp(text->full, 1);
}

unsigned symbols_demangle(const char *name, char *buf, unsigned cap)
{
	struct text text = { .to = buf, .cap = cap };

	if (name[0] != '_' || !cap || strnlen(name, NAME_MOST) == NAME_MOST)
		return 0;
	if (setjmp(text.full))
		return (unsigned)text.len;
	if (!rust_demangle_callback(name, DMGL_PARAMS, put, &text)) {
		text.len = 0;
		if (!cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, put,
						&text))
			return 0;
	}
	return (unsigned)text.len;
}
