#!/bin/bash
# SPDX-License-Identifier: MIT
# man3.t - every public function has a manual page that names it and whose synopsis has its prototype;
# man formats every page without a warning.
NOTHING_BUILT=1 # needs headers and pages only
. "$(dirname "$0")/e2e/lib.sh"
cd "${MAN_ROOT:-$ROOT}" || exit 1
pages=docs/man

# page NAME: the file that `man 3 NAME` shows.
page() {
	local file=$pages/$1.3 to
	[ -e "$file" ] || return 1
	to=$(sed -n 's|^\.so man3/||p' "$file" | head -n 1)
	echo "$pages/${to:-$1.3}"
}

# section FILE NAME: the formatted text of a section, without line breaks in paragraphs.
section() {
	if [ ! -e "$T/set/$1" ]; then
		mkdir -p "$T/set/${1%/*}"
		groff -Tascii -P-cbou -man -rLL=2000n -rHY=0 "$1" 2>/dev/null >"$T/set/$1"
	fi
	awk -v name="$2" '/^[A-Z]/ { in_it = $0 == name; next } in_it' "$T/set/$1"
}

# tight: remove white space that has no meaning in C.
tight() {
	tr -s ' \n\t' '   ' | sed -E 's/ ?([(),*;]) ?/\1/g'
}

python3 tests/public_api.py include | grep -v '^[a-z]*	[a-z_0-9]*_	' >"$T/functions"
ok "public_api.py finds the functions in the headers" grep -q pmc_counter_open "$T/functions"
no_page=
no_name=
no_prototype=
while IFS=$'\t' read -r _ name prototype; do
	if ! file=$(page "$name") || [ ! -e "$file" ]; then
		no_page+="$name "
		continue
	fi
	section "$file" NAME | grep -qw "$name" || no_name+="$name (${file##*/}) "
	section "$file" SYNOPSIS | tight | grep -qF "$(tight <<<"$prototype" | sed 's/ *$//');" ||
		no_prototype+="${file##*/}: $prototype;"$'\n'
done <"$T/functions"
is "$no_page" "" "each of $(wc -l <"$T/functions") functions has a manual page or a link to one"
is "$no_name" "" "each function is in the NAME section of its page"
is "$no_prototype" "" "each SYNOPSIS has the prototype from the header"

# man finds pmc_group for PMC_GROUP; two such files would be one where case does not count. Of the
# macros of dumps there is pmc-dump(5).
bad=
for name in $(sed -nE 's/^#define (PMC_[A-Z_]*[A-Z])(\(|\>.*\\$).*/\1/p' include/pmc/{bench,counter,group,region}.h); do
	file=$(page "$name" || page "${name,,}") && grep -q "$name" "$file" || bad+="$name "
done
is "$bad" "" "each macro has a manual page"

bad=
for file in "$pages"/*.3; do
	name=$(basename "$file" .3)
	case $name in pmc_*) ;; *) continue ;; esac
	# A page that is not a link may describe a topic (pmc_group) instead of a function.
	[ "$(page "$name")" = "$file" ] || grep -q "	$name	" "$T/functions" || bad+="$name "
done
is "$bad" "" "no page is a link for a function that no longer exists"

bad=
for file in "$pages"/*.[1-9]; do
	if grep -q '^\.so ' "$file"; then
		to=$pages/$(sed -n 's|^\.so man[1-9]/||p' "$file")
		[ -e "$to" ] && ! grep -q '^\.so ' "$to" || bad+="$file: leads nowhere"$'\n'
		continue
	fi
	warnings=$(MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$file" 2>&1 >/dev/null)
	[ -z "$warnings" ] || bad+="$file: $warnings"$'\n'
	head -n 1 "$file" | grep -q 'SPDX-License-Identifier: MIT' || bad+="$file: no licence line"$'\n'
	grep -qE "^\.TH [A-Z0-9_-]+ ${file##*.} " "$file" || bad+="$file: no .TH with its section"$'\n'
done
is "$bad" "" "man formats all $(ls "$pages"/*.[1-9] | wc -l) pages without a warning"

done_testing
