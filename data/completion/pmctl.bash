# SPDX-License-Identifier: MIT
# pmctl.bash - completions of pmctl in bash 4.3 and later. pmctl itself finds them, see tools/complete.

_pmctl() {
	local line=${COMP_LINE:0:COMP_POINT} words=() places=() piece i kind n reply cut
	# Bash splits words at COMP_WORDBREAKS, such as --by=pool: pieces without a blank between them are one word.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		if [[ $i -eq 0 || $line == [[:blank:]]* ]]; then
			line=${line#"${line%%[![:blank:]]*}"}
			words+=('') places+=("$i")
		fi
		((i < COMP_CWORD)) || piece=$line
		words[-1]+=$piece
		line=${line#"$piece"}
	done
	COMPREPLY=()
	if [[ ${COMP_WORDS[COMP_CWORD - 1]} == *[\<\>] ]]; then
		compopt -o default
		return
	fi
	# Readline replaces what stands behind the last of these characters, @ included, or the quote.
	cut=$((${#words[-1]} - ${#piece}))
	[[ $piece == *[!$COMP_WORDBREAKS]* ]] || cut=${#words[-1]}
	((cut == 0)) || [[ ${words[-1]:cut-1:1} != @ ]] || ((cut--))
	[[ $piece != [\'\"]* ]] || words[-1]=${words[-1]#?}
	mapfile -t reply < <("${words[0]/#\~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null)
	read -r kind n <<<"${reply[0]-}"
	case $kind in
	files) compopt -o default ;;
	dirs) compopt -o dirnames ;;
	command)
		if declare -F _command_offset >/dev/null; then
			_command_offset "${places[n]}"
		elif [[ $n -eq $((${#words[@]} - 1)) && ${words[-1]} != */* ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "${words[-1]}")
		else
			compopt -o default
		fi
		;;
	?*)
		[[ $kind == words ]] || compopt -o nospace
		for line in "${reply[@]:1}"; do
			line=${line%%$'\t'*}
			# 63: only shows them.
			((COMP_TYPE == 63)) || line=${words[-1]:0:n}$line line=${line:cut}
			COMPREPLY+=("$line")
		done
		;;
	esac
}
complete -F _pmctl pmctl
