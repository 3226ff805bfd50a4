#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-run: an owner of its own, what it leaves behind, what it refuses."""
import glob
import os
import re
import signal
import subprocess
import sys

import tpmd

cases = tpmd.Cases()
BUILD = os.environ['TP_BUILD']
RUN = os.path.join(BUILD, 'apps/triplane-run/triplane-run')
DEV = ('net_mlx4_model0_p0', 'net_mlx4_model0_p1')
CARD = ('--vdev', 'net_mlx4_model0', '--addr', '192.0.2.1/24', '--addr', '192.0.2.2/24')
GID = 3  # of the IPv4 address, as RoCE v2
LIMIT = 60
USER = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')

scratch = tpmd.scratch()
os.chmod(scratch.name, 0o777)
ENV = {k: v for k, v in os.environ.items() if k != 'RUNTIME_DIRECTORY'}
ENV['XDG_RUNTIME_DIR'] = scratch.name


def start(*cmd, prefix=(), **kw):
    kw.setdefault('stdin', subprocess.DEVNULL)
    return subprocess.Popen([*prefix, RUN, *cmd], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **kw)


def run(*cmd, **kw):
    p = start(*cmd, **kw)
    try:
        out, err = p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return None, out, err + ' (ended by the test)'
    return p.returncode, out, err


def processes():
    """Those that a triplane-run of this test started, by its folder."""
    found = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            with open(path, 'rb') as f, open(path.replace('environ', 'stat')) as g:
                text, stat = f.read(), g.read()
        except OSError:
            continue
        if os.fsencode(scratch.name) in text and ') Z ' not in stat and int(path.split('/')[2]) != os.getpid():
            found.append(path.split('/')[2])
    return found


def left():
    """None, or what is still there of owners and programs."""
    if tpmd.wait_until(lambda: not processes() and not os.listdir(scratch.name), LIMIT):
        return None
    return 'left: processes %s, files %s' % (processes(), glob.glob(scratch.name + '/**', recursive=True))


# --- an owner of its own -------------------------------------------------------------------------------------------------


def own():
    """Its devices with the addresses that were given; one line says so; nothing is left."""
    shm = sorted(os.listdir('/dev/shm'))
    rc, out, err = run(*CARD, 'ibv_devinfo', '-v')
    gids = re.findall(r'GID\[ *%d\]:\s+(\S+), RoCE v2' % GID, out)
    if rc != 0 or gids != ['::ffff:192.0.2.1', '::ffff:192.0.2.2']:
        return 'exit code %s, %s: %s' % (rc, gids, err)
    if err != 'triplane-run: 2 devices of a triplane of its own: %s %s\n' % DEV:
        return 'it says: ' + err
    new = [n for n in os.listdir('/dev/shm') if n not in shm and n.startswith(('triplane', 'dpdk', 'run', 'rte'))]
    return left() if not new else 'left in /dev/shm: %s' % new


def user():
    rc, out, err = run(*CARD, 'ibv_devices', prefix=USER)
    return left() if rc == 0 and all(d in out for d in DEV) else 'exit code %s: %s %s' % (rc, out, err)


def can_be_user():
    """The build is somewhere that only root may enter, in some clones."""
    return os.geteuid() == 0 and subprocess.run([*USER, 'test', '-x', RUN], check=False).returncode == 0


def at_once():
    """Each of many programs that begin together finds all devices."""
    script = ('import subprocess as s; p = [s.Popen(["ibv_devices"], stdout=s.PIPE, text=True) for _ in range(40)];'
              'print(sum(q.communicate()[0].count("%s_p") for q in p))' % DEV[0][:-3])
    rc, out, err = run(*CARD, sys.executable, '-c', script)
    return left() if rc == 0 and out == '80\n' else 'exit code %s, 80 devices: %s %s' % (rc, out, err)


def exit_code():
    rc, _, err = run('--quiet', '--vdev', 'net_mlx4_model0', 'sh', '-c', 'exit 7')
    return left() if rc == 7 and err == '' else 'exit code %s: %s' % (rc, err)


