#!/bin/bash
# SPDX-License-Identifier: MIT
# user_read.t - a counter read in user space says what read(2) says; without permission it is none.
. "$(dirname "$0")/lib.sh"
machine

# line ACCESS N EVENT: how, by user-space reads, by read(2), the difference of two reads in a row
line() { awk -v e="$3" '$1 == e { print $2, $3, $4, $5 }' "$M/access-$1-$2"; }

for event in instructions raw cycles; do
	read -r how user sys apart <<<"$(line 1 1000 "$event")"
	read -r how2 user2 sys2 _ <<<"$(line 1 1000000 "$event")"
	is "$how $how2" "user user" "$event: read in user space"
	is $((user2 - user)) 999000 "$event: user-space reads count exactly"
	is $((sys2 - sys)) 999000 "$event: as read(2) does"
	between $((user - 1000)) 0 150 "$event: a user-space read is a few instructions"
	# Both lie as far apart as the call that is between them.
	between "$apart" 0 1000 "$event: the two agree to within the cost of the call"
done
is "$(line 1 1000 unasked | cut -d' ' -f1)" none "an event that did not ask for it: none"
is "$(line 1 1000 software | cut -d' ' -f1)" none "a software event: none"
for event in instructions raw cycles unasked; do
	is "$(line 0 1000 "$event" | cut -d' ' -f1)" none "perf_user_access=0: $event: none, and no SIGILL"
	is $(($(line 0 1000000 "$event" | cut -d' ' -f3) - $(line 0 1000 "$event" | cut -d' ' -f3))) 999000 \
		"perf_user_access=0: $event: read(2) is as good"
done
done_testing
