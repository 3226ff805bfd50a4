#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: each end is a busy lcore; among others it saves nothing.
# Copyright(c) 2026 Triplane contributors
"""tp_pingpong, tp_perf and the examples between two processes over memif, and between the two ports of a card."""
import os
import sys
import tempfile
import time

import roce_printed
import rocepair
import tpmd
from roce_printed import BW_HEAD, CARD, LAT_HEAD, PATIENT, perf, pingpong, result, table


def both_homes(pair, tag):
    pingpong(tag + '-pingpong-rc', ['-n', '300', '-s', '4096'], 4096, pair)
    pingpong(tag + '-pingpong-rc-events', ['-n', '200', '-e'], 4096, pair)
    pingpong(tag + '-pingpong-rc-large', ['-n', '20', '-s', '1000000'], 1000000, pair)
    pingpong(tag + '-pingpong-uc', ['-n', '300', '-C', 'UC'], 4096, pair)
    pingpong(tag + '-pingpong-ud', ['-n', '300', '-C', 'UD'], 1024, pair)
    pingpong(tag + '-pingpong-all', ['-n', '20', '-a'], 1 << 20, pair)
    two = pair is rocepair.memif_pair
    perf(tag + '-send-bw', 'tp_send_bw', ['-n', '1000', '-s', '4096'], [4096], 1000, pair, two)
    perf(tag + '-send-bw-qps', 'tp_send_bw', ['-n', '500', '-s', '512', '-q', '4', '-l', '4', '-Q', '8'], [512], 500, pair,
         two)
    perf(tag + '-send-bw-srq', 'tp_send_bw', ['-n', '500', '-s', '512', '-q', '2', '--use-srq'], [512], 500, pair, two)
    perf(tag + '-send-bw-bidir', 'tp_send_bw', ['-n', '1000', '-s', '2048', '-b'], [2048], 1000, pair, two)
    perf(tag + '-send-bw-uc', 'tp_send_bw', ['-n', '500', '-s', '2048', '-c', 'UC'], [2048], 500, pair, two)
    perf(tag + '-send-bw-ud', 'tp_send_bw', ['-n', '500', '-s', '1024', '-c', 'UD'], [1024], 500, pair, two)
    perf(tag + '-send-bw-events', 'tp_send_bw', ['-n', '500', '-s', '1024', '-e'], [1024], 500, pair, two)
    perf(tag + '-send-lat', 'tp_send_lat', ['-n', '500'], [2], 500, pair, two)
    perf(tag + '-send-lat-ud', 'tp_send_lat', ['-n', '500', '-c', 'UD', '-s', '64'], [64], 500, pair, two)
    perf(tag + '-write-bw', 'tp_write_bw', ['-n', '500', '-s', '16384'], [16384], 500, pair, two)
    perf(tag + '-write-bw-bidir', 'tp_write_bw', ['-n', '500', '-s', '4096', '-b'], [4096], 500, pair, two)
    perf(tag + '-write-lat', 'tp_write_lat', ['-n', '500', '-s', '8'], [8], 500, pair, two)
    perf(tag + '-read-bw', 'tp_read_bw', ['-n', '500', '-s', '8192'], [8192], 500, pair, two)
    perf(tag + '-read-lat', 'tp_read_lat', ['-n', '500', '-s', '100'], [100], 500, pair, False)
    perf(tag + '-atomic-bw', 'tp_atomic_bw', ['-n', '500'], [8], 500, pair, two)
    perf(tag + '-atomic-lat', 'tp_atomic_lat', ['-n', '300', '-A', 'CMP_AND_SWAP'], [8], 300, pair, False)


def all_sizes():
    sizes = [1 << i for i in range(1, 24)]
    perf('sw-send-bw-all', 'tp_send_bw', ['-n', '20', '-a'], sizes, 20)
    perf('sw-write-lat-all', 'tp_write_lat', ['-n', '20', '-a'], sizes, 20)
    perf('sw-send-bw-ud-all', 'tp_send_bw', ['-n', '100', '-a', '-c', 'UD'], [1 << i for i in range(1, 11)], 100)


def families():
    pingpong('sw-pingpong-ipv6', ['-n', '100'], 4096,
             lambda p, a: rocepair.memif_pair(p, a, addrs=('2001:db8::1/64', '2001:db8::2/64')))
    pingpong('sw-pingpong-vlan', ['-n', '100'], 4096, lambda p, a: rocepair.memif_pair(p, a, common=['--vlan', '7']))
    pingpong('sw-pingpong-v1', ['-n', '100'], 4096, lambda p, a: rocepair.memif_pair(p, a, common=['--mode', 'v1']))
    pingpong('sw-pingpong-udp-port', ['-n', '100'], 4096,
             lambda p, a: rocepair.memif_pair(p, a, common=['--udp-port', '1021']))


