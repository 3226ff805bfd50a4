#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified dpdk-testpmd with the plugin on a model card: forwarding modes, RSS, life of ports."""
import json
import os
import re
import subprocess

import tpmd
from scapy.all import Ether, IP, IPv6, TCP, rdpcap, wrpcap

cases = tpmd.Cases()
CARD = 'net_mlx4_model0,wire0=cross'
FIRST = 4  # bursts of 32 that each port sends first


def forwarded(mode, *extra):
    with tpmd.Testpmd([CARD], ['--forward-mode=' + mode] + list(extra)) as t:
        t.cmd('start tx_first %d' % FIRST)
        for p in (0, 1):
            t.until(p, 'rx-packets', 1000)
        t.cmd('stop')
        return [t.stats(p) for p in (0, 1)]


def loops_frames(mode):
    a, b = forwarded(mode)
    if a['rx-packets'] < 1000 or b['rx-packets'] < 1000:
        return 'frames stopped: %s %s' % (a, b)
    for s in (a, b):
        if s['rx-errors'] or s['tx-errors'] or s['rx-nombuf']:
            return 'errors: %s' % s
    # Forwarding neither makes nor loses frames: what was sent first is still under way, to the last frame.
    under_way = a['tx-packets'] + b['tx-packets'] - a['rx-packets'] - b['rx-packets']
    return None if under_way == FIRST * 32 * 2 else '%d frames under way, wanted %d: %s %s' % (
        under_way, FIRST * 32 * 2, a, b)


def txonly_rxonly():
    with tpmd.Testpmd([CARD], ['--forward-mode=txonly', '--txpkts=200']) as t:
        t.cmd('start')
        t.until(0, 'tx-packets', 1000)
        t.cmd('stop')
        tx = t.stats(0)
        t.cmd('set fwd rxonly')
        t.cmd('start')
        rx = t.until(1, 'rx-packets', 1)
        t.cmd('stop')
    if tx['tx-packets'] < 1000:
        return 'sent %s' % tx
    if rx['rx-packets'] == 0:
        return 'rxonly received nothing: %s' % rx
    if tx['tx-bytes'] != 200 * tx['tx-packets']:
        return 'bytes do not fit the frames: %s' % tx
    return None


# Microsoft's published verification suite: source, destination, ports, hash of addresses, hash with TCP ports.
KEY = '6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa'
VECTORS = [
    ('66.9.149.187', '161.142.100.80', 2794, 1766, 0x323e8fc2, 0x51ccc178),
    ('199.92.111.2', '65.69.140.83', 14230, 4739, 0xd718262a, 0xc626b0ea),
    ('24.19.198.95', '12.22.207.184', 12898, 38024, 0xd2d0a5de, 0x5c2b394a),
    ('38.27.205.30', '209.142.163.6', 48228, 2217, 0x82989176, 0xafc7327f),
    ('153.39.163.191', '202.188.127.2', 44251, 1303, 0x5d1809c5, 0x10e828a2),
    ('3ffe:2501:200:1fff::7', '3ffe:2501:200:3::1', 2794, 1766, 0x2cc18cd5, 0x40207d3d),
    ('3ffe:501:8::260:97ff:fe40:efab', 'ff02::1', 14230, 4739, 0x0f0c461c, 0xdde51bbf),
    ('3ffe:1900:4545:3:200:f8ff:fe21:67cf', 'fe80::200:f8ff:fe21:67cf', 44251, 38024, 0x4b61e985, 0x02d1feef),
]


def rss_vectors():
    with tpmd.scratch() as d:
        frames, want = [], []
        for src, dst, sport, dport, addr_hash, tcp_hash in VECTORS:
            ip = (IPv6 if ':' in src else IP)(src=src, dst=dst)
            eth = Ether(dst='00:02:c9:a1:b2:01', src='02:00:00:00:00:09')
            frames += [eth / ip / TCP(sport=sport, dport=dport), eth / ip]
            want += [tcp_hash, addr_hash]
        wrpcap(d + '/in.pcap', frames)
        pcap = 'net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/out.pcap,infinite_rx=1' % (d, d)
        with tpmd.Testpmd([pcap, 'net_mlx4_model0,ports=1,wire0=ethdev:net_pcap0'],
                          ['--forward-mode=rxonly', '--rxq=8', '--txq=8', '--rxd=256']) as t:
            port = t.ports[0]
            info = t.cmd('show port info %d' % port)
            size = int(re.search(r'Redirection table size: (\d+)', info).group(1))
            # On a stopped port: each change of a running one leaves rings full of earlier frames to print first.
            t.cmd('port stop all')
            for kind in ('ipv4', 'ipv4-tcp', 'ipv6', 'ipv6-tcp'):
                t.cmd('port config %d rss-hash-key %s %s' % (port, kind, KEY))
            t.cmd('port config all rss all')
            t.cmd('port start all')
            t.cmd('set verbose 1')
            t.cmd('set burst 32')
            t.cmd('start')
            for h in want:
                t.follow('RSS hash=0x%x - RSS queue' % h, 60)
            t.cmd('stop')
    got = [(int(h, 16), int(q, 16)) for h, q in re.findall(r'RSS hash=0x([0-9a-f]+) - RSS queue=0x([0-9a-f]+)', t.text)]
    seen = {h for h, _ in got}
    missing = ['%08x' % h for h in want if h not in seen]
    if missing:
        return 'hashes %s did not come; seen %s' % (missing, sorted('%08x' % h for h in seen)[:20])
    wrong = ['hash %08x on queue %d' % (h, q) for h, q in set(got) if h in want and q != (h % size) % 8]
    return '; '.join(wrong) or None


