#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 Triplane contributors
"""The card's vfio-user socket from outside: raw bytes of every message, right and wrong, and both sides killed."""
import array
import json
import mmap
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import tpmd

BUILD = os.environ.get("TP_BUILD", "build")
HCA = os.path.join(BUILD, "apps/triplane-hca/triplane-hca")
# By name: the EAL refuses a plugin by path when a folder above it is world-writable.
PLUGIN = "librte_net_mlx4_vfio.so"
os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [os.path.join(os.path.abspath(BUILD), "drivers/mlx4"), os.environ.get("LD_LIBRARY_PATH")]))

VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, REGION_IO_FDS, IRQ_INFO, SET_IRQS, READ, WRITE = range(1, 11)
DMA_READ, DMA_WRITE, RESET, WRITE_MULTI, FEATURE = 11, 12, 13, 15, 16
NO_REPLY, REPLY, ERROR = 0x10, 1, 0x20
EINVAL, ENOSYS, ENOTSUP, ENOTTY, EEXIST, EBUSY = 22, 38, 95, 25, 17, 16
BAR0, BAR2, CONFIG = 0, 2, 7
CAPS = {"capabilities": {"max_msg_fds": 16, "max_data_xfer_size": 1048576, "max_dma_maps": 65535, "pgsizes": 4096}}

tmp = tempfile.TemporaryDirectory(prefix="vfio-user.")
failed = 0
LIMIT = 60  # seconds, for what takes moments on a machine with a CPU to spare


