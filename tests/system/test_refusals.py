#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Refusals on a fresh card say the way out, and what they say works: each command is refused with these words, and taken after the
commands that the refusal names."""
import os
import socket
import subprocess

import tpmd

cases = tpmd.Cases()
BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
CARD = 'net_mlx4_model0,wire0=cross,wire1=cross'


def run(line, args=(), vdevs=(CARD,)):
    p = subprocess.run([APP, *tpmd.eal('refuse%d' % os.getpid(), plugin=False), '--log-level=*:error', *('--vdev=' + v for v in vdevs), '--', *args,
                        '-e', line], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return p.returncode, [e for e in p.stderr.splitlines() if 'error' in e or 'wanted' in e]


def queues(n, port=0):
    return 'port stop %d; port config %d rxq %d; port start %d' % (port, port, n, port)


# name, what comes before, the command, words of its refusal, the way out; in the refusal, too
TABLE = [
    ('rss-reta', '', 'rss reta 0 0,3', ['3', '0..0', '--rxq 4'], queues(4)),
    ('rss-key', '', 'rss symmetric 0', ['spread', '--rxq 2'], queues(2)),
    ('flow-queue', '', 'flow create 0 ingress pattern eth / end actions queue index 3 / end', ['queue 3', '0..0', '--rxq 4'], queues(4)),
    ('flow-rss', '', 'flow create 0 ingress pattern eth / ipv4 / udp / end actions rss queues 0 1 end / end', ['queue 1', '0..0', '--rxq 2'], queues(2)),
    ('group-queues', '', 'group add 0 g mac=02:00:00:00:00:01 queues=4-7', ['4', '--rxq 8'], queues(8)),
    ('group-all-queues', '', 'group add 0 g mac=02:00:00:00:00:01 queues=0', ['one left', '--rxq 2'], queues(2)),
    ('dcbx-forwarding', 'start', 'dcbx 0 on', ['forwarding runs', "'stop' first"], 'stop'),
    ('dcbx-times', 'dcbx 0 on', 'set dcbx-times 0 31 4', ['DCBX is on'], 'dcbx 0 off'),
    ('roce-forwarding', 'start', 'roce 0 on', ['forwarding runs', "'stop' first"], 'stop'),
    ('roce-off', '', 'roce qp create 0 rc', ['RoCE is off'], 'roce 0 on'),
    ('qos-key', '', 'set qos 0 priotc=1,0,0,0,0,0,0,0', ["'priotc'", 'prio-tc'], 'show qos keys'),
    ('qos-shares', '', 'set tc-bandwidth 0 50,40', ['90 %', '100', 'strict'], None),
    ('tx-choice', 'set tx-choice size 0', 'start', ['2 or more transmit queues', '--txq 2'], 'port stop 0; port config 0 txq 2; port start 0'),
    ('peer-stopped', 'port stop 1', 'start', ['port 1, which is not started', "'set peer 0 PORT'"], 'port start 1'),
    ('mtu', '', 'port config 0 mtu 9000', ['9000', 'started', "'port stop 0' first"], 'port stop 0'),
    ('pause', 'set qos 0 rx-pfc=3', 'port config flow_ctrl 0 full', ['pause'], 'set qos 0 pfc=none'),
    ('queue', '', 'port queue 0 rxq 2 start', ['rxq 2', '0..0'], queues(3)),
    ('tune-restore', '', 'tune restore', ["'tune PROFILE' first"], None),
    ('roce-stopped', 'port stop 0; roce 0 on', 'roce qp create 0 rc', ['not started'], 'port start 0'),
    ('vxlan', 'port tunnel add 0 vxlan 4789', 'port tunnel add 1 vxlan 4790', ['4790', "'port tunnel remove'"], None),
    ('lcores', '', 'set corelist 7', ['lcore 7', '--lcores'], None),
]


def way_out(before, line, words, way):
    code, errors = run('; '.join(w for w in (before, line) if w))
    if code == 0 or len(errors) != 1 or any(w not in errors[0] for w in words + ([way] if way else [])):
        return 'exit %d, %s; wanted %s and the way out %s' % (code, errors, words, way)
    if way is None or way.startswith('show'):
        return None
    # rings of a started port are made anew while it is stopped
    way = 'port stop 0; %s; port start 0' % way if way.startswith('port config') else way
    code, errors = run('; '.join(w for w in (before, way, line) if w))
    return None if code == 0 else 'after %s: exit %d, %s' % (way, code, errors)


def no_port():
    code, errors = run('show port info all', vdevs=['net_mlx4_model0,port0=ib,port1=ib'])
    return None if code == 1 and 'ipoib add' in errors[-1] and '--vdev' in errors[-1] else '%d, %s' % (code, errors)


def impairment():
    """The number that is wrong is named with what it counts."""
    for value, words in (('drop:abc', ['drop:abc', 'drop:N', '0..1000000', 'in a million']), ('delay:1x', ['delay:1x', 'microseconds']),
                         ('abc', ['abc', 'corrupt:N', 'delay:N', "'/'"])):
        code, errors = run('show fwd', vdevs=['net_mlx4_model0,impair0=' + value])
        if code == 0 or not any(all(w in e for w in words) for e in errors):
            return '%s: exit %d, %s' % (value, code, errors)
    return None


def served_path():
    """Who else serves the path is the fault, and a file of somebody's stays."""
    with tpmd.scratch() as d:
        path, note = os.path.join(d, 'card'), os.path.join(d, 'note')
        with open(note, 'w') as f:
            f.write('mine')
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            s.listen()
            for at, words in ((path, 'another process serves that path'), (note, 'no socket'), (os.path.join(d, 'no/card'), 'directory'),
                              (os.path.join(d, 'x' * 120), 'at most 107')):
                p = subprocess.run([HCA, '--socket', at], capture_output=True, text=True, timeout=30)
                if p.returncode == 0 or words not in p.stderr + p.stdout or ('107' in p.stderr + p.stdout) != ('107' in words):
                    return '%s: exit %d, %s' % (at, p.returncode, p.stderr + p.stdout)
        p = subprocess.run([HCA, '--socket', os.path.join(d, 'mine'), '--wire0', 'dgram:%s,%s' % (note, path)], capture_output=True, text=True, timeout=30)
        if p.returncode == 0 or 'File exists' not in p.stderr + p.stdout or 'wanted' in p.stderr + p.stdout:
            return 'dgram: exit %d, %s' % (p.returncode, p.stderr + p.stdout)
        with open(note) as f:
            return None if f.read() == 'mine' else 'the file is another one'


for name, before, line, words, way in TABLE:
    cases.run('refusal-' + name, way_out, before, line, words, way)
cases.run('refusal-no-port', no_port)
cases.run('refusal-impairment', impairment)
cases.run('refusal-served-path', served_path)
cases.exit()
