#!/bin/bash
# SPDX-License-Identifier: MIT
# build.t - the cross build for macOS: structure of its files, the same bytes twice. Nothing here
# runs them; docs/MACOS.md says what only a Mac can verify.
NOTHING_BUILT=1
. "$(dirname "$0")/../e2e/lib.sh"
cd "$ROOT" || exit 1

bad=$(grep -rln '__APPLE__' include agent tools tests | grep -vE '/darwin/|^tests/macos')
is "$bad" "" "no source outside darwin/ asks for the OS"

sdk=$O/macos/sdk
llvm=${LLVM:-$(dirname "$(clang -print-prog-name=llvm-lipo)")}
for tool in ld64.lld llvm-lipo llvm-objdump llvm-nm; do
	[ -x "$llvm/$tool" ] && continue
	skip "no $llvm/$tool (packages lld and llvm)" "the cross build for macOS"
	done_testing
done
if ! make O="$O" "$sdk/done" >"$T/fetch" 2>&1; then
	why=$(grep -v '^make' "$T/fetch" | grep -m1 -iE 'err|not found' | cut -c1-80)
	skip "the headers of macOS could not be fetched: ${why:-$(tail -n 1 "$T/fetch" | cut -c1-80)}" "the cross build for macOS"
	done_testing
fi

run make O="$O" macos
is "$status" 0 "make macos succeeds"
[ "$status" = 0 ] || diag_file "$T/err" "its errors"
products=(libpmcagent.dylib pmctl)

for file in "${products[@]}"; do
	built=$O/macos/$file
	is "$("$llvm/llvm-lipo" -archs "$built" | xargs -n1 | sort | xargs)" "arm64 x86_64" "$file is universal"
	for arch in arm64 x86_64; do
		"$llvm/llvm-objdump" --macho --arch="$arch" --private-headers "$built" >"$T/headers"
		is "$(awk '/LC_LOAD_DYLIB|LC_LOAD_WEAK_DYLIB|LC_REEXPORT_DYLIB/ { on = 1 } on && / name / { print $2; on = 0 }' "$T/headers")" \
			/usr/lib/libSystem.B.dylib "$file, $arch: needs libSystem only"
		like "$(awk '/LC_BUILD_VERSION/ { on = 1 } on && /minos/ { print $2; exit }' "$T/headers")" '^11\.0' \
			"$file, $arch: runs from macOS 11 on"
		# A symbol that the linker took from the stub exists in the real library of that processor.
		export ARCH=${arch/#arm64/arm64e}-macos
		"$llvm/llvm-nm" --arch="$arch" --undefined-only --just-symbol-name "$built" | grep '^[_d]' | sort -u >"$T/undefined"
		perl -0777 -ne 'for (split /- targets:/) {
			/^\s*\[([^\]]*)\]/ && index($1, $ENV{ARCH}) >= 0 or next;
			while (/symbols:\s*\[([^\]]*)\]/g) { my $l = $1; $l =~ tr/,\x27/  /; print "$_\n" for split " ", $l } }' \
			"$sdk/libSystem.tbd" | sort -u >"$T/real"
		is "$(comm -23 "$T/undefined" "$T/real" | grep -v '^dyld_stub_binder$')" "" \
			"$file, $arch: each undefined symbol is in libSystem"
		between "$(wc -l <"$T/undefined")" 10 1000 "$file, $arch: undefined symbols were found"
	done
	"$llvm/llvm-objdump" --macho --arch=arm64 --private-headers "$built" >"$T/headers"
	like "$(cat "$T/headers")" LC_CODE_SIGNATURE "$file: the arm64 slice is signed"
done

agent=$O/macos/libpmcagent.dylib
for arch in arm64 x86_64; do
	is "$("$llvm/llvm-objdump" --macho --arch="$arch" --dylib-id "$agent" | tail -n 1)" @rpath/libpmcagent.dylib \
		"$arch: install name of the agent"
	# Pairs of addresses: exit, _exit, __exit, _Exit, execve, execv, execvp, execvP, execl, execlp,
	# execle, posix_spawn, posix_spawnp, pthread_create, sigaction, signal.
	size=$("$llvm/llvm-objdump" --macho --arch="$arch" --private-headers "$agent" |
		awk '$1 == "sectname" { on = $2 == "__interpose" } on && $1 == "size" { print $2; exit }')
	is "$((size))" $((16 * 16)) "$arch: dyld finds the table of interposed functions"
	is "$("$llvm/llvm-nm" --arch="$arch" --extern-only --defined-only --just-symbol-name "$agent" | grep -v '^_pmc_agent_control$' | grep '^_')" "" \
		"$arch: the agent exports nothing that could clash with the program"
done

# MACOS_ONCE: by make check, for functions that macOS lacks and the like.
[ -z "${MACOS_ONCE:-}" ] || done_testing

# Into another directory, with the headers that are there.
mkdir -p "$T/again/macos"
ln -s "$sdk" "$T/again/macos/sdk"
run make O="$T/again" -j2 macos
is "$status" 0 "a second build succeeds"
for file in "${products[@]}"; do
	is "$(sha256sum <"$T/again/macos/$file")" "$(sha256sum <"$O/macos/$file")" "$file: the same bytes again"
done

done_testing
