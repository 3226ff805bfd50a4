#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/tcp against Linux's TCP over a TAP in a network namespace: octets are compared both ways, with and without losses and
reordering, and tshark judges what was on the wire."""
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import threading

import tpmd
from test_ipoib import sh

cases = tpmd.Cases()
PROGRAM = os.path.join(os.environ['TP_BUILD'], 'tests/system/tcp_tap')
SPACE, TAP = 'tptcp%d' % os.getpid(), 'tptap'
OWN, PEER = '10.77.0.2', '10.77.0.1'
# Linux's end: it sends its octets, reads all of the other's, and tells what it saw.
LINUX = '''
import hashlib, random, socket, sys, threading
mode, octets, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if mode == 'listen':
    l = socket.create_server(('10.77.0.1', 5001))
    print('listening', flush=True)
    l.settimeout(120)
    s = l.accept()[0]
else:
    s = socket.create_connection(('10.77.0.2', 5001), timeout=120)
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
'''


def has_header(capture):
    return os.path.exists(capture) and os.path.getsize(capture) >= 24


class Transfer:
    """One connection; mode is what the engine does."""

    def __init__(self, mode, ours, theirs, *words, capture=None):
        self.wrong, self.counters = None, {}
        data, expect = random.Random(ours + 1).randbytes(ours), random.Random(theirs + 2).randbytes(theirs)
        engine = subprocess.Popen(['ip', 'netns', 'exec', SPACE, PROGRAM, TAP, OWN, PEER, mode, '5001', *words],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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
                                          '-f', 'tcp'], stderr=subprocess.DEVNULL)
                # It captures when the file has its header.
                if not tpmd.wait_until(lambda: shark.poll() is not None or has_header(capture)) or shark.poll() is not None:
                    self.wrong = 'dumpcap does not begin, exit code %s' % shark.poll()
                    return
            peer = 'listen' if mode == 'connect' else 'connect'
            linux = subprocess.Popen(['ip', 'netns', 'exec', SPACE, sys.executable, '-c', LINUX, peer, str(theirs),
                                      str(theirs + 2)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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
            said = engine.stderr.read().decode()
            told = linux.communicate(timeout=150)[0].strip()
            if engine.wait(60) != 0:
                self.wrong = 'engine: %s; Linux: %s' % (said, told[-200:])
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
            if shark is not None:
                shark.terminate()
                shark.wait()


def plain(mode, ours, theirs, *words, **expect):
    t = Transfer(mode, ours, theirs, *words)
    if t.wrong:
        return t.wrong
    for k, v in expect.items():
        if t.counters[k] != v:
            return '%s is %d, not %d' % (k, t.counters[k], v)
    return None


def lossy(mode, *words):
    t = Transfer(mode, 3_000_000, 3_000_000, *words)
    if t.wrong:
        return t.wrong
    return None if t.counters['retransmits'] else 'nothing was lost'


def frames_of(pcap, which, *fields):
    """Lines of tshark, one for each frame that the filter takes."""
    return subprocess.run(['tshark', '-r', pcap, '-o', 'tcp.check_checksum:TRUE', '-T', 'fields',
                           *(x for f in ('frame.number', *fields) for x in ('-e', f)), '-Y', which],
                          capture_output=True, text=True, check=True).stdout.splitlines()


def shark_agrees(mode):
    """Without loss tshark finds nothing to remark on but what a full window is."""
    with tempfile.TemporaryDirectory() as folder:
        pcap = os.path.join(folder, 'x.pcap')
        t = Transfer(mode, 1_000_000, 1_000_000, capture=pcap)
        if t.wrong:
            return t.wrong
        found = frames_of(pcap, 'ip.src == %s && (tcp.analysis.flags || tcp.checksum.status == 0 || _ws.malformed)' % OWN,
                          'ip.src', 'tcp.analysis.flags', '_ws.expert.message')
        found = [line for line in found if 'window' not in line.lower()]
        # A peer that gets no CPU is asked again: that is the timers' doing, and they say so.
        if t.counters['tail_probes'] + t.counters['timeouts']:
            found = [line for line in found if 'retransmission' not in line]
        # So does Linux, and what it sends again is acknowledged again, once each (RFC 9293, 3.10.7.4).
        again = frames_of(pcap, 'ip.src == %s && (tcp.analysis.retransmission || tcp.analysis.spurious_retransmission)' % PEER)
        if sum('Duplicate ACK' in line for line in found) <= len(again):
            found = [line for line in found if 'Duplicate ACK' not in line]
        frames = len(frames_of(pcap, 'ip.src == %s && tcp.len > 0' % OWN))
    if frames < 300:
        return 'tshark saw only %d frames with data' % frames
    return '; '.join(found[:5]) or None


if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip tcp-linux: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
try:
    sh('ip', 'netns', 'add', SPACE, check=True)
    sh('ip', '-n', SPACE, 'link', 'set', 'lo', 'up', check=True)
    cases.run('tcp-linux-connect', lambda: plain('connect', 5_000_000, 5_000_000, rx_checksum=0, rx_malformed=0, snd_mss=1448, options=7))
    cases.run('tcp-linux-listen', lambda: plain('listen', 5_000_000, 5_000_000, rx_checksum=0, rx_malformed=0, snd_mss=1448, options=7))
    cases.run('tcp-linux-nothing', lambda: plain('connect', 0, 0))
    cases.run('tcp-linux-one-way', lambda: plain('listen', 0, 2_000_000))
    cases.run('tcp-linux-no-options', lambda: plain('connect', 500_000, 500_000, 'no_sack', 'no_timestamps', 'no_wscale', options=0,
                                                         snd_mss=1460))
    cases.run('tcp-linux-small-window', lambda: plain('listen', 300_000, 1_000_000, 'rcvbuf=4096'))
    cases.run('tcp-linux-loss', lambda: lossy('connect', 'loss=100', 'reorder=100'))
    cases.run('tcp-linux-loss-listen', lambda: lossy('listen', 'loss=100', 'reorder=100'))
    cases.run('tcp-linux-loss-no-sack', lambda: lossy('connect', 'loss=100', 'no_sack', 'reno'))
    cases.run('tcp-linux-tshark', lambda: shark_agrees('connect'))
    cases.run('tcp-linux-tshark-listen', lambda: shark_agrees('listen'))
finally:
    sh('ip', 'netns', 'del', SPACE)
cases.exit()
