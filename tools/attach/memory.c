/* SPDX-License-Identifier: MIT */
/*
 * memory.c - reads memory, mapped files and dynamic symbols of another process.
 *
 * Symbols are read from memory: the file may have been replaced, or be in another mount namespace.
 */
#include "tools/attach/attach.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096u
/* Bounds that no real process reaches. */
#define MOST_IMAGES   65536u
#define MOST_PHDRS    64u
#define MOST_DYNAMIC  512u
#define MOST_IN_CHAIN 65536u

static int copy(pid_t pid, uint64_t address, void *here, size_t len, bool in)
{
	char *at = here;

	while (len > 0) {
		struct iovec local = { .iov_base = at, .iov_len = len };
		struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = len };
		ssize_t n = in ? process_vm_readv(pid, &local, 1, &remote, 1, 0) :
				 process_vm_writev(pid, &local, 1, &remote, 1, 0);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -EFAULT;
		at += n;
		address += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int attach_read(pid_t pid, uint64_t address, void *to, size_t len)
{
	return copy(pid, address, to, len, true);
}

int attach_write(pid_t pid, uint64_t address, const void *from, size_t len)
{
	return copy(pid, address, (void *)(uintptr_t)from, len, false);
}

/* process_vm_readv(2): "Buffers are processed in array order". The kernel takes and releases a lock
 * for each, which orders the copies. */
int attach_read_parts(pid_t pid, const struct attach_part *parts, unsigned n)
{
	struct iovec local[ATTACH_PARTS], remote[ATTACH_PARTS];
	size_t len = 0;
	ssize_t got;

	if (n > ATTACH_PARTS)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		local[i] = (struct iovec){ .iov_base = parts[i].to, .iov_len = parts[i].len };
		remote[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)parts[i].address,
					    .iov_len = parts[i].len };
		len += parts[i].len;
	}
	got = process_vm_readv(pid, local, n, remote, n, 0);
	if (got < 0)
		return -errno;
	return (size_t)got == len ? 0 : -EFAULT;
}

int attach_read_text(pid_t pid, uint64_t address, char *to, size_t cap)
{
	size_t len = 0;

	*to = '\0';
	while (len + 1 < cap) {
		/* Not beyond the end of a page: the next may be unmapped. */
		size_t n = PAGE - (size_t)((address + len) % PAGE);
		int error;

		if (n > cap - 1 - len)
			n = cap - 1 - len;
		error = attach_read(pid, address + len, to + len, n);
		if (error) {
			to[len] = '\0';
			return error;
		}
		if (memchr(to + len, '\0', n))
			return 0;
		len += n;
	}
	to[len] = '\0';
	return 0;
}

/* ---- maps ---------------------------------------------------------------------------------*/
static int add_image(struct attach *target, uint64_t start, uint64_t end, const char *path)
{
	struct attach_image *image;

	/* Capacity doubles at each power of two. */
	if ((target->n_images & (target->n_images - 1)) == 0) {
		size_t room = target->n_images ? 2 * target->n_images : 1;

		image = realloc(target->images, room * sizeof(*image));
		if (!image)
			return -ENOMEM;
		target->images = image;
	}
	image = &target->images[target->n_images];
	image->start = start;
	image->end = end;
	image->path = strdup(path);
	if (!image->path)
		return -ENOMEM;
	target->n_images++;
	return 0;
}

/* start-end perms offset dev inode path */
static int map_line(struct attach *target, char *line)
{
	struct attach_image *last = target->n_images ? &target->images[target->n_images - 1] : NULL;
	unsigned long long start, end, offset;
	int at = 0;
	char *path;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &start, &end, &offset, &at) != 3 || !at)
		return 0;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	if (path[0] != '/')
		return 0;
	if (last && strcmp(last->path, path) == 0 && offset) {
		last->end = end;
		return 0;
	}
	if (offset || target->n_images == MOST_IMAGES)
		return 0;
	return add_image(target, start, end, path);
}

int attach_maps(struct attach *target)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int error = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", target->pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (!error && getline(&line, &room, file) >= 0)
		error = map_line(target, line);
	if (!error && ferror(file))
		error = -(errno ? errno : EIO);
	free(line);
	fclose(file);
	return error;
}

