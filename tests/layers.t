#!/bin/bash
# SPDX-License-Identifier: MIT
# layers.t - the rules of docs/ARCHITECTURE.md that a compiler does not check: who may include
# whom, what may stand at the top level, what agent code may never call.
NOTHING_BUILT=1 # it reads sources only
. "$(dirname "$0")/e2e/lib.sh"
# Tests that break the rules on purpose point this at a tree of their own.
cd "${LAYERS_ROOT:-$ROOT}" || exit 1

sources() {
	find "$@" \( -name '*.[ch]' -o -name '*.def' -o -name '*.cc' \) 2>/dev/null | sort
}

# Which folders each folder may include, besides its own. docs/ARCHITECTURE.md shows the same table.
# core/* is one level: core/api, which allocates memory, is for programs and pmctl, not the agent.
# include/pmc may be included everywhere; an OS folder (linux, darwin) belongs to the folder above it.
mapfile -t RULES <<'END'
agent/core/base:
agent/core/event: core/base
agent/core/count: core/base core/event
agent/core/dump: core/base
agent/core/plan: core/base core/event core/count core/dump
agent/core/live: core/base core/count core/dump
agent/core/profile: core/base core/event core/dump
agent/core/report: core/base core/event core/dump core/profile
agent/core/api/counter: core/*
agent/core/api/sampler: core/* core/api/counter
agent/core/api/bench: core/* core/api/counter
agent/base: core/base core/event core/count core/plan core/live core/dump
agent/output: core/* agent/base
agent/thread: core/* agent/base agent/output
agent/region: core/* agent/base agent/output agent/thread
agent/process: core/* agent/base agent/output agent/thread agent/region
agent/hooks: core/* agent/base agent/output agent/thread agent/region agent/process
tools/cli: core/* core/api/*
tools/attach: core/* core/api/* tools/cli
tools/merge: core/* core/api/* tools/cli
tools/report: core/* core/api/* tools/cli
tools/doctor: core/* core/api/* tools/cli
tools/list: core/* core/api/* tools/cli
tools/run: core/* core/api/* tools/cli tools/attach tools/report
END

# folder_of PATH: the folder that the rules speak of.
folder_of() {
	local d=${1%/*}
	d=${d%/linux}
	echo "${d%/darwin}"
}

# may_include FROM TO
may_include() {
	local rule word
	[ "$1" = "$2" ] && return
	for rule in "${RULES[@]}"; do
		[ "${rule%%:*}" = "$1" ] || continue
		for word in ${rule#*:}; do
			case $word in
			core/*) word=agent/$word ;;
			esac
			[[ $2 =~ ^${word//\*/[^/]*}$ ]] && return
		done
	done
	return 1
}

