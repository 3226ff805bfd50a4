#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Completion in a real bash: a line is typed with a tabulator at its end, and what the shell makes of it is read back."""
import os
import pty
import re
import select
import subprocess
import tempfile
import time

import tpmd

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ['TP_BUILD']
APPS = os.path.join(BUILD, 'apps')
PATHS = (APPS, *(os.path.join(APPS, d) for d in ('triplane-hca', 'triplane-run', 'perf', 'pingpong', 'tp_rping', 'inspect', 'check', 'replay',
                                                  'triplane-fabric', 'exporter', 'top', 'sockstat')))
cases = tpmd.Cases()


class Bash:
    """An interactive shell in a terminal of its own."""

    def __init__(self, env=None):
        self.fd, end = pty.openpty()
        env = {**os.environ, 'PATH': ':'.join((*PATHS, os.environ['PATH'])), 'PS1': '', 'TERM': 'dumb', 'INPUTRC': '/dev/null', **(env or {})}
        self.proc = subprocess.Popen(['bash', '--norc', '--noprofile', '-i'], stdin=end, stdout=end, stderr=end, env=env,
                                     start_new_session=True)
        os.close(end)
        self.said('bind "set completion-query-items 0"; bind "set page-completions off"; stty cols 10000; PS1="@re""ady@"; '
                  'shopt -s checkwinsize; . %s/share/completion/triplane' % ROOT)

    def _until(self, mark):
        """What comes up to this pattern and the next prompt: before that the terminal would keep keys such as ^U for itself."""
        end, out = time.monotonic() + 120, ''
        while not re.search(mark + '.*@ready@', out, re.S):
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError('bash says no more than %r' % out[-300:])
            out += os.read(self.fd, 65536).decode(errors='replace')
        return out[:re.search(mark, out).end()]

    def said(self, line):
        """What a line prints."""
        os.write(self.fd, (line + "; echo 'e''nd'\n").encode())
        return self._until('\nend')

    def typed(self, line):
        """The line after one tabulator: it becomes an argument of printf."""
        os.write(self.fd, (line + "\t\x05'\x01printf '<%s>\\n' '\n").encode())
        return re.findall(r'\n<(.*?)>', self._until('>\r\n'))[-1]

    def offered(self, line):
        """What the key for possible completions lists."""
        os.write(self.fd, (line + "\x1b?\x15echo 'e''nd'\n").encode())
        return set(self._until('\nend').split()) - {'@ready@'}

    def close(self):
        self.proc.kill()
        self.proc.wait()
        os.close(self.fd)


# Cards of a machine that is made up; the second device is none.
machine = tempfile.TemporaryDirectory(prefix='tpbash')
for addr, device in (('0000:03:00.0', 0x1007), ('0000:04:00.0', 0x1013)):
    place = os.path.join(machine.name, 'sys/bus/pci/devices', addr)
    os.makedirs(place)
    for key, value in (('vendor', 0x15b3), ('device', device)):
        with open(os.path.join(place, key), 'w') as f:
            f.write('0x%04x\n' % value)
bash = Bash({'TRIPLANE_SYSROOT': machine.name})


def becomes(line, wanted):
    got = bash.typed(line)
    return None if got.rstrip() == wanted else '%r became %r' % (line, got)


def offers(line, *wanted):
    """wanted: a word, or one with ! in front that is not to be there."""
    got = bash.offered(line)
    wrong = [w for w in wanted if (w[1:] in got if w[0] == '!' else w not in got)]
    return '%r: %s of %s' % (line, wrong, sorted(got)[:30]) if wrong else None


def every_program():
    """Each program that the file is for, with all options of its own help."""
    with open(os.path.join(ROOT, 'share/completion/triplane')) as f:
        names = re.search(r'^complete -F \w+ (.*)', f.read().replace('\\\n', ' '), re.M)[1].split()
    for name in names:
        path = next((p for p in (os.path.join(d, name) for d in PATHS) if os.path.isfile(p)), None)
        if path is None:
            return 'there is no ' + name
        own = ['--'] if name == 'triplane' or name.startswith('tp_') and name != 'tp_sockstat' else []
        text = subprocess.run([path, *own, '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False).stdout
        options = {o for line in text.splitlines() if re.match(r' +-', line) for o in re.findall(r'(?:^|[\s,])(--[a-z][\w-]*)', re.sub(r'   .*', '', line.strip()))}
        missing = options - bash.offered(' '.join([name, *own, '--']))
        if missing or len(options) < 4:
            return '%s: %s of %s' % (name, sorted(missing), sorted(options))
    return None if len(names) > 15 else 'programs: %s' % names


try:
    for name, line, wanted in (
            ('option', 'triplane-hca --soc', 'triplane-hca --socket'),
            ('choice', 'triplane-hca --ib-speed0 fdr1', 'triplane-hca --ib-speed0 fdr10'),
            ('own-option', 'triplane --vdev=net_mlx4_model0 -- --for', 'triplane --vdev=net_mlx4_model0 -- --forward-mode'),
            ('eal-option', 'tp_perf --file', 'tp_perf --file-prefix'),
            ('device', 'triplane --vdev=net_mlx4_m', 'triplane --vdev=net_mlx4_model0'),
            ('word', 'triplane-run --view ne', 'triplane-run --view need'),
            ('verb', 'triplane unb', 'triplane unbind'),
            ('card', 'triplane bind 0', 'triplane bind 0000:03:00.0'),
            ('card-begun', 'triplane bind 0000:0', 'triplane bind 0000:03:00.0'),
            ('card-eal', 'triplane -a ', 'triplane -a 0000:03:00.0'),
            ('verb-option', 'triplane bind --ow', 'triplane bind --owner'),
            ('by-name', 'tp_send_bw -- --conn', 'tp_send_bw -- --connection')):
        cases.run('bash-' + name, becomes, line, wanted)
    cases.run('bash-eal-alone', offers, 'triplane --', '--vdev', '--lcores', '!--forward-mode')
    cases.run('bash-every-program', every_program)
    cases.run('bash-options', offers, 'tp_rping -- --p', '--port', '--persistent', '--provider', '--prio')
    cases.run('bash-choices', offers, 'triplane-hca --port0 ', 'eth', 'ib', 'auto')
    cases.run('bash-commands', offers, "triplane -- -e 'show port ", 'stats', 'xstats', 'info')
    cases.run('bash-second-command', becomes, 'triplane -- -e "start; set fwd flow', 'triplane -- -e "start; set fwd flowgen"')
finally:
    bash.close()
cases.exit()
