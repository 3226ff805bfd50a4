#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: nginx wrk memcached haproxy unbound dnsperf nats-server openssh-server openssh-client
"""
Servers of Debian as they are, on ports that a triplane shares: nginx with workers, memcached, haproxy, unbound; clients at the other end
of a cable. What they serve is compared, and each server's counters have it: by the port, nothing by the kernel, which has none of these
addresses. nats-server, which calls the kernel by itself, and sshd, which rules leave to the kernel, run as they do without.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SYSTEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system')
sys.path.insert(0, SYSTEM)

import tpmd  # noqa: E402
from share_owner import LIMIT, Owner, finish, has_socket, until_says  # noqa: E402
from sock_nginx import LARGE, SMALL, USER, Nginx, children, with_port, wrk, wrk_said  # noqa: E402
from test_sockets_together import octets  # noqa: E402
from test_sockstat import look  # noqa: E402

cases = tpmd.Cases()
SERVER, CLIENT = '192.0.2.2', '192.0.2.1'
ASKS = os.path.join(SYSTEM, 'sock_asks.py')


def server(owner, *cmd, **kw):
    return owner.start('--sockets', '--port', '1', *cmd, **kw)


def client(owner, *cmd, **kw):
    p = owner.start('--sockets', '--port', '0', *cmd, **kw)
    out = finish(p)
    return p.returncode, out


def over(p, sig=signal.SIGTERM):
    p.send_signal(sig)
    return finish(p)


def for_group(owner, name):
    """Programs that become a user of this group have the ports."""
    os.chmod(owner.dir.name, 0o711)
    owner.app.tell('set setting program share-mode 0660')
    owner.app.tell('set setting program share-group ' + name)
    owner.show()


def for_root(owner):
    """None but root's programs have the ports."""
    for word in ('share-group none', 'share-mode 0600'):
        owner.app.tell('set setting program ' + word)
    owner.show()


def ready(p, what):
    """True once it is; false when the program has ended before."""
    return tpmd.wait_until(lambda: p.poll() is not None or what(), LIMIT) and p.poll() is None


def contents(path):
    with open(path, 'rb') as f:
        return f.read()


def fetched(owner, url, path, *more):
    """None, or how curl did not fetch what the file has; and what it says."""
    with tempfile.NamedTemporaryFile() as got:
        rc, out = client(owner, 'curl', '-sS', '-m', str(LIMIT), '-D', '-', '-o', got.name, *more, url)
        same = rc == 0 and contents(got.name) == contents(path)
    return None if same else 'curl: exit code %d, %s' % (rc, out or 'another file'), out


# --- nginx ---------------------------------------------------------------------------------------------------------------


class Web:
    """nginx on the port."""

    def __init__(self, owner, more=''):
        for_group(owner, USER)
        self.owner, self.port = owner, tpmd.free_port()
        self.url = 'http://%s:%d/' % (SERVER, self.port)
        self.files = Nginx('%s:%d%s' % (SERVER, self.port, more))
        self.p = server(owner, *self.files.words())

    def __enter__(self):
        if not ready(self.p, self.has_port):
            self.__exit__()
            raise RuntimeError('nginx: %s %s' % (self.said(), self.owner.show()))
        return self

    def __exit__(self, *_):
        for pid in [*children(self.p.pid), self.p.pid] if self.p.poll() is None else []:
            os.kill(pid, signal.SIGKILL)
        finish(self.p)

    def said(self):
        return self.files.said()[-600:]

    def workers(self):
        return children(self.p.pid)

    def has_port(self):
        """The worker that has the port now, or None."""
        return with_port(self.workers(), self.port)

    def next_worker(self):
        """The one that has the port is killed; another one has it."""
        killed = self.has_port()
        os.kill(killed, signal.SIGKILL)
        return tpmd.wait_until(lambda: self.has_port() not in (None, killed), LIMIT)

    def same(self, name, *more):
        return fetched(self.owner, self.url + name, self.files.path('www', name), *more)

    def loaded(self, name, size, seconds, connections, *more):
        """wrk has answers; what workers sent by the port is at least what these have in them, and nothing went by the kernel."""
        before = {pid: octets(pid) for pid in self.workers()}
        rc, out = client(self.owner, *wrk(self.url + name, seconds, connections, *more))
        if rc != 0:
            return 'wrk: exit code %d, %s' % (rc, out[-400:])
        number, rate, errors = wrk_said(out)
        after = {pid: octets(pid) for pid in self.workers()}
        if set(before) != set(after):
            return 'workers ended: %s' % self.said()
        sent = [after[pid][0][1] - before[pid][0][1] for pid in sorted(after)]
        print('# nginx, %s%s: %.0f requests a second, %.0f MB/s, shares of the workers: %s' % (
            name, ' '.join(('',) + more), rate, rate * size / 1e6, ', '.join('%.0f %%' % (100 * s / (sum(sent) or 1)) for s in sent)), flush=True)
        if errors or number < 100 or sum(sent) < number * size or any(o for _, o in after.values()):
            return '%d requests, %d errors, octets sent: %s, by the kernel: %s; %s' % (
                number, errors, sent, [o for _, o in after.values()], self.said())
        return None