# FILE:LINE:INCLUDED of every quoted include.
includes() {
	sources agent tools include | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' /dev/null |
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
is "$bad" "" "each folder includes only what the table allows"

bad=$(printf '%s' "$edges" | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //')
is "$bad" "" "no cycle between folders"

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
done < <(sources agent tools | grep '\.h$')
is "$bad" "" "no folder includes a private header of another"

bad=$(git ls-files -co --exclude-standard agent tools include | while read -r f; do [ -e "$f" ] && echo "${f%/*}"; done |
	sort | uniq -c | awk '$1 > 25 { print $2 ": " $1 " files" }')
is "$bad" "" "no folder holds more than 25 files"

documented=$(sed -nE 's/^\| `([a-z\/]+)`[^|]*\|[^|]*\| *(.*[^ ]|) *\|$/\1: \2/p' docs/ARCHITECTURE.md | sed 's/`//g; s/, / /g; s/ *$//' | grep -E '^(agent|tools)/')
is "$documented" "$(printf '%s\n' "${RULES[@]}")" "the table of docs/ARCHITECTURE.md is the same"

# The public headers are for everybody: libc and themselves.
bad=$(sources include | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
	grep -vE '<(pmc/[a-z_]+|std[a-z]+|errno|string|pthread|unistd|fcntl|time|signal|dlfcn|math|sys/[a-z]+|linux/[a-z_]+)\.h>')
is "$bad" "" "public headers include libc and themselves only"

# The core is libc, xxhash (header only), uthash (through one header) and nothing else.
bad=$(sources agent | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' /dev/null |
	grep -E '<(jansson|libelf|gelf|elfutils/|cmocka|perfmon/|libunwind)' |
	grep -vE '^agent/core/event/pfm\.c:')
is "$bad" "" "agent and core include no library's header but libpfm4's, in its own file"
bad=$(grep -rnE '#[[:space:]]*include[[:space:]]*<uthash' include agent tools --include='*.[ch]' |
	grep -v '^agent/core/base/hash.h:')
is "$bad" "" "uthash is included through agent/core/base/hash.h only"

# ---- the tree ------------------------------------------------------------------------------
bad=$(git ls-files -co --exclude-standard 2>/dev/null | cut -d/ -f1 | sort -u |
	grep -vxE 'agent|tools|include|tests|docs|data|Makefile|README\.md|LICENSE|CHANGELOG\.md|\..*')
is "$bad" "" "nothing else stands at the top level"

bad=
for f in $(sources include agent tools tests); do
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier: MIT' || bad+="$f: no SPDX line"$'\n'
	# Line 2, or line 3 of a block comment, says what the file is for.
	sed -n '2,3p' "$f" | grep -qE '^(/\*|//| \*) ?[^ /]' || bad+="$f: no sentence of purpose"$'\n'
done
is "$bad" "" "every source starts with its licence and its purpose"

bad=$(sources include agent tools tests | grep -v '\.def$' |
	xargs -r awk '{ l = $0; n = 0
		while (match(l, /\t/)) { n += RSTART - 1; n += 8 - n % 8; l = substr(l, RSTART + 1) }
		if (n + length(l) > 100) print FILENAME ":" FNR }')
is "$bad" "" "no line is longer than 100 columns"

# Programs that get measured are tables of cases, as long as there are cases.
bad=$(sources include agent tools tests/unit | while read -r f; do
	n=$(wc -l <"$f")
	[ "$n" -le 500 ] || echo "$f: $n lines"
done)
is "$bad" "" "no file is longer than 500 lines"

bad=$(git ls-files -co --exclude-standard include agent tools tests docs README.md 2>/dev/null |
	grep -v '^tests/layers.t$' | xargs -r grep -nE 'TODO|FIXME|XXX[^0-9_.X"'"'"']' /dev/null | grep -vF 'XXXX')
is "$bad" "" "nothing is left to be done"

# ---- what agent code may call --------------------------------------------------------------
# The source without comments and strings, each line with its file and number.
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

mapfile -t agent_c < <(sources agent)
bad=$(banned 'malloc|calloc|realloc|free|strdup|strndup|asprintf|vasprintf|posix_memalign' \
	"${agent_c[@]}" | grep -v '^agent/core/api/')
is "$bad" "" "agent and core never use the host's malloc"

# What may, the library for programs that link it, stays out of the agent.
bad=$(sources agent | grep -v '^agent/core/api/' |
	xargs -r grep -nE '#[[:space:]]*include[[:space:]]*("agent/core/api/|<pmc/(counter|sampler)\.h>)' /dev/null)
is "$bad" "" "the agent includes nothing of the counting library"

# One place opens, controls and reads perf events: short readings, errnos and sizes are judged once.
mapfile -t perf_c < <(sources include agent tools)
mapfile -t ioctl_c < <(grep -l PERF_EVENT_IOC_ "${perf_c[@]}" /dev/null)
bad=$(code "${perf_c[@]}" | grep -E '(SYS|__NR)_perf_event_open'
	banned 'ioctl' "${ioctl_c[@]}"
	code "${ioctl_c[@]}" | grep -E '(SYS|__NR)_ioctl')
bad=$(grep -v '^agent/core/count/linux/perf\.c:' <<<"$bad")
is "$bad" "" "perf events are opened and controlled through agent/core/count/perf.h only"

bad=$(banned '(f|v|s|sn|d|vsn|vf|vd)?printf|puts|fputs|putchar|fopen|fclose|fwrite|fread|perror|fgets|getline|popen|opendir|readdir' \
	"${agent_c[@]}" | grep -vE '^agent/[a-z_/]+\.c:[0-9]+:AGENT_API ')
is "$bad" "" "agent and core never use stdio"

# The agent defines exit and its kin (AGENT_API), and ends what the host ended by its own _exit.
bad=$(banned 'exit|_exit|_Exit|quick_exit|abort|raise|assert|err|errx' "${agent_c[@]}" |
	grep -vE '^agent/[a-z_/]+\.c:[0-9]+:(AGENT_API .*|[[:space:]]*_exit\(status\);)')
is "$bad" "" "agent and core never end the host"

bad=$(banned '(secure_)?getenv|setenv|putenv|unsetenv' "${agent_c[@]}" |
	grep -vE '^agent/core/base/config\.[ch]:')
is "$bad" "" "the environment is read by the configuration alone"

bad=$(banned 'setlocale|strtod|strtof|atof|chdir|umask|srand|rand' "${agent_c[@]}")
is "$bad" "" "agent and core leave locale, cwd and umask alone"

# ---- what tools may call -------------------------------------------------------------------
mapfile -t all_c < <(sources agent tools)
bad=$(banned 'sprintf|gets|tmpnam|tempnam|mktemp' "${all_c[@]}")
is "$bad" "" "no unbounded string function anywhere"

bad=$(grep -rnE '(^|[^A-Za-z0-9_.])/(home|root|work)/[A-Za-z]' agent include tools tests docs README.md CHANGELOG.md Makefile .ci 2>/dev/null |
	grep -v '^tests/layers.t:')
is "$bad" "" "no path of the machine it was written on"

done_testing
