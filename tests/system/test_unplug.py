#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A card that is unplugged while packets flow, and an application that knows what to do then: unmodified testpmd hears
RTE_ETH_EVENT_INTR_RMV, stops, closes and detaches the device itself; the card comes back and is attached again."""
import os
import re
import subprocess

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
LIMIT = 120  # seconds, for what takes moments on a machine with a CPU to spare
DEAD = 'failed to get stats'
cases = tpmd.Cases()


def ports(t):
    return len(re.findall(r'^\d+ +[0-9A-F:]{17} ', t.cmd('show port summary all'), re.M))


def flows(t):
    """None when packets go round."""
    for line in ('set portlist 0,1', 'port start all', 'clear port stats all', 'start tx_first 1'):
        t.cmd(line)
    s = t.until(0, 'rx-packets', 1000)
    return None if s['rx-packets'] >= 1000 else 'no traffic: %s' % t.text[-800:]


def gone(t):
    """Both ports go, each with its event; the program lives. It is left alone until it is through, and forwards by no port then."""
    t.follow('nb forwarding ports=0', LIMIT)
    events = set(re.findall(r'Port (\d+): device removal event', t.text))
    t.cmd_anew('stop')
    if events != {'0', '1'} or ports(t) != 0:
        return 'events of ports %s: %s' % (events, t.text[-600:])
    t.text = ''
    return None


def card(path):
    p = subprocess.Popen([HCA, '--socket', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not tpmd.wait_until(lambda: os.path.exists(path), LIMIT):
        p.kill()
        raise RuntimeError('no socket %s' % path)
    return p


def process_gone():
    """The card's process is killed under traffic; a new one is plugged in."""
    with tpmd.scratch() as d:
        path = d + '/card.sock'
        hca = card(path)
        try:
            with tpmd.Testpmd(['net_mlx4_user0,socket=' + path], timeout=LIMIT) as t:
                for n in range(2):
                    why = flows(t)
                    if why is not None or n == 1:
                        return why
                    hca.kill()
                    hca.wait()
                    why = gone(t)
                    if why is not None:
                        return why
                    os.unlink(path)
                    hca = card(path)
                    out = t.cmd('port attach net_mlx4_user0,socket=' + path)
                    if ports(t) != 2:
                        return 'not attached: ' + out[-400:]
        finally:
            hca.kill()
            hca.wait()


def command_never_ends():
    """A card in software that stops answering under traffic is dead; attached again it is a new one."""
    # the counters of a port are a command, 0x49, of which one has no end
    with tpmd.Testpmd(['net_mlx4_model0,wire0=cross,timeout=0x49:20'], timeout=LIMIT) as t:
        t.cmd('start tx_first 1')
        for _ in range(40):
            if DEAD in t.cmd_torn('show port stats 0', DEAD):
                break
        why = gone(t)
        if why is not None:
            return why
        out = t.cmd('port attach net_mlx4_model0,wire0=cross')
        return flows(t) if ports(t) == 2 else 'not attached: ' + out[-400:]


cases.run('unplug-process-gone', process_gone)
cases.run('unplug-command-never-ends', command_never_ends)
cases.exit()
