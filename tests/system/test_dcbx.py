#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""LLDP and DCBX of triplane against judges that are not ours: tshark and scapy on every kind of frame, captures of real
switches and hosts, lldpd and lldpad (open-lldp) on the other end of a tap wire. Everything lives in a namespace of its
own; lldpad gets the DCB operations that no virtual interface has from dcb_netlink.c."""
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PRIVATE = 'TP_DCBX_NAMESPACE'
TAP = 'dcbx0'
GROUP = bytes.fromhex('0180c200000e')
OWN = '00:02:c9:a1:b2:01'
LOWER, HIGHER = '00:02:c9:00:00:01', '00:02:c9:ff:00:01'
QOS = 'prio-tc=0,0,0,1,0,0,0,2 tc=0:ets:40 tc=1:ets:60 pfc=3 rule=udp:4791:3'
ETS = {'prio_tc': '0,0,0,1,0,0,0,2', 'bw': '40,60,0,0,0,0,0,0', 'tsa': '2,2,0,0,0,0,0,0'}
BUILD = os.environ.get('TP_BUILD', 'build')
CAPTURES = os.environ.get('TP_CAPTURES') or os.path.join(os.environ.get('TP_ROOT', '.'), '../shared/data/captures')

if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip dcbx: a tap in a namespace needs root and /dev/net/tun')
    sys.exit(0)
if PRIVATE not in os.environ:
    os.environ[PRIVATE] = '1'
    # With processes of its own, so that none outlives the test however it ends.
    os.execvp('unshare', ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', sys.executable,
                          os.path.abspath(__file__)] + sys.argv[1:])

import tpmd  # noqa: E402
from scapy.contrib import lldp as slldp  # noqa: E402
from scapy.all import Ether, rdpcap, wrpcap  # noqa: E402

failed = 0
work = tempfile.mkdtemp(prefix='dcbx')


def sh(*cmd, check=True, env=None):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180,
                       env=dict(os.environ, **(env or {})))
    if check and p.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(cmd), p.stdout.strip()[-300:]))
    return p.stdout


def same(what, got, want):
    if got != want:
        raise AssertionError('%s: %r, want %r' % (what, got, want))


def wait_for(what, probe, seconds=120):
    """probe gives (true, anything) in time, or the last anything is in the failure."""
    end = time.monotonic() + seconds
    while True:
        good, seen = probe()
        if good:
            return seen
        if time.monotonic() > end:
            raise AssertionError('%s: not within %s s, last seen %r' % (what, seconds, seen))
        time.sleep(0.2)


class App:
    """triplane on a card whose port 0 is plugged into the tap; commands by its standard input."""

    def __init__(self, *commands, two=False, options=(), mac=HIGHER):
        vdevs = ['--vdev=net_tap0,iface=' + TAP]
        card = 'net_mlx4_model0,wire0=ethdev:net_tap0'
        if two:
            vdevs.append('--vdev=net_tap1,iface=dcbx1')
            card += ',wire1=ethdev:net_tap1'
        else:
            card += ',ports=1'
        self.err = open(work + '/app.err', 'w+')
        self.proc = subprocess.Popen(
            ['triplane', '--lcores', tpmd.lcores('0@0,1@0'), '--no-pci', '--no-huge', '-m', '512', '--no-shconf', '--no-telemetry',
             '--log-level=*:error', '--file-prefix=dcbx%d' % os.getpid(), *vdevs, '--vdev=' + card, '--', *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err)
        self.buf = b''
        try:
            self.port = wait_for('the card', self.find_port)
            sh('ip', 'link', 'set', TAP, 'address', mac)
            sh('ip', 'link', 'set', TAP, 'up')
            if two:
                sh('ip', 'link', 'set', 'dcbx1', 'up')
            for c in ('set fwd rxonly', tpmd.IDLE) + commands:  # io would send a peer its own frames back
                self.cmd(c)
            self.cmd('start')
            self.show()
        except BaseException:
            self.close()
            raise

    def find_port(self):
        ports = self.ask('show port info all json')['ports']
        card = [p['port'] for p in ports if 'mlx4' in p['driver']]
        return bool(card), card and card[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def cmd(self, line):
        self.proc.stdin.write((line.replace('PORT', str(getattr(self, 'port', 0))) + '\n').encode())
        self.proc.stdin.flush()

    def ask(self, line):
        """The next line of JSON that the program prints."""
        self.cmd(line)
        end = time.monotonic() + 120
        while True:
            while b'\n' in self.buf:
                one, self.buf = self.buf.split(b'\n', 1)
                if one.startswith(b'{'):
                    return json.loads(one)
            if self.proc.poll() is not None or not select.select([self.proc.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError('no answer to %r: %s' % (line, self.errors()))
            data = os.read(self.proc.stdout.fileno(), 65536)
            if not data:
                self.proc.wait()
            self.buf += data

    def show(self):
        return self.ask('show dcbx PORT json')['ports'][0]

    def until(self, what, good, seconds=120):
        def probe():
            s = self.show()
            return good(s), s
        return wait_for(what, probe, seconds)

    def errors(self):
        self.err.seek(0)
        return self.err.read()[-500:]

    def close(self):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(60)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.proc.stdout.close()
        self.err.close()
        if self.proc.returncode not in (0, None):
            raise RuntimeError('triplane ended with %s' % self.proc.returncode)


class Wire:
    """The tap's end as a raw socket: sends frames, collects what is on it."""

    def __init__(self, iface=TAP):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.bind((iface, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, frame):
        self.sock.send(frame)

    def until(self, what, source, good, seconds=120):
        """Frames of a source, until what came so far is good."""
        out, end = [], time.monotonic() + seconds
        while not good(out):
            if not select.select([self.sock], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError('%s: not on the wire within %s s: %s' % (what, seconds, [f[:60].hex() for f in out[-5:]]))
            data = self.sock.recv(65535)
            if data[6:12] == bytes.fromhex(source.replace(':', '')):
                out.append(data)
        return out

    def lldp(self, what, source, good):
        """The first LLDP frame of a source that is as wanted."""
        return self.until(what, source, lambda out: out and out[-1][12:14] == b'\x88\xcc' and good(out[-1]))[-1]


# --- tshark's view of an LLDPDU, in the words of "show dcbx" ------------------------------------------------------

def leaves(node, out):
    for key, value in node.items():
        for v in value if isinstance(value, list) else [value]:
            if isinstance(v, dict):
                leaves(v, out)
            else:
                out.setdefault(key, []).append(v)
    return out


def tshark(frames):
    """For each frame its TLVs as {field: [values]}; any complaint of the dissector is an error."""
    path = work + '/judge.pcap'
    wrpcap(path, [Ether(f) for f in frames])
    text = subprocess.run(['tshark', '-r', path, '-T', 'json', '--no-duplicate-keys'], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=240).stdout.decode()
    out = []
    for p in json.loads(text):
        layers = p['_source']['layers']
        if '_ws.malformed' in text or '_ws.expert' in json.dumps(layers):
            raise AssertionError('tshark complains: %s' % json.dumps(layers)[:500])
        tlvs = []
        for value in layers['lldp'].values():
            tlvs += [leaves(v, {}) for v in (value if isinstance(value, list) else [value]) if isinstance(v, dict)]
        out.append(tlvs)
    return out


def num(tlv, field):
    return int(tlv[field][0], 0)


def row(tlv, pattern):
    return ','.join(str(num(tlv, pattern % i)) for i in range(8))


def ets_of(tlv):
    return {'prio_tc': row(tlv, 'lldp.dcbx.feature.pg.pgid_prio%d'), 'bw': row(tlv, 'lldp.dcbx.feature.pg.per%d'),
            'tsa': row(tlv, 'lldp.dcbx.ieee.ets.tsa%d')}


def peer_of(tlvs):
    """DCBX TLVs as tshark reads them."""
    peer = {}
    for t in tlvs:
        sub = t.get('lldp.ieee.802_1.subtype', [None])[0]
        if sub == '0x09':
            peer['ets_willing'] = num(t, 'lldp.dcbx.ieee.willing') == 1
            peer['ets'] = dict(ets_of(t), max_tc=num(t, 'lldp.dcbx.ieee.ets.maxtcs') or 8)
        elif sub == '0x0a':
            peer['ets_recommended'] = ets_of(t)
        elif sub == '0x0b':
            peer['pfc_willing'] = num(t, 'lldp.dcbx.ieee.willing') == 1
            on = [str(i) for i in range(8) if num(t, 'lldp.dcbx.feature.pfc.prio%d' % i)]
            peer['pfc'] = {'priorities': ','.join(on), 'max': num(t, 'lldp.dcbx.ieee.pfc.numtcs')}
        elif sub == '0x0c':
            sel = [int(v, 0) for v in t.get('lldp.dcbx.iee.app.sf', [])]  # tshark's own spelling
            proto = [int(v, 0) for v in t.get('lldp.dcbx.feature.app.proto', [])]
            prio = [int(v, 0) for v in t.get('lldp.dcbx.ieee.app.prio', [])]
            peer['app'] = [{'entry': i, 'selector': s, 'protocol': p, 'priority': q}
                           for i, (s, p, q) in enumerate(zip(sel, proto, prio))]
    return peer


def cee_of(tlvs):
    """Whether the pre-standard DCBX (Intel's OUI) is there, too."""
    return any(int(v, 0) == 0x001b21 for t in tlvs for v in t.get('lldp.orgtlv.oui', []))


def without(d, *keys):
    return {k: v for k, v in d.items() if k not in keys}


# --- our frames ---------------------------------------------------------------------------------------------------

def own_frame():
    with App('set qos PORT ' + QOS, 'dcbx PORT on willing') as app, Wire() as wire:
        app.cmd('dcbx PORT on not-willing')  # said at once; one from before may be there
        frame = wire.lldp('a frame of ours', OWN, lambda f: b'\x00\x80\xc2\x09\x00' in f)
        info = app.ask('show port info PORT json')['ports'][0]
        app.cmd('dcbx PORT off')
        last = wire.lldp('our good-bye', OWN, lambda f: b'\x06\x02\x00\x00' in f)
    return frame, last, info['name']


def frame_by_tshark(frame):
    tlvs = tshark([frame])[0]
    flat = {k: v for t in tlvs for k, v in t.items() if k not in ('lldp.tlv.type', 'lldp.tlv.len')}
    same('order', [num(t, 'lldp.tlv.type') for t in tlvs], [1, 2, 3, 4, 5, 7, 127, 127, 127, 127, 0])
    same('chassis', flat['lldp.chassis.id.mac'], [OWN])
    same('port', flat['lldp.port.id.mac'], [OWN])
    same('time to live', flat['lldp.time_to_live'], ['121'])
    same('system name', flat['lldp.tlv.system.name'], [socket.gethostname()[:63]])
    same('DCBX', peer_of(tlvs), {
        'ets_willing': False, 'ets': dict(ETS, max_tc=8), 'ets_recommended': ETS,
        'pfc_willing': False, 'pfc': {'priorities': '3', 'max': 8},
        'app': [{'entry': 0, 'selector': 3, 'protocol': 4791, 'priority': 3}]})


def org(subtype, data):
    return slldp.LLDPDUGenericOrganisationSpecific(org_code=0x0080c2, subtype=subtype, data=data)


def frame_by_scapy(frame, name):
    tables = bytes.fromhex('00010002') + bytes([40, 60] + [0] * 6) + bytes([2, 2] + [0] * 6)
    want = Ether(dst='01:80:c2:00:00:0e', src=OWN, type=0x88cc) / slldp.LLDPDUChassisID(subtype=4, id=OWN) / \
        slldp.LLDPDUPortID(subtype=3, id=OWN) / slldp.LLDPDUTimeToLive(ttl=121) / \
        slldp.LLDPDUPortDescription(description=name) / \
        slldp.LLDPDUSystemName(system_name=socket.gethostname()[:63]) / \
        slldp.LLDPDUSystemCapabilities(station_only_available=1, station_only_enabled=1) / \
        org(9, b'\x00' + tables) / org(10, b'\x00' + tables) / org(11, b'\x08\x08') / \
        org(12, b'\x00' + bytes([3 << 5 | 3]) + struct.pack('>H', 4791)) / slldp.LLDPDUEndOfLLDPDU()
    same('octets', frame.hex(), bytes(want).hex())


def shutdown_frame(frame):
    tlvs = tshark([frame])[0]
    same('TLVs', [num(t, 'lldp.tlv.type') for t in tlvs], [1, 2, 3, 0])
    same('time to live', tlvs[2]['lldp.time_to_live'], ['0'])


# --- captures -----------------------------------------------------------------------------------------------------

def capture(path):
    """Each speaker of a capture alone on a fresh agent: what it said last is what the agent knows."""
    frames = [bytes(p) for p in rdpcap(path)]
    lldp = [f for f in frames if f[12:14] == b'\x88\xcc']
    if not lldp:
        raise AssertionError('no LLDP frame in it')
    with App('dcbx PORT on not-willing') as app, Wire() as wire:
        for source in sorted({f[6:12] for f in lldp}):
            mine = [f for f in lldp if f[6:12] == source]
            before = app.show()['lldp']
            for f in mine:
                wire.send(f)
            state = app.until('frames of %s' % source.hex(':'),
                              lambda s: s['lldp']['rx_frames'] == before['rx_frames'] + len(mine))
            judge_speaker(state, mine[-1], source)
            for key in ('rx_discarded', 'rx_errors', 'rx_tlvs_discarded'):
                same(key, state['lldp'][key], before[key])
            app.cmd('dcbx PORT off')
            app.cmd('dcbx PORT on not-willing')


def judge_speaker(state, last, source):
    tlvs = tshark([last])[0]
    flat = {k: v[0] for t in tlvs for k, v in t.items()}
    same('neighbours', len(state['neighbours']), 1)
    n = state['neighbours'][0]
    same('mac', n['mac'].lower(), source.hex(':'))
    same('chassis', n['chassis'], flat['lldp.chassis.id.mac'])
    same('port', n['port_id'], flat.get('lldp.port.id.mac', flat.get('lldp.port.id')))
    same('time to live', n['ttl'], int(flat['lldp.time_to_live']))
    same('system name', n.get('system_name'), flat.get('lldp.tlv.system.name'))
    same('port description', n.get('port_description'), flat.get('lldp.port.desc'))
    want = peer_of(tlvs)
    if want:
        want['cee'] = cee_of(tlvs)
    same('state', state['state'], 'up' if want else 'no peer')
    same('DCBX', without(state.get('peer', {}), 'mac'), want)


# --- lldpd --------------------------------------------------------------------------------------------------------

class Lldpd:
    def __init__(self):
        self.sock = '/run/lldpd.socket'  # its programs run as another user
        os.makedirs('/run/lldpd', exist_ok=True)
        self.proc = subprocess.Popen(['lldpd', '-d', '-u', self.sock, '-I', TAP, '-L', '/bin/true'],
                                     stdout=subprocess.DEVNULL, stderr=open(work + '/lldpd.log', 'w'))
        wait_for('lldpd', lambda: (os.path.exists(self.sock), None))
        self.cli('resume')
        self.cli('configure', 'lldp', 'tx-interval', '1')
        self.cli('configure', 'lldp', 'tx-hold', '100')  # seconds: a busy machine may say nothing for some

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGTERM)

    def cli(self, *words):
        return sh('lldpcli', '-u', self.sock, *words)

    def neighbours(self):
        found = json.loads(self.cli('-f', 'json0', 'show', 'neighbors', 'details'))['lldp'][0].get('interface', [])
        return found

    def heard(self):
        """Frames that it has received."""
        return int(re.search(r'\.rx\.rx=(\d+)', self.cli('-f', 'keyvalue', 'show', 'statistics')).group(1))

    def left(self):
        """How neighbours went: by a good-bye, by age."""
        text = self.cli('-f', 'keyvalue', 'show', 'statistics')
        return tuple(int(re.search(r'%s=(\d+)' % k, text).group(1)) for k in ('delete_cnt', 'ageout_cnt'))

    def gone(self, what, count=1):
        """No neighbour any more, as he said himself."""
        wait_for(what, lambda: (self.neighbours() == [], self.neighbours()))
        same(what + ', good-byes and ages', self.left(), (count, 0))

    def stop(self, sig):
        """The monitor and the process that it keeps: killed together, so that no good-bye is said after SIGKILL."""
        if self.proc.poll() is None:
            kids = sh('ps', '-o', 'pid=', '--ppid', str(self.proc.pid), check=False).split()
            for pid in ([int(k) for k in kids] if sig == signal.SIGKILL else []) + [self.proc.pid]:
                os.kill(pid, sig)
            self.proc.wait(60)
        if os.path.exists(self.sock):
            os.unlink(self.sock)


def lldpd_hears_us():
    with App('set qos PORT ' + QOS, 'set dcbx-times PORT 1 100', 'dcbx PORT on') as app, Lldpd() as peer:
        n = wait_for('lldpd sees us', lambda: (len(peer.neighbours()) == 1, peer.neighbours()))[0]
        same('chassis', n['chassis'][0]['id'][0], {'type': 'mac', 'value': OWN})
        same('system name', n['chassis'][0]['name'][0]['value'], socket.gethostname()[:63])
        same('station', [c for c in n['chassis'][0]['capability'] if c['type'] == 'Station'],
             [{'type': 'Station', 'enabled': True}])
        same('port', n['port'][0]['id'][0], {'type': 'mac', 'value': OWN})
        same('time to live', n['port'][0]['ttl'][0]['value'], '101')
        tlvs = {int(t['subtype']): t['value'].replace(',', '').lower() for t in n['unknown-tlvs'][0]['unknown-tlv']}
        tables = '00010002' + '283c' + '00' * 6 + '0202' + '00' * 6
        same('organisation TLVs', tlvs, {9: '00' + tables, 10: '00' + tables, 11: '0808', 12: '006312b7'})
        app.cmd('dcbx PORT off')
        peer.gone('our good-bye')


def lldpd_while_stopped():
    """An agent goes on while nothing is forwarded: peers keep it, and it hears them; it can be switched on and off then."""
    other = bytes.fromhex('0180c2000001' '020000000005' '88cd') + bytes(46)
    with App('set dcbx-times PORT 1 100', 'dcbx PORT on willing') as app, Lldpd() as peer, Wire() as wire:
        wait_for('lldpd sees us', lambda: (len(peer.neighbours()) == 1, peer.neighbours()))
        app.cmd('stop')
        app.cmd('set qos PORT ' + QOS)
        peer.cli('configure', 'lldp', 'custom-tlv', 'oui', '00,80,c2', 'subtype', '11', 'oui-info', '08,ff')
        app.until('PFC of lldpd', lambda s: s['operational']['pfc']['priorities'] == '0,1,2,3,4,5,6,7')
        before = app.show()['rx_untaken']
        for _ in range(5):
            wire.send(other)
        app.until('frames of others', lambda s: s['rx_untaken'] >= before + 5)
        heard = peer.heard()
        wait_for('frames of ours while nothing is forwarded', lambda: (peer.heard() >= heard + 3, peer.heard()))
        n = peer.neighbours()[0]
        tlvs = {int(t['subtype']): t['value'].replace(',', '').lower() for t in n['unknown-tlvs'][0]['unknown-tlv']}
        same('what lldpd has of us', tlvs[12], '006312b7')
        app.cmd('dcbx PORT off')
        peer.gone('our good-bye')
        app.cmd('dcbx PORT on')
        wait_for('lldpd sees us again', lambda: (len(peer.neighbours()) == 1, peer.neighbours()))
        app.cmd('start')
        app.cmd('dcbx PORT off')
        peer.gone('good-bye while forwarding', 2)
        app.cmd('stop')
        same('state', app.show()['state'], 'off')


def lldpd_is_heard():
    with App('dcbx PORT on willing') as app, Lldpd() as peer:
        peer.cli('configure', 'system', 'hostname', 'other-end')
        peer.cli('configure', 'lldp', 'custom-tlv', 'oui', '00,80,c2', 'subtype', '11', 'oui-info', '08,ff')
        s = app.until('PFC of lldpd', lambda s: s['operational']['pfc']['priorities'] == '0,1,2,3,4,5,6,7')
        same('from', s['features']['pfc']['from'], 'peer')
        s = app.until('name of lldpd', lambda s: s['neighbours'] and s['neighbours'][0].get('system_name') == 'other-end')
        same('mac', s['peer']['mac'].lower(), HIGHER)
        # So short a time only now: it might let it pass on a busy machine.
        peer.cli('configure', 'lldp', 'tx-hold', '10')
        app.until('the time to live', lambda s: s['neighbours'] and s['neighbours'][0]['ttl'] == 10)
        peer.stop(signal.SIGKILL)
        s = app.until('ageing', lambda s: s['neighbours'] == [])
        same('ageouts', s['lldp']['ageouts'], 1)
        same('deletes', s['lldp']['deletes'], 0)
        same('state', s['state'], 'no peer')
        same('PFC', s['operational']['pfc']['priorities'], '')


def lldpd_says_good_bye():
    with App('dcbx PORT on') as app, Lldpd() as peer:
        peer.cli('configure', 'lldp', 'tx-hold', '100')
        app.until('lldpd', lambda s: s['neighbours'] and s['neighbours'][0]['ttl'] == 100)
        peer.stop(signal.SIGTERM)
        s = app.until('good-bye', lambda s: s['neighbours'] == [])
        same('deletes', s['lldp']['deletes'], 1)
        same('ageouts', s['lldp']['ageouts'], 0)


# --- lldpad -------------------------------------------------------------------------------------------------------

class Lldpad:
    """open-lldp with IEEE DCBX on the tap. What it would give its hardware is in the log."""
    UP2TC = '0:0,1:0,2:0,3:1,4:2,5:0,6:0,7:0'  # priorities 3 and 4 alone in a class, as PFC wants it
    ETS = {'prio_tc': '0,0,0,1,2,0,0,0', 'bw': '20,30,50,0,0,0,0,0', 'tsa': '2,2,2,0,0,0,0,0'}

    def __init__(self, willing):
        self.log = work + '/hardware.log'
        for f in (self.log, work + '/lldpad.conf'):
            if os.path.exists(f):
                os.unlink(f)
        os.makedirs('/var/lib/lldpad', exist_ok=True)
        env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, 'tests/system/libdcb_netlink.so'), DCB_NETLINK_LOG=self.log)
        self.proc = subprocess.Popen(['lldpad', '-p', '-f', work + '/lldpad.conf', '-V', '7'], env=env,
                                     stdout=open(work + '/lldpad.log', 'w'), stderr=subprocess.STDOUT)
        wait_for('lldpad', lambda: (sh('lldptool', '-p', check=False).strip().isdigit(), None))
        wait_for('the port in lldpad', lambda: ('rxtx' in sh('lldptool', '-L', '-i', TAP, 'adminStatus=rxtx', check=False), None))
        yes = 'yes' if willing else 'no'
        tsa = '0:ets,1:ets,2:ets,3:strict,4:strict,5:strict,6:strict,7:strict'
        self.tool('APP', 'enableTx=yes', 'app=2,2,80')  # sent after the next setting
        self.tool('ETS-CFG', 'enableTx=yes', 'willing=' + yes, 'up2tc=' + self.UP2TC, 'tsa=' + tsa, 'tcbw=20,30,50,0,0,0,0,0')
        self.tool('ETS-REC', 'enableTx=yes', 'up2tc=' + self.UP2TC, 'tsa=' + tsa, 'tcbw=20,30,50,0,0,0,0,0')
        self.tool('PFC', 'enableTx=yes', 'willing=' + yes, 'enabled=4')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGTERM)

    def tool(self, tlv, *args):
        def told(arg):
            """It waits for lldpad no longer than it likes, and says so then."""
            try:
                return True, sh('lldptool', '-T', '-i', TAP, '-V', tlv, arg)
            except RuntimeError as e:
                if 'timed out' not in str(e):
                    raise
                return False, str(e)
        for a in args:
            wait_for('lldptool', lambda a=a: told(a))

    def hears(self):
        return sh('lldptool', '-t', '-n', '-i', TAP, check=False)

    def hardware(self):
        """The last setting of each kind, and the applications."""
        last = {'app': set()}
        for line in open(self.log) if os.path.exists(self.log) else []:
            kind, rest = line.split(None, 1)
            if kind == 'app':
                last['app'].add(rest.strip())
            elif kind == 'del':
                last['app'].discard(rest.strip())
            else:
                last[kind] = rest.strip()
        return last

    def stop(self, sig):
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
            self.proc.wait(60)


