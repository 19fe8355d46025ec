# SPDX-License-Identifier: MIT
# causes.sh - programs of tests/prog/causes.c that are slow for one reason each.
#
#	planted NEED...   a line for each program with such a need: its name, and the causes one of
#	                  which is its own. NEED is what naming the cause takes: any, cpus (two of
#	                  them), waits (records of waits, which root has)

planted() {
	local need line
	for need; do
		while read -r line; do
			[ "${line%% *}" != "$need" ] || echo "${line#* }"
		done <<-'END'
			any cpu-starved cpu-starved
			any processes-starved cpu-starved
			any pinned cpu-starved preempted
			any handoff handoff
			any over-sockets handoff
			any short-lived short-lived
			any bursts short-lived
			any processes short-lived
			any forks short-lived
			any page-faults page-faults
			any large-blocks page-faults
			any copied-pages page-faults
			any returned-pages page-faults
			any allocator allocator
			any clear-blocks allocator
			any growing allocator
			any gc gc
			any copier kernel
			cpus imbalance imbalance
			cpus few-large imbalance serial
			cpus unequal-team imbalance
			cpus spin spin
			cpus yielding spin
			cpus serial serial
			cpus migrations migrations
			waits lock lock
			waits lock-among-idle lock
			waits timed-lock lock
			waits file-lock lock
			waits own-lock lock
			waits rwlock lock
			waits convoy lock
			waits turns handoff
			waits semaphores handoff
			waits tcp-peer network
			waits unix-peer network
		END
	done
}
