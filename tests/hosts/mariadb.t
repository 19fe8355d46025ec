#!/bin/bash
# SPDX-License-Identifier: MIT
# mariadb.t - MariaDB under sysbench: threads that switch tens of thousands of times a second.
. "$(dirname "$0")/lib.sh"
full || skip_all "runs with HOSTS=full"
VARIANTS="agent interval sample"
trap 'kill $(cat "$T"/work/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

events=500
full && events=10000

sql() {
	mariadb --no-defaults -S "$PWD/socket" -u root "$@"
}
bench() {
	sysbench oltp_read_write --mysql-socket="$PWD/socket" --mysql-user=root --mysql-db=test --tables=2 \
		--table-size=2000 --threads=8 --events="$events" --time=0 "$@" >&2
}
rows() {
	[ "$variant" = bare ] && return
	"$PMCTL" report --format json "$T/dump/x.pmc" | jq -e '([.threads[] | select(.cpu_ns > 0)] | length) >= 8' >/dev/null
}
serve() {
	local user=()
	[ "$(id -u)" -ne 0 ] || user=(--user=nobody)
	chmod 777 .
	mariadb-install-db --no-defaults --datadir="$PWD/data" --auth-root-authentication-method=normal "${user[@]}" >&2
	host mariadbd --no-defaults --datadir="$PWD/data" --socket="$PWD/socket" --pid-file="$PWD/mariadb.pid" \
		--skip-networking --innodb-buffer-pool-size=64M "${user[@]}" >&2 2>&1 &
	check "start" await sql -e 'use test'
	check "tables" bench prepare
	check "$events transactions" bench run
	check "no failed row" eval '[ "$(sql -N -e "select count(*) from test.sbtest1")" -gt 0 ]'
	kill -TERM "$(cat mariadb.pid)"
	wait $!
	check "SIGTERM: status" test $? -eq 0
	check "rows of connections" rows
}

compare MariaDB 6 serve
done_testing
