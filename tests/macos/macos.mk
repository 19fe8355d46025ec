# SPDX-License-Identifier: MIT
# macos.mk - the cross build for macOS (docs/MACOS.md), and unit tests of the port that run on Linux.

MAC      := $(O)/macos
MAC_SDK  := $(MAC)/sdk
MAC_DIR  := $(abspath $(MAC_SDK))
# Asked of clang: the program of that name may be a wrapper such as ccache.
LLVM     ?= $(eval LLVM := $(patsubst %/,%,$(dir $(shell clang -print-prog-name=llvm-lipo 2>/dev/null))))$(LLVM)
# _Float16: in declarations of math.h that clang 14 cannot compile for x86_64. xlocale.h: strtod_l.
MAC_FLAGS = -nostdlibinc -isystem $(MAC_DIR)/any-darwin-any -isystem $(MAC_DIR)/headers \
            -idirafter $(MAC_DIR)/$(1)-linux-any -idirafter $(MAC_DIR)/any-linux-any \
            -D_Float16=float -D_FORTIFY_SOURCE=0 -include xlocale.h \
            $(BASE) -O2 -fPIC -fvisibility=hidden -DTOOL_WITHOUT_PERF_EVENTS
MAC_LINK  = $(LLVM)/ld64.lld -arch $(1) -platform_version macos 11.0 14.0 tests/macos/libSystem.tbd
# pmctl has the commands that do not need perf events, and none of the libraries of the Linux build.
MAC_TOOLS := $(wildcard tools/rows/*.c tools/table/*.c tools/view/*.c) tools/symbol/symbols.c $(filter-out tools/cli/pmctl.c \
	tools/report/symbols.c, \
	$(wildcard tools/bench/*.c tools/cli/*.c tools/complete/*.c tools/doctor/*.c tools/export/*.c tools/merge/*.c tools/report/*.c tools/diff/*.c tools/list/*.c tools/run/*.c)) $(wildcard tools/*/darwin/*.c)
MAC_LIB   := $(filter-out lib/event/pfm.c,$(foreach d,base event count dump plan,$(wildcard lib/$(d)/*.c lib/$(d)/darwin/*.c))) \
	lib/bench/statistics.c
MAC_AGENT := agent/base/agent.c agent/output/open.c $(addprefix agent/process/,report.c settings.c summary.c) agent/thread/start_routine.c \
	$(wildcard agent/*/darwin/*.c)

$(MAC_SDK)/done: tests/macos/package-lock.json tests/macos/fetch.sh
	sh tests/macos/fetch.sh $(MAC_SDK)

# mac_arch ARCH LINUX_ARCH: objects and products of one architecture.
define mac_arch
$(MAC)/$(1)/%.o: %.c $(MAC_SDK)/done $(O)/flags
	mkdir -p $$(@D)
	$$(LLVM)/clang -target $(1)-apple-macos11.0 $$(call MAC_FLAGS,$(2)) -c -o $$@ $$<
$(MAC)/$(1)/lib.a: $(patsubst %.c,$(MAC)/$(1)/%.o,$(MAC_LIB))
	rm -f $$@ && $$(LLVM)/llvm-ar --format=darwin qcsD $$@ $$^
$(MAC)/$(1)/pmctl: $(patsubst %.c,$(MAC)/$(1)/%.o,$(MAC_TOOLS) tools/cli/pmctl.c) $(MAC)/$(1)/lib.a tests/macos/libSystem.tbd
	$$(call MAC_LINK,$(1)) -e _main -o $$@ $$(filter-out %.tbd,$$^)
$(MAC)/$(1)/libpmcagent.dylib: $(patsubst %.c,$(MAC)/$(1)/%.o,$(MAC_AGENT)) $(MAC)/$(1)/lib.a tests/macos/libSystem.tbd
	$$(call MAC_LINK,$(1)) -dylib -install_name @rpath/libpmcagent.dylib -o $$@ $$(filter-out %.tbd,$$^)
$(MAC)/$(1)/tools/export/html.o: $(O)/gen/page.inc
$(MAC)/$(1)/tools/cli/page.o: $(O)/gen/style.inc
endef
$(eval $(call mac_arch,arm64,aarch64))
$(eval $(call mac_arch,x86_64,x86))

$(MAC)/%: $(MAC)/arm64/% $(MAC)/x86_64/%
	$(call product,lipo  )
	$(LLVM)/llvm-lipo -create -output $@ $^

macos: $(MAC)/libpmcagent.dylib $(MAC)/pmctl ## cross-build the universal agent and pmctl for macOS (clang, lld, npm)

-include $(shell find $(MAC)/arm64 $(MAC)/x86_64 -name '*.d' 2>/dev/null)

# ---- unit tests ----------------------------------------------------------------------------
# What of the macOS port does not call macOS runs here, against doubles.
MAC_COUNTS := $(addprefix lib/,count/darwin/thread_counts.c plan/darwin/mac_plan.c)
MAC_LOGIC  := $(MAC_COUNTS) $(addprefix agent/thread/,darwin/mac_threads.c start_routine.c) agent/base/agent.c
MAC_SIGNALS := agent/process/darwin/signals.c agent/base/agent.c
MAC_FILE   := agent/output/darwin/file.c agent/output/open.c agent/base/agent.c
$(O)/unit/test_mac_file: $(call obj,$(MAC_FILE))
$(O)/unit/test_mac_signals: $(call obj,$(MAC_SIGNALS))
$(O)/unit/test_mac_counts: $(call obj,$(MAC_COUNTS))
$(O)/unit/test_mac_threads: $(call obj,$(MAC_LOGIC))
MAC_RUN    := $(addprefix tools/,run/darwin/macho.c cli/darwin/mac_usage.c)
$(O)/unit/test_mac_run: $(call obj,$(MAC_RUN))
MAC_STAT   := $(addprefix tools/,stat/darwin/mac_stat.c cli/darwin/mac_usage.c)
$(O)/unit/test_mac_stat: $(call obj,$(MAC_STAT))
MAC_BENCH  := $(wildcard tools/bench/darwin/*.c) $(MAC_COUNTS) lib/event/darwin/pfm.c \
	$(addprefix tools/,list/darwin/kpep.c cli/darwin/mac_usage.c)
$(O)/unit/test_mac_bench: private WITHOUT = $(call obj,$(wildcard tools/bench/linux/*.c))
$(O)/unit/test_mac_bench: $(call obj,$(MAC_BENCH))
MAC_DOCTOR := $(addprefix tools/doctor/darwin/,checks.c facts.c) $(MAC_COUNTS) lib/event/darwin/pfm.c \
	$(addprefix tools/,list/darwin/kpep.c)
$(O)/unit/test_mac_doctor: private WITHOUT = $(call obj,$(wildcard tools/doctor/linux/*.c))
$(O)/unit/test_mac_doctor: $(call obj,$(MAC_DOCTOR))
$(O)/unit/test_mac_list: $(call obj,tools/list/darwin/kpep.c)

.PHONY: macos
