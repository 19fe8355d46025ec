#!/bin/bash
# SPDX-License-Identifier: MIT
# library.t - the installed libpmc: make install, pkg-config, CMake, shared and static linking, gcc and clang;
# exported symbols; examples of the documentation, compiled and run.
. "$(dirname "$0")/lib.sh"
export O

D=$T/dest
LIB=$D/usr/lib
# -o all: install copies the existing build and checks no prerequisite.
ok "make install" make -s -C "$ROOT" -o all install DESTDIR="$D" PREFIX=/usr
for f in bin/pmctl lib/libpmc.a lib/libpmc.so lib/pmc/libpmcagent.so lib/pkgconfig/pmc.pc \
	include/pmc/counter.h include/pmc/sampler.h include/pmc/group.h include/pmc/tracepoint.h share/man/man1/pmctl.1 share/man/man1/pmctl-report.1 \
	lib/cmake/pmc/pmcConfig.cmake share/doc/pmc/examples/count.c include/pmc/region.hpp lib/python3/dist-packages/pmc/__init__.py share/man/man3/libpmc.3; do
	ok "installs $f" test -s "$D/usr/$f"
done
is "$(find "$D" -perm /022 ! -type l | wc -l)" 0 "no installed file is writable by group or others"

# ---- pkg-config -----------------------------------------------------------------------------
# pkg: pkg-config for this installation; its prefix is /usr, so its paths need the sysroot.
pkg() {
	PKG_CONFIG_LIBDIR=$LIB/pkgconfig PKG_CONFIG_SYSROOT_DIR=$D \
		PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pkg-config "$@" pmc
}
ok "pmc.pc is valid" pkg --exists --print-errors
is "$(pkg --modversion)" "$("$PMCTL" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')" \
	"the version in pmc.pc equals that of pmctl"
is "$(pkg --libs | xargs)" "-L$LIB -lpmc" "pkg-config --libs gives -lpmc only"
is "$(pkg --libs --static | xargs)" "-L$LIB -lpmc -ldl -pthread" "pkg-config --libs --static adds -ldl -pthread"

# ---- CMake ------------------------------------------------------------------------------------
mkdir "$T/project"
cp "$ROOT/tests/e2e/find_package.cmake" "$T/project/CMakeLists.txt"
# cmake_project DIR ARG...: configures it in DIR.
cmake_project() { cmake -S "$T/project" -B "$T/$1" -DCMAKE_PREFIX_PATH="$D/usr" -DEXAMPLES="$D/usr/share/doc/pmc/examples" "${@:2}"; }
ok "find_package(pmc) finds the version" cmake_project cmake "-DWANTED=$(pkg --modversion)"
ok "a CMake project builds" cmake --build "$T/cmake"
like "$(readelf -d "$T/cmake/shared")" 'NEEDED.*\[libpmc\.so\.0\]' "pmc::pmc is the shared library"
unlike "$(readelf -d "$T/cmake/static")" libpmc "pmc::pmc_static is the static library"
for program in shared static; do
	like "$("$T/cmake/$program")" '^[0-9]+ page faults$' "the program with the $program library runs"
done
for wanted in 99.0 "$(pkg --modversion | sed 's/[0-9]*$/99/')"; do
	run cmake_project none "-DWANTED=$wanted"
	like "$status $(cat "$T/err")" '^1 .*compatible[[:space:]]+with' "find_package(pmc $wanted) fails"
done

# ---- symbols and dependencies -----------------------------------------------------------------
readelf -dW "$LIB/libpmc.so" >"$T/dynamic"
like "$(cat "$T/dynamic")" 'SONAME.*\[libpmc\.so\.0\]' "the soname is libpmc.so.0"
is "$(readlink -f "$LIB/libpmc.so")" "$(readlink -f "$LIB/libpmc.so.0")" \
	"libpmc.so and libpmc.so.0 are links to the same file"
is "$(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' "$T/dynamic" | grep -vE '^(libc\.so|ld-linux|libdl|libpthread)')" "" \
	"libpmc.so depends on the C library only"
