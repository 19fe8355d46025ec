/* SPDX-License-Identifier: MIT */
/*
 * records: the sampler on a real PMU. Prints "what number" lines, errors as negative numbers,
 * which records.t checks.
 */
#include "loop.h"

#include <pmc/counter.h>
#include <pmc/sampler.h>
#include <stdio.h>

#define LOOP 1000000ul

/* asm/perf_regs.h of arm64 */
#define REG_X0 0
#define REG_SP 31
#define REG_PC 32

static void say(const char *what, long long number)
{
	printf("%s %lld\n", what, number);
}

struct cycles {
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	int error;
};

static struct cycles cycles_open(struct pmc_open_options *open, uint64_t config1, unsigned pages)
{
	struct cycles c = { NULL, NULL, 0 };
	struct pmc_counter_event event;

	open->exclude_kernel = true;
	open->sample_id_all = true;
	pmc_counter_event_hardware(&event, PERF_COUNT_HW_CPU_CYCLES);
	event.config1 = config1;
	c.error = pmc_counter_open(&c.counter, &event, open, NULL);
	if (!c.error)
		c.error = pmc_sampler_open(&c.sampler, c.counter, pages, NULL);
	return c;
}

static void cycles_close(struct cycles *c)
{
	pmc_sampler_close(c->sampler);
	pmc_counter_close(c->counter);
}

/* Far above kernel.perf_event_max_sample_rate. */
static void throttled(void)
{
	struct pmc_open_options open = pmc_open_options_init();
	struct pmc_sampler_totals totals = { 0 };
	struct pmc_record record;
	long long unthrottles = 0;
	struct cycles c;

	open.sample_period = 1000;
	open.sample_type = PERF_SAMPLE_TIME;
	c = cycles_open(&open, 0, 512);
	if (!c.error)
		c.error = pmc_counter_enable(c.counter);
	run_instructions(100 * LOOP);
	pmc_counter_disable(c.counter);
	while (!c.error && pmc_sampler_next(c.sampler, &record) == 0)
		unthrottles += record.type == PERF_RECORD_UNTHROTTLE;
	if (!c.error)
		pmc_sampler_read_totals(c.sampler, &totals);
	say("throttles", c.error ? c.error : (long long)totals.throttles);
	say("unthrottles", unthrottles);
	cycles_close(&c);
}

static void whole(void)
{
	struct pmc_open_options open = pmc_open_options_init();
	struct pmc_sampler_totals totals = { 0 };
	struct pmc_record record;
	long long agree = 0, sp_in_stack = 0, falls = 0;
	uint64_t last_x0 = UINT64_MAX;
	struct cycles c;
	char here;

	open.sample_period = LOOP;
	open.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
			   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
			   PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PERIOD;
	open.sample_regs_user = 1ull << REG_PC | 1ull << REG_SP | 0x7fffffff;
	open.sample_regs_intr = 1ull << REG_PC;
	open.sample_stack_user = 512;
	c = cycles_open(&open, 0, 128);
	if (!c.error)
		c.error = pmc_counter_enable(c.counter);
	run_instructions(50 * LOOP);
	pmc_counter_disable(c.counter);
	while (!c.error && pmc_sampler_next(c.sampler, &record) == 0) {
		const struct pmc_record_sample *s = &record.sample;
		struct pmc_record_value value;
		uint64_t pc = 0, intr = 1, sp = 0, least = UINT64_MAX;

		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		pmc_record_reg(&s->regs_user, REG_PC, &pc);
		pmc_record_reg(&s->regs_user, REG_SP, &sp);
		pmc_record_reg(&s->regs_intr, REG_PC, &intr);
		agree += pc == s->ip && intr == s->ip && s->n_callchain >= 2 &&
			 s->callchain[1] == s->ip && s->period == LOOP &&
			 pmc_record_read_value(&s->read, 0, &value) == 0 && value.value >= LOOP;
		sp_in_stack += s->stack_user.size > 0 && sp <= (uintptr_t)&here &&
			       (uintptr_t)&here - sp < 4096;
		/* The loop counts down in one register: from sample to sample it falls by half
		 * the period, whichever register it is. */
		for (unsigned reg = REG_X0; reg < 31; reg++) {
			uint64_t x;

			if (pmc_record_reg(&s->regs_user, reg, &x) == 0 && x < last_x0 &&
			    (last_x0 == UINT64_MAX ? x > 20 * LOOP && x < 25 * LOOP :
						     last_x0 - x < LOOP && last_x0 - x > LOOP / 4))
				least = x;
		}
		falls += least != UINT64_MAX;
		last_x0 = least != UINT64_MAX ? least : last_x0;
	}
	if (!c.error)
		pmc_sampler_read_totals(c.sampler, &totals);
	say("samples", c.error ? c.error : (long long)totals.samples);
	say("agree", agree);
	say("stacks", sp_in_stack);
	say("falls", falls);
	say("undecodable", (long long)totals.undecodable);
	cycles_close(&c);
}

/* arm64: config1 bit 1 asks for user access, bit 0 for 64 bits. */
static void user_read(const char *what, uint64_t config1)
{
	struct pmc_open_options open = pmc_open_options_init();
	uint64_t before = 0, user = 0, after = 0, enabled = 0, running = 0, t;
	struct cycles c = cycles_open(&open, config1, 0);
	int error = c.error;

	if (!error)
		error = pmc_counter_enable(c.counter);
	run_instructions(10 * LOOP);
	if (!error)
		error = pmc_counter_read_count_and_time(c.counter, &before, &t, &t);
	if (!error)
		error = pmc_sampler_read_user(c.sampler, &user, &enabled, &running);
	if (!error)
		error = pmc_counter_read_count_and_time(c.counter, &after, &t, &t);
	printf("%s %d\n", what, error);
	if (!error)
		say("user-between", before <= user && user <= after && enabled > 0 &&
					    running == enabled && before >= 10 * LOOP);
	cycles_close(&c);
}

int main(void)
{
	FILE *access = fopen("/proc/sys/kernel/perf_user_access", "w");

	throttled();
	whole();
	user_read("user-not-asked", 0);
	if (access) {
		fputs("1", access);
		fclose(access);
	}
	user_read("user", 3);
	return 0;
}
