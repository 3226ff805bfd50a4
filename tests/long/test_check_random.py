#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-check of cards that fail, answer at random, are slow or do not answer: each command that a stage gives, any time that it
gives it, and of ports what breaks beside commands. The stage comes to its end by itself, says what it found wrong, and the last that is
done to the card is its reset. Words: stages=A,B (all), rounds=N|all (100), seed=N (another each time)."""
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402

BUILD = os.path.abspath(os.environ.get('TP_BUILD', 'build'))
CHECK = os.path.join(BUILD, 'apps', 'check', 'triplane-check')
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
MODEL = 'net_mlx4_model0'
# What the ports are, for a stage that is of no use with two Ethernet ones; others have their driver's trace.
PORTS = {'infiniband': 'ib', 'variants': 'auto'}
STAGES = ('identity', 'capabilities', 'bringup', 'interrupts', 'ports', 'loopback', 'cable', 'infiniband', 'life', 'variants')
# The driver opens the card and closes it once or more, so that its trace has all of the last time.
TRACED = ('interrupts', 'ports', 'loopback', 'cable', 'infiniband', 'variants')
RESET = 'write 0xf0010 0x'
LIMIT_S = 900
WORDS = dict(w.split('=', 1) for w in sys.argv[1:])
SEED = int(WORDS.get('seed', random.randrange(1 << 32)))
ROUNDS = WORDS.get('rounds', '100')
CHOSEN = WORDS['stages'].split(',') if 'stages' in WORDS else STAGES
cases = tpmd.Cases()
ended = []


def commands_of(stage):
    """How often a stage gives each command to a card that is well, which is a process and writes it down."""
    with tempfile.TemporaryDirectory() as d:
        socket, trace, port = os.path.join(d, 'card.sock'), os.path.join(d, 'trace'), PORTS.get(stage, 'eth')
        with subprocess.Popen([HCA, '--socket', socket, '--trace', trace, '--port0', port, '--port1', port], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as card:
            end = time.monotonic() + 60
            while not os.path.exists(socket) and time.monotonic() < end:
                time.sleep(0.02)
            p = subprocess.run([CHECK, socket, '--only', stage], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S,
                               check=False)
            card.terminate()
        if p.returncode != 0:
            raise RuntimeError('%s of a card that is well: %s' % (stage, p.stdout[-800:]))
        with open(trace) as f:
            return collections.Counter(re.findall(r'^dump command (\w+)\(0x\w+\) INPUT', f.read(), re.M))


def plan(r):
    """(stage, arguments), in any order."""
    out = []
    for stage in CHOSEN:
        for command, times in sorted(commands_of(stage).items()):
            for kind, value in (('fail', ':0x%02x' % r.choice((1, 2, 3, 4, 5, 6, 8, 9, 10, 16))), ('rubbish', ':%d' % r.randint(1, 255)),
                                ('slow', ':%d' % r.randint(1, 255)), ('timeout', '')):
                out.append((stage, '%s=%s:%d%s' % (kind, command, r.randint(1, times), value)))
        if stage in ('interrupts', 'loopback', 'cable'):
            for what in ('queue', 'completion', 'interrupt'):
                for port in range(2 if stage == 'cable' else 1):
                    out.append((stage, 'break%d=%s:%d' % (port, what, r.randint(1, 60))))
        if stage == 'cable':
            for what in ('drop', 'corrupt', 'dup', 'reorder'):
                out.append((stage, 'impair%d=%s:%d/seed:%d' % (r.randrange(2), what, r.choice((1000, 30000, 300000)), r.randint(1, 1 << 30))))
    r.shuffle(out)
    return out if ROUNDS == 'all' else out[:int(ROUNDS)]


def last_is_reset(trace):
    """Why not, of what the driver did to the card."""
    if not os.path.exists(trace):
        return None
    with open(trace) as f:
        done = [line for line in f if re.match(r'write|dump command', line)]
    at = max((i for i, line in enumerate(done) if line.startswith(RESET)), default=-1)
    later = done[at + 1:]
    return None if at >= 0 and not later else 'behind the last reset: %s' % later[-3:] if at >= 0 else 'was not reset'


def one(job):
    number, (stage, args) = job
    with tempfile.TemporaryDirectory() as d:
        trace = os.path.join(d, 'trace')
        card = '%s,port0=%s,port1=%s,%s%s' % (MODEL, *2 * (PORTS.get(stage, 'eth'),), args, ',trace=' + trace if stage in TRACED else '')
        since = time.monotonic()
        p = subprocess.run([CHECK, '--vdev', card, '--only', stage], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, timeout=LIMIT_S, check=False)
        took = time.monotonic() - since
        failed = re.findall(r'^  fail .*', p.stdout, re.M)
        print('# %3d %s %s: %d, %d failed, %.1f s' % (number, stage, args, p.returncode, len(failed), took), flush=True)
        if p.returncode not in (0, 1) or 'fail stage' in p.stdout:
            why = 'did not end well'
        elif (p.returncode == 0) != (not failed):
            why = 'says %d, with %d failures' % (p.returncode, len(failed))
        else:
            why = last_is_reset(trace)
        ended.append(why is None and os.path.exists(trace))
        return why and 'seed %d: %s with %s: %s: %s' % (SEED, stage, args, why, p.stdout[-1500:])


def at_random():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bad = [why for why in pool.map(one, enumerate(plan(random.Random(SEED)))) if why]
    print('# %d runs, of %d a trace, which ends with the reset' % (len(ended), sum(ended)))
    return '%d: %s' % (len(bad), '\n'.join(bad)) if bad else None


cases.run('check-random', at_random)
cases.exit()
