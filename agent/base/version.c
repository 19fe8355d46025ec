/* SPDX-License-Identifier: MIT */
/* version.c - the version in the agent's file, where pmctl finds it without loading the agent. */
__attribute__((used, section(".pmc.version"))) static const char version[] = PMC_VERSION;
