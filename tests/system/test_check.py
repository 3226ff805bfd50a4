#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-check: a card that is well passes each stage; one that is not is found out, by name, and given back reset; what is read
alone writes nothing; the reports say the same; what is to be removed from a bundle is in none of its files."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import snapshot_page
import tpmd

BUILD = os.path.abspath(os.environ.get('TP_BUILD', 'build'))
CHECK = os.path.join(BUILD, 'apps', 'check', 'triplane-check')
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
MODEL = 'net_mlx4_model0'
# Points of docs/fidelity.md that the last stage decides, with the variants that are not the default.
DECIDED = {'F-1': 'bc', 'F-2': 'b', 'F-3': 'b', 'F-11': 'bc', 'F-14': 'b', 'F-15': 'b', 'F-24': 'b', 'F-25': 'b', 'F-31': 'b', 'F-33': 'b',
           'F-38': 'b', 'F-40': 'b', 'F-41': 'b', 'F-69': 'b', 'F-12': 'b', 'F-51': 'b', 'F-56': 'b', 'F-13': 'b', 'F-16': 'b', 'F-70': 'b',
           'F-82': 'b', 'F-29': 'b'}
# Ports that can be both, as some points show with InfiniBand alone; what they are found as is Ethernet.
BOTH = MODEL + ',port0=auto,port1=auto'
GUID = 0x0002c90300a1b200
MAC = '00:02:c9:a1:b2:01'  # of port 1, by the rule of the vendor: the GUID without its middle octets, and the port
# "full": every fault and every variant, for tests/long/test_check_all.py.
FULL = 'full' in sys.argv[1:]
cases = tpmd.Cases()