unlike "$(cat "$T/dynamic")" TEXTREL "libpmc.so has no text relocations"
# Inline functions that make options and cases are also exported, for other languages.
python3 "$ROOT/tests/public_api.py" "$ROOT/include" | grep -E '^extern|_(options|case)_init' | cut -f 2 | sort >"$T/declared"
nm -D --defined-only "$LIB/libpmc.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$T/exported"
ok "the headers declare functions" grep -q pmc_counter_open "$T/declared"
is "$(comm -23 "$T/declared" "$T/exported")" "" "every function of the headers is exported (lib/libpmc.map)"
is "$(comm -13 "$T/declared" "$T/exported")" "" "libpmc.so exports no other symbol"
sed -n 's/^\t\(pmc_[a-z0-9_]*\);$/\1/p' "$ROOT/lib/libpmc.map" >"$T/mapped"
is "$(comm -13 "$T/declared" <(sort "$T/mapped"))" "" "libpmc.map lists no function that the headers do not declare"
nm -g --defined-only "$LIB/libpmc.a" | awk 'NF == 3 { print $3 }' | sort >"$T/archived"
same "$T/exported" "$T/archived" "the static library defines the same global symbols"

is "$(python3 - "$LIB/libpmc.so" 2>&1 <<'END'
import ctypes, sys
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("target", ctypes.c_int), ("pid", ctypes.c_int), ("cpu", ctypes.c_int),
                ("more", ctypes.c_char * 4096)]
init = ctypes.CDLL(sys.argv[1]).pmc_open_options_init
init.restype = Options
print(16 < init().size < 4096, init().cpu)
END
)" "True -1" "another language gets default options by a call"

