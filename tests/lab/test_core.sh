#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mlx4_core of a stock kernel brings the card up with MSI-X, tests its interrupts, and does so again and again.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
loads=${LAB_LOADS:-20}

card a --wire0 cross --trace "$lab_tmp/a.trace" || exit
guest a 400 -b "$lab_tmp/a.sock" <<GUEST
echo "== lspci"
lspci -vv -d 15b3:
echo "== load"
cat /proc/uptime
modprobe mlx4_core || echo "load failed"
cat /proc/uptime
echo "== interrupts"
grep mlx4 /proc/interrupts
lspci -vv -d 15b3: | grep -E 'MSI-X|INTx'
echo "== ports"
for p in 1 2; do cat /sys/bus/pci/devices/0000:01:00.0/mlx4_port\$p; done
cat /sys/bus/pci/devices/0000:01:00.0/mlx4_port1_mtu
echo "== reload"
i=0
while [ \$i -lt $loads ]; do
	modprobe -r mlx4_core || break
	modprobe mlx4_core || break
	grep -q mlx4 /proc/interrupts || break
	i=\$((i + 1))
done
echo "reloads \$i"
modprobe -r mlx4_core && echo "unloaded"
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail core-guest "status $rc: $(tail -n 2 "$lab_tmp/a.err" | tr '\n' ' ')"
want core-identity a lspci 'MT27520|15b3:1007'
want core-capabilities a lspci 'MSI-X: Enable- Count=128'
want core-msix a interrupts 'PCI-MSIX.*mlx4-async'
want core-msix-enabled a interrupts 'MSI-X: Enable\+'
want core-port-type a ports '^eth$'
want core-reload a reload "^reloads $loads\$"
want core-unload a reload '^unloaded$'
no_errors core-log a dmesg
section a load | awk 'NR <= 2 { t[NR] = $1 } END { printf "# mlx4_core loads in %.2f s\n", t[2] - t[1] }'
sed -n 's/^lab: .* is up after/# guest boots in/p' "$lab_tmp/a.err"
card_verdict a core
# What the stock driver was answered, a new card in software answers, too.
if "$TP_BUILD/apps/replay/triplane-replay" "$lab_tmp/a.trace" >"$lab_tmp/a.replay" && [ "$(grep -c INPUT "$lab_tmp/a.trace")" -gt $((125 * loads)) ]; then
	pass core-replay
else
	fail core-replay "$(tail -n 4 "$lab_tmp/a.replay" | tr '\n' ';')"
fi
exit $lab_bad
