#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is installed is enough for others: the examples, and programs of one line for each public header, are built by
pkg-config from an installed tree alone, and run on it."""
import filecmp
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

import tpmd

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PREFIX = 'usr/local'
cases = tpmd.Cases()
tree = tempfile.mkdtemp(prefix='tpinst')
lib = include = ''


def sh(*cmd, **kw):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, stdin=subprocess.DEVNULL, **kw)
    return p.returncode, p.stdout.decode(errors='replace')


def installed():
    global lib, include
    rc, out = sh('meson', 'install', '--no-rebuild', '--quiet', '-C', os.environ['TP_BUILD'], '--destdir', tree)
    if rc != 0:
        return out[-400:]
    for folder, _, files in os.walk(os.path.join(tree, PREFIX)):
        if 'libtp_roce.pc' in files:
            lib = os.path.dirname(folder)
    include = os.path.join(tree, PREFIX, 'include/triplane')
    missing = [f for f in ('triplane', 'triplane-hca', 'triplane-fabric', 'triplane-exporter', 'triplane-top', 'tp_sockstat', 'tp_perf', 'tp_send_bw', 'tp_pingpong', 'tp_rping')
               if not os.access(os.path.join(tree, PREFIX, 'bin', f), os.X_OK)]
    return 'missing: %s' % missing if missing or not lib else None


def flags(package):
    """What the tree has, and what it requires of the system."""
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(lib, 'pkgconfig'))
    rc, out = sh('pkg-config', '--cflags', '--libs', package, env=env)
    if rc != 0:
        raise RuntimeError(out)
    return shlex.split(out)


def build(name, package, sources):
    exe = os.path.join(tree, name)
    rc, out = sh('gcc', '-O2', '-Wall', '-Werror', '-o', exe, *sources, *flags(package))
    return exe, None if rc == 0 else out[-500:]


def run(exe, *args):
    return sh(exe, *args, env=dict(os.environ, LD_LIBRARY_PATH=lib))


def headers():
    """The public headers and no others are there, and may all be included by one source. tests/unit/headers has each alone."""
    ours = {f: os.path.join(d, f) for d, _, files in os.walk(os.path.join(ROOT, 'include/triplane')) for f in files if f.endswith('.h')}
    have = {os.path.relpath(os.path.join(d, f), include): os.path.join(d, f) for d, _, files in os.walk(include) for f in files}
    other = [f for f in ours if f in have and not filecmp.cmp(ours[f], have[f], shallow=False)]
    if set(ours) != set(have) or other:
        return 'lacks %s, has %s more, other ones: %s' % (sorted(set(ours) - set(have)), sorted(set(have) - set(ours)), other)
    src = os.path.join(tree, 'headers.c')
    with open(src, 'w') as f:
        f.write(''.join('#include <%s>\n' % h for h in sorted(os.listdir(include))))
        f.write('int main(void) { return 0; }\n')
    for language in ('c', 'c++') if cxx() else ('c',):
        rc, out = sh('gcc', '-x', language, '-Wall', '-Werror', '-fsyntax-only', src, *flags('libtp_roce'),
                     *flags('librte_net_mlx4_vfio'))
        if rc != 0:
            return '%s: %s' % (language, out[-300:])
    return None


def cxx():
    return sh('sh', '-c', 'echo "int main(){}" | gcc -x c++ -fsyntax-only -')[0] == 0


def takes_signals(p):
    """Past EAL's start, which may take long on a busy machine. False: it ended."""
    end = time.monotonic() + 60
    while p.poll() is None and time.monotonic() < end:
        with open('/proc/%d/status' % p.pid) as f:
            caught = int(re.search(r'SigCgt:\s*(\w+)', f.read()).group(1), 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return True
        time.sleep(0.05)
    return False


def forwarder():
    exe, why = build('l2fwd', 'librte_net_mlx4_vfio', [os.path.join(ROOT, 'examples/l2fwd/main.c')])
    if why:
        return why
    p = subprocess.Popen([exe] + tpmd.eal('inst%d' % os.getpid(), plugin=False, memory=256) + ['--vdev=net_mlx4_model0'],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, LD_LIBRARY_PATH=lib))
    try:
        out = p.communicate(timeout=1 if takes_signals(p) else 0)[0]
        return 'it ended: %s' % out.decode(errors='replace')[-300:]
    except subprocess.TimeoutExpired:
        p.terminate()
        out = p.communicate(timeout=60)[0].decode(errors='replace')
        return None if p.returncode == 0 else '%s: %s' % (p.returncode, out[-300:])
    finally:
        p.kill()


