#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified OpenSM and the standard fabric tools on InfiniBand ports of triplane, which lends them its management."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tpmd

cases = tpmd.Cases()
BUILD = os.environ['TP_BUILD']
APP = os.path.join(BUILD, 'apps/triplane')
PRELOAD = os.path.join(BUILD, 'lib/mad/libtp_umad.so')
RUN = os.path.join(BUILD, 'apps/triplane-run/triplane-run')
GUID = (0x0002c90300a1b201, 0x0002c90300a1b202)
CABLE = ['net_mlx4_model0,port0=ib,port1=ib']


class Fabric:
    """A triplane whose InfiniBand ports are lent, and programs that use them."""

    options = ()

    def __init__(self, vdevs):
        self.dir = tempfile.mkdtemp(prefix='tpsm')
        self.socket = os.path.join(self.dir, 'umad.sock')
        self.log = os.path.join(self.dir, 'osm.log')
        self.env = dict(os.environ, LD_PRELOAD=PRELOAD, TP_UMAD_SOCKET=self.socket, OSM_CACHE_DIR=self.dir,
                        OSM_TMP_DIR=self.dir)
        self.sm = None
        self.programs = []
        cmd = [APP] + tpmd.eal('tpsm%d' % os.getpid(), plugin=False, memory=512) + ['--vdev=' + v for v in vdevs]
        self.out = open(os.path.join(self.dir, 'triplane.log'), 'w+')
        self.app = subprocess.Popen(cmd + ['--', *self.options], stdin=subprocess.PIPE, stdout=self.out, stderr=subprocess.STDOUT)
        self.say(tpmd.IDLE)
        self.say('ib umad on ' + self.socket)
        self.wait(lambda: os.path.exists(self.socket), 120, 'triplane serves no socket')

    def say(self, line):
        self.app.stdin.write((line + '\n').encode())
        self.app.stdin.flush()

    @staticmethod
    def wait(what, seconds, why):
        if not tpmd.wait_until(what, seconds):
            raise RuntimeError(why)

    def run(self, *cmd, timeout=120):
        p = subprocess.run(cmd, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout)
        return p.returncode, p.stdout.decode(errors='replace')

    def start(self, *cmd):
        p = subprocess.Popen(cmd, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.programs.append(p)
        return p

    def osm_log(self):
        try:
            with open(self.log, errors='replace') as f:
                return f.read()
        except OSError:
            return ''

    def start_sm(self, guid=GUID[0]):
        """Its log is written in blocks: whether the subnet is up is asked."""
        self.sm = self.start('opensm', '-g', '0x%016x' % guid, '-f', self.log, '-s', '2', '-d', '2')
        self.wait(lambda: 'sm guid 0x%x,' % guid in self.master(), 120, 'no master: ' + self.master())
        return self.sm

    def master(self):
        rc, out = self.run('sminfo')
        return out if rc == 0 and 'SMINFO_MASTER' in out else 'none: ' + out

    def end(self, program):
        program.send_signal(signal.SIGINT)
        try:
            program.wait(60)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def close(self):
        for p in self.programs:
            if p.poll() is None:
                self.end(p)
        if self.app.poll() is None:
            self.app.communicate(b'quit\n', timeout=120)
        self.out.seek(0)
        text = self.out.read()
        shutil.rmtree(self.dir, ignore_errors=True)
        return self.app.returncode, text


def expect(rc, out, *patterns):
    if rc != 0:
        return 'exit code %d: %s' % (rc, out[-300:])
    for p in patterns:
        if not re.search(p, out, re.S):
            return 'no %s in %s' % (p, out[-600:])
    return None


def in_time(fabric, cmd, *patterns, **kw):
    """Runs it until it says what it should: on a busy machine a tool may get no answer, or the one of a moment ago."""
    end = time.time() + 60
    while True:
        bad = expect(*fabric.run(*cmd, **kw), *patterns)
        if bad is None or time.time() > end:
            return bad
        time.sleep(0.1)


def port_is(fabric, port, *patterns):
    """Waits for a port to be as wanted: a sweep is not over when SUBNET UP is in the log of an earlier one."""
    return in_time(fabric, ['ibstat', 'net_mlx4_model0', str(port)], *patterns)


TOOLS = [
    ('ibstat', ['ibstat'], [r"CA 'net_mlx4_model0'", r'CA type: MT4103', r'Number of ports: 2', r'Port 1:.*State: Active.*'
                            r'Rate: 40.*Base lid: 1\b.*SM lid: 1\b.*Port GUID: 0x0002c90300a1b201.*Port 2:.*State: Active']),
    ('ibaddr', ['ibaddr'], [r'GID fe80::2:c903:a1:b201 LID start 0x1 end 0x1']),
    ('ibnetdiscover', ['ibnetdiscover'], [r'Ca\t2 "H-0002c90300a1b200".*\[1\]\(2c90300a1b201\).*lid 1 lmc 0.*lid 2 4xQDR']),
    ('iblinkinfo', ['iblinkinfo'], [r'0x0002c90300a1b201 +1 +1\[ *\] ==\( 4X +10.0 Gbps +Active/ +LinkUp\)==> +2 +2']),
    ('smpquery-lid', ['smpquery', 'nodedesc', '2'], [r'Node Description:\.+Triplane ConnectX-3 model']),
    ('smpquery-route', ['smpquery', '-D', 'nodeinfo', '0,1'], [r'LocalPort:\.+2\n', r'PortGuid:\.+0x0002c90300a1b202']),
    ('smpquery-pkeys', ['smpquery', 'pkeys', '2', '1'], [r'0xffff', r'128 pkeys capacity']),
    ('sminfo', ['sminfo'], [r'sm lid 1 sm guid 0x2c90300a1b201, activity count \d+ priority \d+ state 3 SMINFO_MASTER']),
    ('saquery-nodes', ['saquery', 'NR'], [r'lid\.+1\n.*port_guid\.+0x0002c90300a1b201.*lid\.+2\n.*NodeDescription\.+Triplane']),
    ('saquery-paths', ['saquery', '-p'], [r'dlid\.+2\n\s+slid\.+1\n', r'mtu\.+0x85', r'rate\.+0x87']),
    ('saquery-ports', ['saquery', 'PIR'], [r'EndPortLid\.+1\n', r'EndPortLid\.+2\n']),
    ('saquery-issm', ['saquery', '-s'], [r'IsSM ports\n.*EndPortLid\.+1\n.*capability_mask\.+0x251086A']),
    ('saquery-groups', ['saquery', '-g'], [r'ff12:401b:ffff::ffff:ffff']),
    ('saquery-classinfo', ['saquery', '-c'], [r'Class version\.+2']),
    ('perfquery', ['perfquery', '2', '1'], [r'PortXmitPkts:\.+[1-9]', r'PortRcvPkts:\.+[1-9]']),
    ('perfquery-extended', ['perfquery', '-x', '2', '1'], [r'PortXmitPkts:\.+[1-9]', r'PortUnicastRcvPkts:\.+[1-9]']),
    ('ibqueryerrors', ['ibqueryerrors'], [r'1 nodes checked, 0 bad nodes found.*2 ports checked, 0 ports have errors']),
    ('ibtracert', ['ibtracert', '1', '2'], [r'From ca \{0x0002c90300a1b200\} portnum 1 lid 1-1.*To ca .* portnum 2 lid 2-2']),
    ('ibhosts', ['ibhosts'], [r'0x0002c90300a1b200 ports 2']),
]


def osmtest(fabric):
    """OpenSM's own test of an administrator: an inventory, then everything that it can ask, against it."""
    inventory = os.path.join(fabric.dir, 'osmtest.dat')
    g = ['-g', '0x%016x' % GUID[1], '-i', inventory, '-l', os.path.join(fabric.dir, 'osmtest.log')]
    bad = in_time(fabric, ['osmtest', '-f', 'c', *g], r'"Create Inventory" PASS', timeout=60)
    return bad or in_time(fabric, ['osmtest', '-f', 'v', *g], r'"Validate Inventory" PASS', timeout=60)


def ibping(fabric):
    server = fabric.start('ibping', '-S', '-C', 'net_mlx4_model0', '-P', '2')
    bad = in_time(fabric, ['ibping', '-c', '3', '2'], r'3 packets transmitted, 3 received, 0% packet loss', timeout=60)
    fabric.end(server)
    if bad:
        return bad
    # Nobody serves it any more: an answer says so, or none comes.
    rc, out = fabric.run('ibping', '-c', '1', '2')
    return None if '1 received' not in out else 'a server that is gone answers: ' + out[-300:]


COUNTERS = {'PortXmitPkts': 'port_xmit_packets', 'PortRcvPkts': 'port_rcv_packets', 'PortXmitData': 'port_xmit_data',
            'PortRcvData': 'port_rcv_data'}
LOOK = """cd /sys/class/infiniband/net_mlx4_model0_1/ports/1/counters
env -u LD_PRELOAD ibstat net_mlx4_model0_1 1 | tr '\\n' ' '
while echo; read line; do cat %s | tr '\\n' ' '; done""" % ' '.join(COUNTERS.values())


def view(fabric):
    """What programs on a shared port see of it in files, judged by what perfquery is told: one after the other they do not sink."""
    def told():
        found = {}
        if not tpmd.wait_until(lambda: len(found) == len(COUNTERS) or found.update(
                {k: int(v) for k, v in re.findall(r'^(\w+):\.+(\d+)$', fabric.run('perfquery', '-x', '1', '1')[1], re.M) if k in COUNTERS}), 60):
            raise RuntimeError('perfquery says nothing')
        return list(map(found.get, COUNTERS))

    path = os.path.join(fabric.dir, 'share')
    fabric.say('share on ' + path)
    fabric.wait(lambda: os.path.exists(path), 60, 'nothing is shared')
    p = subprocess.Popen([RUN, '--quiet', '--view', 'need', '--attach', path, 'sh', '-c', LOOK], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def seen():
        p.stdin.write('\n')
        p.stdin.flush()
        return list(map(int, p.stdout.readline().split()))

    try:
        said = p.stdout.readline()
        if 'namespaces: Operation not permitted' in said:
            return 'skip the kernel gives no namespaces'
        if not re.search('State: Active .*Port GUID: 0x0002c90300a1b201 .*Link layer: InfiniBand', said):
            return 'ibstat says: ' + said
        before = told()
        if not tpmd.wait_until(lambda: all(s >= b for s, b in zip(seen(), before)), 60):
            return 'files have %s, before that perfquery %s' % (seen(), before)
        now, after = seen(), told()
        return None if all(n <= a for n, a in zip(now, after)) and min(now) > 0 else 'files have %s, after that perfquery %s' % (now, after)
    finally:
        p.stdin.close()
        p.wait()


def capability(fabric):
    """Who is a subnet manager is seen while it runs, and no longer; killed as well as ended."""
    for end in (fabric.end, lambda p: (p.kill(), p.wait())):
        if fabric.sm.poll() is not None:
            fabric.start_sm()
        bad = port_is(fabric, 1, r'Capability mask: 0x0251086a')
        if bad:
            return bad
        end(fabric.sm)
        bad = port_is(fabric, 1, r'Capability mask: 0x02510868')
        if bad:
            return bad
    return None


def other_port(fabric):
    """A new manager, on the other port: both ports get to know it."""
    fabric.start_sm(GUID[1])
    bad = port_is(fabric, 1, r'State: Active.*SM lid: 2\b')
    return bad or in_time(fabric, ['sminfo'], r'sm lid 2 sm guid 0x2c90300a1b202.*SMINFO_MASTER')


def death(fabric):
    """Programs whose ports have died: they get errors, and neither spin nor fill logs."""
    sm = fabric.start_sm()
    fabric.app.kill()
    fabric.app.wait()
    size = len(fabric.osm_log())
    ticks = cpu(sm.pid)
    time.sleep(5)
    if sm.poll() is None and cpu(sm.pid) - ticks > 50:
        return 'opensm took %d ticks of 500 without a port' % (cpu(sm.pid) - ticks)
    if len(fabric.osm_log()) - size > 20000:
        return 'opensm wrote %d bytes of log' % (len(fabric.osm_log()) - size)
    rc, out = fabric.run('smpquery', '-D', 'nodeinfo', '0')
    if rc == 0:
        return 'smpquery without a port: ' + out
    rc, out = fabric.run('ibstat', '-l')
    return None if 'net_mlx4' not in out else 'a port that is gone: ' + out


def cpu(pid):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(') ', 1)[1].split()
    return int(fields[11]) + int(fields[12])


def main():
    if not os.path.exists(PRELOAD) or shutil.which('opensm') is None or shutil.which('ibstat') is None:
        print('skip opensm: needs opensm, infiniband-diags, and libibumad-dev for the build')
        return 0
    fabric = Fabric(CABLE)
    try:
        def up():
            fabric.start_sm()
            return port_is(fabric, 1, r'State: Active') or port_is(fabric, 2, r'State: Active')
        cases.run('opensm-subnet-up', up)
        cases.run('opensm-log', lambda: fabric.wait(lambda: 'SUBNET UP' in fabric.osm_log(), 60, fabric.osm_log()[-300:]))
        for name, cmd, patterns in TOOLS:
            cases.run('opensm-' + name, lambda c=cmd, p=patterns: in_time(fabric, c, *p))
        for f in (osmtest, ibping, view, capability, other_port):
            cases.run('opensm-' + f.__name__.replace('_', '-'), lambda f=f: f(fabric))
        cases.run('opensm-death', lambda: death(fabric))
    finally:
        fabric.close()
    fabric = Fabric(CABLE)

    def taken_back():
        fabric.say('ib umad off')
        fabric.wait(lambda: not os.path.exists(fabric.socket), 60, 'the socket is still there')
        out = fabric.run('ibstat', '-l')[1]
        fabric.say('ib umad on ' + fabric.socket)
        fabric.wait(lambda: os.path.exists(fabric.socket), 60, 'triplane serves no socket')
        return 'a port that is not lent: ' + out if 'net_mlx4' in out else None
    cases.run('opensm-taken-back', taken_back)

    def clean():
        fabric.start_sm()
        fabric.end(fabric.sm)
        fabric.say('show ib mad')
        rc, text = fabric.close()
        if rc != 0 or len(re.findall(r'malformed: 0\n', text)) != 2 or \
                len(re.findall(r'send_errors: 0\n', text)) != 2:
            return 'exit code %s: %s' % (rc, text[-400:])
        return None
    cases.run('opensm-clean-end', clean)
    return 1 if cases.failed else 0


if __name__ == '__main__':
    sys.exit(main())
