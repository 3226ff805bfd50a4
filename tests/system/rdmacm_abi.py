# SPDX-License-Identifier: BSD-3-Clause
"""
Runs by triplane-run: commands of <rdma/rdma_user_cm.h> in octets, as a kernel is asked by programs that do without librdmacm or
have another release of it. The first argument is an address of a port, the second one of another port.
"""
import ctypes
import errno
import fcntl
import os
import select
import socket
import stat
import struct
import sys
import threading

DEVICE = '/dev/infiniband/rdma_cm'
(CREATE, DESTROY, BIND_IP, RESOLVE_IP, RESOLVE_ROUTE, QUERY_ROUTE, CONNECT, LISTEN, ACCEPT, REJECT, DISCONNECT, INIT_QP_ATTR,
 GET_EVENT, GET_OPTION, SET_OPTION, NOTIFY, JOIN_IP, LEAVE, MIGRATE, QUERY, BIND, RESOLVE_ADDR, JOIN) = range(23)
ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, MULTICAST_JOIN = 0, 1, 2, 12
TCP, UDP = 0x106, 0x111
bad = 0


def command(fd, cmd, body, out=0, answer=None):
    """0, or minus errno."""
    head = struct.pack('<IHH', cmd, len(body), out)
    try:
        return os.write(fd, head + body) - len(head + body)
    except OSError as e:
        return -e.errno


def asked(fd, cmd, form, *args, out):
    """Of a command whose answer's address comes first; the answer, or minus errno."""
    buf = ctypes.create_string_buffer(out)
    rc = command(fd, cmd, struct.pack('<Q' + form, ctypes.addressof(buf), *args), out)
    return buf.raw if rc == 0 else rc


def create(fd, ps=TCP, qp_type=2, uid=77):
    buf = ctypes.create_string_buffer(4)
    rc = command(fd, CREATE, struct.pack('<QQHB5x', uid, ctypes.addressof(buf), ps, qp_type), 4)
    return struct.unpack('<I', buf.raw)[0] if rc == 0 else rc


def destroy(fd, i):
    a = asked(fd, DESTROY, 'II', i, 0, out=4)
    return struct.unpack('<I', a)[0] if isinstance(a, bytes) else a


def inet(addr, port=0):
    return struct.pack('<H', socket.AF_INET) + struct.pack('>H', port) + socket.inet_aton(addr)


def bind(fd, i, addr, port=0, size=16):
    return command(fd, BIND, struct.pack('<IHH', i, size, 0) + inet(addr, port).ljust(128, b'\0'))


def resolve(fd, i, dst, port=0, timeout=5000):
    return command(fd, RESOLVE_ADDR, struct.pack('<IIHHI', i, timeout, 0, 16, 0) + bytes(128) + inet(dst, port).ljust(128, b'\0'))


def event(fd):
    """(uid, id, event, status, the rest), or minus errno."""
    a = asked(fd, GET_EVENT, '', out=336)
    return struct.unpack_from('<QIIi', a) + (a[20:],) if isinstance(a, bytes) else a


def readable(fd, ms=60000):
    p = select.poll()
    p.register(fd, select.POLLIN)
    return p.poll(ms) == [(fd, select.POLLIN)]


def case(name, got, want):
    global bad
    bad += got != want
    print('ok ' + name if got == want else 'not ok %s: %r, wanted %r' % (name, got, want), flush=True)


def identity(fd):
    """What the descriptor is, and its copies."""
    case('device', stat.S_ISCHR(os.fstat(fd).st_mode), True)
    case('other-files', stat.S_ISREG(os.fstat(os.open(__file__, os.O_RDONLY)).st_mode), True)
    copy, third = os.dup(fd), fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)
    i = create(copy)
    case('copies', (destroy(third, i), create(fd) > 0), (0, True))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (create(fd), command(copy, LISTEN, struct.pack('<II', i, 1))) == (-errno.EIO,) * 2 else 1)
    case('child', os.waitpid(pid, 0)[1], 0)
    os.close(copy)
    i = create(fd)
    case('copy-closed', i > 0, True)
    os.dup2(os.open('/dev/null', os.O_WRONLY), third)
    case('no-copy-any-more', (os.write(third, b'x' * 24), stat.S_ISCHR(os.fstat(third).st_mode)), (24, True))
    case('still-there', destroy(fd, i), 0)


