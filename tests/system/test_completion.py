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


LCORES = '0@0,1@0,2@0'


def run(lines, vdevs=(CARD,), args=()):
    """Answers in JSON, and what was said of errors."""
    eal = tpmd.eal('rc%d' % os.getpid(), on=LCORES, plugin=False)
    p = subprocess.run([APP] + eal + ['--log-level=*:error'] + ['--vdev=' + v for v in vdevs] + ['--'] + list(args),
                       input='\n'.join(lines) + '\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, text=True)
    answers = [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')]
    return answers, p.stderr


class Session(tpmd.Triplane):
    """A triplane that was told these lines, and waits for what comes of them."""

    def __init__(self, lines, args=(), vdevs=(CARD,)):
        super().__init__(vdevs, args, on=LCORES)
        for line in lines:
            self.tell(line)

    def look(self, wanted, patience=60):
        """The first answer of 'show fwd' that is as wanted; when there is none, the last one."""
        end = time.monotonic() + patience
        while True:
            a = self.ask('show fwd')
            if wanted(a) or time.monotonic() > end:
                return a
            time.sleep(0.05)

    def nothing_lost(self):
        """What is under way when everything stops is received afterwards."""
        for line in ('stop', 'set fwd rxonly 0', setting('rx-completion', 'polling'), 'start'):
            self.tell(line)

        def missing():
            stats = self.ask('show port stats all')['ports']
            return stats[0]['tx_packets'] - stats[1]['rx_packets'] - stats[1]['rx_missed']
        tpmd.wait_until(lambda: missing() == 0)
        self.tell('stop')
        stats, model = self.ask('show port stats all')['ports'], self.ask('show model')['ports']
        self.end()
        if any(p['violations'] for p in model):
            return 'rules were broken: %s' % model[0]['last_violation']
        sent, came = stats[0]['tx_packets'], stats[1]['rx_packets'] + stats[1]['rx_missed']
        return None if sent == came and sent > 100 else 'sent %d, received %d: %s' % (sent, came, stats)


def setting(name, value, port=1):
    return 'set setting %d %s %s' % (port, name, value)


def lcore_of(answer, port):
    return next(lc for lc in answer['lcores'] if any(s['rx_port'] == port for s in lc['streams']))


def got(answer, port):
    return [s['rx_packets'] for lc in answer['lcores'] for s in lc['streams'] if s['rx_port'] == port]


GENERATE = ['set fwd flowgen 0', 'set fwd rxonly 1', 'start']


def interrupts_when_idle():
    """Nobody sends: each round of a waiting lcore ends in a sleep."""
    with Session([setting('rx-completion', 'interrupt', 0), setting('rx-completion', 'interrupt'), 'set fwd rxonly', 'start']) as t:
        lcores = t.look(lambda a: all(lc['sleeps'] >= 10 for lc in a['lcores']))['lcores']
        t.end()
    return str(lcores) if any(lc['sleeps'] < 10 or lc['rounds'] > lc['sleeps'] + 2 for lc in lcores) else None


def polling_never_sleeps():
    with Session(['set fwd rxonly', 'start']) as t:
        a = t.look(lambda a: all(lc['rounds'] >= 1000 for lc in a['lcores']))
        t.end()
    return None if all(lc['sleeps'] == 0 and lc['rounds'] >= 1000 for lc in a['lcores']) else str(a)


def idle_lcores_sleep(vdevs=(CARD,)):
    """With idle-sleep, polling lcores to which nothing comes give their CPUs away, and poll on when it is taken back."""
    with Session(['set fwd rxonly', 'start'], vdevs=vdevs) as t:
        before = t.look(lambda a: all(lc['rounds'] >= 1000 for lc in a['lcores']))
        ids = [lc['lcore'] for lc in before['lcores']]
        begun = {i: tpmd.voluntary(tpmd.lcore_task(t.proc.pid, i)) for i in ids}
        t.tell('set setting program idle-sleep 200')
        slept = t.look(lambda a: all(lc['sleeps'] >= 50 for lc in a['lcores']))
        gave = {i: tpmd.voluntary(tpmd.lcore_task(t.proc.pid, i)) - begun[i] for i in ids}
        t.tell('set setting program idle-sleep 0')
        # each has looked at what it is to do: none sleeps in what follows
        t.look(lambda a: all(x['rounds'] >= y['rounds'] + 100000 for x, y in zip(a['lcores'], slept['lcores'])))
        first = t.ask('show fwd')
        last = t.look(lambda a: all(x['rounds'] >= y['rounds'] + 100000 for x, y in zip(a['lcores'], first['lcores'])))
        t.end()
    if any(lc['sleeps'] != 0 for lc in before['lcores']):
        return 'without it: %s' % before
    if any(n < 45 for n in gave.values()) or any(lc['sleeps'] < 50 for lc in slept['lcores']):
        return 'gave the CPU away %s times: %s' % (gave, slept)
    if [lc['sleeps'] for lc in first['lcores']] != [lc['sleeps'] for lc in last['lcores']]:
        return 'taken back: %s, then %s' % (first, last)
    return None


def idle_sleep_loses_nothing():
    """A generator never sleeps; who receives does, between what comes."""
    with Session(['set setting program idle-sleep 100'] + GENERATE) as t:
        a = t.look(lambda a: got(a, 1)[0] >= 1000)
        for line in ('stop', 'set fwd rxonly 0', 'start'):
            t.tell(line)
        idle = t.look(lambda a: all(lc['sleeps'] >= 20 for lc in a['lcores']))
        for line in ('stop', 'set fwd flowgen 0', 'start'):
            t.tell(line)
        again = t.look(lambda a: got(a, 1)[0] >= 1000)
        if lcore_of(a, 0)['sleeps'] != 0 or any(lc['sleeps'] < 20 for lc in idle['lcores']) or got(again, 1)[0] < 1000:
            return '%s, then %s, then %s' % (a, idle, again)
        return t.nothing_lost()


def interrupts_bring_packets():
    with Session([setting('rx-completion', 'interrupt')] + GENERATE) as t:
        a = t.look(lambda a: lcore_of(a, 1)['interrupts'] >= 3 and got(a, 1)[0] >= 100)
        if lcore_of(a, 1)['interrupts'] < 3 or got(a, 1)[0] < 100:
            return str(lcore_of(a, 1))
        return t.nothing_lost()


def switched_live():
    """Every way to every other, while packets flow."""
    with Session(GENERATE) as t:
        for mode in ('interrupt', 'adaptive', 'polling', 'adaptive', 'interrupt', 'polling') * 3:
            t.tell(setting('rx-completion', mode))
            before = sum(got(t.ask('show fwd'), 1))
            if sum(got(t.look(lambda a: sum(got(a, 1)) > before), 1)) <= before:
                return 'packets stopped with %s: %d' % (mode, before)
        return t.nothing_lost()


def adaptive_thread_poll():
    """Polling pays from the first packet on: no sleep before thread-poll empty rounds, of which each one has that many."""
    with Session([setting('this-poll', 0), setting('average-poll', 0), setting('thread-poll', 5000),
                  setting('rx-completion', 'adaptive')] + GENERATE) as t:
        first = lcore_of(t.look(lambda a: got(a, 1)[0] > 0), 1)
        a = t.look(lambda a: got(a, 1)[0] >= 10000)
        lc = lcore_of(a, 1)
        # one sleep that began before the first look
        if got(a, 1)[0] < 10000 or lc['rounds'] - first['rounds'] < (lc['sleeps'] - first['sleeps'] - 1) * 5000:
            return '%s, before %s' % (lc, first)
        return t.nothing_lost()


def adaptive_gives_up():
    """A trickle that never reaches the thresholds: as with interrupts."""
    with Session([setting('this-poll', 1000), setting('average-poll', 1000), setting('rx-completion', 'adaptive')] + GENERATE) as t:
        a = t.look(lambda a: lcore_of(a, 1)['sleeps'] >= 3 and got(a, 1)[0] >= 100)
        lc = lcore_of(a, 1)
        if lc['sleeps'] < 3 or lc['rounds'] > lc['sleeps'] + got(a, 1)[0] + 2:
            return str(lc)
        return t.nothing_lost()


def most_interrupts(lc, packets, seconds):
    """With 64 packets or 60 ms after the first; one that was late for its sleeper may end the next sleep, too."""
    return packets / 64 + seconds / 0.06 + lc['sleeps'] - lc['interrupts'] + 2


def moderated():
    """An interrupt waits: there cannot be more of them."""
    begun = time.monotonic()
    with Session([setting('rx-moderation', 'manual'), setting('rx-moderation-count', 64), setting('rx-moderation-time', 60000),
                  setting('rx-completion', 'interrupt')] + GENERATE) as t:
        a = t.look(lambda a: got(a, 1)[0] >= 10000)
        lc, n = lcore_of(a, 1), got(a, 1)[0]
        if n < 10000 or lc['interrupts'] == 0 or lc['interrupts'] > most_interrupts(lc, n, time.monotonic() - begun):
            return '%d packets: %s' % (n, lc)
        return t.nothing_lost()


def moderation_by_rate():
    """Adaptive: the card is told of the values above the high rate, and of none below the low one."""
    extra = [setting('rx-moderation', 'adaptive'), setting('rx-moderation-count', 64), setting('rx-moderation-time', 60000),
             setting('rx-completion', 'interrupt')]
    high = [setting('rx-moderation-low-rate', 0), setting('rx-moderation-high-rate', 0)]
    with Session(extra + high + GENERATE) as t:
        end, good = time.monotonic() + 60, 0
        # from some time on, when the rate is known, moderation is at work
        while good < 2 and time.monotonic() < end:
            begun = time.monotonic()
            first = t.ask('show fwd')
            last = t.look(lambda a: got(a, 1)[0] >= got(first, 1)[0] + 20000)
            packets = got(last, 1)[0] - got(first, 1)[0]
            lc = {k: lcore_of(last, 1)[k] - lcore_of(first, 1)[k] for k in ('sleeps', 'interrupts')}
            few = lc['interrupts'] <= most_interrupts(lc, packets, time.monotonic() - begun)
            good = good + 1 if few and packets >= 20000 else 0
        return t.nothing_lost() if good == 2 else '%d packets: %s' % (packets, lc)


def refused():
    bad = [('rx-completion', 'sometimes', 'polling, interrupt or adaptive'), ('thread-poll', '200001', '0..200000'),
           ('average-weight', '257', '0..256'), ('average-poll', '1001', '0..1000'), ('this-poll', '1001', '0..1000'),
           ('rx-moderation', 'fast', 'low-latency'), ('rx-moderation-count', '65536', '0..65535'), ('rss-queues', '65', '1..64')]
    _, err = run([setting(n, v) for n, v, _ in bad])
    wrong = [e for e, (n, v, want) in zip(err.splitlines(), bad) if n not in e or "'%s'" % v not in e or want not in e]
    if len(err.splitlines()) != len(bad) or wrong:
        return err
    _, err = run(['set setting program idle-sleep 100001'])
    if "'100001'" not in err or '0..100000' not in err:
        return err
    _, err = run([setting('rx-completion', 'interrupt', 0)], vdevs=['net_null0'])
    if 'no receive interrupts' not in err or err.count('\n') != 1:
        return 'net_null: ' + err
    _, err = run([setting('rx-completion', 'interrupt'), 'show settings 1 json'], args=['--rxq', '33', '--txq', '1'])
    return None if 'more than 32' in err and err.count('\n') == 1 else '33 queues: ' + err


def rss_queues():
    """RSS over two of four queues and back, while packets flow."""
    def grown(now, before):
        return [y - x for x, y in zip(got(before, 1), got(now, 1))]

    with Session(GENERATE, ['--rxq', '4', '--txq', '1']) as t:
        a = t.look(lambda a: min(got(a, 1)) > 0)
        if min(got(a, 1)) == 0:
            return 'over all: %s' % got(a, 1)
        t.tell(setting('rss-queues', 2))
        # what was in the rings of before comes first; from then on only two queues get something
        end = time.monotonic() + 60
        while True:
            a = t.ask('show fwd')
            b = t.look(lambda b: sum(grown(b, a)) >= 20000)
            if sorted(n > 0 for n in grown(b, a)) == [False, False, True, True] and sum(grown(b, a)) >= 20000:
                break
            if time.monotonic() > end:
                return 'over two: %s' % grown(b, a)
        t.tell(setting('rss-queues', 'all'))
        a = t.look(lambda a: min(grown(a, b)) > 0)
        if min(grown(a, b)) == 0:
            return 'over all again: %s' % grown(a, b)
        return t.nothing_lost()


for case in (polling_never_sleeps, idle_lcores_sleep, idle_sleep_loses_nothing, interrupts_when_idle, interrupts_bring_packets, switched_live, adaptive_thread_poll,
             adaptive_gives_up, moderated, moderation_by_rate, refused, rss_queues):
    cases.run('completion-' + case.__name__.replace('_', '-'), case)
cases.run('completion-idle-lcores-sleep-of-other-ports', idle_lcores_sleep, ('net_null0,no-rx=1', 'net_null1,no-rx=1'))
cases.exit()