def nginx(owner):
    """Contents by curl, load by wrk, connections that stay and that do not; it ends in order."""
    with Web(owner) as web:
        if len(web.workers()) != 2 or any(os.stat('/proc/%d' % pid).st_uid == 0 for pid in web.workers()):
            return 'workers: %s' % web.workers()
        why = web.same('small')[0] or web.same('large')[0] or \
            web.loaded('small', SMALL, 3, 16) or web.loaded('small', SMALL, 3, 16, '-H', 'Connection: close') or \
            web.loaded('large', LARGE, 3, 4)
        said = over(web.p, signal.SIGQUIT)
        return why or (None if web.p.returncode == 0 else 'exit code %d: %s %s' % (web.p.returncode, said, web.said()))


def reload(owner):
    """
    A new configuration while a file is fetched slowly: the old worker sends it to its end, the new ones answer all others, of whom none
    is refused.
    """
    with Web(owner) as web, tempfile.NamedTemporaryFile() as got:
        old = web.workers()
        slow = owner.start('--sockets', '--port', '0', 'curl', '-sS', '-m', str(LIMIT), '--limit-rate', '2M', '-o', got.name, web.url + 'huge')
        try:
            if not tpmd.wait_until(lambda: os.path.getsize(got.name) > 0, LIMIT):
                return 'nothing comes'
            web.files.write('two')
            web.p.send_signal(signal.SIGHUP)
            marks = []
            while 'two' not in marks[-3:]:
                why, out = web.same('small')
                mark = re.search(r'X-Conf: (\w+)', out)
                if why or len(marks) > 1000:
                    return '%s; after %s; %s' % (why, marks[-3:], web.said())
                marks.append(mark[1] if mark else None)
            late = slow.poll() is None
            said = finish(slow)
        finally:
            slow.kill()
        if slow.returncode != 0 or contents(got.name) != contents(web.files.path('www', 'huge')):
            return 'the slow one: exit code %d, %d octets: %s; %s' % (slow.returncode, os.path.getsize(got.name), said, web.said())
        if not late:
            return 'the slow one ended before the new configuration was there'
        if not tpmd.wait_until(lambda: not set(old) & set(web.workers()), LIMIT):
            return 'old workers stay: %s of %s' % (web.workers(), old)
        # A worker that is killed: another one has the port.
        if not web.next_worker():
            return 'no worker has the port; %s' % web.said()
        why = web.same('small')[0]
        over(web.p, signal.SIGQUIT)
        return why or (None if web.p.returncode == 0 else 'exit code %d: %s' % (web.p.returncode, web.said()))


