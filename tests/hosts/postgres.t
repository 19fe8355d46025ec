#!/bin/bash
# SPDX-License-Identifier: MIT
# postgres.t - a PostgreSQL server: initdb, pgbench, reload, a killed backend, all three ways to stop.
. "$(dirname "$0")/lib.sh"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
trap '"${user[@]}" "$bin/pg_ctl" -D "$T/work/data" -m immediate stop >/dev/null 2>&1; rm -rf "$T"' EXIT
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# The server refuses to run as root.
pg() {
	host "${user[@]}" "$bin/$1" "${@:2}"
}
control() {
	pg pg_ctl -D "$PWD/data" -w -t 120 -l "$PWD/log" "$@"
}
start() {
	control -o "-c listen_addresses='' -c unix_socket_directories=$PWD -c fsync=off" start
}
query() {
	"$bin/psql" -h "$PWD" -U me -Atc "$1" postgres
}
transactions() {
	pg pgbench -h "$PWD" -U me -n "$@" postgres 2>&1 | tee -a /dev/stderr | grep -q '^number of failed transactions: 0 '
}

database() {
	check initdb pg initdb -D "$PWD/data" -A trust -U me -N
	check start start
	check "pgbench -i" pg pgbench -h "$PWD" -U me -i -q postgres
	check "pgbench, four clients in two threads" transactions -c 4 -j 2 -t 200
	check "pgbench, a connection for each transaction" transactions -C -t 40
	check "pgbench, prepared statements" transactions -M prepared -S -c 2 -j 2 -t 500
	check "the rows are there" eval '[ "$(query "select count(*) from pgbench_history")" = 840 ]'
	check "a parallel query" eval '[ "$(query "set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
		set min_parallel_table_scan_size = 0; select count(*) from pgbench_accounts" | tail -n 1)" = 100000 ]'
	check reload control reload
	check "pg_terminate_backend" eval \
		'query "select pg_terminate_backend(pg_backend_pid())" 2>&1 | grep "terminating connection"'
	check "stop, fast" control -m fast stop
	check "start again" start
	kill -KILL "$(pgrep -f -P "$(head -n 1 data/postmaster.pid)" checkpointer)"
	check "a killed process: the server sees it" await grep reinitializing log
	check "a killed process: the server recovers" await query 'select 1'
	check "stop, immediate" control -m immediate stop
	check "start after it" start
	check "stop, smart" control -m smart stop
	cat log >&2
	check "no panic" eval '! grep PANIC log'
}

compare postgres 18 database
done_testing
