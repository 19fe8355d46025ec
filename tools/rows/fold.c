/* SPDX-License-Identifier: MIT */
/*
 * fold.c - many rows as one: columns for the events of several sets, sums over rows with their
 * state and spread, and which group a thread belongs to.
 */
#include "tools/rows/fold.h"
#include "lib/base/labels.h"
#include "lib/event/event.h"

#include <stdio.h>
#include <string.h>

/* Of the keys of groups paths are the longest. */
#define KEY_CAP 8192

/* ---- events of several sets as one list of columns ----------------------------------------- */

void pmc_union_init(struct pmc_union *u, struct pmc_arena *arena)
{
	*u = (struct pmc_union){ .arena = arena };
	u->events = pmc_arena_alloc(arena, PMC_UNION_MAX * sizeof(*u->events));
	u->columns = pmc_arena_alloc(arena, PMC_UNION_MAX * sizeof(*u->columns));
	u->set.events = u->events;
}

double pmc_event_scale(const struct pmc_p_event *event)
{
	double scale = event->def.scale;

	return scale > 0 && scale - scale == 0 ? scale : 1;
}

void pmc_event_metric_unit(const struct pmc_p_event *event, char unit[32])
{
	unsigned n = 0;

	for (const char *at = event->unit; *at && n < 31; at++)
		if ((*at | 32) >= 'a' && (*at | 32) <= 'z')
			unit[n++] = (char)(*at | 32);
	unit[n] = '\0';
	if (!strcmp(event->unit, "ns"))
		memcpy(unit, "seconds", sizeof("seconds"));
}

static const char *label(struct pmc_arena *arena, const struct pmc_p_event *event, unsigned nth)
{
	const size_t cap = strlen(event->name) + strlen(event->core_type) + 32;
	char *label = pmc_arena_alloc(arena, cap);
	struct pmc_out out = pmc_out_mem(label, cap);

	pmc_out_str(&out, event->name);
	if (nth > 1)
		pmc_outf(&out, "#%u", nth);
	if (event->core_type[0])
		pmc_outf(&out, "@%s", event->core_type);
	return label;
}

static uint16_t find_column(const struct pmc_union *u, const struct pmc_p_event *event,
			    unsigned nth)
{
	for (unsigned i = 0; i < u->set.count; i++) {
		const struct pmc_p_event *united = &u->events[i];

		if (u->columns[i].nth == nth && !strcmp(united->name, event->name) &&
		    !strcmp(united->core_type, event->core_type) &&
		    !strcmp(united->unit, event->unit) &&
		    united->def.scale == pmc_event_scale(event))
			return (uint16_t)i;
	}
	return PMC_NO_COLUMN;
}

static uint16_t column_of(struct pmc_union *u, const struct pmc_p_event *event, unsigned nth,
			  bool grow)
{
	uint16_t at = find_column(u, event, nth);
	struct pmc_p_event *united;

	if (at == PMC_NO_COLUMN) {
		u->overflow |= grow && u->set.count == PMC_UNION_MAX;
		if (!grow || u->overflow)
			return PMC_NO_COLUMN;
		at = (uint16_t)u->set.count++;
		u->events[at] = *event;
		u->columns[at] = (struct pmc_union_column){ .label = label(u->arena, event, nth),
							    .nth = nth };
	}
	united = &u->events[at];
	u->columns[at].mixed_scope |= event->def.scope != united->def.scope;
	/* A set that counted the event decides over one that could not. */
	if (united->def.state != PMC_COUNTED)
		united->def = event->def;
	united->def.scale = pmc_event_scale(event);
	return at;
}

static const struct pmc_union_map *find_map(struct pmc_union *u, uint64_t hash)
{
	struct pmc_union_map *map = u->last;

	if (map && map->set->hash == hash)
		return map;
	HASH_FIND(hh, u->maps, &hash, sizeof(hash), map);
	if (map)
		u->last = map;
	return map;
}

static void find_ratios(struct pmc_union *u, struct pmc_union_map *map)
{
	map->ratios = pmc_arena_alloc(u->arena, pmc_n_metrics * sizeof(*map->ratios));
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		struct pmc_union_ratio *ratio = &map->ratios[map->n_ratios];

		ratio->metric = i;
		if (!pmc_metric_events(i, map->set, NULL, &ratio->events))
			continue;
		map->n_ratios++;
		u->ratios |= UINT64_C(1) << i;
	}
	u->n_ratios = 0;
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		u->ratio_at[i] = (unsigned char)u->n_ratios;
		u->n_ratios += u->ratios >> i & 1;
	}
}

