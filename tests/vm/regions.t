#!/bin/bash
# SPDX-License-Identifier: MIT
# regions.t - a region around N instructions reads N plus a constant in every thread and at every nesting
# depth; the overhead of a begin/end pair in instructions.
. "$(dirname "$0")/lib.sh"
machine

# sums REPORT REGION EVENT: the unique values of EVENT in the rows of REGION
sums() { jq -c "[.regions[] | select(.region == \"$2\") | .events[] | select(.name == \"$3\") | .value] | unique" "$M/$1.json"; }
field() { jq -c "[.regions[] | $2] | unique" "$M/$1.json"; }

for how in 0 1; do
	name=$([ $how = 1 ] && echo "user-space reads" || echo "read(2)")
	want=$([ $how = 1 ] && echo '["user"]' || echo '["system-call"]')
	is "$(field one-$how .pair.read)" "$want" "perf_user_access=$how: regions are read by $name"
	for region in inner middle outer; do
		k=$([ $region = inner ] && echo 1; [ $region = middle ] && echo 2; [ $region = outer ] && echo 3)
		small=$(sums one-$how $region instructions:u | tr -d '[]')
		large=$(sums large-$how $region instructions:u | tr -d '[]')
		is $((large - small)) $((k * 999000)) "$name: $region counts its instructions exactly"
		# Includes registering a name on its first use, which the estimated cost of a pair excludes.
		between $((small - k * 1000)) 0 900 \
			"$name: $region: overhead of at most 900 instructions ($((small - k * 1000)))"
		is "$(sums rounds-$how $region cycles:u)" "$(sums rounds-$how $region instructions:u)" \
			"$name: $region: cycles equal instructions (IPC is 1)"
		each=$(($(sums rounds-$how $region instructions:u | tr -d '[]') - 1000 * k * 1000))
		between "$each" 0 $((k * 20000)) "$name: $region: 1,000 calls, at most 20 extra instructions a pair ($each)"
	done
	is "$(sed -n 1p "$M/read-$how.out" | cut -d' ' -f6,7)" \
		"$(jq -r '.regions[] | select(.region == "outer" and .tid == .pid) |
			"\(.events[0].raw) \(.self[0].raw)"' "$M/read-$how.json")" \
		"pmc_region_read, $name: instructions are those of the dump"
	# pmctl dump reads the same sums as the report at exit; an open region has no count yet.
	"$PMCTL" report --by region --format json "$M/outside-$how.pmc" >"$M/outside-$how.json"
	for report in held outside; do
		jq -S '[.regions[] | select(.region != "held") | del(.process)]' "$M/$report-$how.json" >"$T/$report"
	done
	is "$(jq length "$T/outside")" 300 "pmctl dump, $name: 100 threads have 3 regions each"
	same "$T/outside" "$T/held" "pmctl dump, $name: sums equal those of the report at exit"
	is "$(jq -c '[.regions[] | select(.region == "held") | [.calls, .open, .events[0].value]] | unique' \
		"$M/outside-$how.json")" '[[0,1,null]]' \
		"pmctl dump, $name: an open region has open = 1, no calls and a null count"
	is "$(field handlers-$how .pair.read)" "$want" "$name: regions marked in a signal handler"
	is "$(jq -c '[.regions[] | select(.region == ("outer", "inner")) | .calls]' "$M/handlers-$how.json")" \
		"[$(cut -d' ' -f1 "$M/handlers-$how.out"),$(cut -d' ' -f1 "$M/handlers-$how.out")]" \
		"$name: no region of a signal handler is lost"
	for e in 0 1; do
		is "$(jq "[.regions[].self[$e].value] | add" "$M/handlers-$how.json")" \
			"$(jq ".regions[] | select(.region == \"all\") | .events[$e].value" "$M/handlers-$how.json")" \
			"$name: the self counts of event $e add up to the count of the outermost region"
	done
	for report in all-$how short-$how outside-$how; do
		jq '.regions |= map(select(.region != "held"))' "$M/$report.json" >"$T/no-held"
		cp "$T/no-held" "$M/$report.json"
		is "$(jq '.regions | length' "$M/$report.json")" 300 "$report: 100 threads have 3 regions each"
		is "$(field $report '.events[].state')" '["counted"]' "$report: every event is counted"
		is "$(field $report .calls)" '[10]' "$report: each region has all 10 calls"
		for region in inner middle outer; do
			spread=$(sums $report $region instructions:u)
			k=$([ $region = inner ] && echo 1; [ $region = middle ] && echo 2; [ $region = outer ] && echo 3)
			diag "$report: $region reads $spread"
			between "$(jq 'min' <<<"$spread")" $((k * 1000000)) $((k * 1000000 + 1300)) \
				"$report: $region: the smallest value is N plus at most 1,300"
			between "$(jq 'max' <<<"$spread")" $((k * 1000000)) $((k * 1000000 + 1300)) \
				"$report: $region: the largest value is N plus at most 1,300"
			# A user-space read interrupted by the scheduler is repeated.
			between "$(jq 'max - min' <<<"$spread")" 0 $((how ? 200 : 10)) \
				"$report: $region: the overhead is the same in every thread"
		done
		is "$(jq -c '[.regions | group_by(.seq)[] | map({ key: .region, value: .events[0].value }) | from_entries |
			.inner <= .middle and .middle <= .outer] | unique' "$M/$report.json")" '[true]' \
			"$report: inner ≤ middle ≤ outer in every thread"
	done