def refusals(fd):
    i = create(fd)
    case('port-space', [create(fd, ps) for ps in (2, 0x999)], [-errno.EOPNOTSUPP] * 2)
    case('port-space-ib', destroy(fd, create(fd, 0x13f)), 0)
    case('queue-pair-type', create(fd, 0x13f, 9), -errno.EOPNOTSUPP)
    case('no-such-id', (destroy(fd, 60000), bind(fd, 60001, '0.0.0.0')), (-errno.ENOENT,) * 2)
    other = os.open(DEVICE, os.O_RDWR)
    case('another-channel', (destroy(other, i), bind(other, i, '0.0.0.0')), (-errno.EINVAL,) * 2)
    case('no-room', asked(fd, DESTROY, 'II', i, 0, out=3), -errno.ENOSPC)
    case('no-room-for-a-route', asked(fd, QUERY_ROUTE, 'II', i, 0, out=150), -errno.ENOSPC)
    case('commands', [command(fd, c, b'') for c in (GET_OPTION, 23, 4000)], [-errno.ENOSYS, -errno.EINVAL, -errno.EINVAL])
    case('short', os_write(fd, b'\0' * 7), -errno.EINVAL)
    case('longer-than-it-is', os_write(fd, struct.pack('<IHH', LISTEN, 9, 0) + bytes(8)), -errno.EINVAL)
    case('no-answer-address', command(fd, GET_EVENT, b'', 336), -errno.EINVAL)
    case('family', (bind(fd, i, '0.0.0.0', size=8), command(fd, BIND, struct.pack('<IHHH', i, 48, 0, 27).ljust(136, b'\0'))),
         (-errno.EINVAL, -errno.EAFNOSUPPORT))
    case('foreign-address', bind(fd, i, '198.51.100.9'), -errno.EADDRNOTAVAIL)
    case('state', [command(fd, c, struct.pack('<II', i, 0)) for c in (RESOLVE_ROUTE, DISCONNECT, NOTIFY)], [-errno.EINVAL] * 3)
    case('attributes', asked(fd, INIT_QP_ATTR, 'II', i, 6, out=144), -errno.EINVAL)
    case('reject-reason', command(fd, REJECT, struct.pack('<IBB2x256x', i, 0, 9)), -errno.EINVAL)
    case('no-parameters', command(fd, CONNECT, bytes(272) + struct.pack('<II8x', i, 0)), -errno.EINVAL)
    case('option', option(fd, i, 1, 1, b'\0' * 4), -errno.ENOSYS)
    case('option-size', option(fd, i, 0, 1, b'\1'), -errno.EINVAL)
    case('option-set', option(fd, i, 0, 1, struct.pack('<i', 1)), 0)
    case('gone', destroy(fd, i), 0)
    os.close(other)


def os_write(fd, data):
    try:
        return os.write(fd, data)
    except OSError as e:
        return -e.errno


def option(fd, i, level, name, value):
    buf = ctypes.create_string_buffer(value, len(value))
    return command(fd, SET_OPTION, struct.pack('<QIIII', ctypes.addressof(buf), i, level, name, len(value)))


def addresses(fd, here, there):
    """Two ids on one channel and a second one, events by poll."""
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)
    i = create(fd, uid=1234)
    case('no-event', (event(fd), readable(fd, 0)), (-errno.EAGAIN, False))
    case('bound', bind(fd, i, here, 7777), 0)
    a = asked(fd, QUERY, 'II', i, 0, out=280)
    guid, port, pkey, src, dst = struct.unpack_from('<QBxHHH', a)
    case('address', (a[16:24], port, pkey, src, guid != 0), (inet(here, 7777), 1, 0xffff, 16, True))
    case('taken', bind(fd, create(fd), here, 7777), -errno.EADDRINUSE)
    case('resolves', resolve(fd, i, there, 9), 0)
    case('tells', readable(fd), True)
    case('resolved', event(fd)[:4], (1234, i, ADDR_RESOLVED, 0))
    case('silent-again', (readable(fd, 0), event(fd)), (False, -errno.EAGAIN))
    case('route', command(fd, RESOLVE_ROUTE, struct.pack('<II', i, 100)), 0)
    second = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK)
    a = asked(second, MIGRATE, 'II', i, fd, out=4)
    case('moved', (a, readable(fd, 0), readable(second)), (struct.pack('<I', 1), False, True))
    case('moved-event', event(second)[:4], (1234, i, ROUTE_RESOLVED, 0))
    a = asked(second, QUERY, 'II', i, 1, out=512)
    mapped = b'\0' * 10 + b'\xff\xff'
    case('path', (struct.unpack_from('<I', a)[0], a[24:40], a[40:56]),
         (1, mapped + socket.inet_aton(there), mapped + socket.inet_aton(here)))
    a = asked(second, QUERY, 'II', i, 2, out=280)
    case('gids', (a[24:40], a[152:168]), (mapped + socket.inet_aton(here), mapped + socket.inet_aton(there)))
    case('older-room', len(asked(second, QUERY_ROUTE, 'II', i, 0, out=204)), 204)
    case('reported', destroy(second, i), 2)
    os.close(second)
    i = create(fd)
    case('port-free-again', bind(fd, i, here, 7777), 0)
    for _ in range(200):
        if resolve(fd, i, '192.0.2.250', timeout=0) != 0:
            break
        readable(fd)
    case('unread', resolve(fd, i, '192.0.2.250', timeout=0), -errno.ENOBUFS)
    # One answer that is fetched makes room for one question.
    case('unread-one-more', (event(fd)[2], resolve(fd, i, '192.0.2.250', timeout=0), resolve(fd, i, '192.0.2.250', timeout=0)),
         (ADDR_ERROR, 0, -errno.ENOBUFS))
    case('unread-dropped', (destroy(fd, i), readable(fd, 0)), (1, False))
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)


