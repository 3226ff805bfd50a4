# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 Triplane contributors
"""What RoCE programs print, read by column as perftest's readers do and checked against itself; and a line for each case."""
import json
import re

import rocepair

BW_HEAD = ['#bytes', '#iterations', 'BW', 'peak[MB/sec]', 'BW', 'average[MB/sec]', 'MsgRate[Mpps]']
LAT_HEAD = ['#bytes', '#iterations', 't_min[usec]', 't_max[usec]', 't_typical[usec]', 't_avg[usec]', 't_stdev[usec]',
            '99%', 'percentile[usec]', '99.9%', 'percentile[usec]']
CARD = ['net_mlx4_model0,wire0=cross,wire1=cross']
PATIENT = ['-u', '19']  # two seconds, eight times: an end on a busy machine may have no CPU for a while
failed = []  # cases


def result(name, why):
    if why:
        failed.append(name)
        print('not ok %s: %s' % (name, why), flush=True)
    else:
        print('ok ' + name, flush=True)


def table(text, head):
    """Rows of numbers under the head."""
    rows, inside = [], False
    for line in text.splitlines():
        words = line.split()
        if words == head:
            inside = True
        elif inside and words and re.fullmatch(r'\d+', words[0]):
            rows.append([float(w) for w in words])
        elif inside and words:
            inside = False
    return rows


def bad_bw(text, sizes, iters, peak=True):
    rows = table(text, BW_HEAD)
    if [r[0] for r in rows] != sizes:
        return 'sizes %s in %r' % ([r[0] for r in rows], text[-600:])
    for r in rows:
        if len(r) != 5 or r[1] != iters:
            return 'row %s' % r
        # MB/s and millions of messages say the same, as far as the digits go
        if abs(r[3] - r[4] * 1e6 * r[0] / (1 << 20)) > 0.02 + 0.001 * r[3] + 1e-6 * r[0]:
            return 'average and rate disagree: %s' % r
        if r[4] <= 0 or (peak and r[2] < r[3] * 0.999 - 0.01):
            return 'peak below average: %s' % r
    return None


def bad_lat(text, sizes, iters):
    rows = table(text, LAT_HEAD)
    if [r[0] for r in rows] != sizes:
        return 'sizes %s in %r' % ([r[0] for r in rows], text[-600:])
    for _, n, low, high, typical, avg, dev, p99, p999 in rows:
        if n != iters or not 0 < low <= typical <= p99 <= p999 <= high or not low <= avg <= high or dev < 0:
            return 'row %s' % rows
    return None


def run(name, ends, check):
    result(name, ends.why() if not ends.ok else check(ends))


def perf(name, prog, args, sizes, iters, pair=rocepair.memif_pair, server_too=True, peak=True):
    def check(e):
        bad = bad_lat if prog.endswith('_lat') else bad_bw
        more = {} if prog.endswith('_lat') else {'peak': peak}
        why = bad(e.client.out, sizes, iters, **more)
        if why is None and server_too:
            why = bad(e.server.out, sizes, iters, **({} if prog.endswith('_lat') else {'peak': False}))
        return why

    run(name, pair(prog, PATIENT + args), check)


def pingpong(name, args, size, pair=rocepair.memif_pair):
    def check(e):
        rows = [json.loads(x) for x in e.client.out.splitlines() if x.startswith('{')]
        if not rows or rows[-1]['bytes'] != size:
            return 'rows %s' % rows
        for r in rows:
            q = [r[k] for k in ('min_us', 'p50_us', 'p90_us', 'p99_us', 'p999_us', 'max_us')]
            if q != sorted(q) or q[0] <= 0:
                return 'percentiles %s' % r
        return None

    run(name, pair('tp_pingpong', PATIENT + ['--json', '-c'] + args), check)
