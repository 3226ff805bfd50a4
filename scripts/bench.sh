#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench.sh [NAME...] [--json]: builds, prepares the peers that are not installed (DPDK's net_mlx4 burst functions with
# private headers of the source package, lwIP), measures. Nothing fetched here becomes part of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh
. scripts/debian.sh

# The object of the installed static library in the harness of the tree.
upstream_harness() {
	local dir=$TP_CACHE/bench version lib object=net_mlx4_mlx4_rxtx.c.o flags
	version=$(dpkg-query -W -f '${Version}' libdpdk-dev 2>/dev/null || true)
	lib=$(pkg-config --variable=libdir libdpdk)/librte_net_mlx4.a
	[ -n "$version" ] && [ -f "$lib" ] || return 1
	mkdir -p "$dir"
	if [ "$(cat "$dir/version" 2>/dev/null)" != "$version" ]; then
		deb_source_files "$dir" "dpdk=$version" "" "$dir/src" 'drivers/net/mlx4/*.h' || return 1
		# What DPDK's configuration finds out about the installed verbs headers.
		echo '#define HAVE_IBV_MLX4_WQE_LSO_SEG 1' >"$dir/src/drivers/net/mlx4/mlx4_autoconf.h"
		printf '%s\n' "$version" >"$dir/version"
	fi
	(cd "$dir" && ar x "$lib" "$object") || return 1
	flags="$(pkg-config --cflags libdpdk) -D_GNU_SOURCE -DALLOW_EXPERIMENTAL_API -DALLOW_INTERNAL_API
		-idirafter $TP_CACHE/dpdk-sdk/include -O2 -Wno-address-of-packed-member -Itests/bench"
	# shellcheck disable=SC2046,SC2086
	gcc $flags -I. -Iinclude/triplane -Iprm -c tests/bench/datapath_main.c -o "$dir/main.o" &&
		gcc $flags -isystem "$dir/src/drivers/net/mlx4" -c tests/bench/upstream_mlx4.c -o "$dir/upstream.o" &&
		gcc "$dir/main.o" "$dir/upstream.o" "$dir/$object" -o "$dir/upstream_mlx4" \
			$(pkg-config --libs libdpdk) -lrte_mempool_ring
}

# rdma-core's provider, as installed, under the same harness as ours; its rings are made by calls that answer for the kernel.
verbs_harness() {
	local dir=$TP_CACHE/bench
	mkdir -p "$dir"
	# shellcheck disable=SC2046
	gcc -O2 $(pkg-config --cflags libdpdk) -D_GNU_SOURCE -Iprm -Itests/bench/verbs -c tests/bench/verbs/rings_main.c \
		-o "$dir/rings_main.o" &&
		gcc -O2 -rdynamic tests/bench/verbs/peer.c "$dir/rings_main.o" -o "$dir/verbs_peer" \
			$(pkg-config --cflags --libs libmlx4 libibverbs) -ldl
}

# lwIP of Debian's source package, under a harness that does what bench_tcp does with lib/tcp.
lwip_harness() {
	local dir=$TP_CACHE/bench/lwip
	mkdir -p "$dir"
	[ -f "$dir/lwip/src/core/tcp.c" ] || deb_source_files "$dir" lwip "" "$dir/lwip" 'src/*' || return 1
	gcc -O2 -Itests/bench/lwip -isystem "$dir/lwip/src/include" tests/bench/lwip/main.c "$dir"/lwip/src/core/*.c \
		"$dir"/lwip/src/core/ipv4/*.c "$dir/lwip/src/netif/ethernet.c" -o "$TP_CACHE/bench/lwip_tcp"
}

tp_build
tp_build_also benches
# What one benchmark needs and nothing else does, is installed when it is asked for.
# shellcheck disable=SC2046
case " $* " in *" verbs-programs "*) tp_install $(sed -n 's/^# Packages: //p' tests/bench/programs.py) ;; esac
# shellcheck disable=SC2046
case " $* " in *" sockets "*) tp_install $(sed -n 's/^# Packages: //p' tests/bench/sockets.py) ;; esac
rm -f "$TP_CACHE/bench/upstream_mlx4"
upstream_harness >"$TP_CACHE/bench.log" 2>&1 || tp_say "no net_mlx4 peer in this run; see $TP_CACHE/bench.log"
rm -f "$TP_CACHE/bench/verbs_peer"
verbs_harness >"$TP_CACHE/bench-verbs.log" 2>&1 || tp_say "no verbs peer in this run; see $TP_CACHE/bench-verbs.log"
rm -f "$TP_CACHE/bench/lwip_tcp"
lwip_harness >"$TP_CACHE/bench-lwip.log" 2>&1 || tp_say "no lwIP peer in this run; see $TP_CACHE/bench-lwip.log"
export TP_BUILD TP_CACHE TP_PLUGIN
export PATH="$TP_BUILD/apps:$PATH"
export LD_LIBRARY_PATH="$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec /usr/bin/python3 tests/bench/bench.py "$@"
