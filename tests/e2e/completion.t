#!/bin/bash
# SPDX-License-Identifier: MIT
# completion.t - what bash and zsh complete after pmctl, from its tables, typed into real shells.
. "$(dirname "$0")/lib.sh"
keys=$ROOT/tests/e2e/keys.py
cd "$T" || exit 1

# ---- what pmctl offers ------------------------------------------------------------------------
# offers WORD...: the names, the last word being typed; kind: what they are.
offers() { "$PMCTL" complete -- "$@" | sed 1d | cut -f 1; }
kind() { "$PMCTL" complete -- "$@" | head -n 1; }
# missing A B: lines of file A that B lacks
missing() { sort -u "$1" | comm -23 - <(sort -u "$2") | paste -sd ' '; }

refuses 2 "pmctl complete -- WORD" "complete without words" complete
offers "" >commands
"$PMCTL" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' >want
same want commands "the commands are those of the overview"
like "$("$PMCTL" complete -- repor)" "report	print dumps as a table" "with descriptions"
bad=
while read -r command; do
	offers "$command" - >flags
	"$PMCTL" "$command" --help | sed '/^Examples/,$d' | sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p; s/^  \(-[a-zA-Z]\) .*/\1/p' >want
	[ -s want ] && [ -z "$(missing want flags)$(missing flags want)" ] || [ "$command" = help ] ||
		bad+="$command: $(missing want flags) $(missing flags want) "
	while read -r flag; do
		[[ $(kind "$command" "$flag" "" 2>&1) =~ ^(words|list|open|files|dirs|command)\ [0-9]+$ ]] || bad+="$command $flag "
	done <flags
done <commands
is "$bad" "" "each command has the flags of its help, and each value an answer"

is "$(offers report --format "" | paste -sd ' ')" "table json csv jsonl markdown folded" "words of a flag"
is "$(kind report --by thread,pro) $(offers report --by thread,pro)" "list 7 process" "of several keys the last"
is "$(offers run --inherit "" | sort | paste -sd ' ')" "auto clock full off" "accepted values of a variable"
is "$(offers run --start "" | paste -sd ' ')" "on off" "of a switch"
is "$(offers run --delay "")" "" "none of a time"
is "$(kind run --report html=x)" "files 5" "the file behind --report html="
is "$(kind merge -o "") $(kind report "") $(kind report --symfs "")" "files 0 files 0 dirs 0" "files and directories"
is "$(kind run -e cycles xz -) $(kind stat -- "") $(kind top -p 1 -- x) $(kind top x)" "command 4 command 3 command 5 list 0" \
	"where a command starts"
is "$(offers report -- --b)" "" "no flags after --"
is "$(offers ctl sto)" "stop" "the actions of ctl"
is "$(offers help doc)" "doctor" "commands after help"

"$PMCTL" list --format csv --columns name,type | sed 1d | sed "s/^'//" >listed
cut -d, -f 1 listed >want
offers run -e "" >events
same want events "events are those of pmctl list"
is "$(kind run -e cycles,instr) $(offers run -e cycles,instr)" "list 7 instructions" "after a comma"
is "$(offers stat -e '{cycles,instr')" instructions "in braces"
is "$(offers run --sample=cpu-cl)" cpu-clock "of --sample"
is "$(offers run -e 'cy*')" "" "a pattern matches nothing"
sed -n 's/,tracepoint$//p' listed >want
offers trace -e "" >events
same want events "trace has tracepoints only"

# columns "FLAGS" ARGS...: all columns of the output, without the parts of an event.
columns() {
	local flags=$1
	shift
	# shellcheck disable=SC2086
	{
		offers $flags --columns "" >offered
		"$PMCTL" $flags --format csv "$@" 2>err | head -n 1 | tr ',' '\n' | sed 's/\..*//' >want
	}
	ok "$flags: CSV has columns" test -s want
	is "$(missing want offered)" "" "$flags: all of them are offered"
}
for i in a b c d e f g h i j; do
	PMC_OUT=$T/$i.pmc run agent "$PROG/churn" 3 10
