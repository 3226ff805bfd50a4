#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names of events: the table of the document against the source, each way, with level and origin; and those that are provoked here have a
row, the old and the new value of a change among them."""
import os
import re
import subprocess

import tpmd

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '../..')
APP = os.path.join(os.environ['TP_BUILD'], 'apps', 'triplane')
cases = tpmd.Cases()
LEVELS = {'ERR': 'error', 'WARNING': 'warning', 'NOTICE': 'notice'}
# What was once told stays told: names that programs may look for. None is ever taken out of here.
TOLD = '''card-back card-error card-given-up card-hot card-setting cq-failed dropless-entered dropless-exited dropless-timeout dump-failed
dump-written event-late events-lost group-setting health-alarm health-cleared ipoib-failback ipoib-failover ipoib-moved kernel-followed
kernel-refused link-down link-up module-unusable port-ails port-failed port-not-restarted port-removed port-reset port-restarted port-setting
port-type-refused program-setting qp-failed rx-stall-begin rx-stall-end rxq-setting settings-loaded snapshot-written srq-failed tc-stall-begin
tc-stall-end tune-applied tune-restored txq-lost txq-recovered txq-setting'''.split()


def rows():
    """{name: (level, origins)} of the table."""
    with open(os.path.join(ROOT, 'docs/events.md'), encoding='utf-8') as f:
        found = re.findall(r'^\| `([a-z-]+)` \| (\w+) \| ([^|]+) \| [^|]+ \|$', f.read(), re.M)
    table = {name: (level, set(origin.split(', '))) for name, level, origin in found}
    if len(table) != len(found) or [n for n, _, _ in found] != sorted(table):
        raise RuntimeError('a name stands twice, or out of order')
    return table


def sources(*folders):
    for folder in folders:
        for path, _, files in os.walk(os.path.join(ROOT, folder)):
            for name in files:
                if name.endswith('.c'):
                    with open(os.path.join(path, name), encoding='utf-8') as f:
                        yield os.path.relpath(os.path.join(path, name), ROOT), f.read()


def in_source():
    """{name: (levels, origins)} of what the source logs."""
    found = {}

    def add(name, level, origin):
        found.setdefault(name, (set(), set()))
        found[name][0].add(level)
        found[name][1].add(origin)

    for path, text in sources('drivers', 'lib', 'apps'):
        origin = 'driver' if path.startswith('drivers/') else {'lib/kernel': 'libtp_kernel', 'lib/ipoib': 'libtp_roce'}.get('/'.join(path.split('/')[:2]), 'triplane')
        text = re.sub(r'"\s*\n\s*"', '', text)
        for level, name in re.findall(r'\b\w*LOG\((?:[\w>.-]+,\s*)?(ERR|WARNING|NOTICE|INFO),\s*"\[([a-z][a-z-]*)\] ', text):
            add(name, LEVELS.get(level, level), origin)
        # Those that the public enumeration has: one function logs them, at one level.
        for name in re.findall(r'^\t\[RTE_PMD_MLX4_EVENT_\w+\] = "([a-z-]+)",', text, re.M):
            add(name, 'notice', 'driver')
            add(name, 'notice', 'C')
        for call in re.findall(r'\bapp_event\(([^;]{0,200})', text):
            for name in re.findall(r'"([a-z]+-[a-z-]+)"', call):
                add(name, 'notice', 'triplane')
        block = re.search(r'events\[TP_SCOPES\] = \{(.*?)\};', text, re.S)
        for name in re.findall(r'"([a-z-]+)"', block[1]) if block else ():
            add(name, 'notice', 'triplane')
    return found


def table_and_source():
    table, found = rows(), in_source()
    if set(table) != set(found):
        return 'without a row: %s; without a source: %s' % (sorted(set(found) - set(table)), sorted(set(table) - set(found)))
    for name, (level, origins) in table.items():
        if level not in found[name][0] or origins != found[name][1]:
            return '%s: the table says %s from %s, the source %s' % (name, level, sorted(origins), found[name])
    return None


def never_taken_back():
    gone = set(TOLD) - set(rows())
    new = set(rows()) - set(TOLD)
    return 'gone: %s' % sorted(gone) if gone else 'to be listed in this test: %s' % sorted(new) if new else None


def no_other_brackets():
    """A line that looks like an event is one."""
    for path, text in sources('drivers', 'lib', 'apps'):
        for name in re.findall(r'"(?:[^"\n]{0,30} )?\[([a-z]+-[a-z-]+)\] ', text):
            if name not in rows():
                return '%s: [%s]' % (path, name)
    return None


def provoked():
    """What happens has a row and is said once, with the level of the row; each change has both values."""
    place = tpmd.scratch()
    where = os.path.join(place.name, 'x.conf')
    commands = ['wait link up all 30', 'set setting program idle-sleep 200', 'set setting 0 mtu 1400', 'port config 0 mtu 1450', 'port mac set 0 02:00:00:00:00:09',
                'group add 0 a mac=02:00:00:00:00:22 queues=1', 'group modify 0 a rate=500', 'set qos 0 trust=dscp', 'model cable 0 unsupported',
                'wait link down 0 30', 'model cable 0 in', 'wait link up 0 30', 'save ' + where, 'set setting 0 mtu 1300', 'load ' + where, 'port restart 0', 'port reset 0',
                'tune manual']
    p = subprocess.run([APP, *tpmd.eal('tev%d' % os.getpid(), plugin=False), '--log-level=*:notice', '--vdev=net_mlx4_model0,wire0=loopback,wire1=loopback', '--',
                        '--rxq', '2', '--txq', '2', '--json', '-e', '; '.join(commands)], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False)
    if p.returncode != 0:
        return 'exit status %d: %s' % (p.returncode, p.stderr[-800:])
    said = re.findall(r'\[([a-z]+-[a-z-]+)\] (.*)', p.stderr)
    names, table = {name for name, _ in said}, rows()
    if names - set(table):
        return 'without a row: %s' % sorted(names - set(table))
    wanted = {'port-setting', 'program-setting', 'group-setting', 'module-unusable', 'link-down', 'link-up', 'settings-loaded', 'port-restarted', 'port-reset', 'tune-applied'}
    if wanted - names:
        return 'not said: %s in %s' % (sorted(wanted - names), p.stderr[-1500:])
    bad = [(n, t) for n, t in said if n.endswith('-setting') and ' -> ' not in t and ': added: ' not in t and ': removed: ' not in t]
    if bad:
        return 'without both values: %s' % bad
    for text in ('port 0: mtu: 1500 -> 1400', 'port 0: mtu: 1400 -> 1450', 'port 0: mtu: 1300 -> 1450', 'idle-sleep: 0 -> 200', 'group a: rate: '):
        if text not in p.stderr:
            return 'not said: %s in %s' % (text, p.stderr[-1500:])
    return None


cases.run('events-table', table_and_source)
cases.run('events-stay', never_taken_back)
cases.run('events-brackets', no_other_brackets)
cases.run('events-provoked', provoked)
cases.exit()
