#!/bin/bash
# SPDX-License-Identifier: MIT
# node.t - a server in Node ends at SIGTERM and SIGINT by a handler that runs once and raises the
# signal again: its rows are in the dump.
. "$(dirname "$0")/lib.sh"
VARIANTS="agent interval sample"
trap 'kill $(cut -d" " -f2 "$T/work/started") 2>/dev/null; rm -rf "$T"' EXIT

has_rows() {
	[ "$variant" = bare ] && return
	"$PMCTL" report --format json "$T/dump/x.pmc" | jq -e --arg how "signal:$1" \
		'([.processes[] | select(.how_ended == $how)] | length == 1) and
		([.threads[] | select(.main and .cpu_ns > 0)] | length == 1)' >/dev/null
}
ends() {
	local port pid
	rm -f started "$T"/dump/*
	host node -e '
		const crypto = require("crypto");
		const server = require("http").createServer((request, response) =>
			crypto.pbkdf2("a", "b", 20000, 64, "sha512", (error, key) => response.end(key.toString("hex"))));
		server.listen(0, "127.0.0.1", () => require("fs").writeFileSync("started", `${server.address().port} ${process.pid}\n`));' &
	check "$1: start" await test -s started
	read -r port pid <started
	check "$1: a request" curl -sSf --max-time 60 -o /dev/null "http://127.0.0.1:$port/"
	kill -"$1" "$pid"
	wait $!
	check "$1: status" test $? -eq $((128 + $2))
	check "$1: rows" has_rows "$2"
}
serve() {
	ends TERM 15
	ends INT 2
}

compare Node 8 serve
done_testing
