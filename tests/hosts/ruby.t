#!/bin/bash
# SPDX-License-Identifier: MIT
# ruby.t - Ruby's own tests of processes, signals, IO and threads, from its source package, run with
# the installed ruby.
. "$(dirname "$0")/lib.sh"
full || skip_all "runs with HOSTS=full"
. "$(dirname "$0")/source.sh"

tree() {
	local name
	name=$(dpkg-query -W -f='${source:Package}' "$(readlink "$(command -v ruby)")") && source_package "$name"
}
keep ruby tree

# Two tests compare the whole environment of a child, and find PMC_JOB: see BUGS in libpmcagent(7).
runner() {
	host timeout -k 5 900 ruby -I"$KEPT/tool/lib" "$KEPT/tool/test/runner.rb" --verbose \
		--name='!/test_execopts_(env|unsetenv_others)$/' "$KEPT/test/ruby/test_$1.rb" 2>&1 |
		tee -a /dev/stderr | sed -nE 's/^\[ *[0-9]+\/[0-9]+\] ([^ ]+) = .* s$/pass \1/p
			/^ +[0-9]+\) (Failure|Error):/ { n; s/^([^ :]+).*/fail \1/p }
			s/^[0-9]+ tests, .*/pass the run ends/p'
}

compare ruby/process 100 runner process
compare ruby/signal 10 runner signal
compare ruby/io 150 runner io
compare ruby/thread 60 runner thread
done_testing
