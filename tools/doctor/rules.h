/* SPDX-License-Identifier: MIT */
/*
 * rules.h - the rules of checks.def and mac_checks.def as code; COMMAND is defined by their users.
 *
 * Private to this folder.
 */
#pragma once

#define WORDS(...) doctor_fix_words(to, __VA_ARGS__)

#define OK_IF(condition, ...)                                                                      \
	if (condition) {                                                                           \
		doctor_say(to, DOCTOR_OK, __VA_ARGS__);                                            \
		return;                                                                            \
	}
#define LIMITS_IF(condition, fix, ...)                                                             \
	if (condition) {                                                                           \
		doctor_say(to, DOCTOR_LIMITS, __VA_ARGS__);                                        \
		fix;                                                                               \
		return;                                                                            \
	}
#define BLOCKS_IF(condition, fix, ...)                                                             \
	if (condition) {                                                                           \
		doctor_say(to, DOCTOR_BLOCKS, __VA_ARGS__);                                        \
		fix;                                                                               \
		return;                                                                            \
	}
#define CHECK(id, name, ...)                                                                       \
	static void judge_##id(const struct doctor_facts *f, struct doctor_finding *to)            \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
