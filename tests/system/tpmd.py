# SPDX-License-Identifier: BSD-3-Clause
"""Runs unmodified DPDK programs for tests and benchmarks: testpmd driven through its prompt."""
import errno
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

PLUGIN = os.environ.get('TRIPLANE_PLUGIN') or os.environ.get('TP_PLUGIN') or 'librte_net_mlx4_vfio.so'
# The EAL's folders, and those of programs that a test kills, go with the test.
if 'RUNTIME_DIRECTORY' not in os.environ:
    _run = tempfile.TemporaryDirectory(prefix='tprun')
    os.environ['RUNTIME_DIRECTORY'] = _run.name
RUN = os.path.join(os.environ['RUNTIME_DIRECTORY'], 'dpdk')
# A test that is ended gives back what it has of the machine: hugepages, interfaces, mounts.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
PROMPT = 'testpmd> '
# The prompt is written octet by octet, and lines of other threads may come in between: of received packets, by 'set verbose 1'; of
# the driver's log; of events of ports.
OTHERS = re.compile(r'port \d+/queue \d+: received \d+ packets\n|  src=[^\n]*\n|  ol_flags:[^\n]*\n\n?|mlx4: [^\n]*\n|\n?Port \d+: [^\n]* event\n')


CPUS = sorted(os.sched_getaffinity(0))
# Set where scripts/test.sh runs others side by side with this.
LANE = os.environ.get('TP_LANE')


# For triplane where a test is no matter of speed: lcores to which nothing comes leave their CPUs to others.
IDLE = 'set setting program idle-sleep 200'


def cpu(n):
    """The number of the n-th CPU of those that this test may use, round and round."""
    return CPUS[n % len(CPUS)]


def lcores(text):
    """--lcores on what CPUs there are: '0@0,1@1' means the first and the second. Beside others, any of them: who had to wait for one CPU
    would let another one idle."""
    return re.sub(r'@(\d+)', lambda m: '@%d' % cpu(int(m.group(1))) if LANE is None else '@(%s)' % ','.join(map(str, CPUS)), text)


def eal(prefix, on='0@0,1@0', memory=512, plugin=True, pci=False):
    """EAL arguments that need neither hugepages nor privileges; on: see lcores()."""
    args = ['--no-huge', '-m', str(memory), '--no-shconf', '--no-telemetry', '--file-prefix=' + prefix,
            '--lcores', lcores(on), '--log-level=lib.eal:error']
    if not pci:
        args.append('--no-pci')
    if plugin:
        args += ['-d', PLUGIN]
    return args


class Testpmd:
    """testpmd -i; every command returns what it printed."""

    def __init__(self, vdevs, args=(), eal_args=None, name='t', timeout=180, **eal_kw):
        prefix = 'tp%d%s' % (os.getpid(), name)
        # Its prompt goes to the descriptor, its answers through stdio: only line buffering keeps them in order.
        cmd = ['stdbuf', '-oL', 'dpdk-testpmd'] + (eal_args if eal_args is not None else eal(prefix, **eal_kw))
        cmd += ['--vdev=' + v for v in vdevs]
        cmd += ['--', '-i', '--total-num-mbufs=16384', '--no-mlockall', '--no-lsc-interrupt',
                '--disable-link-check'] + list(args)
        self.text = ''
        self.limit = timeout
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.started = self._until(PROMPT, timeout)

    @property
    def ports(self):
        """Numbers of the ports that were started; those that a wire owns have numbers too, but are not testpmd's."""
        return sorted({int(n) for n in re.findall(r'^Configuring Port (\d+)', self.text, re.M)})

    def _until(self, found, timeout):
        """found: a text, or what says of all that came since whether it is there."""
        if isinstance(found, str):
            mark = found
            found = lambda text: mark in text or mark in OTHERS.sub('', text)
        end = time.monotonic() + timeout
        out = ''
        while not found(out):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.proc.stdout], [], [], left)[0]:
                self.kill()
                raise RuntimeError('testpmd gave no prompt in %s s; its last words are %r of %s' % (timeout, out[-200:], (self.text + out)[-1500:]))
            data = os.read(self.proc.stdout.fileno(), 65536).decode(errors='replace')
            if not data:
                self.proc.wait()
                raise RuntimeError('testpmd ended with %s: %s' % (self.proc.returncode, (self.text + out)[-1500:]))
            out += data
        self.text += out
        return out

    def cmd(self, line, timeout=None):
        self.proc.stdin.write((line + '\n').encode())
        self.proc.stdin.flush()
        return self._until(PROMPT, timeout or self.limit)

    def cmd_torn(self, line, mark):
        """As cmd, but lines of other threads may come amid the letters of the prompt: with this mark in it the answer is done."""
        self.proc.stdin.write((line + '\n').encode())
        self.proc.stdin.flush()
        return self._until(lambda text: mark in text or PROMPT in text, self.limit)

    def cmd_anew(self, line):
        """As cmd, but there may still come a prompt from before: the one behind the echo of the line counts."""
        self.proc.stdin.write((line + '\n').encode())
        self.proc.stdin.flush()
        return self._until(lambda text: PROMPT in text.partition(line)[2], self.limit)

    def follow(self, mark, timeout=180):
        """Reads what it says on its own, until this is among all that it said."""
        end = time.monotonic() + timeout
        while mark not in self.text:
            left = end - time.monotonic()
            data = os.read(self.proc.stdout.fileno(), 65536) if left > 0 and select.select([self.proc.stdout], [], [], left)[0] else b''
            if not data:
                raise RuntimeError('no %r: %s' % (mark, self.text[-1500:]))
            self.text += data.decode(errors='replace')

    def stats(self, port):
        # A line of another thread, such as one of a link, may stand in the middle of one of these: then once more.
        for _ in range(5):
            out = self.cmd('show port stats %d' % port)
            s = {k.lower(): int(v) for k, v in re.findall(r'([RT]X-[a-z]+): +(\d+)', out)}
            if 'rx-packets' in s and 'tx-packets' in s:
                return s
        raise RuntimeError('statistics of port %d: %s' % (port, out))

    def until(self, port, name, least, patience=120, get=None):
        """Waits for a counter of a port; the statistics at last. get: self.stats or self.xstats."""
        end = time.monotonic() + patience
        while True:
            s = (get or self.stats)(port)
            if s[name] >= least or time.monotonic() > end:
                return s
            time.sleep(0.02)

    def xstats(self, port):
        out = self.cmd('show port xstats %d' % port)
        return {k: int(v) for k, v in re.findall(r'^(\w+): (\d+)\s*$', out, re.M)}

    def quit(self, timeout=180):
        """Ends it and returns the exit status."""
        if self.proc.poll() is None:
            self.proc.stdin.write(b'quit\n')
            self.proc.stdin.flush()
            try:
                out, _ = self.proc.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise RuntimeError('testpmd did not quit in %s s: %s' % (timeout, self.text[-800:]))
            self.text += out.decode(errors='replace')
        return self.proc.returncode

    def kill(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGKILL)
            self.proc.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        if kind is None:
            self.quit()
        self.kill()


