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
DOCDIR  ?= $(PREFIX)/share/doc/pmc
PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
DESTDIR ?=
CFLAGS  ?= -O2 -g
WERROR  ?=
V       ?= 0
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)

# Cross builds use the compiler's own archiver: make CC=aarch64-linux-gnu-gcc O=build/aarch64
ifeq ($(origin AR),default)
AR := $(or $(if $(filter %-gcc,$(CC)),$(shell command -v $(patsubst %-gcc,%-ar,$(CC)) 2>/dev/null)),ar)
endif
OBJCOPY ?= $(or $(shell command -v $(patsubst %-gcc,%-objcopy,$(filter %-gcc,$(CC))) 2>/dev/null),objcopy)

# V=1 prints the command lines, else `product` a line for each product.
ifneq ($(V),1)
.SILENT:
MAKEFLAGS += --no-print-directory
product = @echo "  $(1) $@"
endif

# ---- flags ---------------------------------------------------------------------------------
# Where pmctl finds the agent, as seen from BINDIR.
AGENT_DIR := $(if $(filter-out $(PREFIX)/bin $(PREFIX)/lib,$(BINDIR) $(LIBDIR)),$(shell realpath -ms --relative-to=$(BINDIR) $(LIBDIR)),../lib)/pmc
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
        -Wpointer-arith -Wwrite-strings $(if $(WERROR),-Werror)
BASE := -std=gnu11 -D_GNU_SOURCE -DPMC_VERSION='"$(VERSION)"' -DPMC_AGENT_DIR='"$(AGENT_DIR)"' \
        -iquote . -Iinclude -I$(O)/gen $(WARN) -fno-strict-aliasing -MMD -MP
# The agent runs in foreign processes: hidden symbols, and TLS that needs no allocation.
AGENT_FLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec
# CET, where the compiler has it: a library without its mark turns the shadow stack of the host off.
CET := $(shell echo 'int x;' | $(CC) -x c -c -fcf-protection -o /dev/null - 2>/dev/null && echo -fcf-protection)
# noseparate-code: each mapping of the library costs a program some 2 us at its start.
AGENT_LINK  := -shared -Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--hash-style=gnu \
               -Wl,-z,noseparate-code -Wl,-O1 -Wl,--as-needed -Wl,--wrap=syscall $(if $(CET),-z shstk) \
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
            -Wl,-O1 -Wl,--as-needed -Wl,--version-script=lib/libpmc.map
