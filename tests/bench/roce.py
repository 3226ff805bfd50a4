# SPDX-License-Identifier: BSD-3-Clause
"""RoCE: our programs between two processes over memif and over veth (net_triplane_packet, and net_af_packet beside it), and between
two ports of the model's card, beside kernel TCP and UDP, UCX and libfabric over TCP on the same veth. Each end has a CPU of its own."""
import json
import os
import re
import subprocess
import time

import rocepair
import tpmd

LAT_SIZES = (2, 64, 1024, 4096, 65536, 1048576)
BW_SIZES = (64, 1024, 4096, 65536, 1048576)
BESIDE = (2, 64, 65536)  # what net_af_packet has, too
SECONDS = 2
ADDRS = ('198.18.0.1', '198.18.0.2')  # of the kernel; RoCE has .11 and .12
ROCE = ('198.18.0.11/24', '198.18.0.12/24')


class Veth:
    """Two network namespaces and a cable."""

    def __init__(self):
        self.ns = ['rb%d%s' % (os.getpid(), x) for x in 'ab']
        self.ok = os.geteuid() == 0
        if self.ok:
            self.ok = all(self._ip('netns', 'add', n) for n in self.ns) and self._ip(
                'link', 'add', 'rb0', 'netns', self.ns[0], 'type', 'veth', 'peer', 'name', 'rb0', 'netns', self.ns[1])
        for n, a in zip(self.ns, ADDRS):
            self.ok = self.ok and self._ip('-n', n, 'addr', 'add', a + '/24', 'dev', 'rb0') and self._ip(
                '-n', n, 'link', 'set', 'rb0', 'mtu', ETH_MTU[1], 'up')

    @staticmethod
    def _ip(*args):
        return subprocess.run(['ip', *args], stderr=subprocess.DEVNULL).returncode == 0

    def cmd(self, end, cmd):
        return ['ip', 'netns', 'exec', self.ns[end], 'taskset', '-c', str(tpmd.cpu(end)), *cmd]

    def pair(self, server, client, settle=0.7, env=None, port=None):
        """What the client of a kernel program printed; None: it failed. port: of TCP, at which the server listens when it is ready."""
        e = dict(os.environ, **(env or {}))
        s = subprocess.Popen(self.cmd(0, server), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=e)
        if port is None:
            time.sleep(settle)
        else:
            tpmd.wait_until(lambda: s.poll() is not None or tpmd.listens(port, s.pid), 60)
        try:
            p = subprocess.run(self.cmd(1, client), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, env=e)
            return p.stdout.decode(errors='replace')
        except subprocess.TimeoutExpired:
            return None
        finally:
            s.kill()
            s.wait()

    def close(self):
        for n in self.ns:
            self._ip('netns', 'del', n)


# A packet of 4 KiB in one buffer of the memif, and in one of each end's pool, which has as much room; in one frame of net_af_packet,
# of which 128 fill a block.
ETH_MTU = ('--eth-mtu', '4200')
MEMIF = 'bsize=4288'
AF_PACKET = 'net_af_packet0,iface=rb0,qdisc_bypass=1,blocksz=552960,framesz=4320,framecnt=512'
JOINED = 'net_triplane_packet0,iface=rb0,qdisc_bypass=1'


def memif(prog, args):
    return rocepair.memif_pair(prog, args, common=ETH_MTU, timeout=120, more=MEMIF).client


def on_veth(veth, vdev, prog, args):
    """Both ends on the veth; they meet by TCP on it, through the kernel."""
    procs = []
    for i in range(2):
        cmd = veth.cmd(i, [rocepair.program(prog)] + rocepair.eal('v', on='0@%d' % i) + [
            '--vdev=' + vdev, '--', '--addr', ROCE[i], *ETH_MTU] + list(args) + (
                [ADDRS[0]] if i == 1 else []))
        procs.append(rocepair.Process(cmd))
    client = procs[1].wait(120)
    procs[0].wait(5)
    return client


def model(prog, args):
    return rocepair.self_pair(prog, args, ['net_mlx4_model0,wire0=cross,wire1=cross'], timeout=120).client


