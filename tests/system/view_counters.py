# SPDX-License-Identifier: BSD-3-Clause
"""
view_counters.py DEVICE DEVICE PORT: in a view of triplane-run, what both ports count while a connection of ibv_rc_pingpong sends
MESSAGES each way, and what the second one's transport counts when one end of another connection is killed, as JSON. PORT: of TCP,
where ends meet.
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
    grew, gave_up = json.loads(out.splitlines()[-1])
    # Of the end that was left one request is sent again until it is given up. On a busy machine that may have happened before, too.
    return wrong_figures(grew) or (None if gave_up > 0 else 'retries exceeded: %s' % gave_up)


def wrong_figures(ports):
    for grew in ports:
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


def exceeded(dev):
    with open('/sys/class/infiniband/%s/ports/1/hw_counters/req_retries_exceeded' % dev) as f:
        return int(f.read())


def left(devs, port, end):
    """A connection whose one end is killed while the other one writes: how often that one's transport gave up."""
    before, sent = exceeded(devs[1]), read(devs[1])['port_xmit_packets']
    cmd = ['ib_write_bw', '-x', str(GID), '-F', '-s', str(SIZE), '-D', str(LIMIT), '-p', port, '-d']
    server, client = subprocess.Popen([*cmd, devs[0]], stdout=subprocess.DEVNULL), None
    try:
        while read(devs[1])['port_xmit_packets'] < sent + MESSAGES:
            if client is None or client.poll() is not None:
                client = subprocess.Popen([*cmd, devs[1], '127.0.0.1'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if server.poll() is not None or time.monotonic() > end:
                sys.exit('no second connection')
            time.sleep(0.05)
        server.kill()
        # The figure in the file is some moments old.
        while time.monotonic() < end and (client.poll() is None or exceeded(devs[1]) == before):
            time.sleep(0.05)
        return exceeded(devs[1]) - before
    finally:
        for p in (server, client):
            if p is not None:
                p.kill()
                p.wait()


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
    while time.monotonic() < end and wrong_figures(grew()):
        time.sleep(0.05)
    figures = grew()
    print(json.dumps([figures, left(devs, port, end)]))


if __name__ == '__main__':
    main()
