#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-exporter: its figures are those of telemetry and of testpmd; Debian's Prometheus scrapes it, and promtool checks metrics
and rules; who speaks bad HTTP, or does not answer at all, is in nobody's way."""
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import tpmd
from share_owner import Owner

HERE = os.path.dirname(os.path.abspath(__file__))
SHARE = os.path.join(HERE, '../../share')
EXPORTER = os.path.join(os.environ['TP_BUILD'], 'apps/exporter/triplane-exporter')
LIMIT = 60
SAMPLE = re.compile(r'(\w+)\{(.*)\} (\S+)$')
# What stands among counters of RoCE and is none.
LIMITED = (('cc_limited_qps', 'triplane_roce_limited_queue_pairs', 1), ('cc_limited_mbps', 'triplane_roce_limited_bytes_per_second', 125000))
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
cases = tpmd.Cases()
place = tpmd.scratch()


def samples(text):
    """{(name, labels): value} of a text; a time series stands in it once."""
    found = {}
    for line in text.splitlines():
        if not line.startswith('#'):
            name, labels, value = SAMPLE.match(line).groups()
            key = name, tuple(sorted(LABEL.findall(labels)))
            if key in found:
                raise RuntimeError('twice: ' + line)
            found[key] = float(value)
    return found


def pick(found, name, **labels):
    """The samples of that name with these labels, among others."""
    want = {(k, str(v)) for k, v in labels.items()}
    return {key: v for key, v in found.items() if key[0] == name and want <= set(key[1])}


def only(found, name, **labels):
    values = list(pick(found, name, **labels).values())
    if len(values) != 1:
        raise RuntimeError('%s%s: %s' % (name, labels, values))
    return values[0]


# A process on a busy machine takes longer than its two seconds for hundreds of answers. Who is to be given up has a case of its own.
PATIENT = ('--timeout', '60000')


class Exporter:
    """On a port of this machine; a context."""

    def __init__(self, *args):
        self.port = tpmd.free_port()
        self.url = 'http://127.0.0.1:%d' % self.port
        self.proc = subprocess.Popen([EXPORTER, '--listen', '127.0.0.1:%d' % self.port, *PATIENT, *args], stderr=subprocess.PIPE)
        if not tpmd.wait_until(lambda: self.proc.poll() is not None or tpmd.listens(self.port)):
            raise RuntimeError('it does not listen')

    def get(self, path='/metrics', **headers):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=LIMIT) as r:
            return r.headers.get('Content-Type'), r.read().decode()

    def samples(self):
        return samples(self.get()[1])

    def raw(self, data, shut=False):
        """All that it answers to these octets."""
        with socket.create_connection(('127.0.0.1', self.port), timeout=LIMIT) as s:
            s.sendall(data)
            if shut:
                s.shutdown(socket.SHUT_WR)
            out = b''
            while True:
                try:
                    more = s.recv(65536)
                except ConnectionResetError:
                    return out
                if not more:
                    return out
                out += more

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        self.proc.terminate()
        self.proc.wait()
        self.proc.stderr.close()


