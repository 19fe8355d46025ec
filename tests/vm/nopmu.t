#!/bin/bash
# SPDX-License-Identifier: MIT
# nopmu.t - the same machine with its PMU switched off: nothing is 0 that nobody counted.
. "$(dirname "$0")/lib.sh"
CPU=neoverse-n1,pmu=off machine

is "$(jq -r '[.threads[].events[] | .state] | unique | join(" ")' "$M/default.json")" not-supported \
	"every hardware event is not supported"
is "$(jq '[.threads[].events[] | select(.value != null)] | length' "$M/default.json")" 0 "none has a value"
is "$(jq '[.threads[] | .cpu_ns > 0 and .minor_faults != null and .voluntary_switches != null] | all' \
	"$M/default.json")" true "CPU time, faults and switches are there"
is "$(jq -r '[.threads[1].events[] | .state] | join(" ")' "$M/software.json")" \
	"counted not-supported counted" "software events are counted beside it"
is "$(jq -r '.processes[0].inherit_mode' "$M/software.json")" full \
	"with no PMU counter to take, auto is full"
like "$(cat "$M/table")" 'pmctl doctor' "the report says why and where to look"
is "$(tail -n 1 "$M/doctor")" 0 "doctor: software events count here"
like "$(grep -A1 '^pmu ' "$M/doctor")" 'blocks .*pmu=on' "doctor: there is no PMU, and how a guest gets one"
like "$(grep '^cycles ' "$M/doctor")" 'blocks .*ENOENT: this virtual machine has no hardware PMU' \
	"doctor: why cycles do not open"

done_testing
