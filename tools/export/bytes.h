/* SPDX-License-Identifier: MIT */
/* bytes.h - bytes of unknown number, in memory of the heap. Private to this folder. */
#pragma once

#include "tools/cli/pmctl.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All zero is empty; free(data). */
struct export_bytes {
	uint8_t *data;
	size_t len, room;
};

/* Adds so many bytes, which the caller fills. */
static inline uint8_t *export_more(struct export_bytes *bytes, size_t len)
{
	if (len > bytes->room - bytes->len) {
		bytes->room = 2 * (bytes->len + len) + 64;
		bytes->data = tool_realloc(bytes->data, bytes->room);
	}
	bytes->len += len;
	return bytes->data + bytes->len - len;
}

static inline void export_put(struct export_bytes *bytes, const void *from, size_t len)
{
	if (len)
		memcpy(export_more(bytes, len), from, len);
}

/* A number as 7 bits a byte, the lowest first (LEB128). */
static inline void export_varint(struct export_bytes *bytes, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*export_more(bytes, 1) = (uint8_t)(value | 0x80);
	*export_more(bytes, 1) = (uint8_t)value;
}
