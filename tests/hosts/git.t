#!/bin/bash
# SPDX-License-Identifier: MIT
# git.t - git's own tests t0000 to t0050, from its source package, run with the installed git.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/source.sh"

# The tests need a program of their own and the templates.
tree() {
	source_package git && make -C templates &&
		make -j"$(nproc)" NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 NO_OPENSSL=1 CFLAGS=-O0 \
			t/helper/test-tool GIT-BUILD-OPTIONS
}
keep git tree

script() {
	cd "$KEPT/t" || return
	GIT_TEST_INSTALLED=$(dirname "$(command -v git)") TEST_OUTPUT_DIRECTORY=$OLDPWD \
		host timeout -k 5 600 "./$1.sh" --verbose-log 2>&1 | tee -a /dev/stderr |
		sed -nE 's/^ok [0-9]+ # skip (.*)/skip \1/p; t
			s/^ok [0-9]+ - (.*)/pass \1/p; s/^not ok [0-9]+ - (.*)/fail \1/p'
}

scripts=("$KEPT"/t/t0002-*.sh "$KEPT"/t/t0005-*.sh "$KEPT"/t/t0006-*.sh "$KEPT"/t/t0030-*.sh)
full && scripts=("$KEPT"/t/t00[0-4]*.sh "$KEPT"/t/t0050*.sh)
for file in "${scripts[@]}"; do
	name=$(basename "$file" .sh)
	compare "git/$name" 0 script "$name"
done
done_testing
