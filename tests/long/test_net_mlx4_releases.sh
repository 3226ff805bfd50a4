#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: the guest has two CPUs.
# Lab: its guest is that of tests/lab.
# DPDK's own net_mlx4 of later releases on the card: their testpmd with their driver and the provider of their rdma-core, from the
# Debian releases that have them, is judged by tests/lab/test_net_mlx4.sh. Unpacked into the cache folder, nothing is installed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/common.sh
. scripts/debian.sh
[ -z "${LAB_MISSING:-}" ] || { printf 'skip net-mlx4-releases: %s\n' "$LAB_MISSING"; exit; }
status=0

# Everything that testpmd and the drivers load, with a C library of their time.
fetch() { # folder, suite
	local dir=$1 suite=$2 f
	rm -rf "$dir"
	mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)
	deb_sources "$dir" deb "$suite" && deb_apt "$dir" apt-get update || return
	deb_apt "$dir" apt-get -y --no-install-recommends --download-only install dpdk-dev ibverbs-providers || return
	for f in "$dir"/apt/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$f" | tar -x --keep-directory-symlink -C "$dir" || return
	done
	deb_apt "$dir" apt-cache policy dpdk-dev | sed -n 's/^ *Candidate: //p' >"$dir/version"
	rm -rf "$dir/apt"
}

for r in 24.11:trixie 25.11:sid; do
	dir=$TP_CACHE/pmd-${r%%:*} log=$TP_CACHE/test-logs/net-mlx4-${r%%:*}.log
	if ! [ -s "$dir/version" ] && ! fetch "$dir" "${r##*:}" >"$log" 2>&1; then
		printf 'skip net-mlx4-%s: cannot be fetched from %s; see %s\n' "${r%%:*}" "${r##*:}" "$log"
		continue
	fi
	printf '# net-mlx4-%s: DPDK %s of %s\n' "${r%%:*}" "$(cat "$dir/version")" "${r##*:}"
	LAB_DPDK=$dir tests/lab/test_net_mlx4.sh >"$log" 2>&1 || status=1
	sed -E "s/^(ok|not ok|skip) net-mlx4-/&${r%%:*}-/" "$log"
done
exit $status
