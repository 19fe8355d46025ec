# SPDX-License-Identifier: MIT
# source.sh - fetches a Debian source package through a source list of its own, which is removed
# afterwards; the machine's package manager never sees it.

# source_package NAME: unpacks the upstream source of NAME into the current directory.
source_package() {
	mkdir -p apt/lists/partial
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" >apt/sources.list
	local rc apt=(apt-get -q -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$PWD/apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
		-o APT::Sandbox::User=root)
	"${apt[@]}" update && "${apt[@]}" source --download-only "$1" &&
		tar --strip-components=1 -xf "$1"_*.orig.tar.*
	rc=$?
	rm -rf apt "$1"_*
	return $rc
}
