#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# iPXE's own driver on an InfiniBand port: OpenSM, which runs over our port, brings it up, iPXE joins the group of IPoIB, and
# has DHCP, ping, HTTP and a Linux kernel from the host's stack behind our IPoIB port. It shows itself to DHCP as it does on
# Ethernet.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
ipoib_test=ipxe-ib
for c in dnsmasq python3; do
	command -v $c >/dev/null || { printf 'skip ipxe-ib: %s is not installed\n' $c; exit 0; }
done
ipxe_net=10.8.0
# In this order, as both have a say().
# shellcheck source=tests/lab/ipxe.sh
. "$lab_scripts/ipxe.sh"
# shellcheck source=tests/lab/ipoib.sh
. "$lab_scripts/ipoib.sh"

card ib --guid 0002c90300aa0000 --port0 ib --wire0 ibswitch:lab/port:1 --port1 ib --wire1 none \
	--socket "$lab_tmp/ours.sock" --guid 0002c90300bb0000 --ports 1 --port0 ib --wire0 ibswitch:lab/port:7 || exit
ipoib_host 2044 "--mbuf-size 2304" ""
say start
served ib far0
# The server sees the MAC that our port makes of its GUID.
ipxe_judged ib "mt4103 .*\\(IPoIB\\)" 00:02:ca:aa:00:01 "$lab_tmp/ib.sock"
ipoib_program_over triplane-end
card_verdict ib ipxe-ib "${ipxe_always[@]}" pkey-table wqe-crc
exit $lab_bad
