/* SPDX-License-Identifier: MIT */
/* log.h - one line to stderr, without stdio: "pmcagent: <level>: text". */
#pragma once

enum pmc_log_level { PMC_LOG_ERROR, PMC_LOG_WARN, PMC_LOG_INFO, PMC_LOG_DEBUG };

extern enum pmc_log_level pmc_log_level;
/* Async-signal-safe; keeps errno; escapes controls; cuts lines at 1,000 bytes. */
void pmc_log(enum pmc_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
