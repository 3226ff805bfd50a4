#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: tgt libiscsi-bin fio qemu-utils qemu-block-extra
"""
Block storage over RDMA: tgt's target with iSER, and libiscsi's programs on the other port. What a program finds over iSER is held
to what it finds over iSCSI on TCP, of the same target and without the card: each SCSI test that passes there must pass here, but
those that libiscsi does not send over iSER, which it says, those at which it ends in itself, and those of OTHERWISE. fio writes
blocks at random by QEMU's initiator, which is libiscsi, too, and checks them.
"""
import collections
import os
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402
from iser_target import BLOCKS, INITIATORS, Target, fio_rate  # noqa: E402
from share_owner import LIMIT, Owner, start  # noqa: E402

cases = tpmd.Cases()
# What libiscsi says of a command that it does not send over iSER, and then waits for the answer.
UNSENT = {'no octets to read': 'Read command with no expected transfer length', 'no octets to write': "Can't find iovector data",
          'more than 256 KiB': 'supports messages smaller than 512k'}
# What libiscsi 1.19 and tgt 1.0.85 do over iSER otherwise than over TCP, by their sources. Their messages pass as they are, so that
# none of it is a matter of who carries them.
OTHERWISE = {
    'libiscsi says that as much was read as was asked for': ('Inquiry.AllocLength', 'Inquiry.BlockLimits', 'PrinReadKeys.Simple'),
    'tgt tells of a residual': ('ModeSense6.Residuals',),
}
# At the end of a second session, at answers of task management, and with more than 256 requests under way, by where the kernel says
# that the program ended.
DIED = 'libiscsi ends by a signal, in itself'


# --- programs ------------------------------------------------------------------------------------------------------------


def size(owner, target):
    rc, out = owner.run('iscsi-readcapacity16', '-i', INITIATORS[0], target.url('iser'))
    want = r'RETURNED LOGICAL BLOCK ADDRESS:%d\n.*LOGICAL BLOCK LENGTH IN BYTES:512\n' % (BLOCKS - 1)
    return None if rc == 0 and re.search(want, out, re.S) else 'exit code %d: %s' % (rc, out)


def contents(owner, target):
    """What a program writes, at both ends and at 4 MiB, is in the file, and nothing else is; what it reads is what the file has."""
    bad = verdict(owner.start, target.url('iser'), 'Write10.Simple')
    with open(target.disk['iser'], 'rb') as f:
        disk = f.read()
    want = bytearray(target.first['iser'])
    for block in (0, 8189, BLOCKS - 256):
        want[block * 512:(block + 256) * 512] = bytes([0xa6]) * (256 * 512)
    if bad != 'passed' or disk != want:
        return 'written: %s, octets that differ: %d' % (bad, sum(x != y for x, y in zip(disk, want)))
    # Octets that are read go back to the target, which compares them.
    bad = verdict(owner.start, target.url('iser'), 'Verify10.Simple')
    return None if bad == 'passed' else 'read: ' + bad


def perf(owner, target, blocks, *args):
    rc, out = owner.run('iscsi-perf', '-i', INITIATORS[0], '-b', str(blocks), '-t', '2', *args, target.url('iser'))
    rate = re.findall(r'iops average (\d+)', out)
    if rc != 0 or 'finished' not in out or not rate or int(rate[-1]) == 0:
        return 'exit code %d: %s' % (rc, out[-500:])
    print('# iscsi-perf, %d blocks%s: %s /s' % (blocks, ', at random' if args else '', rate[-1]))
    return None


def random_writes(owner, target):
    rate = fio_rate(target.random_writes(owner.start, 'iser'))
    print('# fio: %s writes of 4 KiB a second' % rate)
    return None if rate else 'no rate'


# --- SCSI ----------------------------------------------------------------------------------------------------------------


def names():
    """Of all tests of SCSI, with their suites."""
    out = subprocess.run(['iscsi-test-cu', '-l'], stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False).stdout
    return re.findall(r'^(?:SCSI\.)([\w-]+\.[\w-]+)$', out, re.M)


def ended(p):
    """What the program said, until it ended or said that it does not send what it then waits for: then it is ended here."""
    said, end = '', time.monotonic() + LIMIT
    stop = re.compile('|'.join(map(re.escape, UNSENT.values())))
    while time.monotonic() < end:
        if not select.select([p.stdout], [], [], 1)[0]:
            continue
        data = os.read(p.stdout.fileno(), 65536).decode(errors='replace')
        said += data
        if not data:
            p.wait()
            return said
        if stop.search(said):
            break
    else:
        said += '(it did not end)'
    p.kill()
    p.communicate()
    return said