def iters(size, budget=40 << 20, most=20000, least=20):
    return str(max(least, min(most, budget // size)))


# A memif has 1024 buffers each way, which both ends touch for the first time in the first 500 exchanges: 7 page faults in each. Those
# exchanges are to be less than one in a hundred.
MANY = {'budget': 400 << 20, 'most': 100000}


def ours_lat(home, size, **many):
    p = home('tp_pingpong', ['--json', '-m', '4096', '-s', str(size), '-n', iters(size, **{'most': 5000, **many})])
    rows = [json.loads(x) for x in p.out.splitlines() if x.startswith('{')]
    return (rows[-1]['p50_us'], rows[-1]['p99_us']) if p.returncode == 0 and rows else (None, None)


def ours_bw(home, size):
    """10^6 bytes a second."""
    p = home('tp_send_bw', ['--json', '-s', str(size), '-n', iters(size, 256 << 20)])
    rows = [json.loads(x) for x in p.out.splitlines() if x.startswith('{')]
    return rows[-1]['bw_average'] * 1.048576 if p.returncode == 0 and rows else None


def number(pattern, text):
    m = re.findall(pattern, text or '', re.M)
    return float(m[-1]) if m else None


def sockperf_lat(veth, proto, size):
    if size > (65000 if proto == 'udp' else 65506):
        return None, None
    tcp = ['--tcp'] if proto == 'tcp' else []
    out = veth.pair(['sockperf', 'sr', '-i', ADDRS[0], '-p', '11111'] + tcp,
                    ['sockperf', 'pp', '-i', ADDRS[0], '-p', '11111', '-m', str(max(14, size)), '-t', str(SECONDS)] + tcp)
    return number(r'percentile 50\.000 = +([\d.]+)', out), number(r'percentile 99\.000 = +([\d.]+)', out)


def sockperf_bw(veth, proto, size):
    if size > (65000 if proto == 'udp' else 65506):
        size = 65000
    tcp = ['--tcp'] if proto == 'tcp' else []
    out = veth.pair(['sockperf', 'sr', '-i', ADDRS[0], '-p', '11111'] + tcp,
                    ['sockperf', 'tp', '-i', ADDRS[0], '-p', '11111', '-m', str(max(14, size)), '-t', str(SECONDS)] + tcp)
    v = number(r'BandWidth is ([\d.]+) MBps', out)
    return v * 1.048576 if v else None


def iperf_bw(veth):
    out = veth.pair(['iperf3', '-s', '-1'], ['iperf3', '-c', ADDRS[0], '-t', str(SECONDS), '-J'])
    try:
        return json.loads(out)['end']['sum_received']['bits_per_second'] / 8e6
    except (TypeError, ValueError, KeyError):
        return None


def ucx(veth, test, size):
    """Columns of the last line: iterations, typical or 50 % latency, average, overall, bandwidth ..."""
    env = {'UCX_TLS': 'tcp,self', 'UCX_NET_DEVICES': 'rb0'}
    base = ['ucx_perftest', '-t', test, '-s', str(size), '-n', iters(size, most=5000 if 'lat' in test else 20000), '-f']
    out = veth.pair(base, base + [ADDRS[0]], settle=1.5, env=env)
    rows = re.findall(r'^ *\d+ +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)', (out or '').replace('Final:', ''), re.M)
    return [float(x) for x in rows[-1]] if rows else None


def fabric_lat(veth, size):
    base = ['fi_pingpong', '-p', 'tcp', '-e', 'msg', '-I', iters(size, most=2000), '-S', str(size)]
    out = veth.pair(base, base + [ADDRS[0]], settle=1.0)
    rows = [x.split() for x in (out or '').splitlines() if re.match(r'^\d', x)]
    return float(rows[-1][6]) if rows and len(rows[-1]) >= 8 else None


def latency(rep, veth):
    rep.title('RoCE, one way latency in microseconds: RC in software, and on the model (which computes the card, too)')
    first = {}
    for size in LAT_SIZES:
        case = '%d B' % size
        m50, m99 = ours_lat(memif, size, **MANY)
        c50, c99 = ours_lat(model, size)
        rows = {'sockperf UDP': (None, None), 'sockperf TCP': (None, None)}
        v50 = v99 = None
        if veth.ok:
            v50, v99 = ours_lat(lambda p, a: on_veth(veth, JOINED, p, a), size, **MANY)
            rows = {'sockperf ' + p.upper(): sockperf_lat(veth, p, size) for p in ('udp', 'tcp')}
            u = ucx(veth, 'tag_lat', size)
            rows['UCX over TCP'] = (u[0], None) if u else (None, None)
            rows['libfabric over TCP'] = (fabric_lat(veth, size), None)
            if size in BESIDE:
                rep.row('roce', case, 'veth p50', v50, 'us', 'net_af_packet', ours_lat(lambda p, a: on_veth(veth, AF_PACKET, p, a), size)[0])
        first.setdefault('memif', m50)
        first.setdefault('veth', v50)
        first.setdefault('udp', rows['sockperf UDP'][0])
        for peer, (p50, p99) in rows.items():
            for home, q50, q99 in (('memif', m50, m99), ('veth', v50, v99)):
                rep.row('roce', case, '%s p50' % home, q50, 'us', peer, p50)
                if p99 is not None:
                    rep.row('roce', case, '%s p99' % home, q99, 'us', peer, p99)
        rep.row('roce', case, 'model p50', c50, 'us')
        rep.row('roce', case, 'model p99', c99, 'us')
    udp = first['udp']
    for home in ('memif', 'veth'):
        if udp is not None:
            rep.goal('2 B RC ping-pong over %s, p50, a quarter of kernel UDP on veth' % home, first[home], udp / 4, 'us')
    rep.goal('2 B over memif, a fifth of the published 34 us of soft-RoCE between two virtual machines', first['memif'],
             34 / 5, 'us')


def bandwidth(rep, veth):
    rep.title('RoCE, bandwidth of RC sends in 10^6 bytes a second')
    big = {}
    for size in BW_SIZES:
        case = '%d B' % size
        m, c = ours_bw(memif, size), ours_bw(model, size)
        v, rows = None, {}
        if veth.ok:
            v = ours_bw(lambda p, a: on_veth(veth, JOINED, p, a), size)
            if size in BESIDE:
                rows['net_af_packet'] = ours_bw(lambda p, a: on_veth(veth, AF_PACKET, p, a), size)
            rows['sockperf TCP'] = sockperf_bw(veth, 'tcp', size)
            rows['sockperf UDP'] = sockperf_bw(veth, 'udp', size)
            u = ucx(veth, 'tag_bw', size)
            rows['UCX over TCP'] = u[3] * 1.048576 if u else None
            if size == 65536:
                rows['iperf3 TCP'] = iperf_bw(veth)
        if size == 65536:
            big = {'memif': m, 'veth': v, 'tcp': rows.get('iperf3 TCP')}
        for peer, value in rows.items():
            if peer != 'net_af_packet':
                rep.row('roce', case, 'memif', m, 'MB/s', peer, value)
            rep.row('roce', case, 'veth', v, 'MB/s', peer, value)
        if not rows:
            rep.row('roce', case, 'memif', m, 'MB/s')
        rep.row('roce', case, 'model', c, 'MB/s')
    for home in ('memif', 'veth'):
        if big.get('tcp') is not None:
            rep.goal('64 KiB RC sends over %s, a TCP stream of iperf3 on veth' % home, big[home], big['tcp'], 'MB/s', True)
    rep.goal('64 KiB over memif, five times the published 241 MB/s of soft-RoCE between two virtual machines', big['memif'],
             5 * 241, 'MB/s', True)


def crc(rep, program):
    rep.title('Invariant CRC, 10^9 bytes a second')
    out = subprocess.run([program], stdout=subprocess.PIPE, timeout=60, check=True).stdout.decode()
    for line in out.splitlines():
        size, mine, narrow, zlib = line.split()
        for peer, v in (('without VPCLMULQDQ', narrow), ('zlib', zlib)):
            rep.row('roce', '%s B' % size, 'crc', float(mine), 'GB/s', peer, float(v))


def bench(rep, bench_dir):
    crc(rep, os.path.join(bench_dir, 'bench_crc'))
    veth = Veth()
    try:
        latency(rep, veth)
        bandwidth(rep, veth)
    finally:
        veth.close()
