# SPDX-License-Identifier: BSD-3-Clause
"""The two ends of a program of plain sockets, with and without a library in front of libc."""
import difflib
import os

import share_owner
import tpmd
from share_owner import finish, until_says

PROG = os.path.join(os.environ['TP_BUILD'], 'tests/system/sock_prog')
SERVER = '192.0.2.2'


def ends(owner, case, addr=SERVER, env=None, prog=PROG):
    """What the server and the client say, on the ports of an owner or, without one, on the kernel."""
    port = str(tpmd.free_port())
    begin = (lambda n, *cmd: owner.start('--sockets', '--port', n, *cmd, env={**os.environ, **(env or {})})) if owner else \
        (lambda n, *cmd: share_owner.start(*cmd))
    server = begin('1', prog, 'serve', addr, port, case)
    try:
        said = until_says(server, 'listens\n')
        client = begin('0', prog, 'call', addr, port, case)
        out = finish(client)
        if client.returncode != 0:
            server.kill()
    except BaseException:
        server.kill()
        raise
    return client.returncode, out.splitlines(), (said + finish(server)).splitlines(), server.returncode


def same(owner, case, prog=PROG):
    """The same calls of both ends return the same on the ports and on the kernel."""
    kernel, ours = ends(None, case, '127.0.0.1', prog=prog), ends(owner, case, prog=prog)
    if kernel[0] != 0 or kernel[3] != 0:
        return 'the kernel: %s' % (kernel,)
    for who, k, o in (('client', kernel[1], ours[1]), ('server', kernel[2], ours[2])):
        if k != o:
            return '%s: %s' % (who, '; '.join(difflib.unified_diff(k, o, 'kernel', 'port', lineterm='', n=0)))
    return None if ours == kernel else 'exit codes %d and %d' % (ours[0], ours[3])
