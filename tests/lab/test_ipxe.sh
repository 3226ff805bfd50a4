#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# iPXE's own driver of the card: link, DHCP, ping and HTTP from the Linux stack of a namespace over a tap, and at last a Linux
# kernel that booted from what came so. That kernel sums up a file of the same download: what iPXE received, octet for octet.
# The driver does what real cards take and the reference advises against; each such thing has a name, and nothing else occurs.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

for c in ip dnsmasq python3; do
	command -v $c >/dev/null || { printf 'skip ipxe: %s is not installed\n' $c; exit 0; }
done
ns=ipxe$$ tap=ipxe$$ pids=() ipxe_net=192.0.2
if ! ip netns add "$ns" 2>/dev/null || [ ! -c /dev/net/tun ]; then
	printf 'skip ipxe: network namespaces and TAP devices need root\n'
	exit 0
fi
ipxe_end() {
	local p
	for p in ${pids[@]+"${pids[@]}"}; do kill "$p" 2>/dev/null; done
	lab_end
	ip netns del "$ns"
}
trap ipxe_end EXIT
# shellcheck source=tests/lab/ipxe.sh
. "$lab_scripts/ipxe.sh"

ethernet() { # TYPE PCI-ID
	local t=$1
	card "$t" --type "$t" --guid 0002c90300a1b200 --wire0 "tap:$tap" || exit
	ip link set "$tap" netns "$ns" && ip -n "$ns" addr add 192.0.2.1/24 dev "$tap" && ip -n "$ns" link set "$tap" up
	served "$t" "$tap"
	ipxe_judged "$t" "$2 .*\\(Ethernet\\)" 00:02:c9:a1:b2:01 "$lab_tmp/$t.sock"
	want "ipxe-$t-link" "$t" console 'Link:up'
	card_verdict "$t" "ipxe-$t" "${ipxe_always[@]}" path-link
}

ethernet cx3pro mt4103
ethernet cx3 mt4099
exit $lab_bad
