#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much a program may have of shared ports, and who may use them: settings, counters, and what each refusal says."""
import os
import re
import socket
import stat
import subprocess

import tpmd
from share_owner import DEV, GID, LIMIT, PRELOAD, Owner, finish, hello, message_size

cases = tpmd.Cases()
BUILD = os.environ['TP_BUILD']
GUEST = os.path.join(BUILD, 'tests/system/verbs_guest')
NOBODY = 65534
# setting, its value, what the program makes, how many more than its pair has it gets, the counter
LIMITS = [
    ('share-qps', 5, 'qps', 4, 'queue-pairs'),
    ('share-cqs', 3, 'cqs', 2, 'completion-queues'),
    ('share-srqs', 2, 'srqs', 2, 'shared-receive-queues'),
    ('share-regions', 4, 'regions', 3, 'regions'),
    ('share-addresses', 7, 'addresses', 7, 'addresses'),
    ('share-objects', 9, 'pds', 4, 'objects'),
]
DEFAULT = {'share-qps': 65536, 'share-cqs': 65536, 'share-srqs': 65536, 'share-regions': 65536, 'share-addresses': 65536,
           'share-objects': 65536, 'share-queue-bytes': 268435456, 'share-region-bytes': 68719476736, 'share-connections': 64}


def make(owner, kind, n):
    rc, out = owner.run(GUEST, *DEV, str(GID), 'make', kind, str(n))
    found = re.search(r'^made (\d+): (\w+)$', out, re.M)
    return (int(found[1]), found[2]) if rc == 0 and found else (rc, out)


def set_to(owner, name, value):
    """The setting holds from now on."""
    owner.app.tell('set setting program %s %s' % (name, value))
    owner.show()


def limit(owner, setting, value, kind, want, counter):
    """As many as the setting says, then ENOMEM, counted; as many as one likes when it is away."""
    before = owner.show()['limited']
    set_to(owner, setting, value)
    got = make(owner, kind, 40)
    after = owner.show()['limited']
    set_to(owner, setting, DEFAULT[setting])
    if got != (want, 'ENOMEM'):
        return 'made %s: %s, wanted %d' % (*got, want)
    if {k: after[k] - before[k] for k in after if after[k] != before[k]} != {counter: 1}:
        return 'counters: %s, before %s' % (after, before)
    got = make(owner, kind, 40)
    return None if got == (40, 'all') else 'without the limit: made %s: %s' % got


def octets(owner):
    """Memory of regions and of queues: what is over the limit is refused and counted, and not taken."""
    set_to(owner, 'share-region-bytes', 1 << 20)
    got = make(owner, 'regions', 40)
    set_to(owner, 'share-region-bytes', DEFAULT['share-region-bytes'])
    # 16 regions of 64 KiB are 1 MiB, and the pair has one beside.
    if got[1] != 'ENOMEM' or not 10 <= got[0] < 16:
        return 'regions: made %s: %s' % got
    set_to(owner, 'share-queue-bytes', 1 << 20)
    got = make(owner, 'cqs', 40)
    set_to(owner, 'share-queue-bytes', DEFAULT['share-queue-bytes'])
    # 1024 completions of 32 octets, and a page with the doorbell record.
    if got[1] != 'ENOMEM' or not 25 <= got[0] < 32:
        return 'queues: made %s: %s' % got
    after = owner.show()['limited']
    return None if after['region-bytes'] == 1 and after['queue-bytes'] == 1 else 'counters: %s' % after


def connections(owner):
    """One connection too many hears why."""
    owner.empty()
    first = owner.start('stdbuf', '-oL', 'ibv_asyncwatch', '-d', DEV[0], view='off')
    try:
        first.stdout.readline()  # it has the device, and triplane-run asks no more
        if not owner.wait(lambda s: s['guests'] == 1, LIMIT):
            return 'no first one: %s' % owner.show()
        set_to(owner, 'share-connections', 1)
        p = devices(owner.socket)
        if 'has as many connections as it takes' not in p.stdout or DEV[0] in p.stdout:
            return 'the second one sees: ' + p.stdout
        rc, out = owner.run('ibv_devices')
        if rc != 1 or not out.endswith('has as many connections as it takes (share-connections)\n') or out.count('\n') != 1:
            return 'triplane-run: exit code %s: %s' % (rc, out)
        show = owner.show()
        if show['limited']['connections'] == 0 or show['refused'] != show['limited']['connections']:
            return 'not counted: %s' % show
        return None
    finally:
        set_to(owner, 'share-connections', DEFAULT['share-connections'])
        first.kill()
        finish(first)


