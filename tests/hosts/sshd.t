#!/bin/bash
# SPDX-License-Identifier: MIT
# sshd.t - an OpenSSH server accepts logins, terminals, file transfers and forwarded ports.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "not root: sshd cannot separate privileges"
trap 'kill $(cat "$T"/work/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

client() {
	"$1" -F none -i "$PWD/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o LogLevel=ERROR -o BatchMode=yes -o ConnectTimeout=60 "${@:2}"
}
login() {
	client ssh -p "$port" "$@"
}
answers() {
	[ "$(login "$@")" = "$want" ]
}
status_of() {
	login "root@127.0.0.1" "$1"
	[ $? -eq "$2" ]
}
many() {
	local i pids=()
	for i in 1 2 3 4 5 6 7 8; do
		answers postgres@127.0.0.1 "echo $want" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || return
	done
}
# A second connection through a port that the first one forwards.
forwarded() {
	local rc other
	other=$(free_port)
	login -f -N -M -S "$PWD/control" -L "127.0.0.1:$other:127.0.0.1:$port" root@127.0.0.1 || return
	port=$other answers root@127.0.0.1 "echo hello"
	rc=$?
	login -S "$PWD/control" -O exit root@127.0.0.1
	return $rc
}
listens() {
	[ "$(grep -c '^Server listening' log)" -eq "$1" ]
}

logins() {
	port=$(free_port) want=hello
	mkdir -p /run/sshd
	chmod 755 .
	ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -q -t ed25519 -N '' -f hostkey || return
	chmod 644 key.pub
	cat >config <<-END
		ListenAddress 127.0.0.1:$port
		HostKey $PWD/hostkey
		PidFile $PWD/sshd.pid
		AuthorizedKeysFile $PWD/key.pub
		StrictModes no
		UsePAM yes
		PermitRootLogin yes
		MaxStartups 100
		Subsystem sftp internal-sftp
	END
	host /usr/sbin/sshd -f "$PWD/config" -E "$PWD/log"
	await test -s sshd.pid
	check "root runs a command" answers root@127.0.0.1 "echo hello"
	check "an unprivileged user runs a command" answers postgres@127.0.0.1 "echo hello"
	check "a terminal" eval '[[ $(login -tt root@127.0.0.1 "tty; stty size") == /dev/pts/* ]]'
	check "exit status" status_of "exit 7" 7
	check "a command that dies of a signal" status_of 'kill -TERM $$' 255
	want=$(seq 100000 | cksum)
	check "500 KiB through a pipe" eval '[ "$(seq 100000 | login root@127.0.0.1 cksum)" = "$want" ]'
	want=hello
	check "sftp" client sftp -q -P "$port" -b <(echo "get $PWD/config $PWD/copy") postgres@127.0.0.1
	check "the file that sftp got" cmp config copy
	check "eight logins at once" many
	check "a forwarded port" forwarded
	check "a key that is not authorized is refused" eval \
		'ssh-keygen -q -t ed25519 -N "" -f other; ! ssh -F none -i other -o BatchMode=yes -p "$port" \
			-o IdentitiesOnly=yes -o StrictHostKeyChecking=no root@127.0.0.1 true'
	kill -HUP "$(cat sshd.pid)"
	check "SIGHUP: it starts anew" await listens 2
	check "SIGHUP: it accepts logins" answers root@127.0.0.1 "echo hello"
	kill "$(cat sshd.pid)"
	check "SIGTERM: it ends" await test ! -e sshd.pid
	cat log >&2
	check "no process dies of a signal" eval '! grep -E "fatal|terminated by signal" log'
}

compare sshd 15 logins
done_testing
