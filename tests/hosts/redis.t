#!/bin/bash
# SPDX-License-Identifier: MIT
# redis.t - redis' own Tcl suite, from its source package, run with the installed programs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/source.sh"

tree() {
	source_package redis || return
	for p in server cli benchmark check-aof check-rdb; do
		ln -s "$(command -v redis-$p)" src/
	done
}
keep redis tree

# psync2 draws its layouts, and runs as many cycles as its time allows.
units() {
	cp -a "$KEPT/." .
	local args=()
	for unit; do args+=(--single "$unit"); done
	host timeout -k 5 1200 ./runtest --clients 1 --dump-logs "${args[@]}" \
		--baseport $((10000 + RANDOM % 8000)) --portcount 1000 2>&1 | tee -a /dev/stderr |
		sed -nE 's/#[0-9]+|CYCLE [0-9]+|x = [0-9]+/N/g
			s/^\[ok\]: (.*) \([0-9]+ ms\)$/pass \1/p; s/^\[(err|exception)\]: (.*)/fail \2/p
			s/^\[(skip|ignore)\]: (.*)/skip \2/p; s/^\[1\/1 done\]: .*/pass the file ends/p'
}

if ! full; then
	compare redis/unit/type/incr 20 units unit/type/incr
	compare redis/integration/rdb 5 units integration/rdb
	compare redis/integration/shutdown 2 units integration/shutdown
else
	for file in "$KEPT"/tests/unit/type/*.tcl "$KEPT"/tests/integration/*.tcl; do
		unit=${file#"$KEPT/tests/"}
		# Parts of list.tcl.
		[[ $unit == */list-common.tcl ]] && continue
		compare "redis/${unit%.tcl}" 0 units "${unit%.tcl}"
	done
fi
done_testing