def lldpad_takes_ours():
    with App('set qos PORT ' + QOS, 'dcbx PORT on not-willing') as app, Lldpad(True) as peer:
        want = {'ets': '%(prio_tc)s %(bw)s %(tsa)s' % ETS, 'pfc': '8', 'app': {'2 80 2', '3 4791 3'}}
        wait_for('lldpad applies', lambda: (want.items() <= peer.hardware().items(), peer.hardware()))
        heard = wait_for('lldpad sees us', lambda: ('PFC enabled: 3' in peer.hears(), peer.hears()))
        for line in ('Willing: no', 'PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2', 'TC Bandwidth: 40% 60% 0% 0% 0% 0% 0% 0%',
                     'TSA_MAP: 0:ets 1:ets 2:strict', 'PFC capable traffic classes: 8'):
            if line not in heard:
                raise AssertionError('lldpad does not say %r: %s' % (line, heard))
        s = app.until('lldpad follows', lambda s: s['features']['ets']['synced'] and s['features']['pfc']['synced'])
        same('ETS in use', without(s['operational']['ets'], 'max_tc'), ETS)
        same('from', [s['features'][f]['from'] for f in ('ets', 'pfc', 'app')], ['local'] * 3)
        same('willing', (s['peer']['ets_willing'], s['peer']['pfc_willing']), (True, True))


