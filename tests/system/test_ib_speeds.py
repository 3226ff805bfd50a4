#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""InfiniBand ports of each speed at a switch that can all: the fabric tools read what they trained at, and set it."""
import os
import re

from ib_cases import run_cases
from test_sm import Net, lid_of, switch_lid, tool

SWITCH = 'speed%d' % os.getpid()
SPEEDS = (('sdr', 'ddr'), ('fdr10', 'fdr'), ('fdr', 'ddr'))
GUIDS = (0x0002c90300a1b200, 0x0002c90300a1b208, 0x0002c90300a1b210)
AT_SWITCH = ',wire0=ibswitch:%s,wire1=ibswitch:%s' % (SWITCH, SWITCH)
VDEVS = ['net_mlx4_model%d,guid=0x%x,port0=ib,port1=ib,ib-speed0=%s,ib-speed1=%s%s' % (i, GUIDS[i], *SPEEDS[i], AT_SWITCH if i < 2 else '')
         for i in range(len(SPEEDS))]
MASTER = 'net_mlx4_model0/1'
# Of each port at the switch: its card's and its own number, what iblinkinfo, ibstat and the administrator's enum say.
PORTS = ((0, 1, 'SDR', r'2\.5 Gbps', '10', 0x83), (0, 2, 'DDR', r'5\.0 Gbps', '20', 0x86),
         (1, 1, 'FDR10', r'10\.0 Gbps \(FDR10\)', '40', 0x87), (1, 2, 'FDR', r'14\.0625 Gbps', '56', 0x8c))


def subnet(net):
    net.say('ib sm on ' + MASTER)
    return net.until(lambda: net.managers()[MASTER]['active_ports'] == 8, net.managers)


def linked(net, guid, port, gbps):
    """The line of the adapter's end. The switch's end says the same."""
    bad = tool(net, ['iblinkinfo'], [r'0x%016x +\d+ +%d\[ *\] ==\( 4X +%s +Active/ +LinkUp\)==>' % (guid, port, gbps)])
    return bad or tool(net, ['iblinkinfo', '--switches-only'], [r'==\( 4X +%s +Active/ +LinkUp\)==> +%s ' % (gbps, lid_of(net, guid))])


def trained(net, card, port, name, gbps, rate, path):
    guid = GUIDS[card] + port
    bad = linked(net, guid, port, gbps)
    bad = bad or tool(net, ['ibstat', 'net_mlx4_model%d' % card, str(port)], [r'State: Active\n.*Rate: %s\n' % rate])
    shown = [p['speed'] for p in net.ask('show ib')['ports'] if p['device'] == 'net_mlx4_model%d/%d' % (card, port)]
    if not bad and shown != [name]:
        bad = 'show ib says %s' % shown
    lid = lid_of(net, guid)
    return bad or tool(net, ['saquery', 'PR', '--src-to-dst', '%s:%s' % (lid, lid)], [r'rate\.+0x%X' % path])


def slower_end(net):
    """A cable between ports of FDR and DDR."""
    return (tool(net, ['ibstat', 'net_mlx4_model2', '1'], [r'Rate: 20\n'])
            or tool(net, ['ibstat', 'net_mlx4_model2', '2'], [r'Rate: 20\n']))


def enabled(net):
    """A manager takes one speed after the other from the switch's end: the link trains at the next, and at FDR with all back."""
    guid, switch = GUIDS[1] + 2, switch_lid(net)
    end = re.search(r'\[(\d)\]\t"H-%016x"\[2\]' % GUIDS[1], net.run('ibnetdiscover')[1]).group(1)
    for what, value, gbps in (('espeed', '30', r'10\.0 Gbps \(FDR10\)'), ('fdr10', '0', r'10\.0 Gbps'), ('speed', '3', r'5\.0 Gbps'),
                              ('speed', '1', r'2\.5 Gbps'), ('speed', '15', r'10\.0 Gbps'), ('fdr10', '1', r'10\.0 Gbps \(FDR10\)'),
                              ('espeed', '31', r'14\.0625 Gbps')):
        bad = (tool(net, ['ibportstate', switch, end, what, value], []) or tool(net, ['ibportstate', switch, end, 'reset'], [])
               or linked(net, guid, 2, gbps))
        if bad:
            return '%s %s: %s' % (what, value, bad)
    return None


if __name__ == '__main__':
    run_cases('ib-speeds', ('ibstat', 'ibportstate'), lambda: Net(VDEVS), lambda net: net.close_with([]), (
        ('subnet-up', subnet), *((p[2].lower(), trained, *p) for p in PORTS), ('slower-end', slower_end), ('enabled', enabled)))
