#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dpdk-git.sh DIR TAG: builds DPDK of a tag of the git clone that TP_DPDK_GIT names and installs it with the driver headers
# into DIR/root/usr. Only what this tree links is built: libraries, the buses, one mempool; no hardware's drivers, no programs.
set -euo pipefail
dir=$1 tag=$2
[ -n "${TP_DPDK_GIT:-}" ] || { printf 'TP_DPDK_GIT names no git clone of DPDK\n' >&2; exit 1; }
commit=$(git --git-dir="$TP_DPDK_GIT" rev-parse --verify --quiet "refs/tags/$tag^{commit}") ||
	{ printf '%s has no tag %s\n' "$TP_DPDK_GIT" "$tag" >&2; exit 1; }
rm -rf "$dir/src" "$dir/build" "$dir/root" "$dir/include" "$dir/package-version"
mkdir -p "$dir/src" "$dir/include"
git --git-dir="$TP_DPDK_GIT" archive "$commit" | tar -x -C "$dir/src"
# Its scripts want the pyelftools of the distribution, whatever Python the user has in front of it.
export PATH=/usr/bin:$PATH
meson setup "$dir/build" "$dir/src" --prefix=/usr --buildtype=plain -Dplatform=generic \
	-Dtests=false -Denable_driver_sdk=true -Ddisable_apps='*' -Ddeveloper_mode=disabled \
	-Denable_drivers=bus/pci,bus/vdev,mempool/ring \
	-Denable_libs=bpf,hash,pcapng,pdump,rcu,timer
ninja -C "$dir/build"
DESTDIR=$dir/root meson install -C "$dir/build" --quiet
for pc in "$dir"/root/usr/lib/*/pkgconfig/libdpdk*.pc; do
	sed -i -e "s|^prefix=.*|prefix=$dir/root/usr|" -e '/^Requires.private:.*/d' -e '/^Libs.private:.*/d' "$pc"
done
rm -rf "$dir/src" "$dir/build"
printf '%s (%s)\n' "${tag#v}" "$(printf '%s' "$commit" | cut -c1-12)" >"$dir/package-version"
