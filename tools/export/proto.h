/* SPDX-License-Identifier: MIT */
/* proto.h - messages of Protocol Buffers in memory. Private to this folder. */
#ifndef PMC_TOOLS_EXPORT_PROTO_H
#define PMC_TOOLS_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty; free(data). */
struct proto {
	uint8_t *data;
	size_t len, room;
	bool failed; /* no memory: fields are missing */
};

void proto_clear(struct proto *proto);
/* A field; numbers of 0 are left out, as they are the default. */
void proto_number(struct proto *proto, unsigned field, uint64_t value);
void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t len);
void proto_message(struct proto *proto, unsigned field, const struct proto *message);
/* The next number of a packed field, whose contents the message is. */
void proto_packed(struct proto *proto, uint64_t value);

#endif