def wait_until(what, limit=120):
    """Until what() is true; False when it never was within so many seconds."""
    end = time.monotonic() + limit
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def free_port():
    """
    A TCP port of this machine that nobody has now. Connections get theirs from a range of the kernel: one out of it would be taken now
    and then before its server has come.
    """
    with open('/proc/sys/net/ipv4/ip_local_port_range') as f:
        low, high = map(int, f.read().split())
    there = [*range(10000, low), *range(high + 1, 65536)]
    while True:
        with socket.socket() as s:
            try:
                s.bind(('', random.SystemRandom().choice(there) if there else 0))
            except OSError as e:
                if e.errno == errno.EADDRINUSE:
                    continue
                raise
            return s.getsockname()[1]


def listens(port, pid='self'):
    """Some socket listens at the TCP port, in the network namespace of that process."""
    with open('/proc/%s/net/tcp' % pid) as f, open('/proc/%s/net/tcp6' % pid) as g:
        return any(' 0A ' in line and ':%04X ' % port in line[:48] for line in f.read().splitlines() + g.read().splitlines())


def lcore_task(pid, lcore):
    """The folder of /proc of an lcore's thread; its name depends on the release of DPDK."""
    for task in os.listdir('/proc/%d/task' % pid):
        path = '/proc/%d/task/%s' % (pid, task)
        try:
            with open(path + '/comm') as f:
                if f.read().rstrip() in ('lcore-worker-%d' % lcore, 'rte-worker-%d' % lcore, 'dpdk-worker%d' % lcore):
                    return path
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread that ended meanwhile
    raise RuntimeError('no thread of lcore %d' % lcore)


def voluntary(task):
    """How often a thread gave its CPU away of itself, by the kernel; task: its folder of /proc."""
    with open(task + '/status') as f:
        return int(re.search(r'^voluntary_ctxt_switches:\s*(\d+)', f.read(), re.M)[1])


def patient(space, *interfaces):
    """
    In a network namespace: who is asked for there may answer late. A kernel gives a neighbour up after three questions, a second apart:
    what waits for it is lost then, and who connects is told that there is no host.
    """
    for interface in interfaces:
        for family in ('ipv4', 'ipv6'):
            subprocess.run(['ip', 'netns', 'exec', space, 'sysctl', '-qw', 'net.%s.neigh.%s.mcast_solicit=120' % (family, interface)],
                           check=True, timeout=60)


