#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Programs of librdmacm as Debian ships them, with Debian's librdmacm, on ports that a triplane shares. Both ends of each are
processes of their own, and the wire is between them unless a name says otherwise.
"""
import os
import random
import re
import signal
import subprocess

import share_owner
import tpmd
from share_owner import DEV, LIMIT, Owner, finish, until_says

cases = tpmd.Cases()
HERE, THERE = '192.0.2.1', '192.0.2.2'
RSOCKETS = '/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so'
ABI = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'rdmacm_abi.py')
port = 7000


def new_port():
    """Ports are the owner's, so that no other program of this machine has them."""
    global port
    port += 1
    return str(port)


def listens(owner):
    return lambda p: any(g['listening'] for g in owner.show()['programs'] if g['pid'] == p.pid)


def serve(owner, *cmd, **kw):
    """A server, once it listens."""
    p = owner.start('stdbuf', '-oL', *cmd, **kw)
    tpmd.wait_until(lambda: p.poll() is not None or listens(owner)(p), LIMIT)
    return p


def pair(owner, server, client, done, end='', keeps=False):
    """None, or what went wrong. done, end: what the client and the server say; keeps: the server does not end by itself."""
    ends = share_owner.pair(owner.start, ['stdbuf', '-oL', *server], client, listens(owner), keeps)
    if ends.rc != 0 or not re.search(done, ends.out, re.S):
        return '%s: exit code %d: %s; the server: %s' % (client[0], ends.rc, ends.out[-600:], ends.said[-600:])
    if (ends.server_rc != 0 and not keeps) or not re.search(end, ends.said, re.S):
        return '%s, server: exit code %d: %s' % (server[0], ends.server_rc, ends.said[-600:])
    return None


# --- connections --------------------------------------------------------------------------------------------------------


def rping(owner, at=THERE, source=None):
    """Each end checks what it reads from the other's memory; the text of each round is known."""
    p = new_port()
    letters = ''.join(chr(65 + i) for i in range(26))
    via = ['-I', source] if source else []
    return pair(owner, ['rping', '-s', '-a', at, '-p', p, '-C', '10', '-v', '-V'],
                ['rping', '-c', '-a', at, *via, '-p', p, '-C', '10', '-v', '-V'],
                r'ping data: rdma-ping-0: ' + letters + r'.*ping data: rdma-ping-9: JKLM', r'server ping data: rdma-ping-9: JKLM')


def by_port(owner, prog, *args, **kw):
    """Programs that take -s for the server and -p for its port."""
    p = new_port()
    return pair(owner, [prog, '-p', p, *kw.pop('server', ())], [prog, '-p', p, '-s', THERE, *args], **kw)


def client_server(owner, client, server):
    p = new_port()
    return pair(owner, [server, '-p', p], [client, '-p', p, '-s', THERE], client + ': end 0', server + ': end 0')


def udaddy(owner):
    """Its server's port is fixed."""
    return pair(owner, ['udaddy', '-b', THERE], ['udaddy', '-b', HERE, '-s', THERE], r'data transfers complete.*return status 0',
                r'data transfers complete.*return status 0')


def mckey(owner):
    """The one end sends to the group, the other counts ten messages, once it has joined."""
    s = owner.start('stdbuf', '-oL', 'mckey', '-m', '239.1.2.3', '-b', THERE)
    said = until_says(s, 'joined dgid: ')
    rc, out = owner.run('mckey', '-m', '239.1.2.3', '-b', HERE, '-s')
    said += finish(s)
    ok = rc == 0 and s.returncode == 0 and 'joined dgid: ::ffff:239.1.2.3' in said and 'return status 0' in said
    return None if ok else 'exit codes %d, %d: %s%s' % (rc, s.returncode, out, said)


def no_xrc(owner):
    rc, out = owner.run('rdma_xclient', '-c', 'x', '-s', THERE, '-p', new_port())
    return None if rc != 0 and re.search(r'not supported', out) else 'exit code %d: %s' % (rc, out)


def perftest(owner, prog, *args):
    """
    It connects twice, and closes its listener in between: where its server does not have the second one in time, its client is refused, by
    a kernel's CM, too. Then once more.
    """
    for _ in range(8):
        cmd = [prog, '-R', '-F', '-n', '20', '-x', '3', '-p', new_port(), *args, '-d']
        why = pair(owner, cmd + [DEV[1]], cmd + [DEV[0], THERE], r'\n \d+ +20 ')
        if why is None or 'RDMA_CM_EVENT_REJECTED; error: 8.' not in why:
            break
    return why


