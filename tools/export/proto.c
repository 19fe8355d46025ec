/* SPDX-License-Identifier: MIT */
/* proto.c - messages of Protocol Buffers in memory. */
#include "tools/export/proto.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, BYTES = 2 };

void proto_clear(struct proto *proto)
{
	proto->len = 0;
}

static void put(struct proto *proto, const void *bytes, size_t len)
{
	const size_t room = 2 * (proto->len + len) + 64;
	uint8_t *more;

	if (proto->len + len > proto->room) {
		more = realloc(proto->data, room);
		if (!more) {
			proto->failed = true;
			return;
		}
		proto->data = more;
		proto->room = room;
	}
	if (len)
		memcpy(proto->data + proto->len, bytes, len);
	proto->len += len;
}

void proto_packed(struct proto *proto, uint64_t value)
{
	uint8_t bytes[10];
	unsigned n = 0;

	do {
		bytes[n] = (uint8_t)(value & 0x7f);
		value >>= 7;
		bytes[n++] |= value ? 0x80 : 0;
	} while (value);
	put(proto, bytes, n);
}

void proto_number(struct proto *proto, unsigned field, uint64_t value)
{
	if (!value)
		return;
	proto_packed(proto, field << 3 | VARINT);
	proto_packed(proto, value);
}

void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t len)
{
	proto_packed(proto, field << 3 | BYTES);
	proto_packed(proto, len);
	put(proto, bytes, len);
}

void proto_message(struct proto *proto, unsigned field, const struct proto *message)
{
	proto_bytes(proto, field, message->data, message->len);
	proto->failed |= message->failed;
}
