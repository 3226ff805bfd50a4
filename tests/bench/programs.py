# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified RDMA programs of Debian on the ports that a triplane shares, beside the nearest program on the kernel's stack: veth
between two network namespaces, in the same run. All of the card is software here: the model's thread, both ends and the owner
share the CPUs."""
import os
import re
import shutil

import roce
import tpmd
from share_owner import DEV, GID, LIMIT, Owner, finish, pair

SHORT = [d.replace('net_', '', 1) for d in DEV]


def said(owner, port, server, client, env=({}, {})):
    """What the client printed; None: it failed."""
    ends = pair(owner.start, server, client, lambda _: tpmd.listens(port), True, env)
    return ends.out if ends.rc == 0 else None


def perftest(owner, prog, size, count):
    """The columns behind size and count."""
    port = tpmd.free_port()
    cmd = [prog, '-F', '-x', str(GID), '-s', str(size), '-n', str(count), '-p', str(port), '-d']
    out = said(owner, port, cmd + [DEV[0]], cmd + [DEV[1], '127.0.0.1'])
    found = re.search(r'^ %d +%d +(.*)$' % (size, count), out or '', re.M)
    return [float(x) for x in found[1].split()] if found else None


def ucx(owner, test, size, count):
    port = tpmd.free_port()
    cmd = ['--short-names', 'ucx_perftest', '-t', test, '-s', str(size), '-n', str(count), '-f', '-p', str(port)]
    tls = {'UCX_TLS': 'rc_verbs,self,ud_verbs:aux', 'UCX_IB_GID_INDEX': '1'}
    out = said(owner, port, cmd, cmd + ['127.0.0.1'], [{**tls, 'UCX_NET_DEVICES': d + ':1'} for d in SHORT])
    rows = re.findall(r'^ *\d+ +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)', (out or '').replace('Final:', ''), re.M)
    return [float(x) for x in rows[-1]] if rows else None


# Counted as bench_verbs counts the owner's calls.
CALLS = {'vc_post_send': 'post_send', 'bench_poll_send': 'poll_cq, a send', 'bench_poll_recv': 'poll_cq, a receive'}


def instructions(owner, function, rounds=200):
    """Of a call of a program on the shared port, by callgrind; None: the program failed."""
    with tpmd.scratch() as folder:
        rc, out = owner.run('valgrind', '--tool=callgrind', '--callgrind-out-file=' + os.path.join(folder, 'callgrind'),
                            '--collect-atstart=no', '--toggle-collect=' + function + '*',
                            os.path.join(os.environ['TP_BUILD'], 'tests/bench/bench_verbs_client'), DEV[0], str(GID), str(rounds))
    return int(re.search(r'Collected : (\d+)', out)[1]) / rounds if rc == 0 else None


def connections(owner, count):
    """Connections a second, from the first address that is resolved to the last one that is established."""
    server = owner.start('cmtime', '-c', str(count), '-b', '192.0.2.1')
    try:
        if not owner.wait(lambda s: any(p['listening'] for p in s['programs']), LIMIT):
            return None
        rc, out = owner.run('cmtime', '-c', str(count), '-b', '192.0.2.2', '-s', '192.0.2.1')
        took = [float(x) for x in re.findall(r'^(?:resolve addr|resolve route|create qp|connect) *: +([\d.]+)', out, re.M)]
        return count * 1000 / sum(took) if rc == 0 and len(took) == 4 else None
    finally:
        server.kill()
        finish(server)


def bench(rep):
    rep.title('verbs-programs: programs of libibverbs and librdmacm as Debian ships them, on a shared model card; peers: the '
              'kernel on veth')
    veth, owner = roce.Veth(), Owner()
    try:
        lat = perftest(owner, 'ib_send_lat', 2, 5000)
        udp = roce.sockperf_lat(veth, 'udp', 14)[0] if veth.ok else None
        rep.row('verbs-programs', 'ib_send_lat 2 B', 'typical', lat and lat[2], 'us', 'sockperf UDP', udp)
        if lat and udp:
            rep.goal('ib_send_lat of 2 B, a quarter of UDP on veth', lat[2], udp / 4, 'us')
        bw = perftest(owner, 'ib_write_bw', 65536, 5000)
        bw = bw and bw[1] * 1.048576
        tcp = roce.iperf_bw(veth) if veth.ok else None
        rep.row('verbs-programs', 'ib_write_bw 64 KiB', 'average', bw, 'MB/s', 'iperf3 TCP', tcp)
        if bw and tcp:
            rep.goal('ib_write_bw of 64 KiB, 3 times a TCP stream on veth', bw, 3 * tcp, 'MB/s', True)
        if shutil.which('ucx_perftest'):
            for test, size, column, metric, unit in (('tag_lat', 8, 0, 'p50', 'us'), ('tag_bw', 65536, 3, 'overall', 'MB/s')):
                ours = ucx(owner, test, size, 3000)
                theirs = roce.ucx(veth, test, size) if veth.ok else None
                k = 1.048576 if unit == 'MB/s' else 1
                ours, theirs = ours and ours[column] * k, theirs and theirs[column] * k
                rep.row('verbs-programs', 'UCX %s %d B' % (test, size), metric, ours, unit, 'UCX over TCP', theirs)
                if ours and theirs:
                    rep.goal('UCX %s of %d B against UCX over TCP on veth' % (test, size), ours,
                             theirs / 4 if unit == 'us' else 3 * theirs, unit, unit != 'us')
        rep.row('verbs-programs', 'cmtime', 'connections', connections(owner, 200), '/s')
        for function, call in CALLS.items():
            rep.row('verbs-programs', '%s of 64 B' % call, 'instructions', instructions(owner, function), 'instr')
    finally:
        veth.close()
        owner.close()
