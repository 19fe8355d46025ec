#!/bin/bash
# SPDX-License-Identifier: MIT
# initrd.sh OUT BUSYBOX FILE... - packs the machine's root: busybox, tests/vm/init, FILEs in /t,
# and the arm64 libraries they need.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1 busybox=$2
shift 2
triplet=aarch64-linux-gnu
dirs="/lib/$triplet /usr/lib/$triplet /usr/$triplet/lib"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

chmod 755 "$root"
mkdir -p "$root"/{bin,dev,lib/$triplet,out,proc,sys,t,tmp}
install -m755 "$busybox" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
install -m755 "$here/init" "$root/init"
cp "$@" "$root/t/"

# library NAME: copies it and the libraries it needs.
library() {
	local d
	[ ! -e "$root/lib/$triplet/$1" ] || return 0
	for d in $dirs; do
		[ -e "$d/$1" ] || continue
		cp -L "$d/$1" "$root/lib/$triplet/$1"
		needed "$d/$1"
		return 0
	done
	echo "vm: no arm64 library $1" >&2
	return 1
}

needed() {
	local lib
	for lib in $($triplet-objdump -p "$1" 2>/dev/null | awk '$1 == "NEEDED" { print $2 }'); do
		library "$lib"
	done
}

for f in "$root"/t/*; do
	needed "$f"
done
library ld-linux-aarch64.so.1
mv "$root/lib/$triplet/ld-linux-aarch64.so.1" "$root/lib/"
# pthread_exit and cancellation load it.
library libgcc_s.so.1
for lib in libpfm.so.4 libunwind-aarch64.so.8; do
	library $lib 2>/dev/null || :
done
(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$out"