void pmc_union_add(struct pmc_union *u, const struct pmc_p_set_view *set, bool grow)
{
	struct pmc_arena *arena = u->arena;
	struct pmc_union_map *map;

	if (!set || find_map(u, set->hash))
		return;
	map = pmc_arena_alloc(arena, sizeof(*map));
	map->set = set;
	find_ratios(u, map);
	map->column = pmc_arena_alloc(arena, (set->count + 1) * sizeof(*map->column));
	for (unsigned i = 0; i < set->count; i++) {
		unsigned nth = 1;

		for (unsigned j = 0; j < i; j++)
			nth += !strcmp(set->events[i].name, set->events[j].name) &&
			       !strcmp(set->events[i].core_type, set->events[j].core_type);
		map->column[i] = column_of(u, &set->events[i], nth, grow);
	}
	HASH_ADD_KEYPTR(hh, u->maps, &set->hash, sizeof(set->hash), map);
}

const uint16_t *pmc_union_map(struct pmc_union *u, const struct pmc_p_set_view *set)
{
	const struct pmc_union_map *map = set ? find_map(u, set->hash) : NULL;

	return map ? map->column : NULL;
}

const struct pmc_p_set_view *pmc_union_set_of(struct pmc_union *u,
					      const struct pmc_p_thread *thread)
{
	const struct pmc_union_map *map;
	uint64_t hash = thread->fixed.eventset;

	if (!hash && thread->process)
		hash = thread->process->fixed.eventset;
	map = find_map(u, hash);
	return map ? map->set : NULL;
}

