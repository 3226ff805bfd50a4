#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: chromium poppler-utils
"""
A page of snapshot in headless Chromium: no error on its console, nothing asked of the network, what is rendered has the figures of
its JSON, it is dark for who prefers that, light for others, and has all its parts on paper.
"""
import functools
import json
import os
import re
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402
from snapshot_page import Page, shown  # noqa: E402

LIMIT = 300
cases = tpmd.Cases()
place = tpmd.scratch()
PAGE = os.path.join(place.name, 'page.html')
# Light and dark as Blink counts them.
DARK, LIGHT = 0, 1


def chromium(*args):
    """What it printed, and what it logged: the console, and each request beside the page."""
    p = subprocess.run(['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--enable-logging=stderr',
                        '--user-data-dir=' + os.path.join(place.name, 'profile'), '--hide-scrollbars', '--window-size=1200,1600', *args],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    console = [line for line in p.stderr.decode(errors='replace').splitlines() if ':CONSOLE' in line]
    if p.returncode != 0 or console:
        raise RuntimeError('%d: %s' % (p.returncode, console or p.stderr.decode(errors='replace')[-400:]))
    return p.stdout.decode()


def made():
    """Of a port that sends, with half a minute of plots."""
    with tpmd.Triplane(['net_mlx4_model0'], args=['--rxq', '2', '--txq', '2', '--forward-mode', 'flowgen']) as t:
        t.tell(tpmd.IDLE)
        t.tell('set fwd rxonly 1')
        for sends, waits in ((4000, 2000), (2000, 6000), (3000, 1000), (5000, 0)):
            t.tell('start')
            t.tell('sleep %d' % sends)
            t.tell('stop' if waits else 'sleep 1')
            t.tell('sleep %d' % (waits or 1))
        t.tell('snapshot ' + PAGE)
        t.tell('stop')
        t.ask('show fwd')
        t.end()
    return None if os.path.getsize(PAGE) > 20000 else 'it is small'


def console():
    """That its errors are seen is seen by a page that has one."""
    bad = os.path.join(place.name, 'bad.html')
    with open(bad, 'w') as f:
        f.write('<script>nosuch()</script>')
    try:
        chromium('--dump-dom', 'file://' + bad)
        return 'an error of a page is not seen'
    except RuntimeError as e:
        if 'nosuch' not in str(e):
            raise
    page = Page(chromium('--dump-dom', 'file://' + PAGE))
    # How the browser writes the page again is its own affair.
    page.wrong.clear()
    doc = json.loads(page.text['snapshot'])
    if len(page.values) < 200 or len(page.plots) != 8:
        return '%d values, %d plots' % (len(page.values), len(page.plots))
    return shown(page, doc)


def pixels(path):
    """Width, rows of RGB octets, of a PNG of 8 bits without interlacing."""
    with open(path, 'rb') as f:
        data = f.read()
    at, rest = 8, b''
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            width, height, depth, colour = struct.unpack('>IIBB', data[at + 8:at + 18])
        elif kind == b'IDAT':
            rest += data[at + 8:at + 8 + size]
        at += 12 + size
    assert depth == 8 and colour in (2, 6)
    each = 3 if colour == 2 else 4
    raw, line, before, rows = zlib.decompress(rest), width * each, bytes(width * each), []
    for y in range(height):
        how, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for i in range(line):
            a, b, c = row[i - each] if i >= each else 0, before[i], before[i - each] if i >= each else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, nearest)[how]) & 0xff
        rows.append(bytes(row))
        before = row
    return width, each, rows


@functools.lru_cache(None)
def picture(scheme):
    path = os.path.join(place.name, 'page%d.png' % scheme)
    chromium('--blink-settings=preferredColorScheme=%d' % scheme, '--screenshot=' + path, 'file://' + PAGE)
    keep = os.environ.get('TP_KEEP')
    if keep:
        subprocess.run(['cp', path, PAGE, keep], check=True)
    width, each, rows = pixels(path)
    return width, each, rows


def colours():
    """Most of each picture is its paper, and there is ink on it."""
    for scheme, paper in ((LIGHT, (0xff, 0xff, 0xff)), (DARK, (0x14, 0x18, 0x1c))):
        width, each, rows = picture(scheme)
        total = same = ink = 0
        for row in rows[::4]:
            for x in range(0, width, 4):
                pixel = tuple(row[x * each:x * each + 3])
                total += 1
                same += pixel == paper
                ink += max(abs(a - b) for a, b in zip(pixel, paper)) > 100
        if same < total * 0.6 or ink < total * 0.005:
            return 'scheme %d: paper %.2f, ink %.3f' % (scheme, same / total, ink / total)
    return None


def paper():
    """With what is folded on a screen, too, and nothing for clicks."""
    pdf = os.path.join(place.name, 'page.pdf')
    chromium('--print-to-pdf=' + pdf, 'file://' + PAGE)
    text = subprocess.run(['pdftotext', '-layout', pdf, '-'], stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout.decode()
    missing = [w for w in ('Settings that are not the defaults', 'Devices and firmware', 'tx_packets', '2.42.5000', 'Queues', 'All settings',
                           'idle-sleep', 'rfd-reservation', 'rfd reservation') if w not in text]
    missing = [w for w in missing if not w.startswith('rfd') or len([m for m in missing if m.startswith('rfd')]) == 2]
    return 'missing on paper: %s' % missing if missing or not re.search(r'tx packets|tx_packets', text) else None


for case in (made, console, colours, paper):
    cases.run('snapshot-browser-' + case.__name__, case)
cases.exit()
