/* SPDX-License-Identifier: MIT */
/* many.c - 65 events. */
/* expect: PMC_GROUP: more than 64 events */
#include <pmc/group.h>

#define EIGHT(X, n)                                                                                \
	X(a##n, "cs", "", "")                                                                      \
	X(b##n, "cs", "", "")                                                                      \
	X(c##n, "cs", "", "")                                                                      \
	X(d##n, "cs", "", "")                                                                      \
	X(e##n, "cs", "", "") X(f##n, "cs", "", "") X(g##n, "cs", "", "") X(h##n, "cs", "", "")
#define MANY(X)                                                                                    \
	EIGHT(X, 0)                                                                                \
	EIGHT(X, 1)                                                                                \
	EIGHT(X, 2)                                                                                \
	EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7) X(last, "cs", "", "")
PMC_GROUP(many, MANY)
