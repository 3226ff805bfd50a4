#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What triplane changes of a port while packets flow: its MTU, both ways; and the UDP port of VXLAN, with what refuses it."""
import os
import subprocess

import tpmd

APP = os.environ.get('TRIPLANE', os.path.join(os.environ.get('TP_BUILD', 'build'), 'apps', 'triplane'))
cases = tpmd.Cases()


def mtu():
    """Frames of 1004 octets with FCS: too long while the receiver's MTU is 800."""
    with tpmd.Triplane(['net_mlx4_model0'], ['--txpkts', '1000']) as t:
        def grows(name):
            first = t.xstats(1)[name]
            return tpmd.wait_until(lambda: t.xstats(1)[name] > first)
        for line in ('set fwd flowgen 0', 'set fwd rxonly 1', 'start'):
            t.tell(line)
        if not grows('rx_good_packets') or t.xstats(1)['rx_port_too_long_errors'] != 0:
            return 'nothing comes, or is too long: %s' % t.xstats(1)
        t.tell('port config 1 mtu 800')
        if not grows('rx_port_too_long_errors'):
            return 'nothing is too long for an MTU of 800'
        t.tell('port config 1 mtu 1500')
        if not grows('rx_good_packets'):
            return 'nothing comes with an MTU of 1500'
        broken = [p['violations'] for p in t.ask('show model')['ports']]
        t.end()
        return None if not any(broken) else 'broken rules: %s' % broken


def sender_mtu():
    """Of a port that sends frames of 1204 octets: while its MTU is 1000 they are dropped and counted, and the queue goes on."""
    with tpmd.Triplane(['net_mlx4_model0'], ['--txpkts', '1200']) as t:
        def grows(port, name):
            first = t.xstats(port)[name]
            return tpmd.wait_until(lambda: t.xstats(port)[name] > first + 100)
        for line in ('set fwd txonly 0', 'set fwd rxonly 1', 'start'):
            t.tell(line)
        for _ in range(5):
            if not grows(1, 'rx_good_packets'):
                return 'nothing comes: %s' % t.xstats(0)
            t.tell('port config 0 mtu 1000')
            if not grows(0, 'tx_errors'):
                return 'nothing is refused with an MTU of 1000'
            t.tell('port config 0 mtu 1500')
        if not grows(1, 'rx_good_packets'):
            return 'nothing comes in the end: %s' % t.xstats(0)
        t.tell('stop')
        # what was sent last may be with the card still
        tpmd.wait_until(lambda: t.xstats(0)['tx_good_packets'] == t.xstats(1)['rx_port_packets'])
        sent, got = t.xstats(0), t.xstats(1)
        broken = [p['violations'] for p in t.ask('show model')['ports']]
        t.end()
        sent, got = sent['tx_good_packets'], got['rx_port_packets']
        if sent != got:
            return '%d are sent, %d came' % (sent, got)
        return None if not any(broken) else 'broken rules: %s' % broken


def one_line(commands, words, device='net_mlx4_model0'):
    p = subprocess.run([APP] + tpmd.eal('live%d' % os.getpid(), plugin=False) + ['--log-level=*:error',
                                                                                '--vdev=' + device, '--', '-e', commands],
                       capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
    if (p.returncode == 0) != (words is None):
        return '%s: exit status %s, %r' % (commands, p.returncode, p.stderr)
    return None if words is None or all(w in p.stderr for w in words) else '%s: %r' % (commands, p.stderr)


def tunnel():
    for commands, words, device in (
            ('port tunnel add 0 vxlan 5000; port tunnel add 1 vxlan 5000; port tunnel remove 0 vxlan 5000; port tunnel remove 1 vxlan 5000; '
             'port tunnel add 0 vxlan 6000', None, 'net_mlx4_model0'),
            ('port tunnel add 0 vxlan 5000; port tunnel add 1 vxlan 5001', ('5001', '5000'), 'net_mlx4_model0'),
            ('port tunnel add 0 vxlan 0', ("'0'", '1..65535'), 'net_mlx4_model0'),
            ('port tunnel remove 0 vxlan 5000', ('5000',), 'net_mlx4_model0'),
            ('port tunnel add 0 vxlan 4789', ('4789',), 'net_mlx4_model0,type=cx3'),
            ('port stop all; port config all tx_offload vxlan_tnl_tso on; port config all rx_offload outer_udp_cksum on; port start all', None,
             'net_mlx4_model0'),
            ('port stop all; port config all tx_offload gre_tnl_tso on; port start all', ('tx-gre-tso',), 'net_mlx4_model0,type=cx3')):
        why = one_line(commands, words, device)
        if why:
            return why
    return None


cases.run('live-mtu', mtu)
cases.run('live-mtu-sender', sender_mtu)
cases.run('live-mtu-refused', one_line, 'start; port config 1 mtu 9000', ('9000',))
cases.run('live-tunnel', tunnel)
cases.exit()
