#!/bin/bash
# SPDX-License-Identifier: MIT
# layers.t - rules of docs/ARCHITECTURE.md that a compiler does not check: includes between folders,
# entries of the top-level directory, functions that agent code must not call.
NOTHING_BUILT=1 # needs sources only
. "$(dirname "$0")/e2e/lib.sh"
# LAYERS_ROOT: another tree to check, for tests that break the rules on purpose.
cd "${LAYERS_ROOT:-$ROOT}" || exit 1

sources() {
	find "$@" \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.def' -o -name '*.cc' \) 2>/dev/null | sort
}

# Which folders each folder may include, besides its own. docs/ARCHITECTURE.md shows the same table.
# "shared" is what agent, pmctl and libpmc share; the rest of lib, which allocates memory, is not for
# the agent. include/pmc may be included everywhere; an OS folder (linux, darwin) belongs to the
# folder above it.
# "tables" are what makes rows and prints them.
shared="lib/base lib/event lib/count lib/dump lib/plan lib/live lib/snapshot"
tables="tools/rows tools/table tools/view"
mapfile -t RULES <<'END'
lib/base:
lib/event: lib/base
lib/count: lib/base lib/event
lib/dump: lib/base
lib/plan: lib/base lib/event lib/count lib/dump
lib/live: lib/base lib/count lib/dump
lib/snapshot: lib/base lib/count lib/dump lib/live
tools/rows: lib/base lib/event lib/dump
tools/table: lib/base
tools/view: lib/base lib/event lib/dump tools/rows tools/table
lib/counter: shared
lib/sampler: shared lib/counter
lib/tracepoint: shared lib/counter
lib/bench: shared lib/counter
agent/base: shared
agent/output: shared agent/base
agent/sample: shared agent/base agent/output
agent/thread: shared agent/base agent/output agent/sample
agent/region: shared agent/base agent/output agent/thread
agent/process: shared agent/base agent/output agent/sample agent/thread agent/region
agent/hooks: shared agent/base agent/output agent/sample agent/thread agent/region agent/process
tools/cli: lib/* tables
tools/attach: lib/* tables tools/cli tools/live
tools/bench: lib/* tables tools/cli tools/bench/helper tools/list
tools/bench/helper: lib/base
tools/merge: lib/* tables tools/cli tools/report
tools/merge/mpi: lib/* tables tools/cli tools/merge
tools/report: lib/* tables tools/cli tools/symbol
tools/symbol: shared
tools/export: lib/* tables tools/cli tools/report tools/symbol
tools/diff: lib/* tables tools/cli tools/report tools/bench
tools/explain: lib/* tables tools/cli tools/live tools/profile tools/report tools/symbol
tools/doctor: lib/* tables tools/cli tools/list
tools/list: lib/* tables tools/cli
tools/complete: lib/* tables tools/cli tools/list
tools/live: lib/* tables tools/cli
tools/stat: lib/* tables tools/cli tools/live
tools/unwind: lib/* tables tools/symbol
tools/rings: lib/* tables tools/cli tools/live
tools/profile: lib/* tables tools/cli tools/live tools/report tools/rings tools/symbol tools/unwind
tools/run: lib/* tables tools/cli tools/attach tools/live tools/profile tools/report
tools/top: lib/* tables tools/cli tools/live tools/attach tools/rings tools/symbol
tools/trace: lib/* tables tools/cli tools/live tools/rings tools/symbol tools/unwind
END

# folder_of PATH: its folder as named in RULES.
folder_of() {
	local d=${1%/*}
	d=${d%/linux}
	echo "${d%/darwin}"
}

# may_include FROM TO: whether RULES allow it
may_include() {
	local rule word
	[ "$1" = "$2" ] && return
	for rule in "${RULES[@]}"; do
		[ "${rule%%:*}" = "$1" ] || continue
		for word in ${rule#*:}; do
			[ "$word" != shared ] || [[ " $shared " != *" $2 "* ]] || return 0
			[ "$word" != tables ] || [[ " $tables " != *" $2 "* ]] || return 0
			[[ $2 =~ ^${word//\*/[^/]*}$ ]] && return
		done
	done
	return 1
}

# includes: print FILE:LINE:INCLUDED for every quoted include.
includes() {
	sources lib agent tools include | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' /dev/null |
		sed -E 's/^([^:]*:[0-9]+):[^"]*"([^"]*)".*/\1:\2/'
}

