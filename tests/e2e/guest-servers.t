#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-servers.t - servers, builds, shells, daemons and debuggers behave the same with and without
# the agent, and their children appear with rows.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock PMC_REPORT=off
export TMPDIR=$T
# Kill servers that are still running when the test ends, also after a failure.
trap 'kill -KILL $(cat "$T"/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT
python=$(python3 -c 'import sys; print(sys.executable)')

# both NAME CMD...: run without and with the agent; sets out0 and out, status0 and status, r.json.
both() {
	local name=$1
	shift
	rm -f x.pmc
	run timeout -k 1 100 "$@"
	status0=$status
	mv out out0
	mv err err0
	PMC_OUT=$T/x.pmc run timeout -k 1 100 env LD_PRELOAD="$AGENT" "$@"
	is "$status" "$status0" "$name: same status ($status0)" || diag_file err stderr
	dumped "$name"
}
dumped() {
	"$PMCTL" report --format json x.pmc >r.json 2>r.err
	is "$? $(cat r.err)" "0 " "$1: the dump is whole"
}
# Number of processes with a row, by the base name of their program.
images() {
	jq --arg e "$1" '. as $r | [.processes[] | select(.exe | test("/" + $e + "$")) | .pid] as $p |
		[.threads[] | select(.pid as $q | $p | index($q)) | .pid] | unique | length' r.json
}
# Absent programs fail the test; only absent hardware skips one.
absent() {
	ok "$1 is installed (make deps; sh tests/deps.sh check)" false
}
# A process has written its last rows when it has ended. Its parent may be one that does not wait for it.
ended() {
	[ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}
free_port() {
	"$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# ---- python3 multiprocessing ---------------------------------------------------------------------
for method in fork spawn; do
	both "multiprocessing, $method" "$python" "$SRC/py_processes.py" $method
	same out0 out "multiprocessing, $method: same stdout"
	same err0 err "multiprocessing, $method: same stderr"
	between "$(jq '[.threads[].pid] | unique | length' r.json)" 4 8 \
		"multiprocessing, $method: the children have rows"
done

# ---- redis ---------------------------------------------------------------------------------------
redis() {
	local port rc server
	port=$(free_port)
	rm -f redis.log
	env "$@" redis-server --port "$port" --bind 127.0.0.1 --io-threads 2 --io-threads-do-reads yes \
		--save '' --dir "$T" --pidfile "$T/redis.pid" --daemonize yes >redis.log 2>&1
	rc=$?
	await redis-cli -p "$port" ping
	redis-benchmark -p "$port" -n 4000 -c 20 -P 4 -q -t set,get 2>&1 | tr '\r' '\n' |
		grep -c 'requests per second'
	redis-cli -p "$port" set key value
	redis-cli -p "$port" bgsave >/dev/null
	await test -s "$T/dump.rdb"
	redis-cli -p "$port" get key
	server=$(cat "$T/redis.pid")
	redis-cli -p "$port" shutdown nosave
	await ended "$server"
	rm -f "$T/redis.pid"
	rm -f "$T/dump.rdb"
	echo "started: $rc"
}
if command -v redis-server >/dev/null; then
	redis A=1 >redis0 2>&1
	redis LD_PRELOAD="$AGENT" PMC_OUT="$T/x.pmc" >redis1 2>&1
	same redis0 redis1 "redis: answers as without the agent"
	dumped redis
	between "$(images 'redis-[a-z-]*')" 3 4 "redis: launcher, server and bgsave child have rows"
	between "$(jq '[.threads[] | select(.name | test("^io_thd"))] | length' r.json)" 1 2 \
		"redis: its I/O thread has a row with its name" || diag "$(jq -c '[.threads[].name]' r.json)"
else
	absent redis-server
fi

# ---- nginx ---------------------------------------------------------------------------------------
# shellcheck disable=SC2016
web() {
	local port old master
	port=$(free_port)
	mkdir -p web/logs
	chmod -R 777 web
	cat >web/nginx.conf <<-END
		worker_processes 2;
		pid $T/nginx.pid;
		error_log $T/web/logs/error.log;
		$([ "$(id -u)" -eq 0 ] && echo "user nobody nogroup;")
		events { worker_connections 64; }
		http { access_log off; client_body_temp_path web/b; proxy_temp_path web/p;
			fastcgi_temp_path web/f; uwsgi_temp_path web/u; scgi_temp_path web/s;
			server { listen 127.0.0.1:$port; return 200 "hello\n"; } }
	END
	env "$@" nginx -p "$T/" -c "$T/web/nginx.conf" -e "$T/web/logs/error.log"
	echo "started: $?"
	await fetch "$port"
	fetch "$port"
	master=$(cat nginx.pid)
	await reloaded
	old=$(pgrep -P "$master" | sort | tr '\n' ' ')
	pgrep -cP "$master"
	kill -HUP "$master"
	await reloaded "$old"
	pgrep -cP "$master"
	fetch "$port"
	kill -QUIT "$master"
	await ended "$master"
	grep -cE '\[(alert|crit|emerg)\]' web/logs/error.log
	rm -rf web
}
fetch() {
	"$python" -c 'import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/").read())' "$1"
}
# reloaded [OLD]: two workers run, and OLD ones have ended.
reloaded() {
	local new
	new=$(pgrep -P "$(cat nginx.pid)" | sort | tr '\n' ' ')
	[ "$(wc -w <<<"$new")" -eq 2 ] || return 1
	for p in ${1:-}; do
		case " $new" in *" $p "*) return 1 ;; esac
	done
}
if command -v nginx >/dev/null; then
	chmod 777 "$T"
	web A=1 >web0 2>&1
	rm -f x.pmc
	cp "$AGENT" ./agent.so
	web LD_PRELOAD="$T/agent.so" PMC_OUT="$T/x.pmc" >web1 2>&1
	same web0 web1 "nginx: starts, serves, reloads, stops as without the agent"
	dumped nginx
	between "$(images nginx)" 5 6 "nginx: master, two workers and two after the reload have rows" ||
		diag "$(jq -c '.processes[] | [.pid, .exe, .how_ended]' r.json)"
else
	absent nginx
fi

# ---- PostgreSQL ----------------------------------------------------------------------------------
pg=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
as_postgres() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}
database() {
	local dir=$T/$1 server
	shift
	mkdir -m 777 "$dir"
	as_postgres env "$@" "$pg/initdb" -D "$dir/data" -A trust -U me -N >"$dir/initdb.log" 2>&1
	echo "initdb: $?"
	as_postgres env "$@" "$pg/pg_ctl" -D "$dir/data" -w -l "$dir/log" \
		-o "-c listen_addresses='' -c unix_socket_directories=$dir -c fsync=off" start >/dev/null 2>&1
	echo "start: $?"
	server=$(head -n 1 "$dir/data/postmaster.pid" | tee "$T/pg.pid")
	as_postgres env "$@" "$pg/pgbench" -h "$dir" -U me -i -q postgres >/dev/null 2>&1
	echo "pgbench -i: $?"
	as_postgres env "$@" "$pg/pgbench" -h "$dir" -U me -c 2 -j 2 -t 200 postgres 2>/dev/null |
		grep 'transactions actually'
	"$pg/psql" -h "$dir" -U me -Atc 'select count(*) from pgbench_history' postgres
	as_postgres env "$@" "$pg/pg_ctl" -D "$dir/data" -w -m fast stop >/dev/null 2>&1
	echo "stop: $?"
	await ended "$server"
	grep -ciE 'panic|terminated by signal' "$dir/log"
}
if [ -n "$pg" ] && [ -x "$pg/pgbench" ]; then
	cp "$AGENT" ./agent.so
	mkdir -m 777 pgout
	database pg0 A=1 >pg0.out 2>&1
	database pg1 LD_PRELOAD="$T/agent.so" PMC_OUT="$T/pgout/x.pmc" >pg1.out 2>&1
	same pg0.out pg1.out "PostgreSQL: initdb, pgbench and stop as without the agent"
	mv pgout/x.pmc x.pmc
	dumped PostgreSQL
	between "$(images postgres)" 10 400 "PostgreSQL: its processes have rows"
	between "$(images pgbench)" 2 3 "PostgreSQL: pgbench has rows"
	between "$(jq '[.processes[] | select(.exe | endswith("pgbench")) | .pid] as $p |
		[.threads[] | select(.pid as $q | $p | index($q))] | length' r.json)" 3 6 \
		"PostgreSQL: the threads of pgbench -j 2 have rows"
