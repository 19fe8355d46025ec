#!/bin/bash
# SPDX-License-Identifier: MIT
# cpython.t - CPython's own tests of processes, signals, threads and descriptors.
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3.11
limit=60

# Two tests of test_subprocess look at every descriptor number, and find those of the agent: see BUGS
# in libpmcagent(7).
seen=(-i test_pass_fds_redirected -i test_close_fds_when_max_fd_is_lowered)

# regrtest writes no results if the interpreter crashes or hangs: then every test is lost.
regrtest() {
	host "$python" -m test --timeout "$limit" --tempdir "$PWD" --junit-xml "$PWD/results.xml" -v "$@" >&2
	"$python" - <<-'END'
		import xml.etree.ElementTree as tree
		for case in tree.parse("results.xml").iter("testcase"):
		    kinds = {child.tag for child in case}
		    state = "fail" if kinds & {"error", "failure"} else "skip" if "skipped" in kinds else "pass"
		    print(state, case.get("name"))
	END
}

compare cpython/test_os 200 regrtest test_os
compare cpython/test_fork1 2 regrtest test_fork1
compare cpython/test_threading 100 regrtest test_threading
if full; then
	limit=300
	compare cpython/test_signal 30 regrtest test_signal
	compare cpython/test_subprocess 200 regrtest test_subprocess "${seen[@]}"
	compare cpython/main_handling 30 regrtest test_multiprocessing_main_handling
	compare cpython/test_asyncio 1500 regrtest test_asyncio
else
	compare cpython/test_subprocess 50 regrtest test_subprocess "${seen[@]}" -m '*POSIXProcessTestCase*'
	compare cpython/main_handling 20 regrtest test_multiprocessing_main_handling -m '*Fork*'
fi
done_testing