# pmctl reads foreign bytes. _FORTIFY_SOURCE needs optimisation, and sanitizers see less with it.
HARDEN = $(if $(findstring -fsanitize,$(CFLAGS)),,-fstack-protector-strong $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
ALL_CFLAGS = $(BASE) $(AGENT_FLAGS) $(CET) $(CFLAGS)
LIBS      := -ldl -pthread
TOOL_LIBS := -ldw -lelf -liberty -ljansson -ltraceevent -lncursesw -ltinfo -lm

# ---- sources and products ------------------------------------------------------------------
# What agent, pmctl and libpmc share, and the counting library, which the agent leaves out.
SHARED_SRC := $(foreach d,base event count dump plan live snapshot,$(wildcard lib/$(d)/*.c lib/$(d)/linux/*.c))
API_SRC   := $(foreach d,counter sampler tracepoint bench,$(wildcard lib/$(d)/*.c))
AGENT_SRC := $(wildcard agent/*/*.c)
TOOL_SRC  := $(wildcard tools/*/*.c tools/*/linux/*.c)

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
API_OBJ    := $(call obj,$(API_SRC))
AGENT_LIB := $(if $(LTO),$(O)/lto/shared.a,$(O)/libpmc.a)
AGENT_OBJ  := $(patsubst %.c,$(O)/$(if $(LTO),lto,obj)/%.o,$(AGENT_SRC))
LTO_SHARED   := $(patsubst %.c,$(O)/lto/%.o,$(SHARED_SRC))
TOOL_OBJ   := $(call obj,$(TOOL_SRC))
# Unit tests link the tools without main().
TOOL_LIB   := $(filter-out $(O)/obj/tools/cli/pmctl.o,$(TOOL_OBJ))

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

all: $(O)/libpmcagent.so $(O)/pmctl $(O)/pmc-spawn $(O)/libpmc.a $(O)/libpmc.so $(O)/public/libpmc.a ## build the agent, pmctl and libpmc
.DEFAULT_GOAL := all

# A change of flags rebuilds everything, another spelling of $(O) nothing.
FLAGS = $(subst $(O)/,,$(CC) $(ALL_CFLAGS) $(LTO) $(LDFLAGS))
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@
FORCE:

$(O)/obj/tools/%.o: private BASE += $(HARDEN)
# The page of pmctl export --to html as a string: page.html with the files that its lines name.
$(O)/gen/page.inc: $(addprefix tools/export/,page.html page.css page.js strip.js flame.js)
	mkdir -p $(@D)
	awk '/^@[a-z]*\.(css|js)$$/ { f = "tools/export/" substr($$0, 2); while ((getline s < f) > 0) print s; next } 1' $< | \
		sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' > $@
$(O)/obj/tools/export/html.o: $(O)/gen/page.inc
# Its styles are those of other pages, too.
$(O)/gen/style.inc: tools/export/page.css
	mkdir -p $(@D)
	sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $< > $@
$(O)/obj/tools/cli/page.o: $(O)/gen/style.inc

$(O)/obj/%.o: %.c $(O)/flags
	mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(O)/lto/%.o: %.c $(O)/flags
	mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LTO) -c -o $@ $<

# The file that defines syscall() is compiled without LTO, wherever LTO comes from: within one unit
# the linker could not wrap references to it.
$(O)/lto/agent/hooks/seccomp.o: override private LTO = -fno-lto
$(O)/obj/agent/hooks/seccomp.o: override private CFLAGS += -fno-lto

# The compiler must not turn the loops of memcpy and its kin into calls of themselves.
OWN_LIBC := -fno-builtin -ffreestanding
$(O)/lto/agent/base/own_libc.o: override private LTO = -fno-lto $(OWN_LIBC)
$(O)/obj/agent/base/own_libc.o: override private CFLAGS += -fno-lto $(OWN_LIBC)

# Run once in a job, or in snapshots, or at the end: small rather than fast.
SMALL := $(addprefix agent/,base/job base/probe base/limits hooks/fd hooks/main hooks/seccomp output/private_dump output/open output/taken process/go_code process/leave process/report process/settings process/signals process/start process/summary thread/inherit_groups) $(addprefix lib/base/,advice config labels out show suggest utf8) lib/dump/command_line lib/event/% lib/plan/% lib/snapshot/sample
$(SMALL:%=$(O)/lto/%.o): override private CFLAGS += -Os

$(O)/lto/shared.a: $(LTO_SHARED)
$(O)/libpmc.a: $(call obj,$(SHARED_SRC)) $(API_OBJ)
$(O)/lto/shared.a $(O)/libpmc.a:
	rm -f $@ && $(AR) qcs $@ $^

$(O)/libpmc.so: $(API_OBJ) $(O)/libpmc.a lib/libpmc.map
	$(call product,libpmc)
	$(CC) $(CFLAGS) $(LIB_LINK) $(LDFLAGS) -o $@ $(API_OBJ) $(O)/libpmc.a $(LIBS)
	ln -sf libpmc.so $(O)/$(SONAME)

# The installed archive is one object with its internal names hidden.
$(O)/public/libpmc.a: $(API_OBJ) $(O)/libpmc.a
	mkdir -p $(@D)
	$(CC) -r -nostdlib -o $(@D)/libpmc.o $(API_OBJ) $(O)/libpmc.a
	$(OBJCOPY) --localize-hidden $(@D)/libpmc.o
	rm -f $@ && $(AR) qcs $@ $(@D)/libpmc.o

$(O)/libpmcagent.so: $(AGENT_OBJ) $(AGENT_LIB) agent/hooks/preload.map
	$(call product,agent )
	$(CC) $(CFLAGS) $(AGENT_FLAGS) $(LTO) $(AGENT_LINK) $(LDFLAGS) -o $@ $(AGENT_OBJ) $(AGENT_LIB) $(LIBS)

$(O)/pmctl: $(TOOL_OBJ) $(O)/libpmc.a
	$(call product,pmctl )
	$(CC) $(CFLAGS) -Wl,-z,now -Wl,-z,relro $(LDFLAGS) -o $@ $(TOOL_OBJ) $(O)/libpmc.a $(TOOL_LIBS) $(LIBS)

# For jobs of MPI, built by its compiler: make mpi MPICC=mpicc.mpich
MPICC ?= mpicc
mpi: $(O)/pmctl-mpi ## build pmctl-mpi, which merges and reports on the ranks of a job
$(O)/pmctl-mpi: tools/merge/mpi/pmctl_mpi.c $(TOOL_LIB) $(O)/libpmc.a
	$(call product,mpi   )
	command -v $(MPICC) >/dev/null || { echo "make mpi: no $(MPICC); apt-get install libopenmpi-dev openmpi-bin, or libmpich-dev mpich" >&2; exit 1; }
	$(MPICC) $(BASE) -MF $@.d $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS) $(LIBS)

# Without libc, and as small as possible: see its first comment.
$(O)/pmc-spawn: tools/bench/helper/pmc_spawn.c $(O)/flags
	$(CC) $(BASE) -MT $@ -O2 $(filter -g%,$(CFLAGS)) -ffreestanding -fno-stack-protector -fno-pie \
		-fcf-protection=none -fno-lto -static -nostdlib -Wl,--build-id=none -Wl,-z,noseparate-code -o $@ $<

# ---- tests, macOS and install --------------------------------------------------------------
PARTS := data/install.mk tests/check.mk tests/fuzz/fuzz.mk tests/bench/bench.mk tests/macos/macos.mk
include $(PARTS)

-include $(shell find $(addprefix $(O)/,obj lto unit prog vm pmc-spawn.d) -name '*.d' 2>/dev/null)

# ---- set-up --------------------------------------------------------------------------------
deps: ## install the build packages (Debian; needs root)
	sh tests/deps.sh build $(CROSS)

demo: ## install missing packages, build, measure xz -T4 and a python3 program
	sh tests/deps.sh demo
	$(MAKE) -j$(JOBS) all
	O=$(O) bash tests/demo.sh

clean: ## remove all build directories
	rm -rf $(O) $(O)-*

help: ## print this list
	@cat Makefile $(PARTS) | sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' | expand -t 22

.PHONY: all mpi deps demo clean help FORCE