def wait(what, why, seconds=LIMIT):
    """Until what() is true; why() says what there is instead."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise AssertionError(why())
        time.sleep(0.02)


class Card:
    def __init__(self, name="card", *args):
        self.path = os.path.join(tmp.name, name + ".sock")
        self.log = os.path.join(tmp.name, name + ".log")
        self.out = open(self.log, "w")
        self.p = subprocess.Popen([HCA, "--socket", self.path, *args], stdout=self.out, stderr=subprocess.STDOUT)
        wait(lambda: os.path.exists(self.path) and "ready" in self.said() or not self.alive(), self.said)
        if not self.alive():
            raise RuntimeError("card does not start: " + self.said())

    def said(self):
        with open(self.log) as f:
            return f.read()

    def report(self):
        """Counters as they are now."""
        before = open(self.log).read().count("report: end")
        self.p.send_signal(signal.SIGUSR1)
        wait(lambda: self.said().count("report: end") > before, lambda: "no report")
        text = self.said()
        text = text[text.rindex("report: violations"):]
        return {k: int(v) for k, v in re.findall(r"report: (violations|malformed|clients) (\d+)", text)}

    def alive(self):
        return self.p.poll() is None

    def end(self):
        self.p.terminate()
        rc = self.p.wait(LIMIT)
        assert rc == 0, "exit status %d: %s" % (rc, open(self.log).read()[-500:])


class Client:
    def __init__(self, card, hello=True):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(LIMIT)
        self.s.connect(card.path)
        self.id = 0
        if hello:
            err, payload, _ = self.call(VERSION, struct.pack("<HH", 0, 0) + json.dumps(CAPS).encode() + b"\0")
            assert err == 0
            self.caps = json.loads(payload[4:-1])["capabilities"]

    def send(self, cmd, payload=b"", fds=(), flags=0, size=None):
        self.id = (self.id + 1) & 0xFFFF
        h = struct.pack("<HHIII", self.id, cmd, 16 + len(payload) if size is None else size, flags, 0)
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.s.sendmsg([h + payload], anc)
        return self.id

    def take(self, n):
        b, fds = b"", array.array("i")
        while len(b) < n:
            d, anc, _, _ = self.s.recvmsg(n - len(b), socket.CMSG_SPACE(64))
            for lv, ty, data in anc:
                if (lv, ty) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(data[:len(data) // 4 * 4])
            if not d:
                raise EOFError
            b += d
        return b, list(fds)

    def answer(self, want):
        h, fds = self.take(16)
        i, cmd, size, flags, err = struct.unpack("<HHIII", h)
        assert i == want and flags & 0xF == REPLY, "answer %d flags %#x to message %d" % (i, flags, want)
        p, more = self.take(size - 16) if size > 16 else (b"", [])
        assert (err != 0) == bool(flags & ERROR)
        return err, p, fds + more

    def call(self, cmd, payload=b"", fds=(), size=None):
        return self.answer(self.send(cmd, payload, fds, 0, size))

    def read(self, region, off, n):
        err, p, _ = self.call(READ, struct.pack("<QII", off, region, n))
        return err if err else p[16:]

    def write(self, region, off, data):
        return self.call(WRITE, struct.pack("<QII", off, region, len(data)) + data)[0]

    def gone(self):
        """True when the server closed the connection."""
        try:
            while self.s.recv(4096):
                pass
            return True
        except ConnectionResetError:
            return True
        except socket.timeout:
            return False

    def close(self):
        self.s.close()


def memfd(size):
    fd = os.memfd_create("test")
    os.ftruncate(fd, size)
    return fd


def dma(iova, size, off=0, flags=3, argsz=32):
    return struct.pack("<IIQQQ", argsz, flags, off, iova, size)


def undma(iova, size, flags=0, argsz=24):
    return struct.pack("<IIQQ", argsz, flags, iova, size)


def query_fw(c, iova):
    """The first command of any driver, by hand: its mailbox at iova. Returns the status."""
    for off, val in ((0x80680, 0), (0x80684, 0), (0x80688, 0), (0x8068C, iova >> 32), (0x80690, iova & 0xFFFFFFFF),
                     (0x80694, 1 << 16)):
        assert c.write(BAR0, off, struct.pack(">I", val)) == 0
    assert c.write(BAR0, 0x80698, struct.pack(">I", 1 << 23 | 0x004)) == 0
    return struct.unpack(">I", c.read(BAR0, 0x80698, 4))[0] >> 24


# --- right messages ---

def version(card):
    c = Client(card)
    assert c.caps == {"max_msg_fds": 16, "max_data_xfer_size": 65536, "max_dma_maps": 65535, "pgsizes": 4096}, c.caps
    c.close()
    c = Client(card, hello=False)
    err, p, _ = c.call(VERSION, struct.pack("<HH", 0, 7))  # no JSON: the defaults
    assert err == 0 and p[:4] == bytes(4)
    assert json.loads(p[4:-1])["capabilities"]["max_msg_fds"] == 1
    c.close()


def device_info(card):
    c = Client(card)
    err, p, _ = c.call(GET_INFO, struct.pack("<IIII", 16, 0, 0, 0))
    assert err == 0 and struct.unpack("<IIII", p) == (16, 3, 9, 5)
    c.close()


def region_info(card):
    c = Client(card)
    for i, size in enumerate((1 << 20, 0, 8 << 20, 0, 0, 0, 0, 4096, 0)):
        err, p, fds = c.call(REGION_INFO, struct.pack("<IIIIQQ", 32, 0, i, 0, 0, 0))
        assert err == 0 and not fds
        # no mmap and no capabilities: doorbells must come as messages
        assert struct.unpack("<IIIIQQ", p) == (32, 3 if size else 0, i, 0, size, 0)
    c.close()


def irq_info(card):
    c = Client(card)
    for i, (n, flags) in enumerate(((1, 7), (0, 0), (128, 9), (0, 0), (0, 0))):
        err, p, _ = c.call(IRQ_INFO, struct.pack("<IIII", 16, 0, i, 0))
        assert err == 0 and struct.unpack("<IIII", p) == (16, flags, i, n)
    c.close()


def config_space(card):
    c = Client(card)
    cfg = c.read(CONFIG, 0, 4096)
    assert struct.unpack_from("<HH", cfg, 0) == (0x15B3, 0x1007)
    at, seen = cfg[0x34], {}
    while at:
        seen[cfg[at]] = at
        at = cfg[at + 1]
    assert set(seen) == {1, 3, 9, 0x10, 0x11}, seen
    table, pba = struct.unpack_from("<II", cfg, seen[0x11] + 4)
    assert (table, pba) == (0x7C000, 0x7D000) and cfg[seen[0x11] + 2] == 127
    for bar, size in ((0x10, 1 << 20), (0x18, 8 << 20)):
        assert c.write(CONFIG, bar, b"\xff" * 4) == 0
        assert struct.unpack("<I", c.read(CONFIG, bar, 4))[0] & ~0xF == (1 << 32) - size
    assert c.write(CONFIG, 0, b"\0\0") == 0 and c.read(CONFIG, 0, 2) == b"\xb3\x15"  # read-only
    c.close()


def registers(card):
    c = Client(card)
    c.call(RESET)
    assert c.read(BAR0, 0xF0014, 4) == struct.pack(">I", 0x1F7)
    assert c.read(BAR0, 0xF0015, 2) == b"\x00\x01"  # pieces of a dword
    assert c.read(BAR0, 0x8069C, 4) == bytes(4) and c.read(BAR0, 0x8069C, 4) != bytes(4)  # ownership: read to take
    assert c.write(BAR0, 0x7C00C, b"\0") == 0  # unmask a vector by one byte
    assert c.read(BAR0, 0x7C008, 8) == bytes(8)
    assert c.read(BAR0, 0x7C01C, 4) == b"\1\0\0\0"
    assert c.write(BAR2, 0x80014, bytes(4)) in (0, EINVAL)
    c.close()


def dma_command(card):
    c = Client(card)
    c.call(RESET)
    fd = memfd(1 << 20)
    assert c.call(DMA_MAP, dma(0x10000000, 1 << 20), [fd])[0] == 0
    m = mmap.mmap(fd, 1 << 20)
    assert query_fw(c, 0x10002000) == 0
    fw = struct.unpack_from(">HHHH", m, 0x2000)
    assert fw[1:] == (2, 5000, 42), fw
    assert m[:0x2000] == bytes(0x2000)
    # outside the window: the command fails, the memory stays as it is
    before = m[:]
    assert query_fw(c, 0x10100000) != 0 and m[:] == before
    assert c.call(DMA_UNMAP, undma(0x10000000, 1 << 20))[0] == 0
    assert query_fw(c, 0x10002000) != 0 and m[:] == before
    c.close()


def dma_ranges(card):
    c = Client(card)
    fd = memfd(1 << 20)
    for page in range(64):  # a guest's IOMMU: page by page, one file
        assert c.call(DMA_MAP, dma(0x4000000 + page * 8192, 4096, page * 4096), [fd])[0] == 0
    assert c.call(DMA_MAP, dma(0x4000000 + 8192, 4096), [fd])[0] == EEXIST
    assert c.call(DMA_MAP, dma(0x4000000 - 4096, 8192), [fd])[0] == EEXIST
    assert c.call(DMA_UNMAP, undma(0x4000000 - 4096, 4096))[0] == 0  # never mapped
    assert c.call(DMA_UNMAP, undma(0, 1 << 63))[0] == 0  # all of them
    assert c.call(DMA_MAP, dma(0x4000000, 8192), [fd])[0] == 0
    assert c.call(DMA_UNMAP, undma(0x4000000, 4096))[0] == EINVAL  # would cut a window
    assert c.call(DMA_UNMAP, undma(0, 0, 2))[0] == 0  # all
    assert c.call(DMA_MAP, dma(0, 4096, flags=1))[0] == 0  # a ROM comes without a file
    assert c.call(DMA_MAP, dma(0xFFFFFFFFFFFFF000, 4096), [fd])[0] == 0  # up to the very end
    c.close()


def interrupts(card):
    c = Client(card)
    ev = [os.eventfd(0) for _ in range(4)]
    irqs = lambda flags, index, start, count, data=b"", fds=(): c.call(
        SET_IRQS, struct.pack("<IIIII", 20 + len(data), flags, index, start, count) + data, fds)[0]
    assert irqs(0x21, 2, 0, 0) == 0
    assert irqs(0x24, 2, 0, 4, fds=ev) == 0
    assert irqs(0x22, 2, 0, 4, b"\0\1\0\1") == 0  # trigger by byte
    assert [bool(select.select([e], [], [], 0)[0]) for e in ev] == [False, True, False, True]
    assert irqs(0x21, 2, 0, 1) == 0
    assert select.select([ev[0]], [], [], 0)[0]
    assert irqs(0x24, 2, 0, 1) == 0  # disconnect one
    assert irqs(0x24, 0, 0, 1, fds=ev[:1]) == 0 and irqs(0x09, 0, 0, 1) == 0 and irqs(0x11, 0, 0, 1) == 0  # INTx
    assert irqs(0x21, 2, 0, 0) == 0
    c.close()


def no_reply(card):
    c = Client(card)
    for _ in range(100):
        c.send(WRITE, struct.pack("<QII", 0x80014, BAR2, 4) + bytes(4), flags=NO_REPLY)
    assert c.read(CONFIG, 0, 2) == b"\xb3\x15"  # in order, and nothing else was answered
    c.close()


def shared_uar(card):
    c = Client(card, hello=False)
    caps = {"capabilities": dict(CAPS["capabilities"], triplane_shared_uar=True)}
    assert c.call(VERSION, struct.pack("<HH", 0, 0) + json.dumps(caps).encode() + b"\0")[0] == 0
    err, p, fds = c.call(REGION_INFO, struct.pack("<IIIIQQ", 32, 0, BAR2, 0, 0, 0))
    assert err == 0 and struct.unpack_from("<II", p)[1] == 7 and len(fds) == 1
    assert os.fstat(fds[0]).st_size == 8 << 20
    try:
        os.ftruncate(fds[0], 4096)  # nobody may cut it short
        raise AssertionError("the doorbell file can be cut short")
    except PermissionError:
        pass
    c.close()


# --- wrong messages ---

def refused(card):
    """Each is answered with an error, and the connection lives on."""
    c = Client(card)
    fd, pipe = memfd(8192), os.pipe()
    ro = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
    irq = lambda flags, index, start, count, argsz=20: struct.pack("<IIIII", argsz, flags, index, start, count)
    region = lambda i, argsz=32: struct.pack("<IIIIQQ", argsz, 0, i, 0, 0, 0)
    rw = lambda off, reg, n: struct.pack("<QII", off, reg, n)
    cases = [
        ("unknown command", 99, b"", (), ENOSYS), ("command 0", 0, b"", (), ENOSYS), ("command 14", 14, b"", (), ENOSYS),
        ("command 65535", 65535, b"", (), ENOSYS),
        ("second VERSION", VERSION, struct.pack("<HH", 0, 0), (), EINVAL),
        ("short GET_INFO", GET_INFO, bytes(12), (), EINVAL), ("long GET_INFO", GET_INFO, bytes(20), (), EINVAL),
        ("GET_INFO argsz 8", GET_INFO, struct.pack("<IIII", 8, 0, 0, 0), (), EINVAL),
        ("region 9", REGION_INFO, region(9), (), EINVAL), ("region argsz", REGION_INFO, region(0, 31), (), EINVAL),
        ("region 2^32-1", REGION_INFO, region(0xFFFFFFFF), (), EINVAL),
        ("IRQ index 5", IRQ_INFO, struct.pack("<IIII", 16, 0, 5, 0), (), EINVAL),
        ("io fds", REGION_IO_FDS, bytes(16), (), ENOTSUP), ("DMA_READ", DMA_READ, bytes(16), (), ENOTSUP),
        ("DMA_WRITE", DMA_WRITE, bytes(16), (), ENOTSUP), ("WRITE_MULTI", WRITE_MULTI, bytes(16), (), ENOTSUP),
        ("feature", FEATURE, bytes(8), (), ENOTTY), ("RESET with payload", RESET, bytes(4), (), EINVAL),
        ("read past the end", READ, rw(0xFFFFD, BAR0, 4), (), EINVAL),
        ("read far", READ, rw(1 << 63, BAR0, 4), (), EINVAL),
        ("read wrapping", READ, rw(0xFFFFFFFFFFFFFFFC, BAR0, 8), (), EINVAL),
        ("read nothing", READ, rw(0, BAR0, 0), (), EINVAL), ("read 9 of a BAR", READ, rw(0, BAR0, 9), (), EINVAL),
        ("read 4097 of config", READ, rw(0, CONFIG, 4097), (), EINVAL),
        ("read region 1", READ, rw(0, 1, 4), (), EINVAL), ("read region 100", READ, rw(0, 100, 4), (), EINVAL),
        ("write count too large", WRITE, rw(0, CONFIG, 8) + bytes(4), (), EINVAL),
        ("write count too small", WRITE, rw(0, CONFIG, 2) + bytes(4), (), EINVAL),
        ("write of 2 to a register", WRITE, rw(0x80680, BAR0, 2) + bytes(2), (), EINVAL),
        ("write of 3 to a doorbell", WRITE, rw(0x80014, BAR2, 3) + bytes(3), (), EINVAL),
        ("write with descriptor", WRITE, rw(4, CONFIG, 2) + bytes(2), (fd,), EINVAL),
        ("map unaligned", DMA_MAP, dma(0x1001, 4096), (fd,), EINVAL), ("map empty", DMA_MAP, dma(0x1000, 0), (fd,), EINVAL),
        ("map half a page", DMA_MAP, dma(0x1000, 2048), (fd,), EINVAL),
        ("map past the file", DMA_MAP, dma(0x1000, 4096, 8192), (fd,), EINVAL),
        ("map offset wraps", DMA_MAP, dma(0x1000, 8192, 0xFFFFFFFFFFFFF000), (fd,), EINVAL),
        ("map address wraps", DMA_MAP, dma(0xFFFFFFFFFFFFF000, 8192), (fd,), EINVAL),
        ("map flags", DMA_MAP, dma(0x1000, 4096, flags=8), (fd,), EINVAL),
        ("map argsz", DMA_MAP, dma(0x1000, 4096, argsz=16), (fd,), EINVAL),
        ("map a pipe", DMA_MAP, dma(0x1000, 4096), (pipe[0],), EINVAL),
        ("map a read-only file to write", DMA_MAP, dma(0x1000, 4096), (ro,), 13),
        ("map with two files", DMA_MAP, dma(0x1000, 4096), (fd, fd), EINVAL),
        ("unmap unaligned", DMA_UNMAP, undma(0x1001, 4096), (), EINVAL),
        ("unmap nothing", DMA_UNMAP, undma(0, 0), (), EINVAL), ("unmap dirty pages", DMA_UNMAP, undma(0, 4096, 1), (), EINVAL),
        ("unmap all with a range", DMA_UNMAP, undma(4096, 4096, 2), (), EINVAL),
        ("unmap wraps", DMA_UNMAP, undma(0xFFFFFFFFFFFFF000, 8192), (), EINVAL),
        ("irq two data types", SET_IRQS, irq(0x23, 2, 0, 1), (), EINVAL), ("irq no action", SET_IRQS, irq(1, 2, 0, 1), (), EINVAL),
        ("irq vector 128", SET_IRQS, irq(0x21, 2, 128, 1), (), EINVAL), ("irq 129 vectors", SET_IRQS, irq(0x21, 2, 0, 129), (), EINVAL),
        ("irq count wraps", SET_IRQS, irq(0x21, 2, 1, 0xFFFFFFFF), (), EINVAL),
        ("irq index 9", SET_IRQS, irq(0x21, 9, 0, 1), (), EINVAL), ("irq mask MSI-X", SET_IRQS, irq(9, 2, 0, 1), (), EINVAL),
        ("irq bytes missing", SET_IRQS, irq(0x22, 2, 0, 4) + b"\0", (), EINVAL),
        ("irq fd is a pipe", SET_IRQS, irq(0x24, 2, 0, 1), (pipe[1],), EINVAL),
        ("irq fd is a file", SET_IRQS, irq(0x24, 2, 0, 1), (fd,), EINVAL),
        ("irq fds and count differ", SET_IRQS, irq(0x24, 2, 0, 3), (pipe[1],), EINVAL),
    ]
    for name, cmd, payload, fds, want in cases:
        err, p, _ = c.call(cmd, payload, fds)
        assert err == want and p == b"", "%s: error %d, wanted %d" % (name, err, want)
    assert c.read(CONFIG, 0, 2) == b"\xb3\x15"
    c.close()
    assert card.report()["malformed"] > 0


def hopeless(card):
    """After each the client is disconnected, the card lives, and the next client is served."""
    hello = struct.pack("<HH", 0, 0)
    bad_json = [b"{", b"{}x\0", b"{\"a\":}\0", b"[1]\0", b"{\"capabilities\":{\"pgsizes\":8192}}\0", b"{}\0\0", b"\0", b"{}",
                b"{\"a\":" * 20 + b"1" + b"}" * 20 + b"\0", b"{\"a\":\"\n\"}\0", b"{" * 4000 + b"\0", b"\"" * 4000 + b"\0",
                b"{\"capabilities\":{\"max_data_xfer_size\":0}}\0"]
    cases = [("version %d.0" % v, lambda c, v=v: c.send(VERSION, struct.pack("<HH", v, 0))) for v in (1, 65535)]
    cases += [("JSON %r" % j[:20], lambda c, j=j: c.send(VERSION, hello + j)) for j in bad_json]
    cases += [("no VERSION", lambda c: c.send(GET_INFO, struct.pack("<IIII", 16, 0, 0, 0)))]
    for size in (0, 15, 16 + 16 + 65537, 0x7FFFFFFF, 0xFFFFFFFF):
        cases += [("size %#x" % size, lambda c, size=size: c.send(VERSION, hello, size=size))]
    cases += [("an answer to nothing", lambda c: c.send(VERSION, hello, flags=REPLY))]
    cases += [("17 descriptors", lambda c: c.send(VERSION, hello, fds=[0] * 17))]
    cases += [("garbage", lambda c: c.s.sendall(os.urandom(3) + b"\xff" * 4096))]
    for name, wrong in cases:
        c = Client(card, hello=False)
        wrong(c)
        assert c.gone(), name + ": still connected"
        c.close()
        assert card.alive(), name + ": the card died"
    c = Client(card)
    c.close()


def truncated(card):
    c = Client(card, hello=False)
    c.s.sendall(struct.pack("<HHIII", 1, VERSION, 64, 0, 0) + b"\0\0")  # and the rest never comes
    time.sleep(0.1)
    c.close()
    Client(card).close()


def slow_bytes(card):
    c = Client(card)
    msg = struct.pack("<HHIII", 77, GET_INFO, 32, 0, 0) + struct.pack("<IIII", 16, 0, 0, 0)
    for b in msg:
        c.s.sendall(bytes([b]))
        time.sleep(0.002)
    assert c.answer(77)[0] == 0
    c.close()


def file_cut_short(card):
    """The client takes memory away that it gave: it is disconnected, the card lives."""
    c = Client(card)
    c.call(RESET)
    fd = memfd(1 << 20)
    assert c.call(DMA_MAP, dma(0, 1 << 20), [fd])[0] == 0
    os.ftruncate(fd, 0)
    try:
        query_fw(c, 0x2000)
    except (EOFError, OSError):
        pass
    assert c.gone() and card.alive()
    Client(card).close()


def full_eventfd(card):
    """A vector whose counter is full does not hold up the card."""
    c = Client(card)
    e = os.eventfd(0)
    os.eventfd_write(e, 0xFFFFFFFFFFFFFFFE)
    assert c.call(SET_IRQS, struct.pack("<IIIII", 20, 0x24, 2, 0, 1), [e])[0] == 0
    assert c.call(SET_IRQS, struct.pack("<IIIII", 20, 0x21, 2, 0, 1))[0] == 0
    assert c.read(CONFIG, 0, 2) == b"\xb3\x15"
    c.close()


# --- lives ---

def second_waits(card):
    a, b = Client(card), Client(card, hello=False)
    i = b.send(VERSION, struct.pack("<HH", 0, 0) + json.dumps(CAPS).encode() + b"\0")
    assert not select.select([b.s], [], [], 0.3)[0]
    a.close()
    assert b.answer(i)[0] == 0  # served as soon as the first has left
    b.close()


def reattach_is_reset(card):
    c = Client(card)
    fd = memfd(1 << 20)
    assert c.call(DMA_MAP, dma(0, 1 << 20), [fd])[0] == 0
    c.read(BAR0, 0x8069C, 4)
    c.close()
    c = Client(card)
    assert c.read(BAR0, 0x8069C, 4) == bytes(4)  # nobody owns it
    assert query_fw(c, 0x2000) != 0  # and no window is left
    c.close()


def client_killed(card):
    for n in range(20):
        pid = os.fork()
        if pid == 0:
            try:
                c = Client(card)
                c.call(DMA_MAP, dma(0, 1 << 20), [memfd(1 << 20)])
                if n % 2:
                    c.send(READ, b"\0" * 7, size=16 + 16)
                while True:
                    c.read(CONFIG, 0, 4096)
            finally:
                os._exit(0)
        time.sleep(0.01 * (n % 4))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert card.alive()
    Client(card).close()


def testpmd(card, *args):
    return subprocess.Popen(
        ["stdbuf", "-oL", "dpdk-testpmd", "--lcores", tpmd.lcores("0@0,1@1"), "--no-huge", "-m", "256", "--no-shconf", "--no-telemetry", "--no-pci", "--file-prefix=vfu%d" % os.getpid(),
         "-d", PLUGIN, "--vdev=net_mlx4_user0,socket=" + card.path, "--", "--no-mlockall", "--total-num-mbufs=8192", "-i", *args],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def until(p, text, seconds=LIMIT):
    """What the program printed up to the text, which lines of its other threads may tear."""
    out, end = b"", time.time() + seconds
    os.set_blocking(p.stdout.fileno(), False)
    while text not in out and text.decode() not in tpmd.OTHERS.sub("", out.decode(errors="replace")):
        if time.time() > end or (p.poll() is not None and not select.select([p.stdout], [], [], 0)[0]):
            raise AssertionError("no %r in %r" % (text, out[-400:]))
        if select.select([p.stdout], [], [], 0.2)[0]:
            out += p.stdout.read() or b""
    return out


def tell(p, line):
    p.stdin.write(line.encode() + b"\n")
    p.stdin.flush()


def packets(p):
    tell(p, "show port stats 0")
    out = until(p, b"TX-packets:")
    out += until(p, b"TX-errors") if b"TX-errors" not in out else b""
    return int(re.findall(rb"RX-packets: *(\d+)", out)[-1])


def traffic(p):
    """Until packets flow."""
    n = 0

    def flows():
        nonlocal n
        n = packets(p)
        return n > 1000
    wait(flows, lambda: "no traffic: %d packets" % n)


def driver_killed(card):
    """Our driver under traffic, killed and started again: each time it comes up on a card that was reset."""
    for _ in range(3):
        p = testpmd(card)
        try:
            until(p, b"testpmd>")
            tell(p, "set fwd io")
            tell(p, "start tx_first 32")
            traffic(p)
        finally:
            p.kill()
            p.wait()
    assert card.alive()
    assert card.report()["violations"] == 0, open(card.log).read()[-800:]


def server_killed(_):
    """The card's process dies under traffic: the driver says so, calls end, the program closes as always."""
    card = Card("victim")
    p = testpmd(card)
    try:
        until(p, b"testpmd>")
        tell(p, "start tx_first 32")
        traffic(p)
        card.p.kill()
        card.p.wait()
        until(p, b"card's process is gone")
        until(p, b"is gone: its registers read as all ones")
        # testpmd takes the event to heart and removes the device itself; told to end meanwhile, it does both at once and hangs.
        until(p, b"Now total ports is 0")
        tell(p, "show port info all")
        tell(p, "quit")
        until(p, b"Bye")
        p.wait(LIMIT)
    finally:
        p.kill()
        p.wait()


