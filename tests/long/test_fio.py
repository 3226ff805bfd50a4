#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: fio
"""
fio's rdma engine between two programs on shared ports: writes, reads and sends of several sizes. The receiver of sends checks
each block (crc32c, its place, its number); where the sender leaves the check sums out, it must say so.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402
from share_owner import Owner, pair  # noqa: E402

cases = tpmd.Cases()
THERE = '192.0.2.2'
KIB, MIB = 1 << 10, 1 << 20
port = 7700


def ends(owner, verb, block, total, depth, server=(), client=()):
    """Both ends of a run. The receiver has room for twice as many as the sender sends at once."""
    global port
    port += 1
    cmd = ['fio', '--name=j', '--ioengine=rdma', '--thread', '--port=%d' % port, '--bs=%d' % block, '--size=%d' % total,
           '--output-format=json']
    return pair(owner.start, [*cmd, '--rw=read', '--iodepth=%d' % (2 * depth), *server],
                [*cmd, '--rw=write', '--verb=' + verb, '--iodepth=%d' % depth, '--hostname=' + THERE, *client],
                lambda _: any(g['listening'] for g in owner.show()['programs']))


def wrong(e):
    """None, or how they ended."""
    ok = e.rc == 0 and e.server_rc == 0
    return None if ok else 'exit codes %d, %d: %s; the server: %s' % (e.rc, e.server_rc, e.out[-600:], e.said[-600:])


def job(text):
    return json.JSONDecoder().raw_decode(text[text.index('{\n'):])[0]['jobs'][0]


def runs(owner, verb, block, total, depth):
    """Each request is done, of its whole length."""
    e = ends(owner, verb, block, total, depth)
    if wrong(e):
        return wrong(e)
    j = job(e.out)
    got = {k: j['write'][k] for k in ('total_ios', 'short_ios', 'drop_ios', 'io_bytes')}
    want = {'total_ios': total // block, 'short_ios': 0, 'drop_ios': 0, 'io_bytes': total}
    if j['error'] != 0 or got != want:
        return 'error %s, %s' % (j['error'], got)
    print('# %s of %d octets: %d MiB/s' % (verb, block, j['write']['bw_bytes'] // MIB))
    return None


def sends(owner, block, count, server=(), client=()):
    """fio asks for no repetition where a receiver is not ready, and goes on after half a second: it begins again where that was
    too short for the receiver's requests, of which there are as many as messages."""
    for _ in range(3):
        e = ends(owner, 'send', block, count * block, count // 2, server, client)
        if 'RNR' not in e.out:
            break
    return e


CHECK = ('--verify=crc32c', '--verify_state_save=0')


def verified(owner, block, count):
    e = sends(owner, block, count, CHECK, (*CHECK, '--do_verify=0'))
    if wrong(e):
        return wrong(e)
    received = job(e.said)['read']['total_ios']
    return None if received == count else 'received: %d' % received


def noticed(owner, block, count):
    """The check is one: blocks without sums are refused."""
    e = sends(owner, block, count, CHECK)
    return None if 'verify: bad' in e.said else 'exit codes %d, %d: %s; %s' % (e.rc, e.server_rc, e.said[-600:], e.out[-300:])


def main():
    owner = Owner()
    for verb in ('write', 'read'):
        for block, total, depth in ((4 * KIB, 16 * MIB, 32), (64 * KIB, 256 * MIB, 16), (MIB, 512 * MIB, 4)):
            cases.run('%s-%d' % (verb, block), runs, owner, verb, block, total, depth)
    for block, count in ((4 * KIB, 256), (64 * KIB, 256), (MIB, 64)):
        cases.run('send-%d' % block, verified, owner, block, count)
    cases.run('verify-verifies', noticed, owner, 64 * KIB, 64)
    cases.run('given-back', owner.empty)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