def lldpad_is_taken():
    with App('set qos PORT ' + QOS, 'dcbx PORT on willing') as app, Lldpad(False) as peer:
        s = app.until('the settings of lldpad', lambda s: s['features']['ets']['from'] == 'peer' and
                      s['operational']['pfc']['priorities'] == '4' and
                      [a for a in s['operational']['app'] if (a['selector'], a['protocol'], a['priority']) == (2, 80, 2)] and s['features']['ets']['synced'] and
                      s['operational']['ets']['bw'].startswith('20,30,50'))
        same('ETS in use', without(s['operational']['ets'], 'max_tc'), Lldpad.ETS)
        same('errors', [s['features'][f]['error'] for f in ('ets', 'pfc', 'app')], ['none'] * 3)
        same('peer', without(s['peer']['ets'], 'max_tc'), Lldpad.ETS)
        qos = wait_for('the card', lambda: card_qos(app, '0,0,0,1,2,0,0,0', [4]))
        same('shares', [c['share'] for c in qos['classes']], [20, 30, 50, 0, 0, 0, 0, 0])
        # lldpad may give our own back: it sends all that its kernel knows
        rules = [(r['match'], r.get('first_port'), r['priority']) for r in qos['rules']]
        same('learnt rules', set(rules[:-1]) - {('udp', 4791, 3)}, {('tcp', 80, 2)})
        same('own rule', rules[-1], ('udp', 4791, 3))
        app.cmd('dcbx PORT off')
        wait_for('its own settings again', lambda: card_qos(app, '0,0,0,1,0,0,0,2', [3]))


