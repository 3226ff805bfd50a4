#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages of connection management, with random numbers in all fields, read by tshark out of RoCEv2 frames."""
import ipaddress
import os
import subprocess

from scapy.all import IP, UDP, Ether, IPv6, Raw, wrpcap

import tpmd

cases = tpmd.Cases()
PROGRAM = os.path.join(os.environ.get('TP_BUILD', 'build'), 'tests/unit/roce/cm_frames')

# Our names of fields and tshark's.
COMMON = {'tid': 'infiniband.mad.transactionid'}
# tshark takes the word of flow label and rate for three octets: it shows twelve bits of the label, and no rate.
PATH = {'local_lid': 'locallid', 'remote_lid': 'remotelid', 'local_gid': 'localgid', 'remote_gid': 'remotegid',
        'flow_label': 'flowlabel', 'tclass': 'tfcclass', 'hop_limit': 'hoplim', 'sl': 'sl',
        'subnet_local': 'subnetlocal', 'ack_timeout': 'localacktout'}
REQ = {'local_id': '', 'service_id': 'serviceid', 'ca_guid': 'localcaguid', 'qkey': 'localqkey', 'qpn': 'localqpn',
       'resp_res': 'responderres', 'eecn': 'localeecn', 'init_depth': 'initdepth', 'remote_eecn': 'remoteeecn',
       'remote_timeout': 'remoteresptout', 'service': 'transpsvctype', 'flow_control': 'e2eflowctrl', 'psn': 'startpsn',
       'local_timeout': 'localresptout', 'retry': 'retrcount', 'pkey': 'pkey', 'mtu': 'pppmtu', 'rdc': 'rdcexist',
       'rnr_retry': 'rnrretrcount', 'max_retries': 'maxcmretr', 'srq': 'srq', 'ext_service': 'ext_transport'}
REQ.update({'path.' + k: 'prim_' + v for k, v in PATH.items()})
REQ.update({'alt.' + k: 'alt_' + v for k, v in PATH.items()})
REQ_PLAIN = {'private_data': 'private'}
REQ_IP = {'ip.version': 'ip_cm.ipv', 'ip.sport': 'ip_cm.sport', 'ip.src': 'ip_cm.sip', 'ip.dst': 'ip_cm.dip'}
FIELDS = {
    'req': ('req', REQ),
    'rej': ('rej', {'local_id': 'localcommid', 'remote_id': 'remotecommid', 'msg': 'msgrej', 'ari_len': 'rejinfolen',
                    'reason': 'reason', 'ari': 'ari', 'private_data': 'private'}),
    'rep': ('rep', {'local_id': '', 'remote_id': 'remotecommid', 'qkey': 'localqkey', 'qpn': 'localqpn', 'eecn': 'localeecn',
                    'psn': 'startpsn', 'resp_res': 'respres', 'init_depth': 'initdepth', 'ack_delay': 'tgtackdelay',
                    'failover': 'failoveracc', 'flow_control': 'e2eflowctrl', 'rnr_retry': 'rnrretrcount', 'srq': 'srq',
                    'ca_guid': 'localcaguid', 'private_data': 'private'}),
    'rtu': ('rtu', {'local_id': 'localcommid', 'remote_id': 'remotecommid', 'private_data': 'private'}),
    'dreq': ('dreq', {'local_id': 'localcommid', 'remote_id': 'remotecommid', 'private_data': 'private'}),
    'drep': ('drsp', {'local_id': 'localcommid', 'remote_id': 'remotecommid', 'private_data': 'private'}),
}
ATTRIBUTE = {'req': 0x10, 'mra': 0x11, 'rej': 0x12, 'rep': 0x13, 'rtu': 0x14, 'dreq': 0x15, 'drep': 0x16, 'sidr_req': 0x17,
             'sidr_rep': 0x18, 'lap': 0x19, 'apr': 0x1a}


def frame(mad, v6):
    """A datagram between two QP1s; of the CRC nothing is asked here."""
    bth = bytes([0x64, 0x40, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]) + bytes.fromhex('8001000000000001')
    udp = UDP(sport=0xc000, dport=4791, chksum=0) / Raw(bth + mad + b'\0' * 4)
    if v6:
        ip = bytes(IPv6(src='2001:db8::1', dst='2001:db8::2') / udp)
    else:
        ip = bytes(IP(src='192.0.2.1', dst='192.0.2.2', flags='DF', id=0) / udp)
    return Ether(dst='02:00:00:00:00:02', src='02:00:00:00:00:01', type=0x86dd if v6 else 0x0800) / Raw(ip)


