#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane's command line from outside: one-shot, file, pipe, terminal, JSON, bad input, forwarding, generated frames."""
import json, os, pty, re, select, signal, subprocess, sys, tempfile, time

import tpmd
from scapy.all import ARP, Dot1Q, Ether, ICMP, IP, IPv6, Raw, RawPcapReader, TCP, UDP, rdpcap, wrpcap

BUILD = os.environ.get("TP_BUILD", "build")
APP = os.environ.get("TRIPLANE", os.path.join(BUILD, "apps", "triplane"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAR, NEAR = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
NULLS = ["--vdev=net_null0", "--vdev=net_null1"]
failed = 0


def eal(vdevs, memory=256):
    return [APP, "--lcores", tpmd.lcores("0@0,1@0"), "--no-huge", "-m", str(memory), "--no-shconf", "--no-telemetry", "--no-pci",
            "--log-level=*:error", f"--file-prefix=cli{os.getpid()}", *vdevs]


def run(args, vdevs=NULLS, stdin=None, timeout=240, memory=256):
    p = subprocess.run(eal(vdevs, memory) + ["--", *args], input=stdin, capture_output=True, text=True, timeout=timeout,
                       stdin=None if stdin is not None else subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def check(name, ok, reason=""):
    global failed
    failed += not ok
    print(f"ok {name}" if ok else f"not ok {name}: {reason}", flush=True)


def one_shot():
    rc, out, err = run(["-e", "show port info 0; set burst 64", "-e", "show fwd"])
    check("one-shot", rc == 0 and "driver: net_null" in out and "burst: 64" in out and err == "", (rc, err))
    rc, out, err = run(["-e", "bogus; show fwd"])
    check("one-shot-fails", rc == 1 and "bogus" in err and "burst" not in out, (rc, err))


def files():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "commands")
        with open(path, "w") as f:
            f.write("# burst; comment\nset burst 8\nshow fwd\n")
        rc, out, err = run(["--cmdline-file", path])
        check("file", rc == 0 and "burst: 8" in out, (rc, err))
        with open(path, "w") as f:
            f.write("set burst 8\nset burst 9999\n")
        rc, out, err = run(["--cmdline-file", path])
        check("file-error-names-line", rc == 1 and f"{path}:2" in err and "1..512" in err, (rc, err))
    rc, out, err = run(["--cmdline-file", "/nonexistent"])
    check("file-unreadable", rc == 2 and "/nonexistent" in err and err.count("\n") == 1, (rc, err))


def piped():
    rc, out, err = run([], stdin="set burst 16\nshow fwd\n")
    check("pipe", rc == 0 and "burst: 16" in out, (rc, err))
    rc, out, err = run([], stdin="set burst 16 # not this; set burst 32\nshow fwd;# nor; this\n")
    check("pipe-comment-with-separator", rc == 0 and "burst: 16" in out and err == "", (rc, out, err))


def json_valid():
    for cmd in ("show port info all", "show port stats all", "show port xstats all", "show port queues all", "show fwd",
                "rss show all", "show device", "show model"):
        for args in (["--json", "-e", cmd], ["-e", cmd + " json"]):
            rc, out, err = run(args)
            try:
                json.loads(out)
                check(f"json {args[0]} {cmd}", rc == 0, (rc, err))
            except ValueError as e:
                check(f"json {args[0]} {cmd}", False, f"{e}: {out!r} {err!r}")
    rc, out, err = run(["--json", "-e", "start live 1; stop"])
    rows = [json.loads(line) for line in out.splitlines()]
    check("json live and summary", [r["table"] for r in rows] == ["live", "summary"], out)
    rc, out, err = run(["--json", "-e", "flow list 0; help"], ["--vdev=net_mlx4_model0"], memory=512)
    check("--json reaches every show, and help is not among it", rc == 0 and out == '{"rules":[]}\n' and "help GROUP" in err, (rc, out, err))


def told(p, mark):
    """What a program says until it has said this."""
    said, end = "", time.monotonic() + 60
    while mark not in said and select.select([p.stdout], [], [], max(0, end - time.monotonic()))[0]:
        data = os.read(p.stdout.fileno(), 65536)
        if not data:
            break
        said += data.decode()
    return said


def json_array():
    """One document that json.tool takes, however the program ends."""
    for name, args, sig, want in (("", ["-e", "show fwd; start live 1; stop"], None, 3), ("when a command fails", ["-e", "show fwd; bogus"], None, 1),
                                  ("when all fails", ["-e", "bogus"], None, 0), ("when it is interrupted", ["-e", "show fwd; start live 0"], signal.SIGINT, 2),
                                  ("when it is terminated", ["-e", "show fwd; sleep 600000"], signal.SIGTERM, 1)):
        p = subprocess.Popen(eal(NULLS) + ["--", "--json=array", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             stdin=subprocess.DEVNULL)
        said = ""
        if sig is not None:
            said = told(p, '"live"' if "live" in args[1] else '"running"')
            p.send_signal(sig)
        out, err = p.communicate(timeout=240)
        out = said + out
        q = subprocess.run(["python3", "-m", "json.tool"], input=out, capture_output=True, text=True)
        docs = json.loads(q.stdout) if q.returncode == 0 else None
        check(f"json array {name}".strip(), isinstance(docs, list) and len(docs) >= want and ("fail" in name) == (p.returncode != 0),
              (p.returncode, out[:300], err, q.stderr))
    rc, out, err = run(["--json=what", "-e", "show fwd"])
    check("json of another form", rc == 2 and "what" in err and "lines, array" in err, (rc, err))


def silence():
    """Zeros are explained: where nobody sends, nothing can come."""
    rc, out, err = run(["-e", "set fwd macswap; start live 1; stop"], ["--vdev=net_mlx4_model0,wire0=cross,wire1=cross"], memory=512)
    check("zeros have a reason", rc == 0 and out.count("nothing came") == 1 and "set fwd flowgen" in out, (rc, out, err))


def every_queue():
    """A generator with fewer transmit than receive queues empties all of them."""
    rc, out, err = run(["--rxq", "3", "--json", "-e", "set fwd flowgen 0; set fwd 5tuple-swap 1; set peer 1 1; wait link up all 60; start;"
                        "wait counter rx_q2_packets 1000 0 60; show fwd; stop"], ["--vdev=net_mlx4_model0,wire0=cross,wire1=cross"], memory=512)
    rows = [json.loads(line) for line in out.splitlines()]
    polled = sorted((s["rx_port"], s["rx_queue"]) for r in rows if "running" in r for lc in r["lcores"] for s in lc["streams"])
    got = [s["rx_packets"] for r in rows if r.get("table") == "summary" for s in r["streams"] if s["rx_port"] == 0]
    check("every receive queue is polled", rc == 0 and polled == [(p, q) for p in (0, 1) for q in range(3)] and min(got) > 0, (rc, err, polled, got))


def widths():
    """No line of a live table or of help is longer than the terminal; it takes the room there is."""
    card = ["--vdev=net_mlx4_model0,wire0=cross,wire1=cross"]
    longest = {}
    for columns in (40, 80, 120):
        os.environ["COLUMNS"] = str(columns)
        rc, out, err = run(["-e", "set fwd flowgen 0; set fwd macswap 1; start live 2; stop; help; help RoCE"], card, memory=512)
        tables = [line for line in out.split("'help GROUP'")[0].splitlines() if line.startswith("  ") and "total:" not in line]
        longest[columns] = max(len(line) for line in tables)
        if columns >= 80:
            check(f"nothing is wrapped at {columns}", rc == 0 and max(map(len, out.splitlines())) < columns, (rc, err, out))
    del os.environ["COLUMNS"]
    check("tables take the room there is", longest[40] < 40 and longest[80] == 79 and 93 <= longest[120] < 120, longest)


BAD_COMMANDS = [
    ("set burst 513", "513", "1..512"), ("set fwd what", "what", "flowgen"), ("show port info 7", "7", "0,1"),
    ("port config 0 mtu 599", "599", "600..9600"), ("port config 0 rxq 257", "257", "1..256"), ("port config 0 rxq 2", "started", "stop"),
    ("port mac add 0 01:00:00:00:00:01", "01:00:00:00:00:01", "unicast"), ("port mac add 0 x", "'x'", "MAC"),
    ("set txpkts 41", "41", "42.."), ("set txpkts 1,2,3,4,5,6,7,8,9", "9", "1..8"), ("set corelist 0", "0", "main"),
    ("set corelist 99", "99", "EAL"), ("set flows 0", "'0'", "1..1048576"), ("rss reta 0 5", "5", "0..0"),
    ("stop", "not run", ""), ("live 1", "not run", "start"), ("help nothing", "nothing", "help"),
    ("wait counter rx_packs 1 all 0", "rx_packs", "show port xstats 0"), ("wait counter rx_good_packets 7 1 0", "rx_good_packets is 0", "want 7 or more"),
    ("show device 0", "port 0", "mlx4"), ("wait link down 0 0", "up", "down"), ("port vlan add 0 4096", "4096", "0..4095"),
]
BAD_ARGUMENTS = [
    (["--burst", "0"], "'0'", "1..512"), (["--rxq", "257"], "257", "1..256"), (["--mtu", "10"], "10", "600..9600"),
    (["--forward-mode", "x"], "'x'", "macswap"), (["--topology", "x"], "'x'", "paired"), (["--nope"], "nope", ""),
    (["--rx-offloads", "x"], "'x'", "vlan_strip"), (["--live", "x"], "'x'", "0.."), (["word"], "word", "--help"),
]


def bad_input():
    for cmd, value, want in BAD_COMMANDS:
        rc, out, err = run(["-e", cmd])
        check(f"bad command '{cmd}'", rc == 1 and err.count("\n") == 1 and value in err and want in err, (rc, err))
    for args, value, want in BAD_ARGUMENTS:
        rc, out, err = run(args)
        check(f"bad argument {' '.join(args)}", rc == 2 and value in err and want in err, (rc, err))
    rc, out, err = run(["-e", "show fwd"], vdevs=["--vdev=net_nonexistent0"])
    check("absent vdev", rc == 1, (rc, err))
    rc, out, err = run(["-e", "start"], vdevs=[])
    check("no port", rc == 1 and "port" in err, (rc, err))


def mode_frames():
    """Frames that the modes treat differently: UDP and TCP over both versions of IP, a tag, ARP, and what is not IP."""
    eth, four, six = Ether(src=FAR, dst=NEAR), IP(src="192.0.2.1", dst="192.0.2.2", ttl=9), IPv6(src="2001:db8::1", dst="2001:db8::2")
    return [eth / four / UDP(sport=1000, dport=2000) / Raw(b"u" * 31), eth / four / TCP(sport=5, dport=80, flags="PA", seq=7) / Raw(b"t" * 90),
            eth / six / UDP(sport=77, dport=53) / Raw(b"v" * 40), eth / six / TCP(sport=1, dport=65535, flags="S"),
            eth / Dot1Q(vlan=7) / four / UDP(sport=9, dport=10) / Raw(b"w" * 50), eth / ARP(psrc="192.0.2.1", pdst="192.0.2.9") / Raw(bytes(18)),
            eth / four / ICMP(type="echo-request", id=3, seq=4) / Raw(b"ping" * 9), eth / Raw(b"\x08\xff" + b"x" * 50)]


def exchanged(frame, layers=True):
    """What macswap makes of a frame, or 5tuple-swap; scapy finds the checksums, which an exchange leaves as they are."""
    f = Ether(bytes(frame))
    f.src, f.dst = f.dst, f.src
    for kind in (IP, IPv6) if layers else ():
        if kind in f:
            f[kind].src, f[kind].dst = f[kind].dst, f[kind].src
            for l4 in (UDP, TCP):
                if l4 in f:
                    f[l4].sport, f[l4].dport = f[l4].dport, f[l4].sport
    return bytes(f)


def wrong_sums(frame):
    """A frame whose IPv4 and transport checksums are wrong, for csum to mend."""
    f = Ether(bytes(frame))
    for layer in (IP, TCP, UDP):
        if layer in f:
            f[layer].chksum = 0x1234
    return f


def through(mode, frames, words=""):
    """What leaves by port 0 and by port 1, when these frames come to port 0."""
    with tempfile.TemporaryDirectory() as d:
        wrpcap(d + "/in", frames)
        wrpcap(d + "/none", frames[:1])
        rc, out, err = run(["--json", "-e", f"{words} set fwd rxonly 1; set fwd {mode} 0; start; wait counter rx_good_packets {len(frames)} 0 60; stop"],
                           [f"--vdev=net_pcap0,rx_pcap={d}/in,tx_pcap={d}/out0", f"--vdev=net_pcap1,rx_pcap={d}/none,tx_pcap={d}/out1"])
        if rc != 0:
            raise RuntimeError((rc, out, err))
        return [[bytes(f) for f in rdpcap(d + name)] for name in ("/out0", "/out1")]


def forwarding():
    frames = mode_frames()
    raw = [bytes(f) for f in frames]
    addresses = bytes.fromhex("020000000099")
    for mode, want in (("io", raw), ("macswap", [exchanged(f, False) for f in frames]), ("5tuple-swap", [exchanged(f) for f in frames]), ("rxonly", [])):
        back, on = through(mode, frames)
        check(f"forward {mode}", back == [] and on == want, (mode, len(back), [f.hex() for f in on]))
    _, on = through("mac", frames, f"set eth-peer 1 {':'.join('%02x' % b for b in addresses)};")
    own = {f[6:12] for f in on}
    check("forward mac", len(own) == 1 and not own & {r[6:12] for r in raw} and [f[:6] for f in on] == [addresses] * len(raw) and
          [f[12:] for f in on] == [r[12:] for r in raw], [f.hex() for f in on])
    _, on = through("csum", [wrong_sums(f) for f in frames])
    check("forward csum", on == raw, [f.hex() for f in on])
    # Those to the port itself are answered: its address, or all.
    mine = [Ether(r) for r in raw]
    with tempfile.TemporaryDirectory() as d:
        wrpcap(d + "/in", frames[:1])
        rc, out, err = run(["--json", "-e", "show port info 0"], [f"--vdev=net_pcap0,rx_pcap={d}/in", "--vdev=net_null0"])
    for f in mine:
        f.dst = "ff:ff:ff:ff:ff:ff" if ARP in f else json.loads(out)["ports"][0]["mac"]
    back, on = through("icmpecho", mine)
    echo = Ether(back[-1]) if back else None
    check("forward icmpecho", on == [] and len(back) == 2 and Ether(back[0])[ARP].op == 2 and Ether(back[0])[ARP].psrc == "192.0.2.9" and
          echo[ICMP].type == 0 and (echo[ICMP].id, echo[ICMP].seq, echo.dst) == (3, 4, FAR) and bytes(echo[Raw]) == b"ping" * 9 and
          (echo[IP].src, echo[IP].dst) == ("192.0.2.2", "192.0.2.1"), [f.hex() for f in back + on])
    # As many as are counted leave, of one flow or of many.
    for mode, flows in (("flowgen", (2, 1024)), ("txonly", (1, 1))):
        with tempfile.TemporaryDirectory() as d:
            wrpcap(d + "/none", frames[:1])
            rc, out, err = run(["--json", "-e", f"set fwd rxonly all; set fwd {mode} 0; start; wait counter tx_good_packets 1000 0 60; stop"],
                               [f"--vdev=net_pcap0,rx_pcap={d}/none,tx_pcap={d}/out", "--vdev=net_null0"])
            left = [Ether(data) for data, _ in RawPcapReader(d + "/out")]
        sent = sum(x["tx_packets"] for x in json.loads(out)["streams"] if x["rx_port"] == 0) if rc == 0 else -1
        seen = {(f[IP].src, f[IP].dst, f[UDP].sport, f[UDP].dport) for f in left}
        check(f"forward {mode}", len(left) == sent >= 1000 and flows[0] <= len(seen) <= flows[1], (rc, err, sent, len(left), len(seen)))
    # Counters that are cleared meanwhile are not missing in the summary.
    rc, out, err = run(["--json", "-e", "set fwd flowgen 0; set fwd rxonly 1; start; wait counter rx_good_packets 1000000 1 60;"
                        "clear port stats all; wait counter rx_good_packets 1000000 1 60; stop; clear port xstats 1; show summary"])
    rows = [json.loads(line) for line in out.splitlines()] if rc == 0 else []
    moved = [(r["ports"][1]["rx_packets"], sum(s["rx_packets"] for s in r["streams"] if s["rx_port"] == 1)) for r in rows]
    check("summary after clear", len(moved) == 2 and moved[0] == moved[1] and moved[0][0] == moved[0][1] > 2000000, (rc, err, out))
    rc, out, err = run(["-e", "start; port stop 0"])
    check("busy port refused", rc == 1 and "forwarding runs" in err, (rc, err))
    rc, out, err = run(["-e", "port stop all; port config all rxq 4; port config all txq 4; port start all; show fwd; start;"
                        "sleep 50; stop; port stop all; port start all; start; sleep 50; stop; port close 1; show port info all"])
    check("reconfigure and restart", rc == 0 and "rx_queue: 3" in out and "port 1:" not in out.split("summary")[-1],
          (rc, err))


def pools():
    """Full rings of large frames in pieces, and of an odd number of queues: the default pools have buffers for them."""
    card = ["--vdev=net_mlx4_model0,cpu=1"]
    for name, conf, frame in (("jumbo", "mtu 9000", "2000,2000,2000,2000"), ("three queues", "rxq 3; port config all txq 3", "64")):
        rc, out, err = run(["--json", "-e", f"port stop all; port config all {conf}; port start all;"
                            f"set txpkts {frame}; set fwd flowgen; start; wait counter rx_good_packets 101 all 60; stop; show port stats all"], card,
                           memory=512)
        ports = json.loads(out.splitlines()[-1])["ports"] if rc == 0 else []
        check(f"pool for {name}", len(ports) == 2 and all(p["rx_packets"] > 100 and p["rx_nombuf"] == 0 for p in ports),
              (rc, err, ports))


def generated():
    """Frames as tshark sees them: well-formed, checksums right, as many flows as asked for."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "out.pcap")
        vdev = [f"--vdev=net_pcap0,tx_pcap={path}"]
        rc, out, err = run(["--flows", "16", "--txpkts", "60,101", "--forward-mode", "flowgen", "-e", "start; wait counter tx_good_packets 500 0 60; stop"],
                           vdev)
        if rc != 0:
            return check("flowgen by tshark", False, (rc, err))
        p = subprocess.run(["tshark", "-r", path, "-c", "500", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
                            "-T", "fields", "-e", "frame.len", "-e", "ip.checksum.status", "-e", "udp.checksum.status",
                            "-e", "ip.src", "-e", "udp.srcport"], capture_output=True, text=True)
        rows = [line.split("\t") for line in p.stdout.splitlines()]
        check("flowgen by tshark", len(rows) == 500 and {tuple(r[:3]) for r in rows} == {("161", "1", "1")} and
              len({tuple(r[3:]) for r in rows}) == 16, rows[:3])


def terminal():
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(APP, eal(NULLS) + ["--"])
    text = ""

    def expect(what, timeout=60):
        nonlocal text
        end = time.time() + timeout
        while not re.search(what, text) and time.time() < end:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    text += os.read(fd, 4096).decode(errors="replace")
                except OSError:
                    break
        found = re.search(what, text) is not None
        seen, text = text, ""
        return found, seen

    check("terminal prompt", *expect("triplane> "))
    os.write(fd, b"sho\t")
    check("terminal completes", *expect("show "))
    os.write(fd, b"port \t\t")
    check("terminal lists choices", *expect("(?s)xstats.*queues"))
    os.write(fd, b"info 0\n")
    check("terminal runs", *expect("driver: net_null"))
    os.write(fd, b"set burst 9999\n")
    check("terminal explains", *expect("1..512"))
    os.write(fd, b"set qos 0 rx-st\t")
    check("terminal completes keys", *expect("rx-stall"))
    os.write(fd, b"\x15")
    os.write(fd, b"show fwd\n")
    check("terminal Ctrl-U clears the line", *expect("running: off"))
    # Only once a command runs: at the prompt Ctrl-C ends the program.
    os.write(fd, b"show fwd; sleep 600000; show fwd\n")
    expect("running: off")
    os.write(fd, b"\x03")
    found, seen = expect(r"interrupted\s+triplane> ")
    check("terminal Ctrl-C ends a command and the rest of its line", found and "running" not in seen, seen)
    os.write(fd, b"start live\n")
    check("terminal starts", *expect("second 1"))
    os.write(fd, b"\x03")
    check("terminal Ctrl-C comes back to the prompt", *expect(r"interrupted; forwarding goes on.*\s+triplane> "))
    os.write(fd, b"\x03")
    check("terminal Ctrl-C prints the summary", *expect("summary of"))
    check("terminal Ctrl-C exit code", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)


def signals():
    p = subprocess.Popen(eal(NULLS) + ["--", "--live", "0"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    out = p.communicate(timeout=60)[0]
    check("SIGTERM in live", p.returncode == 0 and "summary of" in out, (p.returncode, out))


def reference():
    p = subprocess.run([APP, "--", "--help-md"], capture_output=True, text=True)
    with open(os.path.join(ROOT, "docs", "cli.md")) as f:
        check("docs/cli.md is current", f.read() == p.stdout, "run: triplane -- --help-md > docs/cli.md")
    rc, out, err = run(["-e", "help"])
    check("help", rc == 0 and 10 <= out.count("\n  ") < 24 and all(len(line) > 20 for line in out.splitlines()), (rc, out, err))
    rc, out, err = run(["-e", "help all"])
    check("help all", rc == 0 and out.count("\n  ") >= 40, (rc, err))
    rc, out, err = run(["-e", "help filters; help set peer"])
    check("help of a group and of a command", rc == 0 and "port mac {add|remove|set}" in out and "<to>: a port" in out and "set seed" not in out, (rc, out, err))


def symmetric():
    lines = "port stop 0\nset setting 0 rx-queues 2\nport start 0\nrss show 0 json\nrss symmetric 0\nrss show 0 json\n"
    rc, out, err = run([], ["--vdev=net_mlx4_model0"], stdin=lines, memory=512)
    was, now = ([json.loads(line)["ports"][0] for line in out.splitlines() if line.startswith("{")] + [{}, {}])[:2]
    check("rss symmetric", rc == 0 and now.pop("key", "") == "6d5a" * 20 and was.pop("key", "") != "6d5a" * 20 and
          was == now and "reta" in was, (rc, out, err))


for test in (one_shot, files, piped, json_valid, json_array, silence, every_queue, widths, bad_input, forwarding, pools, generated, terminal, signals, symmetric, reference):
    try:
        test()
    except Exception as e:  # a test that stops is a failure with a name, and the others still run
        check(test.__name__, False, repr(e))
sys.exit(1 if failed else 0)