def devices(path, **kw):
    return subprocess.run(['ibv_devices'], env={**os.environ, 'TRIPLANE_SHARE': path, 'LD_PRELOAD': PRELOAD},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, **kw)


def socket_of(owner):
    st = os.stat(owner.socket)
    return '%04o' % stat.S_IMODE(st.st_mode), st.st_gid


def door(owner):
    """Mode and group of the socket, at once and when ports are shared anew; who may not write to it is told so."""
    if os.geteuid() != 0:
        return 'skip only root can become another user, and give files to another group'
    if socket_of(owner) != ('0600', os.getegid()):
        return 'at first: %s %s' % socket_of(owner)
    set_to(owner, 'share-mode', '660')
    set_to(owner, 'share-group', NOBODY)
    if socket_of(owner) != ('0660', NOBODY):
        return 'then: %s %s' % socket_of(owner)
    for line in ('share off', 'share on ' + owner.socket):
        owner.app.tell(line)
    owner.show()
    if socket_of(owner) != ('0660', NOBODY):
        return 'shared anew: %s %s' % socket_of(owner)
    os.chmod(owner.dir.name, 0o755)
    try:
        subprocess.run(['test', '-r', PRELOAD], user=NOBODY, group=NOBODY, extra_groups=[], check=True)
    except subprocess.CalledProcessError:
        return 'skip another user cannot read the build'
    of_group = devices(owner.socket, user=NOBODY - 1, group=NOBODY, extra_groups=[]).stdout
    other = devices(owner.socket, user=NOBODY, group=NOBODY - 1, extra_groups=[]).stdout
    if DEV[0] not in of_group:
        return 'who is in the group sees: ' + of_group
    return None if DEV[0] not in other and 'is not for this user' in other else 'who is not sees: ' + other


def kept(owner):
    """A saved file brings them back."""
    path = os.path.join(owner.dir.name, 'saved')
    set_to(owner, 'share-mode', '660')
    set_to(owner, 'share-group', os.getegid())
    set_to(owner, 'share-srqs', 11)
    owner.app.tell('save ' + path)
    owner.show()
    with open(path) as f:
        text = f.read()
    for line in ('share-mode=0660', 'share-group=%d' % os.getegid(), 'share-srqs=11'):
        if line not in text:
            return 'no "%s" in %s' % (line, text)
    if 'share-qps' in text:
        return 'a default is in ' + text
    for name, value in (('share-srqs', 12), ('share-mode', '0600')):
        set_to(owner, name, value)
    owner.app.tell('load ' + path)
    owner.show()
    got = make(owner, 'srqs', 40)
    return None if got == (11, 'ENOMEM') and socket_of(owner)[0] == '0660' else 'made %s: %s, %s' % (*got, socket_of(owner))


def bad_values():
    """Each is refused with what there may be; the group's existence is asked for."""
    with tpmd.Triplane(['net_mlx4_model0']) as t:
        for name, value in (('share-mode', '888'), ('share-mode', '01000'), ('share-mode', '0'),
                            ('share-group', 'no-such-group-here'), ('share-qps', '0'), ('share-qps', '1048577'),
                            ('share-connections', '257')):
            t.tell('set setting program %s %s' % (name, value))
        err = t.over()
    lines = [line for line in err.splitlines() if 'share-' in line]
    want = ["'888', want an octal mode of 0001..0777", "'01000', want an octal", "'0', want an octal",
            "'no-such-group-here', want none or a number, or the name of a group", '1..1048576', '1..1048576', '1..256']
    if len(lines) != len(want) or any(w not in line for w, line in zip(want, lines)):
        return 'said: ' + err
    return None


