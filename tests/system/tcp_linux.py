# SPDX-License-Identifier: BSD-3-Clause
"""A connection between lib/tcp and Linux's TCP: tcp_tap with a TAP in a network namespace as its wire, and a Python program there or
behind it. Octets are compared both ways."""
import hashlib
import os
import random
import subprocess
import sys
import threading

import tpmd
from test_ipoib import sh

PROGRAM = os.path.join(os.environ['TP_BUILD'], 'tests/system/tcp_tap')
SPACE, TAP = 'tptcp%d' % os.getpid(), 'tptap'
OWN, PEER = '10.77.0.2', '10.77.0.1'
# Linux's end: it sends its octets, reads all of the other's, and tells what it saw.
LINUX = '''
import hashlib, random, socket, sys, threading
mode, octets, seed, own = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if mode == 'listen':
    l = socket.create_server((own, 5001))
    print('listening', flush=True)
    l.settimeout(120)
    s = l.accept()[0]
else:
    s = socket.create_connection(('10.77.0.2', 5001), timeout=120, source_address=(own, 0))
s.settimeout(120)
def send():
    s.sendall(random.Random(seed).randbytes(octets))
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=send)
t.start()
h, n = hashlib.sha256(), 0
while data := s.recv(1 << 16):
    h.update(data)
    n += len(data)
t.join()
print(n, h.hexdigest(), flush=True)
# Until the engine has ended, too: a kernel may end with its program.
sys.stdin.read()
'''
# The last frame of a capture: TCP of nobody, to nobody.
MARK, MARK_IP = b'nothing else is sent from here on', '192.0.2.1'
MARKER = '''
import socket, sys
ip = bytes([0x45, 0, 0, 73, 0, 0, 0, 0, 1, 6, 0, 0]) + socket.inet_aton(sys.argv[3]) * 2
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind((sys.argv[1], 0x0800))
    s.send(bytes([255] * 6 + [2] * 6 + [8, 0]) + ip + bytes(12) + bytes([0x50, 0]) + bytes(6) + sys.argv[2].encode())
'''


def has_header(capture):
    return os.path.exists(capture) and os.path.getsize(capture) >= 24


class Transfer:
    """One connection; mode is what the engine does. Linux's end is in the namespace there, at an address: the TAP's, or behind it.
    within: what makes of a command the one that runs it elsewhere, such as on another kernel."""

    def __init__(self, mode, ours, theirs, *words, capture=None, there=SPACE, at=PEER, within=None):
        self.wrong, self.counters = None, {}
        data, expect = random.Random(ours + 1).randbytes(ours), random.Random(theirs + 2).randbytes(theirs)
        stay, end = os.pipe()
        engine = subprocess.Popen(['ip', 'netns', 'exec', SPACE, PROGRAM, TAP, OWN, at, mode, '5001', 'stay=%d' % stay, *words],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[stay])
        os.close(stay)
        shark = linux = None
        try:
            first = engine.stderr.readline()
            if first != b'ready\n':
                self.wrong = 'engine: %s' % (first + engine.stderr.read()).decode()
                return
            mac = '02:54:50:00:00:01'
            sh('ip', '-n', SPACE, 'addr', 'add', PEER + '/24', 'dev', TAP, check=True)
            sh('ip', '-n', SPACE, 'link', 'set', TAP, 'up', check=True)
            sh('ip', '-n', SPACE, 'neigh', 'replace', OWN, 'lladdr', mac, 'nud', 'permanent', 'dev', TAP, check=True)
            if capture:
                # A buffer for all that there is: a capture that lacks frames would be a stack that left them out.
                shark = subprocess.Popen(['ip', 'netns', 'exec', SPACE, 'dumpcap', '-q', '-B', '32', '-i', TAP, '-P', '-w', capture,
                                          '-f', 'tcp or icmp'], stderr=subprocess.DEVNULL)
                # It captures when the file has its header.
                if not tpmd.wait_until(lambda: shark.poll() is not None or has_header(capture)) or shark.poll() is not None:
                    self.wrong = 'dumpcap does not begin, exit code %s' % shark.poll()
                    return
            peer = 'listen' if mode == 'connect' else 'connect'
            program = [sys.executable, '-c', LINUX, peer, str(theirs), str(theirs + 2), at]
            linux = subprocess.Popen(within(program) if within else ['ip', 'netns', 'exec', there, *program],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if peer == 'listen' and linux.stdout.readline() != 'listening\n':
                self.wrong = 'no server: ' + linux.stdout.read()
                return

            def feed():
                try:
                    engine.stdin.write(b'\n' + data)
                    engine.stdin.close()
                except BrokenPipeError:
                    pass
            feeder = threading.Thread(target=feed)
            feeder.start()
            got = engine.stdout.read()
            feeder.join()
            said = engine.stderr.readline().decode()
            told = linux.communicate(timeout=150)[0].strip()
            ends = shark is None or engine.poll() is not None or self.captured(capture)
            os.close(end)
            end = -1
            if engine.wait(60) != 0:
                self.wrong = 'engine: %s; Linux: %s' % (said + engine.stderr.read().decode(), told[-200:])
            elif not ends:
                self.wrong = 'the last frame is not in the capture'
            elif got != expect:
                self.wrong = 'the engine got %d octets of %d, the first %d alike' % (
                    len(got), len(expect), len(os.path.commonprefix([got, expect])))
            elif told != '%d %s' % (ours, hashlib.sha256(data).hexdigest()):
                self.wrong = 'Linux got ' + told[-300:]
            else:
                self.counters = {k: int(v) for k, v in (w.split('=') for w in said.split())}
        finally:
            for p in (engine, linux):
                if p is not None and p.poll() is None:
                    p.kill()
                    p.wait()
            if end >= 0:
                os.close(end)
            if shark is not None:
                shark.terminate()
                shark.wait()

    @staticmethod
    def captured(capture):
        """dumpcap writes what it has later, and nothing of what it has when it ends: wait for a frame behind all others."""
        sh('ip', 'netns', 'exec', SPACE, sys.executable, '-c', MARKER, TAP, MARK.decode(), MARK_IP, check=True)

        def marked():
            with open(capture, 'rb') as f:
                return MARK in f.read()
        return tpmd.wait_until(marked)


def frames_of(pcap, which, *fields):
    """Lines of tshark, one for each frame of a connection that the filter takes."""
    return subprocess.run(['tshark', '-r', pcap, '-o', 'tcp.check_checksum:TRUE', '-T', 'fields',
                           *(x for f in ('frame.number', *fields) for x in ('-e', f)), '-Y', '(%s) && ip.src != %s' % (which, MARK_IP)],
                          capture_output=True, text=True, check=True).stdout.splitlines()
