#!/bin/bash
# SPDX-License-Identifier: MIT
# list.t - pmctl list and list --fit on a machine with a PMU.
. "$(dirname "$0")/lib.sh"
machine

says() {
	ok "$1" jq -e "$3" "$M/$2.json" || diag_file "$M/$2.json" answer
}

is "$(jq -r '.[] | select(.name == "cycles" or .name == "instructions") | .available' "$M/list.json" | xargs)" \
	"true true" "cycles and instructions are available"
is "$(jq -r '.[] | select(.name == "LLC-loads") | "\(.available): \(.reason)"' "$M/list.json")" \
	"false: the PMU of this machine does not count it" "an event that the PMU lacks is not available, with the reason"
ok "sysfs events of the PMU are available" jq -e '
	[.[] | select(.type == "sysfs" and (.name | startswith("armv8_pmuv3/")))] |
	(map(.name) | contains(["armv8_pmuv3/cpu_cycles/", "armv8_pmuv3/inst_retired/"])) and
	all(.available)' "$M/list.json"
ok "libpfm4 events of this processor are listed and available" jq -e '
	[.[] | select(.type == "libpfm4")] | length > 50 and all(.available) and
	any(.name == "arm_n1::INST_RETIRED" and .pmu == "arm_n1")' "$M/list.json"
is "$(jq -r '.[] | select(.name == "@default") | .available' "$M/list.json")" false \
	"an event set is not available if some of its events are not"

says "6 events on 6 counters fit" fit-6 '.fits and .lower_bound == 1 and (.assignment | length) == 6'
says "7 events on 6 counters do not fit, although the kernel accepts them as one group" fit-7 \
	'(.fits | not) and (.clash | length) == 7 and (.passes | map(length)) == [6, 1] and .lower_bound == 2'
says "14 events need three passes; the lower bound without counter masks is 2" fit-14 \
	'(.fits | not) and (.clash | length) == 7 and (.passes | map(length)) == [6, 6, 2] and .lower_bound == 2'
like "$(tail -n 1 "$M/fit-30")" 'At least 2 passes' "30 events: the text output gives the lower bound of passes"
says "6 events and cycles fit because of the cycle counter" fit-cycles '.fits'
says "software events take no PMU counter" fit-software '.fits'
says "five events fit while another process holds one counter" fit-held \
	'(.fits | not) and (.passes | map(length)) == [5, 1]'
says "all six counters held: instructions do not fit, cycles fit" fit-taken \
	'(.fits | not) and .clash == ["r8:u"] and .passes == [["cycles:u"]] and .lower_bound == null'
says "an event that the PMU lacks does not fit; no remark about a missing PMU" fit-missing \
	'(.fits | not) and .clash == ["LLC-loads"] and .passes == [["r8:u"]] and .remark == null'

done_testing
