#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl list: events and whether each is available here; --fit: which fit at once.
. "$(dirname "$0")/lib.sh"

M2=$ROOT/data/apple-m2-events.tsv

list() {
	run "$PMCTL" list "$@"
}

refused() { refuses "${@:1:3}" list "${@:4}"; }

# ---- the list --------------------------------------------------------------------------------
list --json
is "$status" 0 "list --json: exit 0"
ok "its shape" jq -e 'length > 50 and all(.[];
	(keys == ["available", "description", "name", "pmu", "reason", "type"]) and
	(.name | length > 0) and (.description | length > 0) and
	(.available | type == "boolean") and (.available or (.reason | length > 0)))' "$T/out"
is "$(json "$T/out" 'map([.type, .pmu, .name]) | length - (unique | length)')" 0 "no row is there twice"
for type in hardware software cache set; do
	ok "$type events are listed" jq -e --arg t $type 'any(.[]; .type == $t)' "$T/out"
done
is "$(json "$T/out" '.[] | select(.name == "task-clock").available')" true "task-clock opens here"
if [ -n "$(ls -d /sys/bus/event_source/devices/*/events 2>/dev/null)" ]; then
	want=$(for f in /sys/bus/event_source/devices/*/events/*; do
		case ${f##*/} in *.*) ;; *) p=${f%/events/*} && echo "${p##*/}/${f##*/}/" ;; esac
	done | sort)
	is "$(json "$T/out" '.[] | select(.type == "sysfs").name' | sort)" "$want" \
		"the events of every PMU in sysfs are listed"
else
	skip "no PMU in sysfs names events" "the events of every PMU in sysfs are listed"
fi

# list and run -n must agree.
wrong=
for event in $(json "$T/out" '.[] | select(.type | IN("hardware", "software", "cache")).name'); do
	said=$(json "$T/out" "first(.[] | select(.name == \"$event\")).available")
	run_says=true
	"$PMCTL" run -n -e "$event" -- true | grep -q '^not counted here' && run_says=false
	[ "$said" = "$run_says" ] || wrong+="$event: list $said, run $run_says"$'\n'
done
is "$wrong" "" "list and run -n agree about every generic event"

list
cp "$T/out" "$T/all"
like "$(cat "$T/all")" "software events" "the table has sections"
like "$(cat "$T/all")" "yes  task-clock  " "and shows what opens"
list 'TASK-*'
is "$(grep -c '^  ' "$T/out")" 1 "a pattern selects by name, in any case"
list --json 'page-faults'
is "$(json "$T/out" '.[].name')" page-faults "and in JSON"
list r1c2
like "$(cat "$T/out")" "r1c2 .*config 0x1c2" "a name in no table is parsed"
list --json cycles:u
is "$status $(json "$T/out" '.[].name')" "0 cycles:u" "so is a name with a modifier"
list --json Cache-M
is "$status $(json "$T/out" '[.[].name] | index("cache-misses") != null and all(.[]; test("cache-m"; "i"))')" "0 true" \
	"another word selects the names that contain it"
refused 2 "foo:bar" "no tracepoint" foo:bar
refused 2 "unknown event 'cycels'.*'cycles'" "a mistyped name" cycels
refused 1 "no event matches 'zz\*'" "a pattern that matches nothing" 'zz*'
refused 2 "'--json'" "a mistyped flag" --jsno
refused 2 pattern "two patterns" 'a*' 'b*'
refused 2 "--fit" "--fit without events" --fit
refused 2 "--pmu-db.*--fit" "--pmu-db alone" --pmu-db "$M2"
list --json --jsno
is "$status" 2 "with --json an error: exit 2"
ok "is JSON" jq -e '.error.code == 2' "$T/err"
run bash -c "'$PMCTL' list >/dev/full"
is "$status" 1 "to a full disk: exit 1"
run bash -c "'$PMCTL' list --json >/dev/full"
is "$status" 1 "to a full disk, JSON: exit 1"

export LIBPFM_FORCE_PMU=skx
list --json 'MEM_LOAD_RETIRED:*'
if [ "$(uname -m)" = x86_64 ]; then
	ok "the tables of libpfm4 are listed, with unit masks" jq -e '
		any(.[]; .name == "skx::MEM_LOAD_RETIRED:L3_MISS" and .pmu == "skx" and
			.type == "libpfm4" and (.description | length > 10))' "$T/out"
else
	skip "libpfm4 here has no tables of x86" "the tables of libpfm4 are listed, with unit masks"
fi
unset LIBPFM_FORCE_PMU

