/* SPDX-License-Identifier: MIT */
/* registry.c - slots in one sparse mapping, free ones on a tagged stack, and accounts; see
 * registry.h. */
#include "lib/live/registry.h"
#include "lib/base/number.h"
#include "lib/count/group.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_LINE 64u
/* In front of the slots; whole pages. */
#define ENDED_BYTES (REGISTRY_TIDS / 8)

void (*registry_closer)(int *fds, unsigned n_fds) = pmc_perf_group_close;

int registry_init(struct registry *registry, unsigned n_groups, unsigned n_fds, uint32_t capacity)
{
	size_t bytes;
	void *map;

	if (capacity >= SLOT_INDEX_MASK)
		return -EINVAL;
	memset(registry, 0, sizeof(*registry));
	registry->n_groups = n_groups;
	registry->n_fds = n_fds;
	registry->capacity = capacity;
	registry->set_words = 3 * n_groups + n_fds + (n_fds + 1) / 2;
	bytes = sizeof(struct slot) + registry->set_words * sizeof(uint64_t);
	registry->slot_bytes = (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
	/* Not a multiple of 2 MiB: the kernel would align it to a huge page and place the host's
	 * first stacks right below, and each madvise of glibc at the end of a thread would scan
	 * twice as many pages. */
	registry->map_bytes = ENDED_BYTES +
			      (registry->slot_bytes + sizeof(struct account)) * capacity +
			      CACHE_LINE;
	/* Private: a forked child must not write to its parent's slots before it has noticed the
	 * fork. Untouched pages cost nothing. */
	map = mmap(NULL, registry->map_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	/* Few slots are used: no huge page. Fails on kernels without huge pages. */
	madvise(map, registry->map_bytes, MADV_NOHUGEPAGE);
	registry->ended = map;
	registry->slots = (char *)map + ENDED_BYTES;
	registry->accounts = (void *)(registry->slots + registry->slot_bytes * capacity);
	return 0;
}

void registry_fini(struct registry *registry)
{
	if (registry->slots)
		munmap(registry->slots - ENDED_BYTES, registry->map_bytes);
	registry->slots = NULL;
	registry->ended = NULL;
	registry->capacity = 0;
	atomic_store(&registry->high, 0);
}

int registry_empty(struct registry *registry)
{
	const unsigned n_groups = registry->n_groups, n_fds = registry->n_fds;
	const uint32_t capacity = registry->capacity;

	/* Its pages read as zero afterwards. */
	if (registry->slots &&
	    madvise(registry->slots - ENDED_BYTES, registry->map_bytes, MADV_DONTNEED) == 0) {
		atomic_store(&registry->high, 0);
		atomic_store(&registry->vacant, 0);
		return 0;
	}
	registry_fini(registry);
	return registry_init(registry, n_groups, n_fds, capacity);
}

static struct slot *pop(struct registry *registry)
{
	uint64_t top = atomic_load(&registry->vacant);

	while (top & SLOT_INDEX_MASK) {
		uint32_t index = (uint32_t)(top & SLOT_INDEX_MASK) - 1;
		struct slot *slot = registry_slot(registry, index);
		/* The slot may be taken and given back meanwhile: the tag then differs. */
		uint64_t next = ((top & ~SLOT_INDEX_MASK) + SLOT_ONE_TAKEN + SLOT_ONE_TAG) |
				atomic_load(&slot->next_free);

		if (atomic_compare_exchange_weak(&registry->vacant, &top, next))
			return slot;
	}
	return NULL;
}

static void push(struct registry *registry, struct slot *slot)
{
	uint32_t index = registry_index(registry, slot);
	uint64_t top = atomic_load(&registry->vacant), next;

	do {
		atomic_store_explicit(&slot->next_free, (uint32_t)(top & SLOT_INDEX_MASK),
				      memory_order_relaxed);
		next = ((top & ~SLOT_INDEX_MASK) - SLOT_ONE_TAKEN + SLOT_ONE_TAG) | (index + 1);
	} while (!atomic_compare_exchange_weak(&registry->vacant, &top, next));
}

static struct slot *fresh(struct registry *registry)
{
	uint32_t high = atomic_load(&registry->high);

	while (high < registry->capacity)
		if (atomic_compare_exchange_weak(&registry->high, &high, high + 1)) {
			atomic_fetch_add(&registry->vacant, SLOT_ONE_TAKEN);
			return registry_slot(registry, high);
		}
	return NULL;
}

struct slot *registry_alloc(struct registry *registry)
{
	struct slot *slot = pop(registry);

	if (!slot)
		slot = fresh(registry);
	if (!slot)
		return NULL;
	/* Not the word and next_free, which other threads may be reading. */
	memset(&slot->tid, 0, registry->slot_bytes - offsetof(struct slot, tid));
	for (unsigned i = 0; i < registry->n_fds; i++)
		set_fds(registry, slot->data)[i] = -1;
	atomic_store_explicit(&slot->word, SLOT_RESERVED, memory_order_release);
	return slot;
}

void registry_live(struct slot *slot)
{
	/* In one order with agent.named_threads. */
	atomic_store(&slot->word, SLOT_LIVE);
}

void registry_close(struct slot *slot)
{
	atomic_fetch_add(&slot->word, SLOT_CLOSING - SLOT_LIVE);
}

static void close_all(struct registry *registry, struct slot *slot)
{
	registry_closer(set_fds(registry, slot->data), slot->n_fds);
	slot->n_fds = 0;
}

void registry_close_fds(struct registry *registry, struct slot *slot)
{
	if (slot->n_fds && registry_unread(slot))
		close_all(registry, slot);
}

static void recycle(struct registry *registry, struct slot *slot)
{
	if (slot->n_fds)
		close_all(registry, slot);
	push(registry, slot);
}

bool registry_release(struct registry *registry, struct slot *slot)
{
	uint32_t word = atomic_load(&slot->word), next;

	/* With readers the phase stays CLOSING; with 0x8000 the last one frees the slot. Release:
	 * whoever sees the slot free also sees the bit of registry_ended(). */
	do {
		next = (word & 0xffff) ? word | 0x8000 : SLOT_FREE;
	} while (!atomic_compare_exchange_weak(&slot->word, &word, next));
	if (next != SLOT_FREE)
		return false;
	recycle(registry, slot);
	return true;
}

bool registry_pin(struct slot *slot)
{
	uint32_t word = atomic_load(&slot->word);

	while ((word & ~0xffffu) == SLOT_LIVE)
		if (atomic_compare_exchange_weak(&slot->word, &word, word + 1))
			return true;
	return false;
}

void registry_unpin(struct registry *registry, struct slot *slot)
{
	uint32_t word = atomic_load(&slot->word), next;

	do {
		next = word - 1;
		if ((next & 0xffff) == 0x8000) /* the last reader of a released slot */
			next = SLOT_FREE;
	} while (!atomic_compare_exchange_weak(&slot->word, &word, next));
	if (next == SLOT_FREE)
		recycle(registry, slot);
}

void registry_retire(struct slot *slot)
{
	uint32_t word = SLOT_LIVE + 1;

	atomic_compare_exchange_strong(&slot->word, &word, SLOT_CLOSING + 0x8000 + 1);
}

void registry_ended(struct registry *registry, uint32_t tid)
{
	if (tid < REGISTRY_TIDS)
		atomic_fetch_or(&registry->ended[tid / 64], UINT64_C(1) << tid % 64);
}

bool registry_has_ended(const struct registry *registry, uint32_t tid)
{
	return tid < REGISTRY_TIDS && (atomic_load(&registry->ended[tid / 64]) >> (tid % 64) & 1);
}

void registry_each(struct registry *registry, void (*act)(struct slot *slot))
{
	uint32_t high = atomic_load(&registry->high);

	for (uint32_t i = 0; i < high; i++) {
		struct slot *slot = registry_slot(registry, i);

		if (!registry_pin(slot))
			continue;
		act(slot);
		registry_unpin(registry, slot);
	}
}

/* ---- accounts ----------------------------------------------------------------------------- */

/* Only a pmctl ctl every few nanoseconds could change the account during every copy. */
#define TRIES 100u

void account_open(struct account_side *side, uint64_t owner, const uint64_t base[ACCOUNT_WORDS],
		  bool stopped)
{
	*side = (struct account_side){ .owner = owner, .stopped = stopped };
	memcpy(side->base, base, sizeof(side->base));
	memcpy(side->at, base, sizeof(side->at));
}

void account_start(struct account_side *side, const struct account_words *now)
{
	if (!side->stopped)
		return;
	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		side->base[i] += pmc_sub_sat(now->of[i], side->at[i]);
	side->unknown |= now->unknown;
	side->stopped = false;
}

void account_stop(struct account_side *side, const struct account_words *now)
{
	if (side->stopped)
		return;
	memcpy(side->at, now->of, sizeof(side->at));
	side->unknown |= now->unknown;
	side->stopped = true;
}

void account_reset(struct account_side *side, const struct account_words *now)
{
	memcpy(side->base, side->stopped ? side->at : now->of, sizeof(side->base));
	if (!side->stopped)
		side->unknown = now->unknown;
	side->reset_ns = now->of[ACCOUNT_WALL];
}

void account_values(const struct account_side *side, struct account_words *now)
{
	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		now->of[i] = pmc_sub_sat(side->stopped ? side->at[i] : now->of[i], side->base[i]);
	now->unknown = side->stopped ? side->unknown : now->unknown | side->unknown;
}

bool account_read(const struct account *account, uint64_t owner, struct account_side *side)
{
	uint32_t number = atomic_load(&account->number), again;

	for (unsigned try = 0; try < TRIES; try++, number = again) {
		*side = account->sides[number & 1];
		atomic_thread_fence(memory_order_acquire);
		again = atomic_load(&account->number);
		if (again == number)
			break;
	}
	return side->owner == owner;
}

void account_write(struct account *account, const struct account_side *side)
{
	uint32_t number = atomic_load(&account->number) + 1;

	account->sides[number & 1] = *side;
	atomic_store_explicit(&account->number, number, memory_order_release);
}