class Hca:
    """A card that is a process of its own; a context."""

    def __init__(self, path):
        self.path = path
        self.proc = subprocess.Popen([os.path.join(os.environ['TP_BUILD'], 'apps/triplane-hca/triplane-hca'), '--socket', path],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not wait_until(lambda: os.path.exists(path)):
            raise RuntimeError('triplane-hca makes no socket')

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        self.proc.kill()
        self.proc.wait()


class Telemetry:
    """DPDK's telemetry of a program, by its file prefix, as soon as there is one."""

    def __init__(self, prefix, timeout=180):
        path = os.path.join(RUN, prefix, 'dpdk_telemetry.v2')
        wait_until(lambda: os.path.exists(path))
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.sock.recv(65536)

    def tel(self, what):
        self.sock.send(what.encode())
        return json.loads(self.sock.recv(65536))[what.split(',')[0]]


class Triplane:
    """triplane that is told commands and answers in JSON; a context, that kills it."""

    def __init__(self, vdevs, args=(), telemetry=False, name='', env=None, space=None, eal_args=None, log='error', **eal_kw):
        """env: more of the environment; space: the network namespace that it is in; log: from which level on it says what."""
        app = os.environ.get('TRIPLANE', os.path.join(os.environ.get('TP_BUILD', 'build'), 'apps', 'triplane'))
        self.prefix = 'tpl%d%s' % (os.getpid(), name)
        cmd = [app] + (eal_args if eal_args is not None else eal(self.prefix, plugin=False, **eal_kw)) + ['--log-level=*:' + log]
        if telemetry:
            cmd.remove('--no-telemetry')
        cmd += ['--vdev=' + v for v in vdevs] + ['--', *args]
        # A file: of a pipe that is full it would wait for who reads it.
        self.errors = tempfile.TemporaryFile()
        cmd = (['ip', 'netns', 'exec', space] if space else []) + cmd
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env={**os.environ, **(env or {})})
        self.rest = b''
        self.telemetry = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        if self.telemetry is not None:
            self.telemetry.sock.close()
        self.proc.kill()
        self.proc.communicate()
        self.errors.close()

    def tell(self, line):
        self.proc.stdin.write((line + '\n').encode())
        self.proc.stdin.flush()

    def _line(self, end):
        while b'\n' not in self.rest:
            if not select.select([self.proc.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError('triplane does not answer')
            data = os.read(self.proc.stdout.fileno(), 65536)
            if not data:
                raise RuntimeError('triplane ended: ' + self.said())
            self.rest += data
        line, self.rest = self.rest.split(b'\n', 1)
        return line.decode()

    def ask(self, line, timeout=180):
        """The next line of JSON, which this command is the first to give."""
        end = time.monotonic() + timeout
        self.tell(line + ' json')
        while True:
            text = self._line(end)
            if text.startswith('{'):
                return json.loads(text)

    def tel(self, what, timeout=180):
        """What DPDK's telemetry answers, once the program has answered a command."""
        if self.telemetry is None:
            self.telemetry = Telemetry(self.prefix, timeout)
        return self.telemetry.tel(what)

    def xstats(self, port):
        return self.ask('show port xstats %d' % port)['ports'][0]

    def said(self):
        """What it said of errors so far; both have one place in the file, and the program writes there."""
        return os.pread(self.errors.fileno(), os.fstat(self.errors.fileno()).st_size, 0).decode(errors='replace')

    def over(self, timeout=180):
        """Ends it; what it said of errors."""
        self.tell('quit')
        self.proc.communicate(timeout=timeout)
        return self.said()

    def end(self):
        """Ends it; what it said of errors is one."""
        err = self.over()
        if err:
            raise RuntimeError(err)


class Cases:
    """The lines that the test runner counts."""

    def __init__(self):
        self.failed = 0

    def run(self, name, fn, *args):
        start = time.monotonic()
        try:
            why = fn(*args)
        except Exception as e:  # a broken expectation must not hide the cases behind it
            why = '%s: %s' % (type(e).__name__, e)
        if why is None or why is True:
            print('ok %s (%.1f s)' % (name, time.monotonic() - start), flush=True)
        elif isinstance(why, str) and why.startswith('skip '):
            print('skip %s: %s' % (name, why[5:]), flush=True)
        else:
            self.failed += 1
            print('not ok %s: %s' % (name, why), flush=True)

    def relay(self, text, prefix=''):
        """Lines of another program become cases here. None, or what it said if that are no such lines."""
        said = [re.match(r'(ok|not ok|skip) ([\w-]+)(?: \([\d.]+ s\))?(?:: (.*))?$', line) for line in text.splitlines()]
        if not said or None in said:
            return 'it says: ' + text
        for word, name, why in (m.groups() for m in said):
            self.run(prefix + name, lambda: {'ok': None, 'skip': 'skip %s' % why}.get(word, why or 'it does not say why'))
        return None

    def exit(self):
        raise SystemExit(1 if self.failed else 0)


def scratch():
    """A folder for sockets and captures, removed when the object is."""
    return tempfile.TemporaryDirectory(prefix='tp-test-')


def model_clean(triplane_text):
    """None, or what is wrong in the output of 'show model': rules that were broken."""
    m = re.search(r'violations\D+(\d+)', triplane_text, re.I)
    if not m:
        return 'no violation count in: ' + triplane_text[-300:]
    return None if int(m.group(1)) == 0 else 'violations: ' + triplane_text[-600:]
