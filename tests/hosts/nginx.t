#!/bin/bash
# SPDX-License-Identifier: MIT
# nginx.t - nginx serves, reloads (HUP), upgrades its program (USR2), reopens logs (USR1) and ends
# (QUIT) without a lost request.
. "$(dirname "$0")/lib.sh"
trap 'kill $(cat "$T"/work/*.pid* "$T"/work/*.oldbin 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

fetch() {
	[ "$(curl -sS --max-time 60 "http://127.0.0.1:$port/")" = hello ]
}
workers() {
	pgrep -P "$1" -x nginx | sort | xargs
}
# Two workers, none of them one of $2...
replaced() {
	local new
	new=$(workers "$1")
	[ "$(wc -w <<<"$new")" -eq 2 ] || return
	for p in "${@:2}"; do
		[[ " $new " != *" $p "* ]] || return
	done
}
upgraded() {
	replaced "$(cat nginx.pid)" "$@"
}
left() {
	[ "$(workers "$1")" = "$(cat nginx.pid)" ]
}
# Requests until the file "stop" is there; the file "lost" gets a line for each that fails.
requests() {
	until [ -e stop ]; do
		fetch || echo lost >>lost
		sleep 0.02
	done
}

serve() {
	port=$(free_port)
	cat >conf <<-END
		worker_processes 2;
		pid $PWD/nginx.pid;
		error_log $PWD/error.log;
		$([ "$(id -u)" -eq 0 ] && echo "user nobody nogroup;")
		events { worker_connections 64; }
		http { access_log $PWD/access.log; client_body_temp_path b; proxy_temp_path p;
			fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
			server { listen 127.0.0.1:$port; return 200 "hello"; } }
	END
	check "start" host "$(command -v nginx)" -p "$PWD/" -c "$PWD/conf" -e "$PWD/error.log"
	check "a request" await fetch
	requests &
	local first old client=$!
	first=$(cat nginx.pid) old=$(workers "$first")
	kill -HUP "$first"
	check "HUP: new workers" await replaced "$first" $old
	mv access.log access.old
	kill -USR1 "$first"
	check "USR1: the log is opened again" await test -s access.log
	kill -USR2 "$first"
	check "USR2: a second master" await test -s nginx.pid.oldbin
	check "USR2: its workers" await upgraded $old
	kill -WINCH "$first"
	check "WINCH: only the second master is left to the first" await left "$first"
	kill -QUIT "$first"
	check "QUIT: the first master ends" await test ! -e "/proc/$first"
	check "a request to the new program" fetch
	touch stop
	wait $client
	check "no request is lost" test ! -e lost
	kill -QUIT "$(cat nginx.pid)"
	check "QUIT: the second master ends" await test ! -e nginx.pid
	cat error.log >&2
	check "no alert in the log" eval '! grep -E "\[(alert|crit|emerg)\]" error.log'
}

compare nginx 12 serve
done_testing
