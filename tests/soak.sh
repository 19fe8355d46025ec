#!/bin/bash
# SPDX-License-Identifier: MIT
# soak.sh - a million threads, 10,000 processes, 30 minutes of samples in a storm, 20,000 attacks on
# pmctl, then random programs under random signals, dumps and limits for ten minutes. Meanwhile sessions
# of pmctl bench. Not part of make check.
#
#	make soak                    an hour and more
#	SECONDS=20 make soak         a short run: everything in proportion to 600 s
#	SEED=7 make soak             the same choices again; SEED, and each round's own seed, are printed
#
# Bash counts SECONDS on from what the environment gave it.
limit=$SECONDS
set -u
[ "$limit" -gt 0 ] || limit=600
SECONDS=0
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/.." || exit 1
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
AGENT=$O/libpmcagent.so
PMCTL=$O/pmctl
PROG=$O/prog
SEED=${SEED:-$(($(date +%s) % 30000))}
T=$(mktemp -d "${TMPDIR:-/tmp}/pmc-soak.XXXXXX")
trap 'rm -rf "$T"' EXIT
for v in $(compgen -e | grep '^PMC_'); do unset "$v"; done
unset LD_PRELOAD
export PMC_REPORT=off PMC_EVENTS='{task-clock,page-faults}'
failed=0
echo "soak: $limit s, SEED=$SEED"

