#!/bin/bash
# SPDX-License-Identifier: MIT
# python.t - the Python module pmc, installed: regions with and without the agent, counters, rows of
# dumps, errors; its example.
. "$(dirname "$0")/lib.sh"
export O
python=$(python3 -c 'import sys; print(sys.executable)') || skip_all "no python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip_all "$("$python" --version) is older than 3.9"
cd "$T" || exit 1

ok "make install" make -s -C "$ROOT" -o all install DESTDIR="$T/dest" PREFIX=/usr
installed=$T/dest/usr/lib/python3/dist-packages
export PYTHONPATH=$installed${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
# py CODE [ARG...]: runs it in the interpreter, with functions to touch pages.
py() { run "$python" -W error -c "$PAGES$1" "${@:2}"; }
PAGES='
import mmap, pmc
def touch(pages):
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = 1
'

# ---- the module ------------------------------------------------------------------------------
py 'print(pmc.__file__)'
is "$status $(cat out)" "0 $installed/pmc/__init__.py" "the installed module is imported without a warning"
py 'print(sorted(pmc.__all__) == dir(pmc))'
is "$(cat out)" True "dir() has what it offers"
is "$(cd "$installed/pmc" && find . -type f -perm 644 | sort | xargs)" "./__init__.py ./py.typed" "the files of the module"
ok "it compiles" "$python" -m compileall -q -d pmc "$ROOT/docs/examples/python.py" "$installed"
find "$installed" "$ROOT/docs/examples" -name __pycache__ -prune -exec rm -r {} +
if command -v mypy >/dev/null; then
	ok "mypy --strict finds nothing" mypy --strict --python-version 3.9 --cache-dir "$T/mypy" "$ROOT/python/pmc"
else
	skip "no mypy" "mypy --strict"
fi
cat >sizes.c <<'END_C'
#include <pmc/group.h>
#include <stdio.h>
int main(void)
{
	return printf("%zu %zu %zu %zu %zu", sizeof(struct pmc_group_typed_field), sizeof(struct pmc_group_typed),
		      sizeof(struct pmc_group_typed_times), sizeof(struct pmc_failure),
		      offsetof(struct pmc_open_options, inherit)) < 0;
}
END_C
ok "a program with the sizes compiles" gcc -I"$ROOT/include" -o sizes sizes.c
py 'import ctypes
print(*map(ctypes.sizeof, (pmc._Field, pmc._Typed, pmc._Times, pmc._Failure)), pmc._Options.inherit.offset)'
is "$(cat out)" "$(./sizes)" "its structs have the layout of the headers"

# ---- regions -----------------------------------------------------------------------------------
cat >regions.py <<'END_PY'
import asyncio, threading

@pmc.region
def plain(pages):
    "text"
    touch(pages)
    return pages

class Parser:
    @pmc.region
    def parse(self):
        with pmc.region("inner"):
            touch(7)
        raise KeyError("parse")

@pmc.region("generator")
def generator(n):
    for i in range(n):
        touch(10)
        sent = yield i
    return sent

@pmc.region("coroutine")
async def coroutine(n, pages):
    for _ in range(n):
        touch(pages)
        await asyncio.sleep(0)
    return n

@pmc.region("cancelled")
async def cancelled():
    await asyncio.sleep(1000)

async def tasks():
    both = await asyncio.gather(coroutine(3, 10), coroutine(5, 20))
    task = asyncio.ensure_future(cancelled())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return both

def delegate():
    return (yield from generator(2))

assert plain(100) == 100 and (plain.__name__, plain.__doc__) == ("plain", "text")
try:
    Parser().parse()
except KeyError:
    pass
steps = delegate()
next(steps)
touch(50)  # in no region
steps.send(None)
try:
    steps.send("sent")
except StopIteration as end:
    assert end.value == "sent"
steps = generator(9)
next(steps)
try:
    steps.throw(KeyError("thrown"))
except KeyError:
    pass
steps = generator(9)
next(steps)
steps.close()
assert asyncio.run(tasks()) == [3, 5]
shared = pmc.region("shared")
def twice():
    with shared, shared:
        touch(5)
threads = [threading.Thread(target=twice) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
async def stream():
    yield 1
for refused in Parser, stream:
    try:
        pmc.region(refused)
        print("not refused")
    except TypeError as error:
        assert "decorated; mark blocks" in str(error)
print("ran")
END_PY
py "$(cat regions.py)"
is "$status $(cat out err)" "0 ran" "regions do nothing without the agent"
py 'def f(): pass
print(pmc.region(f) is f)'
is "$(cat out)" True "a decorated function is not wrapped without the agent"
export PMC_EVENTS=page-faults PMC_REPORT=off PMC_OUT=$T/x.pmc
run agent "$python" -W error -c "$PAGES$(cat regions.py)"
unset PMC_EVENTS PMC_REPORT PMC_OUT
is "$status $(cat out err)" "0 ran" "regions run under the agent"
"$PMCTL" report --by region --format json x.pmc >x.json
calls() { jq -c '[.groups[] | {key, value: .calls}] | from_entries | [.["plain", "Parser.parse", "inner", "generator", "coroutine", "cancelled", "shared"]]' x.json; }
# generator: 3 steps of the first, 2 each of the others; coroutine: 3 + 5 steps and their ends.
is "$(calls)" '[1,1,1,7,10,2,6]' "calls of each region: a step of a generator or coroutine is one"
faults() { jq --arg n "$1" '.groups[] | select(.key == $n) | .events[0].sum' x.json; }
between "$(faults plain)" 100 140 "page faults of a function"
between "$(faults inner)" 7 40 "page faults of a block that an exception leaves"
between "$(faults generator)" 40 85 "page faults of a generator: not those between its steps"
between "$(faults coroutine)" 130 190 "page faults of coroutines that take turns"
is "$(jq '.groups[] | select(.key == "shared") | .threads' x.json)" 3 "threads share a region"
is "$(jq -c '[.processes[].notes[] | select(.text | test("region"))]' x.json)" '[]' "every region was ended, in order"

cat >read.py <<'END_PY'
with pmc.region("read"):
    touch(100)
r = pmc.region("read")
try:
    print(r.read(), r.read("page-faults"), sep="\n")
    r.read("cycles")
except pmc.Error as error:
    print(error)
END_PY
py "$(cat read.py)"
is "$status $(cat out)" "0 region read: this thread is not measured; start the program by pmctl run" \
	"a region cannot be read without the agent"
PMC_EVENTS=page-faults PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$python" -W error -c "$PAGES$(cat read.py)"
"$PMCTL" report --by region --format json x.pmc >x.json
is "$(head -n 2 out | tr "'" '"' | jq -sc .)" "$(jq -c '.regions[] | select(.region == "read") |
	{ calls, open, cpu_ns, self_cpu_ns } as $times | .events[0] as $all | [$times, $times +
	{ count: $all.raw, self_count: .self[0].raw, enabled_ns: $all.enabled_ns, running_ns: $all.running_ns }]' x.json)" \
	"a program reads the counts that the dump has"
is "$(sed -n 3p out)" "region read, cycles: not counted in this run; name the event in PMC_EVENTS" \
	"an event that was not asked for is an error"

# ---- counters ------------------------------------------------------------------------------------
py 'with pmc.Group("page-faults", "task-clock") as group:
    touch(400)
r = group.read()
assert dict(r) == dict(group.read()) and r.enabled_ns >= r.running_ns > 0
print(r["page-faults"], r["task-clock"] > 0, r.state, r.scaled, r.reason, group.scope, group.events)'
between "$(cut -d' ' -f1 out)" 400 450 "a group counts the page faults of its block"
is "$(cut -d' ' -f2- out)" "True counted False None all ('page-faults', 'task-clock')" "a group's reading, after it was closed"
py 'c = pmc.Counter("page-faults:u")
print(c.value, c.read().state, c.read().reason, c.scope)
c.enable(); touch(200); c.disable(); touch(200); a = c.value
c.reset(); c.enable(); touch(100); c.disable()
print(a, c.value)'
like "$(head -n 1 out)" '^None not-counted page-faults:u: .*not enabled.* user$' "a counter that is not enabled: None, and why"
read -r a b < <(tail -n 1 out)
between "$a" 200 250 "enable and disable a counter"
between "$b" 100 150 "reset a counter"
py 'import threading
counts = []
for inherit in False, True:
    with pmc.Counter("page-faults", inherit=inherit) as counter:
        thread = threading.Thread(target=touch, args=(3000,))
        thread.start()
        thread.join()
    counts.append(counter.value >= 3000)
print(counts, pmc.Group("software/config=99/", "page-faults", fallback="task-clock").events)'
is "$(cat out)" "[False, True] ('task-clock',)" "inherit counts threads of the thread; the fallback is opened where events cannot be"
py 'import os
fds = lambda: len(os.listdir("/proc/self/fd"))
pmc.Counter("page-faults")
before = fds()
for _ in range(100):
    pmc.Counter("page-faults", fallback="task-clock")
print(fds() - before)'
is "$(cat out)" 0 "a counter that is collected leaves no descriptor"

# failing CODE: the error that it raises: type, errno, text.
failing() {
	py "import errno
try:
    $1
    print('no error')
except (OSError, ImportError) as error:
    print(type(error).__name__, errno.errorcode.get(error.errno) if isinstance(error, OSError) else '-', error)"
	cat out
}
like "$(failing 'pmc.Group("page-faults", "no-such-event")')" "^Error ENOENT no-such-event: .*unknown event" "an unknown event"
like "$(failing 'pmc.Group("@cache")')" "^Error EINVAL @cache: a row is one event" "a set is not an event"
like "$(failing 'pmc.Group()')" "^Error EINVAL .*list of events is empty" "no event"
like "$(failing 'pmc.Counter("page-faults", pid=-1)')" "^Error EINVAL .+" "all threads without a CPU"
like "$(failing 'pmc.Counter("no-such-event", fallback="nor-this")')" "^Error ENOENT nor-this: " "an unknown fallback"
like "$(failing 'c = pmc.Counter("page-faults"); c.close(); c.close(); c.enable()')" "^Error EBADF group: it is not open; open it first$" \
	"a closed counter"
like "$(failing 'c = pmc.Counter("page-faults"); __import__("os").closerange(3, 100); c.read()')" "^Error EBADF page-faults: " \
	"a counter whose descriptor was closed"

# A library that multiplexes: this machine's software events never do.
mkdir stub
cat >stub.c <<'END_C'
#include <errno.h>
#include <pmc/group.h>
#include <stdlib.h>
struct pmc_open_options (pmc_open_options_init_)(void) __asm__("pmc_open_options_init");
struct pmc_open_options (pmc_open_options_init_)(void) { return (struct pmc_open_options)PMC_OPEN_INIT; }
int pmc_group_typed_open_with(struct pmc_group_typed *g, const struct pmc_group_typed_field *f, unsigned n,
			      const struct pmc_open_options *o)
{ return g && f && n == 1 && o->size == sizeof(*o) && o->inherit && o->cpu == 3 ? 0 : -EPROTO; }
int pmc_group_typed_enable(const struct pmc_group_typed *g) { return g ? 0 : -1; }
int pmc_group_typed_disable(const struct pmc_group_typed *g) { return g ? 0 : -1; }
int pmc_group_typed_read(const struct pmc_group_typed *g, unsigned n, uint64_t *v, struct pmc_group_typed_times *t)
{
	*t = (struct pmc_group_typed_times){ 9, 3, getenv("BUSY") ? PMC_NOT_COUNTED : PMC_SCALED };
	*v = getenv("BUSY") ? PMC_NO_VALUE : (UINT64_C(1) << 63) + n;
	return !g || getenv("BUSY") ? -EBUSY : 0;
}
void pmc_group_typed_explain(const struct pmc_group_typed *g, const struct pmc_group_typed_field *f, int error,
			     struct pmc_failure *why)
{ *why = (struct pmc_failure){ g ? -error : 0, "it", "taken; wait" }; (void)f; }
void pmc_group_typed_close(struct pmc_group_typed *g) { (void)g; }
END_C
ok "the stub compiles" gcc -shared -fPIC -I"$ROOT/include" -o stub/libpmc.so.0 stub.c
stub() {
	LD_LIBRARY_PATH=$T/stub py 'with pmc.Counter("cycles", cpu=3, inherit=True) as c: pass
r = c.read()
print(r, r.enabled_ns, r.running_ns, r.state, r.scaled, r.reason)'
	cat out err
}
is "$(stub)" "{'cycles': 9223372036854775809} 9 3 scaled True None" "a scaled count is marked, and exact in 64 bits"
is "$(BUSY=1 stub)" "{'cycles': None} 9 3 not-counted False it: taken; wait" "a counter without room on the PMU: None, and why"

mkdir alone broken
cp -r "$installed/pmc" alone
echo no library >broken/libpmc.so.0
export LD_LIBRARY_PATH=$T/broken
is "$(failing 'pmc.Counter("page-faults").enable()')" "no error" "a library that cannot be loaded: that of the prefix is"
like "$(PYTHONPATH=$T/alone failing 'pmc.Counter("page-faults")')" \
	"^Error ENOENT libpmc.so.0: cannot be loaded \(.*\); install pmcagent \(make install\), or set LD_LIBRARY_PATH" \
	"without the library: what is missing, and how to get it"
unset LD_LIBRARY_PATH

# ---- rows of dumps ---------------------------------------------------------------------------------
py 'rows = pmc.read("x.pmc")
for row in sorted(rows, key=lambda row: row["seq"]):
    print(row["seq"], row["cpu_ns"], row["page-faults"], row["page-faults.state"], row["created_by"])'
is "$(cat out)" "$("$PMCTL" report --format json x.pmc |
	jq -r '.threads | sort_by(.seq)[] | "\(.seq) \(.cpu_ns) \(.events[0].value) \(.events[0].state) \(.created_by // "None")"')" \
	"read: a row for each thread"
py 'rows = pmc.read("x.pmc", by="region", where="main=false")
print(len(rows), rows[0]["key"], rows[0]["threads"], rows[0]["calls"], rows[0]["page-faults.sum"] >= 15)
print(len(pmc.read("x.pmc", "x.pmc", sort="page-faults", top=1, where=["main=true", "name=*"])))
print(pmc.read("x.pmc", by="pool,thread")[0].keys() >= {"pool", "thread", "cpu_ns.max"})'
is "$(cat out err)" "1 shared 3 6 True
1
True" "read: other keys, and the flags of the report"
# The names are those of the CSV.
py 'print(*sorted(set(pmc.read("x.pmc")[0]) - {"exe", "rank"}))'
is "$(tr ' ' '\n' <out)" "$("$PMCTL" report --format csv x.pmc | head -n 1 | tr , '\n' | grep -vxE 'exe|rank' | LC_ALL=C sort)" \
	"read: columns have the names of the CSV"
cat >fake <<'END_SH'
#!/bin/sh
echo '{"warning":{"command":"report","message":"half of it"}}' >&2
echo '{"threads":[{"events":[{"name":"a","value":1,"core_type":"big"},{"name":"a","value":null},{"name":"a","value":3}]}]}'
exit "${FAKE:-0}"
END_SH
chmod +x fake
PMCTL=$T/fake run "$python" -c 'import pmc; print(pmc.read("x"))'
is "$(cat out)" "[{'a@big': 1, 'a': None, 'a#2': 3}]" "read: names of core types and of equal events"
like "$(cat err)" "UserWarning: half of it" "read: a warning of pmctl is Python's"
like "$(PMCTL=/nowhere/pmctl failing 'pmc.read("x.pmc")')" \
	"^Error ENOENT /nowhere/pmctl: cannot be run \(.*\); install pmcagent \(make install\), or set PMCTL" "read: no pmctl"
like "$(failing 'pmc.read("none.pmc")')" "^Error EIO cannot read none.pmc: No such file" "read: no such file"
like "$(failing 'pmc.read("x.pmc", by="thrad")')" "^Error EINVAL invalid --by 'thrad'; did you mean 'thread'" "read: an unknown key"
printf 'raise ImportError("no pandas")\n' >pandas.py
like "$(PYTHONPATH=$T:$PYTHONPATH failing 'pmc.read("x.pmc", frame=True)')" \
	"^ImportError - no pandas" "read: a frame without pandas"
rm pandas.py

# ---- the example -----------------------------------------------------------------------------------
rm -f run.pmc
run "$PMCTL" run --report off -o run.pmc -- "$python" "$ROOT/docs/examples/python.py"
is "$status $(sed -E 's/[0-9]+}/N}/; s/\{.*instructions.*\}/{}/; s/\{.task-clock.: N\}/{}/' out)" "0 counted: {}
sum: 499999500000 499999500000" "the example counts and marks"
run "$python" "$ROOT/docs/examples/python.py" run.pmc
# One thread of the pool may do all of the work.
is "$status $(sed -nE 's/^([a-z]+) [12]( [0-9]+) [0-9.]+ ms$/\1\2/p' out | sort | xargs)" "0 fill 2 sum 2 work 2" \
	"the example reads its dump"

ok "make uninstall" make -s -C "$ROOT" uninstall DESTDIR="$T/dest" PREFIX=/usr
is "$(find "$T/dest" ! -type d -o -path "$installed/pmc")" "" "uninstall leaves no file, and no directory of the module"

done_testing