def deaths():
    """Programs that ended inside libiscsi, by the kernel; it names threads."""
    log = subprocess.run(['dmesg'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return re.findall(r'iscsi-test-cu\[\d+\]: segfault .* in libiscsi\.so', log)


def run_tests(start_it, url, what):
    before = deaths()
    p = start_it('stdbuf', '-oL', 'iscsi-test-cu', '-i', INITIATORS[0], '-I', INITIATORS[1], '-d', '-t', 'SCSI.' + what, url,
                 env={**os.environ, 'LIBISCSI_DEBUG': '1'})
    said = ended(p)
    if p.returncode == -signal.SIGSEGV and deaths() != before:
        said += DIED
    return p, said


def launch(start_it, url, what):
    """
    Runs tests; what each came to, by name: 'passed', 'skipped', or why not. One that is not sent ends the program. To libiscsi an
    answer over iSER that takes a second is an error, and a busy machine may need that long: then once more.
    """
    for _ in range(5):
        p, said = run_tests(start_it, url, what)
        if 'revents is not POLLIN' not in said:
            break
    found = {}
    for name, text in re.findall(r'^  Test: ([\w-]+) \.\.\.(.*?)(?=^  Test: |^Run Summary|\Z)', said, re.M | re.S):
        unsent = [why for why, line in UNSENT.items() if line in text]
        if unsent:
            found[name] = unsent[0]
        elif DIED in text:
            found[name] = DIED
        elif 'FAILED' in text or 'passed' not in text:
            found[name] = 'failed: exit code %s: %s' % (p.returncode, text[-300:].strip())
        else:
            found[name] = 'skipped' if '[SKIPPED]' in text else 'passed'
    return found or {'': 'failed: exit code %s: %s' % (p.returncode, said[-300:])}


def verdict(start_it, url, name):
    found = launch(start_it, url, name)
    return found.get(name.split('.')[1], str(found))


def suite(start_it, url, name, tests):
    """All of a suite at once; those behind one that ended the program are run by themselves."""
    found = launch(start_it, url, name)
    return {t: found[t] if t in found else verdict(start_it, url, name + '.' + t) for t in tests}


def compared(owner, target, name, tests, count):
    """None, or in which tests iSER differs from TCP."""
    tcp, iser = suite(start, target.url('iscsi'), name, tests), suite(owner.start, target.url('iser'), name, tests)
    bad = []
    for test in tests:
        here, there = iser[test], tcp[test]
        if here == 'passed' or here == there or (here.startswith('failed') and there.startswith('failed')):
            count['failed over both' if here.startswith('failed') else here] += 1
        elif here in UNSENT:
            count['not sent'] += 1
            print('# %s.%s: libiscsi sends nothing over iSER: %s' % (name, test, here))
        elif here == DIED or any(name + '.' + test in of for of in OTHERWISE.values()):
            count['otherwise over iSER'] += 1
            why = next((why for why, of in OTHERWISE.items() if name + '.' + test in of), DIED)
            print('# %s.%s: %s' % (name, test, why))
        else:
            bad.append('%s: %s over TCP; %s' % (test, there, here))
    return '; '.join(bad) or None


def scsi(owner, target, least):
    """Each suite is a case."""
    count, suites = collections.Counter(), collections.defaultdict(list)
    for name in names():
        suites[name.split('.')[0]].append(name.split('.')[1])
    for name, tests in suites.items():
        cases.run('scsi-' + name, compared, owner, target, name, tests, count)
    print('# %s' % ', '.join('%s: %d' % item for item in sorted(count.items())))
    return None if count['passed'] >= least else 'passed: %d' % count['passed']


def main():
    owner = Owner()
    target = Target(owner)
    cases.run('size', size, owner, target)
    cases.run('contents', contents, owner, target)
    cases.run('perf-8', perf, owner, target, 8)
    cases.run('perf-256', perf, owner, target, 256)
    cases.run('perf-random', perf, owner, target, 64, '-r')
    cases.run('fio-random', random_writes, owner, target)
    cases.run('scsi', scsi, owner, target, 100)
    target.end()
    cases.run('given-back', owner.empty)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
