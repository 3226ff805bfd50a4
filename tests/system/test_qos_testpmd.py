#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Quality of service by other people's words and judges: testpmd's commands; marks of frames by scapy and tshark."""
import json
import re
import subprocess

import logging

import tpmd

logging.getLogger('scapy.runtime').setLevel(logging.ERROR)
from scapy.all import Dot1Q, Ether, IP, IPv6, Raw, TCP, UDP, rdpcap, wrpcap  # noqa: E402

cases = tpmd.Cases()
MODEL = 'net_mlx4_model0,wire0=cross,wire1=cross'


def port_words(t, port):
    """What testpmd shows of a port's pause settings."""
    out = t.cmd('show port %d flow_ctrl' % port)
    return {k: v for k, v in re.findall(r'(Rx pause|Tx pause): (on|off)', out)}


def flow_ctrl():
    line = 'set flow_ctrl rx %s tx %s 0 0 0 1 mac_ctrl_frame_fwd off autoneg off 0'
    with tpmd.Testpmd([MODEL]) as t:
        for rx, tx in (('on', 'on'), ('off', 'on'), ('on', 'off'), ('off', 'off')):
            t.cmd(line % (rx, tx))
            got = port_words(t, 0)
            if got != {'Rx pause': rx, 'Tx pause': tx}:
                return 'asked for rx %s tx %s, shown %s' % (rx, tx, got)
        out = t.cmd('set flow_ctrl rx on tx on 0 0 0 1 mac_ctrl_frame_fwd on autoneg off 0')
        if 'MAC control frames' not in out:
            return 'no reason for refusing MAC control frames: ' + out
    return None


def pfc_ctrl():
    with tpmd.Testpmd([MODEL]) as t:
        out = t.cmd('set pfc_ctrl rx on tx on 0 0 0 3 0')
        if re.search(r'bad|error|failed', out, re.I):
            return out
        out = t.cmd('set flow_ctrl rx on tx on 0 0 0 1 mac_ctrl_frame_fwd off autoneg off 0')
        if '0x08' not in out:
            return 'pause beside PFC was not refused: ' + out
        out = t.cmd('set pfc_ctrl rx off tx off 0 0 0 3 0')
        out = t.cmd('set flow_ctrl rx on tx on 0 0 0 1 mac_ctrl_frame_fwd off autoneg off 0')
        if port_words(t, 0) != {'Rx pause': 'on', 'Tx pause': 'on'}:
            return 'pause without PFC was refused: ' + out
    return None


def tm():
    with tpmd.Testpmd([MODEL], ['--txq=4', '--rxq=4']) as t:
        lines = ['add port tm node shaper profile 0 1 0 0 250000000 0 0 0',
                 'add port tm nonleaf node 0 1000 -1 0 1 0 -1 8 0 0',
                 'add port tm nonleaf node 0 1001 1000 0 1 1 1 1 0 0',
                 'add port tm nonleaf node 0 1002 1000 1 70 1 -1 1 0 0',
                 'add port tm nonleaf node 0 1003 1000 1 30 1 -1 1 0 0']
        lines += ['add port tm leaf node 0 %d %d 0 1 2 -1 0 4294967295 0 0' % (q, 1001 + min(q, 2)) for q in range(4)]
        for line in lines + ['port tm hierarchy commit 0 no']:
            out = t.cmd(line)
            if re.search(r'error|refus|bad arg|not supported', out, re.I):
                return '%s: %s' % (line, out)
        out = t.cmd('show port tm cap 0')
        if 'cap.n_levels_max' not in out.replace(' ', '') or not re.search(r'n_levels_max 3', out):
            return 'capabilities: ' + out
        out = t.cmd('add port tm leaf node 0 0 1001 0 1 2 -1 0 4294967295 0 0')
        if not re.search('node.?id|exist', out, re.I):
            return 'a second leaf 0 was not refused: ' + out
        t.cmd('set fwd txonly')
        t.cmd('start')
        t.until(t.ports[0], 'tx-packets', 1)
        t.cmd('stop')
        if t.stats(t.ports[0])['tx-errors'] != 0 or t.stats(t.ports[0])['tx-packets'] == 0:
            return 'nothing is sent after the commit'
    return None


def dcb():
    # testpmd wants a core for each class, and takes all queues that a port has.
    with tpmd.Testpmd([MODEL], ['--nb-cores=4', '--rxd=256', '--txd=256', '--total-num-mbufs=200000'], memory=2048,
                      on='0@0,1@0,2@0,3@0,4@0') as t:
        t.cmd('port stop all')
        for p in (0, 1):
            out = t.cmd('port config %d dcb vt off 4 pfc on' % p, timeout=60)
            if re.search(r'cannot|error|bad', out, re.I):
                return out
        out = t.cmd('port start all', timeout=120)
        if 'Done' not in out:
            return out
        out = t.cmd('show port dcb_tc 0')
        if not re.search(r'TC NUMBER: +4', out):
            return 'classes: ' + out
        if not re.search(r'BW percent :\s+25%\s+25%\s+25%\s+25%', out):
            return 'shares: ' + out
    return None


