#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Units of systemd: systemd itself finds nothing wrong with them, and what they start, serves and ends as a service does."""
import glob
import os
import re
import shlex
import signal
import subprocess
import tempfile

import tpmd

PREFIX = 'usr/local'
cases = tpmd.Cases()
tree = tempfile.TemporaryDirectory(prefix='tpunit')
units = os.path.join(tree.name, PREFIX, 'lib/systemd/system')


def installed():
    p = subprocess.run(['meson', 'install', '--no-rebuild', '--quiet', '-C', os.environ['TP_BUILD'], '--destdir', tree.name],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    # The place that they are in now takes the place of the one that they are made for.
    for name in glob.glob(units + '/*'):
        with open(name) as f:
            text = f.read()
        with open(name, 'w') as f:
            f.write(text.replace('/' + PREFIX, os.path.join(tree.name, PREFIX)))
    return None if p.returncode == 0 else p.stdout[-400:]


def verified(unit):
    p = subprocess.run(['systemd-analyze', 'verify', '--man=no', os.path.join(units, unit)], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return None if p.returncode == 0 and not p.stdout else p.stdout[-400:]


def started(unit, instance, runtime, more=None):
    """What ExecStart says, with the variables of its files."""
    with open(os.path.join(units, unit)) as f:
        text = f.read()
    text = text.replace('%i', instance).replace('%t', runtime)
    env = {**os.environ, 'RUNTIME_DIRECTORY': runtime}
    words = {}
    for name in re.findall(r'^EnvironmentFile=(.*)$', text, re.M):
        if name[0] == '-' and not os.path.exists(name[1:]):
            continue
        with open(name.lstrip('-')) as f:
            words.update(re.findall(r'^(\w+)=(.*)$', f.read(), re.M))
    words.update(more or {})
    cmd = []
    for w in shlex.split(re.search(r'^ExecStart=(.*)$', text, re.M).group(1)):
        cmd += shlex.split(words[w[1:]]) if w[0] == '$' else [w]
    return subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)


def ended(p):
    p.send_signal(signal.SIGTERM)
    out = p.communicate(timeout=60)[0]
    return None if p.returncode == 0 else 'status %s: %s' % (p.returncode, out[-400:])


def forwards():
    """With a command more, by which it is seen that all of them were done; then, by `--wait`, it stays until it is told."""
    with tempfile.TemporaryDirectory(prefix='tpunit') as run:
        commands = os.path.join(tree.name, PREFIX, 'etc/triplane/commands')
        done = os.path.join(run, 'share')
        with open(commands, 'a') as f:
            f.write('share on %s\n' % done)
        p = started('triplane.service', '', run, {'TRIPLANE_EAL': shlex.join([*tpmd.eal('unit%d' % os.getpid(), plugin=False),
                                                                              '--vdev=net_mlx4_model0'])})
        try:
            if not tpmd.wait_until(lambda: p.poll() is not None or os.path.exists(done)) or p.poll() is not None:
                return 'it ended: %s' % p.communicate(timeout=60)[0][-400:]
            return ended(p)
        finally:
            p.kill()


def serves():
    with tempfile.TemporaryDirectory(prefix='tpunit') as run:
        os.makedirs(os.path.join(run, 'triplane-hca/lab'))
        p = started('triplane-hca@.service', 'lab', run)
        try:
            at = os.path.join(run, 'triplane-hca/lab/socket')
            if not tpmd.wait_until(lambda: p.poll() is not None or os.path.exists(at)) or p.poll() is not None:
                return 'it ended: %s' % p.communicate(timeout=60)[0][-400:]
            return ended(p)
        finally:
            p.kill()


def tells():
    """It listens where its configuration says, here at a socket of this test."""
    with tempfile.TemporaryDirectory(prefix='tpunit') as run:
        at = os.path.join(run, 'metrics')
        p = started('triplane-exporter.service', '', run, {'TRIPLANE_EXPORTER': '--listen %s --dir %s' % (at, run)})
        try:
            if not tpmd.wait_until(lambda: p.poll() is not None or os.path.exists(at)) or p.poll() is not None:
                return 'it ended: %s' % p.communicate(timeout=60)[0][-400:]
            return ended(p)
        finally:
            p.kill()


cases.run('units-installed', installed)
cases.run('units-triplane', verified, 'triplane.service')
cases.run('units-hca', verified, 'triplane-hca@lab.service')
cases.run('units-exporter', verified, 'triplane-exporter.service')
cases.run('units-triplane-starts', forwards)
cases.run('units-hca-starts', serves)
cases.run('units-exporter-starts', tells)
cases.exit()
