#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How triplane's lcores notice packets: by polling, by interrupts, by both; moderation; RSS over some of the queues; all of it
changed while packets flow, and none is lost. What is counted decides, never how long something took."""
import json
import os
import subprocess
import time

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
CARD = 'net_mlx4_model0,rate0=50'  # what port 0 sends is a trickle: some 70000 packets a second
cases = tpmd.Cases()


def run(lines, vdevs=(CARD,), args=()):
    """Answers in JSON, what was said of errors, seconds."""
    eal = tpmd.eal('rc%d' % os.getpid(), lcores='0@0,1@0,2@0', plugin=False)
    begun = time.monotonic()
    p = subprocess.run([APP] + eal + ['--log-level=*:error'] + ['--vdev=' + v for v in vdevs] + ['--'] + list(args),
                       input='\n'.join(lines) + '\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, text=True)
    answers = [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')]
    return answers, p.stderr, time.monotonic() - begun


def setting(name, value, port=1):
    return 'set setting %d %s %s' % (port, name, value)


def lcore_of(answer, port):
    return next(lc for lc in answer['lcores'] if any(s['rx_port'] == port for s in lc['streams']))


def got(answer, port):
    return [s['rx_packets'] for lc in answer['lcores'] for s in lc['streams'] if s['rx_port'] == port]


GENERATE = ['set fwd flowgen 0', 'set fwd rxonly 1', 'start']
# what is under way when everything stops is received afterwards
DRAIN = ['stop', 'set fwd rxonly 0', setting('rx-completion', 'polling'), 'start', 'sleep 100', 'stop', 'show port stats all json',
         'show model json']


def nothing_lost(answers):
    stats, model = answers[-2]['ports'], answers[-1]['ports']
    if any(p['violations'] for p in model):
        return 'rules were broken: %s' % model[0]['last_violation']
    sent, came = stats[0]['tx_packets'], stats[1]['rx_packets'] + stats[1]['rx_missed']
    return None if sent == came and sent > 100 else 'sent %d, received %d: %s' % (sent, came, stats)


def interrupts_when_idle():
    """Nobody sends: each round of a waiting lcore ends in a sleep."""
    a, err, _ = run([setting('rx-completion', 'interrupt', 0), setting('rx-completion', 'interrupt'), 'set fwd rxonly', 'start',
                     'sleep 1000', 'show fwd json', 'stop'])
    lcores = a[0]['lcores']
    if err or any(lc['sleeps'] < 2 or lc['rounds'] > lc['sleeps'] + 2 for lc in lcores):
        return err or str(lcores)
    return None


def polling_never_sleeps():
    a, err, _ = run(['set fwd rxonly', 'start', 'sleep 100', 'show fwd json', 'stop'])
    return err or (None if all(lc['sleeps'] == 0 and lc['rounds'] > 0 for lc in a[0]['lcores']) else str(a[0]))


def interrupts_bring_packets():
    a, err, _ = run([setting('rx-completion', 'interrupt')] + GENERATE + ['sleep 1500', 'show fwd json'] + DRAIN)
    lc = lcore_of(a[0], 1)
    if err or lc['interrupts'] < 3 or got(a[0], 1)[0] < 100:
        return err or str(lc)
    return nothing_lost(a)


def switched_live():
    """Every way to every other, while packets flow."""
    lines = list(GENERATE)
    for mode in ('interrupt', 'adaptive', 'polling', 'adaptive', 'interrupt', 'polling') * 3:
        lines += [setting('rx-completion', mode), 'sleep 50', 'show fwd json']
    a, err, _ = run(lines + DRAIN)
    if err:
        return err
    rounds = [sum(got(x, 1)) for x in a[:18]]
    if rounds != sorted(rounds) or len(set(rounds)) < 4:
        return 'packets stopped: %s' % rounds
    return nothing_lost(a)


def adaptive_thread_poll():
    """Polling pays from the first packet on: no sleep before thread-poll empty rounds, of which each one has that many."""
    a, err, _ = run([setting('this-poll', 0), setting('average-poll', 0), setting('thread-poll', 5000),
                     setting('rx-completion', 'adaptive')] + GENERATE + ['sleep 1500', 'show fwd json'] + DRAIN)
    lc = lcore_of(a[0], 1)
    if err or lc['rounds'] < (lc['sleeps'] - 50) * 5000:  # before the first packet it sleeps at once
        return err or str(lc)
    return nothing_lost(a)


def adaptive_gives_up():
    """A trickle that never reaches the thresholds: as with interrupts."""
    a, err, _ = run([setting('this-poll', 1000), setting('average-poll', 1000), setting('rx-completion', 'adaptive')] + GENERATE +
                    ['sleep 1500', 'show fwd json'] + DRAIN)
    lc = lcore_of(a[0], 1)
    if err or lc['sleeps'] < 3 or lc['rounds'] > lc['sleeps'] + got(a[0], 1)[0] + 2:
        return err or str(lc)
    return nothing_lost(a)


def most_interrupts(lc, packets, seconds):
    """With 64 packets or 60 ms after the first; one that was late for its sleeper may end the next sleep, too."""
    return packets / 64 + seconds / 0.06 + lc['sleeps'] - lc['interrupts'] + 2


def moderated():
    """An interrupt waits: there cannot be more of them."""
    a, err, seconds = run([setting('rx-moderation', 'manual'), setting('rx-moderation-count', 64), setting('rx-moderation-time', 60000),
                           setting('rx-completion', 'interrupt')] + GENERATE + ['sleep 1500', 'show fwd json'] + DRAIN)
    lc, n = lcore_of(a[0], 1), got(a[0], 1)[0]
    if err or n < 200 or lc['interrupts'] == 0 or lc['interrupts'] > most_interrupts(lc, n, seconds):
        return err or '%d packets: %s' % (n, lc)
    return nothing_lost(a)


def moderation_by_rate():
    """Adaptive: the card is told of the values above the high rate, and of none below the low one."""
    extra = [setting('rx-moderation', 'adaptive'), setting('rx-moderation-count', 64), setting('rx-moderation-time', 60000),
             setting('rx-completion', 'interrupt')]
    high = [setting('rx-moderation-low-rate', 0), setting('rx-moderation-high-rate', 0)]
    a, err, seconds = run(extra + high + GENERATE + ['sleep 1000', 'show fwd json', 'sleep 1500', 'show fwd json'] + DRAIN)
    if err:
        return err
    # in the second half moderation was at work
    packets = got(a[1], 1)[0] - got(a[0], 1)[0]
    lc = {k: lcore_of(a[1], 1)[k] - lcore_of(a[0], 1)[k] for k in ('sleeps', 'interrupts')}
    if packets < 200 or lc['interrupts'] > most_interrupts(lc, packets, seconds):
        return '%d packets: %s' % (packets, lc)
    return nothing_lost(a)


def refused():
    bad = [('rx-completion', 'sometimes', 'polling, interrupt or adaptive'), ('thread-poll', '200001', '0..200000'),
           ('average-weight', '257', '0..256'), ('average-poll', '1001', '0..1000'), ('this-poll', '1001', '0..1000'),
           ('rx-moderation', 'fast', 'low-latency'), ('rx-moderation-count', '65536', '0..65535'), ('rss-queues', '65', '1..64')]
    _, err, _ = run([setting(n, v) for n, v, _ in bad])
    wrong = [e for e, (n, v, want) in zip(err.splitlines(), bad) if n not in e or "'%s'" % v not in e or want not in e]
    if len(err.splitlines()) != len(bad) or wrong:
        return err
    _, err, _ = run([setting('rx-completion', 'interrupt', 0)], vdevs=['net_null0'])
    if 'no receive interrupts' not in err or err.count('\n') != 1:
        return 'net_null: ' + err
    a, err, _ = run([setting('rx-completion', 'interrupt'), 'show settings 1 json'], args=['--rxq', '33', '--txq', '1'])
    return None if 'more than 32' in err and err.count('\n') == 1 else '33 queues: ' + err


def rss_queues():
    """RSS over two of four queues and back, while packets flow: looks until it shows, and a while longer."""
    looks = 8
    more = ['sleep 250', 'show fwd json'] * looks
    a, err, _ = run(GENERATE + more + [setting('rss-queues', 2)] + more + [setting('rss-queues', 'all')] + more + DRAIN,
                    args=['--rxq', '4', '--txq', '1'])
    if err:
        return err
    n = [got(x, 1) for x in a[:3 * looks]]
    if min(n[looks - 1]) == 0:
        return 'over all: %s' % n[looks - 1]
    # what was in the rings of before comes first; the rest of the time only two queues get something
    over_two = [x for x in n[looks:2 * looks] if sum(x) > sum(n[looks - 1])]
    grown = sorted(y - x for x, y in zip(over_two[1], over_two[-1])) if len(over_two) > 1 else []
    if not grown or grown[:2] != [0, 0] or grown[2] == 0:
        return 'over two: %s' % n[looks - 1:2 * looks]
    if min(y - x for x, y in zip(over_two[-1], n[-1])) == 0:
        return 'over all again: %s' % n[2 * looks - 1:]
    return nothing_lost(a)


for case in (polling_never_sleeps, interrupts_when_idle, interrupts_bring_packets, switched_live, adaptive_thread_poll,
             adaptive_gives_up, moderated, moderation_by_rate, refused, rss_queues):
    cases.run('completion-' + case.__name__.replace('_', '-'), case)
cases.exit()
