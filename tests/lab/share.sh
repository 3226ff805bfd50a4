# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Makes a folder for the guest with programs of the host and all they load, so that the host's build runs in the guest
# whatever its own libraries are. Sourced after lib.sh.

# The root of an unpacked Debian release whose programs and libraries are taken; empty: the host's.
share_root=

# Libraries of a program or library, and their loader.
share_libs() { # FILE
	local lib=$share_root/usr/lib/x86_64-linux-gnu
	if [ -z "$share_root" ]; then
		ldd "$1" | grep -o '/[^ ]*'
	else
		"$lib/ld-linux-x86-64.so.2" --library-path "$lib" --list "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'
	fi
}

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
		for l in $(share_libs "$f"); do
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
	[ -n "$share_root" ] || pmds=$(pkg-config --variable=driverdir libdpdk 2>/dev/null)
	[ -d "${pmds:-}" ] || pmds=$(find "$share_root/usr/lib" "$share_root/usr/local/lib" -type d -path '*dpdk/pmds-*' 2>/dev/null | head -n 1)
	printf '%s' "$pmds"
}

# DPDK's drivers that are not linked but loaded.
share_pmds() { # DIR NAME...
	local dir=$1 n pmds
	shift
	pmds=$(pmd_folder)
	for n in "$@"; do share_add "$dir" "$pmds/$n" || return; done
}
