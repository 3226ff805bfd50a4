#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of datagrams over the queues of shared ports, and the same programs on the kernel: their calls return the same."""
import os
import subprocess
import tempfile

import share_owner
import tpmd
from share_owner import Owner, finish, until_says
from sock_ends import SERVER, ends, same

cases = tpmd.Cases()
PROG = os.path.join(os.environ['TP_BUILD'], 'tests/system/sock_udp')
SAME = ('data', 'flags', 'beside', 'options', 'errors', 'more', 'connected', 'drops', 'waiting', 'groups', 'daemon')


def has_port(owner, rules, program):
    """Whether a program's socket is the port's by these rules."""
    with tempfile.NamedTemporaryFile('w') as f:
        f.write(rules)
        f.flush()
        p = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', program,
                        env={**os.environ, 'TRIPLANE_SOCKETS_RULES': f.name, 'TRIPLANE_SOCKETS_ID': 'me'}, stdin=subprocess.PIPE)
        try:
            said = until_says(p, 'there\n')
            if 'there' not in said:
                raise RuntimeError(said)
            return any(q['qps'] for q in owner.show()['programs'] if q['pid'] == p.pid)
        finally:
            p.kill()
            p.communicate()


BIND = 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("%s", %%d)); print("there", flush=True); input()'
SEND = ('import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ntry:\n s.sendto(b"x", ("192.0.2.1", 5005))\n'
        'except OSError: pass\nprint("there", flush=True); input()')
CALL = SEND.replace('sendto(b"x", ', 'connect(')
RULES = [
    ('receiver', BIND % '0.0.0.0', '', True),
    ('receiver-os', BIND % '0.0.0.0', 'use os udp_receiver *:*\n', False),
    ('receiver-address', BIND % SERVER, 'use triplane udp_receiver 192.0.2.2/32:*\nuse os udp_receiver *:*\n', True),
    ('receiver-other', BIND % SERVER, 'use os udp_sender *:*\nuse os udp_connect *:*\nuse os tcp_server *:*\n', True),
    ('receiver-loopback', BIND % '127.0.0.1', '', False),
    ('sender', SEND, '', True),
    ('sender-os', SEND, 'use os udp_sender 192.0.2.0/24:5000-5010\n', False),
    ('sender-port', SEND, 'use os udp_sender 192.0.2.0/24:5006-5010\n', True),
    ('connect', CALL, 'use vma udp_connect 192.0.2.1:5005\nuse os udp_connect *:*\n', True),
    ('connect-os', CALL, 'use os udp_connect *:5005\n', False),
]


def rules(owner, text, program, port):
    ours = has_port(owner, text, program % tpmd.free_port() if '%d' in program else program)
    return None if ours == port else 'the port has it: %s' % ours


HALVES = """
import socket, select
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", %d))
print("there", flush=True)
for way in "wait", "poll", "both":
    for n in range(2):
        if way == "poll":
            assert select.select([s], [], [], 60)[0]
        data, who = s.recvfrom(100)
        s.sendto(data + b"!", who)
        print(way, who[0], data.decode(), flush=True)
print(select.select([s], [], [], 0)[0])
"""
ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
s.sendto(sys.argv[3].encode(), (sys.argv[1], int(sys.argv[2])))
print(s.recv(100).decode())
"""


def halves(owner):
    """A socket that is bound to any address: what comes by the port and by the kernel is read by one call, and answered the way it came."""
    port = tpmd.free_port()
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', HALVES % port)
    out = []
    try:
        said = until_says(server, 'there\n')
        for n in range(3):
            one = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', ASK, SERVER, str(port), 'port%d' % n)
            out.append(finish(one))
            two = share_owner.start('/usr/bin/python3', '-c', ASK, '127.0.0.1', str(port), 'kernel%d' % n)
            out.append(finish(two))
        said += finish(server)
    finally:
        server.kill()
    want = ['there'] + ['%s %s' % (w, x) for n, w in enumerate(('wait', 'poll', 'both'))
                        for x in ('192.0.2.1 port%d' % n, '127.0.0.1 kernel%d' % n)] + ['[]']
    answers = [x for n in range(3) for x in ('port%d!\n' % n, 'kernel%d!\n' % n)]
    return None if said.splitlines() == want and out == answers else '%s %s' % (out, said)


MEMBER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(sys.argv[1])))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.5.5.5") + socket.inet_aton("192.0.2.2"))
print("there", flush=True)
s.settimeout(60)
for n in range(3):
    data, who = s.recvfrom(65535)
    print(len(data), who[0], flush=True)
"""
SPEAK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.1", 0))
for n in (1, 1000, 9000):
    s.sendto(b"x" * n, ("239.5.5.5", int(sys.argv[1])))
