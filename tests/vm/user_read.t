#!/bin/bash
# SPDX-License-Identifier: MIT
# user_read.t - user-space reads of a counter equal read(2); without permission there are none.
. "$(dirname "$0")/lib.sh"
machine

# line ACCESS N EVENT: read method, count by user-space reads, count by read(2), difference of two
# consecutive reads
line() { awk -v e="$3" '$1 == e { print $2, $3, $4, $5 }' "$M/access-$1-$2"; }

for event in instructions raw cycles; do
	read -r how user sys apart <<<"$(line 1 1000 "$event")"
	read -r how2 user2 sys2 _ <<<"$(line 1 1000000 "$event")"
	is "$how $how2" "user user" "$event: user-space reads are available"
	is $((user2 - user)) 999000 "$event: user-space reads count exactly"
	is $((sys2 - sys)) 999000 "$event: read(2) counts exactly"
	between $((user - 1000)) 0 150 "$event: a user-space read takes at most 150 instructions"
	# The two values differ by the instructions of the read(2) call between them.
	between "$apart" 0 1000 "$event: a user-space read and read(2) differ by at most 1,000 instructions"
done
is "$(line 1 1000 unasked | cut -d' ' -f1)" none "an event opened without user access has no user-space reads"
is "$(line 1 1000 software | cut -d' ' -f1)" none "a software event has no user-space reads"
for event in instructions raw cycles unasked; do
	is "$(line 0 1000 "$event" | cut -d' ' -f1)" none "perf_user_access=0: $event: no user-space reads and no SIGILL"
	is $(($(line 0 1000000 "$event" | cut -d' ' -f3) - $(line 0 1000 "$event" | cut -d' ' -f3))) 999000 \
		"perf_user_access=0: $event: read(2) counts exactly"
done
done_testing
