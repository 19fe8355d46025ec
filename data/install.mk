# SPDX-License-Identifier: MIT
# install.mk - make install and uninstall, and the Debian packages.

INSTALL_AGENT := $(O)/libpmcagent.so $(O)/pmc-spawn
INSTALL_INC   := $(wildcard include/pmc/*.h include/pmc/*.hpp)
INSTALL_PY    := $(addprefix python/pmc/,__init__.py py.typed)
INSTALL_DATA  := $(wildcard data/*.tsv)
INSTALL_EXAMPLES := $(wildcard docs/examples/*.*)
INSTALL_MAN   := $(wildcard docs/man/*.[1-9])
CMAKEDIR      := $(LIBDIR)/cmake/pmc
BASHDIR       ?= $(PREFIX)/share/bash-completion/completions
# zsh of Debian reads vendor-completions of /usr, and site-functions of /usr/local.
ZSHDIR        ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
SO_FILE       := libpmc.so.$(VERSION)
# fill FILE,DIR: makes FILE in DIR from data/FILE.in, with the paths of this installation.
fill = sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCDIR@|$(INCDIR)|; s|@VERSION@|$(VERSION)|; s|@SONAME@|$(SONAME)|' \
	data/$(1).in >$(DESTDIR)$(2)/$(1) && chmod 644 $(DESTDIR)$(2)/$(1)
# into DIR,FILES: the installed files. man_pages SECTION: its pages.
into = $(addprefix $(DESTDIR)$(1)/,$(notdir $(2)))
MAN_SECTIONS  := $(sort $(subst .,,$(suffix $(INSTALL_MAN))))
man_pages = $(filter %.$(1),$(INSTALL_MAN))

install: all ## install under DESTDIR/PREFIX
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pmc $(DESTDIR)$(INCDIR)/pmc $(DESTDIR)$(PKGDIR) $(DESTDIR)$(CMAKEDIR) $(DESTDIR)$(DATADIR) $(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(PYTHONDIR)/pmc
	install -m755 $(O)/pmctl $(wildcard $(O)/pmctl-mpi) $(DESTDIR)$(BINDIR)
	install -m755 $(INSTALL_AGENT) $(DESTDIR)$(LIBDIR)/pmc
	ln -sf pmc/libpmcagent.so $(DESTDIR)$(LIBDIR)
	install -m644 $(O)/public/libpmc.a $(DESTDIR)$(LIBDIR)
	install -m755 $(O)/libpmc.so $(DESTDIR)$(LIBDIR)/$(SO_FILE)
	ln -sf $(SO_FILE) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libpmc.so
	$(call fill,pmc.pc,$(PKGDIR))
	$(call fill,pmcConfig.cmake,$(CMAKEDIR))
	$(call fill,pmcConfigVersion.cmake,$(CMAKEDIR))
	install -m644 $(INSTALL_INC) $(DESTDIR)$(INCDIR)/pmc
	install -m644 $(INSTALL_DATA) $(DESTDIR)$(DATADIR)
	install -m644 $(INSTALL_EXAMPLES) $(DESTDIR)$(DOCDIR)/examples
	install -m644 $(INSTALL_PY) $(DESTDIR)$(PYTHONDIR)/pmc
	install -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR)
	install -m644 data/completion/pmctl.bash $(DESTDIR)$(BASHDIR)/pmctl
	install -m644 data/completion/_pmctl $(DESTDIR)$(ZSHDIR)
	install -d $(foreach s,$(MAN_SECTIONS),$(DESTDIR)$(MANDIR)/man$(s))
	$(foreach s,$(MAN_SECTIONS),install -m644 $(call man_pages,$(s)) $(DESTDIR)$(MANDIR)/man$(s) &&) true

uninstall: ## remove the installed files
	rm -f $(DESTDIR)$(BASHDIR)/pmctl $(DESTDIR)$(ZSHDIR)/_pmctl
	rm -f $(DESTDIR)$(BINDIR)/pmctl $(DESTDIR)$(BINDIR)/pmctl-mpi $(call into,$(LIBDIR)/pmc,$(INSTALL_AGENT)) $(DESTDIR)$(PKGDIR)/pmc.pc \
		$(call into,$(LIBDIR),libpmcagent.so libpmc.a libpmc.so $(SONAME) $(SO_FILE)) \
		$(call into,$(INCDIR)/pmc,$(INSTALL_INC)) $(call into,$(DATADIR),$(INSTALL_DATA)) $(call into,$(PYTHONDIR)/pmc,$(INSTALL_PY)) \
		$(call into,$(CMAKEDIR),pmcConfig.cmake pmcConfigVersion.cmake) $(call into,$(DOCDIR)/examples,$(INSTALL_EXAMPLES)) \
		$(foreach s,$(MAN_SECTIONS),$(call into,$(MANDIR)/man$(s),$(call man_pages,$(s))))
	rm -rf $(DESTDIR)$(PYTHONDIR)/pmc/__pycache__
	-rmdir $(DESTDIR)$(LIBDIR)/pmc $(DESTDIR)$(CMAKEDIR) $(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(DOCDIR) $(DESTDIR)$(INCDIR)/pmc $(DESTDIR)$(DATADIR) $(DESTDIR)$(PYTHONDIR)/pmc

# The packages are built in a copy of the tracked files. MAKEFLAGS, and O in the environment, would
# reach the make inside.
DEB_TREE := $(O)/deb/pmcagent-$(VERSION)
deb: ## build Debian packages in $(O)/deb
	sh tests/deps.sh deb
	[ "$$(dpkg-parsechangelog -S Version)" = $(VERSION) ] || { echo "make deb: debian/changelog begins with another version than $(VERSION); add an entry" >&2; exit 1; }
	rm -rf $(O)/deb && mkdir -p $(DEB_TREE)
	git ls-files -z | xargs -0 cp -P --parents -t $(DEB_TREE)
	cd $(DEB_TREE) && env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u O -u PREFIX dpkg-buildpackage -b -nc -us -uc -j$(JOBS) >../build.log 2>&1 || { tail -n 30 ../build.log >&2; exit 1; }
	ls $(O)/deb/*.deb

.PHONY: install uninstall deb