"""


def members(owner):
    """Two programs on one port are members of one group with one port number: both hear it, fragments, too."""
    port = str(tpmd.free_port())
    heard = [owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', MEMBER, port) for _ in range(2)]
    try:
        said = [until_says(p, 'there\n') for p in heard]
        speaks = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', SPEAK, port)
        out = finish(speaks)
        said = [s + finish(p) for s, p in zip(said, heard)]
    finally:
        for p in heard:
            p.kill()
    want = 'there\n1 192.0.2.1\n1000 192.0.2.1\n9000 192.0.2.1\n'
    return None if said == [want, want] and speaks.returncode == 0 else '%s %s' % (said, out)


UNREAD = """
import socket
idle = []
for n in range(60):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("192.0.2.2", 0))
    idle.append(s)
ports = [s.getsockname()[1] for s in idle]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.2", 0))
print(" ".join(map(str, [s.getsockname()[1]] + ports)), flush=True)
while True:
    data, who = s.recvfrom(2000)
    s.sendto(data, who)
    if data == b"end":
        break
print("ended", flush=True)
"""
FLOOD = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
ports = [int(x) for x in sys.argv[1:]]
def ask(data):
    s.sendto(data, ("192.0.2.2", ports[0]))
    assert s.recv(100) == data
ask(b"begin")
for p in ports[1:]:
    for n in range(100):
        s.sendto(b"x" * 1000, ("192.0.2.2", p))
    ask(b"q%d" % p)
s.sendto(b"end", ("192.0.2.2", ports[0]))
print(s.recv(100).decode())
"""


def unread(owner):
    """
    Sixty sockets that nobody reads get more than all frames of the program: one that is read goes on. It answers behind each hundred,
    which the card has room for: what a full queue loses is no frame of the program.
    """
    before = owner.app.ask('show model')['ports'][1]
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', UNREAD, env={**os.environ, 'TRIPLANE_SOCKETS_MBUFS': '2048'})
    try:
        ports = until_says(server, '\n').split()
        client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', FLOOD, *ports)
        out = finish(client)
        said = finish(server) if client.returncode == 0 else ''
    finally:
        server.kill()
    after = owner.app.ask('show model')['ports'][1]
    came, lost = (after[c] - before[c] for c in ('rx_frames', 'rx_no_wqe'))
    if (out, said) != ('end\n', 'ended\n'):
        return '%s; %s' % (out[-300:], said[-300:])
    return None if came > 6000 and lost == 0 else '%d frames came, wanted more than 6000; %d found no receive request, wanted 0' % (came, lost)


SENDS = """
import re, socket, sys
def slept():
    with open('/proc/thread-self/status') as f:
        return int(re.search(r'^voluntary_ctxt_switches:\\s+(\\d+)', f.read(), re.M)[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], int(sys.argv[2])))
before = slept()
for n in range(20000):
    s.send(b'x')
print(slept() - before)
"""


def sender(owner):
    """One that is not answered sleeps while the card has no room, and not for each datagram."""
    port = str(tpmd.free_port())
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', BIND % SERVER % int(port), stdin=subprocess.PIPE)
    try:
        until_says(server, 'there\n')
        out = finish(owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', SENDS, SERVER, port))
    finally:
        server.kill()
        finish(server)
    return None if out.strip().isdigit() and int(out) < 5000 else out


def main():
    owner = Owner()
    for case in SAME:
        cases.run('same-' + case, same, owner, case, PROG)
    cases.run('halves', halves, owner)
    cases.run('members', members, owner)
    cases.run('unread', unread, owner)
    cases.run('sender', sender, owner)
    for name, program, text, port in RULES:
        cases.run('rules-' + name, rules, owner, text, program, port)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
