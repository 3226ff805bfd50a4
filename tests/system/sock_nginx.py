# SPDX-License-Identifier: BSD-3-Clause
"""nginx with workers that are another user, a folder of files that it serves, and wrk."""
import contextlib
import os
import re

import tpmd
from test_sockstat import look

USER = 'www-data'
SMALL, LARGE, HUGE = 500, 1000000, 8000000  # HUGE: more than both ends of a connection have room for
CONF = """
daemon off;
user %(user)s;
worker_processes %(workers)d;
pid %(dir)s/pid;
error_log %(dir)s/error.log warn;
events { worker_connections 1000; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	server {
		listen %(listen)s;
		root %(dir)s/www;
		add_header X-Conf %(mark)s;
	}
}
"""


class Nginx:
    """A folder that goes with it: its configuration, files 'small', 'large' and 'huge'."""

    def __init__(self, listen, workers=2):
        self.dir = tpmd.scratch()
        self.values = {'user': USER, 'workers': workers, 'dir': self.dir.name, 'listen': listen}
        os.chmod(self.dir.name, 0o755)
        os.mkdir(self.path('www'))
        for name, size in (('small', SMALL), ('large', LARGE), ('huge', HUGE)):
            with open(self.path('www', name), 'wb') as f:
                f.write(os.urandom(size))
        self.write('one')

    def path(self, *names):
        return os.path.join(self.dir.name, *names)

    def write(self, mark):
        """The configuration: each answer has this mark."""
        with open(self.path('conf'), 'w') as f:
            f.write(CONF % {**self.values, 'mark': mark})

    def words(self):
        return ['/usr/sbin/nginx', '-e', self.path('error.log'), '-c', self.path('conf')]

    def said(self):
        with open(self.path('error.log')) as f:
            return f.read()


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def with_port(pids, port):
    """Which of these programs has the port: one whose listener is not the kernel's alone. None: none of them."""
    for pid in pids:
        with contextlib.suppress(RuntimeError):  # one that ends, or has no socket yet
            if any(s['state'] == 'LISTEN' and s['local'].endswith(':%s' % port) for s in look(pid)['sockets']):
                return pid
    return None


def wrk(url, seconds, connections, *more):
    return ['wrk', '-t', '1', '-c', str(connections), '-d', '%ds' % seconds, *more, url]


def wrk_said(out):
    """Requests, requests a second, errors of any kind."""
    n, rate = re.search(r'(\d+) requests in', out), re.search(r'Requests/sec: +([\d.]+)', out)
    if not n or not rate:
        raise RuntimeError('wrk says: ' + out[-400:])
    errors = re.search(r'Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)', out)
    other = re.search(r'Non-2xx or 3xx responses: (\d+)', out)
    return int(n[1]), float(rate[1]), sum(map(int, errors.groups() if errors else ())) + (int(other[1]) if other else 0)
