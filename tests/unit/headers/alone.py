#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""alone.py HEADERS LANGUAGE STANDARD COMPILER...: each header of a folder compiles with nothing in front of it, without warnings.

What it includes of DPDK and rdma-core is not ours to warn about, and wants the C library's default features.
"""
import glob
import os
import shlex
import subprocess
import sys
import tempfile

PACKAGES = ['libdpdk', 'libibverbs', 'librdmacm']


def main(headers, language, standard, *compiler):
    flags = subprocess.run(['pkg-config', '--cflags', *PACKAGES], capture_output=True, text=True, check=True).stdout
    flags = shlex.split(flags.replace('-I/', '-isystem/'))
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        source = os.path.join(tmp, 'one')
        for name in sorted(os.path.relpath(n, headers) for n in glob.glob(headers + '/**/*.h', recursive=True)):
            with open(source, 'w', encoding='utf-8') as f:
                f.write('#include <%s>\n' % name)
            run = subprocess.run([*compiler, '-x', language, '-std=' + standard, '-D_DEFAULT_SOURCE', '-Wall', '-Wextra', '-Werror',
                                  '-fsyntax-only', '-I' + headers, *flags, source], capture_output=True, text=True, check=False)
            print('%s %s' % ('ok' if run.returncode == 0 else 'not ok', name))
            if run.returncode != 0:
                print(run.stderr)
                bad += 1
    return bad != 0


sys.exit(main(*sys.argv[1:]))
