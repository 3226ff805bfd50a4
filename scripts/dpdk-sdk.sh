#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dpdk-sdk.sh DIR PACKAGE LOG: puts DPDK's driver headers into DIR/include, taken from the source package of the
# version of PACKAGE that is installed (or SDK_VERSION). The source list is derived from the machine's own apt
# sources (SDK_SUITE replaces their suites when the headers of another release are wanted).
set -euo pipefail
dir=$1 package=$2 log=$3
version=${SDK_VERSION:-$(dpkg-query -W -f '${Version}' "$package")}
rm -rf "$dir"
mkdir -p "$dir/include" "$dir/apt/lists/partial" "$dir/apt/parts"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
	[ -f "$f" ] || continue
	case $f in
	*.sources) sed -e 's/^Types:.*/Types: deb-src/' ${SDK_SUITE:+-e "s/^Suites:.*/Suites: $SDK_SUITE/"} "$f" ;;
	*) sed -n -e 's/^deb /deb-src /p' "$f" ;;
	esac >"$dir/apt/parts/$(basename "$f")"
done
opts=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$dir/apt/parts" -o "Dir::State::Lists=$dir/apt/lists"
	-o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
{
	apt-get -q "${opts[@]}" update
	cd "$work"
	apt-get -q "${opts[@]}" source --download-only "dpdk=$version"
	mkdir src
	tar -xf dpdk_*.orig.tar.* -C src --strip-components=1
} >>"$log" 2>&1
headers="lib/ethdev/ethdev_driver.h lib/ethdev/ethdev_pci.h lib/ethdev/ethdev_vdev.h lib/eal/include/dev_driver.h
	drivers/bus/pci/bus_pci_driver.h drivers/bus/vdev/bus_vdev_driver.h"
for h in $headers; do
	cp "$work/src/$h" "$dir/include/"
done
rm -rf "$dir/apt"
