# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified RDMA programs of Debian on the ports that a triplane shares, beside the nearest program on the kernel's stack: veth
between two network namespaces, in the same run. All of the card is software here: the model's thread, both ends and the owner
share the CPUs. Rows of programs that are not installed are left out."""
# Packages: fio openmpi-bin libopenmpi-dev tgt qemu-utils qemu-block-extra
import os
import re
import shutil
import subprocess

import roce
import tpmd
from iser_target import Target, fio_rate
from share_owner import DEV, GID, LIMIT, Owner, finish, pair, start

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


# --- Open MPI: the same program and the same UCX, whose way is RC or TCP on lo -------------------------------------------

MPIRUN = ('mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '--mca', 'plm', 'isolated', '--mca',
          'pml', 'ucx', '--mca', 'osc', 'ucx', '--mca', 'btl', 'self', '--mca', 'mtl', '^ofi')
# Open MPI takes UCX for InfiniBand alone, unless told.
ANY_WAY = ('--mca', 'pml_ucx_tls', 'any', '--mca', 'pml_ucx_devices', 'any')
OWN_NET = ('unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh')


def mpi_times(out, rc):
    return {name: float(us) for name, us in re.findall(r'^(\w+) ([\d.]+)$', out, re.M)} if rc == 0 else {}


def mpi(owner, rounds):
    """Medians of mpi_rate by what it names: on the ports, over TCP."""
    with tpmd.scratch() as folder:
        os.chmod(folder, 0o755)
        rate = os.path.join(folder, 'mpi_rate')
        subprocess.run(['mpicc.openmpi', '-O2', '-o', rate, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'mpi_rate.c')],
                       check=True)
        ranks = []
        for i, d in enumerate(SHORT):
            ranks += [*([':'] if i else []), '-n', '1', '-x', 'UCX_NET_DEVICES=%s:1' % d, rate, str(rounds)]
        env = {**os.environ, 'UCX_TLS': 'rc_verbs,ud_verbs:aux,self', 'UCX_IB_GID_INDEX': '1', 'UCX_WARN_UNUSED_ENV_VARS': 'n'}
        rc, out = owner.run('--short-names', *OWN_NET, *MPIRUN, *ranks, env=env)
        ours = mpi_times(out, rc)
        env.update(UCX_TLS='tcp,self', UCX_NET_DEVICES='lo')
        p = subprocess.run([*OWN_NET, *MPIRUN, *ANY_WAY, '-n', '2', rate, str(rounds)], env=env, stdout=subprocess.PIPE, timeout=LIMIT, text=True,
                           check=False)
        return ours, mpi_times(p.stdout, p.returncode)


def bench_mpi(rep, owner):
    ours, theirs = mpi(owner, 2000)
    for name, case in (('8_B', 'MPI ping-pong of 8 B'), ('64_KiB', 'MPI ping-pong of 64 KiB'), ('allreduce', 'MPI allreduce of 8 B')):
        rep.row('verbs-programs', case, 'p50', ours.get(name), 'us', 'MPI over TCP', theirs.get(name))
        if name in theirs and name != '64_KiB':
            rep.goal('%s, a quarter of MPI over TCP on lo' % case, ours.get(name), theirs[name] / 4, 'us')


# --- fio: blocks of 4 KiB, 32 under way. Its engines of RDMA and of TCP write in sequence only ------------------------------

BLOCKS = ('--bs=4k', '--size=64m', '--output-format=json')


def fio(owner, veth):
    port = tpmd.free_port()
    cmd = ['fio', '--name=j', '--ioengine=rdma', '--thread', '--port=%d' % port, *BLOCKS]
    ends = pair(owner.start, [*cmd, '--rw=read', '--iodepth=64'],
                [*cmd, '--rw=write', '--verb=write', '--iodepth=32', '--hostname=192.0.2.2'],
                lambda _: any(g['listening'] for g in owner.show()['programs']))
    cmd = ['fio', '--name=j', '--ioengine=net', '--protocol=tcp', '--port=%d' % port, *BLOCKS]
    # The one who reads takes what comes short for whole blocks, and would leave before the last.
    theirs = veth.pair([*cmd, '--size=128m', '--listen', '--rw=read'], [*cmd, '--hostname=' + roce.ADDRS[0], '--rw=write'],
                       port=port) if veth.ok else None
    return fio_rate(ends.out) if ends.rc == 0 else None, fio_rate(theirs)


def bench_fio(rep, owner, veth):
    ours, theirs = fio(owner, veth)
    rep.row('verbs-programs', 'fio write 4 KiB', 'requests', ours, '/s', 'fio over TCP', theirs)
    if ours and theirs:
        rep.goal('fio write of 4 KiB, 3 times fio over TCP on veth', ours, 3 * theirs, '/s', True)


def bench_random(rep, owner):
    """By NBD to an initiator of QEMU: of iSER on the shared port, or of iSCSI over TCP on lo. Both disks are tgt's."""
    target = Target(owner)
    try:
        ours, theirs = (fio_rate(target.random_writes(start_it, kind)) for start_it, kind in ((owner.start, 'iser'), (start, 'iscsi')))
    finally:
        target.end()
    rep.row('verbs-programs', 'fio randwrite 4 KiB', 'requests', ours, '/s', 'iSCSI over TCP', theirs)
    if ours and theirs:
        rep.goal('fio randwrite of 4 KiB over iSER, 3 times iSCSI over TCP on lo', ours, 3 * theirs, '/s', True)


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
        if shutil.which('mpicc.openmpi'):
            bench_mpi(rep, owner)
        if shutil.which('fio'):
            bench_fio(rep, owner, veth)
            if shutil.which('qemu-nbd') and shutil.which('tgtd'):
                bench_random(rep, owner)
        rep.row('verbs-programs', 'cmtime', 'connections', connections(owner, 200), '/s')
        for function, call in CALLS.items():
            rep.row('verbs-programs', '%s of 64 B' % call, 'instructions', instructions(owner, function), 'instr')
    finally:
        veth.close()
        owner.close()