const struct pmc_count *pmc_union_counts(struct pmc_union *u, const struct pmc_p_thread *thread,
					 const struct pmc_p_set_view **set, struct pmc_count *none)
{
	*set = thread->set;
	if (*set && thread->counts)
		return thread->counts;
	*set = pmc_union_set_of(u, thread);
	for (unsigned i = 0; *set && i < (*set)->count; i++) {
		const struct pmc_event_def *def = &(*set)->events[i].def;

		none[i] = (struct pmc_count){ .state = def->state, .error = def->error };
		if (none[i].state == PMC_COUNTED) {
			none[i].state = PMC_NOT_COUNTED;
			none[i].error = thread->fixed.reason;
		}
	}
	return none;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* A copy: for an initializer the compiler would use `rep stos`, which is slow to start. */
static inline void stat_clear(struct pmc_fold_stat *stat)
{
	static const struct pmc_fold_stat empty = { .min = UINT64_MAX, .why = PMC_WHY_NONE };

	memcpy(stat, &empty, sizeof(empty));
}

static size_t ratios_bytes(const struct pmc_union *u)
{
	return u->n_ratios * sizeof(struct pmc_ratio);
}

void pmc_fold_init(struct pmc_fold_row *row, const struct pmc_union *u, bool region)
{
	unsigned n = u->set.count ? u->set.count : 1;

	*row = (struct pmc_fold_row){ .label = "" };
	row->events = pmc_arena_alloc(u->arena, n * sizeof(*row->events));
	row->ratios = pmc_arena_alloc(u->arena, ratios_bytes(u) + 1);
	pmc_fold_clear(row, u);
	if (!region)
		return;
	row->self = pmc_arena_alloc(u->arena, sizeof(*row->self));
	pmc_fold_init(row->self, u, false);
}

void pmc_fold_clear(struct pmc_fold_row *row, const struct pmc_union *u)
{
	struct pmc_fold_stat *events = row->events;
	struct pmc_ratio *ratios = row->ratios;
	const struct pmc_histogram waits = row->waits.lengths, delays = row->delays.lengths;

	memset(row, 0, sizeof(*row));
	row->label = "";
	row->events = events;
	row->ratios = ratios;
	row->waits.lengths = waits;
	row->delays.lengths = delays;
	/* Their memory is used again. */
	pmc_histogram_clear(&row->waits.lengths);
	pmc_histogram_clear(&row->delays.lengths);
	memset(ratios, 0, ratios_bytes(u));
	stat_clear(&row->cpu);
	stat_clear(&row->outside_mpi);
	for (unsigned i = 0; i < u->set.count; i++)
		stat_clear(&events[i]);
}

void pmc_fold_add_value(struct pmc_fold_stat *stat, uint64_t value, bool spread)
{
	stat->rows++;
	pmc_add_sat(&stat->sum, value);
	if (value < stat->min)
		stat->min = value;
	if (value > stat->max)
		stat->max = value;
	if (spread) {
		double off = (double)value - stat->mean;

		stat->mean += off / (double)stat->rows;
		stat->m2 += off * ((double)value - stat->mean);
	}
}

static void stat_why(struct pmc_fold_stat *stat, enum pmc_state state, uint32_t error)
{
	if (stat->why == PMC_WHY_NONE) {
		stat->why = (uint8_t)state;
		stat->error = error;
	} else {
		if (stat->why != state)
			stat->why = PMC_NOT_COUNTED;
		if (stat->error != error)
			stat->error = 0;
	}
}

static void add_counts(struct pmc_fold_row *row, struct pmc_union *u,
		       const struct pmc_p_thread *thread, bool spread)
{
	const struct pmc_union_map *map = find_map(u, thread->set->hash);

	if (!map || !thread->counts)
		return;
	for (unsigned i = 0; i < map->n_ratios; i++) {
		const unsigned metric = map->ratios[i].metric;

		pmc_ratio_take(metric, &map->ratios[i].events, thread->set, thread->counts,
			       pmc_fold_ratio(row, u, metric));
	}
	for (unsigned i = 0; i < thread->set->count; i++) {
		const struct pmc_count *count = &thread->counts[i];
		struct pmc_fold_stat *stat;

		if (map->column[i] == PMC_NO_COLUMN)
			continue;
		stat = &row->events[map->column[i]];
		if (count->state > PMC_SCALED) {
			stat_why(stat, count->state, count->error);
			continue;
		}
		pmc_fold_add_value(
			stat, count->state == PMC_COUNTED ? count->raw : pmc_count_value(count),
			spread);
		stat->scaled += count->state == PMC_SCALED;
		pmc_add_sat(&stat->raw, count->raw);
		pmc_add_sat(&stat->enabled_ns, count->enabled_ns);
		pmc_add_sat(&stat->running_ns, count->running_ns);
	}
}

static void add_self(struct pmc_fold_row *row, struct pmc_union *u,
		     const struct pmc_p_thread *thread, bool spread)
{
	const struct pmc_p_region *region = thread->region;
	struct pmc_p_thread self = *thread;

	pmc_add_sat(&row->calls, region->fixed.calls);
	self.region = NULL;
	self.counts = region->self_counts;
	self.fixed.cpu_ns = region->fixed.self_cpu_ns;
	pmc_fold_add(row->self, u, &self, spread);
}

/* Waits of one entry are about as long as each other. */
void pmc_fold_add_waits(struct pmc_fold_waits *to, struct pmc_arena *arena,
			const struct pmc_p_samples *from)
{
	if (!from)
		return;
	to->rows++;
	to->lacks += from->fixed.lost != 0;
	pmc_add_sat(&to->ns, from->weight);
	for (uint64_t i = 0; i < from->n; i++)
		if (from->list[i].count)
			pmc_histogram_add_times(arena, &to->lengths,
						from->list[i].weight / from->list[i].count,
						from->list[i].count);
}

static void merge_waits(struct pmc_fold_waits *to, const struct pmc_union *u,
			const struct pmc_fold_waits *from)
{
	to->rows += from->rows;
	to->lacks += from->lacks;
	pmc_add_sat(&to->ns, from->ns);
	pmc_histogram_merge(u->arena, &to->lengths, &from->lengths);
}

void pmc_fold_add(struct pmc_fold_row *row, struct pmc_union *u, const struct pmc_p_thread *thread,
		  bool spread)
{
	const struct pmc_thread_fixed *fixed = &thread->fixed;

	row->threads++;
	row->rows++;
	row->wall_ns = row->threads == 1 ? pmc_thread_on_ns(fixed, pmc_thread_until(thread)) : 0;
	if (!(fixed->flags & PMC_THREAD_NO_CPU))
		pmc_fold_add_value(&row->cpu, fixed->cpu_ns, spread);
	row->cpu.extra += (fixed->flags & PMC_THREAD_LEAST_CPU) != 0;
	if (fixed->flags & PMC_THREAD_DELAY)
		pmc_fold_add_value(&row->run_delay, fixed->delay_ns, spread);
	if (!pmc_lacks_switches(fixed) || thread->least_usage) {
		row->usage_rows += !(fixed->flags & PMC_THREAD_NO_RUSAGE);
		row->switch_rows += !thread->least_usage;
		row->usage_least += thread->least_usage;
		pmc_usage_add(&row->usage, &PMC_USAGE_OF(fixed));
	}
	row->sampled_rows += thread->sampled;
	pmc_add_sat(&row->samples, thread->samples);
	pmc_add_sat(&row->lost_samples, thread->lost_samples);
	pmc_add_sat(&row->outside_mpi_samples, thread->outside_mpi_samples);
	pmc_fold_add_waits(&row->waits, u->arena, thread->waits);
	pmc_fold_add_waits(&row->delays, u->arena, thread->delays);
	if (thread->has_outside_mpi)
		pmc_fold_add_value(&row->outside_mpi, thread->outside_mpi_ns, spread);
	if (thread->set)
		add_counts(row, u, thread, spread);
	if (thread->region && row->self)
		add_self(row, u, thread, spread);
}

void pmc_fold_one(struct pmc_fold_row *row, struct pmc_union *u, const struct pmc_p_thread *thread)
{
	pmc_fold_clear(row, u);
	pmc_fold_add(row, u, thread, false);
	for (unsigned i = 0; i < u->set.count; i++) {
		const struct pmc_event_def *def = &u->set.events[i].def;

		if (!row->events[i].rows && row->events[i].why == PMC_WHY_NONE &&
		    def->state != PMC_COUNTED)
			stat_why(&row->events[i], (enum pmc_state)def->state, def->error);
	}
}

static void stat_merge(struct pmc_fold_stat *into, const struct pmc_fold_stat *stat)
{
	if (stat->why != PMC_WHY_NONE)
		stat_why(into, (enum pmc_state)stat->why, stat->error);
	into->extra += stat->extra;
	if (!stat->rows)
		return;
	into->rows += stat->rows;
	into->scaled += stat->scaled;
	pmc_add_sat(&into->sum, stat->sum);
	into->min = stat->min < into->min ? stat->min : into->min;
	into->max = stat->max > into->max ? stat->max : into->max;
	pmc_add_sat(&into->raw, stat->raw);
	pmc_add_sat(&into->enabled_ns, stat->enabled_ns);
	pmc_add_sat(&into->running_ns, stat->running_ns);
}

/* Adds the sums that have no minimum, mean and maximum. */
static void merge_sums(struct pmc_fold_row *into, const struct pmc_fold_row *row,
		       const struct pmc_union *u)
{
	into->threads += row->threads;
	pmc_usage_add(&into->usage, &row->usage);
	pmc_add_sat(&into->samples, row->samples);
	pmc_add_sat(&into->lost_samples, row->lost_samples);
	pmc_add_sat(&into->outside_mpi_samples, row->outside_mpi_samples);
	merge_waits(&into->waits, u, &row->waits);
	merge_waits(&into->delays, u, &row->delays);
	for (unsigned i = 0; i < u->n_ratios; i++)
		pmc_ratio_add(&into->ratios[i], &row->ratios[i]);
	pmc_add_sat(&into->calls, row->calls);
}

void pmc_fold_merge(struct pmc_fold_row *into, const struct pmc_fold_row *row,
		    const struct pmc_union *u)
{
	merge_sums(into, row, u);
	into->rows += row->rows;
	into->wall_ns = 0;
	stat_merge(&into->cpu, &row->cpu);
	stat_merge(&into->run_delay, &row->run_delay);
	into->usage_rows += row->usage_rows;
	into->switch_rows += row->switch_rows;
	into->usage_least += row->usage_least;
	into->sampled_rows += row->sampled_rows;
	stat_merge(&into->outside_mpi, &row->outside_mpi);
	for (unsigned i = 0; i < u->set.count; i++)
		stat_merge(&into->events[i], &row->events[i]);
	if (into->self && row->self)
		pmc_fold_merge(into->self, row->self, u);
}

/* label NULL: to the sum only. */
static void stat_part(struct pmc_fold_stat *into, const struct pmc_fold_stat *stat, uint64_t rows,
		      const char *label)
{
	if (!label) {
		pmc_add_sat(&into->sum, stat->sum);
		return;
	}
	if (stat->why != PMC_WHY_NONE)
		stat_why(into, (enum pmc_state)stat->why, stat->error);
	if (!stat->rows)
		return;
	if (!into->rows || stat->sum > into->max)
		into->largest = label;
	pmc_fold_add_value(into, stat->sum, true);
	into->scaled += stat->scaled != 0;
	into->extra += stat->rows < rows + stat->extra;
	pmc_add_sat(&into->raw, stat->raw);
	pmc_add_sat(&into->enabled_ns, stat->enabled_ns);
	pmc_add_sat(&into->running_ns, stat->running_ns);
}

void pmc_fold_part(struct pmc_fold_row *into, const struct pmc_fold_row *part,
		   const struct pmc_union *u, const struct pmc_fold_group *of)
{
	/* A part without a name, such as the launcher of an MPI job, is in the sums only. */
	const bool beside = of->is_nameless && into->parts;
	const char *label = beside ? NULL : of->label;

	merge_sums(into, part, u);
	into->rows += !beside;
	into->parts += !of->is_nameless;
	stat_part(&into->cpu, &part->cpu, part->rows, label);
	stat_part(&into->run_delay, &part->run_delay, part->rows, label);
	into->usage_rows += !beside && part->usage_rows;
	into->switch_rows += !beside && part->switch_rows;
	into->usage_least += !beside && !part->usage_rows && part->usage_least;
	into->usage_lacks |= part->usage_rows < part->rows;
	into->switches_lack |= part->switch_rows < part->rows;
	into->sampled_rows += !beside && part->sampled_rows;
	stat_part(&into->outside_mpi, &part->outside_mpi, part->rows, label);
	for (unsigned i = 0; i < u->set.count; i++)
		stat_part(&into->events[i], &part->events[i], part->rows, label);
	if (into->self && part->self)
		pmc_fold_part(into->self, part->self, u, of);
}

double pmc_fold_stddev(const struct pmc_fold_stat *stat)
{
	const double stddev = stat->rows ? pmc_square_root(stat->m2 / (double)stat->rows) : 0;

	/* Equal values differ by rounding. */
	return stddev > stat->mean * 1e-9 ? stddev : 0;
}

struct pmc_ratio *pmc_fold_ratio(const struct pmc_fold_row *row, const struct pmc_union *u,
				 unsigned metric)
{
	return u->ratios >> metric & 1 ? &row->ratios[u->ratio_at[metric]] : NULL;
}

struct pmc_ratio pmc_fold_metric(const struct pmc_fold_row *row, const struct pmc_union *u,
				 unsigned metric)
{
	const struct pmc_ratio *ratio = pmc_fold_ratio(row, u, metric);

	if (pmc_formulas[metric].kind == CPU_PCT)
		return (struct pmc_ratio){
			.a = row->cpu.sum,
			.b = row->wall_ns,
			.known = pmc_fold_state(&row->cpu, row->rows) == PMC_COUNTED,
		};
	if (pmc_formulas[metric].kind == SWITCHES_PER_S)
		return (struct pmc_ratio){
			.a = row->usage.voluntary_switches + row->usage.involuntary_switches,
			.b = row->wall_ns,
			.known = row->switch_rows && row->switch_rows == row->rows &&
				 !row->switches_lack,
		};
	return ratio ? *ratio : (struct pmc_ratio){ .known = false };
}

/* ---- names and keys ------------------------------------------------------------------------ */

const char *pmc_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether name is what the kernel calls a process that runs `path` (cut to 15 bytes). */
static bool named_after(const char *name, size_t len, const char *path, size_t path_len)
{
	const char *base = path;

	for (size_t i = 0; i < path_len; i++)
		if (path[i] == '/')
			base = path + i + 1;
	path_len -= (size_t)(base - path);
	return len == (path_len < 15 ? path_len : 15) && !memcmp(name, base, len);
}

const char *pmc_thread_label(const struct pmc_p_thread *thread, size_t *len)
{
	static const char main_label[] = "(main)", unnamed[] = "(unnamed)";
	const struct pmc_p_process *process = thread->process;
	const char *name = thread->fixed.name;

	*len = strnlen(name, sizeof(thread->fixed.name));
	if (!(thread->fixed.flags & PMC_THREAD_MAIN)) {
		if (*len)
			return name;
		*len = sizeof(unnamed) - 1;
		return unnamed;
	}
	/* In descendants, and in an image that exec replaced, the name distinguishes better. */
	if (*len && process && process->known &&
	    (!(process->fixed.flags & PMC_PROCESS_FIRST) ||
	     process->fixed.how_ended == PMC_ENDED_EXEC))
		return name;
	if (*len && process && !named_after(name, *len, process->exe, strlen(process->exe)) &&
	    !named_after(name, *len, process->cmdline, strcspn(process->cmdline, " ")))
		return name;
	*len = sizeof(main_label) - 1;
	return main_label;
}

void pmc_thread_start(const struct pmc_p_thread *thread, struct pmc_out *out)
{
	if (thread->symbol[0]) {
		pmc_out_str(out, thread->symbol);
	} else if (thread->fixed.start_site) {
		pmc_out_str(out, pmc_base_name(thread->module));
		pmc_out_str(out, thread->module[0] ? "+0x" : "0x");
		pmc_outf(out, "%llx", (unsigned long long)thread->offset);
	}
}

void pmc_thread_key(const struct pmc_p_thread *thread, struct pmc_out *out)
{
	size_t len;
	const char *name = pmc_thread_label(thread, &len);

	pmc_out_bytes(out, name, len);
	pmc_out_char(out, ' ');
	pmc_out_u64(out, thread->fixed.tid);
}

/* The kernel keeps 15 bytes of a name. */
static bool is_cut(size_t len)
{
	return len >= 15;
}

/* With the decimals that multiples of `every` need. */
static void put_seconds(struct pmc_out *out, uint64_t ns, uint64_t every)
{
	unsigned decimals = 9;
	char fraction[10];

	pmc_out_u64(out, ns / 1000000000);
	while (decimals && every % 10 == 0) {
		every /= 10;
		decimals--;
	}
	snprintf(fraction, sizeof(fraction), "%09u", (unsigned)(ns % 1000000000));
	if (decimals)
		pmc_outf(out, ".%.*s", (int)decimals, fraction);
}

/* The name of the thread, or of who ended its waits: "" if that was not recorded. */
static const char *name_of(enum pmc_fold_by by, const struct pmc_p_thread *thread, size_t *len)
{
	if (by != PMC_BY_WAKER)
		return pmc_thread_label(thread, len);
	*len = thread->waker_len;
	return thread->waker ? thread->waker : "";
}

static bool is_pool(enum pmc_fold_by by)
{
	return by == PMC_BY_POOL || by == PMC_BY_WAKER;
}

/* The text threads are grouped by. Returns its length. */
static size_t key_of(const struct pmc_fold *fold, enum pmc_fold_by by,
		     const struct pmc_p_thread *thread, char *buf)
{
	const struct pmc_p_process *process = thread->process;
	struct pmc_out out = pmc_out_mem(buf, KEY_CAP);
	const char *text;
	size_t len;

	switch (by) {
	case PMC_BY_POOL:
	case PMC_BY_WAKER:
		text = name_of(by, thread, &len);
		/* "(still blocked)" is no name that was cut. */
		if (by == PMC_BY_POOL || !thread->no_waker)
			return pmc_pool_pattern(text, len, buf);
		pmc_out_bytes(&out, text, len);
		break;
	case PMC_BY_NONE:
	case PMC_BY_NAME:
		text = pmc_thread_label(thread, &len);
		pmc_out_bytes(&out, text, len);
		break;
	case PMC_BY_START:
		if (thread->fixed.flags & PMC_THREAD_MAIN)
			pmc_out_str(&out, "(main)");
		else
			pmc_thread_start(thread, &out);
		text = thread->creation && fold->path_of ?
			       fold->path_of(thread->creation, fold->path_arg) :
			       "";
		if (text[0])
			pmc_outf(&out, "%s < %s", out.len ? "" : "(unknown)", text);
		break;
	case PMC_BY_THREAD:
	case PMC_BY_PROCESS:
		pmc_out_bytes(&out, (const char *)process->identity, sizeof(process->identity));
		if (by == PMC_BY_THREAD)
			pmc_out_bytes(&out, (const char *)&thread->fixed.seq, sizeof(uint64_t));
		break;
	case PMC_BY_EXE:
		pmc_out_str(&out, process->exe);
		break;
	case PMC_BY_HOST:
		pmc_out_str(&out, process->host);
		break;
	case PMC_BY_RANK:
		if (process->known && process->fixed.rank >= 0)
			pmc_out_i64(&out, process->fixed.rank);
		break;
	case PMC_BY_JOB:
		text = pmc_label(process->labels, "job", &len);
		if (text)
			pmc_out_bytes(&out, text, len);
		else if (process->known)
			pmc_out_hex_bytes(&out, process->fixed.job, 8);
		break;
	case PMC_BY_POD:
		text = pmc_label(process->labels, "pod", &len);
		if (text)
			pmc_out_bytes(&out, text, len);
		break;
	case PMC_BY_TIME:
		put_seconds(&out, thread->time_ns, thread->every_ns);
		break;
	case PMC_BY_REGION:
		pmc_out_bytes(&out, thread->region->name, thread->region->name_len);
		break;
	default: /* rows of samples */
		break;
	}
	return out.len;
}

static const char *nameless(enum pmc_fold_by by)
{
	if (by == PMC_BY_RANK || by == PMC_BY_POD)
		return "(none)";
	if (by == PMC_BY_WAKER)
		return "(not recorded)";
	return by <= PMC_BY_NAME || by == PMC_BY_REGION ? "(unnamed)" : "(unknown)";
}

void pmc_process_key(const struct pmc_p_process *process, struct pmc_out *out)
{
	if (process->known)
		pmc_outf(out, "%u %.200s", process->fixed.pid, pmc_base_name(process->exe));
}

static const char *label_of(const struct pmc_fold *fold, enum pmc_fold_by by,
			    const struct pmc_p_thread *thread, const char *key, size_t len)
{
	const struct pmc_p_process *process = thread->process;
	struct pmc_out out = PMC_OUT_MEM(320);

	if (by == PMC_BY_THREAD) {
		pmc_thread_key(thread, &out);
	} else if (by == PMC_BY_PROCESS && process->known) {
		pmc_process_key(process, &out);
	} else if (by == PMC_BY_PROCESS || !len) {
		return nameless(by);
	} else {
		return pmc_arena_strndup(fold->u->arena, key, len);
	}
	return pmc_arena_strndup(fold->u->arena, out.buf, out.len);
}

/* ---- groups ---------------------------------------------------------------------------- */

struct pmc_fold_entry {
	const char *text;
	size_t len;
	struct pmc_fold_group *group;
	UT_hash_handle hh;
	bool cut; /* some name may have been cut by the kernel */
};

void pmc_fold_begin(struct pmc_fold *fold, struct pmc_union *u, const unsigned char *outer,
		    enum pmc_fold_by by)
{
	*fold = (struct pmc_fold){ .u = u, .only_labels = pmc_by_samples(by) };
	for (; outer && *outer && fold->n_keys + 1 < PMC_KEYS_MOST; outer++)
		fold->keys[fold->n_keys++].by = (enum pmc_fold_by) * outer;
	if (!pmc_by_samples(by) || by == PMC_BY_WAKER)
		fold->keys[fold->n_keys++].by = by;
}

/* Shorter stems would join what has little in common. */
#define STEM_LEAST 8

/* The pattern without its last star. */
static size_t stem_of(const char *text, size_t len)
{
	return len && text[len - 1] == '*' ? len - 1 : len;
}

/* A name that the kernel may have cut is of the pool of another one if its stem begins the other's
 * pattern: "pool-*-thread-" (cut) and "pool-*-thread-*", "conn_*_handle" (cut) and
 * "conn_*_handler". */
static struct pmc_fold_group *same_stem(struct pmc_fold *fold, const struct pmc_fold_key *key,
					const char *text, size_t len, bool cut)
{
	const size_t stem = stem_of(text, len);

	for (unsigned i = 0; i < key->n_pools; i++) {
		const struct pmc_fold_entry *entry = key->pools[i];
		const size_t other = stem_of(entry->text, entry->len);
		const size_t both = stem < other ? stem : other;

		if (both < STEM_LEAST || memcmp(text, entry->text, both) != 0)
			continue;
		if (!(cut && stem == both) && !(entry->cut && other == both))
			continue;
		if (stem < other)
			entry->group->label = pmc_arena_strndup(fold->u->arena, text, len);
		return entry->group;
	}
	return NULL;
}

static struct pmc_fold_entry *entry_new(struct pmc_fold *fold, struct pmc_fold_key *key,
					const struct pmc_p_thread *thread, const char *text,
					size_t len)
{
	struct pmc_arena *arena = fold->u->arena;
	struct pmc_fold_entry *entry = pmc_arena_alloc(arena, sizeof(*entry));
	const bool pool = is_pool(key->by);
	size_t name_len;

	name_of(key->by, thread, &name_len);
	entry->text = pmc_arena_strndup(arena, text, len);
	entry->len = len;
	entry->cut = pool && is_cut(name_len);
	entry->group = pool ? same_stem(fold, key, text, len, entry->cut) : NULL;
	if (!entry->group) {
		entry->group = pmc_arena_alloc(arena, sizeof(*entry->group));
		entry->group->label = label_of(fold, key->by, thread, text, len);
		entry->group->is_nameless = !len;
		entry->group->time_ns = thread->time_ns;
		if (key->by == PMC_BY_PROCESS || key->by == PMC_BY_THREAD)
			entry->group->process = thread->process;
	}
	if (pool && key->n_pools < sizeof(key->pools) / sizeof(key->pools[0]))
		key->pools[key->n_pools++] = entry;
	HASH_ADD_KEYPTR(hh, key->entries, entry->text, len, entry);
	return entry;
}

/* Whether the threads of a pool share one name, and which. */
static void note_name(enum pmc_fold_by by, struct pmc_fold_group *group,
		      const struct pmc_p_thread *thread)
{
	size_t len;
	const char *name = name_of(by, thread, &len);

	/* Its samples may be several lists. */
	if (by == PMC_BY_POOL && thread->row && thread->row == group->last)
		return;
	group->last = thread->row;
	if (!group->threads++) {
		memcpy(group->name, name, len);
		group->name_len = (unsigned char)len;
	} else if (len != group->name_len || memcmp(group->name, name, len) != 0) {
		group->many_names = true;
	}
}

static struct pmc_fold_group *find_group(struct pmc_fold *fold, struct pmc_fold_key *key,
					 const struct pmc_p_thread *thread)
{
	struct pmc_fold_entry *entry = key->last;
	char text[KEY_CAP];
	const size_t len = key_of(fold, key->by, thread, text);

	if (!entry || entry->len != len || memcmp(entry->text, text, len) != 0) {
		HASH_FIND(hh, key->entries, text, len, entry);
		if (!entry)
			entry = entry_new(fold, key, thread, text, len);
		key->last = entry;
	}
	if (is_pool(key->by))
		note_name(key->by, entry->group, thread);
	return entry->group;
}

/* ---- rows ------------------------------------------------------------------------------ */

static struct pmc_fold_row *row_new(struct pmc_fold *fold, const struct pmc_p_thread *thread,
				    const struct pmc_fold_group *const *groups, size_t bytes)
{
	struct pmc_arena *arena = fold->u->arena;
	struct pmc_fold_row *row = pmc_arena_alloc(arena, sizeof(*row));

	if (!fold->only_labels)
		pmc_fold_init(row, fold->u, thread->region);
	row->groups = memcpy(pmc_arena_alloc(arena, bytes), groups, bytes);
	row->index = fold->n_rows++;
	if (fold->last_row)
		fold->last_row->next = row;
	else
		fold->rows = row;
	fold->last_row = row;
	HASH_ADD_KEYPTR(hh, fold->by_groups, row->groups, bytes, row);
	return row;
}

struct pmc_fold_row *pmc_fold_find(struct pmc_fold *fold, const struct pmc_p_thread *thread)
{
	const struct pmc_fold_group *groups[PMC_KEYS_MOST];
	const size_t bytes = fold->n_keys * sizeof(groups[0]);
	struct pmc_fold_row *row = fold->last_found;

	for (unsigned i = 0; i < fold->n_keys; i++)
		groups[i] = find_group(fold, &fold->keys[i], thread);
	if (row && !memcmp(row->groups, groups, bytes))
		return row;
	HASH_FIND(hh, fold->by_groups, groups, bytes, row);
	if (!row)
		row = row_new(fold, thread, groups, bytes);
	fold->last_found = row;
	return row;
}

void pmc_fold_thread(struct pmc_fold *fold, const struct pmc_p_thread *thread)
{
	pmc_fold_add(pmc_fold_find(fold, thread), fold->u, thread, fold->spread);
}

static void label_pools(struct pmc_fold *fold, struct pmc_fold_key *key)
{
	for (struct pmc_fold_entry *entry = key->entries; entry; entry = entry->hh.next) {
		struct pmc_fold_group *group = entry->group;

		if (!group->many_names && group->name_len &&
		    (!is_cut(group->name_len) || group->threads < 2))
			group->label =
				pmc_arena_strndup(fold->u->arena, group->name, group->name_len);
	}
}

static const char *join_labels(const struct pmc_fold *fold, const struct pmc_fold_row *row)
{
	size_t cap = 1;
	char *text, *end;

	for (unsigned i = 0; i < fold->n_keys; i++)
		cap += strlen(row->groups[i]->label) + 1;
	text = end = pmc_arena_alloc(fold->u->arena, cap);
	for (unsigned i = 0; i < fold->n_keys; i++)
		end = stpcpy(stpcpy(end, i ? "," : ""), row->groups[i]->label);
	return text;
}

void pmc_fold_end(struct pmc_fold *fold)
{
	for (unsigned i = 0; i < fold->n_keys; i++)
		if (is_pool(fold->keys[i].by))
			label_pools(fold, &fold->keys[i]);
	for (struct pmc_fold_row *row = fold->rows; row; row = row->next)
		row->label = fold->n_keys == 1 ? row->groups[0]->label : join_labels(fold, row);
}