done
columns report a.pmc
columns diff a.pmc b.pmc
columns history --all ./?.pmc
columns list task-clock
columns "stat -e task-clock" -- true
columns "top -e task-clock" -b -n 1 -I 10ms -- sleep 1
run "$PMCTL" bench -r 3 --columns "$(offers bench --columns "" | paste -sd ,)" -- true
is "$status" 0 "bench has all columns that are offered"
is "$(kind report --where na) $(offers report --where na)" "open 0 name=" "--where has a name and ="
is "$(offers stat -e page-faults --sort page-f)" page-faults "--sort has the events of -e"
is "$(offers report --sort ip)" ipc "and metrics"

# ---- processes --------------------------------------------------------------------------------
# shellcheck disable=SC2016 # a name that runs a command where a shell takes it for text
hostile='$(touch x)'
cp "$(command -v sleep)" "$hostile"
PMC_REPORT=off LD_PRELOAD=$AGENT sleep 1000 &
agent=$!
"./$hostile" 1000 &
plain=$!
started() { grep -q libpmcagent "/proc/$agent/maps" && grep -q touch "/proc/$plain/comm"; }
await started || ok "both processes have started" false
like "$("$PMCTL" complete -- stat -p "$agent")" "$agent	sleep" "-p: processes with their names"
like " $(offers stat -p "" | paste -sd ' ') " " $plain " "all of them"
like " $(offers dump "" | paste -sd ' ') " " $agent " "dump: those with the agent"
unlike " $(offers dump "" | paste -sd ' ') $(offers ctl -p "" | paste -sd ' ') " " $plain " "and no others"
is "$(kind dump -p "$plain,$agent") $(offers dump -p "$plain,$agent")" "list $((${#plain} + 1)) $agent" "after a comma"
like "$(offers top --name sle)" "^sleep" "--name: names of programs"
unlike "$(offers top --name "")" "touch" "none that a shell would interpret"
[ "$(id -u)" != 0 ] || is "$(as_nobody "$PMCTL" complete -- stat -p "$agent" | sed 1d)" "" "none of other users"

