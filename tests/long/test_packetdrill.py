#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
packetdrill plays scripts to lib/tcp: what a peer sends, what must leave and when, and what calls give. The scripts are written from
the RFCs (tests/long/packetdrill/scripts). Time is the engine's own, so seconds of a script take none, and times are exact on a
machine that is busy. packetdrill is looked for in the path; Debian does not have it.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../system'))

import tpmd  # noqa: E402

BUILD = os.path.abspath(os.environ.get('TP_BUILD', 'build'))
TARGET = 'tests/long/packetdrill/libpacketdrill_tcp.so'
SCRIPTS = os.path.join(HERE, 'packetdrill/scripts')
cases = tpmd.Cases()


def play(script):
    """Exit status and what packetdrill said."""
    so = os.path.join(BUILD, TARGET)
    # Preloaded, too: what a script asserts of a connection packetdrill reads past the object.
    p = subprocess.run([shutil.which('packetdrill'), '--ip_version=ipv4', '--tolerance_usecs=3000', '--so_filename=' + so, script],
                       env=dict(os.environ, LD_PRELOAD=so), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL, timeout=120, check=False)
    return p.returncode, p.stdout.decode(errors='replace')


def passes(script):
    rc, out = play(script)
    assert rc == 0, out.strip()[-2000:]


# A script that is wrong in one place each: that it is told shows that the place is looked at.
WRONG = (('flags', 'passive', '> P. 1:501', '> . 1:501'),
         ('number', 'passive', '> . 1:1(0) ack 2011', '> . 1:1(0) ack 2012'),
         ('options', 'receiver', 'sack 3001:4001 1001:2001', 'sack 1001:2001 3001:4001'),
         ('window', 'own_window', 'ack 4097 win 0', 'ack 4097 win 1'),
         ('ecn', 'ecn', '[ect0] P. 1:', '[ect1] P. 1:'),
         ('time', 'timeout', '+.6 >', '+.5 >'),
         ('result', 'challenge', 'read(4, ..., 100) = 10', 'read(4, ..., 100) = 11'),
         ('error', 'refused', '[ECONNREFUSED]', '[ECONNRESET]'),
         ('end-of-call', 'unanswered', '+0...7', '+0...6'),
         ('assertion', 'sack', 'tcpi_snd_cwnd == 7', 'tcpi_snd_cwnd == 8'),
         ('silence', 'close_unread', '> R. 1:1(0) ack 1001', '> R. 1:1(0) ack 1001\n+0 > R. 1:1(0) ack 1001'))


def told(script, right, wrong):
    with open(os.path.join(SCRIPTS, script + '.pkt')) as f:
        text = f.read()
    assert right in text
    with tempfile.NamedTemporaryFile('w', suffix='.pkt') as f:
        f.write(text.replace(right, wrong, 1))
        f.flush()
        rc, out = play(f.name)
    assert rc != 0 and re.search(r'\.pkt:\d+', out), 'exit status %d: %s' % (rc, out)


def main():
    if shutil.which('packetdrill') is None:
        cases.run('packetdrill', lambda: 'skip there is no packetdrill in the path')
        cases.exit()
    subprocess.run(['ninja', '-C', BUILD, TARGET], stdout=subprocess.DEVNULL, check=True)
    for script in sorted(glob.glob(os.path.join(SCRIPTS, '*.pkt'))):
        cases.run('packetdrill-' + os.path.basename(script)[:-4].replace('_', '-'), passes, script)
    for name, *where in WRONG:
        cases.run('packetdrill-told-' + name, told, *where)
    cases.exit()


main()
