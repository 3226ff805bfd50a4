# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Makes a folder for the guest with programs of the host and all they load, so that the host's build runs in the guest
# whatever its own libraries are. Sourced after lib.sh.

# share_add DIR FILE...: programs and libraries, each with its libraries and their loader.
share_add() {
	local dir=$1 f l
	shift
	mkdir -p "$dir/bin" "$dir/lib"
	for f in "$@"; do
		case $f in
		*.so*) cp -L "$f" "$dir/lib/" || return ;;
		*) cp -L "$f" "$dir/bin/" || return ;;
		esac
		for l in $(ldd "$f" | grep -o '/[^ ]*'); do
			[ -e "$dir/lib/${l##*/}" ] || cp -L "$l" "$dir/lib/" || return
		done
	done
}

# The guest's way to run one of them: run PROGRAM ARGUMENT...
# shellcheck disable=SC2034
share_run='run() { local p=$1; shift; exec /host/lib/ld-linux-x86-64.so.2 --library-path /host/lib /host/bin/$p "$@"; }'

# Where the EAL looks for drivers.
pmd_folder() {
	local pmds
	pmds=$(pkg-config --variable=driverdir libdpdk 2>/dev/null)
	[ -d "$pmds" ] || pmds=$(find /usr/lib /usr/local/lib -type d -path '*dpdk/pmds-*' 2>/dev/null | head -n 1)
	printf '%s' "$pmds"
}

# DPDK's drivers that are not linked but loaded.
share_pmds() { # DIR NAME...
	local dir=$1 n pmds
	shift
	pmds=$(pmd_folder)
	for n in "$@"; do share_add "$dir" "$pmds/$n" || return; done
}
