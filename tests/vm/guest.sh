#!/bin/busybox sh
agent() {
	name=$1; shift
	env LD_PRELOAD=/t/libpmcagent.so PMC_REPORT=json=/out/$name.json "$@" >/out/$name.out 2>/out/$name.err
	echo $? >/out/$name.rc
}
uname -a; cat /proc/sys/kernel/perf_event_paranoid; ls /sys/bus/event_source/devices
agent first PMC_EVENTS=instructions:u,cycles:u /t/loops 1000 1000000 1000 50000000
agent fourteen PMC_EVENTS=instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u /t/loops 200000000
agent seven PMC_EVENTS=instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u /t/loops 200000000
agent default /t/loops 2000000
/t/pmctl doctor >/out/doctor.txt 2>&1
/t/pmctl run -n -e instructions,cycles,cache-misses -- true >/out/plan.txt 2>&1
