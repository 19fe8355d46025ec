#!/bin/bash
# SPDX-License-Identifier: MIT
# memcached.t - memcached answers sets and gets, and ends at SIGTERM; its main thread names the others,
# and lowers the limit of descriptors after its start.
. "$(dirname "$0")/lib.sh"
full || skip_all "runs with HOSTS=full"
VARIANTS="agent interval sample"
trap 'kill $(cat "$T"/work/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

requests=2000
full && requests=50000

ready() {
	echo version >"/dev/tcp/127.0.0.1/$port"
}
load() {
	memcslap --servers="127.0.0.1:$port" --concurrency=8 --execute-number="$requests" --test="$1" >&2
}
# What the server counted is what the clients sent.
gets() {
	memcstat --servers="127.0.0.1:$port" | grep -E "^[[:space:]]*get_(hits|misses):" >&2
}
named() {
	[ "$variant" = bare ] && return
	"$PMCTL" report --format json "$T/dump/x.pmc" |
		jq -e '([.threads[] | select(.name | startswith("mc-worker"))] | length) >= 4' >/dev/null
}
serve() {
	port=$(free_port)
	host memcached -u nobody -l 127.0.0.1 -p "$port" -U 0 -t 4 -P "$PWD/memcached.pid" >&2 &
	check "start" await ready
	check "$requests sets each" load set
	check "$requests gets each" load get
	check "statistics" gets
	kill -TERM "$(cat memcached.pid)"
	wait $!
	check "SIGTERM: status" test $? -eq 0
	check "rows of the workers have their names" named
}

compare memcached 6 serve
done_testing