# ---- real shells ------------------------------------------------------------------------------
command -v python3 >/dev/null || skip_all "no python3, which has terminals"
mkdir -p dir bin zsh
touch file1
ln -s "$PMCTL" bin/pmctl
cat >bash.rc <<END
PS1='> ' PATH=$T/bin:\$PATH INPUTRC=/dev/null
. "$ROOT/data/completion/pmctl.bash"
keys() { printf '%s\n' "\$READLINE_LINE" >&"\$KEYS_FD"; READLINE_LINE=; }
bind -x '"\C-g": keys'
PROMPT_COMMAND='echo >&\$KEYS_FD'
END
cat >zsh/.zshrc <<END
PS1='> ' path=("$T/bin" \$path) fpath=("$ROOT/data/completion" \$fpath)
autoload -U compinit
compinit -u -D
zstyle ':completion:*' insert-tab false
keys() { print -r -- "\$BUFFER" >&\$KEYS_FD; BUFFER= }
zle-line-init() { print >&\$KEYS_FD }
zle -N keys
zle -N zle-line-init
bindkey -e
bindkey '^G' keys
END
# What is typed, and what the line is then. "|" stands for the blank that zsh adds after a list and removes at a comma.
cat >cases <<'END'
pmctl repo\t	pmctl report 
pmctl report --timel\t	pmctl report --timeline 
pmctl report --format mark\tx	pmctl report --format markdown x
pmctl report --format=js\t	pmctl report --format=json
pmctl report --by thread,pro\t,na\t	pmctl report --by thread,process,name|
pmctl report --by=thread,pro\t	pmctl report --by=thread,process|
pmctl report --columns cpu_ns,ip\t	pmctl report --columns cpu_ns,ipc|
pmctl report --where nam\tx	pmctl report --where name=x
pmctl run -e cpu-clock,instr\t	pmctl run -e cpu-clock,instructions|
pmctl run -e @defa\t	pmctl run -e @default|
pmctl run --report html=fi\t	pmctl run --report html=file1 
pmctl report fi\t--by po\t	pmctl report file1 --by po
pmctl report --symfs di\t	pmctl report --symfs dir/
pmctl run -- dirna\t	pmctl run -- dirname 
pmctl run dirname fi\t	pmctl run dirname file1 
pmctl frob fi\t	pmctl frob fi
pmctl report >fi\t	pmctl report >file1 
FOO=1 pmctl run --unwind dw\t	FOO=1 pmctl run --unwind dwarf 
~/bin/pmctl doct\t	~/bin/pmctl doctor 
END
grep -q '^sched:sched_stat_runtime,' listed && cat >>cases <<'END'
pmctl trace -e sched:sched_stat_run\t	pmctl trace -e sched:sched_stat_runtime|
pmctl trace -e sched:sched_stat_runtime,sched:sched_stat_run\t	pmctl trace -e sched:sched_stat_runtime,sched:sched_stat_runtime|
END
printf '%s\t%s\n' "pmctl dump $agent\\t" "pmctl dump $agent " >>cases
export HOME=$T TERM=xterm
# typed NAME BLANK CMD...
typed() {
	local name=$1 blank=$2 made
	shift 2
	cut -f 1 cases | python3 "$keys" "screen" "$@" >made 2>err
	ok "$name answers" test ! -s err
	while IFS= read -r line && IFS= read -r made <&8; do
		is "$made" "$(sed "s/|$/$blank/" <<<"${line#*	}")|" "$name: ${line%%	*}"
	done <cases 8<made
}

cat >>cases <<'END'
pmctl report --by thread,p\t\t	pmctl report --by thread,p
END
n=$(wc -l <cases)
typed bash "" bash --rcfile bash.rc -i
like "$(tr -s ' \r\n' ' ' <"screen.$n")" "pod pool process" "bash lists the names without what stands before them"
if [ -e /usr/share/bash-completion/bash_completion ]; then
	sed '1a . /usr/share/bash-completion/bash_completion' bash.rc >more.rc
	echo 'pmctl run -- nice dirna\t	pmctl run -- nice dirname ' >>cases
	typed "bash with bash-completion" "" bash --rcfile more.rc -i
else
	skip "bash-completion is not installed" "bash with bash-completion"
fi
if command -v zsh >/dev/null; then
	sed -i "$n,\$d" cases
	echo 'pmctl run -- nice dirna\t	pmctl run -- nice dirname ' >>cases
	echo 'pmctl re\t	pmctl report ' >>cases
	echo 'pmctl h\t	pmctl h' >>cases
	ZDOTDIR=$T/zsh typed zsh " " zsh -i
	like "$(tr -s ' \r\n' ' ' <"screen.$(wc -l <cases)")" "help -- show the list of commands.*history -- show" "zsh shows descriptions"
else
	skip "zsh is not installed" "zsh"
fi

# ---- installed --------------------------------------------------------------------------------
for prefix in /usr:vendor-completions /usr/local:site-functions; do
	ok "make install, ${prefix%:*}" make -s -C "$ROOT" O="$O" -o all install DESTDIR="$T/dest" PREFIX="${prefix%:*}"
	same "$ROOT/data/completion/pmctl.bash" "$T/dest${prefix%:*}/share/bash-completion/completions/pmctl" "for bash"
	same "$ROOT/data/completion/_pmctl" "$T/dest${prefix%:*}/share/zsh/${prefix#*:}/_pmctl" "for zsh"
done

kill "$agent" "$plain"
done_testing
