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
	balanced() {
		rm -f even*.pmc
		PMC_SAMPLE=on PMC_REPORT=off PMC_OUT="$T/even-%r.pmc" run env LD_PRELOAD="$AGENT" "${launch[@]}" ./uneven.$mpi even
		run "$PMCTL" report --across rank even*.pmc
		grep -q "no rank has significantly more" out
	}
	mostly "$mpi: of equal ranks none is named" balanced
done
done_testing