done
is "$(jq -r '[.regions[].pair.read] | unique | join(" ")' "$M/short-1.json")" "system-call user" \
	"threads beyond the limit on locked memory use read(2)"
is "$(field nobody .calls) $(jq '.regions | length' "$M/nobody.json")" "[10] 300" \
	"an unprivileged user gets all regions and calls"
is "$(jq -r '[.regions[].pair.read] | unique | join(" ")' "$M/nobody.json")" "system-call user" \
	"unprivileged user: threads within the limit on locked memory use user-space reads"
is "$(jq -c '[.regions[] | .events[].state] | unique' "$M/turns.json")" '["scaled"]' \
	"multiplexed groups: region values are scaled"
between "$(jq '[.regions[] | select(.region == "inner") | .events[].value] | min' "$M/turns.json")" 570000000 630000000 \
	"multiplexed groups: the smallest value is within 5 %"
between "$(jq '[.regions[] | select(.region == "inner") | .events[].value] | max' "$M/turns.json")" 570000000 630000000 \
	"multiplexed groups: the largest value is within 5 %"

for how in 0 1; do
	for n in 1 2 5; do
		diag_file "$M/cost-$n-$how.out" "perf_user_access=$how, events: $n; instructions a pair, user and all"
	done
done
# cost EVENTS ACCESS WHAT user|all
cost() { awk -v k="$3" -v c="$([ "$4" = user ] && echo 2 || echo 3)" '$1 == k { print $c }' "$M/cost-$1-$2.out"; }
for n in 1 2 5; do
	# Neither calls the kernel, whose clock interrupts fall on one or the other.
	pair=$(cost $n 1 pair user) reads=$(cost $n 1 user_reads user)
	between "$pair" "$reads" $((2 * reads)) \
		"$n events: a pair takes at most 2 × the instructions of two user-space reads"
	for how in 0 1; do
		# Each thread measures its own cost of a pair.
		known=$(jq '[.regions[0].pair.events[] | select(.name == "instructions:u") | .value] | first' \
			"$M/cost-$n-$how.json")
		real=$(cost $n $how pair user)
		between "$known" $((real - 40)) $((real + 40)) \
			"$n events, perf_user_access=$how: the cost of a pair is estimated within 40 instructions of $real"
	done
	between "$(cost $n 0 pair all)" "$(cost $n 0 reads all)" $(($(cost $n 0 reads all) * 125 / 100)) \
		"$n events: a pair takes at most 1.25 × the instructions of two read(2) calls"
done
mkdir -p "$O/vm" && {
	sed 's/^/user_/' "$M/cost-5-1.out"
	sed 's/^/two_/' "$M/cost-2-1.out"
	sed 's/^/single_/' "$M/cost-1-1.out"
	sed 's/^/read_/' "$M/cost-5-0.out"
} >"$O/vm/region_costs"
done_testing
