#!/bin/bash
# SPDX-License-Identifier: MIT
# boot.sh OUTDIR KERNEL INITRD [QEMU-ARG...] - boots the machine and unpacks the guest's /out.
#
# randomize_kstack_offset=off: it takes random bytes in each system call, which cost 10,000 instructions
# as long as a machine without a source of entropy has not seeded its generator.
#
# CPU, ICOUNT, SECONDS_MAX from the environment. The exit status is the guest script's; 254 after
# a kernel panic, 253 if the machine had to be stopped.
set -u
out=$1 kernel=$2 initrd=$3
shift 3
rm -rf "$out"
mkdir -p "$out" || exit 1
timeout -k 5 "${SECONDS_MAX:-540}" qemu-system-aarch64 -M virt,dtb-randomness=off \
	-cpu "${CPU:-neoverse-n1}" -smp 1 -m 512 -icount "${ICOUNT:-shift=0,sleep=off}" \
	-rtc base=2024-01-01,clock=vm -display none -monitor none -serial "file:$out/serial" \
	-no-reboot -nic none "$@" -kernel "$kernel" -initrd "$initrd" \
	-append "console=ttyAMA0 panic=-1 quiet loglevel=1 nokaslr norandmaps randomize_kstack_offset=off" \
	</dev/null >"$out/qemu" 2>&1
rc=$?
end=$(tr -d '\r' <"$out/serial" | sed -n 's/^VM-END \([0-9]*\) .*/\1/p')
if [ -z "$end" ]; then
	echo "vm: the machine did not end by itself (qemu: $rc)" >&2
	cat "$out/qemu" >&2
	sed '/^VM-BEGIN/,$d' "$out/serial" | tail -n 40 >&2
	[ "$rc" -eq 124 ] && exit 253
	exit 254
fi
tr -d '\r' <"$out/serial" | sed -n '/^VM-BEGIN/,/^VM-END/p' | sed '1d;$d' | base64 -d |
	tar -xzf - -C "$out" || exit 254
exit "$end"
