/* SPDX-License-Identifier: MIT */
/* words.h - states and reasons in the words of reports. */
#pragma once

#include "lib/base/out.h"
#include "lib/base/show.h"

#include <pmc/dump.h>

/* One clause for a reason or errno ("its start was not seen", "too many open files"). */
const char *pmc_reason_text(uint32_t reason);
const char *pmc_state_name(enum pmc_state state);
const char *pmc_thread_state_name(unsigned state);
const char *pmc_scope_name(unsigned scope);
