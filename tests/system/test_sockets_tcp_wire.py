#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings of TCP of programs on a port, by the frames that they make it send: a peer of scapy's answers as it pleases."""
import json
import os
import subprocess

import share_owner
import tpmd
from share_owner import finish, until_says
from sock_wire import FAR, HERE, THERE, WIRE, Owner, far, inside, python

cases = tpmd.Cases()
STAT = os.path.join(os.environ['TP_BUILD'], 'apps/sockstat/tp_sockstat')
PEER = '192.0.2.9'  # an address that no kernel has
TRIES = 20

# One connection, answered by hand: what its SYN, or the answer to one, asks for, and which segments come before and after losses.
SCAPY = r"""
import json, logging, sys, time
logging.getLogger('scapy.runtime').setLevel(logging.ERROR)
from scapy.all import ARP, IP, TCP, Ether, conf
name, here, peer, case, port, flight = sys.argv[1:]
MAC = '02:00:00:00:00:09'
s = conf.L2socket(iface=name)
print('there', flush=True)

def frames():
    while True:
        p = s.recv()
        if p is None or p.src == MAC:
            continue
        if ARP in p and p[ARP].op == 1 and p[ARP].pdst == peer:
            s.send(Ether(src=MAC, dst=p.src) / ARP(op=2, hwsrc=MAC, psrc=peer, hwdst=p.src, pdst=p[ARP].psrc))
        elif TCP in p and p[IP].dst == peer:
            yield p

def reply(p, flags, ack, options=()):
    s.send(Ether(src=MAC, dst=p.src) / IP(src=peer, dst=here) /
           TCP(sport=p[TCP].dport, dport=p[TCP].sport, flags=flags, seq=p[TCP].ack or 1000, ack=ack, window=65535, options=list(options)))

def octets(p):
    return p[IP].len - 20 - 4 * p[TCP].dataofs

came = frames()
if case == 'call':
    # A peer that asks for ECN calls; how it is answered.
    mac = sys.stdin.readline().strip()
    syn = Ether(src=MAC, dst=mac) / IP(src=peer, dst=here) / TCP(sport=4000, dport=int(port), flags='SEC', seq=999, window=65535,
                                                                options=[('MSS', 1460)])
    s.send(syn)
    p = next(x for x in came if 'S' in str(x[TCP].flags))
    reply(p, 'R', p[TCP].seq + 1)
    print(json.dumps({'flags': str(p[TCP].flags)}))
    sys.exit()
p = next(came)
out = {'flags': str(p[TCP].flags), 'second': 0}
# The time to retransmit gets longer by this: 1.2 s, and 0.8 s until the tail is probed.
time.sleep(0.4)
begun = time.monotonic()
reply(p, 'SA' + ('E' if 'E' in out['flags'] else ''), p[TCP].seq + 1, [('MSS', 1460), ('SAckOK', b'')])
start, seen = p[TCP].seq + 1, []
for p in came:
    if not octets(p):
        continue
    at = p[TCP].seq - start
    out.setdefault('ecn', p[IP].tos & 3)
    seen += [at] if at not in seen else []
    if len(seen) == int(flight):
        break
# All but the first one has come.
reply(p, 'A', start, [('NOP', None), ('NOP', None), ('SAck', (start + seen[1], start + seen[-1] + 1460))])
again = 0
for p in came:
    if octets(p):
        again += p[TCP].seq == start
        # Either end had no CPU for too long: what is sent again may be by the clock.
        out.setdefault('late', time.monotonic() - begun > 0.6)
        if again == 2:
            break
        out['second'] += 1
reply(p, 'R', start)
print(json.dumps(out))
"""

# It sends more than any window, and waits for its peer's reset.
SENDS = """
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
try:
    s.sendall(bytes(300000))
    s.recv(1)
except ConnectionResetError:
    print("reset")
"""

LISTENS = """
s = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("there", flush=True)
s.accept()
"""


def scapy(case, port, flight=10):
    p = share_owner.start(*inside(FAR, '/usr/bin/python3', '-c', SCAPY, WIRE, HERE, PEER, case, port, str(flight)), stdin=subprocess.PIPE)
    until_says(p, 'there\n')
    return p


def calls(owner, flight=10, **env):
    """What a connection of the port's sends to the peer, where both have the CPU for that in time."""
    for _ in range(TRIES):
        got, out = call(owner, flight, **env)
        if not got.get('late'):
            break
    return got, out


