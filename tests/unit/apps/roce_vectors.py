#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows of times with what Python's own statistics say of them, and what the ends of a test tell each other."""
import random
import statistics
import struct

random.seed(7)


def rows():
    yield [5]
    yield [3, 3, 3, 3]
    yield [1, 2]
    yield list(range(1000, 0, -1))
    yield [random.randrange(1 << 40, (1 << 40) + 50) for _ in range(999)]
    yield [int(random.lognormvariate(7, 1.5)) for _ in range(1001)]


def percentile(v, p):
    # nearest rank, in whole numbers: p is given in tenths of a per cent
    return sorted(v)[max(1, -(-p * len(v) // 1000)) - 1]


def peak(post, done):
    best = 0
    for i in range(len(post)):
        for j in range(i, len(post)):
            if done[j] > post[i]:
                best = max(best, (j - i + 1) / (done[j] - post[i]))
    return best


def stretches():
    for n, batch, gap in ((1, 1, 9), (40, 1, 5), (300, 16, 40), (200, 7, 1000)):
        post, done, t = [], [], 100
        for i in range(n):
            if i % batch == 0:
                t += random.randrange(gap) + 1
            post.append(t)
            last = done[-1] if done else 0
            done.append(max(last, t + random.randrange(3 * gap) + 1))
        yield post, done


def numbers(v):
    return ", ".join(f"{x}u" if x < 1 << 32 else f"{x}ull" for x in v)


def c_string(b):
    return '"' + "".join(f"\\{x:03o}" if x < 32 or x > 126 else chr(x) for x in b) + '"'


print("/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by roce_vectors.py. */")
names = []
for i, v in enumerate(rows()):
    print(f"static const uint64_t row{i}[] = {{{numbers(v)}}};")
    q = [percentile(v, p) for p in (1, 100, 500, 900, 990, 999, 1000)]
    names.append(f"{{row{i}, {len(v)}, {{{min(v)!r}, {max(v)!r}, {statistics.median(v)!r}, {statistics.fmean(v)!r}, "
                 f"{statistics.pstdev(v)!r}}}, {{{numbers(q)}}}}}")
print("static const struct row rows[] = {\n\t" + ",\n\t".join(names) + "\n};")

names = []
for i, (post, done) in enumerate(stretches()):
    print(f"static const uint64_t post{i}[] = {{{numbers(post)}}}, done{i}[] = {{{numbers(done)}}};")
    names.append(f"{{post{i}, done{i}, {len(post)}, {peak(post, done)!r}}}")
print("static const struct stretch stretches[] = {\n\t" + ",\n\t".join(names) + "\n};")

gids = [bytes(16), bytes.fromhex("00000000000000000000ffffc0000201"), bytes.fromhex("fe80000000000000025056fffe9a0b01"),
        bytes(range(0xf0, 0x100))]
print("static const struct address addresses[] = {")
for i, gid in enumerate(gids):
    lid, qpn, psn = (0, 0x11, 0xabcdef) if i % 2 else (0xffff, 0xffffff, 0)
    reads, rkey, vaddr, srqn = (1, 0x80000123, 0x7f12_3456_7000, 0) if i % 2 else (16, 0xffffffff, (1 << 64) - 1, 0x42)
    pp = f"{lid:04x}:{qpn:06x}:{psn:06x}:{gid.hex()}".encode() + b"\0"
    pt = (f"{lid:04x}:{reads:04x}:{qpn:06x}:{psn:06x}:{rkey:08x}:{vaddr:016x}:" +
          "".join(f"{b:02x}:" for b in gid) + f"{srqn:08x}:").encode() + b"\0"
    assert len(pp) == 52 and len(pt) == 108
    raw = ", ".join(f"0x{b:02x}" for b in gid)
    print(f"\t{{{{{lid:#x}, {qpn:#x}, {psn:#x}, {{.raw = {{{raw}}}}}, {reads}, {rkey:#x}, {srqn:#x}, {vaddr:#x}ull}},\n"
          f"\t {c_string(pp[:-1])},\n\t {c_string(pt[:-1])}}},")
print("};")
report = struct.pack(">QQddd", 65536, 5000, 1234.5, 1000.25, 0.016004)
print("static const uint8_t report_bytes[] = {" + ", ".join(f"0x{b:02x}" for b in report) + "};")