def card_qos(app, prio_tc, pfc):
    q = app.ask('show qos PORT json')['ports'][0]
    got = ','.join(str(p['tc']) for p in q['priorities']), [p['priority'] for p in q['priorities'] if p['rx_pfc'] and p['tx_pfc']]
    return got == (prio_tc, pfc), q


def tie_break(mac):
    """Both willing. PFC: the lower address yields, on both sides of the wire; ETS: each takes the other's."""
    with App('set qos PORT ' + QOS, 'dcbx PORT on willing', mac=mac) as app, Lldpad(True) as peer:
        pfc = '4' if mac == HIGHER else '3'
        s = app.until('PFC agreed', lambda s: s['operational']['pfc']['priorities'] == pfc and s['features']['pfc']['synced'] and
                      s['features']['ets']['from'] == 'peer')
        same('from', s['features']['pfc']['from'], 'peer' if mac == HIGHER else 'local')
        mask = {'4': '16', '3': '8'}[pfc]
        wait_for('lldpad applies', lambda: (peer.hardware().get('pfc') == mask, peer.hardware()))


def lldpad_dies():
    """Its frames live 120 s by themselves: one that it sent is said again with 2 s before it is killed."""
    with App('dcbx PORT on willing') as app, Wire() as wire:
        with Lldpad(False) as peer:
            app.until('lldpad', lambda s: s['features']['pfc']['from'] == 'peer')
            frame = wire.lldp('a frame of lldpad with PFC', HIGHER, lambda f: b'\x00\x80\xc2\x0b' in f)
            peer.stop(signal.SIGKILL)
        at = frame.index(b'\x06\x02\x00', 14)
        wire.send(frame[:at + 2] + b'\x00\x02' + frame[at + 4:])
        s = app.until('ageing', lambda s: s['neighbours'] == [])
        same('ageouts', s['lldp']['ageouts'], 1)
        same('PFC', (s['operational']['pfc']['priorities'], s['features']['pfc']['from']), ('', 'local'))