/* ---- symbols ------------------------------------------------------------------------------*/
struct dynamic {
	uint64_t symbols, strings, gnu_hash;
};

static int read_dynamic(pid_t pid, uint64_t base, struct dynamic *to)
{
	ElfW(Phdr) phdrs[MOST_PHDRS], *found = NULL;
	ElfW(Dyn) entries[MOST_DYNAMIC];
	ElfW(Ehdr) head;
	size_t n;
	int error = attach_read(pid, base, &head, sizeof(head));

	if (error)
		return error;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN ||
	    head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    head.e_phentsize != sizeof(phdrs[0]) || head.e_phnum > MOST_PHDRS)
		return -ENOENT;
	error = attach_read(pid, base + head.e_phoff, phdrs, head.e_phnum * sizeof(phdrs[0]));
	if (error)
		return error;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (phdrs[i].p_type == PT_DYNAMIC)
			found = &phdrs[i];
	n = found ? found->p_memsz / sizeof(entries[0]) : 0;
	if (n == 0)
		return -ENOENT;
	if (n > MOST_DYNAMIC)
		n = MOST_DYNAMIC;
	error = attach_read(pid, base + found->p_vaddr, entries, n * sizeof(entries[0]));
	if (error)
		return error;
	*to = (struct dynamic){ .symbols = 0 };
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		/* glibc turns these into addresses, musl leaves them relative. */
		uint64_t value = entries[i].d_un.d_ptr;

		value += value < base ? base : 0;
		if (entries[i].d_tag == DT_SYMTAB)
			to->symbols = value;
		else if (entries[i].d_tag == DT_STRTAB)
			to->strings = value;
		else if (entries[i].d_tag == DT_GNU_HASH)
			to->gnu_hash = value;
	}
	return to->symbols && to->strings && to->gnu_hash ? 0 : -ENOENT;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static int is_symbol(pid_t pid, const struct dynamic *dynamic, uint64_t base, uint32_t index,
		     const char *name, uint64_t *address)
{
	ElfW(Sym) symbol;
	char text[64];
	int error = attach_read(pid, dynamic->symbols + (uint64_t)index * sizeof(symbol), &symbol,
				sizeof(symbol));

	if (!error)
		error = attach_read_text(pid, dynamic->strings + symbol.st_name, text,
					 sizeof(text));
	if (error)
		return error;
	if (symbol.st_shndx == SHN_UNDEF || strcmp(text, name) != 0)
		return -ENOENT;
	*address = base + symbol.st_value;
	return 0;
}

/* The hash table of System V ABI extensions: four numbers, a Bloom filter, buckets, chains. */
int attach_symbol(pid_t pid, uint64_t base, const char *name, uint64_t *address)
{
	struct {
		uint32_t buckets, first_symbol, bloom_words, bloom_shift;
	} head;
	uint32_t hash = gnu_hash(name), index, link;
	struct dynamic dynamic;
	uint64_t buckets;
	int error = read_dynamic(pid, base, &dynamic);

	if (!error)
		error = attach_read(pid, dynamic.gnu_hash, &head, sizeof(head));
	if (error)
		return error;
	if (!head.buckets)
		return -ENOENT;
	buckets = dynamic.gnu_hash + sizeof(head) + (uint64_t)head.bloom_words * sizeof(ElfW(Addr));
	error = attach_read(pid, buckets + 4ull * (hash % head.buckets), &index, sizeof(index));
	if (error)
		return error;
	if (index < head.first_symbol)
		return -ENOENT;
	for (unsigned i = 0; i < MOST_IN_CHAIN; i++, index++) {
		error = attach_read(
			pid, buckets + 4ull * head.buckets + 4ull * (index - head.first_symbol),
			&link, sizeof(link));
		if (error)
			return error;
		if ((link | 1) == (hash | 1)) {
			error = is_symbol(pid, &dynamic, base, index, name, address);
			if (error != -ENOENT)
				return error;
		}
		if (link & 1)
			return -ENOENT;
	}
	return -ENOENT;
}