def several_cards(_):
    """Two cards of one process, each with a client of its own; a client of one that dies is no matter to the other."""
    other = os.path.join(tmp.name, "other.sock")
    card = Card("several", "--wire0", "switch:s", "--card", "socket=%s,wire0=switch:s,guid=0002c90300cc0000" % other)
    second = Card.__new__(Card)
    second.path, second.log, second.p = other, card.log, card.p
    a, b = Client(card), Client(second)
    a.s.close()
    wait(lambda: "several.sock: client detached" in card.said(), card.said)
    err, payload, _ = b.call(4, struct.pack("<IIII", 16, 0, 0, 0))  # DEVICE_GET_INFO
    assert err == 0 and len(payload) == 16 and card.alive()
    assert "other.sock: client detached" not in card.said()
    card.end()


def ethdev_wire(_):
    """A port plugged into a DPDK port: testpmd on port 0 of a card gets what net_null makes up."""
    card = Card("eal", "--eal", "--no-huge -m 128 --no-pci --no-shconf --no-telemetry --file-prefix=hca%d --vdev=net_null0" % os.getpid(),
                "--wire0", "ethdev:net_null0")
    p = testpmd(card)
    try:
        until(p, b"testpmd>")
        tell(p, "set fwd rxonly")
        tell(p, "start")
        traffic(p)
        tell(p, "quit")
        p.communicate(timeout=LIMIT)
    finally:
        p.kill()
        p.wait()
    card.end()
    assert "wire ethdev link" in open(card.log).read()