def af_packet():
    """On the kernel's interfaces: a wire whose other users a port has to live with."""
    with rocepair.Veth() as wire:
        if not wire.ok:
            print('skip veth: network namespaces need root', flush=True)
            return
        # A machine that is busy with other things stops a process for longer than the usual time-outs last together.
        patient = ['-u', '18']
        pingpong('veth-pingpong-ud', ['-n', '200', '-C', 'UD'], 1024, wire.pair)
        perf('veth-send-bw', 'tp_send_bw', ['-n', '200', '-s', '20000'] + patient, [20000], 200, wire.pair)
        perf('veth-write-bw', 'tp_write_bw', ['-n', '200', '-s', '65536'] + patient, [65536], 200, wire.pair)
        perf('veth-read-lat', 'tp_read_lat', ['-n', '200', '-s', '100'] + patient, [100], 200, wire.pair, False)
        died(wire)


def died(wire):
    """A server whose client dies amid the test: it has nothing to send again, and does not wait for ever."""
    before = wire.received(0)
    server, client = wire.start('tp_send_bw', PATIENT + ['-D', '100', '-s', '4096'])
    sends = tpmd.wait_until(lambda: client.p.poll() is not None or wire.received(0) > before + 1000000)
    client.p.kill()
    client.wait(60)
    server.wait(60)
    result('veth-client-died', None if sends and server.returncode == 1 and 'the other end hung up amid the test' in server.err else
           'client: %s; exit code %d: %s' % (client.err, server.returncode, server.err))


def against_the_wire():
    """What is reported, judged by what knows nothing of it: a wire of 100 Mb/s, and the clock of this test."""
    wire, rate = ['net_mlx4_model0,rate0=100,rate1=100'], 100e6 / 8
    for prog in ('tp_send_bw', 'tp_write_bw', 'tp_read_bw'):
        began = time.monotonic()
        e = rocepair.self_pair(prog, ['-n', '400', '-s', '8192'], wire)
        seconds = time.monotonic() - began
        rows = table(e.client.out, BW_HEAD) if e.ok else []
        # All of it took no longer than the program ran, and no less than the wire takes.
        ok = len(rows) == 1 and 400 * 8192 / seconds <= rows[0][3] * (1 << 20) <= rate * 1.01
        result('wire-' + prog, None if ok else e.why() if not e.ok else '%s in %.2f s' % (rows, seconds))
    for prog in ('tp_send_lat', 'tp_write_lat', 'tp_read_lat'):
        began = time.monotonic()
        e = rocepair.self_pair(prog, ['-n', '200', '-s', '4096'], wire)
        seconds = time.monotonic() - began
        rows = table(e.client.out, LAT_HEAD) if e.ok else []
        # Half of a round for messages that go to and fro, a whole one for a read, which carries data one way only. The wire
        # hands a packet over when its turn comes: the last of four of 1024 octets waits for three.
        rounds = 1 if prog == 'tp_read_lat' else 2
        ok = len(rows) == 1 and rows[0][2] >= 3 * 1024 / rate * 1e6 and 200 * rounds * rows[0][5] <= seconds * 1e6
        result('wire-' + prog, None if ok else e.why() if not e.ok else '%s in %.2f s' % (rows, seconds))


def examples():
    """The small programs to learn from do what they say."""
    with tempfile.TemporaryDirectory(prefix='roce.') as tmp:
        for name, args, want in (('roce_echo', ['hello', 'world'], ['hello', 'world']),
                                 ('roce_kv', ['k1', 'k9999', 'nothing'], ['k1: value ', 'k9999: value ', 'nothing: (none)'])):
            sock, procs = os.path.join(tmp, name), []
            for i, role in enumerate(('server', 'client')):
                vdev = '--vdev=net_memif0,role=%s,socket=%s,socket-abstract=no,id=0' % (role, sock)
                cmd = [os.path.join(rocepair.BUILD, 'examples', name)] + rocepair.eal(
                    role, on='0@%d' % i) + [vdev, '--', '192.0.2.%d/24' % (i + 1)]
                procs.append(rocepair.Process(cmd + (['192.0.2.1'] + args if i == 1 else [])))
                end = time.monotonic() + 60
                # a memif client needs its server to be there
                while i == 0 and not os.path.exists(sock) and procs[0].p.poll() is None and time.monotonic() < end:
                    time.sleep(0.05)
            client = procs[1].wait(60)
            procs[0].p.terminate()
            procs[0].wait(60)
            lines = client.out.splitlines()
            ok = client.returncode == 0 and all(any(x.startswith(w) for x in lines) for w in want)
            result(name, None if ok else '%s %r' % (client.returncode, (client.out + client.err)[-400:]))


both_homes(rocepair.memif_pair, 'sw')
all_sizes()
families()
af_packet()
examples()
against_the_wire()
both_homes(lambda p, a: rocepair.self_pair(p, a, CARD), 'card')
sys.exit(bool(roce_printed.failed))
