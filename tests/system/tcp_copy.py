# SPDX-License-Identifier: BSD-3-Clause
"""Octets that one network namespace sends to another by TCP of the kernel, and whether they arrive."""
import hashlib
import random
import subprocess
import sys

OCTETS = 8_000_000
# Both ends of a transfer; the sender's octets are a sequence that both can make.
PEER = '''
import hashlib, random, socket, sys
family, address, octets = getattr(socket, sys.argv[2]), sys.argv[3], int(sys.argv[4])
if sys.argv[1] == 'receive':
    s = socket.create_server((address, 5299), family=family)
    print('listening', flush=True)
    s.settimeout(60)
    c = s.accept()[0]
    c.settimeout(60)
    h, n = hashlib.sha256(), 0
    while data := c.recv(1 << 18):
        h.update(data)
        n += len(data)
    print(n, h.hexdigest())
else:
    s = socket.create_connection((address, 5299), timeout=60)
    s.sendall(random.Random(octets).randbytes(octets))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
'''


def peer(space, *args):
    return subprocess.Popen(['ip', 'netns', 'exec', space, sys.executable, '-c', PEER, *args], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def copied(source, sink, family, address, octets=OCTETS):
    """None, or what is wrong with octets that one kernel sent to the other."""
    receiver, sender = peer(sink, 'receive', family, address, str(octets)), None
    try:
        if receiver.stdout.readline() != 'listening\n':
            return 'no server: ' + receiver.communicate(timeout=10)[0]
        sender = peer(source, 'send', family, address, str(octets))
        out = receiver.communicate(timeout=180)[0].split()
        sender.communicate(timeout=60)
    finally:
        for p in (receiver, sender):
            if p is not None and p.poll() is None:
                p.kill()
                p.wait()
    want = [str(octets), hashlib.sha256(random.Random(octets).randbytes(octets)).hexdigest()]
    return None if out == want else '%s, not %s' % (out, want)
