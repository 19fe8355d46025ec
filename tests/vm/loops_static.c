/* SPDX-License-Identifier: MIT */
/* loops_static - loops.c as a static program, which no preload reaches. */
/* prog-flags: -static */
#include "loops.c"
