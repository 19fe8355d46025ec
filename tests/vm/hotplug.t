#!/bin/bash
# SPDX-License-Identifier: MIT
# hotplug.t - a CPU goes offline and comes back under pmctl stat -a and trace -a.
. "$(dirname "$0")/lib.sh"
machine -smp 2

# rows N FILTER: of intervals from line N on.
rows() { tail -n +"$1" "$M/stat.json" | jq -c "select(.summary | not) | select($2)"; }
offline=$(cat "$M/offline")
online=$(cat "$M/online")
ok "CPU 1 has rows before" test -n "$(head -n "$offline" "$M/stat.json" | jq -c 'select(.cpu == 1)')"
# In the interval in which it goes offline it has one.
is "$(sed -n "$((offline + 7)),${online}p" "$M/stat.json" | jq -c 'select(.cpu == 1)')" "" "none while it is offline"
ok "and rows again when it is back" test -n "$(rows "$((online + 4))" '.cpu == 1')"
sum() { jq -s "[.[] | select(.summary and ($1)).events[0].value] | add" "$M/stat.json"; }
ok "which count: both programs are in its sum" test "$(sum '.cpu == 1')" -ge 4000000
is "$(sum '.cpu != null')" "$(sum '.cpu == null')" "rows add up to the total"
unlike "$(cat "$M/stat.err")" "not counted" "nothing is missing"
is "$(jq -s '[.[] | select(.time_ns and .cpu == 1)] | length > 2' "$M/trace.json")" true "CPU 1 is traced"
unlike "$(cat "$M/trace.err")" "not traced" "and again when it is back"
is "$(jq -s '[.[] | select(.time_ns and .cpu == 1)] | length > 0' "$M/command.json")" true \
	"a command that began while it was offline is traced on it"

done_testing
