/* SPDX-License-Identifier: MIT */
/* snapshot.h - final frames that never went to a file. */
#ifndef PMC_AGENT_SNAPSHOT_H
#define PMC_AGENT_SNAPSHOT_H

#include <stddef.h>

/* What agent_final kept in memory because no file was needed; len 0: everything is in the file. */
const void *agent_final_frames(size_t *len);

#endif
