#!/bin/bash
# SPDX-License-Identifier: MIT
# headers.t - each public header compiles on its own and included twice, in strict C11 and C++17, with
# gcc and clang, without a warning; so do all of them together. Those for C++ alone compile from C++11 on.
NOTHING_BUILT=1 # needs headers only
. "$(dirname "$0")/e2e/lib.sh"
cd "${HEADERS_ROOT:-$ROOT/include}" || exit 1

headers=(pmc/*.h)
cxx_headers=(pmc/*.hpp)
flags=(-I. -pedantic -Wall -Wextra -Wundef -Werror -fsyntax-only)

# compile LANGUAGE COMPILER STANDARD HEADER...
compile() {
	local language=$1 compiler=$2 standard=$3 h
	shift 3
	for h; do
		echo "#include <$h>"
	done >"$T/unit.$language"
	# ISO C requires a declaration in every unit; a header may have macros only.
	echo 'int declared;' >>"$T/unit.$language"
	"$compiler" "-std=$standard" "${flags[@]}" "$T/unit.$language"
}

is "$(printf '%s\n' "${headers[@]}" "${cxx_headers[@]}" | grep -cE '^pmc/[a-z_]*\.(h|hpp)$')" "$(ls pmc | wc -l)" \
	"include/pmc has only .h and .hpp files with lower-case names"
for h in "${headers[@]}"; do
	ok "$h: C11, gcc" compile c gcc c11 "$h" "$h"
	ok "$h: C11, clang" compile c clang c11 "$h" "$h"
	ok "$h: C++17, g++" compile cc g++ c++17 "$h" "$h"
	ok "$h: C++17, clang++" compile cc clang++ c++17 "$h" "$h"
	bad=
	# A header without function declarations needs no C linkage.
	grep -qE '__cplusplus|^PMC_API_BEGIN' "$h" || ! grep -qE '^[a-z].*\);$' "$h" || bad+="nothing for C++ "
	grep -q '^#ifndef PMC_[A-Z_]*_H$' "$h" || bad+="no guard of the name PMC_..._H "
	is "$bad" "" "$h: has an include guard and C linkage in C++"
done
for h in "${cxx_headers[@]}"; do
	for standard in c++11 c++14 c++17 c++20; do
		ok "$h: $standard, g++" compile cc g++ $standard "$h" "$h"
		ok "$h: $standard, clang++" compile cc clang++ $standard "$h" "$h"
	done
	ok "$h: has an include guard" grep -q '^#ifndef PMC_[A-Z_]*_HPP$' "$h"
done
# In C++ a function hides the struct of its name.
is "$(grep -ohE '^struct pmc_[a-z_]+ \{' pmc/*.h | sed 's/struct \(.*\) {/\1/' | sort -u |
	comm -12 - <(python3 "$ROOT/tests/public_api.py" . | cut -f2 | sort -u))" "" \
	"no function has the name of a struct"
ok "all headers in one unit: C11, gcc" compile c gcc c11 "${headers[@]}"
ok "all headers in one unit: C++17, clang++" compile cc clang++ c++17 "${headers[@]}" "${cxx_headers[@]}"
ok "all headers in one unit: C2x, gcc" compile c gcc c2x "${headers[@]}"
ok "all headers in one unit: C++20, g++" compile cc g++ c++20 "${headers[@]}" "${cxx_headers[@]}"

done_testing
