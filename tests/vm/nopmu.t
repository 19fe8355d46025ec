#!/bin/bash
# SPDX-License-Identifier: MIT
# nopmu.t - the same machine with its PMU disabled: an event that was not counted is null, not 0.
. "$(dirname "$0")/lib.sh"
CPU=neoverse-n1,pmu=off machine

is "$(jq -r '[.threads[].events[] | .state] | unique | join(" ")' "$M/default.json")" not-supported \
	"every hardware event is not supported"
is "$(jq '[.threads[].events[] | select(.value != null)] | length' "$M/default.json")" 0 "every hardware event is null"
is "$(jq '[.threads[] | .cpu_ns > 0 and .minor_faults != null and .voluntary_switches != null] | all' \
	"$M/default.json")" true "every row has CPU time, page faults and context switches"
is "$(jq -r '[.threads[1].events[] | .state] | join(" ")' "$M/software.json")" \
	"counted not-supported counted" "software events are counted beside a hardware event that is not supported"
is "$(jq -r '.processes[0].inherit_mode' "$M/software.json")" full \
	"PMC_INHERIT=auto is full if the events take no PMU counter"
like "$(tr -s '\n ' ' ' <"$M/table")" 'pmctl doctor' "the report refers to pmctl doctor"
is "$(tail -n 1 "$M/doctor")" 0 "doctor exits with 0 because software events can be counted"
like "$(grep -A1 '^pmu ' "$M/doctor")" 'blocks .*pmu=on' "doctor: the pmu check blocks and names the QEMU option pmu=on"
like "$(grep '^cycles ' "$M/doctor")" 'blocks .*ENOENT: this virtual machine has no hardware PMU' \
	"doctor: the cycles check names ENOENT and the missing virtual PMU"

done_testing
