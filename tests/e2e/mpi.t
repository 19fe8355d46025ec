#!/bin/bash
# SPDX-License-Identifier: MIT
# A real MPI program under Open MPI and MPICH whose ranks have 1, 2, 3 and 4 parts of the work: one
# report with every rank's threads, which names the slow rank although the others spin.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

cat >uneven.c <<'END'
#include <mpi.h>
#include <stdio.h>

static volatile double result;

static void work(long n)
{
	double x = 1;

	for (long i = 0; i < n * 40000000; i++)
		x = x * 1.0000001 + 1e-9;
	result = x;
}

/* With an argument each rank has the same work. */
int main(int argc, char **argv)
{
	double one = 1, sum = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int step = 0; step < 5; step++) {
		work(argc > 1 ? 1 : rank + 1);
		MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (!rank)
		printf("sum %g\n", sum);
	MPI_Finalize();
	return 0;
}
END

for mpi in openmpi mpich; do
	if ! command -v mpicc.$mpi >mpicc.path; then
		skip "no mpicc.$mpi: apt-get install libopenmpi-dev libmpich-dev" "$mpi"
		continue
	fi
	ok "$mpi: it compiles" mpicc.$mpi -O1 -o uneven.$mpi uneven.c || continue
	launch=(mpirun.$mpi -n 4)
	# Open MPI starts no more ranks than CPUs, and none for root, unless it is told to.
	[ $mpi = openmpi ] && launch+=(--allow-run-as-root --oversubscribe)
	PMC_SAMPLE=on PMC_REPORT=off PMC_OUT="$T/$mpi-%j/%h-%r.pmc" run env LD_PRELOAD="$AGENT" \
		"${launch[@]}" ./uneven.$mpi
	is "$status $(cat out)" "0 sum 4" "$mpi: status and output are the program's"
	is "$(find $mpi-*/* | sed 's/.*-//' | sort | xargs)" "0.pmc 1.pmc 2.pmc 3.pmc" "$mpi: a dump a rank in a directory a job"
	"$PMCTL" report --format json $mpi-* >all.json
	is "$(jq -c '[.processes[] | select(.exe | endswith("uneven.'$mpi'")) | .rank] | sort' all.json)" "[0,1,2,3]" \
		"$mpi: one report has all ranks"
	is "$(jq '[.processes[] | select(.rank != null) | .coverage | .threads_seen == .threads_counted] | all' all.json)" \
		true "$mpi: and every rank's threads"
	run "$PMCTL" report --by rank --where exe="*uneven*" --format json $mpi-*
	is "$(jq -c '[.groups | sort_by(-.outside_mpi_ns)[].key]' out)" '["3","2","1","0"]' \
		"$mpi: ranks in the order of their CPU time outside the MPI library" || diag "$(jq -c '.groups[] | [.key, .cpu_ns, .outside_mpi_ns, .samples]' out)"
	run "$PMCTL" report --across rank $mpi-*
	like "$(cat out)" "rank 3 has the most CPU time" "$mpi: the report names the slow rank"
	run "$PMCTL" explain --json $mpi-*
	# With more ranks than CPUs, Open MPI yields.
	[ $mpi = openmpi ] || like "$(jq -r '.findings[] | .text, .evidence[]' out)" "[0-9]+ % of its CPU time in the MPI library" "$mpi: and explain where the others spin" || diag "$(cat out)"
	run "${launch[@]}" "$PMCTL" run --report off --label tree=a -o "$T/each-$mpi-%j/%r.pmc" ./uneven.$mpi even
	"$PMCTL" report --by job --format json each-$mpi-*/ >jobs.json
	is "$(find each-$mpi-* -name '*.pmc' | sed 's,.*/,,' | sort | xargs) $(jq '.groups | length' jobs.json)" \
		"0.pmc 1.pmc 2.pmc 3.pmc 1" "$mpi: ranks that started a pmctl run each are one job" || find each-$mpi-*
	is "$(jq -r '.processes[].labels.tree' jobs.json | sort -u)" a "$mpi: and have the user's labels"
	balanced() {
		rm -f even*.pmc
		PMC_SAMPLE=on PMC_REPORT=off PMC_OUT="$T/even-%r.pmc" run env LD_PRELOAD="$AGENT" "${launch[@]}" ./uneven.$mpi even
		run "$PMCTL" report --across rank even*.pmc
		grep -q "no rank has significantly more" out
	}
	mostly "$mpi: of equal ranks none is named" balanced
done

# ---- dumps merged by the ranks of a job ----------------------------------------------------------
mkdir dumps
for i in {1..40}; do
	"$O/bench/gen_dump" $((i * 10)) "$i" >"dumps/$i.pmc"
