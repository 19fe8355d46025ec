#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh DIR - puts readers of Parquet into DIR/node_modules: the npm packages of package-lock.json,
# which names their hashes, unless they are there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ ! -e "$1/done" ] || exit 0
mkdir -p "$1"
cp "$here/package.json" "$here/package-lock.json" "$1"
npm ci --ignore-scripts --no-audit --no-fund --loglevel error --prefix "$1" >&2
touch "$1/done"
