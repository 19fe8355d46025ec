#!/bin/bash
# SPDX-License-Identifier: MIT
# packages.t - the Debian packages of make deb: lintian, and what a user does with them in a clean
# Debian without the source tree.
NOTHING_BUILT=1 # needs $O/deb only
. "$(dirname "$0")/../e2e/lib.sh"
mirror=${MIRROR:-http://deb.debian.org/debian}
# skip_rest REASON: ends here.
skip_rest() {
	skip "$1" "the packages in a clean Debian"
	done_testing
}
suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME")

names=$(find "$O/deb" -name '*.deb' ! -name '*-dbgsym_*' -printf '%f\n' 2>/dev/null | sed 's/_.*//' | sort)
is "$(xargs <<<"$names")" "libpmc-dev libpmc0 libpmcagent pmctl python3-pmc" "make deb builds five packages"
run lintian --tag-display-limit 0 --fail-on error "$O"/deb/*.changes
is "$status $(grep '^[EW]:' "$T/out")" "0 " "lintian finds no error and no warning" || diag_file "$T/out" stdout
like "$(dpkg-deb -I "$O"/deb/libpmc0_*.deb symbols)" 'pmc_counter_open@PMC_0\.1 0' \
	"libpmc0 names its symbols and their version"

[ -n "$suite" ] || skip_rest "this is not Debian"
[ "$(id -u)" -eq 0 ] || skip_rest "not root: debootstrap makes a folder with devices"
wget -q -O /dev/null "$mirror/dists/$suite/InRelease" || skip_rest "no network: $mirror cannot be read"

# ---- a clean system ---------------------------------------------------------------------------
clean=$T/clean
ok "debootstrap" debootstrap --variant=minbase "$suite" "$clean" "$mirror"
mkdir "$clean/debs"
cp "$O"/deb/*.deb "$clean/debs"
rm "$clean"/debs/*-dbgsym_*

# inside CMD...: CMD in that system, with /proc, /sys and /dev as long as it runs.
inside() {
	# shellcheck disable=SC2016
	unshare -m sh -c 'for d in proc sys dev; do mount --rbind /$d "$0/$d"; done; exec chroot "$0" "$@"' "$clean" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
apt() { inside apt-get -q -y --no-install-recommends "$@"; }

ok "apt finds the package lists" apt update
ok "apt installs the packages with what they depend on" apt install $(cd "$clean" && printf '/%s\n' debs/*.deb)
ok "apt installs what the examples use" apt install xz-utils man-db bash-completion cmake make gcc libc6-dev pkg-config

# ---- pmctl and the agent ------------------------------------------------------------------------
run inside pmctl --version
is "$(cat "$T/out")" "$(sed -n 's/^VERSION := /pmctl /p' "$ROOT/Makefile")" "pmctl --version"
example=$(sed -n 's|build/pmctl|/usr/bin/pmctl|g; s/^    \([a-z/]*pmctl run [^#]*[^# ]\).*/\1/p' "$ROOT/README.md" | head -n 1)
run inside sh -c "${example:-false}"
like "$status $(cat "$T/err")" '^0 .*xz -T4.*CPU.* of [0-9]+ threads? counted' "README's first example: $example"
run inside sh -c 'cd /tmp && pmctl run -o x.pmc -- xz -T2 -kc /usr/bin/pmctl >/dev/null && pmctl report x.pmc'
like "$status $(cat "$T/out")" '^0 .*xz.*total' "pmctl report of a dump"
like "$(inside pmctl doctor)" "agent +ok +[^ ]*/pmc/libpmcagent\.so, version" "pmctl doctor finds the agent"
run inside sh -c 'LD_PRELOAD=libpmcagent.so xz -kc /usr/bin/pmctl >/dev/null'
like "$(cat "$T/err")" 'xz -kc.*total' "LD_PRELOAD finds the agent by its name"
run inside pmctl bench -r 3 true
is "$status" 0 "pmctl bench finds pmc-spawn" || diag_file "$T/err" stderr
run inside man -P cat pmctl-report
like "$(cat "$T/out")" 'pmctl-report.*SYNOPSIS' "man pmctl-report"
run inside man -w pmctl-mpi
is "$status" 16 "no page of a program that is not in a package"
for page in "5 pmc-dump" "7 libpmcagent" "3 libpmc" "3 pmc_counter_open" "3 pmc-python"; do
	ok "man $page" inside man -w $page
done
# shellcheck disable=SC2016
run inside bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader pmctl
	set -- $(complete -p pmctl); while [ "$1" != -F ]; do shift; done
	COMP_WORDS=(pmctl repo) COMP_CWORD=1 COMP_LINE="pmctl repo" COMP_POINT=10; $2 pmctl repo pmctl; echo "${COMPREPLY[@]}"'
like "$(cat "$T/out")" '^report ?$' "bash completes pmctl repo" || diag_file "$T/err" stderr
ok "zsh has the completion" test -s "$clean/usr/share/zsh/vendor-completions/_pmctl"

# ---- libpmc and the Python module ----------------------------------------------------------------
run inside python3 -W error -c 'import pmc
with pmc.Counter("page-faults") as counter:
    bytearray(1 << 22)
print(pmc.__file__, len(pmc.read("/tmp/x.pmc")) >= 1)'
is "$(cat "$T/out" "$T/err")" "/usr/lib/python3/dist-packages/pmc/__init__.py True" "python3 counts and reads a dump"
mkdir "$clean/tmp/cmake"
cp "$ROOT/tests/e2e/find_package.cmake" "$clean/tmp/cmake/CMakeLists.txt"
ok "find_package(pmc) finds the package" inside cmake -S /tmp/cmake -B /tmp/cmake/build -DEXAMPLES=/usr/share/doc/libpmc-dev/examples
ok "a CMake project builds" inside cmake --build /tmp/cmake/build
for program in shared static; do
	like "$(inside "/tmp/cmake/build/$program")" '^[0-9]+ page faults$' "its program with the $program library runs"
done
ok "a program builds by pkg-config" inside sh -c 'gcc /usr/share/doc/libpmc-dev/examples/count.c $(pkg-config --cflags --libs pmc) -o /tmp/count && /tmp/count'

ok "apt removes the packages" apt purge $names
is "$(inside find /usr /etc /var/lib \( -name 'pmc*' -o -name 'libpmc*' \))" "" "no file of them is left"

done_testing
