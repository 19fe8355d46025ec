#!/bin/bash
# SPDX-License-Identifier: MIT
# merge.t - merging dumps of real runs: order, grouping and repetition do not matter; damage loses only
# the damaged frames, and their number is reported.
. "$(dirname "$0")/lib.sh"
export PMC_EVENTS=task-clock,page-faults PMC_REPORT=off

i=0
for cmd in "churn 30 1000" "ends 3" "tree 3 5" "named" "cxx_threads"; do
	i=$((i + 1))
	# shellcheck disable=SC2086
	PMC_OUT=$T/$i.pmc run agent "$PROG"/$cmd
	ok "$cmd writes a dump" test -s "$T/$i.pmc"
done

m() { # m OUT FILE...
	local out=$1
	shift
	"$PMCTL" merge "$@" -o "$out" 2>"$T/merge.err" || {
		diag "merge $* failed: $(cat "$T/merge.err")"
		return 1
	}
}

cd "$T" || exit 1
m ab 1.pmc 2.pmc
m ba 2.pmc 1.pmc
same ab ba "merging is commutative"
m bc 2.pmc 3.pmc
m ab_c ab 3.pmc
m a_bc 1.pmc bc
same ab_c a_bc "merging is associative"
m aa ab ab
same aa ab "merging is idempotent"
m again ab
same again ab "a merged dump merges to itself"
cat 1.pmc 2.pmc >cat.pmc
m catm cat.pmc
same catm ab "merging concatenated dumps equals merging the dumps"
"$PMCTL" report --format json cat.pmc >cat.json
"$PMCTL" report --format json ab >ab.json
same cat.json ab.json "the report of concatenated dumps equals that of the merged dump"
"$PMCTL" merge - -o - <cat.pmc >piped 2>/dev/null
same piped ab "merging from a pipe to a pipe gives the same dump"

m all 1.pmc 2.pmc 3.pmc 4.pmc 5.pmc
m all_rev 5.pmc 3.pmc 1.pmc 4.pmc 2.pmc 1.pmc 5.pmc
same all all_rev "five dumps in another order, some twice, give the same merged dump"
rows=$("$PMCTL" report --format json all | jq '.threads | length')
sum=0
for i in 1 2 3 4 5; do
	sum=$((sum + $("$PMCTL" report --format json $i.pmc | jq '.threads | length')))
done
is "$rows" "$sum" "the merged dump has every row exactly once"

# 100 damaged copies: truncated, with flipped bits, with garbage at the start or inside, or doubled with
# a gap in the first half.
cat >damage.py <<'END'
import random

for seed in range(1, 101):
    r = random.Random(seed)
    b = bytearray(open(f"{seed % 5 + 1}.pmc", "rb").read())
    kind = seed % 5
    if kind == 0:
        b = b[: r.randrange(1, len(b))]
    elif kind == 1:
        for _ in range(r.randrange(1, 6)):
            b[r.randrange(len(b))] ^= 1 << r.randrange(8)
    elif kind == 2:
        b = bytearray(r.randbytes(r.randrange(1, 100))) + b
    elif kind == 3:
        at = r.randrange(len(b))
        b = b[:at] + b[at + r.randrange(1, 300):] + b
    else:
        at = r.randrange(len(b))
        b[at:at] = r.randbytes(r.randrange(1, 200))
    open(f"bad/{seed}", "wb").write(b)
END
mkdir bad
python3 damage.py
for i in 1 2 3 4 5; do
	m clean.$i $i.pmc
done
crashed=0
lied=0
for s in $(seq 100); do
	orig=$((s % 5 + 1))
	"$PMCTL" merge "bad/$s" -o one 2>one.err
	rc=$?
	[ $rc -le 1 ] || {
		crashed=$((crashed + 1))
		diag "damage $s: exit $rc: $(cat one.err)"
	}
	if [ $rc -eq 0 ]; then
		# A damaged copy must not give frames that the original lacks.
		"$PMCTL" merge one $orig.pmc -o both 2>/dev/null
		cmp -s both clean.$orig || {
			lied=$((lied + 1))
			diag "damage $s: the merge holds frames that were never written"
		}
	fi
	rm -f one