def rss_spread(queues):
    """Many flows over the queues: none is empty or has twice its share."""
    with tpmd.Testpmd([CARD], ['--forward-mode=flowgen', '--rxq=%d' % queues, '--txq=%d' % queues, '--rxd=256',
                               '--rss-ip']) as t:
        t.cmd('set txpkts 64')
        t.cmd('start')
        t.until(0, 'rx-packets', 10000)
        t.cmd('stop')
        x = t.xstats(0)
    n = [x.get('rx_q%d_packets' % q, x.get('rx_q%dpackets' % q, 0)) for q in range(queues)]
    if sum(n) < 10000:
        return 'too few frames: %s' % n
    return None if min(n) > 0 and max(n) < 2 * sum(n) / queues else 'uneven: %s' % n


# By RFC 2819 and the card's own bounds above 1518: largest size of each block, with FCS.
BLOCKS = [(64, '64'), (127, '65_to_127'), (255, '128_to_255'), (511, '256_to_511'), (1023, '512_to_1023'),
          (1518, '1024_to_1518'), (1522, '1519_to_1522'), (1548, '1523_to_1548'), (3008, '1549_to_mtu'), (9999, 'above_mtu')]
# Both sides of each bound; as many of a size as no other has.
SIZES = [64, 65, 127, 128, 255, 256, 511, 512, 1023, 1024, 1518, 1519, 1522, 1523, 1548, 1549, 3000, 3100]


def blocks_of(frames):
    sizes = [len(f) + 4 for f in frames]
    return {name: sum(low < s <= high for s in sizes)
            for low, (high, name) in zip([0] + [b[0] for b in BLOCKS], BLOCKS)}


def frame_sizes():
    """scapy's frames of known sizes in by one port, out by the other: both count them by size."""
    with tpmd.scratch() as d:
        # The longest come first: when the last one left, all have come.
        wrpcap(d + '/in.pcap', [Ether(dst='00:02:c9:a1:b2:01', src='02:00:00:00:00:09', type=0x88b5) / bytes(size - 18)
                                for n, size in reversed(list(enumerate(SIZES))) for _ in range(n + 1)])
        wrpcap(d + '/none.pcap', [], linktype=1)
        vdevs = ['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/back.pcap' % (d, d),
                 'net_pcap1,rx_pcap=%s/none.pcap,tx_pcap=%s/out.pcap' % (d, d),
                 'net_mlx4_model0,wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1']
        with tpmd.Testpmd(vdevs, ['--forward-mode=io', '--max-pkt-len=3000', '--mbuf-size=4096',
                                  '--disable-device-start', '--no-flush-rx']) as t:
            t.cmd('set promisc all on')
            t.cmd('port start all')
            t.cmd('start')
            a, b = t.ports
            sent = sum(n + 1 for n, size in enumerate(SIZES) if size <= 3000)
            t.until(b, 'tx_port_packets', sent, get=t.xstats)
            t.cmd('stop')
            rx, tx = t.xstats(a), t.xstats(b)
            t.cmd('clear port xstats all')
            cleared = t.xstats(a)
        want, left = blocks_of(rdpcap(d + '/in.pcap')), blocks_of(rdpcap(d + '/out.pcap'))
    if 0 in want.values() or left != dict(want, above_mtu=0):
        return 'sent %s, left %s' % (want, left)
    for side, x, counts in (('rx', rx, want), ('tx', tx, left), ('rx', cleared, dict.fromkeys(want, 0))):
        got = {k: x.get('%s_size_%s_packets' % (side, k)) for k in counts}
        if got != counts:
            return '%s %s, wanted %s' % (side, got, counts)
    return None