def groups(fd, here):
    i = create(fd, UDP, 4)
    bind(fd, i, here)

    def join(addr, flags=0, uid=5):
        buf = ctypes.create_string_buffer(4)
        rc = command(fd, JOIN, struct.pack('<QQIHH', ctypes.addressof(buf), uid, i, 16, flags) + inet(addr).ljust(128, b'\0'), 4)
        return struct.unpack('<I', buf.raw)[0] if rc == 0 else rc

    case('join-flags', join('239.9.9.1', 2), -errno.EINVAL)
    case('join-no-group', join('192.0.2.9'), -errno.EINVAL)
    m = join('239.9.9.1', 1, 99)
    case('joined', event(fd)[:4], (99, m, MULTICAST_JOIN, 0))
    case('joined-twice', join('239.9.9.1'), -errno.EADDRINUSE)
    case('left', asked(fd, LEAVE, 'II', m, 0, out=4), struct.pack('<I', 1))
    case('left-twice', asked(fd, LEAVE, 'II', m, 0, out=4), -errno.ENOENT)
    case('with-its-groups', (join('239.9.9.2') > 0, join('239.9.9.3') > 0, destroy(fd, i)), (True, True, 1))


def older(fd, here, there):
    """Commands with an address of one size (struct sockaddr_in6), which came before those that say how long it is; and what nobody asked for."""
    def sin6(addr, port=0):
        return inet(addr, port).ljust(28, b'\0')

    i = create(fd, uid=4321)
    bound = [command(fd, BIND_IP, struct.pack('<Q28sI', 0, sin6(addr, 7778), i)) for addr in ('198.51.100.9', here)]
    a = asked(fd, QUERY, 'II', i, 0, out=280)
    case('bind-ip', (bound, a[16:24]), ([-errno.EADDRNOTAVAIL, 0], inet(here, 7778)))
    case('resolve-ip', command(fd, RESOLVE_IP, struct.pack('<28s28sII', b'', sin6(there, 9), i, 5000)), 0)
    case('resolved-ip', event(fd)[:4], (4321, i, ADDR_RESOLVED, 0))
    a = asked(fd, QUERY, 'II', i, 0, out=280)
    case('resolved-where', a[144:152], inet(there, 9))
    accept = [command(fd, ACCEPT, struct.pack('<Q272sII8x', 0, bytes(271) + b'\1', n, 0)) for n in (i, 60000)]
    case('accept', accept, [-errno.EINVAL, -errno.ENOENT])
    destroy(fd, i)
    i = create(fd, UDP, 4)
    bind(fd, i, here)
    buf = ctypes.create_string_buffer(4)
    rc = command(fd, JOIN_IP, struct.pack('<QQ28sI', ctypes.addressof(buf), 98, sin6('239.9.9.4'), i), 4)
    case('join-ip', (rc, event(fd)[:4]), (0, (98, struct.unpack('<I', buf.raw)[0], MULTICAST_JOIN, 0)))
    case('join-ip-gone', destroy(fd, i), 1)


def closed_at_once():
    """
    One thread asks for an event, another closes the channel, or has another file take its number (the end of a pipe that nobody writes
    to): the first waits, as there is none, or hears that it came too late.
    """
    end, other = os.pipe()
    for name, closes in (('closed-at-once', os.close), ('replaced-at-once', lambda fd: os.dup2(end, fd))):
        heard, fds = [], []
        for _ in range(200):
            fds.append(os.open(DEVICE, os.O_RDWR))
            threading.Thread(target=lambda fd=fds[-1]: heard.append(event(fd)), daemon=True).start()
            closes(fds[-1])
            if closes != os.close:
                os.close(fds[-1])
        case(name, {e if isinstance(e, int) else 'an event' for e in heard} - {-errno.EBADF}, set())
    os.close(end)
    os.close(other)


def main():
    here, there = sys.argv[1:]
    fd = os.open(DEVICE, os.O_RDWR)
    identity(fd)
    refusals(fd)
    addresses(fd, here, there)
    groups(fd, here)
    older(fd, here, there)
    os.close(fd)
    closed_at_once()
    case('closed', os_write(fd, b'\0' * 8), -errno.EBADF)
    # What the channel had is gone with it: its port is free.
    fd = os.open(DEVICE, os.O_RDWR)
    case('closed-with-all', bind(fd, create(fd), here, 7777), 0)
    sys.stdout.flush()
    os._exit(bad != 0)  # threads wait for ever


if __name__ == '__main__':
    main()
