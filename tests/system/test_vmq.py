#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A group of queues handed to a guest: testpmd with virtio-user behind triplane's vhost-user port answers the pings of the
Linux stack, which come in by a tap wire. The guest gets what is its own and nothing else, and cannot send as somebody
else. Everything lives in a namespace of its own."""
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tpmd  # noqa: E402

PRIVATE = 'TP_VMQ_NAMESPACE'
TAP = 'vmq0'
HOST, GUEST_IP = '10.77.0.1', '10.77.0.2'
GUEST, OTHER = '02:00:00:00:00:99', '02:00:00:00:00:98'

if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip vmq: a tap in a namespace needs root and /dev/net/tun')
    sys.exit(0)
if PRIVATE not in os.environ:
    os.environ[PRIVATE] = '1'
    os.execvp('unshare', ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', sys.executable,
                          os.path.abspath(__file__)] + sys.argv[1:])

failed = 0
work = tempfile.mkdtemp(prefix='vmq')


def check(name, good, reason=''):
    global failed
    failed += not good
    print('ok ' + name if good else 'not ok %s: %s' % (name, reason), flush=True)


def sh(*cmd):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return p.returncode, p.stdout


class App:
    """triplane on a card whose port 0 is plugged into the tap; commands by its standard input."""

    def __init__(self):
        self.err = open(work + '/app.err', 'w+')
        self.proc = subprocess.Popen(
            ['triplane', '--lcores', tpmd.lcores('0@0,1@0'), '--no-pci', '--no-huge', '-m', '512', '--no-shconf', '--no-telemetry',
             '--log-level=*:error', '--file-prefix=vmq%d' % os.getpid(), '--vdev=net_tap0,iface=' + TAP,
             '--vdev=net_mlx4_model0,wire0=ethdev:net_tap0,ports=1', '--', '--rxq', '4', '--txq', '4'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err)
        self.buf = b''

    def cmd(self, text):
        self.proc.stdin.write(text.encode() + b'\n')
        self.proc.stdin.flush()

    def ask(self, text, seconds=30):
        """The next JSON value that it prints; lines before it are for people."""
        self.cmd(text)
        end = time.monotonic() + seconds
        while True:
            for m in re.finditer(rb'^\{', self.buf, re.M):
                try:
                    value, used = json.JSONDecoder().raw_decode(self.buf[m.start():].decode())
                except ValueError:
                    break
                self.buf = self.buf[m.start() + used:]
                return value
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.proc.stdout], [], [], left)[0]:
                self.err.seek(0)
                raise RuntimeError('no answer to %s: %r %s' % (text, self.buf[-300:], self.err.read()[-500:]))
            data = os.read(self.proc.stdout.fileno(), 65536)
            if not data:
                self.err.seek(0)
                raise RuntimeError('triplane ended: ' + self.err.read()[-500:])
            self.buf += data

    def card(self):
        return [p['port'] for p in self.ask('show port info all json')['ports'] if 'mlx4' in p['driver']][0]

    def group(self, port, name):
        ports = self.ask('show group %d json' % port)['ports']
        return [g for g in ports[0]['groups'] if g['name'] == name][0]

    def close(self):
        if self.proc.poll() is None:
            self.cmd('quit')
            try:
                self.proc.wait(60)
            except subprocess.TimeoutExpired:
                self.proc.kill()
        self.err.seek(0)
        return self.err.read()


def ping(count, seconds=None):
    """Answers to pings of the guest, until so many have come; without a time, what comes of so many."""
    _, out = sh('ping', '-c', str(count), '-i', '0.2', '-W', '2', *(('-w', str(seconds)) if seconds else ()), GUEST_IP)
    return int(re.search(r'(\d+) received', out).group(1)), out


def counted(app, port, before, name):
    """The guest's counters once this one has grown by the five frames of a ping, or after a minute."""
    now = before
    end = time.monotonic() + 60
    while now[name] - before[name] < 5 and time.monotonic() < end:
        time.sleep(0.05)
        now = app.group(port, 'guest')
    return now


def guest(app, port, pmd):
    end = time.monotonic() + 60
    while ping(1, 3)[0] == 0 and time.monotonic() < end:
        pass
    before = app.group(port, 'guest')
    answers, out = ping(20, 30)
    after = app.group(port, 'guest')
    check('guest-answers-ping', answers == 20, out[-200:])
    check('group-counts', after['rx_frames'] - before['rx_frames'] >= 20 and after['tx_frames'] - before['tx_frames'] >= 20,
          (before, after))
    check('no-spoof-yet', after['spoof_mac_drops'] == 0 and after['spoof_type_drops'] == 0, after)
    # Frames to the port's own address are not the guest's, broadcast (ARP may ask meanwhile) is.
    mac = app.ask('show port info %d json' % port)['ports'][0]['mac']
    sh('ip', 'neigh', 'replace', '10.77.0.3', 'lladdr', mac, 'dev', TAP)
    before = app.group(port, 'guest')
    sh('ping', '-c', '10', '-i', '0.2', '-W', '1', '10.77.0.3')
    frames = app.group(port, 'guest')['rx_frames'] - before['rx_frames']
    check('others-frames-stay-away', frames < 5, '%d frames reached the guest' % frames)