def two_peers():
    """lldpd says DCBX beside lldpad: none counts until one is gone."""
    with App('dcbx PORT on willing') as app, Lldpad(False):
        app.until('lldpad', lambda s: s['features']['pfc']['from'] == 'peer')
        with Lldpd() as second:
            second.cli('configure', 'lldp', 'portidsubtype', 'ifname')
            second.cli('configure', 'lldp', 'custom-tlv', 'oui', '00,80,c2', 'subtype', '11', 'oui-info', '08,10')
            s = app.until('two peers', lambda s: s['state'] == 'several peers')
            same('PFC', (s['operational']['pfc']['priorities'], s['features']['pfc']['from']), ('', 'local'))
        app.until('one peer', lambda s: s['state'] == 'up' and s['operational']['pfc']['priorities'] == '4')


# --- beside the stream --------------------------------------------------------------------------------------------

def hello(ttl=120, more=b''):
    return GROUP + bytes.fromhex('020000000005' '88cc' '020704020000000005' '040703020000000005' '0602') + \
        struct.pack('>H', ttl) + more + b'\0\0'


def cee_beside():
    """A peer that speaks both is one of the standard's, and is said to have the other; tshark knows both TLVs. (IEEE PFC; CEE control.)"""
    pfc, cee = bytes.fromhex('fe060080c20b0810'), bytes.fromhex('fe10001b2102020a000000000001000000 00')
    with App('dcbx PORT on') as app, Wire() as wire:
        for more, want in ((pfc, False), (pfc + cee, True), (pfc, False)):
            frame = hello(more=more)
            same('tshark', cee_of(tshark([frame])[0]), want)
            wire.send(frame + bytes(max(0, 60 - len(frame))))
            app.until('cee %s' % want, lambda s: s.get('peer', {}).get('cee') is want)