def reuseport(owner):
    """Each worker has a listener of its own: one of them has the port, and the other one when that is killed."""
    with Web(owner, ' reuseport') as web:
        why = web.same('large')[0] or web.loaded('small', SMALL, 2, 16)
        if why:
            return why
        if not web.next_worker():
            return 'no worker has the port; %s' % web.said()
        why = web.same('large')[0]
        over(web.p, signal.SIGQUIT)
        return why or (None if web.p.returncode == 0 else 'exit code %d: %s' % (web.p.returncode, web.said()))


# --- memcached -----------------------------------------------------------------------------------------------------------

def memcached(owner):
    """Two threads; it becomes its user before it listens."""
    for_group(owner, 'memcache')
    port = str(tpmd.free_port())
    s = server(owner, 'memcached', '-u', 'memcache', '-l', SERVER, '-p', port, '-U', port, '-t', '2')
    try:
        if not ready(s, lambda: with_port([s.pid], port)):
            return 'it does not listen: %s; %s' % (finish(s), owner.show())
        rc, out = client(owner, '/usr/bin/python3', ASKS, 'memcached', SERVER, port)
        (received, sent), by_os = octets(s.pid)
        udp = [x['counts'] for x in look(s.pid)['sockets'] if x['type'] == 'udp']
    finally:
        said = over(s)
    if (rc, out) != (0, 'wrong: 0\n'):
        return 'exit code %d: %s; %s' % (rc, out[-600:], said[-300:])
    values = 4 * 125 * (1 + 100 + 1000 + 5000)
    if received < values or sent < values or by_os != 0:
        return 'octets received and sent: %d, %d, by the kernel: %d' % (received, sent, by_os)
    if sum(c['rx_packets'] for c in udp) < 200 or sum(c['tx_packets'] for c in udp) < 200:
        return 'datagrams: %s' % udp
    return None if s.returncode == 0 else 'exit code %d: %s' % (s.returncode, said[-300:])


# --- haproxy -------------------------------------------------------------------------------------------------------------

# It forbids itself threads that it has not begun yet, and with them the library's, unless it may make processes.
HAPROXY = """
global
	nbthread 2
	insecure-fork-wanted
	user haproxy
	group haproxy
defaults
	mode http
	timeout connect 60s
	timeout client 60s
	timeout server 60s
frontend front
	bind %(front)s
	http-response set-header X-Proxy %(mark)s
	default_backend back
backend back
	server one %(back)s
"""


