#!/bin/bash
# SPDX-License-Identifier: MIT
# list.t - pmctl list and list --fit on a machine with a PMU.
. "$(dirname "$0")/lib.sh"
machine

says() {
	ok "$1" jq -e "$3" "$M/$2.json" || diag_file "$M/$2.json" answer
}

is "$(jq -r '.[] | select(.name == "cycles" or .name == "instructions") | .available' "$M/list.json" | xargs)" \
	"true true" "cycles and instructions open"
is "$(jq -r '.[] | select(.name == "LLC-loads") | "\(.available): \(.reason)"' "$M/list.json")" \
	"false: the PMU of this machine does not count it" "what the PMU lacks is told"
ok "the events of its PMU in sysfs open" jq -e '
	[.[] | select(.type == "sysfs" and (.name | startswith("armv8_pmuv3/")))] |
	(map(.name) | contains(["armv8_pmuv3/cpu_cycles/", "armv8_pmuv3/inst_retired/"])) and
	all(.available)' "$M/list.json"
ok "the table that libpfm4 has of this processor is listed, and opens" jq -e '
	[.[] | select(.type == "libpfm4")] | length > 50 and all(.available) and
	any(.name == "arm_n1::INST_RETIRED" and .pmu == "arm_n1")' "$M/list.json"
is "$(jq -r '.[] | select(.name == "@default") | .available' "$M/list.json")" false \
	"a set of which some events are missing is not available as a whole"

says "6 events on 6 counters fit" fit-6 '.fits and .lower_bound == 1 and (.assignment | length) == 6'
says "7, which the kernel accepts as one group, do not" fit-7 \
	'(.fits | not) and (.clash | length) == 7 and (.passes | map(length)) == [6, 1] and .lower_bound == 2'
says "14 need three passes; without masks the bound is 2" fit-14 \
	'(.fits | not) and (.clash | length) == 7 and (.passes | map(length)) == [6, 6, 2] and .lower_bound == 2'
like "$(tail -n 1 "$M/fit-30")" 'At least 2 passes' "30 of them: the text gives the bound"
says "the cycle counter makes it seven that fit" fit-cycles '.fits'
says "software events take no counter" fit-software '.fits'
says "with one counter held by somebody else five fit" fit-held \
	'(.fits | not) and (.passes | map(length)) == [5, 1]'
says "every counter held: one event gets none, the other fits" fit-taken \
	'(.fits | not) and .clash == ["r8:u"] and .passes == [["cycles:u"]] and .lower_bound == null'
says "an event that the PMU lacks does not fit, and there is a PMU" fit-missing \
	'(.fits | not) and .clash == ["LLC-loads"] and .passes == [["r8:u"]] and .remark == null'

done_testing
