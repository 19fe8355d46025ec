#!/bin/bash
# SPDX-License-Identifier: MIT
# lib.sh - shared by the tests of the emulated machine, in addition to tests/e2e/lib.sh.
#
# tests/vm/NAME.t boots one machine with `machine`, which runs tests/vm/NAME.guest in it, and then
# examines the files it left in /out:
#
#	machine [QEMU-ARG...]   CPU=, ICOUNT= from the environment; sets $M, where /out is
#	values NAME SEQ         name value state of each event of row SEQ in report NAME, a line each
#	value NAME SEQ EVENT    its value
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

VM=$ROOT/tests/vm
GUEST=$O/aarch64

machine() {
	local name cache at=$SECONDS rc
	name=$(basename "$0" .t)
	M=$T/out
	if ! command -v qemu-system-aarch64 >/dev/null || [ ! -e "$GUEST/libpmcagent.so" ]; then
		echo "Bail out!  no qemu-system-aarch64, or nothing in $GUEST: make check-vm"
		exit 1
	fi
	if ! cache=$(bash "$VM/setup.sh"); then
		echo "Bail out!  no kernel for the emulated machine"
		exit 1
	fi
	cat "$VM/common.guest" "$VM/$name.guest" >"$T/guest.sh"
	# Programs cross-built for the machine, named as their sources.
	find "$GUEST/prog" "$GUEST/vm" "$GUEST/examples" -type f -perm -1 >"$T/programs"
	mapfile -t programs <"$T/programs"
	bash "$VM/initrd.sh" "$T/initrd" "$cache/busybox" "$T/guest.sh" "$GUEST/libpmcagent.so" \
		"$GUEST/pmctl" "$GUEST/pmc-spawn" "${programs[@]}" || {
		echo "Bail out!  no root for the machine"
		exit 1
	}
	bash "$VM/boot.sh" "$M" "$cache/vmlinuz" "$T/initrd" "$@"
	rc=$?
	rm -f "$T/initrd"
	is $rc 0 "the machine runs its cases and ends" || {
		diag_file "$M/log" "log of the guest"
		done_testing
	}
	diag "machine: $((SECONDS - at)) s"
	[ ! -s "$M/log" ] || diag_file "$M/log" "log of the guest"
	local r
	for r in $(find "$M" -name "*.rc" | sort); do
		[ "$(cat "$r")" = 0 ] && continue
		fail "${r##*/}: the program ended well"
		diag_file "${r%.rc}.err" stderr
	done
}

values() {
	jq -r ".threads[] | select(.seq == $2) | .events[] | \"\(.name) \(.value) \(.state)\"" "$M/$1.json"
}

value() {
	jq -r "first(.threads[] | select(.seq == $2)).events[] | select(.name == \"$3\") | .value" \
		"$M/$1.json" | head -n 1
}