def pairs_of_programs():
    """The examples of RoCE, each built alone: two processes over memif, one of which sends words and prints what comes back."""
    port = os.path.join(ROOT, 'examples/roce/port.c')
    for name, words, want in (('echo', ['hello', 'world'], ['hello', 'world']), ('kv', ['k1', 'nothing'], ['k1: value ', 'nothing: (none)'])):
        exe, why = build('roce_' + name, 'libtp_roce', [os.path.join(ROOT, 'examples/roce', name + '.c'), port])
        if why:
            return '%s: %s' % (name, why)
        sock, env = os.path.join(tree, name + '.sock'), dict(os.environ, LD_LIBRARY_PATH=lib)
        cmds = [[exe] + tpmd.eal('inst%d%s%s' % (os.getpid(), name, role), plugin=False, memory=128, on='0@%d' % i) +
                ['--vdev=net_memif0,role=%s,socket=%s,socket-abstract=no,id=0' % (role, sock), '--', '192.0.2.%d/24' % (i + 1)]
                for i, role in enumerate(('server', 'client'))]
        with open(sock + '.log', 'w+') as log:
            server = subprocess.Popen(cmds[0], stdout=log, stderr=log, env=env)
            try:
                if not tpmd.wait_until(lambda s=server, f=sock: os.path.exists(f) or s.poll() is not None):
                    return '%s: the server makes no socket' % name
                rc, out = run(cmds[1][0], *cmds[1][1:], '192.0.2.1', *words)
            finally:
                server.kill()
                server.wait()
            log.seek(0)
            if rc != 0 or any(not re.search('^' + re.escape(w), out, re.M) for w in want):
                return '%s: %d: %s; the server: %s' % (name, rc, out[-300:], log.read()[-300:])
    return None


def queue_pairs():
    """RoCE in software needs no driver of ours: a port of DPDK's is opened."""
    src = os.path.join(tree, 'open.c')
    with open(src, 'w') as f:
        f.write('#include <stdio.h>\n#include <rte_eal.h>\n#include <rte_ethdev.h>\n#include <tp_roce.h>\n'
                'int main(int argc, char **argv)\n{\n\tint n = 0;\n\tstruct ibv_device **list;\n'
                '\tif (rte_eal_init(argc, argv) < 0)\n\t\treturn 2;\n\tlist = tp_roce_get_device_list(&n);\n'
                '\tprintf("devices %d\\n", n);\n\ttp_roce_free_device_list(list);\n\treturn 0;\n}\n')
    exe, why = build('open', 'libtp_roce', [src])
    if why:
        return why
    rc, out = run(exe, *tpmd.eal('inst%d' % os.getpid(), plugin=False, memory=128), '--vdev=net_null0')
    return None if rc == 0 and 'devices 1\n' in out else out[-300:]


def alone(*cmd):
    """As a user starts it who has set nothing."""
    return sh(*cmd, env={k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'})


def program():
    """Programs find their libraries beside them, wherever the tree was put."""
    bindir = os.path.join(tree, PREFIX, 'bin')
    rc, out = alone(os.path.join(bindir, 'triplane'), '--no-pci', '--vdev=net_mlx4_model0', '--', '-e', 'start; stop')
    if rc != 0:
        return out[-300:]
    for cmd in (('triplane', '--', '--version'), ('triplane-hca', '--help'), ('tp_pingpong', '--', '--help'),
                ('tp_send_bw', '--', '--help'), ('tp_rping', '--', '--help')):
        rc, out = alone(os.path.join(bindir, cmd[0]), *cmd[1:])
        if rc != 0:
            return '%s: %s' % (cmd, out[-300:])
    return None


def not_installed():
    """What ./tp env prints is enough to find all programs of a build, and to compile and run another one."""
    rc, out = sh('sh', '-ec', '\n'.join((
        'eval "$(./tp env)"',
        'for p in triplane triplane-hca triplane-fabric tp_pingpong tp_perf tp_send_bw tp_atomic_lat tp_rping l2fwd roce_echo roce_kv; do',
        '\tcase $(command -v $p) in "$TP_BUILD"/*) ;; *) echo "$p: $(command -v $p)"; exit 1 ;; esac',
        'done',
        'gcc -Wall -Werror -o "$0/env_l2fwd" examples/l2fwd/main.c $(pkg-config --cflags --libs librte_net_mlx4_vfio)',
        'gcc -Wall -Werror -o "$0/env_open" "$0/open.c" $(pkg-config --cflags --libs libtp_roce)',
        '"$0/env_open" --no-huge -m 64 --no-pci --no-shconf --file-prefix=inst$$ --vdev=net_null0')), tree, cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k not in ('LD_LIBRARY_PATH', 'TRIPLANE_PLUGIN')})
    return None if rc == 0 and 'devices 1\n' in out else out[-400:]


try:
    for name, fn in (('files', installed), ('headers', headers), ('forwarder', forwarder), ('pairs-of-programs', pairs_of_programs),
                     ('queue-pairs', queue_pairs),
                     ('program', program), ('not-installed', not_installed)):
        cases.run('install-' + name, fn)
finally:
    subprocess.run(['rm', '-rf', tree])
cases.exit()
