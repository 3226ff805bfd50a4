#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: debhelper doxygen help2man lintian mmdebstrap
"""
Packages of Debian: dpkg-buildpackage makes them of the tree as it is, lintian finds no error, apt installs them into a root that
has nothing else but DPDK and its programs, and there unmodified testpmd finds the card in software by itself. Cards of that root are a made-up
tree of PCI devices.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, '../system'))

import tpmd  # noqa: E402
from pci_tree import pci_tree  # noqa: E402

CACHE = os.environ.get('TP_CACHE', os.path.join(ROOT, '.tp'))
PLACE = os.path.join(CACHE, 'packages')
TREE = os.path.join(PLACE, 'triplane')
CLEAN = os.path.join(PLACE, 'root')
with open(os.path.join(ROOT, 'VERSION')) as version:
    VERSION = version.read().strip()
NAMES = ('triplane', 'libtriplane-dev', 'triplane-doc')
cases = tpmd.Cases()


def sh(*cmd, limit=3000, **kw):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=limit, check=False, **kw)
    return p.returncode, p.stdout.decode(errors='replace')


def inside_words(*cmd, env=None):
    """A command in the clean root, with this machine's /sys and a /proc of its own, which go with it."""
    words = ['%s=%s' % e for e in (env or {}).items()]
    return ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c',
            'mount --rbind /sys "$0/sys" && mount -t proc none "$0/proc" && exec chroot "$0" env -i "$@"', CLEAN, 'HOME=/root',
            'LC_ALL=C.UTF-8', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', *words, *cmd]


def inside(*cmd, env=None):
    return sh(*inside_words(*cmd, env=env), limit=300)


def packages():
    return sorted(glob.glob(os.path.join(PLACE, '*_%s_*.deb' % VERSION)))


def built():
    """From what the tree has now, whether it is committed or not, in a place of its own."""
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(TREE)
    files = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in files.decode().split('\0'):
        if name and os.path.lexists(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(TREE, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(TREE, name), follow_symlinks=False)
    env = {k: v for k, v in os.environ.items() if not k.startswith('LD_') and k != 'TP_BUILD'}
    env.update(CC='ccache gcc', CCACHE_BASEDIR=TREE, TP_CACHE=CACHE, DEB_BUILD_OPTIONS='parallel=%d' % os.cpu_count())
    rc, out = sh('dpkg-buildpackage', '-b', '-us', '-uc', cwd=TREE, env=env)
    with open(os.path.join(PLACE, 'build.log'), 'w') as f:
        f.write(out)
    if rc != 0:
        return 'status %d: %s' % (rc, out[-800:])
    missing = [n for n in NAMES if not any(os.path.basename(p).startswith(n + '_') for p in packages())]
    return 'missing: %s' % missing if missing else None


def lint():
    changes = glob.glob(os.path.join(PLACE, 'triplane_%s_*.changes' % VERSION))
    rc, out = sh('lintian', '--allow-root', '--fail-on', 'error', '--no-tag-display-limit', *changes)
    return None if rc == 0 else out[-1500:]


def installed():
    """apt resolves what they depend on: nothing is there by accident."""
    shutil.rmtree(CLEAN, ignore_errors=True)
    debs = [p for p in packages() if '-dbgsym_' not in p]
    rc, out = sh('mmdebstrap', '--mode=root', '--variant=minbase', '--include=dpdk,dpdk-dev', '--customize-hook=copy-in %s /srv' % ' '.join(debs),
                 '--customize-hook=chroot "$1" sh -c "apt-get -y --no-install-recommends install /srv/*.deb && rm /srv/*.deb"',
                 'bookworm', CLEAN)
    if rc != 0 and re.search(r'Temporary failure|Could not (resolve|connect)|Failed to fetch', out):
        return 'skip no packages of Debian can be fetched'
    return None if rc == 0 else out[-1200:]


EAL = ('--no-huge', '-m', '256', '--no-shconf', '--no-telemetry', '--lcores', '0@%d,1@%d' % (tpmd.cpu(0), tpmd.cpu(0)))
TESTPMD = ('--', '--total-num-mbufs=4096')


def testpmd():
    """It forwards until one of its lines of statistics says that packets came."""
    words = inside_words('dpdk-testpmd', *EAL, '--no-pci', '--vdev=net_mlx4_model0', *TESTPMD, '--tx-first', '--stats-period=1',
                         '--nb-cores=1', '--forward-mode=io', '--no-lsc-interrupt')
    said = []
    p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    late = threading.Timer(300, p.kill)
    late.start()
    for line in p.stdout:
        said.append(line)
        if re.search(r'RX-packets: *[1-9]', line):
            break
    else:
        late.cancel()
        return 'status %s: %s' % (p.wait(), ''.join(said)[-800:])
    late.cancel()
    p.kill()  # unshare, with which its processes go
    p.stdout.close()
    p.wait()
    return None


def first_asked():
    """A made-up card that claims to be bound to VFIO, in DPDK's own folder with its own driver of these cards."""
    have = glob.glob(os.path.join(CLEAN, 'usr/lib/*/dpdk/pmds-*/librte_net_mlx4*.so*'))
    if not {'librte_net_mlx4.so', 'librte_net_mlx4_vfio.so'} <= {os.path.basename(p) for p in have}:
        return 'in the folder of drivers: %s' % have
    asked = {}
    for driver in ('vfio-pci', 'mlx4_core'):
        tree = os.path.join(CLEAN, 'tmp', driver)
        os.makedirs(tree)
        pci_tree(tree, 0x1007, driver, seen='/tmp/' + driver)
        out = inside('dpdk-testpmd', *EAL, '--log-level=bus.pci:debug', '--log-level=lib.eal:debug', *TESTPMD,
                     env={'SYSFS_PCI_DEVICES': '/tmp/' + driver})[1]
        asked[driver] = re.findall(r'probe driver: 15b3:1007 (\S+)', out)
    if asked['vfio-pci'][:1] != ['net_mlx4_vfio'] or asked['mlx4_core'][-1:] != ['net_mlx4']:
        return 'asked: %s' % asked
    return None


def programs():
    for cmd in (('triplane', *EAL, '--no-pci', '--vdev=net_mlx4_model0', '--', '-e', 'start; stop'), ('triplane-hca', '--help'),
                ('triplane-run', '--vdev', 'net_mlx4_model0', '--view', 'off', 'true'), ('tp_send_bw', '--', '--help'),
                ('tp_pingpong', '--', '--help'), ('tp_rping', '--', '--help')):
        rc, out = inside(*cmd)
        if rc != 0:
            return '%s: %d: %s' % (cmd[0], rc, out[:400] + out[-300:])
    return None


def whole():
    """What was installed is what the packages say, and it goes again without a trace but its configuration."""
    rc, out = inside('dpkg', '--verify', *NAMES)
    if rc != 0 or out:
        return out[-400:]
    rc, out = inside('dpkg', '--purge', *NAMES)
    left = [p for p in glob.glob(CLEAN + '/**/*triplane*', recursive=True) if '/var/' not in p]
    return None if rc == 0 and not left else '%d: %s %s' % (rc, out[-300:], left[:5])


def main():
    cases.run('packages-built', built)
    cases.run('packages-lintian', lint)
    cases.run('packages-installed', installed)
    if os.path.isdir(CLEAN):
        for name, fn in (('testpmd', testpmd), ('first-asked', first_asked), ('programs', programs), ('purged', whole)):
            cases.run('packages-' + name, fn)
    shutil.rmtree(CLEAN, ignore_errors=True)
    cases.exit()


if __name__ == '__main__':
    main()