cat >"$T/tracefs" <<END
[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing || exit 77
"$PMCTL" list --json 'sched:*' || exit 1
wc -l </sys/kernel/tracing/available_events >"$T/n_events"
"$PMCTL" list --json | jq '[.[] | select(.type == "tracepoint")] | length' >"$T/n_listed"
END
run unshare -m bash "$T/tracefs"
if [ "$status" = 77 ] || [ "$(id -u)" != 0 ]; then
	skip "tracefs cannot be mounted" "tracepoints are listed"
else
	is "$(json "$T/out" '.[] | select(.name == "sched:sched_switch") | .type, .available' | xargs)" \
		"tracepoint true" "tracepoints are listed, and open"
	is "$(cat "$T/n_listed")" "$(cat "$T/n_events")" "all of them"
fi
for mode in errno kill; do
	run "$PROG/seccomp" "$mode" "$PMCTL" list --json task-clock
	is "$(json "$T/out" '.[].available')" false "under a seccomp filter ($mode) nothing opens"
	run "$PROG/seccomp" "$mode" "$PMCTL" list --json --fit task-clock
	is "$status $(json "$T/out" '.fits')" "0 false" "and nothing fits"
done
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
	run setpriv --reuid=65534 --clear-groups --no-new-privs -- "$PMCTL" list --json '*-[csf][lwa]*'
	is "$(json "$T/out" '.[] | select(.name == "page-faults") | "\(.available): \(.reason)"')" \
		"true: in user mode only" "as nobody: page-faults in user mode only"
	is "$(json "$T/out" '.[] | select(.name == "task-clock") | "\(.available): \(.reason)"')" \
		"true: null" "as nobody: task-clock without restriction"
	like "$(json "$T/out" '.[] | select(.name == "context-switches") | "\(.available): \(.reason)"')" \
		"^false: .*cannot be counted in user mode alone" "as nobody: context-switches not at all"
fi

# ---- fitting, by a database ----------------------------------------------------------------
fit() {
	list --pmu-db "$M2" --json --fit "$@"
}

fit INST_ALL,INST_BRANCH,Cycles,MAP_STALL
is "$status" 0 "--fit of what fits: exit 0"
ok "it fits: each event on a counter of its mask, and on one of its own" jq -e '
	.fits and .clash == [] and .lower_bound == 1 and (.passes | map(length)) == [4] and
	.assignment.INST_ALL == 7 and .assignment.Cycles == 0 and
	(.assignment.INST_BRANCH | IN(5, 6)) and (.assignment.MAP_STALL | IN(2, 3, 4, 5, 6)) and
	([.assignment[]] | length == (unique | length))' "$T/out"
fit INST_BRANCH,MAP_STALL,INST_ALL,INST_INT_ST,Cycles
is "$status" 0 "--fit of what does not fit: exit 0"
ok "the clash, and passes that work" jq -e '
	(.fits | not) and .assignment == {} and (.clash | sort) == ["INST_ALL", "INST_INT_ST"] and
	(.passes | length) == 2 and .lower_bound == 2 and
	(.passes | add | sort) ==
		["Cycles", "INST_ALL", "INST_BRANCH", "INST_INT_ST", "MAP_STALL"]' "$T/out"
cp "$T/out" "$T/first"
fit Cycles,INST_INT_ST,INST_ALL,MAP_STALL,INST_BRANCH
same "$T/first" "$T/out" "the order of the events changes nothing"
# First-fit by name would use counters 2 to 7 for the others and leave none for INST_ALL.
any=ATOMIC_OR_EXCLUSIVE_FAIL,ATOMIC_OR_EXCLUSIVE_SUCC,CORE_ACTIVE_CYCLE,FETCH_RESTART
fit "$any,FLUSH_RESTART_OTHER_NONSPEC,BRANCH_MISPRED_NONSPEC,INST_BRANCH,INST_ALL"
is "$(json "$T/out" '.fits, .assignment.INST_ALL' | xargs)" "true 7" "what first-fit refuses fits"
fit "$(cut -f1 "$M2" | tail -n +2 | paste -sd,)"
ok "all 60 events: 9 passes, as 25 of them share 3 counters" jq -e '
	(.passes | length) == 9 and .lower_bound == 9 and (.passes | add | unique | length) == 60 and
	(.passes | all(length <= 10))' "$T/out"
list --pmu-db "$M2" --fit INST_ALL,INST_INT_ST
like "$(cat "$T/out")" "At least 2 passes" "the text gives the lower bound of passes"
fit Cycles,Cycles
is "$(json "$T/out" '.clash | join(" ")')" "Cycles Cycles#2" "an event named twice takes two counters"
refused 2 "'INST_ALL'" "an event that the database lacks" --pmu-db "$M2" --fit INST_AL
refused 2 "empty" "an empty event" --pmu-db "$M2" --fit Cycles,,INST_ALL
refused 2 "empty" "an empty list" --pmu-db "$M2" --fit ''
refused 2 "64" "too many events" --pmu-db "$M2" --fit "$(printf 'Cycles,%.0s' {1..64})Cycles"

# db NAME REGEX TEXT: a database that is refused with a line number.
db() {
	printf "$3" >"$T/db.tsv"
	refused 1 "$2" "database: $1" --pmu-db "$T/db.tsv" --fit a
}
h='name\talias\tcounter_mask\n'
db "empty" "line 1: the file is empty" ""
db "another header" "line 1: the header" "event\talias\tmask\na\t-\t0b1\n"
db "no event" "line 2: no event" "$h"
db "two fields" "line 3: .*three fields" "${h}a\t-\t0b1\nb\t0b1\n"
db "four fields" "line 2: .*three fields" "${h}a\t-\t0b1\t0b1\n"
db "an empty line" "line 3: .*three fields" "${h}a\t-\t0b1\n\nb\t-\t0b1\n"
db "no mask" "line 2: the counter mask" "${h}a\t-\t\n"
db "a decimal mask" "line 2: the counter mask" "${h}a\t-\t3\n"
db "a bad digit" "line 2: the counter mask" "${h}a\t-\t0b12\n"
db "65 bits" "line 2: the counter mask" "${h}a\t-\t0x10000000000000000\n"
db "a name twice" "line 3: duplicate" "${h}a\t-\t0b1\na\t-\t0b1\n"
db "an alias that is a name" "line 3: duplicate" "${h}a\t-\t0b1\nb\ta\t0b1\n"
db "an empty name" "line 2: empty" "${h}\t-\t0b1\n"
db "an escape sequence" "line 2: .*control characters" "${h}a\\033[31m\t-\t0b1\n"
db "a C1 control" "line 2: .*control characters" "${h}b\ta\\302\\233\t0b1\n"
db "a direction override" "line 2: .*control characters" "${h}a\\342\\200\\256\t-\t0b1\n"
db "a NUL" "line 2: NUL" "${h}a\\0\t-\t0b1\n"
refused 1 "cannot read $T/none: No such file" "no database" --pmu-db "$T/none" --fit a
refused 1 "cannot read $T: Is a directory" "a directory" --pmu-db "$T" --fit a
printf "${h}a\tx\t0xFFFFFFFFFFFFFFFF\r\nnone\t-\t0b0" >"$T/db.tsv"
list --json --pmu-db "$T/db.tsv" --fit x,a
is "$(json "$T/out" '.fits')" true "64 counters, CRLF, no newline at the end"
list --json --pmu-db "$T/db.tsv" --fit none,x
ok "an event that no counter can count" jq -e '(.fits | not) and .clash == ["none"] and
	.lower_bound == null and .passes == [["x"]] and .impossible[0].name == "none"' "$T/out"

# ---- fitting, on this machine ----------------------------------------------------------------
list --json --fit page-faults,task-clock
ok "software events fit; their counters are not known" jq -e '
	.fits and .assignment == {"page-faults": null, "task-clock": null}' "$T/out"
list --json --fit cycles,task-clock
is "$status" 0 "--fit cycles: exit 0"
if [ "$("$PMCTL" list --json cycles | jq '.[0].available')" = false ]; then
	ok "without a PMU: cycles cannot be counted, the others can" jq -e '
		(.fits | not) and .clash == ["cycles"] and .passes == [["task-clock"]] and
		.lower_bound == null and (.impossible[0].reason | length > 0)' "$T/out"
	[ -d /sys/bus/event_source/devices/cpu ] ||
		like "$(json "$T/out" .remark)" "no hardware PMU" "and the remark says so"
else
	ok "with a PMU: cycles fit" jq -e '.fits' "$T/out"
fi
wide=$("$PMCTL" list --json | jq -r 'first(.[] | select(.reason == "machine-wide only, not for each thread").name) // ""')
if [ -n "$wide" ]; then
	list --json --fit "$wide,task-clock"
	is "$(json "$T/out" '"\(.impossible[0].name) \(.impossible[0].reason), \(.passes | tostring), \(.remark)"')" \
		"$wide counted for the whole machine, not for a thread, [[\"task-clock\"]], null" "a machine-wide event is told apart"
else
	skip "no PMU here counts machine-wide" "a machine-wide event is told apart"
fi
refused 2 "nearest is 'cycles'" "--fit of an unknown event" --fit cycels
refused 2 "braces" "--fit of a group" --fit '{cycles,instructions}'

done_testing
