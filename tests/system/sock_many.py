# SPDX-License-Identifier: BSD-3-Clause
"""
Thousands of connections of one program of plain sockets: `server ADDRESS PORT N` has N at a time by epoll, answers each message by
its octets turned round, and waits for a line when all are over; `client ADDRESS PORT N` makes them, and waits for a line before each
has its message and its answer, and for another before it ends them.
"""
import resource
import select
import socket
import sys


def server(listener, count):
    listener.setblocking(False)
    ep = select.epoll()
    ep.register(listener, select.EPOLLIN)
    conns, answers, ended = {}, {}, 0
    while ended < count:
        for fd, events in ep.poll():
            if fd == listener.fileno():
                take(listener, ep, conns)
                if len(conns) == count:
                    print('open %d' % len(conns), flush=True)
                continue
            conn = conns[fd]
            data = conn.recv(4096) if events & select.EPOLLIN else None
            if data == b'':
                ep.unregister(fd)
                conns.pop(fd).close()
                ended += 1
                continue
            answers[fd] = answers.get(fd, b'') + (data or b'')[::-1]
            try:
                answers[fd] = answers[fd][conn.send(answers[fd]):]
            except BlockingIOError:
                pass
            ep.modify(fd, select.EPOLLIN | (select.EPOLLOUT if answers[fd] else 0))
    print('answers left: %d' % sum(len(a) for a in answers.values()), flush=True)
    # A program that ends waits 5 s at most for its last words to be heard.
    sys.stdin.readline()


def take(listener, ep, conns):
    while True:
        try:
            conn = listener.accept()[0]
        except BlockingIOError:
            return
        conn.setblocking(False)
        conns[conn.fileno()] = conn
        ep.register(conn, select.EPOLLIN)


def client(at, count):
    conns = [socket.create_connection(at) for _ in range(count)]
    print('connected %d' % len(conns), flush=True)
    sys.stdin.readline()
    for n, conn in enumerate(conns):
        conn.sendall(b'message %06d' % n)
    # The first that is read comes last, when all others wait to be read.
    wrong = sum(conn.recv(14, socket.MSG_WAITALL)[::-1] != b'message %06d' % n for n, conn in reversed(list(enumerate(conns))))
    print('wrong answers: %d' % wrong, flush=True)
    sys.stdin.readline()
    for conn in conns:
        conn.shutdown(socket.SHUT_WR)
    # A peer's end comes when it has read ours.
    print('ended: %d' % sum(conn.recv(1) == b'' for conn in conns), flush=True)


def main():
    role, addr, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if role == 'server':
        listener = socket.create_server((addr, port), backlog=1024)
        print('listens', flush=True)
        server(listener, count)
    else:
        client((addr, port), count)


if __name__ == '__main__':
    main()