def start_stop_loop():
    with tpmd.Testpmd([CARD], ['--forward-mode=io']) as t:
        for _ in range(10):
            t.cmd('start tx_first 1')
            t.cmd('stop')
            out = t.cmd('port stop all') + t.cmd('port start all')
            if 'rror' in out or 'ail' in out:
                return out[-400:]
        t.cmd('clear port stats all')
        t.cmd('start tx_first 1')
        t.until(0, 'rx-packets', 101)
        t.cmd('stop')
        s = t.stats(0)
    return None if s['rx-packets'] > 100 else 'after ten rounds: %s' % s


def close_and_attach():
    with tpmd.Testpmd([CARD]) as t:
        t.cmd('start tx_first 1')
        t.until(0, 'rx-packets', 1)
        t.cmd('stop')
        t.cmd('port stop 0')
        t.cmd('port close 0')
        t.cmd('port stop 1')
        t.cmd('port close 1')
        out = t.cmd('device detach net_mlx4_model0')
        out += t.cmd('port attach net_mlx4_model0,wire0=cross')
        if 'is attached' not in out:
            return out[-400:]
        # It is another card, whose ports forward as those of the first one did.
        for line in ('set portlist 0,1', 'port start all', 'clear port stats all', 'start tx_first 1'):
            out = t.cmd(line)
            if 'ail' in out:
                return out[-400:]
        s = [t.until(p, 'rx-packets', 101)['rx-packets'] for p in (0, 1)]
        return None if min(s) > 100 else 'after it came back: %s' % s


def port_reset():
    with tpmd.Testpmd([CARD]) as t:
        t.cmd('port stop 0')
        out = t.cmd('port reset 0') + t.cmd('port start 0')
        if 'ail' in out or 'rror' in out:
            return out[-400:]
        t.cmd('clear port stats all')
        t.cmd('start tx_first 1')
        t.until(0, 'rx-packets', 101)
        t.cmd('stop')
        s = t.stats(0)
        return None if s['rx-packets'] > 100 else str(s)


def burst_mode(bits, want):
    """Which receive path is in use, by the limit of vector width, and that frames pass through it."""
    args = tpmd.eal('tp%dw%d' % (os.getpid(), bits)) + ['--force-max-simd-bitwidth=%d' % bits]
    with tpmd.Testpmd([CARD], eal_args=args) as t:
        out = t.cmd('show rxq info 0 0')
        if 'Burst mode: %s' % want not in out:
            return out[-400:]
        t.cmd('start tx_first 1')
        t.until(0, 'rx-packets', 101)
        t.cmd('stop')
        s = t.stats(0)
        return None if s['rx-packets'] > 100 else str(s)


def fastest():
    with open('/proc/cpuinfo') as f:
        return 'Vector AVX2' if ' avx2 ' in f.read() else 'Scalar'


def pmdinfo():
    lib = next((os.path.join(d, tpmd.PLUGIN) for d in os.environ.get('LD_LIBRARY_PATH', '').split(':')
                if os.path.exists(os.path.join(d, tpmd.PLUGIN))), None)
    if lib is None:
        return '%s is not in LD_LIBRARY_PATH' % tpmd.PLUGIN
    out = subprocess.run(['/usr/bin/python3', '/usr/bin/dpdk-pmdinfo.py', lib], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=60).stdout.decode()
    ids = {i['device'] for d in json.loads(out) for i in d['pci_ids'] if i['vendor'] == '15b3'}
    return None if ids == {'1003', '1004', '1007'} else 'ids %s in: %s' % (sorted(ids), out[:400])


for m in ('io', 'mac', 'macswap', 'csum'):
    cases.run('testpmd-' + m, loops_frames, m)
cases.run('testpmd-txonly-rxonly', txonly_rxonly)
cases.run('testpmd-rss-vectors', rss_vectors)
cases.run('testpmd-rss-spread', rss_spread, 8)
for queues in (3, 5, 7):
    cases.run('testpmd-rss-spread-%d-queues' % queues, rss_spread, queues)
cases.run('testpmd-frame-sizes', frame_sizes)
cases.run('testpmd-start-stop', start_stop_loop)
cases.run('testpmd-close-attach', close_and_attach)
cases.run('testpmd-reset', port_reset)
cases.run('testpmd-simd-64', burst_mode, 64, 'Scalar')
cases.run('testpmd-simd-256', burst_mode, 256, fastest())
cases.run('pmdinfo', pmdinfo)
cases.exit()
