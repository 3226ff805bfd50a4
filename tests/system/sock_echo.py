# SPDX-License-Identifier: BSD-3-Clause
"""
An echo of plain sockets and who calls it: `serve ADDRESS PORT AT`, one connection after the other, and `call ADDRESS PORT COUNT AT`,
which compares what comes back. Both begin by a line of their input, say so when they have had AT pieces of data, 0: never, and how a
connection ended.
"""
import errno
import random
import socket
import sys
import time


def say(*words):
    print(*words, flush=True)


def serve(addr, port, at):
    listener, had = socket.create_server((addr, port)), 0
    say('listens')
    while True:
        conn, why = listener.accept()[0], 'end'
        say('accepted')
        try:
            while data := conn.recv(65536):
                conn.sendall(data)
                had += 1
                if had == at:
                    say('at')
        except OSError as e:
            why = errno.errorcode[e.errno]
        conn.close()
        say('over', why)


def connected(addr, port):
    """A server may not be there yet."""
    while True:
        try:
            return socket.create_connection((addr, port))
        except ConnectionRefusedError:
            time.sleep(0.01)


def exchange(conn, rnd):
    """One message there and back; b'': the end came."""
    data, got = rnd.randbytes(rnd.choice((1, 100, 3000, 60000))), b''
    conn.sendall(data)
    while len(got) < len(data) and (piece := conn.recv(65536)):
        got += piece
    if len(got) == len(data) and got != data:
        say('wrong data')
        sys.exit(1)
    return len(got) == len(data)


def call(addr, port, count, at):
    conn, rnd = connected(addr, port), random.Random(count)
    say('connected')
    try:
        for n in range(1, count + 1):
            if not exchange(conn, rnd):
                say('over end')
                return
            if n == at:
                say('at')
    except OSError as e:
        say('over', errno.errorcode[e.errno])
        return
    conn.close()
    say('done')


if __name__ == '__main__':
    sys.stdin.readline()
    (serve if sys.argv[1] == 'serve' else call)(sys.argv[2], *map(int, sys.argv[3:]))