def rate(owner):
    """Calls a second: of a second in which a program asked, and not more than it asked."""
    ask, asked, seen = hello(message_size(owner.socket)), 0, []
    before = owner.show()['calls_per_s']
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(LIMIT)
        s.connect(owner.socket)

        def calls():
            nonlocal asked
            for _ in range(100):
                s.send(ask)
                s.recv(4096)
            asked += 100
            seen.append(owner.show()['calls_per_s'])
            return seen[-1] >= 100

        if not tpmd.wait_until(calls, LIMIT):
            return 'calls a second: %s, while %d were made' % (seen[-10:], asked)
    return None if seen[-1] <= asked + before else 'calls a second: %d, of %d' % (seen[-1], asked)


def telemetry():
    """DPDK's telemetry says what show share says."""
    owner = Owner(telemetry=True)
    watch = owner.start('stdbuf', '-oL', 'ibv_asyncwatch', '-d', DEV[0], view='off')
    try:
        watch.stdout.readline()
        set_to(owner, 'share-qps', 77)
        bad = rate(owner)
        if bad:
            return bad
        if not owner.wait(lambda s: s['guests'] == 1 and s['calls_per_s'] == 0, LIMIT):
            return 'no program: %s' % owner.show()
        show, tel = owner.show(), owner.app.tel
        program = show['programs'][0]
        ids = tel('/triplane/share/list')
        if len(ids) != 1:
            return 'connections: %s' % ids
        one = tel('/triplane/share/info,%d' % ids[0])
        if {k: one[k] for k in program} != program or one['pid'] != watch.pid or one['channels'] != 0:
            return 'telemetry: %s, show share: %s' % (one, program)
        stats = tel('/triplane/share/stats')
        want = {k: v for k, v in show.items() if k in stats}
        want.update({'limited_' + k.replace('-', '_'): v for k, v in show['limited'].items()})
        if stats != want or len(stats) != 11 + len(show['limited']):
            return 'telemetry: %s, show share: %s' % (stats, want)
        if tel('/triplane/share/limits') != {k.replace('-', '_'): v for k, v in show['limits'].items()} or \
                show['limits']['queue-pairs'] != 77:
            return 'limits: %s, show share: %s' % (tel('/triplane/share/limits'), show['limits'])
        for bad in ('info,%d' % (ids[0] + 1000), 'info', 'info,x', 'stats,1', 'limits,9'):
            if tel('/triplane/share/' + bad):
                return '%s: %s' % (bad, tel('/triplane/share/' + bad))
        owner.app.tell('share off')
        if not owner.wait(lambda s: not s['shared']) or tel('/triplane/share/list') or tel('/triplane/share/stats'):
            return 'after share off: %s' % tel('/triplane/share/stats')
        return None
    finally:
        watch.kill()
        finish(watch)
        owner.close()


def lines(owner):
    """What the owner says of each refusal: who, what, how much, and the limit."""
    code, err = owner.over()
    who = r'process \d+ of user %d ' % os.geteuid()
    for pattern in ('net_mlx4_model0_p0: ' + who + r'has 5 queue-pairs, and 1 more are over the limit of 5$',
                    who + r'is turned away: Too many users \(1 connections of 1\)$',
                    who + r'has \d+ region-bytes, and 65536 more are over the limit of 1048576$'):
        if not re.search(pattern, err, re.M):
            return 'no line %s in %s' % (pattern, err[-2000:])
    return None if code == 0 else 'exit code %d' % code


def main():
    cases.run('bad-values', bad_values)
    owner = Owner()
    for row in LIMITS:
        cases.run('limit-' + row[4], limit, owner, *row)
    cases.run('octets', octets, owner)
    cases.run('connections', connections, owner)
    cases.run('door', door, owner)
    cases.run('kept', kept, owner)
    cases.run('lines', lines, owner)
    cases.run('telemetry', telemetry)
    cases.exit()


if __name__ == '__main__':
    main()