else
	absent postgresql
fi

# ---- a build -------------------------------------------------------------------------------------
# If gcc is ccache, the second build would run no cc1.
export CCACHE_DISABLE=1
mkdir proj
for i in $(seq 100); do
	echo "int f$i(void); int f$i(void) { return $i; }" >"proj/f$i.c"
done
printf 'O := $(patsubst %%.c,%%.o,$(wildcard *.c))\nall: $(O)\n%%.o: %%.c\n\tgcc -c -o $@ $<\n' >proj/Makefile
make -s -C proj -j2 >mk0 2>&1
(cd proj && cksum ./*.o) >sums0
rm -f proj/*.o x.pmc
run "$PMCTL" run --report threads --events task-clock -o x.pmc -- make -s -C proj -j2
is "$status" 0 "pmctl run -- make -j2: exit 0"
(cd proj && cksum ./*.o) >sums1
same sums0 sums1 "make -j2: same objects as without the agent"
dumped "make -j2"
is "$(images make) $(images cc1) $(images '(.*-)?as')" "1 100 100" \
	"make -j2 of 100 files: make, every cc1 and every as has rows"
like "$(cat err out)" "cc1" "the report of pmctl run names them" || diag_file err report
for name in make gcc cc1 as; do
	is "$(cat err out | grep -cE "(^|[^a-z])$name([^a-z0-9]|\$)" | awk '{ print ($1 > 0) }')" 1 \
		"the report of pmctl run -- make names $name"
done

# ---- shells and daemons --------------------------------------------------------------------------
both "job control" bash "$SRC/jobs.sh"
same out0 out "job control: same stdout"
same err0 err "job control: same stderr"
between "$(images bash)" 3 40 "job control: shell and jobs have rows"
if command -v ssh-agent >/dev/null; then
	# A copy without setgid: the loader accepts LD_PRELOAD.
	cp "$(type -P ssh-agent)" copied-agent
	daemon() {
		local program=$1
		shift
		eval "$(env "$@" "$program" -s -a "$T/ssh.sock" 2>&1 | grep -v '^echo')"
		echo "$SSH_AGENT_PID" >ssh.pid
		ssh-add -l 2>&1
		kill "$SSH_AGENT_PID"
		await ended "$SSH_AGENT_PID"
		echo "gone: $?"
	}
	daemon ssh-agent A=1 >ssh0 2>&1
	like "$(cat ssh0)" "no identities" "ssh-agent answers"
	daemon ssh-agent LD_PRELOAD="$AGENT" >ssh1 2>&1
	same ssh0 ssh1 "ssh-agent: starts, answers, ends as without the agent"
	rm -f x.pmc
	daemon ./copied-agent LD_PRELOAD="$AGENT" PMC_OUT="$T/x.pmc" >ssh1 2>&1
	same ssh0 ssh1 "ssh-agent, not setgid: starts, answers, ends as without the agent"
	dumped ssh-agent
	is "$(images copied-agent)" 2 "ssh-agent: the process and its daemon have rows"
else
	absent ssh-agent
fi

# ---- strace and gdb ------------------------------------------------------------------------------
if command -v strace >/dev/null; then
	rm -f x.pmc
	PMC_OUT=$T/x.pmc run timeout 100 strace -f -qq -o calls -E "LD_PRELOAD=$AGENT" "$PROG/churn" 20 100
	is "$status $(cat out)" "0 joined 20" "strace -f: same output as without the agent"
	dumped strace
	is "$(jq '.threads | length' r.json)" 21 "strace -f: every row"
else
	absent strace
fi
if command -v gdb >/dev/null; then
	rm -f x.pmc
	run timeout 100 gdb -q -nx -batch -ex "set environment LD_PRELOAD $AGENT" \
		-ex "set environment PMC_OUT $T/x.pmc" -ex 'break work' -ex run -ex bt -ex 'delete' \
		-ex continue --args "$PROG/churn" 20 100
	like "$(cat out)" 'work \(arg=' "gdb: the breakpoint in a thread, and its stack"
	like "$(cat out)" 'joined 20' "gdb: same output as without the agent"
	like "$(cat out)" 'exited normally' "gdb: the program ends"
	dumped gdb
	is "$(jq '[.threads[] | select(.name == "churn")] | length' r.json)" 21 "gdb: every row" ||
		diag "$(jq -c '[.threads[].name]' r.json)"
else
	absent gdb
fi

done_testing