# Each included file with the folders that include it, and each edge between folders.
bad= edges=
declare -A used_by
while IFS=: read -r file line target; do
	[ -e "$target" ] || bad+="$file:$line: \"$target\" is not written from the root"$'\n'
	from=$(folder_of "$file") to=$(folder_of "$target")
	may_include "$from" "$to" || bad+="$file:$line: $from may not include $to ($target)"$'\n'
	case $target in
	*/linux/* | */darwin/*) bad+="$file:$line: an OS folder is reached through the headers above it ($target)"$'\n' ;;
	esac
	[ "$from" = "$to" ] || edges+="$from $to"$'\n'
	used_by[$target]+=" $from"
done < <(includes)
is "$bad" "" "each folder includes only folders that RULES allow"

bad=$(printf '%s' "$edges" | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //')
is "$bad" "" "includes between folders have no cycle"

# A header that says "Private to this folder." is included by its own folder only.
bad=
while read -r header; do
	home=$(folder_of "$header")
	head -n 20 "$header" | grep -q 'Private to this folder\.' || {
		head -n 20 "$header" | grep -qi 'private to' && bad+="$header: write \"Private to this folder.\""$'\n'
		continue
	}
	for from in ${used_by[$header]:-}; do
		[ "$from" = "$home" ] || bad+="$header is private, but $from includes it"$'\n'
	done
done < <(sources lib agent tools | grep '\.h$')
is "$bad" "" "no folder includes a private header of another"

documented=$(sed -nE 's/^\| `([a-z\/]+)`[^|]*\|[^|]*\| *(.*[^ ]|) *\|$/\1: \2/p' docs/ARCHITECTURE.md | sed 's/`//g; s/, / /g; s/ *$//' | grep -E '^(lib|agent|tools)/')
is "$documented" "$(printf '%s\n' "${RULES[@]}")" "the table in docs/ARCHITECTURE.md equals RULES"

# Programs include the public headers, so these depend on libc and each other only.
bad=$(sources include | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
	grep -vE '<(pmc/[a-z_]+|std[a-z]+|errno|string|pthread|unistd|fcntl|time|signal|dlfcn|math|sys/[a-z]+|linux/[a-z_]+)\.h>')
is "$bad" "" "public headers include only libc headers and each other"

# Agent and shared code depend on libc, xxhash (header only) and uthash (through one header) only.
bad=$(sources lib agent | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' /dev/null |
	grep -E '<(jansson|libelf|libiberty|gelf|dwarf|elfutils/|cmocka|perfmon/|traceevent/|libunwind)' |
	grep -v '^agent/sample/sample_dwarf\.c:')
is "$bad" "" "agent and shared code include no library header except libunwind's, in one file"
bad=$(grep -rnE '#[[:space:]]*include[[:space:]]*<uthash' include lib agent tools --include='*.[ch]' |
	grep -v '^lib/base/hash.h:')
is "$bad" "" "uthash is included through lib/base/hash.h only"

# ---- the tree ------------------------------------------------------------------------------
bad=$(git ls-files -co --exclude-standard 2>/dev/null | cut -d/ -f1 | sort -u |
	grep -vxE 'agent|lib|tools|include|python|tests|docs|data|debian|Makefile|README\.md|LICENSE|CHANGELOG\.md|\..*')
is "$bad" "" "the top-level directory has no unexpected entry"

bad=
for f in $(sources include lib agent tools tests); do
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier: MIT' || bad+="$f: no SPDX line"$'\n'
	# Line 2, or line 3 of a block comment, states the purpose of the file.
	sed -n '2,3p' "$f" | grep -qE '^(/\*|//| \*) ?[^ /]' || bad+="$f: no sentence of purpose"$'\n'
done
is "$bad" "" "every source starts with its licence and a sentence of purpose"

bad=$(sources include lib agent tools tests | grep -v '\.def$' |
	xargs -r awk '{ l = $0; n = 0
		while (match(l, /\t/)) { n += RSTART - 1; n += 8 - n % 8; l = substr(l, RSTART + 1) }
		if (n + length(l) > 100) print FILENAME ":" FNR }')
is "$bad" "" "no line is longer than 100 columns"

bad=$(git ls-files -co --exclude-standard include lib agent tools python tests docs README.md 2>/dev/null |
	grep -v '^tests/layers.t$' | xargs -r grep -nE 'TODO|FIXME|XXX[^0-9_.X"'"'"']' /dev/null | grep -vF 'XXXX')
is "$bad" "" "no TODO, FIXME or XXX is left"

# ---- what agent code may call --------------------------------------------------------------
# code FILE...: print FILE:LINE:TEXT for every line, without comments and strings.
code() {
	perl -0777 -e '
		for my $file (@ARGV) {
			open(my $f, "<", $file) or next;
			local $/; my $s = <$f>;
			$s =~ s{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*")}{ my $t = $1;
				my $k = ($t =~ tr/\n//); ($t =~ /^"/ ? "\"\"" : "") . "\n" x $k }gse;
			my $n = 0;
			print "$file:", ++$n, ":$_\n" for split /\n/, $s, -1;
		}' "$@"
}

banned() {
	local pattern=$1
	shift
	code "$@" | grep -E "(^|[^A-Za-z0-9_.>])($pattern)[[:space:]]*\("
}

# shellcheck disable=SC2086 # a list of folders
mapfile -t agent_c < <(sources agent $shared)
bad=$(banned 'malloc|calloc|realloc|free|strdup|strndup|asprintf|vasprintf|posix_memalign' \
	"${agent_c[@]}")
is "$bad" "" "agent and shared code do not call malloc and related functions"

# The counting library may call malloc; RULES keep the agent from its private headers.
bad=$(sources agent | xargs -r grep -nE '#[[:space:]]*include[[:space:]]*<pmc/(counter|sampler)\.h>' /dev/null)
is "$bad" "" "the agent does not include the counting library"

# One file opens, controls and reads perf events, so that short reads and errors are handled once.
mapfile -t perf_c < <(sources include lib agent tools)
mapfile -t ioctl_c < <(grep -l PERF_EVENT_IOC_ "${perf_c[@]}" /dev/null)
bad=$(code "${perf_c[@]}" | grep -E '(SYS|__NR)_perf_event_open'
	banned 'ioctl' "${ioctl_c[@]}"
	code "${ioctl_c[@]}" | grep -E '(SYS|__NR)_ioctl')
bad=$(grep -v '^lib/count/linux/group\.c:' <<<"$bad")
is "$bad" "" "perf events are opened and controlled in lib/count/linux/group.c only"

bad=$(banned '(f|v|s|sn|d|vsn|vf|vd)?printf|puts|fputs|putchar|fopen|fclose|fwrite|fread|perror|fgets|getline|popen|opendir|readdir' \
	"${agent_c[@]}" | grep -vE '^agent/[a-z_/]+\.c:[0-9]+:AGENT_API ')
is "$bad" "" "agent and shared code do not call stdio functions"

# Exceptions: wrappers of exit and related functions (AGENT_API), and the _exit that they end with.
bad=$(banned 'exit|_exit|_Exit|quick_exit|abort|raise|assert|err|errx' "${agent_c[@]}" |
	grep -vE '^agent/[a-z_/]+\.c:[0-9]+:(AGENT_API .*|[[:space:]]*_?exit\(status\);)')
is "$bad" "" "agent and shared code do not end the program"

bad=$(banned '(secure_)?getenv|setenv|putenv|unsetenv' "${agent_c[@]}" |
	grep -vE '^lib/base/config\.[ch]:')
is "$bad" "" "agent and shared code access the environment in lib/base/config.c only"

bad=$(banned 'setlocale|strtod|strtof|atof|chdir|umask|srand|rand' "${agent_c[@]}")
is "$bad" "" "agent and shared code do not depend on or change locale, working directory, umask or rand state"

# ---- what tools may call -------------------------------------------------------------------
mapfile -t all_c < <(sources lib agent tools)
bad=$(banned 'sprintf|gets|tmpnam|tempnam|mktemp' "${all_c[@]}")
is "$bad" "" "agent and tools call no unsafe string or temporary-file function"

bad=$(grep -rnE '(^|[^A-Za-z0-9_.])/(home|root|work)/[A-Za-z]' lib agent include tools python tests docs README.md CHANGELOG.md Makefile .ci 2>/dev/null |
	grep -v '^tests/layers.t:')
is "$bad" "" "no file has a path of a developer's machine"

done_testing
