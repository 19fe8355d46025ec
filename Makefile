# SPDX-License-Identifier: MIT
# pmcagent: make help

VERSION := 0.1.0

# ---- knobs ---------------------------------------------------------------------------------
O       ?= build
CC      ?= cc
CXX     ?= g++
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
BINDIR  ?= $(PREFIX)/bin
INCDIR  ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/pmc
PKGDIR  ?= $(LIBDIR)/pkgconfig
DESTDIR ?=
CFLAGS  ?= -O2 -g
WERROR  ?=
V       ?= 0
HOSTS   ?= full
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)

# Cross builds use the compiler's own archiver: make CC=aarch64-linux-gnu-gcc O=build/aarch64
ifeq ($(origin AR),default)
AR := $(or $(if $(filter %-gcc,$(CC)),$(shell command -v $(patsubst %-gcc,%-ar,$(CC)) 2>/dev/null)),ar)
endif

OBJCOPY ?= $(or $(shell command -v $(patsubst %-gcc,%-objcopy,$(filter %-gcc,$(CC))) 2>/dev/null),objcopy)

Q := $(if $(filter 1,$(V)),,@)

# ---- flags ---------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
        -Wpointer-arith -Wwrite-strings $(if $(WERROR),-Werror)
BASE := -std=gnu11 -D_GNU_SOURCE -DPMC_VERSION='"$(VERSION)"' -iquote . -Iinclude -I$(O)/gen \
        $(WARN) -fno-strict-aliasing -MMD -MP
# The agent runs in foreign processes: hidden symbols, and TLS that needs no allocation.
AGENT_FLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec
# noseparate-code: each mapping of the library costs a program some 2 us at its start.
AGENT_LINK  := -shared -Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--hash-style=gnu \
               -Wl,-z,noseparate-code -Wl,-O1 -Wl,--as-needed -Wl,--wrap=syscall \
               -Wl,--version-script=agent/hooks/preload.map
# gcc compiles the agent as one unit, which saves a tenth of the instructions at a thread's start and
# end; clang's LTO objects need another linker. To turn it off: make LTO=
ifeq ($(origin LTO),undefined)
LTO := $(shell $(CC) --version 2>/dev/null | grep -q 'Free Software' && echo 'int x;' | \
	$(CC) -x c -shared -fPIC -flto=auto -ffat-lto-objects -o /dev/null - 2>/dev/null && \
	echo -flto=auto -ffat-lto-objects)
endif
# The shared library exports what include/pmc declares.
SONAME   := libpmc.so.0
LIB_LINK := -shared -Wl,-soname,$(SONAME) -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,--hash-style=gnu \
            -Wl,-O1 -Wl,--as-needed -Wl,--version-script=agent/core/api/libpmc.map
ALL_CFLAGS = $(BASE) $(AGENT_FLAGS) $(CFLAGS)

