#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh build|demo|check|deb|bench|vm|fuzz|hosts|macos [ARCH] - installs missing packages.
#
# Package names are Debian's. Without root it prints the missing packages and fails. A program on the
# PATH that runs counts as installed.
set -u
stage=${1:-build}
cross=${2:-${CROSS:-}}

missing=

# package: is it installed?
has_package() {
	dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

need() {
	missing="$missing $1"
}

# header NAME PACKAGE: installed if the compiler finds the header.
header() {
	[ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] || need "$2"
}

# program NAME PACKAGE [TEST...]: installed if NAME is on the PATH and TEST succeeds.
program() {
	name=$1
	package=$2
	shift 2
	if ! command -v "$name" >/dev/null 2>&1; then
		need "$package"
	elif [ $# -gt 0 ] && ! "$@" >/dev/null 2>&1; then
		need "$package"
	fi
}

build() {
	program "${CC:-cc}" gcc
	program make make
	header stdlib.h libc6-dev
	header linux/perf_event.h linux-libc-dev
	header xxhash.h libxxhash-dev
	header uthash.h uthash-dev
	header libelf.h libelf-dev
	header elfutils/libdw.h libdw-dev
	header libiberty/demangle.h libiberty-dev
	header perfmon/pfmlib.h libpfm4-dev
	has_package libunwind-dev || [ -e /usr/include/libunwind.h ] || need libunwind-dev
	header jansson.h libjansson-dev
	header traceevent/event-parse.h libtraceevent-dev
	header ncurses.h libncurses-dev
	ldconfig -p 2>/dev/null | grep -q 'libpfm\.so\.4' || need libpfm4
	ldconfig -p 2>/dev/null | grep -q 'libzstd\.so\.1' || need libzstd1
}

demo() {
	build
	program xz xz-utils
	program python3 python3 python3 -c 'import ctypes, hashlib, threading, zlib'
}

check() {
	demo
	header cmocka.h libcmocka-dev
	program clang clang
	program clang-format-14 clang-format-14
	program prove perl
	program jq jq
	program g++ g++
	program java default-jdk-headless java -version
	program javac default-jdk-headless
	program node nodejs node --version
	program npm npm
	program rustc rustc rustc --version
	program perf linux-perf perf --version
	program musl-gcc musl-tools
	program setpriv util-linux
	program redis-server redis-server
	program redis-cli redis-tools
	program nginx nginx-light
	program varnishd varnish
	program ab apache2-utils
	program curl curl
	ls /usr/lib/postgresql/*/bin/pgbench >/dev/null 2>&1 || need postgresql
	program gdb gdb
	program valgrind valgrind
	program strace strace
	program ssh-agent openssh-client
	program pgrep procps
	program mpicc.openmpi libopenmpi-dev
	program mpirun.openmpi openmpi-bin
	program mpicc.mpich libmpich-dev
	program mpirun.mpich mpich
	program go golang-go
	program pkg-config pkg-config
	program cmake cmake
	program man man-db
	program tmux tmux
	program zsh zsh
	[ -e /usr/share/bash-completion/bash_completion ] || need bash-completion
	[ -e /usr/share/i18n/locales/de_DE ] || need locales
	program groff groff-base
	/usr/bin/python3 -c 'import pandas' >/dev/null 2>&1 || need python3-pandas
	/usr/bin/python3 -c 'import prometheus_client.openmetrics' >/dev/null 2>&1 || need python3-prometheus-client
	for lib in libjemalloc.so.2:libjemalloc2 libtcmalloc_minimal.so.4:libtcmalloc-minimal4; do
		ldconfig -p | grep -q "${lib%%:*}" || need "${lib#*:}"
	done
	[ -e /usr/lib/x86_64-linux-gnu/libgomp.so.1 ] || ldconfig -p | grep -q libgomp || need libgomp1
}

cross() {
	case $1 in
	arm64 | aarch64)
		has_package gcc-aarch64-linux-gnu || need gcc-aarch64-linux-gnu
		has_package libc6-dev-arm64-cross || need libc6-dev-arm64-cross
		dpkg --print-foreign-architectures | grep -qx arm64 || foreign=arm64
		for p in libelf-dev libdw-dev libiberty-dev libpfm4-dev libxxhash-dev libjansson-dev \
			libtraceevent-dev libncurses-dev libunwind-dev; do
			has_package "$p:arm64" || need "$p:arm64"
		done
		;;
	*)
		echo "deps: no packages are known for CROSS=$1 (arm64 is)" >&2
		exit 2
		;;
	esac
}

# The emulated machine and its cross compiler. Its tests fetch its kernel.
vm() {
	build
	program qemu-system-aarch64 qemu-system-arm
	program cpio cpio
	program jq jq
	program prove perl
	[ -n "$cross" ] || cross=arm64
}

# libFuzzer comes with clang's run-time library, a package of clang's version.
fuzz() {
	build
	program clang clang
	command -v clang >/dev/null 2>&1 || return
	runtime=$(clang --print-runtime-dir 2>/dev/null)
	ls "$runtime"/libclang_rt.fuzzer*.a >/dev/null 2>&1 ||
		need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
}

# The cross build for macOS; npm fetches the headers.
macos() {
	header xxhash.h libxxhash-dev
	header uthash.h uthash-dev
	program make make
	program clang clang
	has_package lld || need lld
	has_package llvm || need llvm
	program npm npm
	program prove perl
}

# make deb, and check-deb. dpkg-buildpackage wants build-essential whatever compiler is there.
deb() {
	build
	for p in build-essential debhelper dh-python lintian debootstrap; do
		has_package $p || need $p
	done
}

# Host programs of make check-hosts, with HOSTS=short some of them; sources of redis, git and ruby are fetched by their tests.
hosts() {
	check
	fuzz
	program /usr/bin/python3.11 python3.11
	has_package libpython3.11-testsuite || need libpython3.11-testsuite
	program tclsh tcl
	program git git
	program /usr/sbin/sshd openssh-server
	program chromium chromium
	program valgrind valgrind
	program curl curl
	[ "${HOSTS:-full}" != short ] || return
	program memcached memcached
	program memcslap libmemcached-tools
	program mariadbd mariadb-server
	program sysbench sysbench
	program cgi-fcgi libfcgi-bin
	program firefox-esr firefox-esr
	program ruby ruby
	program prometheus prometheus
	program prometheus-node-exporter prometheus-node-exporter
	ls /usr/sbin/php-fpm* >/dev/null 2>&1 || need php-fpm
}

foreign=
case $stage in
build | demo | deb | vm | fuzz | hosts | macos) $stage ;;
check)
	check
	vm
	;;
bench)
	check
	program hyperfine hyperfine
	header benchmark/benchmark.h libbenchmark-dev
	ldconfig -p | grep -q 'libprofiler\.so\.0' || need libgoogle-perftools4
	;;
*)
	echo "usage: deps.sh build|demo|check|deb|bench|vm|fuzz|hosts|macos [arm64]" >&2
	exit 2
	;;
esac
[ -z "$cross" ] || cross "$cross"

missing=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')
missing=${missing# }
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "deps: missing, and this is no Debian system: install what these packages hold: $missing" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "deps: missing; as root: ${foreign:+dpkg --add-architecture $foreign; }apt-get install $missing" >&2
	exit 1
fi
echo "deps: installing $missing"
export DEBIAN_FRONTEND=noninteractive
[ -z "$foreign" ] || dpkg --add-architecture "$foreign"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Package lists may be missing (containers) or stale.
if ! { apt-get update -q && apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 15 "$log" >&2
	echo "deps: apt-get could not install: $missing" >&2
	exit 1
fi