def check(*words, rc=0, limit=400):
    p = subprocess.run([CHECK, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit,
                       check=False)
    if p.returncode != rc:
        print('\n'.join('# ' + line for line in p.stdout.splitlines() if not line.startswith('  pass ')))
        raise RuntimeError('%s: %d, wanted %d: %s %s' % (' '.join(words), p.returncode, rc, p.stdout[-1500:], p.stderr[-300:]))
    return p.stdout


def results(text):
    """(stage, result, name, text) of a report."""
    out, stage = [], None
    for line in text.splitlines():
        m = re.match(r'stage (\d+), ', line)
        if m:
            stage = int(m.group(1))
        m = re.match(r'  (pass|info|find|skip|warn|fail) ([\w-]+|[0-9a-f:.]+): (.*)', line)
        if m:
            out.append((stage, *m.groups()))
    return out


def of(found, name):
    return [(r, t) for _, r, n, t in found if n == name]


class Card:
    """A card as a process, whose commands are in a file."""

    def __init__(self, folder, *args):
        self.socket, self.trace = os.path.join(folder, 'card.sock'), os.path.join(folder, 'trace')
        self.proc = subprocess.Popen([HCA, '--socket', self.socket, '--trace', self.trace, *args], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)
        end = time.monotonic() + 60
        while not os.path.exists(self.socket) and time.monotonic() < end:
            time.sleep(0.02)

    def commands(self):
        with open(self.trace) as f:
            return re.findall(r'^.*?\b([A-Z][A-Z0-9_]*(?:_[A-Z0-9]+)+)\b', f.read(), re.M)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.proc.terminate()
        self.report = self.proc.communicate(timeout=60)[0]


def healthy():
    """All stages of a card in this process; text, JSON and page say the same."""
    with tempfile.TemporaryDirectory() as d:
        files = [os.path.join(d, n) for n in ('r.json', 'r.html')]
        text = check('--vdev', MODEL, '--json', files[0], '--html', files[1])
        with open(files[0]) as f:
            doc = json.load(f)
        with open(files[1]) as f:
            page = f.read()
    found = results(text)
    if {s for s, *_ in found} != set(range(11)):
        return 'stages %s' % sorted({s for s, *_ in found})
    told = [(s['number'], c['result'], c['name'], c['text']) for s in doc['stages'] for c in s['checks']]
    if told != found:
        return 'the text says %s, JSON %s' % (set(found) - set(told), set(told) - set(found))
    if doc['verdict'] != 'passed' or doc['failed'] != 0 or doc['passed'] != sum(r == 'pass' for _, r, *_ in found):
        return 'sums: %s' % {k: doc[k] for k in ('verdict', 'passed', 'failed')}
    for name in ('large-send-tcp6', 'rss-udp6', 'rule-drop', 'vlan-strip', 'inline-and-blueflame', 'queue-3-interrupt', 'round-trips', 'reset-in-place',
                 'pause', 'pause-by-priority', 'roce-rc-send', 'roce-rc-write', 'roce-rc-read', 'roce-rc-atomic', 'roce-uc-write', 'roce-ud-send',
                 'roce-latency'):
        if not of(found, name) or any(r != 'pass' for r, _ in of(found, name)):
            return '%s: %s' % (name, of(found, name))
    p = snapshot_page.Page(page)
    if p.open or p.wrong or p.loads:
        return 'the page: open %s, wrong %s, loads %s' % (p.open, p.wrong, p.loads)
    inside = json.loads(re.search(r'<script type="application/json" id="check">(.*?)</script>', page, re.S).group(1))
    return None if inside == doc else 'the document in the page differs'


def infiniband():
    """One InfiniBand port beside an Ethernet one; then two that a cable joins, with a subnet manager of ours, and IP between them."""
    found = results(check('--vdev', MODEL + ',port0=ib,port1=eth', '--only', 'infiniband,loopback'))
    node = [t for r, t in of(found, 'port-1') if r == 'pass' and t.startswith('NodeInfo')]
    if len(node) != 1:
        return '%s' % found
    # One port is Ethernet: it has the stages of such a port.
    if of(found, 'sizes') != [('pass', 'frames of 29 sizes, 14 to 1514 octets, came back the same')] or of(found, 'ipoib')[0][0] != 'skip':
        return '%s' % found
    found = results(check('--vdev', MODEL + ',port0=ib,port1=ib', '--only', 'infiniband'))
    want = ('subnet', 'ipoib', 'ipoib-arp', 'ipoib-datagrams')
    return None if all({r for r, _ in of(found, n)} == {'pass'} for n in want) else '%s' % found


FAULTS = (
    # stage, argument, the check that must fail, what is to be said
    ('identity', 'fail=QUERY_FW:1:0x01', 'query-fw', 'command QUERY_FW'),
    ('identity', 'timeout=QUERY_FW:1', 'query-fw', 'not answered'),
    ('identity', 'rubbish=QUERY_FW:1:7', 'firmware', 'wanted 2.x'),
    ('capabilities', 'fail=RUN_FW:1:0x02', 'run-fw', 'command RUN_FW'),
    ('capabilities', 'rubbish=QUERY_DEV_CAP:1:3', 'LG_MIN_PAGE', 'wanted 0..12'),
    ('bringup', 'fail=INIT_HCA:1:0x03', 'bring-up', 'command INIT_HCA'),
    ('bringup', 'timeout=CLOSE_HCA:1', 'teardown', 'CLOSE_HCA'),
    ('bringup', 'rubbish=QUERY_DEV_CAP:1:3', 'bring-up', ''),
    ('interrupts', 'timeout=NOP:9', 'command-events', 'command NOP'),
    ('interrupts', 'break0=interrupt:3', 'queue-2-interrupt', 'no interrupt told of it'),
    ('ports', 'fail=INIT_PORT:1:0x03', 'start', 'command INIT_PORT'),
    ('loopback', 'fail=QP_FLOW_STEERING_ATTACH:3:0x03', 'addresses', 'refused'),
    ('loopback', 'break0=queue:1', 'first-frame', 'did not come back'),
    ('cable', 'impair0=corrupt:1000000/seed:2,impair1=corrupt:1000000/seed:3', None, 'does not reach'),
    ('cable', 'model-quirks=F-82:b', 'pause-by-priority', 'was not held in any'),
    ('cable', 'fail=INIT2RTR_QP:16:0x03', 'roce-uc', 'cannot be joined'),
    ('infiniband', 'port0=ib,wire0=none,ports=1,rubbish=MAD_IFC:2:9', 'port-1', 'NodeInfo'),
    ('infiniband', 'port0=ib,port1=ib,model-quirks=F-29:b', 'ipoib', 'is joining after'),
    ('life', 'fail=RUN_FW:1:0x02', 'bring-up-after', 'command RUN_FW'),
)


def fault(stage, args, name, said):
    text = check('--vdev', '%s,%s' % (MODEL, args), '--only', stage, rc=1 if name else 0)
    found = results(text)
    if name and not any(r == 'fail' for r, _ in of(found, name)):
        return '%s with %s: %s' % (stage, args, [x for x in found if x[1] != 'pass'])
    if said not in text or 'fail stage' in text:
        return '%s with %s: %s' % (stage, args, text[-800:])
    return None


def faults():
    """A fault in each stage is found by the check that looks there, and said; the stage comes to its end. Most of it is waiting."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return next((why for why in pool.map(lambda f: fault(*f), FAULTS if FULL else FAULTS[::3]) if why), None)


def slow():
    """A slow command is no failure, but is said."""
    found = results(check('--vdev', MODEL + ',slow=INIT_HCA:1:120', '--only', 'bringup', '--skip', 'life'))
    took = [t for r, t in of(found, 'CONF_SPECIAL_QP')]
    up = [float(re.search(r'after ([\d.]+) ms', t).group(1)) for r, t in of(found, 'bring-up')]
    return None if took and up and up[0] > 1200 else '%s' % found


def read_only():
    """The card gets QUERY_FW and nothing else; no stage behind it runs."""
    with tempfile.TemporaryDirectory() as d, Card(d) as card:
        text = check('--read-only', card.socket)
        if sorted(set(card.commands())) != ['QUERY_FW']:
            return 'commands %s' % sorted(set(card.commands()))
        if {s for s, *_ in results(text)} != {0, 1} or text.count('left out: --read-only') != 9:
            return text[-800:]
    return None


def other_process():
    """A card behind a socket: one process is killed, the next has it; a stage that is killed leaves it reset; the bundle."""
    with tempfile.TemporaryDirectory() as d, Card(d) as card:
        found = results(check(card.socket, '--only', 'life'))
        if [r for r, _ in of(found, 'kill') + of(found, 'bring-up-after')] != ['pass', 'pass']:
            return '%s' % found
        # A stage that is stopped: the program still gives the card back, and says what was done. A stop that comes when the stage is through tells nothing.
        for _ in range(10):
            proc = subprocess.Popen([CHECK, card.socket, '--only', 'loopback,life'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            seen = ''
            while 'pass first-frame' not in seen:
                line = proc.stdout.readline()
                if not line:
                    return 'ended: %s' % seen
                seen += line
            proc.send_signal(signal.SIGINT)
            seen += proc.communicate(timeout=240)[0]
            if 'stopped by signal 2 at: ' in seen and 'life: left out: stopped' in seen:
                break
        if proc.returncode != 1 or 'stopped by signal 2 at: ' not in seen or 'pass given-back' not in seen or 'life: left out: stopped' not in seen:
            return '%d: %s' % (proc.returncode, seen[-800:])
        # Arguments of the driver reach it, and are refused by it.
        for args, rc, said in (('tx-inline=999', 1, "'tx-inline=999'"), ('tx-inline=64,port-type0=eth', 0, 'port-1-link')):
            text = check(card.socket, '--args', args, '--only', 'ports', rc=rc)
            if said not in text:
                return '%s: %s' % (args, text[-500:])
        bundle = os.path.join(d, 'bundle')
        check(card.socket, '--bundle', bundle, '--anonymous', '--only', 'identity,capabilities,ports')
        wrong = in_bundle(bundle)
        if wrong:
            return wrong
        check(card.socket, '--bundle', bundle, rc=2)  # is not empty
        open_one = os.path.join(d, 'open')
        text = check(card.socket, '--bundle', open_one, '--only', 'identity')
        # What the first bundle must not have is there when nobody asks for its removal.
        return None if in_bundle(open_one) and 'SN 0002C90300A1B200' in text else 'the open bundle has no address'


def in_bundle(folder):
    """The first file with the card's identity in it."""
    mac = bytes.fromhex(MAC.replace(':', ''))
    ids = [mac, GUID.to_bytes(8, 'big'), (GUID + 1).to_bytes(8, 'big')]
    words = [re.compile('[: -]?'.join('%02x' % b for b in i).encode(), re.I) for i in ids]
    names = []
    for at, _, files in os.walk(folder):
        for n in files:
            names.append(n)
            with open(os.path.join(at, n), 'rb') as f:
                data = f.read()
            if any(i in data for i in ids) or any(w.search(data) for w in words):
                return '%s has an identity' % n
    missing = {'report.txt', 'report.json', 'report.html', 'removed.txt', 'dump.json', 'commands-ports.txt', 'config.bin'} - set(names)
    return 'missing %s' % missing if missing else None


def variants_of(*words):
    """What was found of each point."""
    return {n: t[0] for _, r, n, t in results(check(*words, '--only', 'variants')) if r == 'find'}


def one_variant(quirk):
    wanted = dict.fromkeys(DECIDED, 'a') | dict([quirk.split(':')] if quirk else [])
    found = variants_of('--vdev', BOTH + (',model-quirks=' + quirk if quirk else ''))
    return None if found == wanted else '%s: %s' % (quirk, set(found.items()) ^ set(wanted.items()))


def variants():
    """A card that is different in one point is told from others by what it does; nobody says to the check which one it is."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        all_of_them = ['', *('%s:%s' % (i, v) for i, vs in DECIDED.items() for v in vs)]
        return next((why for why in pool.map(one_variant, all_of_them if FULL else ('', 'F-11:c')) if why), None)


def other_card():
    """A card that is different in all of them: with the file that was written its port passes stage 6. Without, one point alone is enough
    that it does not come up."""
    with tempfile.TemporaryDirectory() as d:
        quirks = os.path.join(d, 'quirks')
        card = BOTH + ',model-quirks=' + ','.join('%s:%s' % (i, v[0]) for i, v in DECIDED.items())
        found = variants_of('--vdev', card, '--write-quirks', quirks)
        if found != {i: v[0] for i, v in DECIDED.items()}:
            return '%s' % found
        check('--vdev', MODEL + ',model-quirks=F-3:b', '--only', 'bringup', rc=1)
        again = results(check('--vdev', '%s,quirks-file=%s' % (card, quirks), '--only', 'bringup,interrupts,loopback,cable'))
        if any(r == 'fail' for _, r, *_ in again) or not (of(again, 'inline-and-blueflame') and of(again, 'rule-drop') and of(again, 'roce-ud-send')):
            return '%s' % again
        again = results(check('--vdev', '%s,quirks-file=%s,port-type0=ib,port-type1=ib' % (card, quirks), '--only', 'infiniband'))
        return None if [r for r, _ in of(again, 'ipoib-datagrams')] == ['pass'] else '%s' % again


def machine():
    """A made-up machine: what is missing fails, what is slow is warned of, and a whole one passes."""
    with tempfile.TemporaryDirectory() as d:
        dev = os.path.join(d, 'sys/bus/pci/devices/0000:03:00.0')
        group = os.path.join(d, 'sys/kernel/iommu_groups/14/devices')
        for folder in (dev, group, os.path.join(d, 'dev/vfio'), os.path.join(d, 'sys/bus/pci/drivers/vfio-pci')):
            os.makedirs(folder)
        config = bytearray(256)
        config[0x34], config[0x40:0x44] = 0x40, b'\x01\x9c\x00\x00'
        config[0x9c:0xa0] = b'\x11\x00\x7f\x00'  # MSI-X: 128 vectors

        def put(**files):
            for name, text in files.items():
                with open(os.path.join(dev, name), 'wb') as f:
                    f.write(text if isinstance(text, (bytes, bytearray)) else (text + '\n').encode())

        def of_machine(rc):
            return results(check('0000:03:00.0', '--only', 'machine', '--sysroot', d, rc=rc))

        bars = '0x%x 0x%x 0x40200\n0x0 0x0 0x0\n0xe0000000 0xe07fffff 0x14220c'
        put(vendor='0x15b3', device='0x1007', numa_node='-1', current_link_width='8', max_link_width='8', current_link_speed='8.0 GT/s PCIe',
            max_link_speed='8.0 GT/s PCIe', resource=bars % (0xf0000000, 0xf00fffff), config=config)
        os.symlink(os.path.join(d, 'sys/kernel/iommu_groups/14'), os.path.join(dev, 'iommu_group'))
        os.symlink(os.path.join(d, 'sys/bus/pci/drivers/vfio-pci'), os.path.join(dev, 'driver'))
        for name in ('vfio', '14'):
            open(os.path.join(d, 'dev/vfio', name), 'wb').close()
        found = of_machine(0)
        good = {n: r for _, r, n, _ in found}
        if any(good.get(n) != 'pass' for n in ('device', 'vfio', 'bar-registers', 'bar-doorbells', 'msix', 'pcie-link')):
            return '%s' % found
        put(current_link_width='4', resource=bars % (0xf0000000, 0xf000ffff), config=config[:0x9c] + b'\x05' + config[0x9d:])
        os.unlink(os.path.join(d, 'dev/vfio/14'))
        found = of_machine(1)
        bad = {n: (r, t) for _, r, n, t in found}
        for name, result, said in (('pcie-link', 'warn', 'x4 at 8.0 GT/s PCIe; the card can x8'), ('bar-registers', 'fail', '64 KiB, wanted 1024'),
                                   ('msix', 'fail', 'no MSI-X'), ('0000:03:00.0', 'fail', 'dev/vfio/14')):
            if bad.get(name, ('', ''))[0] != result or said not in bad[name][1]:
                return '%s: %s' % (name, found)
    return None


def reflector():
    """Two machines, each with a card of one port, a cable between: one reflects, the other judges what comes back. Without a reflector the
    stage says so; when it is told to end it gives its card back."""
    with tempfile.TemporaryDirectory() as d, tempfile.TemporaryDirectory() as e:
        ends = os.path.join(d, 'wire'), os.path.join(e, 'wire')
        with Card(d, '--ports', '1', '--wire0', 'dgram:%s,%s' % ends) as near, \
                Card(e, '--ports', '1', '--wire0', 'dgram:%s,%s' % ends[::-1], '--guid', '0002c90300a1b300') as far:
            alone = results(check(near.socket, '--only', 'cable'))
            if not any(r == 'skip' and 'no reflector answers' in t for r, t in of(alone, 'cable')):
                return 'alone: %s' % alone
            with subprocess.Popen([CHECK, '--reflector', far.socket], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as proc:
                seen = ''
                while 'reflects at' not in seen:
                    line = proc.stdout.readline()
                    if not line:
                        return 'the reflector ended: %s' % seen
                    seen += line
                try:
                    # One that stands still is none.
                    for _ in range(10):
                        found = results(check(near.socket, '--only', 'cable'))
                        if not any(r == 'skip' and 'no reflector answers' in t for r, t in of(found, 'cable')):
                            break
                finally:
                    proc.send_signal(signal.SIGINT)
                    seen += proc.communicate(timeout=240)[0]
            if proc.returncode != 0 or not re.search(r'info port-1: [1-9]\d+ frames and [1-9]\d+ messages went back', seen) or 'pass teardown' not in seen:
                return 'the reflector: %d: %s' % (proc.returncode, seen[-800:])
    want = ('there-and-back', 'round-trips', 'pause-by-priority', 'roce-rc-send', 'roce-rc-write-read', 'roce-rc-atomic', 'roce-latency', 'roce-uc-send',
            'roce-ud-send')
    missing = [n for n in want if [r for r, _ in of(found, n)] != ['pass']]
    if missing or not any('00:02:c9:a1:b3:01' in t for _, t in of(found, 'reflector')) or any(r == 'fail' for _, r, *_ in found):
        return '%s: %s' % (missing, found)
    return None


def plan_and_words():
    """The plan does nothing; wrong words are refused by name, with what is wanted."""
    text = check('--plan', '0000:03:00.0', '--skip', 'cable')
    if text.count('  does: ') != 10 or 'stage 7, cable: left out' not in text or results(text):
        return text
    for words, said in ((('--only', '11', '--vdev', MODEL), "'11': wanted a stage"), ((), 'wanted one ADDRESS'), (('03:00',), "'03:00': wanted a PCI address"),
                        (('--limit', '0', '--vdev', MODEL), 'wanted seconds, 1..86400'), (('--vdev', 'net_tap0'), 'net_mlx4_modelN'),
                        (('--vdev', 'net_mlx4_user0'), 'socket=PATH'), (('--bogus', '--vdev', MODEL), "'--bogus'"),
                        (('--only', '3', '--skip', '3', '--vdev', MODEL), 'a stage to be left'),
                        (('--reflector', '--read-only', '--vdev', MODEL), 'without --read-only')):
        p = subprocess.run([CHECK, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        if p.returncode != 2 or said not in p.stderr or p.stderr.count('\n') != 1 or p.stdout:
            return '%s: %d %s' % (words, p.returncode, p.stderr)
    # No such card, no such socket, no such argument: failures that are said.
    for words, said in ((('0000:7f:1f.7', '--only', 'machine'), 'no such PCI device'), (('/nowhere/card.sock', '--only', 'bringup'), 'cannot be opened'),
                        (('--vdev', MODEL + ',bogus=1', '--only', 'bringup'), "unknown device argument 'bogus'")):
        if said not in check(*words, rc=1):
            return '%s' % (words,)
    return None


def late():
    """A stage that does not end is ended, and said where it was: the command alone takes longer. A slow machine has not come so far."""
    text = check('--vdev', MODEL + ',slow=INIT_HCA:1:255', '--only', 'bringup', '--limit', '2', rc=1)
    at = re.search(r'not done within 2 s, killed at: (brings the card up|starts the EAL|opens the card)', text)
    return None if at and 'info given-back' in text else text


def rules():
    """What it does breaks no rule of a card in another process, with ports of either kind."""
    for ports in ((), ('--port0', 'ib', '--port1', 'ib')):
        with tempfile.TemporaryDirectory() as d, Card(d, *ports) as card:
            check(card.socket, '--only', 'bringup,infiniband,variants')
        if 'report: violations 0\n' not in card.report:
            return '%s: %s' % (ports, re.findall('report: .*violation.*', card.report))
    return None


for case in (healthy, infiniband, faults, slow, read_only, rules, other_process, variants, other_card, reflector, machine, plan_and_words, late):
    cases.run('check-' + case.__name__.replace('_', '-'), case)
cases.exit()
