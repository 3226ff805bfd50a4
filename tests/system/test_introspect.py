#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What unmodified testpmd shows of a port: module, queues, descriptors, registers, single queues stopped under traffic."""
import json
import os
import re
import socket
import sys
import time

from tpmd import Cases, RUN, Testpmd, eal, wait_until

cases = Cases()
PREFIX = 'tpi%d' % os.getpid()


def quiet_eal(name):
    return [a for a in eal(PREFIX + name) if not a.startswith('--log-level')]


def module(t):
    """SFF-8636, as its readers take it apart: identifier, vendor, part and the checksum over them."""
    out = t.cmd('show port 0 module_eeprom')
    data = bytes(int(b, 16) for line in re.findall(r'^[0-9a-fA-F]{8}: ([0-9A-Fa-f ]+)\|', out, re.M) for b in line.split())
    if len(data) < 256:
        return 'eeprom of %d bytes: %s' % (len(data), out[-300:])
    if data[0] != 0x0d or data[148:164].decode().rstrip() != 'Triplane' or not data[168:184].strip():
        return 'identifier 0x%02x, vendor %r' % (data[0], data[148:164])
    return None if sum(data[128:191]) % 256 == data[191] else 'checksum 0x%02x' % data[191]


def vpd(t):
    """The card's vital product data, taken apart as PCI has it: a name, fields that sum up to zero, an end."""
    out = t.cmd('show port 1 eeprom')
    data = bytes(int(b, 16) for line in re.findall(r'^[0-9a-fA-F]{8}: ([0-9A-Fa-f ]+)\|', out, re.M) for b in line.split())
    fields, at = {}, 3 + int.from_bytes(data[1:3], 'little')
    if data[0] != 0x82 or data[at] != 0x90:
        return 'no list of resources: %r' % out[-300:]
    end = at + 3 + int.from_bytes(data[at + 1:at + 3], 'little')
    at += 3
    while at < end:
        fields[data[at:at + 2].decode()] = data[at + 3:at + 3 + data[at + 2]]
        at += 3 + data[at + 2]
    if data[end:] != b'\x78' or sum(data[:end]) % 256 != 0 or list(fields) != ['PN', 'SN', 'RV']:
        return 'fields %s, sum %d, end %s' % (fields, sum(data[:end]) % 256, data[end:])
    return None if b'CX354A' in data[3:3 + data[1]] and fields['PN'].startswith(b'MCX354A') else 'a card called %s' % fields


def queues(t):
    rx, tx = t.cmd('show rxq info 0 0'), t.cmd('show txq info 0 0')
    for text, want in ((rx, 'Number of RXDs: 512'), (rx, 'Burst mode: '), (rx, 'RX scattered packets: off'), (rx, 'Mempool: mb'),
                       (tx, 'Number of TXDs: 512'), (tx, 'Burst mode: '), (tx, 'TX deferred start: off')):
        if want not in text:
            return 'no %r in %s' % (want, text)
    return None


def settled(t, line, pattern):
    """The answer when it has been the same twice and not 0: the card may still be at work on what was sent."""
    last, end = None, time.monotonic() + 60
    while time.monotonic() < end:
        n = re.search(pattern, t.cmd(line))
        if n is not None and int(n.group(1)) != 0 and last == n.group(1):
            break
        last = n and n.group(1)
        time.sleep(0.2)
    return n


def descriptors(t):
    """txonly receives nothing: frames wait in the ring of port 1, the descriptors behind them are free."""
    t.cmd('set fwd txonly')
    t.cmd('port stop all')
    t.cmd('port start all')
    for off, want in ((0, 'available'), (511, 'available')):
        if want not in t.cmd('show port 1 rxq 0 desc %d status' % off).lower():
            return 'descriptor %d: %s' % (off, t.text[-200:])
    t.cmd('start tx_first 1')
    t.cmd('stop')
    t.until(1, 'rx_port_packets', t.stats(0)['tx-packets'], get=t.xstats)
    n = settled(t, 'show port 1 rxq 0 desc used count', r'Used desc count = (\d+)')
    if n is None or int(n.group(1)) == 0:
        return 'used: %s' % t.text[-200:]
    for off, want in ((0, 'done'), (int(n.group(1)) - 1, 'done')):
        if want not in t.cmd('show port 1 rxq 0 desc %d status' % off).lower():
            return 'descriptor %d of %s: %s' % (off, n.group(1), t.text[-200:])
    if int(n.group(1)) < 512 and 'available' not in t.cmd('show port 1 rxq 0 desc %s status' % n.group(1)).lower():
        return 'descriptor %s: %s' % (n.group(1), t.text[-200:])
    if 'done' not in t.cmd('show port 0 txq 0 desc 511 status').lower():
        return 'tx: %s' % t.text[-200:]
    bad = t.cmd('show port 1 rxq 0 desc 512 status')
    return None if 'invalid' in bad.lower() else 'descriptor 512: %s' % bad


def firmware(t):
    out = t.cmd('show port info 0') + t.cmd('show device info all')
    return None if '2.42.5000' in out and 'net_mlx4_model0' in out else out[-400:]


