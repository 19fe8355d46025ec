# SPDX-License-Identifier: MIT
# check.mk - unit tests, the programs that tests measure, and the targets that run tests.

HOSTS ?= full

UNIT_BIN := $(patsubst tests/unit/%.c,$(O)/unit/%,$(wildcard tests/unit/test_*.c))
PLAN_SRC := $(wildcard tests/planner/*.c)
PROG_C   := $(patsubst tests/prog/%.c,$(O)/prog/%,$(wildcard tests/prog/*.c))
PROG_BIN := $(PROG_C) $(addprefix $(O)/prog/,cxx_threads sample_storm rust_threads)
VM_BIN   := $(patsubst tests/vm/%.c,$(O)/vm/%,$(wildcard tests/vm/*.c))
EXAMPLE_BIN := $(patsubst docs/examples/%.c,$(O)/examples/%,$(wildcard docs/examples/*.c))

# A line "prog-flags: ..." in the source adds to the command.
prog_flags = $(shell sed -n 's/.*prog-flags: *\([^*]*\).*/\1/p' $<)

units: $(UNIT_BIN) $(O)/planner/planner
progs: $(PROG_BIN) $(addprefix $(O)/bench/,gen_dump gen_samples gen_history)
examples: $(EXAMPLE_BIN)
guests: $(PROG_C) $(VM_BIN) $(EXAMPLE_BIN)

# ---- rules for files -----------------------------------------------------------------------
# A function __wrap_NAME of a test, or of a header that it includes, takes the place of NAME.
WRAPS = $(shell cat $< $$(sed -n 's|^\#include "\(tests/unit/.*\)"|\1|p' $<) | grep -o '__wrap_[a-z_]*' | sort -u | sed 's/__wrap_/-Wl,--wrap=/')
# Most tests do not use the state that cmocka passes to each.
$(O)/unit/%: tests/unit/%.c $(TOOL_LIB) $(O)/libpmc.a $(O)/flags
	mkdir -p $(@D)
	$(CC) $(BASE) -Wno-unused-parameter -MT $@ $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter-out $(WITHOUT),$(filter %.o,$^)) $(O)/libpmc.a -lcmocka $(TOOL_LIBS) $(LIBS) $(WRAPS)


$(O)/unit/test_summary: $(O)/obj/agent/process/summary.o

$(O)/planner/planner: $(call obj,$(PLAN_SRC)) $(TOOL_LIB) $(O)/libpmc.a
	mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS) $(LIBS)

# Programs to be measured, compiled without any of our flags.
$(O)/prog/regions_read: $(O)/libpmc.a
$(O)/prog/%: tests/prog/%.c
	mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -MMD -MP -MT $@ -o $@ $< $(filter %.a,$^) -pthread -ldl $(prog_flags)

$(O)/prog/%: tests/prog/%.cc
	mkdir -p $(@D)
	$(CXX) -O2 -g -o $@ $< -pthread
$(O)/prog/%: tests/prog/%.rs
	mkdir -p $(@D)
	MAKEFLAGS= rustc -O -o $@ $<

# The examples of the documentation, built as a user of the static library would.
$(O)/examples/%: docs/examples/%.c $(O)/libpmc.a $(wildcard include/pmc/*.h)
	mkdir -p $(@D)
	$(CC) -O2 -g $(WARN) -Iinclude -o $@ $< $(O)/libpmc.a $(LIBS)

# Programs that only the emulated machine runs.
$(VM_BIN): tests/vm/loop.h tests/vm/take.h

$(O)/vm/typed $(O)/vm/counters $(O)/vm/records $(O)/vm/region_cost $(O)/vm/user_read: $(O)/libpmc.a
$(O)/vm/%: tests/vm/%.c
	mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -iquote . -Iinclude -MMD -MP -MT $@ -o $@ $< $(filter %.a,$^) $(LIBS) $(prog_flags)

# ---- rules for people ----------------------------------------------------------------------
check: ## install missing packages, build, run every test this machine can run
	sh tests/deps.sh check
	$(MAKE) -j$(JOBS) all progs units
	$(GUEST) -j$(JOBS) all guests
	O=$(O) bash tests/check.sh

check-unit: units ## run the unit tests only
	O=$(O) bash tests/check.sh unit
GOLDEN_BIN := $(addprefix $(O)/unit/,$(basename $(notdir $(wildcard tests/unit/test_capture_*.c))) test_report_table test_report_json)
check-golden: $(GOLDEN_BIN) ## compare output with tests/golden; UPDATE=1: rewrite these files
	$(foreach bin,$(GOLDEN_BIN),$(bin) &&) :
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

check-deb: deb ## examine the Debian packages, install and use them in a clean Debian
	O=$(O) bash tests/check.sh deb

check-planner: ## compare the counter assignment with brute force, print the numbers
	sh tests/deps.sh build
	$(MAKE) -j$(JOBS) $(O)/planner/planner
	O=$(O) bash tests/planner.t

soak: all progs ## run an hour of threads, processes, samples and random signals (SECONDS=, SEED=)
	O=$(O) bash tests/soak.sh

asan: ## build and run the unit tests under AddressSanitizer and UBSan
	$(MAKE) -j$(JOBS) O=$(O)-asan CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined' units $(O)-asan/pmctl
	O=$(O)-asan bash tests/check.sh unit

tsan: ## build and run the unit tests under ThreadSanitizer
	$(MAKE) -j$(JOBS) O=$(O)-tsan CFLAGS='-O1 -g -fsanitize=thread' units
	O=$(O)-tsan bash tests/check.sh unit

.PHONY: units progs examples guests check check-unit check-golden check-e2e check-vm check-hosts check-deb check-planner soak asan tsan