wrong() {
	failed=$((failed + 1))
	echo "soak: WRONG: $*"
	# Keep the evidence.
	mkdir -p "$O/soak/$failed" && cp -p "$T"/*.pmc "$T"/out "$T"/err "$O/soak/$failed/" 2>/dev/null
}

# Number of rows of one program and of damaged frames, without holding a million rows in memory.
rows() {
	"$PMCTL" report --by exe --format csv "$1" 2>"$T/err" |
		awk -F, -v e="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "threads") c = i }
			NR > 1 && $1 ~ e { n += $c } END { print n + 0 }'
}

# ---- sessions of pmctl bench ------------------------------------------------------------------
# Each is compared with one of the sessions that are at least 5 minutes older. Of 100 comparisons of a
# program with itself, at most 5 may be significant (pmctl-bench(1)), and 3 by chance.
mkdir "$T/bench"
began=() n_compared=0 n_alarms=0
sessions() {
	local i older baseline
	for ((i = 0; i < $1; i++)); do
		older=0 baseline=()
		while [ $older -lt ${#began[@]} ] && [ $((SECONDS - began[older])) -ge $((limit / 2)) ]; do
			older=$((older + 1))
		done
		[ $older = 0 ] || baseline=(--baseline "$T/bench/$((RANDOM % older))")
		"$PMCTL" bench -r 40 -e task-clock --format json "${baseline[@]}" true \
			>"$T/bench/${#began[@]}" 2>"$T/err" || wrong "pmctl bench: $(head -n 1 "$T/err")"
		if [ $older -gt 0 ]; then
			n_compared=$((n_compared + 1))
			! jq -e '.commands[0].summary.wall_ns.significant' "$T/bench/${#began[@]}" >/dev/null ||
				n_alarms=$((n_alarms + 1))
		fi
		began+=("$SECONDS")
	done
}
sessions 10

# ---- threads ----------------------------------------------------------------------------------
n=$((1000000 * limit / 600))
[ $n -le 1000000 ] || n=1000000
small=$(LD_PRELOAD=$AGENT PMC_OUT=$T/s.pmc "$PROG/churn" 100 100 "$T/rss0" && cat "$T/rss0")
LD_PRELOAD=$AGENT PMC_OUT=$T/t.pmc "$PROG/churn" $n 100 "$T/rss1" >"$T/out" 2>"$T/err"
[ "$? $(cat "$T/out") $(cat "$T/err")" = "0 joined $n " ] || wrong "$n threads: the host"
got=$(rows "$T/t.pmc" churn)
[ "$got" = $((n + 1)) ] || wrong "$n threads: $got rows"
[ -s "$T/err" ] && wrong "$n threads: $(head -n 1 "$T/err")"
[ "$(cat "$T/rss1")" -le $(($(cat "$T/rss0") + 2048)) ] || wrong "$n threads: $(cat "$T/rss1") KiB"
echo "soak: $n threads: $got rows, $(cat "$T/rss1") KiB at most (100 threads: ${small##*$'\n'}), $SECONDS s"
rm -f "$T"/*.pmc
sessions 10

# ---- processes -----------------------------------------------------------------------------------
n=$((10000 * limit / 600))
[ $n -le 10000 ] || n=10000
at=$SECONDS
# shellcheck disable=SC2016
LD_PRELOAD=$AGENT PMC_OUT=$T/p.pmc bash -c 'for ((i = 0; i < $1; i++)); do "$2"; done; echo all' \
	bash $n "$(type -P true)" >"$T/out" 2>"$T/err"
[ "$? $(cat "$T/out") $(cat "$T/err")" = "0 all " ] || wrong "$n processes: the host"
got=$(rows "$T/p.pmc" '/true')
[ "$got" = $n ] || wrong "$n processes: $got rows"
echo "soak: $n processes: $got rows, $((SECONDS - at)) s"
rm -f "$T"/*.pmc

# ---- sampling in a storm ------------------------------------------------------------------------
# 30 minutes at 5 kHz, of them half with one arena of malloc: a handler that takes a lock of malloc or the
# loader stops for good. Samples of threads, dlopen, throw, fork, signals.
n=$((900 * limit / 600))
[ $n -le 900 ] || n=900
[ $n -ge 1 ] || n=1
for tunables in '' glibc.malloc.arena_max=1; do
	at=$SECONDS
	rm -f "$T/x.pmc"
	env ${tunables:+GLIBC_TUNABLES=$tunables} PMC_SAMPLE=task-clock/4999 PMC_STACKS=on PMC_INTERVAL=1s \
		PMC_OUT="$T/x.pmc" LD_PRELOAD="$AGENT" timeout -s KILL $((n + 300)) \
		"$PROG/sample_storm" $n "$PROG/samples_module" >"$T/out" 2>"$T/err"
	[ "$? $(cat "$T/out")" = "0 storm: 0 errors" ] ||
		wrong "sampling in a storm${tunables:+, $tunables}: $(cat "$T/out") $(head -n 1 "$T/err")"
	echo "soak: $((SECONDS - at)) s of sampling in a storm${tunables:+, $tunables}, $(du -m "$T/x.pmc" | cut -f1) MB"
	sessions 10
done
rm -f "$T"/*.pmc

# ---- equal commands ---------------------------------------------------------------------------------
# Of 200 comparisons of a command with itself 10 should have a 95 % interval that excludes 0; more than
# 17 have a probability of 1 %.
n=0
trials=$((limit >= 600 ? 200 : limit / 3 + 1))
for ((i = 0; i < trials; i++)); do
	"$PMCTL" bench -r 40 -e task-clock --format json true true 2>/dev/null |
		jq -e '.commands[1].summary.wall_ns | (.delta_pct | fabs) > .ci_pct' >/dev/null && n=$((n + 1))
done
echo "soak: $n of $trials benches of equal commands have an interval that excludes 0"
[ "$n" -le $((trials * 17 / 200 + 3)) ] || wrong "pmctl bench finds differences of equal commands"

# ---- attacks on pmctl -------------------------------------------------------------------------------
if [ "$(id -u)" = 0 ]; then
	n=$((20000 * limit / 600))
	[ $n -le 20000 ] || n=20000
	at=$SECONDS
	mkdir "$T/attack" && chmod 755 "$T" "$T/attack"
	cp "$PROG/snatch" "$T/attack/hold" && chmod 4755 "$T/attack/hold"
	"$PROG/snatch" "$T/attack" "$PMCTL" all $n "$SEED" >"$T/out" 2>"$T/err" ||
		wrong "attacks: $(head -n 1 "$T/out") $(head -n 1 "$T/err")"
	echo "soak: $(tail -n 1 "$T/out"), $((SECONDS - at)) s"
else
	echo "soak: attacks on pmctl take root"
fi

# ---- outputs under attack ---------------------------------------------------------------------------
# Another user swaps the names of outputs, in a directory like /tmp, for links to a file and to a dump
# of this user, pipes, and files of its own: neither may change, and nothing may wait.
n=$((20000 * limit / 600))
[ $n -le 20000 ] || n=20000
if [ "$(id -u)" = 0 ]; then
	at=$SECONDS
	mkdir -m 1777 "$T/shared"
	chmod 711 "$T"
	PMC_OUT=$T/victim.pmc LD_PRELOAD=$AGENT "$PROG/churn" 1 1 >/dev/null
	cp "$T/victim.pmc" "$T/in.pmc"
	echo victim >"$T/victim"
	chmod 644 "$T/victim" "$T/victim.pmc"
	was=$(cat "$T/victim" "$T/victim.pmc" | sha256sum)
	names=("$T"/shared/{x.pmc,r.json,m.pmc,run.pmc})
	cp "$PROG/swapper" "$T/swapper"
	"$T/swapper" "$T/victim" "$T/victim.pmc" "${names[@]}" &
	swapper=$!
	for ((i = 0; i < n; i++)); do
		case $((i % 7)) in
		0) PMC_OUT=${names[0]} LD_PRELOAD=$AGENT timeout 20 /bin/true ;;
		1) PMC_REPORT=auto=${names[1]} LD_PRELOAD=$AGENT timeout 20 /bin/true ;;
		2) timeout 20 "$PMCTL" report -o "${names[1]}" "$T/in.pmc" ;;
		3) timeout 20 "$PMCTL" merge "$T/in.pmc" -o "${names[2]}" ;;
		4) timeout 20 "$PMCTL" run --report "json=${names[1]}" -o "${names[3]}" -- /bin/true ;;
		5) timeout 20 "$PMCTL" stat -o "${names[1]}" -- /bin/true ;;
		6) timeout 20 "$PMCTL" bench -r 1 --output "${names[1]}" -- /bin/echo x ;;
		esac >/dev/null 2>&1
		[ $? != 124 ] || wrong "outputs under attack: case $((i % 7)) waits"
		rm -f "${names[@]}"
	done
	kill $swapper
	wait $swapper 2>/dev/null
	[ "$(cat "$T/victim" "$T/victim.pmc" | sha256sum)" = "$was" ] || wrong "outputs under attack: a file has changed"
	rm -rf "$T/shared" "$T"/*.pmc
	echo "soak: $n outputs under attack, $((SECONDS - at)) s"
else
	echo "soak: no outputs under attack: that takes root"
fi

# ---- random rounds ----------------------------------------------------------------------------------
signals=(USR2 USR2 USR2 USR2 USR1 HUP INT TERM QUIT KILL STOP CONT ABRT SEGV)

# A program may end by a signal that was sent; it may not hang or end in another way.
program() {
	local k=$((RANDOM % 9)) s=$RANDOM
	case $k in
	0) cmd=("$PROG/storm" $((RANDOM % 1500)) $((RANDOM % 300)) "$s") ;;
	1) cmd=("$PROG/storm" $((RANDOM % 1500)) 0 "$s") ;;
	2) cmd=("$PROG/crowd" $((RANDOM % 400))) ;;
	3) cmd=("$PROG/churn" $((RANDOM % 3000)) 500) ;;
	4) cmd=("$PROG/cases" exec-all "$PROG/cases") ;;
	5) cmd=("$PROG/cases" fork-threads) ;;
	6) cmd=(bash -c 'for i in {1..40}; do (true) | cat; done') ;;
	7) cmd=(sh -c "yes soak | head -c 3000000 | sort -S 8M --parallel=2 | tail -n 1") ;;
	8) cmd=("$PROG/ends" $((RANDOM % 40))) ;;
	esac
}

one() {
	local seed=$1 env=() pid sent='' killed=0 rc sig n cut=0 dump
	# Its own name: processes that outlive a killed program of the round before write their dump anew.
	dump=$T/r$rounds.pmc
	RANDOM=$seed
	program
	env=(PMC_DUMP=USR2 "PMC_OUT=$dump")
	((RANDOM % 3)) || env+=(PMC_INTERVAL=$((1 + RANDOM % 20))ms)
	((RANDOM % 4)) || env+=(PMC_START=off)
	((RANDOM % 4)) || env+=(PMC_INHERIT=$( ((RANDOM % 2)) && echo full || echo off))
	n=$((RANDOM % 4 == 0 ? 64 + RANDOM % 200 : 0))
	((RANDOM % 6)) || cut=1
	rm -f "$T"/*.pmc
	(
		[ $n = 0 ] || ulimit -Sn $n
		[ $cut = 0 ] || ulimit -f 64
		ulimit -c 0
		exec timeout --foreground -s KILL 60 env "${env[@]}" LD_PRELOAD="$AGENT" "${cmd[@]}"
	) >"$T/out" 2>"$T/err" &
	local outer=$!
	# Signals are sent once the agent has started: before that, they kill any program.
	until [ -s "$dump" ] || ! kill -0 $outer; do :; done
	pid=$(pgrep -P $outer | head -n 1)
	for ((n = RANDOM % 12; n > 0 && ${pid:-0} > 0; n--)); do
		sig=${signals[RANDOM % ${#signals[@]}]}
		kill -$sig "$pid" || break
		total=$((total + 1))
		[ $sig = USR2 ] || sent+=" $sig"
		[ $sig = STOP ] && kill -CONT "$pid"
		[ $sig = KILL ] && killed=1
	done
	wait $outer
	rc=$?
	# The program may end only by a signal that was sent. KILL that was not sent is the time limit.
	if [ $rc != 0 ]; then
		n=$(kill -l $((rc - 128)))
		if [ $rc -le 128 ] || [[ " $sent " != *" $n "* ]]; then
			wrong "round $seed: status $rc, sent:$sent, ${env[*]}: ${cmd[*]}: $(head -n 1 "$T/err")"
		fi
	fi
	[ -s "$dump" ] || return
	n=$("$PMCTL" report --format json "$dump" 2>/dev/null | jq .damaged_frames)
	# A write that KILL or the file size limit cut short leaves one torn frame.
	if [ -z "$n" ] || { [ "$n" -gt 0 ] && [ $killed = 0 ] && [ $cut = 0 ]; }; then
		wrong "round $seed: ${n:-no readable} damaged frames: ${cmd[*]}"
	fi
}

rounds=0
total=0
at=$SECONDS
while [ $((SECONDS - at)) -lt "$limit" ]; do
	[ $((SECONDS - began[-1])) -lt $((limit / 100 + 1)) ] || sessions 1
	# Hide bash's messages about killed jobs.
	one $(((SEED + rounds * 7919) % 32768)) 2>/dev/null
	rounds=$((rounds + 1))
done
echo "soak: $n_alarms of $n_compared sessions of pmctl bench differ from an earlier one of the same program"
[ $n_alarms -le $((n_compared * 5 / 100 + 3)) ] || wrong "pmctl bench finds differences between sessions"
echo "soak: $rounds random rounds, $total signals, $failed wrong, $SECONDS s, SEED=$SEED"
[ $failed = 0 ]
