#!/bin/bash
# SPDX-License-Identifier: MIT
# JSON counts above 2^53: exact in the text; what jq, python3 and node make of them. pmctl-report(1) says so.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
# A row whose event counted 2^53 + N, in a dump of our own making.
cat >made.c <<'END'
#include "lib/dump/frame.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	static uint64_t room[8192];
	const struct pmc_event_def def = { .scale = 1 };
	const struct pmc_process_text text = { "host", "boot", "/bin/app", "app", "" };
	const struct pmc_reading reading = { .enabled_ns = 5, .running_ns = 5, .n = 1 };
	const uint64_t value = (UINT64_C(1) << 53) + strtoul(argv[argc - 1], NULL, 10);
	struct pmc_process_fixed process = { .pid = 7, .rank = -1, .flags = PMC_PROCESS_FIRST };
	struct pmc_thread_fixed thread = { .tid = 7, .n_groups = 1, .created_by = PMC_NO_SEQ };
	const uint8_t identity[16] = { 1 };
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, sizeof(room));
	pmc_begin_eventset(&buf, 1, 1);
	pmc_put_event(&buf, &def, "cycles", "", "");
	process.eventset = thread.eventset = pmc_frame_end(&buf);
	pmc_build_process(&buf, identity, 1, &process, &text);
	pmc_begin_thread(&buf, identity, 1, &thread);
	pmc_put_reading(&buf, &reading, &value);
	pmc_frame_end(&buf);
	return fwrite(buf.data, 1, buf.len, stdout) != buf.len;
}
END
ok "the test's dump can be made" gcc -I"$ROOT" -I"$ROOT/include" -o made made.c "$O/libpmc.a"
./made 1 >big.pmc
./made 4 >bigger.pmc
"$PMCTL" report --format json big.pmc >big.json
exact=9007199254740993 rounded=9007199254740992
is "$(grep -c "\"value\":$exact,\"raw\":$exact" big.json)" 1 "the report has every digit"
export PYTHONPATH=$ROOT/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 PMCTL
is "$(python3 -c 'import pmc; print(pmc.read("big.pmc")[0]["cycles"])')" $exact "the Python module reads it exactly"
# The interpreter of Debian has Debian's pandas.
is "$(/usr/bin/python3 - 2>&1 <<'END'
import pmc
frame = pmc.read("big.pmc", frame=True)
print(frame["cycles"][0], frame["cycles"].dtype, frame["created_by"].isna().sum())
pmc._pmctl = lambda *args: {"threads": [{"n": 2**53 + 1, "large": 2**64 - 1, "text": "a"},
                                        {"n": None, "large": 3, "text": None}]}
frame = pmc.read("", frame=True)
print(frame["n"].sum(), frame["n"].isna().sum(), frame["large"].max(), frame["text"].isna().sum())
END
)" "$exact Int64 1
$exact 1 18446744073709551615 1" "and its frames have every digit"
is "$("$PMCTL" report --format csv --columns cycles big.pmc | tail -1)" $exact "CSV has every digit"
is "$("$PMCTL" diff --format json big.pmc bigger.pmc |
	grep -o '"name":"cycles","a":[0-9]*,"b":[0-9]*,"delta":[0-9]*' | sort -u)" \
	"\"name\":\"cycles\",\"a\":$exact,\"b\":9007199254740996,\"delta\":3" "diff has every digit"
is "$("$PMCTL" diff --format csv bigger.pmc big.pmc | grep '^total.*cycles' | cut -d, -f4-6)" \
	"9007199254740996,$exact,-3" "diff: CSV has every digit"
is "$(python3 -c 'import json; print(json.load(open("big.json"))["threads"][0]["events"][0]["value"])')" $exact \
	"python3 reads integers exactly"
is "$(node -e 'console.log(JSON.parse(require("fs").readFileSync("big.json")).threads[0].events[0].value)')" $rounded \
	"node rounds to the nearest double"
# 1.7 and later print a number that was not changed as it was written.
case $(jq --version) in
jq-1.[0-6]*) want=$rounded ;;
*) want=$exact ;;
esac
is "$(jq '.threads[0].events[0].value' big.json)" $want "$(jq --version) prints what pmctl-report(1) says"
is "$(jq '.threads[0].events[0].value + 0' big.json)" $rounded "jq calculates with doubles"

done_testing