def not_forwarded():
    """io from port to port: LLDP of a port with an agent stays, everything else goes on; without one all goes."""
    other = bytes.fromhex('0180c2000001' '020000000005' '88cd') + bytes(46)
    with App('set fwd io', 'dcbx PORT on', two=True) as app, Wire() as near, Wire('dcbx1') as far:
        for _ in range(10):
            near.send(hello())
            near.send(other)
        app.until('LLDP at the agent', lambda s: s['lldp']['rx_frames'] == 10)
        # in the order in which they were sent: with the last one everything is there
        got = far.until('ten frames behind', '02:00:00:00:00:05', lambda out: sum(f[12:14] == b'\x88\xcd' for f in out) == 10)
        same('behind', [f[12:14].hex() for f in got], ['88cd'] * 10)
        app.cmd('dcbx PORT off')
        app.show()
        near.send(hello())
        same('agent off', [f[12:14].hex() for f in far.until('LLDP behind', '02:00:00:00:00:05', len)], ['88cc'])


def not_promiscuous():
    """The card has LLDP's group address among its own, whatever else it takes."""
    with App('dcbx PORT on', options=['--no-promisc']) as app, Wire() as wire:
        wire.send(hello())
        app.until('LLDP', lambda s: len(s['neighbours']) == 1)


