#!/bin/bash
# SPDX-License-Identifier: MIT
# prometheus.t - a Prometheus with node_exporter's textfile collector reads what pmctl stat writes; promtool
# accepts what pmctl export writes.
. "$(dirname "$0")/lib.sh"
full || skip_all "runs with HOSTS=full"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$T"' EXIT
cd "$T" || exit 1

PMC_OUT=$T/x.pmc PMC_REPORT=off agent "$PROG/named" >out
"$PMCTL" export --to prometheus x.pmc >x.prom
is "$(promtool check metrics <x.prom 2>&1)" "" "export --to prometheus: promtool has no complaint"

mkdir textfile
cat >steady.py <<'END'
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, b"steady")
out = open(sys.argv[1], "w", buffering=1)
due = time.time()
while True:
    end = time.process_time() + 0.02
    while time.process_time() < end: pass
    due = max(due + 0.1, time.time() - 1)
    print(time.time(), time.process_time(), file=out)
    time.sleep(max(0, due - time.time()))
END
exporter=$(free_port)
prometheus-node-exporter --web.listen-address="127.0.0.1:$exporter" --collector.disable-defaults \
	--collector.textfile --collector.textfile.directory="$T/textfile" >exporter.log 2>&1 &
server=$(free_port)
cat >prometheus.yml <<END
global: { scrape_interval: 1s }
scrape_configs: [ { job_name: host, static_configs: [ { targets: [ "127.0.0.1:$exporter" ] } ] } ]
END
prometheus --config.file=prometheus.yml --storage.tsdb.path="$T/data" --web.listen-address="127.0.0.1:$server" \
	>prometheus.log 2>&1 &
# query TEXT: the value of its only series; nothing if there is none.
query() {
	curl -sS "http://127.0.0.1:$server/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value | select(.) | .[1]'
}
# As a service manager does, whenever the program runs.
while :; do
	"$PMCTL" stat --name steady --prometheus textfile/pmc.prom -I 1s
	sleep 0.5
done >/dev/null 2>&1 &

cpu='sum(pmc_cpu_seconds_total{program="steady",pool="steady"})'
python3 steady.py first &
first=$!
# Series of 40 s.
await eval '[ "$(query "count_over_time(pmc_threads[40s])")" -ge 38 ]'
now=$(date +%s)
rate=$(query "sum(rate(pmc_cpu_seconds_total{program=\"steady\"}[30s] @ $now))")
within "$rate" "$(awk -v now="$now" '$1 <= now - 31 { from = $1; cpu = $2 } $1 <= now - 1 { to = $1; last = $2 }
	END { print (last - cpu) / (to - from) }' first)" 2 "rate() of its CPU time in 30 s"
before=$(query "$cpu")
kill $first
await eval '[ -z "$(query "$cpu")" ]'
pass "the series end with the program"
python3 steady.py second &
await eval '[ -n "$(query "$cpu")" ]'
await eval '[ "$(query "count_over_time(pmc_threads[8s])")" -ge 6 ]'
is "$(query 'sum(resets(pmc_cpu_seconds_total{mode="user"}[5m]))')" 1 "a restart is one reset of the counter"
diag "rate $rate, before the restart $before s, after it $(query "$cpu") s"
is "$(query 'max_over_time(node_textfile_scrape_error[5m])')" 0 "node_exporter has no complaint"
done_testing