done
: >dumps/empty.pmc
head -c 3000 dumps/40.pmc >dumps/cut.pmc
head -c 100 "$PMCTL" >dumps/foreign.pmc
"$PMCTL" merge dumps -o want.pmc 2>/dev/null
for mpi in openmpi mpich; do
	if ! command -v mpicc.$mpi >mpicc.path; then
		skip "no mpicc.$mpi: apt-get install libopenmpi-dev libmpich-dev" "pmctl-mpi with $mpi"
		continue
	fi
	rm -f "$O/pmctl-mpi"
	ok "$mpi: pmctl-mpi is built" make -s -C "$ROOT" O="$O" -o "$O/flags" MPICC=mpicc.$mpi mpi
	launch=(mpirun.$mpi)
	[ $mpi = openmpi ] && launch+=(--allow-run-as-root --oversubscribe)
	for n in 1 3 4; do
		run "${launch[@]}" -n $n "$O/pmctl-mpi" merge dumps missing.pmc -o got.pmc
		is "$status $(cmp want.pmc got.pmc 2>&1)" "0 " "$mpi: $n ranks merge to the same bytes"
		like "$(cat err)" "left out:.*missing.pmc" "$mpi: and name what they leave out"
		rm -f got.pmc
	done
	run "${launch[@]}" -n 3 "$O/pmctl-mpi" report --by name --format csv dumps
	is "$status $(cmp out <("$PMCTL" report --by name --format csv want.pmc) 2>&1)" "0 " "$mpi: report is that of the union"
	# Operands are relative to where rank 0 is.
	run "${launch[@]}" -n 1 -wdir "$T" "$O/pmctl-mpi" merge dumps -o got.pmc : -n 2 -wdir / "$O/pmctl-mpi" merge dumps -o got.pmc
	is "$status $(cmp want.pmc got.pmc 2>&1)" "0 " "$mpi: ranks in another directory read the same files"
	rm -f got.pmc
	# After a rank has failed, mpirun of Open MPI may wait for a lock of PMIx 4.2 that its own thread holds.
	fails=(timeout -s KILL 60 "${launch[@]}")
	run "${fails[@]}" -n 2 sh -c 'cat "$1" | "$0" merge dumps - -o got.pmc' "$O/pmctl-mpi" dumps/1.pmc
	is "$([ "$status" -ne 0 ] && grep -c 'cannot read standard input: ranks share out files' err) $(echo got.pmc*)" "1 got.pmc*" \
		"$mpi: a pipe is refused"
	run "${launch[@]}" -n 2 "$O/pmctl-mpi" report --by name dumps
	is "$status $(grep -c $'\e' out)" "0 0" "$mpi: no colours, also if a rank has a terminal"
	run "${launch[@]}" -n 2 "$O/pmctl-mpi" merge dumps -o -
	if [ $mpi = openmpi ]; then
		is "$status $(grep -c 'cannot write .* terminal.*; name a file with -o' err)" "1 1" "$mpi: a dump does not go through a terminal"
	else
		is "$status $(cmp want.pmc out 2>&1)" "0 " "$mpi: a dump to standard output"
	fi
	run "${launch[@]}" -n 2 "$O/pmctl-mpi" merge --help
	is "$status $(grep -c '^Usage: pmctl-mpi merge' out)" "0 1" "$mpi: help, once"
	run "${launch[@]}" -n 2 "$O/pmctl-mpi" --version
	is "$status $(tr -d '\r' <out)" "0 $("$PMCTL" --version | sed 's/pmctl/&-mpi/')" "$mpi: version, once"
	run "${fails[@]}" -n 2 "$O/pmctl-mpi" diff a b
	is "$status $(grep -c "^pmctl-mpi: unknown command 'diff'" err)" "2 1" "$mpi: unknown command"
	# One rank cannot write its part, or dies at its start.
	for bad in "env TMPDIR=/nonexistent $O/pmctl-mpi merge dumps -o got.pmc" "sh -c 'kill -9 \$\$'"; do
		run eval "${fails[*]}" -n 3 "$O/pmctl-mpi" merge dumps -o got.pmc : -n 1 "$bad"
		ok "$mpi: a rank fails: ${bad##*/}" [ "$status" -ne 0 ]
		is "$(echo got.pmc*)" "got.pmc*" "$mpi: and nothing has the output's name"
	done
	run "${fails[@]}" -n 2 "$O/pmctl-mpi" merge dumps
	ok "$mpi: no output: refused" [ "$status" -ne 0 ]
	is "$(grep -c 'no output; add -o OUT' err)" 1 "$mpi: once"
done
done_testing
