#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPoIB in connected mode on a cable that loses packets: connections send them again, and what the card counts of that is told."""
import json
import os
import socket

import test_ipoib_cm
import tpmd
from ib_cases import run_cases
from test_ipoib import A, ID, ns, ping
from test_ipoib_cm import LONG

LOST = 5000     # of a million, each way
CARD = ('card_req_timeouts', 'card_req_out_of_order', 'card_req_rnr_naks', 'card_req_retries_exceeded', 'card_req_rnr_retries_exceeded',
        'card_resp_out_of_order', 'card_resp_duplicates', 'card_resp_rnr_naks', 'card_resp_ud_dropped')


class Link(test_ipoib_cm.Link):
    card = ',impair0=drop:%d/seed:1,impair1=drop:%d/seed:2' % (LOST, LOST)
    telemetry = True


def counters(link):
    """Of both ports, by name."""
    return [link.ask('show ipoib counters %d' % port) for port in (0, 2)]


def come_up(link):
    link.start_sm()
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'ports do not come up')
    link.spaces()
    link.wait(lambda: ping(A, '10.8.0.2', 1, *LONG) is None, 120, 'no long packet gets through')
    link.wait(lambda: link.connections() == [(1, 1), (1, 1)], 120, 'not one connection each way')
    names = [name for name in counters(link)[0] if name.startswith('card_')]
    return None if tuple(names) == CARD else str(names)


def sent_again(link):
    """Nothing but the wire loses packets. What one side misses is sent again by the other, which counts as much as it was asked to."""
    def seen():
        rc, out = ns(A, 'ping', '-n', '-c', '40', '-i', '0.02', '-W', '10', *LONG, '10.8.0.2', timeout=120)
        a, b = counters(link)
        return all(c['card_req_out_of_order'] + c['card_req_timeouts'] > 0 and c['card_resp_out_of_order'] > 0 for c in (a, b))
    link.wait(seen, 180, 'no loss is counted: %s' % counters(link))
    # First what both were asked for, then the gaps: between the two looks there may be more of either.
    naks, gaps = counters(link), counters(link)
    for one, other in zip(naks, gaps[::-1]):
        # One NAK for a gap, which may be lost itself; a NAK is counted when it arrives.
        if one['card_req_out_of_order'] > other['card_resp_out_of_order']:
            return 'more NAKs than gaps: %s, %s' % (one, other)
        if one['card_req_retries_exceeded'] or one['drop_tx_error'] or one['drop_rx_error']:
            return 'a connection broke: %s' % one
    return None


def reset(link):
    """A reset of the port's counters is none of the card's, which others read, too."""
    before = counters(link)[0]
    link.say('clear port stats all')
    after = counters(link)[0]
    if before['tx_conn_packets'] < 40 or after['tx_conn_packets'] > 10:
        return 'connections: %d packets, then %d' % (before['tx_conn_packets'], after['tx_conn_packets'])
    less = [name for name in CARD if after[name] < before[name]]
    return 'went back: %s' % less if less else None


def telemetry(link):
    """DPDK's socket tells what the command does; what is no port of IPoIB is refused."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(30)
    s.connect(os.path.join(tpmd.RUN, 'tpipoib%d' % ID, 'dpdk_telemetry.v2'))
    s.recv(16384)

    def ask(what):
        s.send(what.encode())
        return json.loads(s.recv(65536))[what.split(',')[0]]
    if ask('/triplane/ipoib/list') != [0, 2]:
        return 'list %s' % ask('/triplane/ipoib/list')
    before = link.ask('show ipoib counters 2')
    told = ask('/triplane/ipoib/counters,2')
    after = link.ask('show ipoib counters 2')
    if list(told) != list(before):
        return 'other names: %s' % sorted(set(told) ^ set(before))
    bad = [name for name in told if not before[name] <= told[name] <= after[name]]
    bad += [p for p in ('1', '9', 'x', '', '0,1', '65536') if ask('/triplane/ipoib/counters,' + p)]
    return None if not bad and told['card_resp_out_of_order'] > 0 else 'differs: %s' % bad


if __name__ == '__main__':
    run_cases('ipoib-loss', ('opensm',), Link, Link.end, (
        ('come-up', come_up), ('sent-again', sent_again), ('reset', reset), ('telemetry', telemetry)))
