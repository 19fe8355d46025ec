#!/bin/bash
# SPDX-License-Identifier: MIT
# php.t - PHP-FPM answers requests with two workers, replaces them at SIGUSR2, and ends at SIGQUIT.
. "$(dirname "$0")/lib.sh"
full || skip_all "runs with HOSTS=full"
VARIANTS="agent interval sample"
trap 'kill $(cat "$T"/work/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

fpm=$(compgen -c php-fpm | head -n 1)
requests=20
full && requests=500

request() {
	SCRIPT_FILENAME=$PWD/sum.php REQUEST_METHOD=GET cgi-fcgi -bind -connect "$PWD/socket" | grep -q '^499999500000$'
}
all_answer() {
	local i
	for i in $(seq "$requests"); do request || return; done
}
replaced() {
	local now
	now=$(pgrep -P "$(cat fpm.pid)" | sort | xargs)
	[ "$(wc -w <<<"$now")" -eq 2 ] && [ "$now" != "$1" ]
}
rows() {
	[ "$variant" = bare ] && return
	"$PMCTL" report --format json "$T/dump/x.pmc" | jq -e '([.threads[] | select(.cpu_ns > 0)] | length) >= 3' >/dev/null
}
serve() {
	local old
	chmod 777 .
	echo '<?php $sum = 0; for ($i = 0; $i < 1000000; $i++) $sum += $i; echo "\n$sum\n";' >sum.php
	cat >conf <<-END
		[global]
		pid = $PWD/fpm.pid
		error_log = $PWD/error.log
		[www]
		user = nobody
		group = nogroup
		listen = $PWD/socket
		listen.mode = 0666
		pm = static
		pm.max_children = 2
	END
	host "$fpm" -F -y "$PWD/conf" >&2 &
	check "a request" await request
	check "$requests requests" all_answer
	old=$(pgrep -P "$(cat fpm.pid)" | sort | xargs)
	kill -USR2 "$(cat fpm.pid)"
	check "USR2: new workers" await replaced "$old"
	check "a request to them" await request
	kill -QUIT "$(cat fpm.pid)"
	wait $!
	check "QUIT: status" test $? -eq 0
	cat error.log >&2
	check "no worker died of a signal" eval '! grep -E "exited on signal" error.log'
	check "rows" rows
}

compare PHP-FPM 7 serve
done_testing
