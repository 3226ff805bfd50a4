#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Extended verbs of programs on shared ports; programs of ours look at each, and each of their lines is a case."""
import os
import re

import test_verbs_programs as programs

cases = programs.cases


def own(owner, name, *args):
    """Cases of a program; None, or how it ended."""
    rc, out = owner.run(os.path.join(programs.BUILD, 'tests/system/verbs_' + name), *args)
    for line in out.splitlines():
        said = re.match(r'(ok|not ok) ([\w-]+)(?:: (.*))?$', line)
        if not said:
            return 'it says: ' + out
        word, what, why = said.groups()
        cases.run('%s-%s' % (name, what), lambda: None if word == 'ok' else why)
    return None if rc == 0 else 'exit code %d: %s' % (rc, out)


def raw_pair(owner, prog, *args):
    """perftest's programs of whole frames tell each other nothing: a client whose first ones came before the server's receive requests
    begins again."""
    mac = ('02:00:00:00:00:01', '02:00:00:00:00:02')
    for _ in range(3):
        end = ''
        server = owner.start('stdbuf', '-oL', prog, '--server', '-d', programs.DEV[0], '-B', mac[0], '-E', mac[1], '-F', *args)
        while 'MAC attached' not in end:
            line = server.stdout.readline()
            end += line
            if not line:
                return '%s, server: %s' % (prog, end)
        rc, out = owner.run(prog, '--client', '-d', programs.DEV[1], '-B', mac[1], '-E', mac[0], '-F', *args)
        if rc != 0:
            server.kill()
        end = programs.finish(server)
        if rc == 0 and server.returncode == 0:
            rows = [re.search(r'^ \d+ +(\d+) +', text, re.M) for text in (out, end)]
            return None if all(row and int(row.group(1)) > 0 for row in rows) else 'no figures: %s %s' % (out, end)
    return '%s: exit code %d: %s; the server: %s' % (prog, rc, out[-400:], end[-400:])


def main():
    owner = programs.Owner()
    # Another user may come, but not for whole frames.
    os.chmod(owner.dir.name, 0o711)
    os.chmod(owner.socket, 0o777)
    for name in ('ex', 'mem', 'raw'):
        cases.run(name, own, owner, name, *programs.DEV, str(programs.GID))
    cases.run('raw-lat', raw_pair, owner, 'raw_ethernet_lat', '-s', '100', '-n', '200')
    cases.run('raw-bw', raw_pair, owner, 'raw_ethernet_bw', '-s', '512', '-D', '2')
    cases.run('given-back', owner.empty)
    cases.run('no-violation', lambda: None if not programs.broken(owner) else 'rules broken: %s' % programs.broken(owner))
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