# --- sockets ------------------------------------------------------------------------------------------------------------


def rsockets(owner, prog):
    few, row = ('-S', '4096', '-I', '2', '-C', '20'), r'custom +4k +20 +2 '
    return by_port(owner, prog, *few, server=few, done=row, end=row)


def rcopy(owner):
    """The copy has the same octets."""
    src, dst = (os.path.join(owner.dir.name, n) for n in ('src', 'dst'))
    data = random.Random(3).randbytes(1500000)
    with open(src, 'wb') as f:
        f.write(data)
    p = new_port()
    bad = pair(owner, ['rcopy', '-p', p], ['rcopy', src, THERE + ':' + dst, '-p', p], r'1500000 bytes in', keeps=True)
    if bad:
        return bad
    with open(dst, 'rb') as f:
        return None if f.read() == data else 'the copy is another one'


def tcp(owner):
    """A program of TCP sockets under librspreload: a file arrives as it is, and no socket of the kernel is there."""
    src, dst = (os.path.join(owner.dir.name, n) for n in ('tcp-src', 'tcp-dst'))
    data = random.Random(4).randbytes(2000000)
    p, env = new_port(), dict(os.environ, LD_PRELOAD=RSOCKETS)
    with open(src, 'wb') as f:
        f.write(data)
    with open(src, 'rb') as f:
        # Each end goes on while its input is open.
        s = serve(owner, 'sh', '-c', 'exec busybox nc -l -p %s >%s' % (p, dst), env=env, stdin=subprocess.PIPE)
        c = owner.start('busybox', 'nc', THERE, p, env=env, stdin=f)
    tpmd.wait_until(lambda: s.poll() is not None, LIMIT)
    said = finish(s)
    # The server ended without a word to its peer, which rsockets do not notice.
    c.kill()
    said += c.communicate()[0]
    with open(dst, 'rb') as f:
        return None if s.returncode == 0 and f.read() == data else 'exit code %d: %s' % (s.returncode, said or 'another file')


# --- the interface ------------------------------------------------------------------------------------------------------


def abi(owner):
    """Commands in octets; each line is a case."""
    rc, out = owner.run('/usr/bin/python3', ABI, HERE, THERE)
    return cases.relay(out, 'abi-') or (None if rc == 0 else 'exit code %d: %s' % (rc, out))


def on_the_wire(owner):
    """What tshark reads of a connection's life, on the port of the end that asks, and the addresses in its first message."""
    path = os.path.join(owner.dir.name, 'cm.pcapng')
    owner.app.tell('roce capture start 0 ' + path)
    bad = rping(owner)
    owner.app.tell('roce capture stop 0')
    owner.show()
    if bad:
        return bad
    cmd = ['tshark', '-n', '-r', path, '-Y', 'infiniband.mad.mgmtclass == 0x07', '-T', 'fields']
    for field in ('ip.src', 'infiniband.mad.attributeid', 'infiniband.cm.req.ip_cm.sip4', 'infiniband.cm.req.ip_cm.dip4',
                  'infiniband.cm.req.serviceid.dport', '_ws.malformed'):
        cmd += ['-e', field]
    out = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout
    seen = [tuple(x.split('\t')) for x in out.splitlines()]
    kinds = [x[1] for x in seen]
    if kinds[:3] != ['0x0010', '0x0013', '0x0014'] or sorted(set(kinds[3:])) != ['0x0015', '0x0016'] or any(x[5] for x in seen):
        return 'tshark sees %s' % seen
    if seen[0][:1] + seen[0][2:5] != (HERE, HERE, THERE, '0x%04x' % port):
        return 'the request: %s' % (seen[0],)
    return None


# --- refusals -----------------------------------------------------------------------------------------------------------


def refused(owner, to, said):
    rc, out = owner.run('rping', '-c', '-a', to, '-C', '1', '-p', new_port())
    return None if rc != 0 and re.search(said, out) else 'exit code %d: %s' % (rc, out)


def taken(owner):
    """Two programs cannot listen at one port."""
    p = new_port()
    s = serve(owner, 'rping', '-s', '-a', THERE, '-p', p)
    rc, out = owner.run('rping', '-s', '-a', THERE, '-p', p)
    s.kill()
    finish(s)
    return None if rc != 0 and 'Address already in use' in out else 'exit code %d: %s' % (rc, out)


# --- life and death -----------------------------------------------------------------------------------------------------