def cpu_and_rates(_):
    """The card's thread is where it was told to be, and each port trains at its own rate."""
    cpu = max(os.sched_getaffinity(0))
    card = Card("rates", "--cpu", str(cpu), "--rate0", "10000", "--rate1", "1000")
    p = testpmd(card)
    try:
        until(p, b"testpmd>")
        threads = [os.sched_getaffinity(int(t)) for t in os.listdir("/proc/%d/task" % card.p.pid)]
        assert {cpu} in threads, threads
        for port, speed in ((0, b"10 Gbps"), (1, b"1 Gbps")):
            tell(p, "show port info %d" % port)
            out = until(p, b"Link duplex")
            assert b"Link speed: " + speed in out, out[-300:]
        tell(p, "quit")
        p.communicate(timeout=LIMIT)
    finally:
        p.kill()
        p.wait()
    card.end()


def idle_costs_nothing(_):
    """Without a client there is nothing to run: no more than a tick in two seconds, when it has started."""
    def ticks():
        fields = open("/proc/%d/stat" % card.p.pid).read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    card = Card("idle")
    for _ in range(5):
        before = ticks()
        time.sleep(2)
        used = ticks() - before
        if used <= 1:
            break
    card.end()
    assert used <= 1, "%d ticks of 200" % used


def bad_options(_):
    for args, want in ((["--type", "cx5"], "cx3 or cx3pro"), (["--fw", "2.42"], "three numbers"), (["--wire0", "hub"], "tap:NAME"),
                       (["--wire0", "cross", "--wire1", "none"], "cross joins"), (["--guid", "0"], "hexadecimal"),
                       (["--ports", "3"], "1..2"), (["--ports", "1", "--wire1", "none"], "has one port"), (["--wake-us", "0"], "1..1000000"),
                       (["--rate0", "100001"], "0..100000"), (["--rxbuf", "16383"], "16384..16777216"),
                       (["--rxbuf", "16384", "--xoff", "16385"], "1..16384"), (["--xoff", "9000", "--xon", "9001"], "1..9000"),
                       (["--nothing"], "unknown option"),
                       (["--port0", "fddi"], "eth, ib or auto"), (["--wire0", "ethdev:net_tap0"], "--eal"),
                       (["--wire0", "switch:a/rate:x"], "rate:Mb/s"), (["--card", "wire0=none"], "--socket PATH is missing"),
                       (["--card", "socket=/x,colour=red"], "colour=red"), (["--socket", "/nonexistent/x"], "/nonexistent/x")):
        r = subprocess.run([HCA, "--socket", tmp.name + "/x.sock", *args], capture_output=True, text=True, timeout=LIMIT)
        assert r.returncode != 0 and want in r.stderr and r.stderr.count("\n") == 1, (args, r.stderr)
    r = subprocess.run([HCA], capture_output=True, text=True, timeout=LIMIT)
    assert r.returncode == 2 and "--socket PATH is missing" in r.stderr
    card = Card("twice")
    r = subprocess.run([HCA, "--socket", card.path], capture_output=True, text=True, timeout=LIMIT)
    assert r.returncode == 1 and "another process serves that path" in r.stderr, r.stderr
    card.end()


def main():
    global failed
    card = Card()
    tests = [version, device_info, region_info, irq_info, config_space, registers, dma_command, dma_ranges, interrupts, no_reply,
             shared_uar, refused, hopeless, truncated, slow_bytes, file_cut_short, full_eventfd, second_waits,
             reattach_is_reset, client_killed]
    late = [driver_killed, server_killed, several_cards, ethdev_wire, cpu_and_rates, idle_costs_nothing, bad_options]
    only = sys.argv[1:]
    for t in tests + late:
        if only and t.__name__ not in only:
            continue
        if t is driver_killed:  # on a card without the violations that the raw messages meant to cause
            card.end()
            card = Card("fresh")
        name = "vfio-user-" + t.__name__.replace("_", "-")
        try:
            t(card)
            print("ok", name, flush=True)
        except Exception as e:  # a test's failure is a line, whatever it is
            failed += 1
            print("not ok %s: %s: %s" % (name, type(e).__name__, str(e).replace("\n", " ")[:600]), flush=True)
            if not card.alive():
                print("# the card said:", open(card.log).read()[-500:])
                card = Card("again%d" % failed)
    card.end()
    return failed != 0


sys.exit(main())