class Proxy:
    """haproxy in front of Python's server, which is behind the cable: both its sides go by the port."""

    def __init__(self, owner, *args):
        self.owner, self.dir = owner, tpmd.scratch()
        self.files = os.path.join(self.dir.name, 'www')
        os.mkdir(self.files)
        for name, size in (('small', SMALL), ('large', LARGE)):
            with open(os.path.join(self.files, name), 'wb') as f:
                f.write(os.urandom(size))
        self.port, self.back = tpmd.free_port(), tpmd.free_port()
        self.url = 'http://%s:%d/' % (SERVER, self.port)
        self.conf = os.path.join(self.dir.name, 'conf')
        self.write('one')
        self.web = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-u', '-c',
                               'import http.server as h; h.test(h.SimpleHTTPRequestHandler, h.ThreadingHTTPServer, protocol="HTTP/1.1", '
                               'bind="%s", port=%d)' % (CLIENT, self.back), cwd=self.files)
        until_says(self.web, 'Serving')
        self.p = server(owner, 'haproxy', *args, '-f', self.conf)

    def write(self, mark):
        with open(self.conf, 'w') as f:
            f.write(HAPROXY % {'front': '%s:%d' % (SERVER, self.port), 'back': '%s:%d' % (CLIENT, self.back), 'mark': mark})

    def same(self, name, *more):
        return fetched(self.owner, self.url + name, os.path.join(self.files, name), *more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in [*children(self.p.pid), self.p.pid] if self.p.poll() is None else []:
            os.kill(pid, signal.SIGKILL)
        for p in (self.p, self.web):
            p.kill()
            finish(p)
        self.dir.cleanup()


def haproxy(owner):
    """One process, two threads, which becomes its user when it listens already."""
    for_root(owner)
    with Proxy(owner, '-db') as proxy:
        if not ready(proxy.p, lambda: with_port([proxy.p.pid], proxy.port)):
            return 'it does not listen: %s' % finish(proxy.p)
        why = proxy.same('small')[0] or proxy.same('large')[0]
        before = octets(proxy.p.pid)
        rc, out = client(owner, *wrk(proxy.url + 'small', 3, 8))
        after = octets(proxy.p.pid)
        if why or rc != 0:
            return why or 'wrk: %s' % out[-400:]
        number, rate, errors = wrk_said(out)
        print('# haproxy in front of Python: %.0f requests a second' % rate, flush=True)
        moved = [after[0][i] - before[0][i] for i in range(2)]
        # From the one side, to the other one.
        if errors or number < 20 or min(moved) < number * SMALL or after[1] != 0 or octets(proxy.web.pid)[1] != 0:
            return '%d requests, %d errors, octets received and sent: %s, by the kernel: %d' % (number, errors, moved, after[1])
        said = over(proxy.p, signal.SIGUSR1)
        return None if proxy.p.returncode == 0 else 'exit code %d: %s' % (proxy.p.returncode, said[-400:])


def haproxy_reload(owner):
    """A master whose worker becomes its user before it looks, and that begins itself anew for another configuration."""
    for_group(owner, 'haproxy')
    with Proxy(owner, '-W', '-db') as proxy:
        def worker():
            return with_port(children(proxy.p.pid), proxy.port)
        if not ready(proxy.p, worker):
            return 'no worker has the port: %s' % finish(proxy.p)
        old = worker()
        why = proxy.same('large')[0]
        if why:
            return why
        proxy.write('two')
        proxy.p.send_signal(signal.SIGUSR2)
        if not ready(proxy.p, lambda: worker() not in (None, old)):
            return 'the new worker has no port: %s, %s' % ([(p, look(p)['sockets']) for p in children(proxy.p.pid)], owner.show())
        why, out = proxy.same('large')
        return why or (None if 'two' in out else out)


# --- unbound -------------------------------------------------------------------------------------------------------------

UNBOUND = """
server:
	interface: %(addr)s
	port: %(port)s
	do-ip6: no
	do-daemonize: no
	use-syslog: no
	verbosity: 1
	chroot: ""
	username: unbound
	directory: "%(dir)s"
	pidfile: ""
	num-threads: 2
	access-control: 192.0.2.0/24 allow
	local-zone: "test." static
	local-data: 'long.test. TXT "%(long)s" "%(long)s" "%(long)s" "%(long)s" "%(long)s" "%(long)s"'
%(data)s
remote-control:
	control-enable: no
"""
NAMES = 1000


def name_addr(n):
    return '10.9.%d.%d' % (n // 250, n % 250 + 1)


def dig(owner, port, name, *args):
    rc, out = client(owner, 'dig', '@' + SERVER, '-p', port, name, '+noall', '+answer', '+comments', '+timeout=10', '+tries=6', *args)
    return rc, re.search(r'status: (\w+)', out), out


def answers(owner, port):
    """dig's view: names, one that is not there, an answer that is too long for a datagram."""
    for how in ((), ('+tcp',)):
        for n in (0, 1, NAMES - 1):
            rc, status, out = dig(owner, port, 'n%d.test' % n, *how)
            if rc != 0 or not status or status[1] != 'NOERROR' or not re.search(r'\bA\s+%s\n' % re.escape(name_addr(n)), out):
                return '%s: %d, %s' % (how, rc, out)
        rc, status, out = dig(owner, port, 'none.test', *how)
        if rc != 0 or not status or status[1] != 'NXDOMAIN':
            return '%s: %d, %s' % (how, rc, out)
        rc, status, out = dig(owner, port, 'long.test', '-t', 'TXT', *how)
        if rc != 0 or out.count('x' * 250) != 6:
            return '%s: %d, %s' % (how, rc, out[-400:])
    return None


def performs(owner, pid, port, queries, mode):
    """dnsperf asks for each name five times; how many answers it has, or None and why not."""
    before = octets(pid)
    rc, out = client(owner, 'dnsperf', '-s', SERVER, '-p', port, '-d', queries, '-n', '5', '-c', '4', '-q', '50', '-m', mode)
    got = {k: re.search(k + r': +([\d.]+)', out) for k in ('Queries completed', 'Queries lost', 'Queries per second')}
    good = re.search(r'Response codes: +NOERROR (\d+) \(100\.00%\)', out)
    if rc != 0 or not good or None in got.values():
        return None, 'exit code %d: %s' % (rc, out[-600:])
    completed, lost = (int(got['Queries ' + k][1]) for k in ('completed', 'lost'))
    after = octets(pid)
    moved = [after[0][i] - before[0][i] for i in range(2)]
    print('# unbound by %s: %s queries a second, %d of %d lost' % (mode, got['Queries per second'][1], lost, completed + lost), flush=True)
    # A question of ours has 26 octets and more, its answer 16 more.
    if int(good[1]) != completed or completed < 2 * NAMES or (mode == 'tcp' and lost != 0) or moved[0] < completed * 26 or \
            moved[1] < completed * 42 or after[1] != 0:
        return None, '%d answers, %d lost, octets: %s, by the kernel: %d' % (completed, lost, moved, after[1])
    return completed, None


def unbound(owner):
    """Two threads; it becomes its user when it has its sockets."""
    for_root(owner)
    port = str(tpmd.free_port())
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        with open(os.path.join(d, 'conf'), 'w') as f:
            f.write(UNBOUND % {'addr': SERVER, 'port': port, 'dir': d, 'long': 'x' * 250, 'data': '\n'.join(
                '\tlocal-data: "n%d.test. A %s"' % (n, name_addr(n)) for n in range(NAMES))})
        queries = os.path.join(d, 'queries')
        with open(queries, 'w') as f:
            f.write(''.join('n%d.test A\n' % n for n in range(NAMES)))
        s = server(owner, '/usr/sbin/unbound', '-d', '-c', os.path.join(d, 'conf'))
        try:
            said = until_says(s, 'start of service')
            if not has_socket(s.pid, port, listens=True):
                return 'it does not listen: %s' % said
            why, total = answers(owner, port), 0
            for mode in ('udp', 'tcp') if not why else ():
                completed, why = performs(owner, s.pid, port, queries, mode)
                if why:
                    break
                total += completed
        finally:
            said += over(s)
    if why or s.returncode != 0:
        return '%s; exit code %d: %s' % (why, s.returncode, said[-500:])
    # By its own count.
    served = sum(int(n) for n in re.findall(r'server stats for thread \d+: (\d+) queries', said))
    return None if served >= total else 'it says: %d queries of %d' % (served, total)


# --- programs that stay the kernel's -------------------------------------------------------------------------------------

def nats(owner):
    """Go calls the kernel without libc: it starts, serves on the kernel, ends, and has nothing of the port."""
    port = tpmd.free_port()
    s = server(owner, 'nats-server', '-a', '127.0.0.1', '-p', str(port))
    try:
        said = until_says(s, 'Server is ready')
        if not tpmd.listens(port, s.pid):
            return 'it does not listen: %s' % said
        rc, out = client(owner, '/usr/bin/python3', ASKS, 'nats', '127.0.0.1', str(port))
        has_qps = [p for p in owner.show()['programs'] if p['pid'] == s.pid and p['qps']]
    finally:
        said += over(s, signal.SIGINT)
    if (rc, out) != (0, 'wrong: 0\n') or has_qps:
        return 'exit code %d: %s; %s' % (rc, out, has_qps)
    return None if s.returncode == 0 else 'exit code %d: %s' % (s.returncode, said[-400:])


SSHD = """
HostKey %(dir)s/host
AuthorizedKeysFile %(dir)s/user.pub
ListenAddress 127.0.0.1:%(port)d
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
Subsystem sftp internal-sftp
"""


class Ssh:
    """Keys and a configuration of its own."""

    def __init__(self, port):
        self.dir = tpmd.scratch()
        # The program wants it, and Debian makes it when it starts its own.
        os.makedirs('/run/sshd', 0o755, exist_ok=True)
        for name in ('host', 'user'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', self.path(name)], check=True, stdin=subprocess.DEVNULL)
        with open(self.path('conf'), 'w') as f:
            f.write(SSHD % {'dir': self.dir.name, 'port': port})
        with open(self.path('file'), 'wb') as f:
            f.write(os.urandom(3000000))

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def options(self):
        return ['-F', '/dev/null', '-i', self.path('user'), '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no', '-o',
                'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR']

    def copied(self):
        return contents(self.path('copy')) == contents(self.path('file'))


def sshd(owner):
    """By rules it is the kernel's, and so are its clients: a command, a copy of a file."""
    port = tpmd.free_port()
    ssh = Ssh(port)
    with open(ssh.path('rules'), 'w') as f:
        f.write('application-id sshd *\nuse os tcp_server *:*\napplication-id ssh *\nuse os tcp_client *:*\n')
    env = {**os.environ, 'TRIPLANE_SOCKETS_RULES': ssh.path('rules')}
    s = server(owner, '/usr/sbin/sshd', '-D', '-e', '-f', ssh.path('conf'), env=env)
    try:
        said = until_says(s, 'Server listening')
        one = client(owner, 'ssh', *ssh.options(), '-p', str(port), 'root@127.0.0.1', 'echo $((6 * 7))', env=env)
        two = client(owner, 'scp', *ssh.options(), '-P', str(port), ssh.path('file'), 'root@127.0.0.1:' + ssh.path('copy'), env=env)
        has_qps = [p for p in owner.show()['programs'] if p['qps']]
    finally:
        said += over(s)
    if one != (0, '42\n') or two[0] != 0 or not ssh.copied() or has_qps:
        return '%s, %s; queue pairs: %s; %s' % (one, two, has_qps, said[-600:])
    ssh.dir.cleanup()
    return None


def ssh_on_port(owner):
    """A server that forks for each connection cannot have it; where socat takes it, ssh and scp go by the port."""
    ssh = Ssh(22)  # which nobody listens at

    def one(*words):
        port = str(tpmd.free_port())
        s = server(owner, 'socat', 'TCP-LISTEN:%s,bind=%s' % (port, SERVER), 'EXEC:/usr/sbin/sshd -i -e -f ' + ssh.path('conf'))
        try:
            if not has_socket(s.pid, port, listens=True):
                return 'socat does not listen'
            got = client(owner, *[port if w == 'PORT' else w for w in words])
            return got, finish(s)[-600:]
        finally:
            s.kill()
            finish(s)
    echo = one('ssh', *ssh.options(), '-p', 'PORT', 'root@' + SERVER, 'echo $((6 * 7))')
    copy = one('scp', *ssh.options(), '-P', 'PORT', ssh.path('file'), 'root@%s:%s' % (SERVER, ssh.path('copy')))
    if echo[0] != (0, '42\n') or copy[0][0] != 0 or not ssh.copied():
        return '%s; %s' % (echo, copy)
    ssh.dir.cleanup()
    return None


def has(program, fn, *args):
    if os.geteuid() != 0:
        return 'skip only root can become another user'
    return fn(*args) if shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin') else 'skip %s is not installed' % program


def main():
    owner = Owner()
    for name, program, fn in (('nginx', 'nginx', nginx), ('nginx-reload', 'nginx', reload), ('nginx-reuseport', 'nginx', reuseport),
                              ('memcached', 'memcached', memcached), ('haproxy', 'haproxy', haproxy),
                              ('haproxy-reload', 'haproxy', haproxy_reload), ('unbound', 'unbound', unbound),
                              ('nats-server', 'nats-server', nats), ('sshd', 'sshd', sshd), ('ssh-on-port', 'sshd', ssh_on_port)):
        cases.run(name, has, program, fn, owner)
        cases.run(name + '-given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
