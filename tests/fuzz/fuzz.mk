# SPDX-License-Identifier: MIT
# fuzz.mk - a target for each reader of untrusted bytes.

# Seconds per target; two targets run at a time.
FUZZ_SECONDS ?= 60

FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN   := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(FUZZ_SRC))
REPLAY_BIN := $(patsubst tests/fuzz/fuzz_%.c,$(O)/fuzz/replay_%,$(FUZZ_SRC))

fuzzers: $(FUZZ_BIN)
units: $(REPLAY_BIN)

# Each fuzz target is built twice: with libFuzzer, and as a program that replays files.
FUZZ_OBJ = $(TOOL_LIB) $(O)/libpmc.a
fuzz_link = $(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(TOOL_LIBS) $(LIBS) $(prog_flags)
$(O)/fuzz/fuzz_macho $(O)/fuzz/replay_macho: $(call obj,tools/run/darwin/macho.c)
$(O)/fuzz/fuzz_config $(O)/fuzz/replay_config: $(call obj,agent/base/job.c)
$(O)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(FUZZ_OBJ) $(O)/flags
	mkdir -p $(@D)
	$(fuzz_link) -fsanitize=fuzzer
$(O)/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/fuzz.h $(FUZZ_OBJ) $(O)/flags
	mkdir -p $(@D)
	$(fuzz_link)

fuzz: ## fuzz everything that reads untrusted input (clang; FUZZ_SECONDS=60 per target)
	sh tests/deps.sh fuzz
	$(MAKE) -j$(JOBS) O=$(O)-fuzz CC=clang CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' fuzzers
	O=$(O)-fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) bash tests/fuzz/fuzz.sh

.PHONY: fuzz fuzzers
