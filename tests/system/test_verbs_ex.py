#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Extended verbs of programs on shared ports; a program of ours looks at each, and each of its lines is a case."""
import os
import re

import test_verbs_programs as programs

cases = programs.cases
OWN = os.path.join(programs.BUILD, 'tests/system/verbs_ex')


def own(owner, prog, name, *args):
    """Cases of a program; None, or how it ended."""
    rc, out = owner.run(prog, *args)
    for line in out.splitlines():
        said = re.match(r'(ok|not ok) ([\w-]+)(?:: (.*))?$', line)
        if not said:
            return 'it says: ' + out
        word, what, why = said.groups()
        cases.run('%s-%s' % (name, what), lambda: None if word == 'ok' else why)
    return None if rc == 0 else 'exit code %d: %s' % (rc, out)


def main():
    owner = programs.Owner()
    cases.run('ex', own, owner, OWN, 'ex', *programs.DEV, str(programs.GID))
    cases.run('given-back', owner.empty)
    cases.run('no-violation', lambda: None if not programs.broken(owner) else 'rules broken: %s' % programs.broken(owner))
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