def bad_frames():
    """Discarded and counted by the standard's rules, and the next good one is taken."""
    cases = [
        (hello()[:30], 'rx_discarded'),                                                   # cut in the port's identity
        (hello().replace(b'\x06\x02', b'\x08\x02'), 'rx_discarded'),                      # no time to live
        (hello(more=bytes.fromhex('fe7f0080c20b')), 'rx_discarded'),                      # over the end
        (hello(more=bytes.fromhex('fe050080c20b00')), 'rx_tlvs_discarded'),               # PFC of 5 octets
        (hello(more=bytes.fromhex('fe060080c20b0810' * 2)), 'rx_tlvs_discarded'),         # PFC twice
    ]
    with App('dcbx PORT on') as app, Wire() as wire:
        for i, (frame, counter) in enumerate(cases):
            before = app.show()['lldp']
            wire.send(frame + (bytes(60 - len(frame)) if counter != 'rx_discarded' else b''))
            s = app.until('case %d' % i, lambda s: s['lldp']['rx_errors'] == before['rx_errors'] + 1)
            same('case %d %s' % (i, counter), s['lldp'][counter], before[counter] + 1)
        wire.send(hello(ttl=77))
        app.until('a good one', lambda s: [n['ttl'] for n in s['neighbours']] == [77])


