#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Programs of libibverbs and librdmacm as Debian ships them on RoCE in software: two ports of one triplane, and those of two, with a
wire of the kernel between them.
"""
import re
import sys

import rocepair
import test_rdmacm_programs as rdma
import test_verbs_ex as ex
import test_verbs_hostile as hostile
import test_verbs_programs as programs
import tpmd
import view_counters
from share_owner import End, Owner

cases = programs.cases
ITERS = r'\d+ iters in'
PATIENT = '19'  # two seconds, eight times: an owner on a busy machine may have no CPU for a while


def devices(owner, want):
    rc, out = owner.run('ibv_devices')
    names = re.findall(r'^\s+(net_\S+)\s+[0-9a-f]{16}$', out, re.M)
    return None if rc == 0 and names == want else 'exit code %d, %s' % (rc, out)


def counted(owner, name):
    return sum(owner.app.ask('show roce stats %d' % p)['ports'][0]['counters'][name] for p in (0, 1))


def view(owner):
    """Counters of both ports go on in the view of a program."""
    if owner.run('true', view='need')[0] != 0:
        return 'skip the kernel gives no namespaces'
    return view_counters.wrong(*owner.run(sys.executable, view_counters.__file__, *programs.DEV, str(tpmd.free_port()), view='need'))


def patient(ends, *args):
    """These wait half a second for an acknowledgement, all in all: where an owner stood still for longer, once more."""
    for _ in range(8):
        why = programs.across(ends, *args)
        if why is None or 'transport retry counter exceeded' not in why:
            break
    return why


def pingpongs(name, ends):
    for prog in ('rc', 'uc', 'srq'):
        cases.run('%s-%s' % (name, prog), patient, ends, 'ibv_%s_pingpong' % prog, '-g', ITERS, '-e', '-c', '-n', '200')
    cases.run(name + '-ud', programs.across, ends, 'ibv_ud_pingpong', '-g', ITERS, '-e', '-c', '-n', '200', '-s', '1024')
    cases.run(name + '-polling', patient, ends, 'ibv_rc_pingpong', '-g', ITERS, '-c', '-n', '200')
    cases.run(name + '-large', patient, ends, 'ibv_rc_pingpong', '-g', ITERS, '-e', '-c', '-n', '20', '-s', '1000000')


def perftest(name, ends):
    for prog, *args in (('ib_send_bw', '-e'), ('ib_write_bw', ), ('ib_read_lat', '-e'), ('ib_atomic_bw', '-e'),
                        ('ib_send_lat', '-e', '-c', 'UD')):
        cases.run('%s-%s' % (name, '-'.join([prog[3:].replace('_', '-'), *(a.lower() for a in args if a[0] != '-')])), programs.across,
                  ends, prog, '-x', r'\n \d+ +100 ', '-F', '-u', PATIENT, '-n', '100', *args)
    cases.run(name + '-queues', programs.across, ends, 'ib_write_bw', '-x', r'\n \d+ +400 ', '-F', '-u', PATIENT, '-n', '50', '-q', '8')


def two_owners():
    with rocepair.Veth() as wire:
        if not wire.ok:
            print('skip two-owners: network namespaces need root', flush=True)
            return
        here, there = (End(wire, end, addr + '/24') for end, addr in enumerate((rdma.HERE, rdma.THERE)))
        ends = ((here, End.DEV), (there, End.DEV))
        cases.run('two-owners-devices', devices, there, [End.DEV])
        pingpongs('two-owners', ends)
        perftest('two-owners', ends)
        cases.run('two-owners-rping', rping, here, there)
        for owner in (here, there):
            cases.run('two-owners-given-back', owner.empty)
        for owner in (there, here):
            cases.run('two-owners-end', owner.close)


def rping(here, there):
    """Each end checks what it reads from the other's memory."""
    args = ['-p', rdma.new_port(), '-C', '10', '-v', '-V']
    server = rdma.serve(here, 'rping', '-s', '-a', rdma.HERE, *args)
    rc, out = there.run('rping', '-c', '-a', rdma.HERE, *args)
    if rc != 0:
        server.kill()
    said = rdma.finish(server)
    if rc != 0 or server.returncode != 0 or 'ping data: rdma-ping-9: JKLM' not in out or 'ping data: rdma-ping-9: JKLM' not in said:
        return 'exit codes %d, %d: %s; the server: %s' % (rc, server.returncode, out, said)
    return None


def one_owner():
    owner = Owner(home='v2 sw')
    cases.run('devices', devices, owner, list(programs.DEV))
    cases.run('own', programs.own, owner)
    for name in ('ex', 'mem', 'resize'):
        cases.run(name, ex.own, owner, name, *programs.DEV, str(programs.GID))
    pingpongs('one-owner', ((owner, programs.DEV[0]), (owner, programs.DEV[1])))
    cases.run('one-port', programs.across, ((owner, programs.DEV[0]), ) * 2, 'ibv_rc_pingpong', '-g', ITERS, '-e', '-c', '-n', '200')
    cases.run('view', view, owner)
    connections(owner)
    cases.run('killed', programs.killed, owner)
    cases.run('given-back', owner.empty)
    cases.run('good-requests', lambda: 'requests that are none: %d' % counted(owner, 'guest_bad_requests')
              if counted(owner, 'guest_bad_requests') else None)
    cases.run('random-octets', random_octets, owner)
    cases.run('sole-pages', hostile.sole_pages, owner)
    cases.run('unread', hostile.unread, owner)
    cases.run('read-in-the-end', owner.empty)
    cases.run('killed-often', hostile.killed, owner, 1)
    cases.run('many', hostile.many, owner)
    cases.run('share-off', programs.share_off, owner)
    cases.run('shared-again', programs.both, owner, 'ibv_rc_pingpong', '-g', ITERS, '-e', '-c', '-n', '50')
    cases.run('ends', owner.close)


def connections(owner):
    """Programs of librdmacm, on the wire and inside a port."""
    cases.run('rping', rdma.rping, owner)
    cases.run('rping-inside-a-port', rdma.rping, owner, rdma.HERE, rdma.HERE)
    cases.run('udaddy', rdma.udaddy, owner)
    cases.run('mckey', rdma.mckey, owner)
    cases.run('cmtime', lambda: rdma.by_port(owner, 'cmtime', '-c', '50', done=r'\ndestroy +: +[\d.]+', keeps=True))
    cases.run('rdma-xclient', rdma.client_server, owner, 'rdma_xclient', 'rdma_xserver')
    cases.run('perftest-by-connection', rdma.perftest, owner, 'ib_write_bw')
    cases.run('rcopy', rdma.rcopy, owner)
    for prog in ('rstream', 'riostream'):
        cases.run(prog, rdma.rsockets, owner, prog)
    cases.run('tcp', rdma.tcp, owner)


def random_octets(owner):
    """A program ruins its rings and records, and another one does not notice."""
    steady = hostile.Steady(owner).runs()
    try:
        bad = hostile.random_octets(owner, 10, 1, lambda o: {'requests': counted(o, 'guest_bad_requests')})
        return bad or steady.goes_on() or steady.end() or owner.empty()
    finally:
        steady.kill()


def main():
    two_owners()
    one_owner()
    cases.exit()


if __name__ == '__main__':
    main()
