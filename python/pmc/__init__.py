# SPDX-License-Identifier: MIT
"""Performance counts from Python: marked regions, counters of the own process, rows of dumps.

    import pmc

    with pmc.region("parse"):                   # counted per thread under libpmcagent.so
        ...
    with pmc.Group("cycles", "instructions", fallback="task-clock") as group:
        ...
    print(group.read())                         # {"cycles": 81234, "instructions": 99120}
    rows = pmc.read("run.pmc", by="region")     # a list of dicts; frame=True: a pandas DataFrame

Regions need the agent and nothing else, counters the library libpmc.so.0, read() the command pmctl.
What was not counted is None, never 0. Python 3.9 or newer; pmc-python(3) is the manual page.
"""
from __future__ import annotations

import ctypes
import errno
import functools
import importlib
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import types
import warnings
from typing import (Any, Callable, Dict, Generator, Iterable, List, Literal, Optional, Tuple,
                    TypeVar, Union, cast, overload)

__all__ = ["Counter", "Error", "Group", "Reading", "Region", "read", "region"]


def __dir__() -> List[str]:
    return __all__


_F = TypeVar("_F", bound=Callable[..., Any])
_Path = Union[str, "os.PathLike[str]"]
_Words = Union[str, Iterable[str]]


class Error(OSError):
    """A call that failed: `errno`, and one line with the cause and the fix as `strerror`."""

    def __str__(self) -> str:
        return str(self.strerror)


def _words(words: _Words) -> Tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def _beside(name: str, folder: str) -> Optional[str]:
    """A file of the checkout's build, or of the prefix that this module is installed in."""
    up = pathlib.Path(__file__).resolve().parents
    places = [up[2] / "build"] + ([up[4] / folder] if len(up) > 4 else [])
    return next((str(p / name) for p in places if (p / name).is_file()), None)


def _struct(fields: str) -> Any:
    """A struct of the headers: "TYPE NAME, ...", the types those of ctypes without c_."""
    members = []
    for field in fields.split(","):
        kind, name = field.split()
        kind, _, length = kind.partition("*")
        one = getattr(ctypes, "c_" + kind)
        members.append((name, one * int(length) if length else one))
    return type("_Struct", (ctypes.Structure,), {"_fields_": members})


_SUMS = ("calls", "open", "cpu_ns", "self_cpu_ns", "count", "self_count", "enabled_ns", "running_ns")
# struct pmc_region_sum, pmc_group_typed_field, pmc_group_typed, pmc_group_typed_times, pmc_failure
_Sum = _struct("".join(f"uint64 {name}, " for name in _SUMS)
               + "bool has_cpu, bool has_count, uint8*38 reserved")
_Field = _struct("char_p name, char_p event, char_p unit, char_p doc")
_Typed = _struct("void_p counters, int32 failed, uint8 scope, uint8 target, uint8*2 reserved, "
                 "int32 pid, int32 cpu, uint64 open_mark")
_Times = _struct("uint64 enabled_ns, uint64 running_ns, int state, uint32*5 reserved")
_Failure = _struct("int error, char*64 what, char*320 advice, uint32*7 reserved")
# The head of struct pmc_open_options, and room for the rest.
_Options = _struct("uint32 size, int target, int pid, int cpu, int cgroup_fd, uint64 read_format, "
                   "bool enabled, bool enable_on_exec, bool remove_on_exec, bool inherit, "
                   "char*4096 rest")

# ---- regions ---------------------------------------------------------------------------------

# Of the agent; None without it. PyDLL keeps the GIL, which another thread could take at each mark.
_begin = getattr(ctypes.PyDLL(None), "pmc_region_begin", None)
_end = getattr(ctypes.PyDLL(None), "pmc_region_end", None)