def killed(owner):
    """The peer of a program that is killed hears that the connection is over; others go on."""
    p = new_port()
    s = serve(owner, 'rping', '-s', '-a', THERE, '-p', p, '-v')
    c = owner.start('rping', '-c', '-a', THERE, '-p', p)
    for line in s.stdout:
        if 'rdma-ping-20' in line:
            break
    c.send_signal(signal.SIGKILL)
    c.communicate()
    bad = rping(owner)
    said = finish(s)
    return bad or (None if 'DISCONNECT EVENT' in said else 'the server: exit code %d: %s' % (s.returncode, said[-600:]))


def at_once(owner):
    """Two programs on one card: the one writes to the other port without end, the other checks what it reads, either way round."""
    tcp = tpmd.free_port()
    cmd = ['ib_write_bw', '-x', '3', '-F', '-D', '600', '-p', str(tcp), '-d']
    both = [owner.start(*cmd, DEV[0], view='off')]
    try:
        tpmd.wait_until(lambda: both[0].poll() is not None or tpmd.listens(tcp), LIMIT)
        both.append(owner.start(*cmd, DEV[1], '127.0.0.1', view='off'))
        if not owner.wait(lambda s: sum(p['qps'] for p in s['programs']) == 2, LIMIT):
            return 'no two queue pairs: %s' % owner.show()
        bad = rping(owner) or rping(owner, HERE, THERE)
        return bad or (None if all(p.poll() is None for p in both) else 'perftest ended: %s' % [finish(p)[-400:] for p in both])
    finally:
        for p in both:
            p.kill()
            p.communicate()


def port_goes(owner):
    """A program that listens at the port's address hears of it; the port comes back."""
    s = serve(owner, 'rping', '-s', '-a', THERE, '-p', new_port())
    for line in ('stop', 'roce 1 off'):
        owner.app.tell(line)
    said = finish(s)
    for line in ('roce 1 on', 'start'):
        owner.app.tell(line)
    owner.show()
    return None if 'device removal' in said and s.returncode > 0 else 'exit code %d: %s' % (s.returncode, said)


def share_off(owner):
    """A program that waits for connections ends, and its events say so."""
    s = serve(owner, 'rping', '-s', '-a', THERE, '-p', new_port())
    owner.app.tell('share off')
    said = finish(s)
    owner.app.tell('share on ' + owner.socket)
    owner.show()
    return None if 'rdma_get_cm_event' in said and 'ended by the test' not in said else said


def main():
    owner = Owner()
    cases.run('abi', abi, owner)
    cases.run('abi-given-back', owner.empty)
    cases.run('rping', rping, owner)
    cases.run('rping-back', rping, owner, HERE, THERE)
    cases.run('rping-inside-a-port', rping, owner, HERE, HERE)
    cases.run('on-the-wire', on_the_wire, owner)
    status = r'return status 0'
    four = ('-c', '4', '-S', '1000')
    cases.run('ucmatose', lambda: by_port(owner, 'ucmatose', *four, server=four, done=status, end=status))
    cases.run('udaddy', udaddy, owner)
    cases.run('mckey', mckey, owner)
    cases.run('cmtime', lambda: by_port(owner, 'cmtime', '-c', '50', done=r'\ndestroy +: +[\d.]+', keeps=True))
    cases.run('rdma-client', client_server, owner, 'rdma_client', 'rdma_server')
    cases.run('rdma-xclient', client_server, owner, 'rdma_xclient', 'rdma_xserver')
    cases.run('no-xrc', no_xrc, owner)
    for prog in ('ib_send_bw', 'ib_write_bw', 'ib_read_lat', 'ib_atomic_lat'):
        cases.run(prog, perftest, owner, prog)
    cases.run('rcopy', rcopy, owner)
    for prog in ('rstream', 'riostream'):
        cases.run(prog, rsockets, owner, prog)
    cases.run('tcp', tcp, owner)
    cases.run('nobody-listens', refused, owner, THERE, r'RDMA_CM_EVENT_REJECTED, error 8')
    cases.run('nobody-there', refused, owner, '192.0.2.77', r'RDMA_CM_EVENT_ADDR_ERROR, error -1(10|13)')
    cases.run('no-route', refused, owner, '198.51.100.1', r'rdma_resolve_addr: No such device')
    cases.run('taken', taken, owner)
    cases.run('killed', killed, owner)
    cases.run('at-once', at_once, owner)
    cases.run('given-back', owner.empty)
    cases.run('port-goes', port_goes, owner)
    cases.run('port-back', rping, owner)
    cases.run('share-off', share_off, owner)
    cases.run('shared-again', rping, owner)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
