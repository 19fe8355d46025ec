/* SPDX-License-Identifier: MIT */
/* macho.c - facts from a Mach-O file, and whether dyld loads an inserted library by them. */
#include "tools/run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FAT = 0xcafebabe, /* big-endian; so is the rest of the fat header */
	FAT_64 = 0xcafebabf,
	MAGIC_64 = 0xfeedfacf, /* little-endian on both processors */

	CPU_X86_64 = 0x01000007,
	CPU_ARM64 = 0x0100000c,
	SUBTYPE_ARM64E = 2,
	SUBTYPE_MASK = 0xffffff, /* the rest are flags */

	FILE_DYLIB = 6,
	LOAD_SEGMENT_64 = 0x19,
	LOAD_DYLINKER = 0xe,
	LOAD_SIGNATURE = 0x1d,

	SIGNATURES = 0xfade0cc0, /* big-endian; so is all of a signature */
	CODE_DIRECTORY = 0xfade0c02,
	ENTITLEMENTS = 0xfade7171,
	SLOT_CODE_DIRECTORY = 0,
	SLOT_ENTITLEMENTS = 5,

	SLICES_MAX = 64,
	BLOBS_MAX = 64,
};

/* Bytes of which each read is checked. */
struct span {
	const uint8_t *at;
	size_t n;
};

static struct span part(struct span span, uint64_t from, uint64_t n)
{
	if (n == 0 || from > span.n || n > span.n - from)
		return (struct span){ NULL, 0 };
	return (struct span){ span.at + from, (size_t)n };
}

static uint32_t le32(struct span span, size_t from)
{
	struct span word = part(span, from, 4);

	return word.n ? word.at[0] | (uint32_t)word.at[1] << 8 | (uint32_t)word.at[2] << 16 |
				(uint32_t)word.at[3] << 24 :
			0;
}

static uint32_t be32(struct span span, size_t from)
{
	return __builtin_bswap32(le32(span, from));
}

static struct span after(struct span span, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i + len <= span.n; i++)
		if (memcmp(span.at + i, text, len) == 0)
			return part(span, i + len, span.n - i - len);
	return (struct span){ NULL, 0 };
}

/* Whether a property list in XML has <key>NAME</key> followed by <true/>. */
static bool is_true(struct span plist, const char *key)
{
	struct span rest = after(plist, key);

	while (rest.n && strchr(" \t\r\n", *rest.at))
		rest = part(rest, 1, rest.n - 1);
	return rest.n >= 7 && memcmp(rest.at, "<true/>", 7) == 0;
}

static void read_blob(struct span blob, uint32_t slot, struct macho_slice *slice)
{
	const uint32_t magic = be32(blob, 0), bytes = be32(blob, 4);

	blob = part(blob, 0, bytes);
	if (slot == SLOT_CODE_DIRECTORY && magic == CODE_DIRECTORY && blob.n >= 40) {
		slice->flags = be32(blob, 12);
		slice->platform = blob.at[38] != 0;
	} else if (slot == SLOT_ENTITLEMENTS && magic == ENTITLEMENTS) {
		slice->allows_dyld_variables = is_true(
			blob, "<key>com.apple.security.cs.allow-dyld-environment-variables</key>");
		slice->allows_other_libraries = is_true(
			blob, "<key>com.apple.security.cs.disable-library-validation</key>");
	}
}

static void read_signature(struct span signature, struct macho_slice *slice)
{
	uint32_t n = be32(signature, 8);

	if (be32(signature, 0) != SIGNATURES)
		return;
	for (uint32_t i = 0; i < n && i < BLOBS_MAX; i++) {
		const size_t at = 12 + (size_t)i * 8;
		const uint32_t from = be32(signature, at + 4);

		if (from && from < signature.n)
			read_blob(part(signature, from, signature.n - from), be32(signature, at),
				  slice);
	}
}

static bool is_named(struct span span, size_t from, const char *name)
{
	struct span field = part(span, from, 16);

	return field.n && strncmp((const char *)field.at, name, 16) == 0;
}

/* A segment's sections: 72 bytes of its own, then 80 of each. */
static void read_segment(struct span command, struct macho_slice *slice)
{
	const uint32_t n = le32(command, 64);

	if (!is_named(command, 8, "__RESTRICT"))
		return;
	for (uint32_t i = 0; i < n && 72 + ((size_t)i + 1) * 80 <= command.n; i++)
		slice->restricted |= is_named(command, 72 + (size_t)i * 80, "__restrict");
}

static void read_commands(struct span file, struct macho_slice *slice)
{
	const uint32_t n = le32(file, 16);
	struct span commands = part(file, 32, le32(file, 20));

	for (uint32_t i = 0; i < n && commands.n >= 8; i++) {
		const uint32_t bytes = le32(commands, 4);
		struct span command = part(commands, 0, bytes);

		if (command.n < 8)
			return;
		if (le32(command, 0) == LOAD_DYLINKER)
			slice->dynamic = true;
		else if (le32(command, 0) == LOAD_SEGMENT_64)
			read_segment(command, slice);
		else if (le32(command, 0) == LOAD_SIGNATURE && command.n >= 16)
			read_signature(part(file, le32(command, 8), le32(command, 12)), slice);
		commands = part(commands, bytes, commands.n - bytes);
	}
}

