/* SPDX-License-Identifier: MIT */
/* words.c - states, reasons and numbers in the words of reports. */
#include "agent/core/base/advice.h"
#include "agent/core/base/utf8.h"
#include "agent/core/profile/metrics.h"
#include "agent/core/report/words.h"

const char *pmc_state_name(enum pmc_state state)
{
	static const char *const names[] = {
		[PMC_COUNTED] = "counted",
		[PMC_SCALED] = "scaled",
		[PMC_PARTIAL] = "partial",
		[PMC_NOT_COUNTED] = "not-counted",
		[PMC_NOT_SUPPORTED] = "not-supported",
		[PMC_NOT_PERMITTED] = "not-permitted",
	};

	return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "not-counted";
}

const char *pmc_thread_state_name(unsigned state)
{
	static const char *const names[] = {
		[PMC_THREAD_LIVE] = "live",
		[PMC_THREAD_EXITED] = "exited",
		[PMC_THREAD_EXEC] = "exec",
		[PMC_THREAD_KILLED] = "killed",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

const char *pmc_scope_name(unsigned scope)
{
	return scope == PMC_SCOPE_USER ? "user" : scope == PMC_SCOPE_KERNEL ? "kernel" : "all";
}

const char *pmc_ratio_state_name(unsigned state)
{
	return state == PMC_RATIO_EXACT ? "exact" : state == PMC_RATIO_SCALED ? "scaled" : "mixed";
}

const char *pmc_reason_text(uint32_t reason)
{
	switch (reason) {
	case PMC_REASON_NONE:
		return "no reason recorded";
	case PMC_REASON_ADOPTED:
		return "its start was not seen";
	case PMC_REASON_FD_BUDGET:
		return "the agent's share of file descriptors is used up";
	case PMC_REASON_RECYCLED:
		return "its file descriptor was taken over by the program";
	case PMC_REASON_NEVER_RAN:
		return "enabled, but never scheduled on the PMU";
	case PMC_REASON_NOT_STARTED:
		return "counting was off (PMC_START, PMC_DELAY, pmctl ctl)";
	case PMC_REASON_ROW_LOST:
		return "its row is not in the dump, or not yet";
	case PMC_REASON_PINNED:
		return "pinned, but the PMU had no counter for it all the time";
	case PMC_REASON_BRACE:
		return "its braced group needs more counters than the PMU has";
	case PMC_REASON_UNCORE:
		return "it counts the whole machine, not single threads";
	case PMC_REASON_UNCORE_FULL:
		return "it counts on more CPUs than an event set has room for";
	case PMC_REASON_ALL_PINNED:
		return "the pinned events (:D) leave no counter for it";
	case PMC_REASON_OS:
		return "the OS counts it for threads only, and /proc must be readable";
	case PMC_REASON_NO_COUNTERS:
		return "the virtual machine has no counters";
	case PMC_REASON_OWN_THREAD:
		return "only the thread itself can read it, at its end";
	case PMC_REASON_NO_EVENT:
		return "the processor's event database does not have it";
	case PMC_REASON_CONFLICT:
		return "other events of the list take the counters that can count it";
	case PMC_REASON_NO_KPERF:
		return "the kperf framework of macOS could not be used";
	case PMC_REASON_NO_SOURCE:
		return "macOS does not count it";
	case PMC_REASON_KERNEL_ONLY:
		return "it occurs in kernel mode only; leave out :u";
	case PMC_REASON_REGISTRY_FULL:
		return "the agent's table of threads is full";
	default:
		return reason < PMC_REASON_ADOPTED ? pmc_error_means((int)reason) :
						     "the kernel refused it";
	}
}

/* Three to four digits: 1.71, 58.10, 123.4. */
static void digits(struct pmc_out *out, double value)
{
	pmc_out_fixed(out, value, value < 99.995 ? 2 : value < 9999.95 ? 1 : 0);
}

void pmc_show_integer(struct pmc_out *out, uint64_t value)
{
	if (value >= 1000) {
		pmc_show_integer(out, value / 1000);
		pmc_outf(out, ",%03u", (unsigned)(value % 1000));
	} else {
		pmc_out_u64(out, value);
	}
}

int pmc_decimals_for(double value)
{
	return value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
}

void pmc_scale_time(struct pmc_scale *scale, double most_ns, const char *micro)
{
	const struct pmc_scale units[] = {
		{ 3600e9, 0, "h" }, { 1e9, 0, "s" }, { 1e6, 0, "ms" },
		{ 1e3, 0, micro },  { 1, 0, "ns" },
	};
	const double least[] = { 1e13, 1e9, 1e6, 1e3 };
	unsigned i = 0;

	while (i < 4 && !(most_ns >= least[i]))
		i++;
	*scale = units[i];
	if (scale->divisor > 1)
		scale->decimals = pmc_decimals_for(most_ns / scale->divisor);
}

void pmc_scale_count(struct pmc_scale *scale, double most, bool real)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
	unsigned n = 0;

	*scale = (struct pmc_scale){ .divisor = 1 };
	for (; most >= 9999.5 && most / scale->divisor >= 999.95 && n < 6; n++)
		scale->divisor *= 1000;
	scale->unit = prefixes[n];
	if (n || real)
		scale->decimals = pmc_decimals_for(most / scale->divisor);
}

void pmc_show_scaled(struct pmc_out *out, const struct pmc_scale *scale, double value)
{
	value /= scale->divisor;
	if (scale->decimals) {
		pmc_out_fixed(out, value, scale->decimals);
		return;
	}
	if (value <= -0.5)
		pmc_out_char(out, '-');
	pmc_show_integer(out, pmc_nearest_integer(value < 0 ? -value : value));
}

void pmc_show_count(struct pmc_out *out, uint64_t n, const char *one, const char *many)
{
	pmc_show_integer(out, n);
	pmc_outf(out, " %s", n == 1 ? one : many);
}

void pmc_show_number(struct pmc_out *out, double value)
{
	static const char units[] = "kMGTPE";
	unsigned unit = 0;

	if (value < 99999.5) {
		if (value >= 0 && value == (double)(uint64_t)value)
			pmc_show_integer(out, (uint64_t)value);
		else if (value < 0.01)
			pmc_out_fixed(out, value, 6);
		else if (value < 1000)
			digits(out, value);
		else
			pmc_show_integer(out, pmc_nearest_integer(value));
		return;
	}
	for (value /= 1000; value >= 999.95 && unit < sizeof(units) - 2; unit++)
		value /= 1000;
	digits(out, value);
	pmc_out_char(out, units[unit]);
}

void pmc_show_time(struct pmc_out *out, double ns, const char *micro)
{
	if (ns >= 1e13)
		pmc_show_integer(out, pmc_nearest_integer(ns / 1e9));
	else if (ns >= 99.95e6 || ns <= 0)
		digits(out, ns / 1e9);
	else if (ns >= 99.95e3)
		pmc_out_fixed(out, ns / 1e6, ns >= 9.995e6 ? 1 : 2);
	else
		pmc_out_fixed(out, ns / 1e3, ns >= 9.995e3 ? 1 : 2);
	pmc_out_char(out, ' ');
	pmc_out_str(out, ns >= 99.95e6 || ns <= 0 ? "s" : ns >= 99.95e3 ? "ms" : micro);
}

void pmc_show_percent(struct pmc_out *out, double percent)
{
	if (percent >= 100)
		pmc_out_fixed(out, percent, 0);
	else
		pmc_out_fixed(out, percent < 99.9 ? percent : 99.9, 1);
}

void pmc_show_wrapped(struct pmc_out *out, const char *line, int width)
{
	int column = 0;

	for (size_t len; *line; line += len) {
		int columns;

		len = 1 + strcspn(line + 1, " ");
		columns = pmc_utf8_columns(line, len);
		if (column && column + columns > width) {
			pmc_out_str(out, "\n  ");
			column = 2;
		}
		pmc_out_bytes(out, line, len);
		column += columns;
	}
	pmc_out_char(out, '\n');
}