# ---- the examples ---------------------------------------------------------------------------
mkdir "$T/gcc" "$T/clang"
for source in "$ROOT"/docs/examples/*.c "$ROOT"/docs/examples/*.cc; do
	[ -e "$source" ] || continue
	name=$(basename "${source%.c*}")
	for cc in gcc clang; do
		case $source in
		*.cc) compile=(${cc/gcc/g}++ -std=c++17) ;;
		*) compile=($cc) ;;
		esac
		# shellcheck disable=SC2046
		ok "$name: ${compile[0]}, shared" "${compile[@]}" -O2 -Wall -Wextra -Werror \
			-o "$T/$cc/$name" "$source" $(pkg --cflags --libs)
		# shellcheck disable=SC2046
		ok "$name: ${compile[0]}, static" "${compile[@]}" -O2 -Wall -Wextra -static \
			-o "$T/$cc/$name-static" "$source" $(pkg --cflags --libs --static)
	done
done
# The programs that a new user writes first.
while read -r name lines; do
	between "$(wc -l <"$ROOT/docs/examples/$name.c")" 10 "$lines" "$name.c has at most $lines lines"
done <<-END
	count 25
	group 35
	typed_group 20
	sched_switch 60
	callchains 45
	mark_regions 27
END
# The first program of libpmc(3), unchanged.
sed -n '/^\.EX/,/^\.EE/{/^\.E[XE]/d;s/\\-/-/g;s/\\e/\\/g;p}' "$ROOT/docs/man/libpmc.3" >"$T/first.c"
# shellcheck disable=SC2046
ok "libpmc(3)'s first program compiles" gcc -Wall -Wextra -Werror -o "$T/first" "$T/first.c" $(pkg --cflags --libs)
ok "a program links with libpmc.a by -lpmc -ldl -pthread" gcc -I"$D/usr/include" \
	-o "$T/by-archive" "$ROOT/docs/examples/ipc_monitor.c" \
	-L"$LIB" -Wl,-Bstatic -lpmc -Wl,-Bdynamic -ldl -pthread
export LD_LIBRARY_PATH=$LIB
for program in gcc/ipc_monitor clang/ipc_monitor gcc/ipc_monitor-static by-archive; do
	if perf stat -e cycles true 2>&1 | grep -q 'not supported'; then
		run "$T/$program" -n 1
		is "$status $(cat "$T/out")" "1 " "$program: without a PMU it prints no line and exits with 1"
		like "$(cat "$T/err")" '^ipc_monitor: (instructions|cycles): .{20}' \
			"$program: without a PMU the error names the event and the reason"
	else
		run "$T/$program" -n 1 -i 100
		like "$(cat "$T/out")" '^instructions=[0-9]+ cycles=[0-9]+ ipc=[0-9]+\.[0-9]{3}$' \
			"$program: prints instructions, cycles and IPC"
	fi
done
run "$T/first"
like "$(cat "$T/out")" '^[0-9]{2,} page faults$' "libpmc(3)'s first program prints its page faults"
between "$(wc -l <"$T/first.c")" 10 24 "libpmc(3)'s first program has less than 25 lines"
run "$T/gcc/count"
between "$(sed 's/ page faults//' "$T/out")" 250 400 "count: counts the pages of its function"
run "$T/gcc/group"
is "$(awk '$2 > 0 { print $1 }' "$T/out" | xargs)" "task-clock page-faults minor-faults" "group: counts each event"
run "$T/gcc/callchains"
between "$(grep -cE '^[0-9]+( 0x[0-9a-f]+)+$' "$T/out")" 10 1000000 "callchains: prints samples with addresses"
# perf_event_paranoid 2 permits user mode to everyone.
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -eq 2 ]; then
	chmod 755 "$T" "$T/gcc" "$D" "$D/usr" "$LIB"
	for program in gcc/count gcc/group gcc/typed_group gcc/callchains first; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH="$LIB" "$T/$program"
		is "$status $(cat "$T/err")" "0 " "$program works without privilege"
		ok "$program prints a result without privilege" test -s "$T/out"
	done
else
	skip "not root, or perf_event_paranoid is not 2" "programs without privilege"
fi
# The other examples check their own results; here they exit with 0, or with 1 and an error message.
for program in "$T"/gcc/* "$T"/clang/*; do
	case $program in *ipc_monitor* | *sched_switch*) continue ;; esac
	run timeout 100 "$program"
	[ "$status" -eq 1 ] && [ -s "$T/err" ] && status=0
	is "$status" 0 "${program#"$T"/} exits with 0, or with 1 and an error" || diag_file "$T/err" stderr
done
run "$T/gcc/ipc_monitor" 0
is "$status" 2 "ipc_monitor 0: invalid process ID, exit status 2"

# ---- sched_switch: the thread switched to is the next one switched from -------------------------
# traced CMD...: exec CMD with tracefs mounted, in a mount namespace of its own if the system has none
# mounted. Use in a subshell only.
traced() {
	if [ -d /sys/kernel/tracing/events ] || [ -d /sys/kernel/debug/tracing/events ]; then
		exec "$@"
	fi
	exec unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"' sh "$@"
}

# busy CMD...: run CMD while threads start, end and switch.
busy() {
	local rc
	(while [ ! -e "$T/enough" ]; do "$PROG/churn" 50 1; done) >/dev/null 2>&1 &
	("$@")
	rc=$?
	touch "$T/enough"
	wait
	rm "$T/enough"
	return $rc
}

switches=$ROOT/tests/e2e/switches.py
summary='([0-9]+) switches, ([0-9]+) lost, ([0-9]+) late'
if ! (traced true) 2>"$T/err"; then
	skip "tracefs cannot be mounted: $(head -n 1 "$T/err")" "sched_switch"
else
	busy traced "$T/gcc/sched_switch" 2 1024 >"$T/all" 2>"$T/all.err"
	is $? 0 "sched_switch, every CPU: exits with 0" || diag_file "$T/all.err" stderr
	[[ $(cat "$T/all.err") =~ $summary ]]
	is "${BASH_REMATCH[2]:-}" 0 "sched_switch, every CPU: no record is lost" || diag_file "$T/all.err" stderr
	is "$(python3 "$switches" "$T/all" "${BASH_REMATCH[3]:-0}" all)" "${BASH_REMATCH[1]:-}" \
		"sched_switch: TID = PrevPID, records are in order of time, all of them are printed"
	between "${BASH_REMATCH[1]:-0}" 200 100000000 "sched_switch recorded at least 200 switches"

	busy traced "$T/clang/sched_switch" 1 >/dev/full 2>"$T/full.err"
	is $? 1 "sched_switch with output to a full disk exits with 1"

	# A ring buffer of one page overflows while its reader is stopped.
	traced "$T/gcc/sched_switch" 5 1 >"$T/slow.out" 2>"$T/slow.err" &
	ok "sched_switch prints records while it runs" await test -s "$T/slow.out"
	kill -STOP $!
	for _ in 1 2 3 4 5; do "$PROG/churn" 50 1 >/dev/null; done
	kill -CONT $!
	wait $!
	[[ $(cat "$T/slow.err") =~ $summary ]]
	between "${BASH_REMATCH[2]:-0}" 1 1e9 "a slow reader: at least one record is lost, and the loss is reported"
	is "$(grep -c ^TID: "$T/slow.out")" "${BASH_REMATCH[1]:-}" "a slow reader: all other records are printed"
fi
unset LD_LIBRARY_PATH

# ---- make uninstall --------------------------------------------------------------------------
ok "make uninstall" make -s -C "$ROOT" uninstall DESTDIR="$D" PREFIX=/usr
is "$(find "$D" ! -type d)" "" "uninstall leaves no file"

done_testing