static enum macho_cpu cpu_of(uint32_t type, uint32_t subtype)
{
	if (type == CPU_X86_64)
		return MACHO_X86_64;
	if (type != CPU_ARM64)
		return MACHO_OTHER;
	return (subtype & SUBTYPE_MASK) == SUBTYPE_ARM64E ? MACHO_ARM64E : MACHO_ARM64;
}

static void read_slice(struct span file, struct macho_facts *facts)
{
	struct macho_slice *slice;

	if (le32(file, 0) != MAGIC_64 || file.n < 32)
		return;
	slice = &facts->slices[cpu_of(le32(file, 4), le32(file, 8))];
	if (slice->present)
		return;
	slice->present = true;
	slice->dynamic = le32(file, 12) == FILE_DYLIB;
	read_commands(file, slice);
}

/* Rows of 20 bytes (type, subtype, offset, size, alignment) or, with 64-bit offsets, of 32. */
static void read_fat(struct span file, bool wide, struct macho_facts *facts)
{
	const uint32_t n = be32(file, 4);

	for (uint32_t i = 0; i < n && i < SLICES_MAX; i++) {
		struct span row = part(file, 8 + (size_t)i * (wide ? 32 : 20), wide ? 32 : 20);
		uint64_t from, bytes;

		if (!row.n)
			return;
		from = wide ? (uint64_t)be32(row, 8) << 32 | be32(row, 12) : be32(row, 8);
		bytes = wide ? (uint64_t)be32(row, 16) << 32 | be32(row, 20) : be32(row, 12);
		read_slice(part(file, from, bytes), facts);
	}
}

int macho_read(const uint8_t *bytes, size_t n, struct macho_facts *facts)
{
	const struct span file = { bytes, n };

	memset(facts, 0, sizeof(*facts));
	if (be32(file, 0) == FAT || be32(file, 0) == FAT_64)
		read_fat(file, be32(file, 0) == FAT_64, facts);
	else
		read_slice(file, facts);
	for (unsigned cpu = 0; cpu < MACHO_CPUS; cpu++)
		if (facts->slices[cpu].present)
			return 0;
	return -ENOEXEC;
}

int macho_read_file(const char *path, struct macho_facts *facts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result = -ENOEXEC;
	struct stat st;
	void *bytes;

	memset(facts, 0, sizeof(*facts));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		result =
			bytes == MAP_FAILED ? -errno : macho_read(bytes, (size_t)st.st_size, facts);
		if (bytes != MAP_FAILED)
			munmap(bytes, (size_t)st.st_size);
	}
	close(fd);
	return result;
}

const struct macho_slice *macho_choose(const struct macho_facts *facts, bool apple_silicon,
				       enum macho_cpu *cpu)
{
	/* Programs of others that have both run as arm64. */
	static const enum macho_cpu order[2][3] = {
		{ MACHO_X86_64, MACHO_X86_64, MACHO_X86_64 },
		{ MACHO_ARM64, MACHO_ARM64E, MACHO_X86_64 },
	};

	for (unsigned i = 0; i < 3; i++) {
		*cpu = order[apple_silicon][i];
		if (facts->slices[*cpu].present)
			return &facts->slices[*cpu];
	}
	*cpu = MACHO_OTHER;
	return NULL;
}

/* ---- whether the library is loaded ---------------------------------------------------------- */

static bool below(const char *path, const char *directory)
{
	return strncmp(path, directory, strlen(directory)) == 0;
}

/* /System/Volumes holds the users' volume, too. */
static bool is_protected(const char *path)
{
	return below(path, "/bin/") || below(path, "/sbin/") ||
	       (below(path, "/usr/") && !below(path, "/usr/local/")) ||
	       (below(path, "/System/") && !below(path, "/System/Volumes/"));
}

enum program_kind macho_judge(const struct macho_facts *program, const struct macho_facts *agent,
			      const struct macho_place *place)
{
	const uint32_t validation =
		MACHO_CS_RUNTIME | MACHO_CS_VALIDATION | MACHO_CS_FORCED_VALIDATION;
	enum macho_cpu cpu;
	const struct macho_slice *slice = macho_choose(program, place->apple_silicon, &cpu);

	if (!slice)
		return PROGRAM_FOREIGN;
	if (place->gains_rights)
		return PROGRAM_SECURE;
	if (place->sip_flag || slice->platform || is_protected(place->path))
		return PROGRAM_PROTECTED;
	if (!slice->dynamic)
		return PROGRAM_STATIC;
	if (slice->restricted || (slice->flags & MACHO_CS_RESTRICT) ||
	    ((slice->flags & MACHO_CS_RUNTIME) && !slice->allows_dyld_variables))
		return PROGRAM_HARDENED;
	if (!agent->slices[cpu].present)
		return cpu == MACHO_ARM64E ? PROGRAM_ARM64E : PROGRAM_FOREIGN;
	if ((slice->flags & validation) && !slice->allows_other_libraries)
		return PROGRAM_VALIDATED;
	return PROGRAM_OK;
}
