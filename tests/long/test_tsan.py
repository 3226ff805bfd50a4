#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
ThreadSanitizer on the code of sockets: two nets with a queue and several threads each, two stacks of TCP in a thread each, and whole
programs with the library of sockets on two ports of a card; and on RoCE in software with a thread for each lane. DPDK's libraries
have no instrumentation: the owner of the ports is another process, and packets of lanes go by queues and a pool of the test. So each
report is one of ours, and there are no suppressions.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, '../system'))

import tpmd  # noqa: E402
from share_owner import Owner, finish, start, until_says  # noqa: E402

BUILD = os.environ.get('TP_BUILD_TSAN', os.path.join(ROOT, 'build-tsan'))
UNIT = 'tests/unit/sock/test_sock_threads'
LANES = 'tests/unit/roce_sw/test_roce_sw'
PROG = 'tests/long/tsan/sock_threads'
LIBRARY = 'preload/sockets/libtriplane-sockets.so'
SETUP = '''. scripts/common.sh
CC="ccache clang-14" CC_LD=gold tp_meson "$0" --buildtype=plain -Doptimization=1 -Dc_args="-gline-tables-only -Xclang -fno-pch-timestamp" \\
	-Db_sanitize=thread -Db_lundef=false -Dc_link_args=-Wl,-Bsymbolic-functions
tp_ninja "$0" "$@"'''
# The addresses of this tool end where a kernel of today may map things.
PLAIN = ('setarch', 'x86_64', '-R')
cases = tpmd.Cases()


def options(**more):
    return {**os.environ, 'TSAN_OPTIONS': 'exitcode=66:history_size=5', **more}


def reports(out):
    """What was found, the first of it in full."""
    found = re.findall(r'SUMMARY: ThreadSanitizer: .*', out)
    if not found:
        return None
    return '%d reports: %s\n%s' % (len(found), '; '.join(sorted(set(found))), out[out.index('WARNING: ThreadSanitizer'):][:6000])


def unit(*words):
    p = subprocess.run([*PLAIN, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200,
                       env=options(), check=False)
    why = reports(p.stdout)
    if why is None and p.returncode != 0:
        why = 'exit status %d: %s' % (p.returncode, p.stdout[-2000:])
    return why


def program(owner, port, *words, **kw):
    return start(*PLAIN, os.path.join(BUILD, PROG), *words, os.path.join(BUILD, LIBRARY),
                 env=options(TRIPLANE_SHARE=owner.socket, TRIPLANE_SOCKETS_PORT=port), **kw)


def programs(owner):
    where = ('192.0.2.2', str(tpmd.free_port()))
    server = program(owner, '1', 'serve', *where, stdin=subprocess.PIPE)
    said = until_says(server, 'listens\n')
    client = program(owner, '0', 'call', *where)
    called = finish(client)
    server.stdin.close()
    server.stdin = None
    said += finish(server)
    for name, p, out in (('client', client, called), ('server', server, said)):
        why = reports(out)
        if why is None and p.returncode != 0:
            why = 'exit status %d: %s' % (p.returncode, out[-2000:])
        if why is not None:
            return '%s: %s' % (name, why)
    return owner.clean()


# Two threads that write one word: the tool sees what it should.
RACE = '''#include <pthread.h>
static int word;
static void *f(void *p) { word++; return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); return pthread_join(t, 0); }
'''


def sees(folder):
    prog = os.path.join(folder, 'race')
    subprocess.run(['clang-14', '-fsanitize=thread', '-g', '-x', 'c', '-', '-o', prog], input=RACE, text=True, check=True)
    p = subprocess.run([*PLAIN, prog], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=options(), check=False)
    return None if p.returncode == 66 and reports(p.stdout) else 'exit status %d: %s' % (p.returncode, p.stdout)


def main():
    subprocess.run(['bash', '-c', SETUP, BUILD, UNIT, LANES, PROG, LIBRARY], cwd=ROOT, check=True)
    with tpmd.scratch() as folder:
        cases.run('tsan-sees', sees, folder)
    cases.run('tsan-threads', unit, os.path.join(BUILD, UNIT))
    cases.run('tsan-lanes', unit, os.path.join(BUILD, LANES), 'lane_threads')
    owner = Owner()
    cases.run('tsan-programs', programs, owner)
    cases.run('tsan-owner', owner.close)
    cases.exit()


main()
