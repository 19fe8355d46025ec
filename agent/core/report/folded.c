/* SPDX-License-Identifier: MIT */
/* folded.c - call paths with their counts, a line each, as flame graph tools read them. */
#include "agent/core/base/utf8.h"
#include "agent/core/report/view.h"

#include <errno.h>

static int nothing(struct pmc_view *view)
{
	struct pmc_out *out = view->out, text;
	char buf[512];

	pmc_out_to_mem(&text, buf, sizeof(buf));
	view->out = &text;
	if (!view->n_rows && view->n_where)
		pmc_footer_conditions(view);
	else
		pmc_out_str(&text, "no samples in these threads; pmctl run --sample takes some");
	view->out = out;
	/* The caller reads it after the view is gone. */
	view->problem = pmc_arena_strndup(&view->profile->arena, buf, text.len);
	return -EINVAL;
}

int pmc_view_folded(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	const bool waits = samples->event && pmc_is_off_cpu(samples->event);

	if (!samples->event)
		return nothing(view);
	for (uint64_t i = 0; i < samples->fold.n_rows; i++) {
		const struct pmc_sample_row *row = samples->fold.rows[i];
		const uint64_t count = waits ? row->self / 1000 : row->samples;
		struct pmc_cell path;

		if (!count)
			continue;
		path = pmc_sample_cell(view, PMC_SAMPLE_key, row);
		pmc_utf8_safe(view->out, path.text, path.len, 0);
		pmc_out_char(view->out, ' ');
		pmc_out_u64(view->out, count);
		pmc_out_char(view->out, '\n');
	}
	return 0;
}