def commands():
    """What is refused says in one line why."""
    for line, why in (('dcbx 0 maybe', 'on|off'), ('dcbx 0 on perhaps', 'willing|not-willing'), ('dcbx 9 on', '9'),
                      ('start; dcbx 0 on', 'forwarding runs'), ('set dcbx-times 0 0 4', '1..3600'),
                      ('set dcbx-times 0 30 101', '1..100'), ('dcbx 0 on; set dcbx-times 0 31 4', 'DCBX is on')):
        p = subprocess.run(['triplane', '--lcores', tpmd.lcores('0@0,1@0'), '--no-pci', '--no-huge', '-m', '256', '--no-shconf',
                            '--no-telemetry', '--log-level=*:error', '--file-prefix=dcbx%dc' % os.getpid(), '--vdev=net_null0',
                            '--', '-e', line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
        same('exit status of %r' % line, p.returncode, 1)
        if why not in p.stderr or p.stderr.count('\n') != 1:
            raise AssertionError('%r is not answered with %r: %s' % (line, why, p.stderr))


def run(name, fn, *args):
    global failed
    try:
        fn(*args)
        print('ok dcbx-' + name, flush=True)
    except Exception as e:  # every failure of a case is its result
        failed = 1
        print('not ok dcbx-%s: %s' % (name, ' '.join(str(e).split())[:600] or repr(e)), flush=True)


def frames_of_ours():
    frame, last, name = own_frame()
    frame_by_tshark(frame)
    frame_by_scapy(frame, name)
    shutdown_frame(last)


def main():
    sh('mount', '-t', 'tmpfs', 'none', '/run')
    sh('ip', 'link', 'set', 'lo', 'up')
    cases = {
        'frames': frames_of_ours, 'bad-frames': bad_frames, 'cee-beside': cee_beside, 'not-forwarded': not_forwarded, 'no-promisc': not_promiscuous,
        'commands': commands, 'lldpd-hears-us': lldpd_hears_us, 'lldpd-is-heard': lldpd_is_heard,
        'lldpd-while-stopped': lldpd_while_stopped,
        'lldpd-good-bye': lldpd_says_good_bye, 'lldpad-takes-ours': lldpad_takes_ours, 'lldpad-is-taken': lldpad_is_taken,
        'lldpad-tie-ours-lower': lambda: tie_break(HIGHER), 'lldpad-tie-ours-higher': lambda: tie_break(LOWER),
        'lldpad-dies': lldpad_dies, 'two-peers': two_peers}
    files = sorted(glob.glob(CAPTURES + '/dcb_*.pcap') + glob.glob(CAPTURES + '/LLDP_and_CDP.pcap'))
    if not files:
        print('skip dcbx-captures: no captures in %s (TP_CAPTURES names the folder)' % CAPTURES)
    for f in files:
        cases['capture-' + os.path.basename(f)] = lambda f=f: capture(f)
    absent = [p for p in ('lldpd', 'lldpad') if shutil.which(p) is None]
    for name, fn in cases.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        missing = [p for p in absent if p in name or name == 'two-peers']
        if missing:
            print('skip dcbx-%s: %s is not installed' % (name, missing[0]))
        else:
            run(name, fn)
    shutil.rmtree(work)
    sys.exit(failed)


main()