def json_of(path, fields):
    out = subprocess.run(['tshark', '-r', path, '-T', 'json', '-o', 'ip.check_checksum:TRUE'] +
                         [a for f in fields for a in ('-e', f)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=True).stdout
    return [{k: v[-1] for k, v in p['_source']['layers'].items()} for p in json.loads(out)]


def frames():
    """What is sent, and the priority and DSCP that each has to come out with; the source says which it is."""
    e = Ether(dst='02:00:00:00:00:02')
    load = Raw(b'x' * 40)
    list_ = [(e / IP(dst='10.0.0.2', tos=0x02) / UDP(dport=4791) / load, 3, 26),
             (e / IP(dst='10.0.0.2', tos=0xb8) / UDP(dport=4795) / load, 3, 26),
             (e / IP(dst='10.0.0.2', options=b'\x94\x04\0\0') / UDP(dport=4800) / load, 3, 26),
             (e / IP(dst='10.0.0.2') / TCP(dport=80) / load, 1, 10),
             (e / IPv6(dst='fd00::2', tc=0x01, fl=0xabcde) / TCP(dport=80) / load, 1, 10),
             (e / IPv6(dst='fd00::2') / UDP(dport=4791) / load, 3, 26),
             (e / Dot1Q(vlan=77, prio=6) / IP(dst='10.0.0.2') / TCP(dport=22) / load, 1, 10),
             (e / IP(dst='10.0.0.2') / UDP(dport=53) / load, 5, 40)]
    for i, (f, _, _) in enumerate(list_):
        f.src = '02:00:00:00:01:%02x' % i
    return list_


def check_scapy(sent, got):
    for i, (want, got_frame) in enumerate(zip(sent, got)):
        frame, prio, dscp = want
        f = Ether(bytes(got_frame))
        if Dot1Q not in f or f[Dot1Q].prio != prio:
            return 'frame %d: %r, wanted a tag of priority %d' % (i, f, prio)
        if f[Dot1Q].vlan != (77 if Dot1Q in frame else 0):
            return 'frame %d: VLAN %d' % (i, f[Dot1Q].vlan)
        l3 = f[IP] if IP in f else f[IPv6]
        before = Ether(bytes(frame))
        before_l3 = before[IP] if IP in before else before[IPv6]
        tos, old = (l3.tos, before_l3.tos) if IP in f else (l3.tc, before_l3.tc)
        if tos != dscp << 2 | (old & 3):
            return 'frame %d: class 0x%02x, wanted DSCP %d and ECN %d' % (i, tos, dscp, old & 3)
        if IPv6 in f and l3.fl != before_l3.fl:
            return 'frame %d: flow label 0x%x' % (i, l3.fl)
        if bytes(l3.payload) != bytes(before_l3.payload):
            return 'frame %d: its payload changed' % i
    return None


def marks():
    sent = frames()
    with tpmd.scratch() as d:
        wrpcap(d + '/in.pcap', [f for f, _, _ in sent])
        with open(d + '/none.pcap', 'wb') as f:
            f.write(bytes.fromhex('d4c3b2a1020004000000000000000000ffff000001000000'))
        cmd = ['triplane'] + tpmd.eal('qosmarks', plugin=False)
        cmd += ['--vdev=net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/back.pcap' % (d, d),
                '--vdev=net_pcap1,rx_pcap=%s/none.pcap,tx_pcap=%s/out.pcap' % (d, d),
                '--vdev=net_mlx4_model0,wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1', '--', '-e',
                'port config all promisc on; set fwd io; set qos 3 mark-dscp=on tx-dscp=0,10,0,0,0,40,0,0 '
                'rule=udp:4791-4800:3:26 rule=tcp:*:1 rule=default:*:5; start; wait counter tx_port_packets %d 3 60; stop' % len(sent)]
        p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        # Flows are spread over queues, so their order is not that of the file.
        got = sorted(rdpcap(d + '/out.pcap'), key=lambda f: f.src)
        if len(got) != len(sent):
            return '%d of %d frames: %s' % (len(got), len(sent), p.stdout.decode()[-800:])
        why = check_scapy(sent, got)
        if why:
            return why
        for f in json_of(d + '/out.pcap', ['eth.src', 'ip.checksum.status', 'vlan.priority', 'ip.dsfield.dscp',
                                           'ipv6.tclass.dscp']):
            i = int(f['eth.src'][-2:], 16)
            if f.get('ip.checksum.status', '1') != '1':
                return 'frame %d: tshark finds the header checksum wrong' % i
            if int(f['vlan.priority']) != sent[i][1]:
                return 'frame %d: tshark sees priority %s' % (i, f['vlan.priority'])
            if int(f.get('ip.dsfield.dscp', f.get('ipv6.tclass.dscp', '-1')), 0) != sent[i][2]:
                return 'frame %d: tshark sees %s' % (i, f)
    return None


cases.run('testpmd-flow-ctrl', flow_ctrl)
cases.run('testpmd-pfc-ctrl', pfc_ctrl)
cases.run('testpmd-tm', tm)
cases.run('testpmd-dcb', dcb)
cases.run('marks-scapy-tshark', marks)
cases.exit()
