#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real captures through a card: in by a net_pcap wire of port 0, out by one of port 1. Order and bytes must stay."""
import glob
import hashlib
import json
import os
import subprocess

import tpmd

cases = tpmd.Cases()
DIR = os.environ.get('TP_CAPTURES') or os.path.join(os.environ.get('TP_ROOT', '.'), '../shared/data/captures')
MAX_FRAME = 1518
MIN_FRAME = 60  # the card pads shorter frames, as every Ethernet does


def frames(path):
    """Every frame's bytes as hex, by tshark: it reads both formats and is no part of DPDK."""
    out = subprocess.run(['tshark', '-r', path, '-T', 'jsonraw', '-j', 'frame', '--no-duplicate-keys'],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120).stdout

    return [p['_source']['layers']['frame_raw'][0] for p in json.loads(out or b'[]')]


def digest(list_of_hex):
    h = hashlib.sha256()
    for f in list_of_hex:
        h.update(bytes.fromhex(f) + b'\0')
    return h.hexdigest()


def replay(path):
    source = frames(path)
    short = [f + '00' * (MIN_FRAME - len(f) // 2) if len(f) < 2 * MIN_FRAME else f for f in source]
    fits = [f for f in short if len(f) // 2 <= MAX_FRAME]
    with tpmd.scratch() as d:
        # The pcap driver reads the classic format only, and it truncates nothing that is snapped.
        subprocess.run(['editcap', '-F', 'pcap', path, d + '/in.pcap'], check=True, stderr=subprocess.PIPE, timeout=60)
        vdevs = ['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/none.pcap' % (d, d), 'net_pcap1,rx_pcap=%s/none.in,tx_pcap=%s/out.pcap' % (d, d),
                 'net_mlx4_model0,wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1']
        with open(d + '/none.in', 'wb') as f:
            f.write(bytes.fromhex('d4c3b2a1020004000000000000000000ffff000001000000'))
        with tpmd.Testpmd(vdevs, ['--rxd=4096', '--txd=4096', '--forward-mode=io', '--disable-device-start', '--no-flush-rx']) as t:
            # Before the ports start: nothing may arrive that no rule takes. What arrives then waits in the rings, which
            # testpmd would empty at its start.
            t.cmd('set promisc all on')
            t.cmd('port start all')
            t.cmd('start')
            t.until(t.ports[1], 'tx_port_packets', len(fits), get=t.xstats)
            t.cmd('stop')
            x = t.xstats(t.ports[0])
            s = t.stats(t.ports[0])
            t.quit()
        got = frames(d + '/out.pcap')
    if digest(got) != digest(fits):
        first = next((i for i, (a, b) in enumerate(zip(got, fits)) if a != b), min(len(got), len(fits)))
        return '%d of %d frames came out, frame %d differs; stats %s' % (len(got), len(fits), first, s)
    dropped = len(short) - len(fits)
    counted = sum(v for k, v in x.items() if 'long' in k or 'jabber' in k) + s['rx-errors']
    return None if counted >= dropped else '%d frames above the MTU, %d counted' % (dropped, counted)


files = sorted(glob.glob(os.path.join(DIR, '*.pcap*')))
if not files:
    print('skip captures: no captures in %s (TP_CAPTURES names the folder)' % DIR)
for p in files:
    cases.run('capture-' + os.path.basename(p), replay, p)
cases.exit()
