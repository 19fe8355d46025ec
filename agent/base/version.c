/* SPDX-License-Identifier: MIT */
/* version.c - the version in the agent's file, which pmctl doctor reads from there. */
__attribute__((used, section(".pmc.version"))) static const char version[] =
	"pmcagent-version:" PMC_VERSION;
