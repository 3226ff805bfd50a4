# SPDX-License-Identifier: BSD-3-Clause
"""
view_counters.py DEVICE DEVICE PORT: in a view of triplane-run, what both ports count while a connection of ibv_rc_pingpong sends
MESSAGES each way, as JSON. PORT: of TCP, where its ends meet.
"""
import json
import subprocess
import sys
import time

MESSAGES, SIZE, MTU, GID, LIMIT = 100, 4096, 1024, 3, 120
NAMES = ('port_xmit_packets', 'port_rcv_packets', 'port_xmit_data', 'port_rcv_data')
PACKETS = MESSAGES * SIZE // MTU


def wrong(rc, out, err=''):
    """None, or what is wrong with an exit code and output."""
    if rc != 0:
        return 'exit code %s: %s %s' % (rc, out[-600:], err[-600:])
    for grew in json.loads(out.splitlines()[-1]):
        # A packet of data, and as many at most that acknowledge; headers of 58 to 78 octets, of these packets and of few others.
        if not (PACKETS <= grew['port_xmit_packets'] <= 2 * PACKETS + 50 and PACKETS <= grew['port_rcv_packets'] <= 2 * PACKETS + 50):
            return 'packets: %s' % grew
        for way in ('xmit', 'rcv'):
            headers = grew['port_%s_data' % way] * 4 - PACKETS * MTU
            if not 58 * PACKETS <= headers <= 90 * grew['port_%s_packets' % way]:
                return 'octets of headers %s: %s' % (headers, grew)
    return None


def read(dev):
    found = {}
    for name in NAMES:
        with open('/sys/class/infiniband/%s/ports/1/counters/%s' % (dev, name)) as f:
            found[name] = int(f.read())
    return found


def main():
    devs, port = sys.argv[1:3], sys.argv[3]
    before = [read(d) for d in devs]

    def grew():
        return [{n: now - b[n] for n, now in read(d).items()} for d, b in zip(devs, before)]

    cmd = ['ibv_rc_pingpong', '-g', str(GID), '-n', str(MESSAGES), '-s', str(SIZE), '-m', str(MTU), '-p', port, '-d']
    server = subprocess.Popen([*cmd, devs[0]], stdout=subprocess.DEVNULL)
    end = time.monotonic() + LIMIT
    while subprocess.run([*cmd, devs[1], '127.0.0.1'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > end:
            sys.exit('no connection')
    server.wait()
    while time.monotonic() < end and any(wrong(0, json.dumps([g])) for g in grew()):
        time.sleep(0.05)
    print(json.dumps(grew()))


if __name__ == '__main__':
    main()
