#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings by DPDK's telemetry, as its clients ask: lists, single ones and what differs, against what the command line shows."""
import tpmd

LIMIT = 60
cases = tpmd.Cases()


class Asker(tpmd.Triplane):
    """triplane with its telemetry, and a client of that."""

    def __init__(self):
        super().__init__(['net_mlx4_model0'], telemetry=True)
        self.ask('show settings')  # it is up now

    def shown(self, view=''):
        objects = self.ask('show settings' + view)['objects']
        return {o['object']: {k.replace('-', '_'): v for k, v in o['settings'].items()} for o in objects}


def values(t):
    shown = t.shown()
    if sorted(t.tel('/triplane/settings')) != sorted(shown) or not {'program', 'port 0', 'port 1', 'card 0', 'rxq 1 0'} <= set(shown):
        return 'objects %s, shown %s' % (t.tel('/triplane/settings'), list(shown))
    for name, want in shown.items():
        if t.tel('/triplane/settings,' + name) != want:
            return '%s: %s, shown %s' % (name, t.tel('/triplane/settings,' + name), want)
    return None


def changes(t):
    """A change is seen, also while a command waits."""
    before = t.tel('/triplane/settings_diff,port 1')
    t.tell('set work 77 1')
    t.tell('sleep 2000')
    if not tpmd.wait_until(lambda: t.tel('/triplane/settings,port 1')['work'] == '77', LIMIT):
        return 'work of port 1: %s' % t.tel('/triplane/settings,port 1')['work']
    diff = t.tel('/triplane/settings_diff,port 1')
    if 'work' in before or diff != dict(before, work='77') or 'port 1' not in t.tel('/triplane/settings_diff'):
        return 'before %s, then %s' % (before, diff)
    shown = {k: {n: v['current'] for n, v in o.items()} for k, o in t.shown(' diff').items()}
    if shown['port 1'] != diff or sorted(shown) != sorted(t.tel('/triplane/settings_diff')):
        return 'differs: %s, shown %s' % (t.tel('/triplane/settings_diff'), shown)
    return None


def single(t):
    want = {'value': '150', 'default': '150', 'values': '1..5000000', 'unit': 'packets', 'changed': 'port stopped',
            'vendor': 'RfdReservationFactor'}
    got = t.tel('/triplane/setting,port 0,rfd-reservation')
    return None if got == want else str(got)


def refused(t):
    for bad in ('settings,port 9', 'settings,nonsense', 'settings,port', 'settings_diff,group 0 none', 'setting', 'setting,port 0',
                'setting,port 0,', 'setting,port 0,nope', 'setting,port 9,mtu', 'setting,' + 'x' * 200 + ',mtu', 'setting,rxq 0 9,dropless'):
        if t.tel('/triplane/' + bad):
            return '%s: %s' % (bad, t.tel('/triplane/' + bad))
    return None


def many():
    """More objects than an answer has room for: it says how many more there are and from where."""
    args = ['--rxq', '128', '--txq', '128', '--rxd', '256', '--txd', '256', '--total-num-mbufs', '100000']
    with tpmd.Triplane(['net_mlx4_model0'], args=args, telemetry=True, memory=1024) as t:
        all_of_them = [o['object'] for o in t.ask('show settings')['objects']]
        first = t.tel('/triplane/settings')
        rest = t.tel('/triplane/settings,511')
        if len(all_of_them) <= 512 or first != all_of_them[:511] + ['%d more, from 511' % (len(all_of_them) - 511)]:
            return '%d objects, first %d: %s' % (len(all_of_them), len(first), first[-3:])
        if rest != all_of_them[511:] or t.tel('/triplane/settings,%d' % len(all_of_them)) or t.tel('/triplane/settings,9999999999999999999999'):
            return 'the rest: %s' % rest
        t.end()
    return None


with Asker() as asker:
    for case in (values, changes, single, refused):
        cases.run('settings-telemetry-' + case.__name__, case, asker)
    asker.end()
cases.run('settings-telemetry-many', many)
cases.exit()