def once(*args, **kw):
    p = subprocess.run([EXPORTER, '--once', *PATIENT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True, **kw)
    return p.returncode, p.stdout, p.stderr


def refused():
    where = os.path.join(place.name, 'file')
    with open(where, 'w') as f:
        f.write('no socket')
    long = '/x' * 60
    bad = ((['--listen', 'nonsense'], 1, "'nonsense' is no address"), (['--listen', '127.0.0.1:0'], 1, '1..65535'),
           (['--listen', '127.0.0.1:65536'], 1, '1..65535'), (['--listen', '1:2:3'], 1, 'no address'),
           (['--listen', '192.0.2.77:9717'], 1, 'cannot listen at 192.0.2.77:9717'), (['--listen', where], 1, 'no socket'),
           (['--listen', '/nowhere/x.sock'], 1, 'No such file'), (['--listen', '/tmp' + long], 1, 'too long'),
           (['--timeout', '99'], 2, "'99' is not a number in 100..60000"), (['--timeout', '60001'], 2, '100..60000'),
           (['--timeout', '1e3'], 2, '100..60000'), (['--socket', long], 2, '107 characters'), (['--openmetrics'], 2, '--once'),
           (['word'], 2, "'word' is no argument"), (['--nope'], 2, 'wrong arguments'),
           (['--dir', 'x'] * 17, 2, 'one too many, at most 16'), (['--listen', '[::1]:9'] * 17, 2, 'at most 16'),
           (['--socket', 'x'] * 65, 2, 'one too many, at most 64'))
    for args, status, text in bad:
        p = subprocess.run([EXPORTER, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True)
        if p.returncode != status or text not in p.stderr:
            return '%s: %d, %s' % (args, p.returncode, p.stderr)
    return None


# --- figures


def numbers(t):
    """Each figure of a port in telemetry is one of the exporter's, by its own name or by that of its family."""
    rc, text, err = once('--dir', tpmd.RUN)
    if rc != 0:
        return err
    got, process = samples(text), {'process': t.prefix}
    ours = t.tel('/ethdev/stats,0')
    names = {'ipackets': 'receive_packets', 'opackets': 'transmit_packets', 'ibytes': 'receive_bytes', 'obytes': 'transmit_bytes',
             'imissed': 'receive_missed_packets', 'ierrors': 'receive_errors', 'oerrors': 'transmit_errors',
             'rx_nombuf': 'receive_buffer_failures'}
    for key, name in names.items():
        if only(got, 'dpdk_ethdev_%s_total' % name, port=0, **process) != ours[key]:
            return '%s: %s in %s' % (name, ours[key], pick(got, 'dpdk_ethdev_%s_total' % name))
    if ours['opackets'] == 0:
        return 'nothing was sent'
    for q in (0, 1):
        page = t.tel('/mlx4/rxq,1,%d' % q)
        if only(got, 'triplane_receive_queue_packets_total', port=1, queue=q, **process) != page['packets']:
            return 'queue %d: %s' % (q, page)
        if only(got, 'dpdk_ethdev_queue_receive_packets_total', port=1, queue=q, **process) != page['packets']:
            return 'queue %d of ethdev' % q
    card = t.tel('/mlx4/info,0')
    if only(got, 'triplane_card_objects', kind='qp', port=0, **process) != card['qps'] or card['qps'] == 0:
        return 'objects'
    info = list(pick(got, 'triplane_port_info', port=1, **process))[0]
    if dict(info[1]).get('firmware') != card['firmware'] or dict(info[1]).get('device') != 'net_mlx4_model0':
        return 'info: %s' % (info,)
    if only(got, 'dpdk_ethdev_link_speed_bytes_per_second', port=0, **process) != t.tel('/ethdev/link_status,0')['speed'] * 125000:
        return 'speed'
    return None


def xstats(t):
    """All of them, by the name of their family or by their own, are those of the command line."""
    got = samples(once('--dir', tpmd.RUN)[1])
    shown = t.xstats(0)
    shown.pop('port')
    special = {'rx_port_discards': ('triplane_port_dropped_packets_total', {'direction': 'rx', 'cause': 'no_buffer'}),
               'rx_port_crc_errors': ('triplane_port_damaged_frames_total', {'kind': 'crc'}),
               'tx_port_packets': ('triplane_port_wire_packets_total', {'direction': 'tx'}),
               'rx_prio3_bytes': ('triplane_priority_bytes_total', {'direction': 'rx', 'priority': 3}),
               'tx_tc2_stalls': ('triplane_stalls_total', {'kind': 'transmit_class', 'class': 2})}
    for name, (family, labels) in special.items():
        if only(got, family, process=t.prefix, port=0, **labels) != shown[name]:
            return '%s: %s' % (name, shown[name])
    others = {dict(k[1])['name']: v for k, v in pick(got, 'dpdk_ethdev_xstat', process=t.prefix, port=0).items()}
    # Each question is some commands of the card more.
    asked = others.pop('device_commands')
    if not 0 < asked < shown['device_commands']:
        return 'device_commands: %s, later %s' % (asked, shown['device_commands'])
    wrong = {n: (v, shown.get(n)) for n, v in others.items() if shown.get(n) != v}
    if wrong or len(others) < 40:
        return '%d others, wrong: %s' % (len(others), wrong)
    return 'still there' if pick(samples(once('--dir', tpmd.RUN, '--no-xstats')[1]), 'dpdk_ethdev_xstat') else None


def cpu_seconds(task):
    with open(task + '/stat') as f:
        return sum(int(w) for w in f.read().rsplit(')', 1)[1].split()[11:13]) / os.sysconf('SC_CLK_TCK')


def lcores(t):
    got = samples(once('--dir', tpmd.RUN)[1])
    mine = {'process': t.prefix, 'lcore': 1}
    page = t.tel('/triplane/lcore,1')
    summed = [only(got, 'triplane_lcore_seconds_total', state=s, **mine) for s in ('busy', 'idle')]
    if page['tx_packets'] == 0 or only(got, 'triplane_lcore_packets_total', direction='tx', **mine) != page['tx_packets']:
        return 'packets: %s' % page
    if abs(sum(summed) - (page['busy_us'] + page['idle_us']) / 1e6) > 1e-6 or summed[0] <= 0:
        return 'time: %s, %s' % (summed, page)
    tasks = {'1': tpmd.lcore_task(t.proc.pid, 1), 'main': '/proc/%d/task/%d' % (t.proc.pid, t.proc.pid)}
    for lcore, task in tasks.items():
        before = cpu_seconds(task)
        said = only(samples(once('--dir', tpmd.RUN)[1]), 'dpdk_lcore_cpu_seconds_total', process=t.prefix, lcore=lcore)
        if not before <= said <= cpu_seconds(task):
            return 'CPU of %s: %s, before %s, after %s' % (lcore, said, before, cpu_seconds(task))
    if before <= 0:
        return 'no time of CPU'
    for bad in ('', ',x', ',77', ',1x', ',-1'):
        if t.tel('/triplane/lcore' + bad):
            return 'lcore%s has an answer' % bad
    return None


def stopped_triplane():
    """Packets went from port 0 to port 1, in two queues."""
    t = tpmd.Triplane(['net_mlx4_model0'], args=['--rxq', '2', '--txq', '2', '--forward-mode', 'flowgen'], telemetry=True)
    t.tell(tpmd.IDLE)
    t.tell('set fwd rxonly 1')
    t.tell('start')
    t.tell('wait counter rx_port_packets 5000 1 %d' % LIMIT)
    t.tell('stop')
    t.ask('show port stats 0')
    t.tel('/mlx4/list')
    return t


class Talking(tpmd.Testpmd):
    """testpmd with its telemetry."""

    def __init__(self, vdevs, name):
        self.prefix = 'tp%d%s' % (os.getpid(), name)
        args = tpmd.eal(self.prefix)
        args.remove('--no-telemetry')
        super().__init__(vdevs, eal_args=args)


def of_testpmd(e):
    """Two processes, of which one is not ours: its ports of another driver, too. What it counted, and what the exporter says."""
    with Talking(['net_mlx4_model0', 'net_null0'], 'm') as t:
        t.cmd('set fwd txonly')
        t.cmd('start')
        t.until(0, 'tx-packets', 1000)
        t.cmd('stop')
        got = e.samples()
        for port in t.ports:
            s = t.stats(port)
            for key, name in (('rx-packets', 'receive_packets'), ('tx-packets', 'transmit_packets'), ('rx-bytes', 'receive_bytes'),
                              ('tx-bytes', 'transmit_bytes')):
                said = only(got, 'dpdk_ethdev_%s_total' % name, process=t.prefix, port=port)
                if said != s[key]:
                    return 'port %d: %s %s, testpmd %s' % (port, name, said, s[key])
        devices = {dict(k[1])['device'] for k in pick(got, 'dpdk_ethdev_info', process=t.prefix)}
        if devices != {'net_mlx4_model0_p0', 'net_mlx4_model0_p1', 'net_null0'}:
            return 'devices: %s' % devices
        if 16384 not in pick(got, 'dpdk_mempool_size_objects', process=t.prefix).values():
            return 'pools: %s' % pick(got, 'dpdk_mempool_size_objects')
        if len(pick(got, 'dpdk_up')) < 2:
            return 'one process: %s' % pick(got, 'dpdk_up')
    return None if tpmd.wait_until(lambda: not pick(e.samples(), 'dpdk_up', process=t.prefix)) else 'it is gone and still told of'


# --- the format


def formats(e):
    kind, text = e.get(Accept='application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5')
    if not kind.startswith('application/openmetrics-text; version=1.0.0') or not text.endswith('# EOF\n'):
        return 'OpenMetrics: %s, ends with %r' % (kind, text[-20:])
    if '# UNIT dpdk_ethdev_receive_bytes bytes\n' not in text or '# TYPE dpdk_ethdev info\n' not in text:
        return 'OpenMetrics has no units'
    heads = re.findall(r'^# TYPE (\S+)', text, re.M)
    if len(heads) != len(set(heads)):
        return 'families are torn: %s' % [h for h in heads if heads.count(h) > 1]
    plain_kind, plain = e.get(Accept='text/plain, application/openmetrics-text;q=0.1')
    if not plain_kind.startswith('text/plain; version=0.0.4') or '# EOF' in plain:
        return 'plain: ' + plain_kind
    static = 'dpdk_ethdev_transmit_bytes_total'
    return None if pick(samples(plain), static) == pick(samples(text), static) != {} else 'they differ'


def promtool_metrics(e):
    p = subprocess.run(['promtool', 'check', 'metrics'], input=e.get()[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       timeout=LIMIT)
    return None if p.returncode == 0 and not p.stdout.strip() else p.stdout[-800:]


def rules():
    alerts = os.path.join(SHARE, 'prometheus/triplane-alerts.yml')
    p = subprocess.run(['promtool', 'check', 'rules', alerts], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    if p.returncode != 0 or 'SUCCESS' not in p.stdout:
        return p.stdout
    p = subprocess.run(['promtool', 'test', 'rules', os.path.join(HERE, 'alerts_test.yml')], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    return None if p.returncode == 0 and 'SUCCESS' in p.stdout else p.stdout


def names(e):
    """What rules and the dashboard ask for, there is."""
    known = set(re.findall(r'^# TYPE (\S+)', e.get()[1], re.M)) | {
        m + ('_total' if kind == 'COUNTER' else '_info' if kind == 'INFO' else '')
        for kind, m in re.findall(r'X\(\w+, (\w+), "(\w+)"', open(os.path.join(HERE, '../../lib/metrics/table.h')).read())}
    with open(os.path.join(SHARE, 'prometheus/triplane-alerts.yml')) as f:
        asked = re.findall(r'^ +expr: (.*)$', f.read(), re.M)
    with open(os.path.join(SHARE, 'grafana/triplane.json')) as f:
        board = json.load(f)
    targets = [t['expr'] for p in board['panels'] for t in p.get('targets', [])]
    if len(asked) < 8 or len(targets) < 10:
        return '%d rules, %d panels' % (len(asked), len(targets))
    used = set(re.findall(r'\b(?:dpdk|triplane)_\w+', ' '.join(asked + targets)))
    return 'nobody has %s' % (used - known) if used - known else None


def scraped(t, e):
    """By Debian's Prometheus, which keeps what telemetry says."""
    folder, port = os.path.join(place.name, 'prometheus'), tpmd.free_port()
    os.makedirs(folder)
    with open(os.path.join(folder, 'prometheus.yml'), 'w') as f:
        json.dump({'global': {'scrape_interval': '5s', 'scrape_timeout': '5s'},
                   'rule_files': [os.path.abspath(os.path.join(SHARE, 'prometheus/triplane-alerts.yml'))],
                   'scrape_configs': [{'job_name': 'triplane', 'static_configs': [{'targets': ['127.0.0.1:%d' % e.port]}]}]}, f)
    p = subprocess.Popen(['prometheus', '--config.file=%s/prometheus.yml' % folder, '--storage.tsdb.path=%s/data' % folder,
                          '--web.listen-address=127.0.0.1:%d' % port, '--log.level=error'], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)

    def ask(query):
        url = 'http://127.0.0.1:%d/api/v1/query?query=%s' % (port, urllib.parse.quote(query))
        try:
            with urllib.request.urlopen(url, timeout=LIMIT) as r:
                return json.load(r)['data']['result']
        except (urllib.error.URLError, ConnectionError):
            return []

    try:
        query = 'dpdk_ethdev_transmit_packets_total{process="%s",port="0"}' % t.prefix
        said = t.tel('/ethdev/stats,0')['opackets']

        def kept():
            """All three at once: a scrape that is not through in its 5 s takes back what the one before it brought."""
            seen[:] = [[r['value'][1] for r in ask(q)] for q in (query, 'up{job="triplane"}', 'count({job="triplane",process="%s"})' % t.prefix)]
            return seen[0] == [str(said)] and seen[1] == ['1'] and seen[2] and int(float(seen[2][0])) > 300
        seen = []
        return None if tpmd.wait_until(kept, 180) else 'kept %s, up %s, time series %s; telemetry %d' % (*seen, said)
    finally:
        p.terminate()
        err = p.communicate()[1].decode()
        if err.strip():
            print('prometheus says: ' + err[-300:])


# --- HTTP


def http(e):
    answers = ((b'GET / HTTP/1.0\r\n\r\n', b'200 OK', b'href="/metrics"'), (b'GET /metrics?x=1 HTTP/1.1\nHost: a\n\n', b'200 OK', b'dpdk_up'),
               (b'GET /other HTTP/1.1\r\n\r\n', b'404 Not Found', b''), (b'POST /metrics HTTP/1.1\r\n\r\n', b'405 Method', b'Allow: GET'),
               (b'GET /metrics HTTP/2.0\r\n\r\n', b'505 HTTP', b''), (b'GET /metrics\r\n\r\n', b'400 Bad', b''),
               (b'GET metrics HTTP/1.1\r\n\r\n', b'400 Bad', b''), (b'\x16\x03\x01\x02\x00\n\n', b'400 Bad', b''),
               (b'GET / HTTP/1.1\r\nno colon\r\n\r\n', b'400 Bad', b''), (b'GET / HTTP/1.1\r\na: b\x00c\r\n\r\n', b'400 Bad', b''),
               (b'GET /%s HTTP/1.1\r\n\r\n' % (b'a' * 300), b'414 URI', b''), (b'GET / HTTP/1.1\r\na: ' + b'b' * 9000, b'431 Request', b''),
               (b'GET / HTTP/1.1\r\n' + b'a: b\r\n' * 2000, b'431 Request', b''), (b'G' * 20000, b'431 Request', b''))
    for data, status, text in answers:
        out = e.raw(data)
        if not out.startswith(b'HTTP/1.1 ' + status) or text not in out:
            return '%r: %r' % (data[:60], out[:200])
    head = e.raw(b'HEAD /metrics HTTP/1.1\r\n\r\n')
    if not head.endswith(b'\r\n\r\n') or int(re.search(rb'Content-Length: (\d+)', head)[1]) < 1000:
        return 'HEAD: %r' % head[-200:]
    return 'a half of a request has an answer' if e.raw(b'GET / HTT', shut=True) else None


class Slow:
    """Forty that say nothing, one that says a half, one that asks and does not read: they are sent away in time."""

    def __init__(self, e):
        self.idle = [socket.create_connection(('127.0.0.1', e.port), timeout=LIMIT) for _ in range(40)]
        self.idle[0].sendall(b'GET /met')
        self.greedy = socket.create_connection(('127.0.0.1', e.port), timeout=LIMIT)
        self.greedy.sendall(b'GET /metrics HTTP/1.1\r\n\r\n')

    def over(self):
        late = self.idle[0].recv(65536)
        gone = [s.recv(100) for s in self.idle[1:]]
        for s in self.idle + [self.greedy]:
            s.close()
        if not late.startswith(b'HTTP/1.1 408'):
            return 'late: %r' % late
        return 'an answer to nothing: %s' % gone if any(gone) else None


def unix():
    """Also where an exporter that was killed has left its file."""
    path = os.path.join(place.name, 'metrics.sock')
    for last in (False, True):
        p = subprocess.Popen([EXPORTER, '--listen', path, '--dir', tpmd.RUN])
        try:
            ready = tpmd.wait_until(lambda: subprocess.run(['curl', '-sf', '--unix-socket', path, 'http://x/'], timeout=LIMIT,
                                                           stdout=subprocess.DEVNULL).returncode == 0)
            text = subprocess.run(['curl', '-sf', '--unix-socket', path, 'http://x/metrics'], stdout=subprocess.PIPE, timeout=LIMIT,
                                  text=True).stdout
            if not ready or not pick(samples(text), 'dpdk_up'):
                return 'nothing at the socket: %s' % text[:200]
            second = subprocess.run([EXPORTER, '--listen', path], stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            if second.returncode != 1 or 'in use' not in second.stderr:
                return 'a second one: ' + second.stderr
        finally:
            p.terminate() if last else p.kill()
            p.wait()
    return 'it leaves its file' if os.path.exists(path) else None


# --- processes that are no good


class Fake:
    """A socket where telemetry would be, that answers as told: with what a function makes of a question, or not at all."""

    def __init__(self, folder, name, greeting, answer=None):
        os.makedirs(os.path.join(folder, name))
        self.path = os.path.join(folder, name, 'dpdk_telemetry.v2')
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.bind(self.path)
        self.sock.listen(5)
        self.greeting, self.answer, self.kept = greeting, answer, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s = self.sock.accept()[0]
                self.kept.append(s)
                if self.greeting is not None:
                    s.send(self.greeting)
                while self.answer is not None:
                    asked = s.recv(4096).decode()
                    if not asked:
                        break
                    out = self.answer(asked)
                    if out is None:
                        break
                    s.send(out)
            except OSError:
                return


def hostile():
    """Silent, talking garbage, silent in the middle, with names that would break the format, endless lists: each counts as what it is."""
    folder = os.path.join(place.name, 'fakes')
    hello = json.dumps({'version': 'DPDK 22.11', 'pid': 1, 'max_output_len': 16384}).encode()

    def pages(asked):
        cmd = asked.split(',')[0]
        known = {'/': ['/', '/ethdev/list', '/ethdev/info', '/ethdev/stats', '/mempool/list', '/mempool/info'],
                 '/mempool/list': ['rx'], '/mempool/info': {'name': 'rx', 'size': 100, 'total_cache_count': 3, 'common_pool_count': 40}, '/ethdev/list': [0],
                 '/ethdev/info': {'name': 'quo"te\\back\nline\u00e9\x1b', 'nb_rx_queues': 4000000000, 'dev_started': True},
                 '/ethdev/stats': {'ipackets': 18446744073709551615, 'opackets': -1, 'ibytes': 1e300, 'obytes': 'x', 'q_ipackets': [1, 2]},
                 '/ethdev/xstats': {'a"b': 1, 'deep': {'er': 1}, 'rx_prio99999999999999999999_packets': 5}}
        return json.dumps({cmd: known.get(cmd)}).encode()

    Fake(folder, 'silent', None)
    Fake(folder, 'garbage', b'\xff\x00{{{{')
    Fake(folder, 'liar', json.dumps({'version': 'x', 'pid': 1, 'max_output_len': 1 << 40}).encode())
    Fake(folder, 'stuck', hello, lambda asked: json.dumps({'/': ['/ethdev/list']}).encode() if asked == '/' else time.sleep(LIMIT))
    Fake(folder, 'other', hello, lambda asked: b'{"/wrong":[]}')
    Fake(folder, 'deep', hello, lambda asked: b'{"/":' + b'[' * 5000 + b']' * 5000 + b'}')
    Fake(folder, 'long', hello, lambda asked: b'{"/":["' + b'x' * 100000 + b'"]}')
    Fake(folder, 'closes', hello, lambda asked: None)
    Fake(folder, 'odd', hello, pages)
    os.makedirs(os.path.join(folder, 'stale'))
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(os.path.join(folder, 'stale', 'dpdk_telemetry.v2'))
    s.close()
    missing = os.path.join(folder, 'missing', 'dpdk_telemetry.v2')
    rc, text, err = once('--dir', folder, '--socket', missing, '--timeout', '5000')
    if rc != 0 or err:
        return '%d: %s' % (rc, err)
    got = samples(text)
    up = {dict(k[1])['process']: v for k, v in pick(got, 'dpdk_up').items()}
    want = dict.fromkeys(('silent', 'garbage', 'liar', 'stuck', 'other', 'deep', 'long', 'closes', 'missing'), 0.0)
    if up != {**want, 'odd': 1.0}:
        return 'up: %s' % up
    name = dict(list(pick(got, 'dpdk_ethdev_info', process='odd'))[0][1])['device']
    if name != 'quo\\"te\\\\back\\nline\u00e9?' or only(got, 'dpdk_ethdev_receive_packets_total', process='odd') != float(2 ** 64 - 1):
        return 'odd: %r' % name
    if only(got, 'dpdk_mempool_available_objects', process='odd', pool='rx') != 43:
        return 'pool'
    for absent in ('transmit_packets', 'receive_bytes', 'transmit_bytes'):
        if pick(got, 'dpdk_ethdev_%s_total' % absent, process='odd'):
            return absent + ' is no whole number and is told'
    p = subprocess.run(['promtool', 'check', 'metrics'], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    return None if p.returncode == 0 else p.stdout[-500:]


def health():
    """A queue that the card leaves alone is an alarm of its port, and of no other."""
    args = 'net_mlx4_model0,rate0=100,rate1=100,health-time=1,health-checks=3,health-restart=0'
    with tpmd.Triplane([args], telemetry=True, name='h', memory=512) as t:
        for line in ('set setting program idle-sleep 200', 'set fwd flowgen', 'start', 'wait counter rx_good_packets 100 all 60', 'model break 0 queue'):
            t.tell(line)
        told = lambda name, **labels: {k: v for k, v in pick(samples(once('--dir', tpmd.RUN)[1]), name, process=t.prefix, **labels).items() if v}
        if not tpmd.wait_until(lambda: told('triplane_port_alarm'), LIMIT):
            return 'no alarm is told'
        alarm, alarms = told('triplane_port_alarm'), told('triplane_port_alarms_total')
        t.end()
    wanted = {('port', '0'), ('sensor', 'tx_stuck')}
    if len(alarm) != 1 or len(alarms) != 1 or not all(wanted <= set(k[1]) for k in (*alarm, *alarms)):
        return '%s, %s' % (alarm, alarms)
    return None


def limited():
    """Queue pairs that congestion control limits, and their rates, are gauges: what `show roce stats` says, while they are limited and once they are
    gone. None of their names is among events. Parameters never raise a rate again, so that figures stand still."""
    cc = 'cc/ecn:30000+60000+1000000/ecn-prio:0/buffer:600000'
    switch = 'switch:m%d' % os.getpid()
    with tpmd.Triplane(['net_mlx4_model0,wire0=%s%s,wire1=%scc/rate:300' % (switch, cc, switch)], telemetry=True, name='l', memory=512) as t:
        for port in (0, 1):
            for line in ('set roce %d prio 0', 'roce %d on v2 sw', 'roce addr add %d 192.0.2.1/24', 'set fwd rxonly %d', 'roce cc %d 0 on',
                         'roce cc %d 0 set rate-on-first-cnp 200', 'roce cc %d 0 set time-reset 0', 'roce cc %d 0 set byte-reset 0',
                         'roce cc %d 0 set min-rate 40'):
                t.tell((line % port).replace('192.0.2.1', '192.0.2.%d' % (port + 1)))
        t.tell('start')
        for qp in range(4):
            for line in ('roce qp create 0 rc 65536 32', 'roce qp create 1 rc 65536 32', 'roce qp pair 0 %d 1 %d' % (qp, qp)):
                t.tell(line)
        for qp in range(4):
            t.tell('roce traffic start 0 %d write 65536 0 60' % qp)
        for qp in range(4):
            t.tell('roce traffic wait 0 %d 100' % qp)
        for gone in (False, True):
            if gone:
                for qp in range(4):
                    t.tell('roce qp destroy 0 %d' % qp)
            counters = t.ask('show roce stats 0')['ports'][0]['counters']
            text = once('--dir', tpmd.RUN)[1]
            got = samples(text)
            if (counters['cc_limited_qps'] > 0) == gone or (counters['cc_limited_mbps'] > 0) == gone:
                return 'not %slimited: %s' % ('un' if gone else '', counters)
            for name, family, unit in LIMITED:
                if only(got, family, process=t.prefix, port=0) != counters[name] * unit or '# TYPE %s gauge\n' % family not in text:
                    return '%s: %s of %s' % (family, pick(got, family), counters[name])
                if pick(got, 'triplane_roce_events_total', event=name):
                    return name + ' is an event'
            p = subprocess.run(['promtool', 'check', 'metrics'], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
            if p.returncode != 0 or p.stdout.strip():
                return p.stdout[-800:]
        t.end()
    return None


def rdma():
    """RoCE in software, IPoIB, shared ports and the program on them: each figure is that of the command for it, under its name."""
    owner, program = Owner(['net_mlx4_model1,port0=ib,port1=ib,wire0=cross'], 'v2 sw', telemetry=True), None
    t = owner.app
    wrong = {}

    def differ():
        got, who = samples(once('--dir', tpmd.RUN)[1]), {'process': t.prefix}
        want = {}
        for port in (0, 1):
            counters = t.ask('show roce stats %d' % port)['ports'][0]['counters']
            for name in ('packets', 'bytes'):
                for way in ('rx', 'tx'):
                    want['triplane_roce_%s_total' % name, (('port', port), ('direction', way))] = counters.pop('%s_%s' % (way, name))
            for name, family, unit in LIMITED:
                want[family, (('port', port),)] = counters.pop(name) * unit
            want.update({('triplane_roce_events_total', (('port', port), ('event', n))): v for n, v in counters.items()})
            want['triplane_roce_objects', (('port', port), ('kind', 'qp'))] = 1
        if want['triplane_roce_bytes_total', (('port', 1), ('direction', 'rx'))] != 50000:
            return 'messages are missing: %s' % want
        for port in (2, 3):
            want.update({('triplane_ipoib_events_total', (('port', port), ('event', n))): v for n, v in t.ask('show ipoib counters %d' % port).items() if n != 'port'})
        share = owner.show()
        listens = [p for p in share['programs'] if p['device'] == 'rdma_cm' and p['listening'] == 1]
        if len(listens) != 1:
            return 'programs: %s' % share
        want.update({('triplane_share_guests', ()): share['guests'], ('triplane_share_connections_total', ()): share['connected'],
                     ('triplane_share_calls_total', ()): share['calls'], ('triplane_share_objects', ()): share['objects']})
        guest = [dict(k[1])['guest'] for k in pick(got, 'triplane_share_guest_info', pid=listens[0]['pid'], device='rdma_cm', **who)]
        for g in guest:
            want['triplane_share_guest_calls_total', (('guest', g),)] = listens[0]['calls']
            want['triplane_share_guest_objects', (('guest', g), ('kind', 'cm_id'))] = 1
        wrong.clear()
        found = {k: list(pick(got, k[0], **dict(k[1]), **who).values()) for k in want}
        wrong.update({k: (v, found[k]) for k, v in want.items() if found[k] != [v]})
        return wrong or (None if len(guest) == 1 and len(want) > 200 else 'guests %s, %d figures' % (guest, len(want)))

    try:
        for line in ('stop', 'ib sm on net_mlx4_model1/1', 'ipoib add net_mlx4_model1/1', 'ipoib add net_mlx4_model1/2', 'port start all', 'wait link up all 60',
                     'start', 'roce qp create 0 rc 1000 16', 'roce qp create 1 rc 1000 16', 'roce qp pair 0 0 1 0', 'roce traffic start 0 0 send 1000 0 50',
                     'roce traffic wait 0 0 60'):
            t.tell(line)
        program = owner.start('rping', '-s', '-a', '192.0.2.2', '-p', '7471', '-P')
        return None if tpmd.wait_until(lambda: not differ(), LIMIT) else str(differ())[:800]
    finally:
        if program:
            program.kill()
            program.communicate()
        owner.over()


with stopped_triplane() as triplane:
    cases.run('metrics-refused', refused)
    for case in (numbers, xstats, lcores):
        cases.run('metrics-' + case.__name__, case, triplane)
    with Exporter('--dir', tpmd.RUN) as exporter:
        for case in (of_testpmd, formats, promtool_metrics, names, http):
            cases.run('metrics-' + case.__name__.replace('_', '-'), case, exporter)
        crowd = Slow(exporter)  # they are in nobody's way
        cases.run('metrics-prometheus', scraped, triplane, exporter)
        cases.run('metrics-slow', crowd.over)
    cases.run('metrics-unix', unix)
    triplane.end()
cases.run('metrics-limited', limited)
cases.run('metrics-rdma', rdma)
cases.run('metrics-health', health)
cases.run('metrics-rules', rules)
cases.run('metrics-hostile', hostile)
cases.exit()