done
is $crashed 0 "merging 100 damaged dumps one by one never crashes"
is $lied 0 "merging damaged dumps never gives frames that the original lacks"
# shellcheck disable=SC2046
"$PMCTL" merge $(for s in $(shuf -i 1-100 --random-source=damage.py); do echo "bad/$s"; done) \
	*.pmc -o rescued 2>rescued.err
is $? 0 "merging 100 damaged and 6 intact dumps exits with 0"
m all_cat 1.pmc 2.pmc 3.pmc 4.pmc 5.pmc cat.pmc
same rescued all_cat "merging damaged and intact dumps gives exactly the intact frames"
like "$(cat rescued.err)" '[0-9]+ damaged' "pmctl merge prints the number of damaged frames"

python3 - 1.pmc flip.pmc <<'END'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[len(b) // 2] ^= 4
open(sys.argv[2], "wb").write(b)
END
"$PMCTL" report --format json flip.pmc >flip.json 2>flip.err
is "$? $(jq .damaged_frames flip.json)" "0 1" "one flipped bit: pmctl report exits with 0 and reports one damaged frame"
like "$(cat flip.err)" 'damaged' "one flipped bit: pmctl report prints a warning on stderr"

PMC_ARGS=full "$PMCTL" run --report off -o secret.pmc -- true --token=hunter2
"$PMCTL" merge --strip-args secret.pmc -o public.pmc
is "$(grep -q hunter2 secret.pmc && echo kept) $(grep -c hunter2 public.pmc)" "kept 0" "--strip-args removes command lines"
is "$("$PMCTL" report --format json public.pmc | jq -r '.processes[] | "\(.how_ended) \(.exe | sub(".*/"; ""))"')" \
	"exit:0 true" "--strip-args keeps the exit status and the executable"
is "$("$PMCTL" report --format json public.pmc | jq -c '[.threads, .damaged_frames]')" \
	"$("$PMCTL" report --format json secret.pmc | jq -c '[.threads, .damaged_frames]')" \
	"--strip-args keeps the thread rows"

# ---- a file that is being written ----------------------------------------------------------------
mkfifo go
PMC_OUT=$T/live.pmc PMC_REPORT=off agent sh -c 'read -r _ <go' &
live=$!
await test -e live.pmc
run "$PMCTL" merge secret.pmc -o live.pmc
is "$status $(cat err)" "1 pmctl merge: cannot write live.pmc: a program is writing to it, and would lose what it writes later; name another file" \
	"the dump of a running program is not replaced"
echo >go
wait $live
run "$PMCTL" merge secret.pmc live.pmc -o live.pmc
is "$status $("$PMCTL" report --format json live.pmc | jq '.processes | length')" "0 2" "after its end it is"
(
	ulimit -v 60000
	run "$PMCTL" merge secret.pmc -o nomem.pmc
)
is "$(ls nomem.pmc.* 2>/dev/null)" "" "no temporary file is left without memory"

# ---- memory --------------------------------------------------------------------------------------
"$O/bench/gen_dump" 50000 1 >large.pmc
"$PMCTL" merge large.pmc -o whole.pmc
run "$PMCTL" merge --memory 1m large.pmc -o parts.pmc
is "$status $(cmp whole.pmc parts.pmc 2>&1)" "0 " "--memory: the same bytes"
# Frames of many processes in turns: those of one lie far from each other.
"$O/bench/gen_dump" 300000 1 3000 >large.pmc
"$PMCTL" merge large.pmc -o whole.pmc
ok "--memory: merges a dump of 3,000 processes" "$PROG/rusage" ru "$PMCTL" merge --memory 16M large.pmc -o parts.pmc
ok "--memory: the same bytes of 3,000 processes" cmp whole.pmc parts.pmc
between "$(($(jq .max_rss_kib ru) / 1024))" 4 40 "--memory 16M: memory in use in MiB, of $(($(wc -c <large.pmc) >> 20)) MiB"
for size in 0 1000 1X 1MB -1 99999999999G; do
	run "$PMCTL" merge --memory=$size large.pmc -o bad.pmc
	is "$status $(grep -c -e "--memory '$size'" err)" "2 1" "--memory $size: refused"
done
done_testing