# ---- sources and products ------------------------------------------------------------------
CORE_SRC  := $(wildcard agent/core/*/*.c agent/core/*/linux/*.c agent/core/api/*/*.c)
AGENT_SRC := $(filter-out agent/core/%,$(wildcard agent/*/*.c))
TOOL_SRC  := $(wildcard tools/*/*.c tools/*/linux/*.c)
PLAN_SRC  := $(wildcard tests/planner/*.c)
UNIT_SRC  := $(wildcard tests/unit/test_*.c)
PROG_SRC  := $(wildcard tests/prog/*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
CORE_OBJ  := $(call obj,$(CORE_SRC))
API_OBJ   := $(filter $(O)/obj/agent/core/api/%,$(CORE_OBJ))
AGENT_DIR  := $(O)/$(if $(LTO),lto,obj)
AGENT_CORE := $(if $(LTO),$(O)/lto/core.a,$(O)/libpmc.a)
AGENT_OBJ  := $(patsubst %.c,$(AGENT_DIR)/%.o,$(AGENT_SRC))
LTO_CORE   := $(patsubst %.c,$(O)/lto/%.o,$(filter-out agent/core/api/%,$(CORE_SRC)))
TOOL_OBJ  := $(call obj,$(TOOL_SRC))
# Unit tests link the tools without main().
TOOL_LIB  := $(filter-out $(O)/obj/tools/cli/pmctl.o,$(TOOL_OBJ))
UNIT_BIN  := $(patsubst tests/unit/%.c,$(O)/unit/%,$(UNIT_SRC))
PROG_C    := $(patsubst tests/prog/%.c,$(O)/prog/%,$(PROG_SRC))
PROG_BIN  := $(PROG_C) $(O)/prog/cxx_threads $(O)/prog/sample_storm $(O)/prog/rust_threads
FUZZ_BIN  := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(FUZZ_SRC))
REPLAY_BIN := $(patsubst tests/fuzz/fuzz_%.c,$(O)/fuzz/replay_%,$(FUZZ_SRC))
EXAMPLE_BIN := $(patsubst docs/examples/%.c,$(O)/examples/%,$(wildcard docs/examples/*.c))
VM_BIN    := $(patsubst tests/vm/%.c,$(O)/vm/%,$(wildcard tests/vm/*.c))
BENCH_BIN := $(patsubst tests/bench/%.c,$(O)/bench/%,$(filter-out tests/bench/preload_%,$(BENCH_SRC))) \
             $(patsubst tests/bench/%.c,$(O)/bench/%.so,$(filter tests/bench/preload_%,$(BENCH_SRC)))

TOOL_LIBS := -ldw -lelf -liberty -ljansson -ltraceevent -lncursesw -ltinfo -lm
TEST_LIBS := -lcmocka

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

all: $(O)/libpmcagent.so $(O)/pmctl $(O)/pmc-spawn $(O)/libpmc.a $(O)/libpmc.so $(O)/public/libpmc.a ## build the agent, pmctl and libpmc
.DEFAULT_GOAL := all

# A change of flags rebuilds everything.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(LTO) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS) $(LTO) $(LDFLAGS)' > $@
FORCE:

# The page of pmctl export --to html as a string: page.html with the files that its lines name.
PAGE := $(addprefix tools/export/,page.html page.css page.js flame.js)
$(O)/gen/page.inc: $(PAGE)
	@mkdir -p $(@D)
	$(Q)awk '/^@[a-z]*\.(css|js)$$/ { f = "tools/export/" substr($$0, 2); while ((getline s < f) > 0) print s; next } 1' $< | \
		sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' > $@
$(O)/obj/tools/export/html.o $(foreach a,arm64 x86_64,$(O)/macos/$(a)/tools/export/html.o): $(O)/gen/page.inc

$(O)/obj/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(O)/lto/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  CC    $< (agent)")
	$(Q)$(CC) $(ALL_CFLAGS) $(LTO) -c -o $@ $<

# The file that defines syscall() is compiled without LTO, wherever LTO comes from: within one unit
# the linker could not wrap references to it.
$(O)/lto/agent/hooks/seccomp.o: override private LTO = -fno-lto
$(O)/obj/agent/hooks/seccomp.o: override private CFLAGS += -fno-lto

# The compiler must not turn the loops of memcpy and its kin into calls of themselves.
OWN_LIBC := -fno-builtin -ffreestanding
$(O)/lto/agent/base/own_libc.o: override private LTO = -fno-lto $(OWN_LIBC)
$(O)/obj/agent/base/own_libc.o: override private CFLAGS += -fno-lto $(OWN_LIBC)

$(O)/lto/core.a: $(LTO_CORE)
	$(if $(filter 0,$(V)),@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(O)/libpmc.a: $(CORE_OBJ)
	$(if $(filter 0,$(V)),@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(O)/libpmc.so: $(API_OBJ) $(O)/libpmc.a agent/core/api/libpmc.map
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LIB_LINK) $(LDFLAGS) -o $@ $(API_OBJ) $(O)/libpmc.a -ldl -pthread
	$(Q)ln -sf libpmc.so $(O)/$(SONAME)

# The installed archive is one object with its internal names hidden.
$(O)/public/libpmc.a: $(API_OBJ) $(O)/libpmc.a
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  AR    $@")
	$(Q)$(CC) -r -nostdlib -o $(@D)/libpmc.o $(API_OBJ) $(O)/libpmc.a
	$(Q)$(OBJCOPY) --localize-hidden $(@D)/libpmc.o
	$(Q)rm -f $@ && $(AR) qcs $@ $(@D)/libpmc.o

$(O)/libpmcagent.so: $(AGENT_OBJ) $(AGENT_CORE) agent/hooks/preload.map
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(AGENT_FLAGS) $(LTO) $(AGENT_LINK) $(LDFLAGS) -o $@ $(AGENT_OBJ) $(AGENT_CORE) -ldl -pthread

$(O)/pmctl: $(TOOL_OBJ) $(O)/libpmc.a
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(TOOL_OBJ) $(O)/libpmc.a $(TOOL_LIBS) -ldl -pthread

# Without libc, and as small as possible: see its first comment.
$(O)/pmc-spawn: tools/bench/helper/pmc_spawn.c $(O)/flags
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(CC) $(BASE) -MT $@ -O2 $(filter -g%,$(CFLAGS)) -ffreestanding -fno-stack-protector -fno-pie \
		-fcf-protection=none -fno-lto -static -nostdlib -Wl,--build-id=none -Wl,-z,noseparate-code -o $@ $<

# Most tests do not use the state that cmocka passes to each.
$(O)/unit/%: tests/unit/%.c $(TOOL_LIB) $(O)/libpmc.a $(O)/flags
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  TEST  $@")
	$(Q)$(CC) $(BASE) -Wno-unused-parameter -MT $@ $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter-out $(WITHOUT),$(filter %.o,$^)) $(O)/libpmc.a $(TEST_LIBS) $(TOOL_LIBS) -ldl -pthread

# What of the macOS port does not call macOS runs here, against doubles.
MAC_COUNTS := $(addprefix agent/core/,count/darwin/thread_counts.c count/darwin/kpc.c plan/darwin/mac_plan.c)
MAC_LOGIC  := $(MAC_COUNTS) $(addprefix agent/thread/,darwin/mac_threads.c darwin/mac_start.c start_routine.c) agent/base/agent.c agent/base/note.c
MAC_SIGNALS := agent/process/darwin/signals.c agent/base/agent.c agent/base/note.c
MAC_FILE   := agent/output/darwin/file.c agent/output/open.c agent/base/agent.c
$(O)/unit/test_mac_file: $(call obj,$(MAC_FILE))
$(O)/unit/test_mac_signals: $(call obj,$(MAC_SIGNALS))
-include $(patsubst %.c,$(O)/obj/%.d,$(MAC_SIGNALS) $(MAC_FILE))
$(O)/unit/test_mac_counts: $(call obj,$(MAC_COUNTS))
$(O)/unit/test_mac_threads: $(call obj,$(MAC_LOGIC))
MAC_RUN    := $(addprefix tools/,run/darwin/macho.c run/darwin/judge.c cli/darwin/spawn.c cli/darwin/mac_usage.c)
$(O)/unit/test_mac_run: $(call obj,$(MAC_RUN))
MAC_STAT   := $(addprefix tools/,stat/darwin/mac_stat.c cli/darwin/spawn.c cli/darwin/mac_usage.c)
$(O)/unit/test_mac_stat: $(call obj,$(MAC_STAT))
MAC_BENCH  := $(wildcard tools/bench/darwin/*.c) $(MAC_COUNTS) agent/core/event/darwin/pfm.c \
	$(addprefix tools/,list/darwin/kpep.c cli/darwin/spawn.c cli/darwin/mac_usage.c)
$(O)/unit/test_mac_bench: private WITHOUT = $(call obj,$(wildcard tools/bench/linux/*.c) tools/cli/linux/find_agent.c)
$(O)/unit/test_mac_bench: $(call obj,$(MAC_BENCH))
MAC_DOCTOR := $(addprefix tools/doctor/darwin/,checks.c facts.c) $(MAC_COUNTS) agent/core/event/darwin/pfm.c \
	$(addprefix tools/,list/darwin/kpep.c cli/darwin/spawn.c)
$(O)/unit/test_mac_doctor: private WITHOUT = $(call obj,$(wildcard tools/doctor/linux/*.c) tools/cli/linux/find_agent.c)
$(O)/unit/test_mac_doctor: $(call obj,$(MAC_DOCTOR))
$(O)/unit/test_mac_list: $(call obj,tools/list/darwin/kpep.c)
$(O)/fuzz/fuzz_macho $(O)/fuzz/replay_macho: $(call obj,tools/run/darwin/macho.c tools/run/darwin/judge.c)

$(O)/planner/planner: $(call obj,$(PLAN_SRC)) $(TOOL_LIB) $(O)/libpmc.a
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS) -ldl -pthread

# Each fuzz target is built twice: with libFuzzer, and as a program that replays files.
FUZZ_OBJ = $(TOOL_LIB) $(O)/libpmc.a
fuzz_link = $(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(TOOL_LIBS) -ldl -pthread \
            $(shell sed -n 's/.*prog-flags: *\([^*]*\).*/\1/p' $<)
$(O)/fuzz/fuzz_config $(O)/fuzz/replay_config: $(call obj,agent/base/job.c)
$(O)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(FUZZ_OBJ) $(O)/flags
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  FUZZ  $@")
	$(Q)$(fuzz_link) -fsanitize=fuzzer
$(O)/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/fuzz.h $(FUZZ_OBJ) $(O)/flags
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  TEST  $@")
	$(Q)$(fuzz_link)

# Programs to be measured, compiled without any of our flags. A line "prog-flags: ..." in the source
# adds to the command.
$(O)/prog/%: tests/prog/%.c
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  PROG  $@")
	$(Q)$(CC) -O2 -g -D_GNU_SOURCE -MMD -MP -MT $@ -o $@ $< -pthread -ldl $(shell sed -n 's/.*prog-flags: *\([^*]*\).*/\1/p' $<)

$(O)/prog/%: tests/prog/%.cc
	@mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -o $@ $< -pthread
$(O)/prog/%: tests/prog/%.rs
	@mkdir -p $(@D)
	$(Q)MAKEFLAGS= rustc -O -o $@ $<

# The examples of the documentation, built as a user of the static library would.
$(O)/examples/%: docs/examples/%.c $(O)/libpmc.a $(wildcard include/pmc/*.h)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  PROG  $@")
	$(Q)$(CC) -O2 -g $(WARN) -Iinclude -o $@ $< $(O)/libpmc.a -ldl -pthread

# Programs that only the emulated machine runs.
$(VM_BIN): tests/vm/loop.h tests/vm/take.h

$(O)/vm/typed $(O)/vm/counters $(O)/vm/records $(O)/vm/region_cost $(O)/vm/user_read: $(O)/libpmc.a
$(O)/vm/%: tests/vm/%.c
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  PROG  $@")
	$(Q)$(CC) -O2 -g -D_GNU_SOURCE -iquote . -Iinclude -MMD -MP -MT $@ -o $@ $< $(filter %.a,$^) -ldl -pthread $(shell sed -n 's/.*prog-flags: *\([^*]*\).*/\1/p' $<)

$(O)/bench/%.so: tests/bench/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -D_GNU_SOURCE -iquote . -Iinclude -shared -fPIC -ftls-model=initial-exec -o $@ $< -ldl -pthread
$(O)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -D_GNU_SOURCE -iquote . -Iinclude -o $@ $< -ldl -pthread

-include $(wildcard $(O)/unit/*.d $(O)/prog/*.d $(O)/vm/*.d)
-include $(CORE_OBJ:.o=.d) $(LTO_CORE:.o=.d) $(AGENT_OBJ:.o=.d) $(TOOL_OBJ:.o=.d)
-include $(patsubst %.c,$(O)/obj/%.d,$(PLAN_SRC) $(MAC_LOGIC) $(MAC_RUN) $(MAC_STAT) $(MAC_BENCH) $(MAC_DOCTOR) agent/base/job.c)

# ---- macOS: a cross build; docs/MACOS.md ----------------------------------------------------
MAC      := $(O)/macos
MAC_SDK  := $(MAC)/sdk
MAC_DIR  := $(abspath $(MAC_SDK))
# Asked of clang: the program of that name may be a wrapper such as ccache.
LLVM     ?= $(patsubst %/,%,$(dir $(shell clang -print-prog-name=llvm-lipo 2>/dev/null)))
# _Float16: in declarations of math.h that clang 14 cannot compile for x86_64. xlocale.h: strtod_l.
MAC_FLAGS = -nostdlibinc -isystem $(MAC_DIR)/any-darwin-any -isystem $(MAC_DIR)/headers \
            -idirafter $(MAC_DIR)/$(1)-linux-any -idirafter $(MAC_DIR)/any-linux-any \
            -D_Float16=float -D_FORTIFY_SOURCE=0 -include xlocale.h \
            $(BASE) -O2 -fPIC -fvisibility=hidden -DTOOL_WITHOUT_PERF_EVENTS
MAC_LINK  = $(LLVM)/ld64.lld -arch $(1) -platform_version macos 11.0 14.0 tests/macos/libSystem.tbd
# pmctl has the commands that do not need perf events, and none of the libraries of the Linux build.
MAC_TOOLS := $(filter-out tools/cli/pmctl.c \
	tools/report/symbols.c tools/list/pfm.c tools/list/sysfs.c tools/list/try.c tools/list/fit_host.c, \
	$(wildcard tools/bench/*.c tools/cli/*.c tools/doctor/*.c tools/export/*.c tools/merge/*.c tools/report/*.c tools/diff/*.c tools/list/*.c tools/run/*.c)) $(wildcard tools/*/darwin/*.c)
MAC_CORE  := $(filter-out agent/core/live/% agent/core/event/pfm.c,$(wildcard agent/core/*/*.c)) agent/core/api/bench/bench_stat.c \
	$(wildcard agent/core/*/darwin/*.c)
MAC_AGENT := agent/base/agent.c agent/base/note.c agent/output/open.c agent/process/report.c agent/process/settings.c agent/thread/start_routine.c \
	$(wildcard agent/*/darwin/*.c)
MAC_SRC   := $(MAC_CORE) $(MAC_TOOLS) $(MAC_AGENT) tools/cli/pmctl.c

$(MAC_SDK)/done: tests/macos/package-lock.json tests/macos/fetch.sh
	sh tests/macos/fetch.sh $(MAC_SDK)

# mac_arch ARCH LINUX_ARCH: objects and products of one architecture.
define mac_arch
$(MAC)/$(1)/%.o: %.c $(MAC_SDK)/done $(O)/flags
	@mkdir -p $$(@D)
	$$(if $$(filter 0,$$(V)),@echo "  CC    $$< ($(1))")
	$$(Q)$(LLVM)/clang -target $(1)-apple-macos11.0 $$(call MAC_FLAGS,$(2)) -c -o $$@ $$<
$(MAC)/$(1)/core.a: $(patsubst %.c,$(MAC)/$(1)/%.o,$(MAC_CORE))
	$$(Q)rm -f $$@ && $(LLVM)/llvm-ar --format=darwin qcsD $$@ $$^
$(MAC)/$(1)/pmctl: $(patsubst %.c,$(MAC)/$(1)/%.o,$(MAC_TOOLS) tools/cli/pmctl.c) $(MAC)/$(1)/core.a tests/macos/libSystem.tbd
	$$(Q)$(call MAC_LINK,$(1)) -e _main -o $$@ $$(filter-out %.tbd,$$^)
$(MAC)/$(1)/libpmcagent.dylib: $(patsubst %.c,$(MAC)/$(1)/%.o,$(MAC_AGENT)) $(MAC)/$(1)/core.a tests/macos/libSystem.tbd
	$$(Q)$(call MAC_LINK,$(1)) -dylib -install_name @rpath/libpmcagent.dylib -o $$@ $$(filter-out %.tbd,$$^)
-include $(patsubst %.c,$(MAC)/$(1)/%.d,$(MAC_SRC))
endef
$(eval $(call mac_arch,arm64,aarch64))
$(eval $(call mac_arch,x86_64,x86))

$(MAC)/%: $(MAC)/arm64/% $(MAC)/x86_64/%
	$(if $(filter 0,$(V)),@echo "  LIPO  $@")
	$(Q)$(LLVM)/llvm-lipo -create -output $@ $^

macos: $(MAC)/libpmcagent.dylib $(MAC)/pmctl ## cross-build the universal agent and pmctl for macOS (clang, lld, npm)

# ---- rules for people ----------------------------------------------------------------------
deps: ## install the build and test packages (Debian; needs root)
	sh tests/deps.sh build $(CROSS)

demo: ## install missing packages, build, measure xz -T4 and a python3 program
	sh tests/deps.sh demo
	$(MAKE) -j$(JOBS) all
	O=$(O) bash tests/demo.sh

check: ## install missing packages, build, run every test this machine can run
	sh tests/deps.sh check
	$(MAKE) -j$(JOBS) all progs units
	$(GUEST) -j$(JOBS) all guests
	O=$(O) bash tests/check.sh

check-unit: units ## run the unit tests only
	O=$(O) bash tests/check.sh unit
check-e2e: all progs ## run the end-to-end tests only
	O=$(O) bash tests/check.sh e2e

# The emulated machine is arm64.
GUEST = $(MAKE) CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar CFLAGS='-O2 -g' O=$(O)/aarch64
check-vm: all progs ## run the tests that need a hardware PMU, in an emulated machine
	sh tests/deps.sh vm
	$(GUEST) -j$(JOBS) all guests
	O=$(O) bash tests/check.sh vm

check-hosts: all progs ## compare other projects' tests and servers with and without the agent (HOSTS=short)
	sh tests/deps.sh hosts
	O=$(O) HOSTS=$(HOSTS) bash tests/check.sh hosts

check-planner: ## compare the counter assignment with brute force, print the numbers
	sh tests/deps.sh build
	$(MAKE) -j$(JOBS) $(O)/planner/planner
	O=$(O) bash tests/planner.t

units: $(UNIT_BIN) $(REPLAY_BIN) $(O)/planner/planner
fuzzers: $(FUZZ_BIN)
guests: $(PROG_C) $(VM_BIN) $(EXAMPLE_BIN)
examples: $(EXAMPLE_BIN)
progs: $(PROG_BIN)
benches: $(BENCH_BIN)

bench: ## print the table of costs, as ratios to the bare program
	sh tests/deps.sh bench
	$(MAKE) -j$(JOBS) all progs benches
	O=$(O) bash tests/bench/bench.sh

soak: all progs ## run an hour of threads, processes, samples and random signals (SECONDS=, SEED=)
	O=$(O) bash tests/soak.sh

asan: ## build and run the unit tests under AddressSanitizer and UBSan
	$(MAKE) -j$(JOBS) O=$(O)-asan CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined' units $(O)-asan/pmctl
	O=$(O)-asan bash tests/check.sh unit

tsan: ## build and run the unit tests under ThreadSanitizer
	$(MAKE) -j$(JOBS) O=$(O)-tsan CFLAGS='-O1 -g -fsanitize=thread' units
	O=$(O)-tsan bash tests/check.sh unit

# Seconds per target; two targets run at a time.
FUZZ_SECONDS ?= 60
fuzz: ## fuzz everything that reads untrusted input (clang; FUZZ_SECONDS=60 per target)
	sh tests/deps.sh fuzz
	$(MAKE) -j$(JOBS) O=$(O)-fuzz CC=clang CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' fuzzers
	O=$(O)-fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) bash tests/fuzz/fuzz.sh

INSTALL_MAN := $(wildcard docs/man/*.[1-9])
install: all ## install under DESTDIR/PREFIX
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pmc $(DESTDIR)$(INCDIR)/pmc
	install -m755 $(O)/pmctl $(DESTDIR)$(BINDIR)/
	install -m755 $(O)/libpmcagent.so $(O)/pmc-spawn $(DESTDIR)$(LIBDIR)/pmc/
	install -m644 $(O)/public/libpmc.a $(DESTDIR)$(LIBDIR)/
	install -m755 $(O)/libpmc.so $(DESTDIR)$(LIBDIR)/libpmc.so.$(VERSION)
	ln -sf libpmc.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libpmc.so
	install -d $(DESTDIR)$(PKGDIR)
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCDIR@|$(INCDIR)|; s|@VERSION@|$(VERSION)|' \
		data/pmc.pc.in >$(DESTDIR)$(PKGDIR)/pmc.pc
	chmod 644 $(DESTDIR)$(PKGDIR)/pmc.pc
	install -m644 include/pmc/*.h $(DESTDIR)$(INCDIR)/pmc/
	install -d $(DESTDIR)$(DATADIR)
	install -m644 data/*.tsv $(DESTDIR)$(DATADIR)/
	for m in $(INSTALL_MAN); do d=$(DESTDIR)$(MANDIR)/man$${m##*.}; install -d $$d; install -m644 $$m $$d/; done

uninstall: ## remove the installed files
	rm -f $(DESTDIR)$(BINDIR)/pmctl $(DESTDIR)$(LIBDIR)/libpmc.a $(addprefix $(DESTDIR)$(LIBDIR)/pmc/,libpmcagent.so pmc-spawn)
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libpmc.so $(SONAME) libpmc.so.$(VERSION)) $(DESTDIR)$(PKGDIR)/pmc.pc
	for h in include/pmc/*.h; do rm -f $(DESTDIR)$(INCDIR)/pmc/$${h##*/}; done
	for m in $(INSTALL_MAN); do rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; done
	for d in data/*.tsv; do rm -f $(DESTDIR)$(DATADIR)/$${d##*/}; done
	-rmdir $(DESTDIR)$(LIBDIR)/pmc $(DESTDIR)$(INCDIR)/pmc $(DESTDIR)$(DATADIR)

clean: ## remove all build directories
	rm -rf $(O) $(O)-*

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

.PHONY: macos all deps demo check check-unit check-e2e check-planner check-vm check-hosts units guests progs examples benches bench soak asan tsan fuzz fuzzers install uninstall clean help FORCE
