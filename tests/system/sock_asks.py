#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sock_asks.py memcached|nats ADDRESS PORT: a client of such a server, that says how many answers are wrong."""
import random
import socket
import struct
import sys
import threading

KEYS = 500
DATAGRAMS = 200


def value(n, i):
    return random.Random(n * 1000003 + i).randbytes((1, 100, 1000, 5000)[i % 4])


def puts(at, n, wrong):
    f = socket.create_connection(at).makefile('rwb')
    for i in range(KEYS):
        v = value(n, i)
        f.write(b'set key-%d-%d 0 0 %d\r\n%s\r\n' % (n, i, len(v), v))
        f.flush()
        if f.readline() != b'STORED\r\n':
            wrong.append((n, i))


def gets(at, n, wrong):
    f = socket.create_connection(at).makefile('rwb')
    for i in random.Random(n).sample(range(KEYS), KEYS):
        v = value(n, i)
        f.write(b'get key-%d-%d\r\n' % (n, i))
        f.flush()
        head = f.readline()
        if head != b'VALUE key-%d-%d 0 %d\r\n' % (n, i, len(v)) or f.read(len(v) + 7) != v + b'\r\nEND\r\n':
            wrong.append((n, i, head))


def answer(s, number, question):
    """By a datagram, which may be lost either way; behind memcached's header."""
    for _ in range(60):
        s.send(struct.pack('>4H', number, 0, 1, 0) + question)
        try:
            got = s.recv(2000)
            while struct.unpack('>H', got[:2])[0] != number:
                got = s.recv(2000)
            return got[8:]
        except TimeoutError:
            pass
    return b''


def memcached(at):
    """Four connections at once set keys, four others get them; then values of 100 and of 1000 octets by datagrams."""
    wrong = []
    for fn in puts, gets:
        threads = [threading.Thread(target=fn, args=(at, n, wrong)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(at)
    s.settimeout(1)
    for number in range(DATAGRAMS):
        i = number // 2 * 4 + 1 + number % 2
        got = answer(s, number, b'get key-1-%d\r\n' % i)
        if got != b'VALUE key-1-%d 0 %d\r\n%s\r\nEND\r\n' % (i, len(value(1, i)), value(1, i)):
            wrong.append((i, got[:60]))
    return wrong


def nats(at):
    """A thousand messages to itself."""
    f = socket.create_connection(at).makefile('rwb')
    wrong = [] if f.readline().startswith(b'INFO ') else ['INFO']
    f.write(b'CONNECT {"verbose":false}\r\nSUB a.* 1\r\n')
    for n in range(1000):
        f.write(b'PUB a.b %d\r\n%s\r\n' % (n, b'x' * n))
    f.write(b'PING\r\n')
    f.flush()
    for n in range(1000):
        head = f.readline()
        if head != b'MSG a.b 1 %d\r\n' % n or f.read(n + 2) != b'x' * n + b'\r\n':
            wrong.append((n, head))
            break
    return wrong if wrong or f.readline() == b'PONG\r\n' else ['PONG']


if __name__ == '__main__':
    bad = {'memcached': memcached, 'nats': nats}[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
    print('wrong:', len(bad), *bad[:3])
