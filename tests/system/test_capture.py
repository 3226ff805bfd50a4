#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures of ports: frames that scapy made pass a card, and are in the files as they were; tshark reads names, directions, times
and counts. Filters, rings that are too small, stripped tags, the card's clock, memory, full disks and wrong words."""
import os
import random
import re
import subprocess
import tempfile

from scapy.all import ARP, IP, TCP, UDP, Dot1Q, Ether, IPv6, Raw, RawPcapNgReader, wrpcap

import tpmd

cases = tpmd.Cases()
FIELDS = ['frame.time_epoch', 'frame.len', 'frame.cap_len', 'frame.interface_name', 'frame.interface_queue',
          'frame.packet_flags_direction', 'frame.drop_count', '_ws.malformed']
IN, OUT = '0x00000001', '0x00000002'
CARD = 'net_mlx4_model0'


def tshark(path, *args):
    p = subprocess.run(['tshark', '-n', '-r', path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if p.returncode != 0:
        raise RuntimeError('tshark: ' + p.stderr.decode()[-300:])
    return p.stdout.decode()


def packets(path, *args):
    """A dictionary of each packet's fields, as tshark has them."""
    text = tshark(path, '-T', 'fields', *[x for f in FIELDS for x in ('-e', f)], *args)
    return [dict(zip(FIELDS, line.split('\t'))) for line in text.splitlines()]


def octets(path):
    return [data for data, _ in RawPcapNgReader(path)]


STATISTICS = ['interface.' + n for n in ('received', 'dropped', 'accepted_by_filter', 'delivered_to_user', 'filter.string')]


def ends(path):
    """What the blocks before and behind the packets say, by tshark's dissector of pcapng itself; it takes no large files."""
    with open(path, 'rb') as f:
        whole = f.read()
    first = int.from_bytes(whole[4:8], 'little')
    head = first + int.from_bytes(whole[first + 4:first + 8], 'little')
    # Where the file lies there may be no room.
    with tempfile.NamedTemporaryFile() as f:
        f.write(whole[:head] + whole[-int.from_bytes(whole[-4:], 'little'):])
        f.flush()
        text = tshark(f.name, '-X', 'read_format:MIME Files Format', '-T', 'fields',
                      *[x for n in STATISTICS for x in ('-e', 'pcapng.options.option.data.' + n)])
    return text.rstrip('\n').split('\t')


def judged(path, shown, text=''):
    """What is wrong in a file, by the counts that its capture showed, and its filter."""
    seen = packets(path)
    # Times as they are written: a float of today has no nanoseconds.
    times = [p['frame.time_epoch'] for p in seen]
    if len(seen) != shown['packets']:
        return '%d packets in it, %d were shown' % (len(seen), shown['packets'])
    if times != sorted(times):
        return 'times go back'
    if shown['seen'] != shown['filtered'] + shown['packets'] + shown['lost']:
        return 'counts do not add up: %s' % shown
    if sum(int(p['frame.cap_len']) for p in seen) != shown['octets']:
        return 'octets: %s' % shown
    want = [str(n) for n in (shown['seen'], shown['lost'], shown['seen'] - shown['filtered'], shown['packets'])] + [text]
    return None if ends(path) == want else 'statistics block %s, want %s' % (ends(path), want)


class Wires:
    """A card whose first port receives what a list of frames says, and whose second one sends to a file."""

    def __init__(self, frames, args=(), model='', plain=False, **kw):
        self.folder = tpmd.scratch()
        d = self.folder.name
        wrpcap(d + '/in.pcap', [bytes(f) for f in frames], linktype=1)
        wrpcap(d + '/none.pcap', [], linktype=1)
        vdevs = ['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/back.pcap' % (d, d),
                 'net_pcap1,rx_pcap=%s/none.pcap,tx_pcap=%s/out.pcap' % (d, d),
                 CARD + ',wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1' + model]
        self.n = len(frames)
        self.t = tpmd.Triplane(vdevs, ['--rxd=4096', '--total-num-mbufs=40000', *args], **kw)
        self.t.tell(tpmd.IDLE)
        # Numbers before these are the wires'.
        self.a, self.b = sorted(p['port'] for p in self.t.ask('show port info all')['ports'])

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        self.t.__exit__(kind, value, tb)
        self.folder.cleanup()

    def passed(self, n=None):
        if not tpmd.wait_until(lambda: self.t.ask('show port stats %d' % self.b)['ports'][0]['tx_packets'] >= (n or self.n)):
            raise RuntimeError('frames are missing: %s; %s' % (self.t.ask('show port stats all'), self.t.said()))


def shown(t, port, kind='file'):
    return next((c for c in t.ask('show capture')['captures'] if (c['port'], c['kind']) == (port, kind)), None)


def made(n, seed=1, tags=False):
    """Frames of all kinds and sizes, none of them shorter than the card pads to."""
    r = random.Random(seed)
    frames = []
    for i in range(n):
        eth = Ether(src='02:00:00:00:00:%02x' % r.randrange(256), dst='02:00:00:00:01:01')
        if tags and i % 3 == 0:
            eth = eth / Dot1Q(vlan=r.randrange(1, 4095), prio=r.randrange(8))
        data = Raw(r.randbytes(r.randrange(20, 1400)))
        port = r.choice([53, 80, 4000])
        frames.append(r.choice([
            lambda: eth / IP(src='192.0.2.%d' % r.randrange(1, 255), dst='198.51.100.1') / UDP(sport=40000 + i, dport=port) / data,
            lambda: eth / IP(src='192.0.2.1', dst='198.51.100.1') / TCP(sport=40000 + i, dport=port) / data,
            lambda: eth / IPv6(src='2001:db8::1', dst='2001:db8::2') / UDP(sport=1, dport=port) / data,
            lambda: eth / ARP(op=1, psrc='192.0.2.1', pdst='192.0.2.%d' % (i % 250)) / Raw(b'\0' * 18)])())
    return frames


# --- files ------------------------------------------------------------------------------------------------------------


def both_ports(tags=False):
    """What comes in and what goes out is what scapy made; so it is where the port takes tags off."""
    frames = made(300, tags=tags)
    with Wires(frames, args=['--rx-offloads=vlan_strip'] if tags else []) as w:
        w.t.tell('capture start %d %s direction in' % (w.a, w.path('a.pcapng')))
        w.t.tell('capture start %d %s direction out queue 0' % (w.b, w.path('b.pcapng')))
        w.t.tell('start')
        w.passed()
        counts = [w.t.ask('capture stop %d' % p) for p in (w.a, w.b)]
        w.t.end()
        want = [bytes(f) for f in frames]
        for name, port, way, c in (('a.pcapng', 0, IN, counts[0]), ('b.pcapng', 1, OUT, counts[1])):
            path = w.path(name)
            why = judged(path, c)
            if why:
                return '%s: %s' % (name, why)
            if octets(path) != (want if name[0] == 'a' or not tags else [untagged(f) for f in frames]):
                return '%s: other octets than scapy made' % name
            seen = packets(path)
            if {(p['frame.interface_name'], p['frame.packet_flags_direction'], p['frame.interface_queue']) for p in seen} != \
                    {('%s_p%d' % (CARD, port), way, '0')}:
                return '%s: %s' % (name, seen[0])
    return None


def untagged(f):
    """As a port that took the tag off hands it on: no mode puts it back."""
    return bytes(f) if Dot1Q not in f else bytes(f)[:12] + bytes(f)[16:]


def filters():
    """libpcap's language in files and in memory, against what scapy knows of the frames that it made."""
    frames = made(300, seed=2)
    port = lambda f: f[UDP].dport if UDP in f else f[TCP].dport if TCP in f else 0
    pairs = (('udp dst port 53', lambda f: UDP in f and port(f) == 53), ('tcp or arp', lambda f: TCP in f or ARP in f),
             ('ip6', lambda f: IPv6 in f), ('len > 700 and not port 80', lambda f: len(f) > 700 and port(f) != 80))
    with Wires(frames) as w:
        files = [w.path(n) for n in ('file-a', 'file-b', 'memory-a', 'memory-b')]
        w.t.tell('capture start %d %s direction in snap 96 filter %s' % (w.a, files[0], pairs[0][0]))
        w.t.tell('capture start %d %s direction out filter %s' % (w.b, files[1], pairs[1][0]))
        w.t.tell('capture memory start %d rss any ring 0*512 filter %s' % (w.a, pairs[2][0]))
        w.t.tell('capture memory start %d direction out rss any ring 0*512 filter %s' % (w.b, pairs[3][0]))
        w.t.tell('start')
        w.passed()
        counts = [w.t.ask('capture stop %d' % p) for p in (w.a, w.b)] + [w.t.ask('capture memory stop %d' % p) for p in (w.a, w.b)]
        for p, path in ((w.a, files[2]), (w.b, files[3])):
            w.t.tell('capture memory collect %d %s' % (p, path))
        w.t.end()
        for (text, wanted), path, c in zip(pairs, files, counts):
            want = [bytes(f)[:96 if path == files[0] else None] for f in frames if wanted(f)]
            if not 20 < len(want) < 280 or octets(path) != want:
                return '%s: %d packets, want %d' % (text, len(octets(path)), len(want))
            why = judged(path, c, text)
            if why:
                return '%s: %s' % (text, why)
    return None


def counted():
    """A ring that is too small loses packets: all of them are counted, and where they are missing stands in the file."""
    with tpmd.Triplane([CARD]) as t, tpmd.scratch() as d:
        path = os.path.join(d, 'small.pcapng')
        t.tell('set fwd flowgen')
        t.tell('capture start 0 %s ring 64*64' % path)
        t.tell('start')
        if not tpmd.wait_until(lambda: shown(t, 0)['lost'] > 1000 and shown(t, 0)['packets'] > 1000):
            return 'nothing is lost: %s' % shown(t, 0)
        # Ends while packets flow, and begins again.
        c = t.ask('capture stop 0')
        t.tell('capture start 0 %s ring 64*64' % os.path.join(d, 'again.pcapng'))
        more = tpmd.wait_until(lambda: shown(t, 0)['packets'] > 100)
        t.tell('stop')
        t.tell('capture stop 0')
        said = t.over()
        seen = packets(path)
        drops = sum(int(p['frame.drop_count'] or 0) for p in seen)
        why = judged(path, c)
        # What was lost behind the last packet stands in none of them.
        if why or said or not more or not 0 < drops <= c['lost']:
            return '%s %s; %d drops in packets, %s' % (why, said, drops, c)
        ways = {p['frame.packet_flags_direction'] for p in seen}
        return None if ways == {IN, OUT} and all(int(p['frame.cap_len']) <= 64 for p in seen) else 'ways %s' % ways


def storm():
    """Captures come and go while packets flow; a port is configured anew, and its new queues are looked at, too."""
    with tpmd.Triplane([CARD]) as t, tpmd.scratch() as d:
        path = os.path.join(d, 'queues.pcapng')
        t.tell('set fwd flowgen')
        t.tell('capture start 1 %s direction in ring 64*256' % path)
        t.tell('port stop all; port config all rxq 2; port config all txq 2; port start all')
        t.tell('start')
        got = tpmd.wait_until(lambda: shown(t, 1)['packets'] > 1000)
        c = t.ask('capture stop 1')
        for i in range(8):
            t.tell('capture start 0 %s ring 64*64 filter udp' % os.path.join(d, '%d.pcapng' % i))
            t.tell('capture memory start 0 rss any direction both ring 64*64')
            if i % 4 == 0 and not tpmd.wait_until(lambda: shown(t, 0)['packets'] > 0):
                return 'nothing in capture %d: %s' % (i, t.said())
            t.tell('capture stop 0; capture memory stop 0')
        # A queue goes that was looked at, and comes back.
        t.tell('capture memory start 1 rss any')
        t.tell('stop; port stop all; port config all rxq 1; port start all; start; capture memory stop 1; stop')
        t.tell('port stop all; port config all rxq 2; port start all; start')
        more = tpmd.wait_until(lambda: t.ask('show port stats 1')['ports'][0]['rx_packets'] > 1000)
        t.tell('stop')
        said = t.over()
        queues = {p['frame.interface_queue'] for p in packets(path)}
        return judged(path, c) or (None if got and more and not said and queues == {'0', '1'} else 'queues %s; %s' % (queues, said))


def card_clock():
    """Each packet has its own time by the card's clock, where those of a burst have one otherwise; both are times of day."""
    frames = [Ether(dst='02:00:00:00:01:01', src='02:00:00:00:00:01') / IP(dst='198.51.100.1') / UDP() / Raw(bytes(1000))] * 256
    different = {}
    for way, args in (('software', []), ('card', ['--rx-offloads=timestamp'])):
        with Wires(frames, args=args) as w:
            path = w.path('t.pcapng')
            w.t.tell('capture start %d %s direction in' % (w.a, path))
            time = shown(w.t, w.a)['time']
            # All of them wait in the ring, so that bursts are full however the lcore runs.
            tpmd.wait_until(lambda: w.t.xstats(w.a)['rx_port_packets'] >= len(frames), 120)
            w.t.tell('start')
            w.passed()
            c = w.t.ask('capture stop %d' % w.a)
            w.t.end()
            why = judged(path, c)
            times = [p['frame.time_epoch'] for p in packets(path)]
            if why or time != way or c['packets'] != len(frames):
                return '%s: %s, time %s, %s' % (way, why, time, c)
            # They came within the life of the program. The time of a file is that of the kernel's last tick.
            if not -1 <= os.stat(path).st_mtime - float(times[0]) < 300:
                return '%s: the first packet is of %s' % (way, times[0])
            different[way] = len(set(times))
    if not different['card'] > 200 or not different['software'] < 128:
        return 'different times of 256 packets: %s' % different
    return None


# --- memory -----------------------------------------------------------------------------------------------------------


def memory():
    """The last received packets without an RSS hash: of scapy's frames, those that are not IP."""
    frames = made(400, seed=3)
    arps = [bytes(f)[:128] for f in frames if ARP in f]
    with Wires(frames, args=['--rxq=2', '--txq=2']) as w:
        w.t.tell('capture memory start %d' % w.a)
        w.t.tell('start')
        w.passed()
        got = w.t.ask('capture memory collect %d %s' % (w.a, w.path('live.pcapng')))
        c = w.t.ask('capture memory stop %d' % w.a)
        w.t.tell('stop')
        again = w.t.ask('capture memory collect %d %s' % (w.a, w.path('after.pcapng')))
        ended = shown(w.t, w.a, 'memory')
        w.t.end()
        if not 65 < len(arps) < 200 or got != again or got['packets'] != len(arps) or c['packets'] != len(arps):
            return '%d frames have no hash; collected %s and %s, %s' % (len(arps), got, again, c)
        if ended['state'] != 'ended' or (ended['octets_kept'], ended['ring_packets'], ended['rss']) != (128, 1024, 'none'):
            return 'show: %s' % ended
        for name in ('live.pcapng', 'after.pcapng'):
            if sorted(octets(w.path(name))) != sorted(arps):
                return name + ' has other frames'
    return None


def last_ones():
    frames = made(300, seed=4)
    with Wires(frames) as w:
        w.t.tell('capture memory start %d rss any ring 96*64' % w.a)
        w.t.tell('start')
        w.passed()
        c = w.t.ask('capture memory stop %d' % w.a)
        got = w.t.ask('capture memory collect %d %s' % (w.a, w.path('last.pcapng')))
        w.t.end()
        if c['packets'] != 300 or got['packets'] != 64 or octets(w.path('last.pcapng')) != [bytes(f)[:96] for f in frames[-64:]]:
            return 'not the last 64: %s, %s' % (c, got)
    return None


# --- what goes wrong --------------------------------------------------------------------------------------------------


def full_disk():
    """The disk fills up: a line says so, forwarding goes on, and the file has whole packets and its counts."""
    with tpmd.scratch() as d:
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=300k', 'none', d], stderr=subprocess.DEVNULL).returncode != 0:
            return 'skip tmpfs cannot be mounted'
        try:
            with tpmd.Triplane([CARD]) as t:
                path = os.path.join(d, 'full.pcapng')
                t.tell('set fwd flowgen')
                t.tell('capture start 0 %s' % path)
                t.tell('start')
                if not tpmd.wait_until(lambda: shown(t, 0)['state'] == 'failed'):
                    return 'it did not fail: %s' % shown(t, 0)
                why = shown(t, 0)['error']
                was = t.ask('show port stats 0')['ports'][0]['tx_packets']
                goes_on = tpmd.wait_until(lambda: t.ask('show port stats 0')['ports'][0]['tx_packets'] > was)
                t.tell('stop')
                c = t.ask('capture stop 0')
                said = t.over()
                if why != 'No space left on device' or not goes_on or 'the capture is not whole' not in said or path not in said:
                    return '%s, goes on: %s; %s' % (why, goes_on, said)
                return judged(path, c) if c['packets'] > 100 and c['lost'] > 0 else 'counts %s' % c
        finally:
            subprocess.run(['umount', d])


def refused():
    """Each wrong word is refused with the value and what is wanted, and the exit status; nothing is left behind."""
    app = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')
    for line, says in (
            ('capture start 0 /nowhere/x.pcapng', '/nowhere/x.pcapng: No such file or directory'),
            ('capture start 0 /proc/version', '/proc/version: '),
            ('capture start 0 {}/x filter udp prot 5', "filter 'udp prot 5'"),
            ('capture start 0 {}/x filter', "filter '', want an expression"),
            ('capture start 0 {}/x direction up', "direction 'up', want in, out or both"),
            ('capture start 0 {}/x queue 7', 'queue 7, it has 1'),
            ('capture start 0 {}/x snap 63', "snap '63', want 64..65536 octets"),
            ('capture start 0 {}/x ring 64*63', "ring '64*63', want OCTETS*PACKETS"),
            ('capture start 0 {}/x ring 65536*1048576', 'want at most 1 GiB'),
            ('capture start 0 {}/x snap 200 ring 100*64', 'snap 200, want at most the 100 octets'),
            ('capture start 0 {}/x rss none', "want 'direction in' with it"),
            ('capture start 9 {}/x', 'there is no port 9'),
            ('capture stop 0', "no capture runs; 'capture start 0 FILE' begins one"),
            ('capture memory stop 0', 'no capture runs'),
            ('capture memory collect 0 {}/x', 'nothing was captured in memory'),
            ('capture start 0 {}/x; capture start 0 {}/y', 'a capture of this kind runs'),
            ('capture start 0 {}/x; capture start 1 {}/x', 'another capture writes to it')):
        with tpmd.scratch() as d:
            p = subprocess.run([app, *tpmd.eal('cap%d' % os.getpid(), plugin=False), '--log-level=*:error', '--vdev=' + CARD, '--', '-e',
                                line.replace('{}', d)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        out = p.stdout.decode(errors='replace')
        if p.returncode != 1 or says not in out or len(re.findall('^error: ', out, re.M)) != 1:
            return '%s: exit %d, %s' % (line, p.returncode, out)
    return None


def saved():
    """Captures are settings: a file has them, telemetry tells of them, a line of the log has the old and the new value."""
    with tpmd.Triplane([CARD], telemetry=True) as t, tpmd.scratch() as d:
        path, conf = os.path.join(d, 'c.pcapng'), os.path.join(d, 'conf')
        t.tell('set setting 0 capture %s direction in filter arp or   ip' % path)
        t.tell('save %s; capture stop 0' % conf)
        if shown(t, 0) is not None or t.tel('/triplane/capture/list') != []:
            return 'it does not end: %s' % shown(t, 0)
        with open(conf) as f:
            text = f.read()
        t.tell('load ' + conf)
        c = shown(t, 0)
        told = t.tel('/triplane/capture/info,0')
        t.tell('set setting 0 capture off')
        gone = shown(t, 0)
        said = t.over()
        if 'capture=%s direction in filter arp or ip\n' % path not in text:
            return 'saved: ' + text
        if c is None or c['filter'].split() != 'arp or ip'.split() or told.get('file_running') != 1 or told.get('file') != path[:127]:
            return 'loaded: %s, telemetry %s' % (c, told)
        return None if gone is None and not said else '%s; %s' % (gone, said)


cases.run('capture-bytes', both_ports)
cases.run('capture-stripped', both_ports, True)
cases.run('capture-filters', filters)
cases.run('capture-counted', counted)
cases.run('capture-storm', storm)
cases.run('capture-card-clock', card_clock)
cases.run('capture-memory', memory)
cases.run('capture-last-ones', last_ones)
cases.run('capture-full-disk', full_disk)
cases.run('capture-refused', refused)
cases.run('capture-saved', saved)
cases.exit()
