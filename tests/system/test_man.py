#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each installed program has a manual page, which man shows without a complaint, and which has each option of --help and each
command."""
import os
import re
import subprocess
import tempfile

import tpmd

PREFIX = 'usr/local'
cases = tpmd.Cases()
tree = tempfile.TemporaryDirectory(prefix='tpman')
bindir = os.path.join(tree.name, PREFIX, 'bin')
mandir = os.path.join(tree.name, PREFIX, 'share/man')


def sh(*cmd, **kw):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, stdin=subprocess.DEVNULL, text=True, **kw)
    return p.returncode, p.stdout, p.stderr


def installed():
    rc, out, err = sh('meson', 'install', '--no-rebuild', '--quiet', '-C', os.environ['TP_BUILD'], '--destdir', tree.name)
    return None if rc == 0 else (out + err)[-400:]


def shown(name):
    """Wide enough that nothing is broken; each word as it would be copied."""
    env = {**os.environ, 'MANWIDTH': '900', 'LC_ALL': 'C.UTF-8', 'MANPAGER': 'cat', 'MANPATH': mandir}
    return sh('man', '--warnings=all', '-P', 'cat', name, env=env)


def help_of(name):
    if name == 'triplane-bind':
        return sh(os.path.join(bindir, 'triplane'), 'bind', '--help')[1]
    own = ['--'] if name == 'triplane' or name.startswith('tp_') and name != 'tp_sockstat' else []
    return sh(os.path.join(bindir, name), *own, '--help')[1]


def page(name):
    rc, text, err = shown(name)
    if rc != 0 or err:
        return 'status %d: %s' % (rc, err[-300:])
    options = set(re.findall(r'(?:^|[\s,])(--?[A-Za-z][\w-]*)', '\n'.join(
        re.sub(r'   .*', '', line.strip()) for line in help_of(name).splitlines() if re.match(r' +-', line))))
    if len(options) < 4:
        return 'its help has %s' % options
    missing = [o for o in options if not re.search(r'(?:^|[\s,])%s(?:$|[\s,=[])' % re.escape(o), text, re.M)]
    sections = [s for s in ('NAME', 'SYNOPSIS', 'SEE ALSO') if not re.search('^%s$' % s, text, re.M)]
    return 'missing: %s %s' % (missing, sections) if missing or sections else None


def commands():
    text = shown('triplane')[1]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/cli.md')) as f:
        wanted = re.findall(r'^### `(.*)`$', f.read(), re.M)
    missing = [w for w in wanted if not re.search('^ +%s( |$)' % re.escape(w), text, re.M)]
    return 'missing: %s' % missing[:5] if missing or len(wanted) < 100 else None


cases.run('man-installed', installed)
for name in ['triplane-bind', *sorted(os.listdir(bindir))]:
    cases.run('man-' + name, page, name)
cases.run('man-commands', commands)
cases.exit()