def equal(ours, theirs):
    """tshark shows addresses, octets (in pairs of digits or not), or a number."""
    if theirs == '':
        return False
    if '.' in theirs or '::' in theirs or theirs.count(':') == 7:
        return ipaddress.ip_address(theirs).packed.hex() == ours
    if len(ours) > 20:
        return theirs.replace(':', '') == ours
    return int(theirs, 0) == int(ours)


def read(path, names):
    args = ['tshark', '-r', path, '-T', 'fields', '-E', 'occurrence=f'] + [a for n in names for a in ('-e', n)]
    out = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True).stdout.decode()
    return [dict(zip(names, line.split('\t'))) for line in out.splitlines()]


def theirs_of(row, name, field):
    """Between IPv4 addresses tshark shows GIDs, and the addresses of annex A11, as such; and takes a service apart."""
    if name.startswith('path.') and name.endswith('gid') and row['v4']:
        return field + '_ipv4', row[name][-8:]
    if name in ('ip.src', 'ip.dst'):
        return (field + '4', row[name][-8:]) if row['ip.version'] == '4' else (field + '6', row[name])
    if name.endswith('flow_label'):
        return field, str(int(row[name]) >> 8)
    if name == 'service_id' and 'ip.version' in row:
        return field + '.dport', str(int(row[name]) & 0xffff)
    return field, row[name]


def dissected(path, rows, kind):
    """Every field of every message of a kind; tshark has no dissector for the other kinds."""
    base, fields = FIELDS[kind]
    prefix = 'infiniband.cm.' + base
    names = {k: prefix + ('.' + v if v else '') for k, v in fields.items()}
    names.update(COMMON)
    if kind == 'dreq':
        names['remote_qpn'] = 'infiniband.cm.req.remoteqpneecn'
    if kind == 'req':
        names.update({k: prefix + '.' + v for k, v in {**REQ_PLAIN, **REQ_IP}.items()})
    mine = [dict(r, n=i) for i, r in enumerate(rows) if r['kind'] == kind]
    wanted = [{theirs_of(r, n, f) for n, f in names.items() if n in r and not (n == 'private_data' and 'ip.version' in r)}
              for r in mine]
    got = read(path, sorted({f for w in wanted for f, _ in w}) + ['_ws.malformed'])
    if len(got) != len(rows):
        return '%d of %d frames' % (len(got), len(rows))
    for r, w in zip(mine, wanted):
        g = got[r['n']]
        if g['_ws.malformed']:
            return 'frame %d is malformed' % r['n']
        for field, ours in w:
            if not equal(ours, g[field]):
                return 'frame %d: %s, tshark %s %s' % (r['n'], ours, field, g[field])
    return None if len(mine) == 20 and min(len(w) for w in wanted) >= 4 else 'too few fields'


def attributes(path, rows):
    got = read(path, ['infiniband.mad.attributeid', 'infiniband.mad.mgmtclass', 'infiniband.mad.classversion',
                      'infiniband.mad.method', 'infiniband.mad.baseversion'])
    for i, (row, g) in enumerate(zip(rows, got)):
        if [int(v, 0) for v in g.values()] != [ATTRIBUTE[row['kind']], 7, 2, 3, 1]:
            return 'frame %d: %s is %s' % (i, row['kind'], g)
    return None if len(got) == len(rows) else '%d of %d frames' % (len(got), len(rows))


with tpmd.scratch() as d:
    pcap = d + '/cm.pcap'
    out = subprocess.run([PROGRAM, '7174'], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
    messages = []
    for line in out.splitlines():
        words = line.split(' ')
        messages.append(dict([('kind', words[0])] + [w.split('=', 1) for w in words[1:]]))
    for i, m in enumerate(messages):
        m['v4'] = i // len(ATTRIBUTE) % 2 == 0
    wrpcap(pcap, [frame(bytes.fromhex(m['mad']), not m['v4']) for m in messages])
    cases.run('cm-wire-attributes', attributes, pcap, messages)
    for what in FIELDS:
        cases.run('cm-wire-' + what, dissected, pcap, messages, what)
cases.exit()