def call(owner, flight, **env):
    port = str(tpmd.free_port())
    peer = scapy('answer', port, flight)
    try:
        near = owner.near(*python(SENDS, PEER, port), **env)
        try:
            said = finish(peer)
            out = finish(near)
        finally:
            near.kill()
    finally:
        peer.kill()
    return (json.loads(said) if said.startswith('{') else {'said': said}), out


def called(owner, **env):
    """The answer to a peer that asks for ECN."""
    port = str(tpmd.free_port())
    near = owner.near(*python(LISTENS, HERE, port), **env)
    try:
        until_says(near, 'there\n')
        peer = scapy('call', port)
        try:
            said = peer.communicate(owner.mac + '\n', timeout=share_owner.LIMIT)[0]
        finally:
            peer.kill()
    finally:
        near.kill()
        finish(near)
    return json.loads(said)['flags'] if said.startswith('{') else said


SENDS_ALL = """
import hashlib, os
data = os.urandom(3000000)
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    print(s.recv(64).decode() == hashlib.sha256(data).hexdigest())
    sys.stdin.readline()
"""

TAKES_ALL = """
import hashlib
l = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("there", flush=True)
c = l.accept()[0]
h = hashlib.sha256()
while (d := c.recv(1 << 16)):
    h.update(d)
c.sendall(h.hexdigest().encode())
c.recv(1)
"""


def large(owner):
    """Linux takes the segments that the card made of large sends: their numbers, lengths and sums are right."""
    port = str(tpmd.free_port())
    there = far(*python(TAKES_ALL, THERE, port))
    until_says(there, 'there\n')
    near = owner.near(*python(SENDS_ALL, THERE, port), stdin=subprocess.PIPE)
    try:
        same = until_says(near, '\n')
        rings = json.loads(subprocess.run([STAT, '--json', '--pid', str(near.pid)], stdout=subprocess.PIPE).stdout)['programs'][0]['rings']
        near.communicate('\n', timeout=share_owner.LIMIT)
    finally:
        near.kill()
        there.kill()
        finish(there)
    ok = same == 'True\n' and rings['tx_large_segments'] > 2 * rings['tx_large'] > 0
    return None if ok else '%s, %s' % (same, rings)


def settings(owner, cc, ecn, first, second, syn, data, answer):
    """
    Segments in the first flight (RFC 6928: ten; all that the peer has room for without congestion control), and after the loss of
    its first one, with it: as many as the window that is left (RFC 5681: a half; RFC 9438: seven tenths) allows. ECN: of the SYN,
    of data to a peer that agrees, and of the answer to a peer that asks (RFC 3168 6.1.1).
    """
    env = {**(dict([cc.split('=')]) if cc else {}), **({'TRIPLANE_SOCKETS_ECN': ecn} if ecn else {})}
    got, out = calls(owner, first, **env)
    flags = called(owner, **env)
    ok = got.get('second') in second and got['ecn'] == data and sorted(got['flags']) == sorted(syn) and sorted(flags) == sorted(answer)
    return None if ok and out == 'reset\n' else '%s, answered by %s, %s' % (got, flags, out)


def wrong(owner):
    """Words that are none are told, and the usual ones taken."""
    got, out = calls(owner, TRIPLANE_SOCKETS_CC='vegas', TRIPLANE_SOCKETS_ECN='2')
    want = ("TRIPLANE_SOCKETS_CC: 'vegas' is none of cubic|reno|none; cubic is taken",
            "TRIPLANE_SOCKETS_ECN: '2' is none of passive|on|off; passive is taken")
    return None if all(w in out for w in want) and got.get('flags') == 'S' and got.get('second') in (7, 8) else '%s, %s' % (got, out)


def main():
    owner = Owner()
    # A probe of the tail may be one segment more (RFC 8985 7.3). Marks of ECN mean nothing where no window is cut for them.
    cases.run('usual', settings, owner, None, None, 10, (7, 8), 'S', 0, 'SAE')
    cases.run('reno-ecn-on', settings, owner, 'TRIPLANE_SOCKETS_CC=reno', 'on', 10, (5, 6), 'SEC', 2, 'SAE')
    # By the name of the accelerator of the card's time.
    cases.run('none-ecn-off', settings, owner, 'VMA_TCP_CC_ALGO=2', 'off', 44, range(1, 100), 'S', 0, 'SA')
    cases.run('words', wrong, owner)
    cases.run('large-sends', large, owner)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.end)
    cases.exit()


if __name__ == '__main__':
    main()
