#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cards on one switch: frames that pass are counted the same everywhere, settings hold, wrong ones are refused."""
import json
import os
import subprocess
import time

import tpmd

cases = tpmd.Cases()
APP = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')


def triplane(vdevs, command):
    cmd = [APP] + tpmd.eal('tpswitch%d' % os.getpid(), plugin=False, memory=512) + ['--vdev=' + v for v in vdevs]
    p = subprocess.run(cmd + ['--', '-e', command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')


def cards(*wires):
    return ['net_mlx4_model%d,ports=1,wire0=switch:%s' % (i, w) for i, w in enumerate(wires)]


def documents(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith('{')]


def prio(sw, port, prio_):
    of_port = [p for p in sw['by_port'] if p['port'] == port][0]
    found = [p for p in of_port['by_priority'] if p['priority'] == prio_]
    return found[0] if found else {}


class Session(tpmd.Triplane):
    def __init__(self, vdevs, *lines):
        super().__init__(vdevs, memory=512)
        for line in lines:
            self.tell(line)

    def eventually(self, judge):
        """What a judge has to say at last: cards and switch may still be at work on what was sent."""
        end = time.monotonic() + 60
        while True:
            why = judge()
            if why is None or time.monotonic() > end:
                self.end()
                return why
            time.sleep(0.05)


def macswap():
    with Session(cards('lab', 'lab'), 'set fwd flowgen 0', 'set fwd macswap 1', 'set peer 1 1', 'start',
                 'wait counter tx_good_packets 100000 1 60', 'stop') as t:
        return t.eventually(lambda: counted(t.ask('show switch all'), t.ask('show port stats all'), t.ask('show model')))


def counted(sw, stats, model):
    """Everybody counts the same, and nothing is left."""
    sw = sw['switches']['lab']
    stats, model = stats['ports'], model['ports']
    if sw['ports'] != 2 or sw['used'] != 0:
        return 'not empty at the end: %s' % sw
    for port in (1, 2):
        c, wire = prio(sw, port, 0), model[port - 1]
        if c['rx_frames'] != wire['tx_frames'] or c['tx_frames'] != wire['rx_frames'] or c['rx_frames'] == 0:
            return 'port %d: switch %s, card %s' % (port, c, wire)
        if c['rx_frames'] != stats[port - 1]['tx_packets'] or wire['violations'] != 0:
            return 'port %d: driver %s, card %s' % (port, stats[port - 1], wire)
        drops = sum(v for k, v in c.items() if k.startswith('drop_'))
        if c['rx_frames'] != prio(sw, 3 - port, 0)['tx_frames'] + drops:
            return 'port %d: in, out and drops do not add up: %s' % (port, sw)
    return None


def paced():
    """The rate bounds what leaves from above; how much of it is used depends on the machine."""
    begun = time.monotonic()
    with Session(cards('lab', 'lab/rate:50'), 'set fwd flowgen 0', 'set fwd rxonly 1', 'start') as t:
        def judge():
            sw = t.ask('show switch lab')['switches']['lab']
            if not all(p.get('by_priority') for p in sw['by_port'] if p['port'] in (1, 2)):
                return 'nothing passes: %s' % sw
            sent, dropped = prio(sw, 2, 0).get('tx_frames', 0), prio(sw, 1, 0).get('drop_queue_limit', 0)
            # 60 bytes and 24 of line overhead at 50 Mb/s: 74404 frames a second. Far more is offered.
            most = 74405 * (time.monotonic() - begun) + 1000
            if sent > most:
                raise RuntimeError('%d frames, at most %d: %s' % (sent, most, sw))
            return None if sent > 74405 and dropped > 0 else str(sw)
        return t.eventually(judge)


def settings():
    rc, out, err = triplane(cards('lab/trust:dscp/lossless:3', 'lab'), 'switch set lab 2 ets:50+30+20+0+0+0+0+0; '
                            'switch set lab 0 lossless:3+4; show switch lab json')
    sw = documents(out)[-1]['switches']['lab'] if rc == 0 else {}
    # 12 MiB less 256 KiB of headroom for two ports and two priorities
    if rc != 0 or sw['shared_bytes'] != (12 << 20) - 4 * (256 << 10):
        return '%d %s %s' % (rc, sw, err[-300:])
    return None


def refused(vdevs, command, *words):
    rc, out, err = triplane(vdevs, command)
    lines = (out + err).splitlines()
    if rc not in (1, 2) or not any(all(w in line for w in words) for line in lines):
        return 'exit status %d, no line with %s: %s' % (rc, words, lines[-5:])
    return None


def judged():
    """tshark reads what a switch sends: PFC and 802.3x that stop and let go, packets marked with good checksums."""
    with tpmd.scratch() as tmp:
        path = os.path.join(tmp, 'switch.pcap')
        subprocess.run([os.path.join(os.environ['TP_BUILD'], 'tests/unit/model/switch_pcap'), path], check=True)
        fields = ['eth.dst', 'macc.opcode', 'macc.cbfc.enbv', 'macc.cbfc.pause_time.c3', 'macc.pause_time', 'ip.dsfield.ecn',
                  'ip.checksum.status', 'udp.checksum.status', '_ws.malformed']
        p = subprocess.run(['tshark', '-n', '-r', path, '-o', 'ip.check_checksum:TRUE', '-o', 'udp.check_checksum:TRUE', '-T',
                            'fields', '-E', 'separator=|'] + [x for f in fields for x in ('-e', f)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=60)
    rows = [line.split('|') for line in p.stdout.decode().splitlines()]
    if p.returncode != 0:
        return p.stderr.decode()[-400:]
    numbers = [[r[0]] + [int(v, 0) if v else None for v in r[1:8]] + [r[8]] for r in rows]
    group, host = '01:80:c2:00:00:01', '02:00:00:00:00:02'
    want = [[group, 0x101, 8, 0xffff, None, None, None, None, ''], [group, 0x101, 8, 0, None, None, None, None, ''],
            [group, 1, None, None, 0xffff, None, None, None, ''], [group, 1, None, None, 0, None, None, None, '']]
    # Not-ECT stays; ECT(1), ECT(0) and CE leave as CE. Checksums: 1 is good.
    want += [[host, None, None, None, None, ecn, 1, 1, ''] for ecn in (0, 3, 3, 3)]
    return None if numbers == want else 'tshark read %s' % numbers


cases.run('switch-judged-by-tshark', judged)
cases.run('switch-macswap', macswap)
cases.run('switch-paced', paced)
cases.run('switch-settings', settings)
for name, vdevs, command, words in (
        ('name', cards('a*b'), 'show port info 0', ('wire0', 'a*b', 'wanted')),
        ('word', cards('lab/speed:5'), 'show port info 0', ('speed:5', 'wanted', 'lossless')),
        ('range', cards('lab/rate:1000001'), 'show port info 0', ('rate', '1000001', '0..1000000')),
        ('too-many', cards('lab/ports:1', 'lab'), 'show port info 0', ('lab', 'all of its 1 ports')),
        ('set-range', cards('lab'), 'switch set lab 0 alpha:0', ('alpha', '0', '1..6400')),
        ('set-port', cards('lab'), 'switch set lab 2 rate:5', ('rate:5', 'no port 2')),
        ('unknown', cards('lab'), 'show switch other', ('other', 'wanted all'))):
    cases.run('switch-refused-' + name, refused, vdevs, command, *words)
cases.exit()
