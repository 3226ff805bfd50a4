# SPDX-License-Identifier: BSD-3-Clause
"""What triplane-fabric takes for a fabric of 8, 32 and 128 cards under 8 switches (share/fabric/scale.fabric): time and instructions for
a frame, time for a second of the fabric, and memory, each by the number of cards."""
import fcntl
import json
import os
import re
import subprocess
import tempfile

CARDS = (8, 32, 128)
# Of fabric time, so that the runs have about as many frames each.
MS = {8: 32, 32: 8, 128: 2}
# As long for all: what is measured over time takes memory, too.
MEMORY_MS = 2
COUNT_US = {8: 800, 32: 200, 128: 100}


def command(program, cards, us):
    return [program, 'scale', '-DN=%d' % cards, '-DEND=%dus' % us, '-DFROM=%dus' % (us // 2), '--json', '-']


def play(program, cards, us):
    """What it found, seconds of CPU time, and its largest memory in octets, which is read while it waits to write."""
    p = subprocess.Popen(command(program, cards, us), stdout=subprocess.PIPE)
    fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)
    text = os.read(p.stdout.fileno(), 1)
    with open('/proc/%d/status' % p.pid) as f:
        memory = int(re.search(r'VmHWM:\s+(\d+) kB', f.read()).group(1)) * 1024
    text += p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        raise RuntimeError('%s ended with %d' % (program, p.returncode))
    return json.loads(text), used.ru_utime + used.ru_stime, memory


def instructions(program, cards, folder):
    """Of a frame, from the host that sends to the one that receives, over two switches."""
    p = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=' + os.path.join(folder, 'callgrind.fabric'), '--collect-atstart=no',
                        '--toggle-collect=sim_run', *command(program, cards, COUNT_US[cards])],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, check=True)
    return int(re.search(r'Collected : (\d+)', p.stderr).group(1)) / json.loads(p.stdout)['frames']


def bench(rep, program):
    rep.title('fabric: N cards of 40 Gb/s under 8 switches, each linked to each other one, frames of 1062 octets over two of them; virtual time')
    memory = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in CARDS:
            found, seconds, _ = play(program, n, MS[n] * 1000)
            _, _, memory[n] = play(program, n, MEMORY_MS * 1000)
            case = '%d cards' % n
            rep.row('fabric', case, 'CPU time of a second', round(seconds / MS[n] * 1000, 1), 's')
            rep.row('fabric', case, 'CPU time of a frame', round(seconds / found['frames'] * 1e9), 'ns')
            rep.row('fabric', case, 'instructions of a frame', round(instructions(program, n, folder)), 'instr')
            rep.row('fabric', case, 'memory', round(memory[n] / 1e6, 1), 'MB')
    rep.row('fabric', 'each further card', 'memory', round((memory[CARDS[-1]] - memory[CARDS[0]]) / (CARDS[-1] - CARDS[0]) / 1e3), 'kB')