class Region:
    """What region() returns. It has no state: threads may share it, and enter it again."""

    def __init__(self, name: str) -> None:
        self.name, self._name = name, os.fsencode(name)

    def __enter__(self) -> Region:
        if _begin is not None:
            _begin(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        if _end is not None:
            _end()

    def read(self, event: Optional[str] = None) -> Dict[str, Optional[int]]:
        """What the calling thread has done in this region: `calls` that have ended, their `cpu_ns`
        and `self_cpu_ns` (without the regions inside), and of an event of PMC_EVENTS their `count`,
        `self_count`, `enabled_ns`, `running_ns` (raw: scale it if it ran part of the time); `open`
        calls have not ended. None: not counted. Error: no agent, not begun, unknown event."""
        found = _Sum()
        code = -_library().pmc_region_read(self._name, event and os.fsencode(event),
                                           ctypes.byref(found))
        if code not in (0, errno.ENODATA, errno.EBUSY):
            raise Error(code, f"region {self.name}{event and ', ' + event or ''}: " + {
                errno.ENODEV: "this thread is not measured; start the program by pmctl run",
                errno.ENOENT: "this thread has not begun it; names of regions are per thread",
                errno.EINVAL: "not counted in this run; name the event in PMC_EVENTS",
            }.get(code, os.strerror(code)))
        known = [True, True, found.has_cpu, found.has_cpu] + 4 * [found.has_count]
        return {name: getattr(found, name) if is_known else None
                for name, is_known in zip(_SUMS[:None if event else 4], known)}

    def __call__(self, function: _F) -> _F:
        if isinstance(function, type) or inspect.isasyncgenfunction(function):
            raise TypeError(f"region {self.name}: a class or an asynchronous generator cannot be "
                            "decorated; mark blocks of it by `with`")
        if _begin is None:
            return function
        wrapper: Any
        if inspect.iscoroutinefunction(function):
            awaitable: Any = types.coroutine(self._steps)

            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                return await awaitable(function(*args, **kwargs))
        elif inspect.isgeneratorfunction(function):
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                return (yield from self._steps(function(*args, **kwargs)))
        else:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return function(*args, **kwargs)
        return cast(_F, functools.wraps(function)(wrapper))

    def _steps(self, steps: Any) -> Generator[Any, Any, Any]:
        """Runs a generator or coroutine. The region is closed while it is suspended: what the
        thread does then is not its own, and regions of one thread must nest."""
        resume, sent = steps.send, None
        while True:
            with self:
                try:
                    result = resume(sent)
                except StopIteration as end:
                    return end.value
            try:
                resume, sent = steps.send, (yield result)
            except BaseException as thrown:  # also GeneratorExit, of close()
                resume, sent = steps.throw, thrown


@overload
def region(name: str) -> Region: ...
@overload
def region(name: _F) -> _F: ...


def region(name: Any) -> Any:
    """Marks a region: `with region("parse"):`, `@region("parse")`, or `@region`, which takes the
    function's qualified name.

    Under the agent each thread's counts in the region are summed up by name, for `pmctl report
    --by region` and read(by="region"); without it nothing is done. Regions nest within their
    thread, so the block of a `with` should contain no `yield` and no `await`: decorate the
    function instead, each step of which then is a call of the region.
    """
    if callable(name):
        return Region(name.__qualname__.rpartition("<locals>.")[2])(name)
    return Region(name)


# ---- counters --------------------------------------------------------------------------------

_STATES = {0: "counted", 1: "scaled", 3: "not-counted"}


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.PyDLL:
    """libpmc: that of the dynamic linker, else one beside this module. PyDLL: see _begin."""
    name = "libpmc.so.0"
    try:
        library = ctypes.PyDLL(name)
    except OSError as error:
        beside = _beside(name, "lib")
        if not beside:
            raise Error(errno.ENOENT, f"{name}: cannot be loaded ({error}); install pmcagent "
                        "(make install), or set LD_LIBRARY_PATH to its directory") from None
        library = ctypes.PyDLL(beside)
    library.pmc_open_options_init.restype = _Options
    return library


class Reading(Dict[str, Optional[int]]):
    """Counts of a group by event name, all of the same moment; None: not counted.

    Clocks (task-clock, cpu-clock) are in ns, other events are numbers of events.
    """

    enabled_ns: int  #: time for which the group was enabled
    running_ns: int  #: part of that time for which it was on the PMU
    state: str  #: "counted", "scaled" (estimates: count * enabled / running) or "not-counted"
    reason: Optional[str]  #: why it was not counted, and the fix

    @property
    def scaled(self) -> bool:
        """Whether the counts are estimates, because other groups had the PMU for a while."""
        return self.state == "scaled"


class Group:
    """Counters that are on the PMU together, so that ratios of their counts are valid.

    events: as pmctl-run(1) -e takes them, each one event: "cycles", "instructions:u", "page-faults".
    fallback: opened instead if those cannot be; the attribute `events` names what is counted.
    pid: a thread ID; 0: the calling thread; -1: all threads, which needs a cpu. cpu: -1: any.
    inherit: also count threads and processes that the thread starts from now on.

    A new group is disabled. `with` enables it, and at the end reads and closes it; read() then
    returns that last reading. Use a group in one thread at a time. Counts include what the
    interpreter does between the calls: of an empty block some microseconds of task-clock.
    """

    _library: Optional[ctypes.PyDLL] = None

    def __init__(self, *events: str, fallback: _Words = (), pid: int = 0, cpu: int = -1,
                 inherit: bool = False) -> None:
        self._last: Optional[Reading] = None
        self._typed, self._library = _Typed(), _library()
        options = self._library.pmc_open_options_init()
        options.pid, options.target = max(pid, 0), pid == -1  # PMC_TARGET_ANY
        options.cpu, options.inherit = cpu, inherit
        error = self._open(events, options)
        if error and fallback:
            error = self._open(_words(fallback), options)
        if error:
            raise error

    def _open(self, events: Tuple[str, ...], options: Any) -> Optional[Error]:
        self.events = events
        names = [os.fsencode(event) for event in events]
        self._fields = (_Field * len(names))(*[(name, name, b"", b"") for name in names])
        return self._call("open_with", self._fields, len(names), ctypes.byref(options))

    def _call(self, verb: str, *args: Any) -> Optional[Error]:
        """What the function fails with; None: it does not."""
        code = getattr(self._library, "pmc_group_typed_" + verb)(ctypes.byref(self._typed), *args)
        if not code:
            return None
        failure = _Failure()
        _library().pmc_group_typed_explain(ctypes.byref(self._typed), self._fields, code,
                                           ctypes.byref(failure))
        texts = [text.decode(errors="replace") for text in (failure.what, failure.advice)]
        return Error(-code, ": ".join(filter(None, texts)))

    def _do(self, verb: str) -> None:
        error = self._call(verb)
        if error:
            raise error

    def enable(self) -> None:
        """Starts counting, or goes on."""
        self._do("enable")

    def disable(self) -> None:
        """Stops counting; counts are kept."""
        self._do("disable")

    def reset(self) -> None:
        """Sets counts and times to 0."""
        self._do("reset")

    def read(self) -> Reading:
        """Counts since the last reset; of a group that its `with` has closed, the last ones.

        Where nothing was counted (never enabled, no room on the PMU) the counts are None and
        `reason` says why; Error: the group is closed, or its descriptors are.
        """
        if self._last is not None:
            return self._last
        values, times = (ctypes.c_uint64 * len(self.events))(), _Times()
        error = self._call("read", len(values), values, ctypes.byref(times))
        if error and error.errno not in (errno.EAGAIN, errno.EBUSY, errno.ENODATA):
            raise error
        counts: List[Optional[int]] = [None] * len(values) if error else list(values)
        reading = Reading(zip(self.events, counts))
        reading.enabled_ns, reading.running_ns = times.enabled_ns, times.running_ns
        reading.state, reading.reason = _STATES[times.state], str(error) if error else None
        return reading

    @property
    def scope(self) -> str:
        """The modes that are counted: "all", "user" (also if kernel mode is not permitted), "kernel"."""
        return ("all", "user", "kernel")[self._typed.scope]

    def close(self) -> None:
        """Closes the descriptors. A group may be closed twice."""
        if self._library:
            self._library.pmc_group_typed_close(ctypes.byref(self._typed))

    __del__ = close

    def __enter__(self) -> Group:
        self.enable()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.disable()
            self._last = self.read()
        finally:
            self.close()


class Counter(Group):
    """A group of one event."""

    def __init__(self, event: str, *, fallback: str = "", pid: int = 0, cpu: int = -1,
                 inherit: bool = False) -> None:
        super().__init__(event, fallback=fallback, pid=pid, cpu=cpu, inherit=inherit)

    @property
    def value(self) -> Optional[int]:
        """The count of a reading made now; None: not counted."""
        return self.read()[self.events[0]]


# ---- dumps -----------------------------------------------------------------------------------


def _pmctl(*args: str) -> Any:
    """The JSON that pmctl prints. Its warnings become Python's."""
    tool = os.environ.get("PMCTL") or shutil.which("pmctl") or _beside("pmctl", "bin")
    try:
        done = subprocess.run([tool or "pmctl", *args], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise Error(error.errno, f"{tool or 'pmctl'}: cannot be run ({error.strerror}); install "
                    "pmcagent (make install), or set PMCTL to its path") from None
    said = done.stderr.decode(errors="replace")
    for line in said.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if "warning" in message:
            warnings.warn(message["warning"]["message"], stacklevel=3)
        elif "error" in message:
            said = message["error"]["message"]
    if done.returncode:
        raise Error(errno.EINVAL if done.returncode == 2 else errno.EIO,
                    said.strip() or f"pmctl {args[0]}: ended with {done.returncode}")
    return json.loads(done.stdout)


def _flat(row: Dict[str, Any]) -> Dict[str, Any]:
    """A row of the JSON with the columns of the CSV."""
    flat: Dict[str, Any] = {}
    for name, value in row.items():
        if name in ("metrics", "keys"):
            flat.update(value)
        elif name == "cpu":
            flat.update((f"cpu_ns.{part}", number) for part, number in value.items()
                        if part != "sum")
        elif name != "events":
            flat[name] = value
    seen: Dict[str, int] = {}
    for event in row.get("events", ()):
        column, core_type = event.pop("name"), event.pop("core_type", None)
        core = f"@{core_type}" if core_type else ""
        nth = seen[column + core] = seen.get(column + core, 0) + 1
        column += (f"#{nth}" if nth > 1 else "") + core
        flat.update((column if part == "value" else f"{column}.{part}", number)
                    for part, number in event.items())
    return flat


def _frame(rows: List[Dict[str, Any]], pandas: Any) -> Any:
    """Of integers among None pandas makes doubles unless told the type."""
    columns: Dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        known = [value for value in values if value is not None]
        if all(type(value) is int for value in known):
            fits = max(known, default=0) < 2**63
            values = pandas.array(values, dtype="Int64" if fits else object)
        columns[name] = values
    return pandas.DataFrame(columns)


@overload
def read(*paths: _Path, by: str = ..., where: _Words = ..., sort: str = ..., top: int = ...,
         frame: Literal[False] = ...) -> List[Dict[str, Any]]: ...
@overload
def read(*paths: _Path, by: str = ..., where: _Words = ..., sort: str = ..., top: int = ...,
         frame: Literal[True]) -> Any: ...


def read(*paths: _Path, by: str = "thread", where: _Words = (), sort: str = "", top: int = 0,
         frame: bool = False) -> Any:
    """Rows of dumps: a dict per row, or a pandas DataFrame of them if `frame` is true.

    It runs `pmctl report --format json` (the command of PMCTL, else of PATH). by, where, sort and
    top are its flags: by="thread" has a row per thread, other keys ("pool", "region", ...) have
    sums. Columns are those of its CSV: "instructions" is a thread's count, "instructions.sum"
    that of a group, "instructions.state" says how it was counted, minor_faults and major_faults
    are page faults. Counts are exact integers; what was not counted is None (in a frame: <NA>).
    Error: pmctl failed.
    """
    pandas = importlib.import_module("pandas") if frame else None
    flags = [f"--where={word}" for word in _words(where)]
    flags += [f"--{name}={value}" for name, value in
              (("by", by), ("sort", sort), ("top", top)) if value not in ("", 0, "thread")]
    data = _pmctl("report", "--format=json", *flags, "--", *[os.fspath(path) for path in paths])
    rows = [_flat(row) for row in data["threads" if by == "thread" else "groups"]]
    return _frame(rows, pandas) if frame else rows
