# SPDX-License-Identifier: MIT
# bench.mk - the programs and libraries that make bench measures.

BENCH_SRC := $(wildcard tests/bench/*.c)
BENCH_BIN := $(patsubst tests/bench/%.c,$(O)/bench/%,$(filter-out tests/bench/preload_%,$(BENCH_SRC))) \
             $(patsubst tests/bench/%.c,$(O)/bench/%.so,$(filter tests/bench/preload_%,$(BENCH_SRC)))

benches: $(BENCH_BIN)

$(O)/bench/%.so: tests/bench/%.c
	mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -iquote . -Iinclude -shared -fPIC -ftls-model=initial-exec -o $@ $< $(LIBS)
$(O)/bench/gen_dump $(O)/bench/gen_samples $(O)/bench/gen_history: $(O)/libpmc.a
$(O)/bench/%: tests/bench/%.c
	mkdir -p $(@D)
	$(CC) -O2 -g -D_GNU_SOURCE -iquote . -Iinclude -o $@ $< $(filter %.a,$^) $(LIBS) -lm

bench: ## print the table of costs, as ratios to the bare program
	sh tests/deps.sh bench
	$(MAKE) -j$(JOBS) all progs benches
	O=$(O) bash tests/bench/bench.sh

.PHONY: bench benches
