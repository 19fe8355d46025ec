#!/bin/bash
# SPDX-License-Identifier: MIT
# varnish.t - Varnish answers requests: all of its threads share one alternate signal stack.
. "$(dirname "$0")/lib.sh"
VARIANTS="agent interval sample"
trap 'kill $(cat "$T"/work/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

requests=4000
full && requests=40000

fetch() {
	[ "$(curl -sS --max-time 60 "http://127.0.0.1:$port/" | grep -c hello)" -gt 0 ]
}
load() {
	ab -q -n "$requests" -c 16 "http://127.0.0.1:$port/" >ab.out 2>&1 && grep -q '^Complete requests: *'"$requests"'$' ab.out
}
serve() {
	port=$(free_port)
	cat >conf.vcl <<-'END'
		vcl 4.1;
		backend default none;
		sub vcl_recv { return (synth(200, "hello")); }
	END
	host varnishd -j none -F -n "$PWD/state" -P "$PWD/varnishd.pid" -a "127.0.0.1:$port" -f "$PWD/conf.vcl" \
		-s malloc,16m -p thread_pool_min=20 >varnishd.log 2>&1 &
	check "a request" await fetch
	check "$requests requests" load
	check "a request after them" fetch
	kill "$(cat varnishd.pid)"
	wait $!
	check "SIGTERM: status" test $? -eq 0
	cat varnishd.log >&2
	check "no worker died" eval '! grep -iE "died|panic" varnishd.log'
}

compare Varnish 5 serve
done_testing