def by_signal():
    """What ends the program is passed to it, and told as a shell does."""
    p = start('--quiet', '--vdev', 'net_mlx4_model0', 'sh', '-c', 'trap "echo heard; exit 5" TERM; echo on; while :; do sleep 0.05; done')
    p.stdout.readline()
    p.terminate()
    out, err = p.communicate(timeout=LIMIT)
    if p.returncode != 5 or out != 'heard\n':
        return 'exit code %s: %s %s' % (p.returncode, out, err)
    rc, _, err = run('--quiet', '--vdev', 'net_mlx4_model0', 'sh', '-c', 'kill -KILL $$')
    return left() if rc == 137 else 'exit code %s: %s' % (rc, err)


def killed():
    """Even then neither its owner nor its program nor a file remains."""
    p = start(*CARD, 'sh', '-c', 'echo on; exec ibv_asyncwatch -d ' + DEV[0])
    p.stdout.readline()
    seen = processes()
    p.kill()
    p.communicate(timeout=LIMIT)
    return left() if len(seen) >= 4 else 'not triplane-run, its keeper, an owner and a program: %s' % seen


def owner_gone():
    """A program hears of the end of its owner, and so does who started both."""
    p = start(*CARD, 'stdbuf', '-oL', 'ibv_asyncwatch', '-d', DEV[0])
    p.stdout.readline()  # it watches
    for pid in processes():
        if os.path.basename(os.readlink('/proc/%s/exe' % pid)) == 'triplane':
            os.kill(int(pid), signal.SIGKILL)
    event = p.stdout.readline()
    p.terminate()
    _, err = p.communicate(timeout=LIMIT)
    if p.returncode != 143 or not re.search('fatal|catastrophic|event_type', event, re.I):
        return 'exit code %s: %s' % (p.returncode, event)
    return left() if 'the owner that was started ended with exit code 137' in err else 'it says: ' + err


# --- refusals --------------------------------------------------------------------------------------------------------------

MODEL = ('--vdev', 'net_mlx4_model0')
REFUSALS = [
    ('both', ['--attach', '/x', *MODEL, 'true'], r'^triplane-run: --attach .* --vdev '),
    ('address-alone', ['--addr', '192.0.2.1/24', 'true'], r'^triplane-run: --addr goes with --vdev'),
    ('address', [*MODEL, '--addr', '192.0.2.1', 'true'], r"^triplane-run: --addr: '192.0.2.1' is no address"),
    ('address-length', [*MODEL, '--addr', '192.0.2.1/33', 'true'], r"'192.0.2.1/33' is no address"),
    ('address-6', [*MODEL, '--addr', 'fd00::/129', 'true'], r"'fd00::/129' is no address"),
    ('addresses', [*MODEL, *['--addr', '::1/64'] * 17, 'true'], r'more than 16 of --addr'),
    ('address-port', [*MODEL, *['--addr', 'fd00::1/64'] * 3, 'true'], r'--addr: 3 addresses, and 2 ports'),
    ('address-refused', [*MODEL, '--addr', '224.0.0.1/24', 'true'], r'224\.0\.0\.1: not the unicast.*\nerror: .*\n.*shares no port'),
    ('sources', [*MODEL * 9, 'true'], r'more than 8 of --vdev and -a'),
    ('device', ['--vdev', 'nonsense0', 'true'], r'nonsense0.*\ntriplane-run: the owner that was started shares no port'),
    ('argument', ['--vdev', 'net_mlx4_model0,foo=1', 'true'], r"unknown device argument 'foo'.*shares no port"),
    ('card', ['-a', 'ffff:ff:1f.7', 'true'], r'shares no port'),
    ('program', [*MODEL, 'no-such-program'], r'triplane-run: no-such-program: No such file'),
    ('nothing', [*MODEL], r'^triplane-run: no program is named'),
]


def refusal(cmd, pattern):
    rc, out, err = run(*cmd)
    return left() if rc == 1 and out == '' and re.search(pattern, err, re.S) else 'exit code %s: %s %s' % (rc, out, err)


def main():
    for name, cmd, pattern in REFUSALS:
        cases.run('refusal-' + name, refusal, cmd, pattern)
    cases.run('own', own)
    if can_be_user():
        cases.run('user', user)
    else:
        print('skip user: the build is not for other users to read', flush=True)
    cases.run('at-once', at_once)
    cases.run('exit-code', exit_code)
    cases.run('by-signal', by_signal)
    cases.run('killed', killed)
    cases.run('owner-gone', owner_gone)
    scratch.cleanup()
    cases.exit()


if __name__ == '__main__':
    sys.exit(main())