def quiet(app, port, pmd):
    """The group's counters when this guest has had all that came for it, and all that it has sent is in them."""
    end = time.monotonic() + 60
    while True:
        came, stats = app.group(port, 'guest')['rx_frames'], pmd.stats(0)
        group = app.group(port, 'guest')
        sent = group['tx_frames'] + group['spoof_mac_drops'] + group['spoof_type_drops']
        if (stats['rx-packets'] >= came and sent >= stats['tx-packets']) or time.monotonic() > end:
            return group
        time.sleep(0.05)


def spoof(app, port, pmd):
    """What the guest may not send is dropped and counted: first a type, then an address that is not its own."""
    sh('ip', 'neigh', 'replace', GUEST_IP, 'lladdr', GUEST, 'dev', TAP)
    before = app.group(port, 'guest')
    app.cmd('group modify %d guest ethertypes=0x0806' % port)
    app.group(port, 'guest')  # it answers when that is in force
    answers, out = ping(5)
    now = counted(app, port, before, 'spoof_type_drops')
    check('type-is-checked', answers == 0 and now['spoof_type_drops'] - before['spoof_type_drops'] >= 5, (out[-100:], now))
    app.cmd('group modify %d guest ethertypes=0x0800' % port)
    answers, out = ping(5, 60)
    check('type-allowed-again', answers == 5, out[-200:])
    quiet(app, port, pmd)
    # The group gets another address: the guest still answers with its old one.
    app.cmd('group modify %d guest mac=%s' % (port, OTHER))
    sh('ip', 'neigh', 'replace', GUEST_IP, 'lladdr', OTHER, 'dev', TAP)
    pmd.cmd('stop')
    pmd.cmd('set fwd macswap')  # answers with the address that a frame came to
    pmd.cmd('start')
    before = quiet(app, port, pmd)
    ping(5)
    now = counted(app, port, before, 'tx_frames')
    check('new-address-may-send', now['tx_frames'] - before['tx_frames'] >= 5 and
          now['spoof_mac_drops'] == before['spoof_mac_drops'], (before, now))
    pmd.cmd('stop')
    pmd.cmd('set fwd mac')  # sends with its own address
    pmd.cmd('start')
    before = quiet(app, port, pmd)  # what was on its way went with the address that it came to
    ping(5)
    now = counted(app, port, before, 'spoof_mac_drops')
    check('address-is-checked', now['spoof_mac_drops'] - before['spoof_mac_drops'] >= 5 and
          now['tx_frames'] == before['tx_frames'], (before, now))
    app.cmd('group modify %d guest mac=%s ethertypes=0x0806,0x0800' % (port, GUEST))
    sh('ip', 'neigh', 'replace', GUEST_IP, 'lladdr', GUEST, 'dev', TAP)


def main():
    app = App()
    pmd = None
    sock = work + '/guest.sock'
    try:
        port = app.card()
        # What Linux says to all of its own accord would be answered by a guest that swaps addresses.
        sh('sysctl', '-qw', 'net.ipv6.conf.%s.disable_ipv6=1' % TAP)
        sh('ip', 'link', 'set', TAP, 'up')
        sh('ip', 'addr', 'add', HOST + '/24', 'dev', TAP)
        app.cmd('set fwd rxonly')
        app.cmd(tpmd.IDLE)
        app.cmd('group add %d guest mac=%s queues=1 flood=on antispoof-mac=on antispoof-type=on' % (port, GUEST))
        app.cmd('group vhost %d guest %s' % (port, sock))
        app.cmd('start')
        app.group(port, 'guest')
        check('socket', os.path.exists(sock), app.buf)
        pmd = tpmd.Testpmd(['net_virtio_user0,path=%s,mac=%s' % (sock, GUEST)], args=['--forward-mode=icmpecho'],
                           name='vmq', plugin=False, memory=256)
        pmd.cmd('start')
        guest(app, port, pmd)
        spoof(app, port, pmd)
        # The guest goes away and another one comes.
        pmd.quit()
        pmd = tpmd.Testpmd(['net_virtio_user0,path=%s,mac=%s' % (sock, GUEST)], args=['--forward-mode=icmpecho'],
                           name='vmq2', plugin=False, memory=256)
        pmd.cmd('start')
        end = time.monotonic() + 60
        while ping(1, 3)[0] == 0 and time.monotonic() < end:
            pass
        answers, out = ping(5, 60)
        check('next-guest', answers == 5, out[-200:])
        pmd.quit()
        pmd = None
        app.cmd('stop')
        app.cmd('group vhost %d guest off' % port)
        app.cmd('group vhost %d guest off' % port)
        app.group(port, 'guest')
        model = app.ask('show model json')
        check('no-rule-broken', all(m['violations'] == 0 for m in model['ports']), model)
    finally:
        if pmd is not None:
            pmd.kill()
        text = app.close()
        shutil.rmtree(work, ignore_errors=True)
    lines = [line for line in text.splitlines() if 'no guest' in line]
    check('off-twice-is-refused', len(lines) == 1, text)
    sys.exit(1 if failed else 0)


main()
