#!/bin/bash
# SPDX-License-Identifier: MIT
# setup.sh - fetches an arm64 kernel and busybox for the emulated machine from Debian packages and
# prints their directory (PMC_VM_CACHE). Does nothing if they are there.
set -u
cache=${PMC_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pmcagent-vm}

fail() {
	echo "vm: $*" >&2
	exit 1
}

# The meta package depends on the kernel package.
newest() {
	apt-cache depends linux-image-cloud-arm64:arm64 2>/dev/null |
		awk '/Depends: linux-image/ { print $2; exit }'
}

fetch() {
	local kernel
	work=$(mktemp -d "$cache/fetch.XXXXXX") || fail "no directory in $cache"
	trap 'rm -rf "$work"' EXIT
	# apt's own sandbox user must be able to write here.
	chmod 755 "$work"
	cd "$work" || exit 1
	kernel=$(newest)
	# Package lists may be missing, as in a container.
	[ -n "$kernel" ] || { apt-get update -q >/dev/null 2>&1 && kernel=$(newest); }
	[ -n "$kernel" ] || fail "apt knows no linux-image-cloud-arm64:arm64 (sh tests/deps.sh vm)"
	apt-get download -q "$kernel" busybox-static:arm64 >"$work/log" 2>&1 ||
		fail "apt-get download $kernel busybox-static:arm64: $(tail -n 3 "$work/log")"
	for deb in ./*.deb; do
		dpkg -x "$deb" root || fail "dpkg -x $deb"
	done
	mv root/bin/busybox "$cache/busybox" && mv root/boot/vmlinuz-* "$cache/vmlinuz"
}

mkdir -p "$cache" || exit 1
exec 9>"$cache/lock"
flock 9
[ -s "$cache/vmlinuz" ] && [ -x "$cache/busybox" ] || (fetch) || exit 1
echo "$cache"