def runs(t, dead, alive):
    """Forwards for a while: one counter (port, name) stands, the others count."""
    begin = [t.xstats(p)[n] for p, n in [dead, *alive]]
    t.cmd('start')
    went = wait_until(lambda: all(t.xstats(p)[n] > b + 1000 for (p, n), b in zip(alive, begin[1:])))
    t.cmd('stop')
    now = [t.xstats(p)[n] for p, n in [dead, *alive]]
    return None if went and now[0] == begin[0] else '%s stopped: from %s to %s' % (dead, begin, now)


def single_queues():
    """One of two queues is stopped: the other one has all frames; then both have theirs again. Every frame is accounted for. testpmd
    stops and starts queues only while it does not forward, and polls no receive queue whose transmit queue is stopped."""
    with Testpmd(['net_mlx4_model0'], args=['--rxq=2', '--txq=2'], eal_args=quiet_eal('q')) as t:
        t.cmd('set fwd flowgen')
        why = None
        for _ in range(2):
            for kind, port, dead, alive in (('rxq', 1, (1, 'rx_q1_packets'), [(1, 'rx_q0_packets')]),
                                            ('txq', 0, (0, 'tx_q1_packets'), [(0, 'tx_q0_packets'), (1, 'rx_missed_errors')])):
                out = t.cmd('port %d %s 1 stop' % (port, kind))
                why = why or runs(t, dead, alive)
                out += t.cmd('port %d %s 1 start' % (port, kind))
                why = why or (out if re.search('fail|error|stop forwarding', out, re.I) else None)
                why = why or runs(t, (0, 'tx_errors'), [dead, *alive[:1]])

        # what waits in the rings is polled
        t.cmd('set fwd rxonly')
        t.cmd('start')

        def unaccounted():
            a, b = t.xstats(0), t.xstats(1)
            return [x['tx_good_packets'] - sum([x['tx_stop_drops'], y['rx_good_packets'], y['rx_missed_errors'], y['rx_stop_drops']])
                    for x, y in ((a, b), (b, a))]

        if why is None and not wait_until(lambda: unaccounted() == [0, 0]):
            why = 'frames that neither came nor were counted as dropped: %s' % unaccounted()
        return why


def telemetry():
    """The driver's own endpoints, through DPDK's socket, against what testpmd counted; what is no queue is refused."""
    args = [a for a in quiet_eal('t') if a != '--no-telemetry']
    with Testpmd(['net_mlx4_model0'], args=['--rxd=512', '--txd=1024', '--rxq=2', '--txq=2'], eal_args=args) as t:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(30)
        s.connect(os.path.join(RUN, PREFIX + 't', 'dpdk_telemetry.v2'))
        s.recv(16384)

        def ask(what):
            s.send(what.encode())
            return json.loads(s.recv(16384))[what.split(',')[0]]

        t.cmd('start tx_first 4')
        t.until(0, 'rx-packets', 1)
        t.cmd('stop')
        if ask('/mlx4/list') != [0, 1]:
            return 'list %s' % ask('/mlx4/list')
        info = ask('/mlx4/info,1')
        if info['name'] != 'net_mlx4_model0' or info['port'] != 2 or info['firmware'] != '2.42.5000' or info['commands'] < 50:
            return str(info)
        if (info['device_id'], info['rx_pause'], info['tx_pause'], info['wake_on_lan']) != (0x1007, 0, 0, 0):
            return str(info)
        t.cmd('set flow_ctrl rx on tx off 0 0 0 0 mac_ctrl_frame_fwd off autoneg off 1')
        info = ask('/mlx4/info,1')
        if (info['rx_pause'], info['tx_pause']) != (1, 0):
            return 'pause frames: %s' % info
        # The command register: what it holds is the last command's, which has gone by.
        regs = ask('/mlx4/regs,1')
        if len(regs) < 7 or max(regs) > 0xffffffff or regs[6] & 1 << 23 or regs[6] & 0xfff == 0:
            return 'registers: %s' % regs
        for kind, descriptors, count in (('rxq', 512, 'rx-packets'), ('txq', 1024, 'tx-packets')):
            queues = [ask('/mlx4/%s,0,%d' % (kind, q)) for q in (0, 1)]
            if any(q['descriptors'] != descriptors or q['started'] != 1 for q in queues):
                return str(queues)
            if sum(q['packets'] for q in queues) != t.stats(0)[count] or t.stats(0)[count] == 0:
                return '%s, port %s' % (queues, t.stats(0))
            shown = re.search(r'Burst mode: (.*)', t.cmd('show %s info 0 0' % kind)).group(1).strip()
            if not shown or queues[0]['burst_mode'] != shown:
                return 'burst: %s, testpmd: %s' % (queues[0], shown)
        for bad in ('/mlx4/rxq,0,2', '/mlx4/rxq,0', '/mlx4/rxq,0,x', '/mlx4/rxq,0,1,1', '/mlx4/txq,9,0', '/mlx4/info,', '/mlx4/info,65536', '/mlx4/regs,7', '/mlx4/regs'):
            if ask(bad) is not None:
                return '%s: %s' % (bad, ask(bad))
    return None


with Testpmd(['net_mlx4_model0'], args=['--rxd=512', '--txd=512'], eal_args=quiet_eal('a')) as pmd:
    cases.run('module eeprom', module, pmd)
    cases.run('vital product data', vpd, pmd)
    cases.run('queue info', queues, pmd)
    cases.run('firmware and device', firmware, pmd)
    cases.run('descriptor status', descriptors, pmd)
cases.run('single queues', single_queues)
cases.run('telemetry', telemetry)
sys.exit(1 if cases.failed else 0)
