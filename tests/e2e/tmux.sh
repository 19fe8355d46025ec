# SPDX-License-Identifier: MIT
# tmux.sh - terminals of tmux for tests, which end here where there is none. Sourced after lib.sh.
if ! command -v tmux >/dev/null; then
	skip "tmux is not installed" "what a terminal shows"
	done_testing
	exit
fi
export TMUX_TMPDIR=$T
unset TMUX
term() {
	tmux -L "$server" "$@" 2>>"$T/tmux.err" 7>&-
}
# A server that is ending still takes commands: each has its own.
no_term() {
	term kill-server
	server=pmc-$((++servers))
}
servers=0 server=pmc
# open_term WIDTH COMMAND: in a terminal of a server that answers.
open_term() {
	local n
	for n in 1 2 3 4 5; do
		no_term
		term -f /dev/null new-session -d -x "$1" -y 24 "$2" && term has-session && return
		echo "# tmux server $server did not start: $(tail -n 1 "$T/tmux.err")"
	done
}
screen() {
	term capture-pane -p
}
# shows REGEX NAME: waits until the screen has it
shows() {
	local n=0
	until screen | grep -qE -- "$1"; do
		n=$((n + 1))
		if [ "$n" -gt 3000 ]; then
			fail "$2"
			screen | diag_file /dev/stdin screen
			term list-panes -F '# pane: dead #{pane_dead}, #{pane_current_command}'
			diag_file "$T/tmux.err" "errors of tmux"
			return 1
		fi
		sleep 0.05
	done
	pass "$2"
}
