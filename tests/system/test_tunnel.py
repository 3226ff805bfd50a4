#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified dpdk-testpmd sends large frames inside VXLAN, in segments with checksums of both frames; scapy judges."""
import tpmd
from scapy.all import IP, TCP, UDP, Ether, rdpcap, wrpcap
from scapy.layers.vxlan import VXLAN

cases = tpmd.Cases()
MSS = 700
DATA = bytes(i % 251 for i in range(2000))


def large_frame():
    """Both checksums of the inner frame are wrong: the card must write them."""
    inner = (Ether(dst='02:00:00:00:00:77', src='02:00:00:00:00:78') / IP(src='66.9.149.187', dst='161.142.100.80', chksum=2) /
             TCP(sport=2794, dport=1766, chksum=1) / DATA)
    return (Ether(dst='00:02:c9:a1:b2:01', src='02:00:00:00:00:01') / IP(src='10.0.0.1', dst='10.0.0.2') /
            UDP(sport=50000, dport=4789, chksum=0) / VXLAN(flags=8, vni=5) / inner)


def send(d):
    wrpcap(d + '/in.pcap', [large_frame()] * 4)
    pcap = 'net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/out.pcap,infinite_rx=1' % (d, d)
    with tpmd.Testpmd([pcap, 'net_mlx4_model0,ports=1,wire0=ethdev:net_pcap0'],
                      ['--forward-mode=csum', '--max-pkt-len=2200', '--mbuf-size=4096']) as t:
        p = t.ports[0]
        for line in ('port stop all', 'csum set ip hw %d', 'csum set tcp hw %d', 'csum set outer-ip hw %d',
                     'csum parse-tunnel on %d', 'port config %d tx_offload vxlan_tnl_tso on', 'tunnel_tso set ' + str(MSS) + ' %d',
                     'port start all', 'port config %d udp_tunnel_port add vxlan 4789', 'set promisc all on', 'start'):
            t.cmd(line % p if '%d' in line else line)
        t.until(p, 'tx_port_packets', 6, get=t.xstats)
        t.cmd('stop')


def sums_are_scapys(frame):
    again = Ether(bytes(frame))
    for layer in (again[IP], again[VXLAN][IP], again[TCP]):
        del layer.chksum
    return bytes(Ether(bytes(again))) == bytes(frame)


def vxlan_tso():
    with tpmd.scratch() as d:
        send(d)
        out = rdpcap(d + '/out.pcap', count=6)
    if len(out) != 6:
        return '%d frames came, wanted 6 or more' % len(out)
    for i, frame in enumerate(out):
        want = DATA[i % 3 * MSS:][:MSS]
        if bytes(frame[TCP].payload) != want or frame[TCP].seq != i % 3 * MSS:
            return 'segment %d: %d bytes from %d on' % (i, len(frame[TCP].payload), frame[TCP].seq)
        if frame[UDP].len != len(frame) - 34 or not sums_are_scapys(frame):
            return 'segment %d: wrong lengths or checksums: %s' % (i, bytes(frame)[:120].hex())
    return None


cases.run('tunnel-vxlan-tso', vxlan_tso)
cases.exit()
