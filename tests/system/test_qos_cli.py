#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Queue policies on triplane's command line: words, files, JSON, exit codes; refusals leave the old policy in force."""
import json, os, subprocess, sys, tempfile

import tpmd

BUILD = os.environ.get("TP_BUILD", "build")
APP = os.environ.get("TRIPLANE", os.path.join(BUILD, "apps", "triplane"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = ["--vdev=net_mlx4_model0"]
NULL = ["--vdev=net_null0"]
failed = 0


def run(args, vdevs=MODEL, timeout=60):
    p = subprocess.run([APP, "--lcores", tpmd.lcores("0@0,1@0"), "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
                        "--log-level=*:error", f"--file-prefix=qos{os.getpid()}", *vdevs, "--", *args],
                       capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def check(name, ok, reason=""):
    global failed
    failed += not ok
    print(f"ok {name}" if ok else f"not ok {name}: {reason}", flush=True)


def shown(commands, vdevs=MODEL, port=0):
    """The port's policy after the commands, as JSON says it; None when something failed."""
    rc, out, err = run(["-e", commands, "-e", f"show qos {port} json"], vdevs)
    return json.loads(out.splitlines()[-1])["ports"][0] if rc == 0 else None


def words():
    p = shown("set qos 0 pfc=3,4 prio-tc=0,0,0,1,1,0,0,2 tc-bw=40,60 tc-rate=2:450 trust=dscp rule=udp:4791-4800:3:26 "
              "rule=default:*:1 hol-lifetime=5000")
    check("set qos", p is not None and [x["tc"] for x in p["priorities"]] == [0, 0, 0, 1, 1, 0, 0, 2] and
          [x["rx_pfc"] for x in p["priorities"]] == [False, False, False, True, True, False, False, False] and
          [(x["algorithm"], x["share"]) for x in p["classes"]][:3] == [("ets", 40), ("ets", 60), ("strict", 0)] and
          p["trust"] == "dscp" and p["hol_lifetime_us"] == 5000 and
          p["rules"] == [{"rule": 0, "match": "udp", "first_port": 4791, "last_port": 4800, "priority": 3, "dscp": 26},
                         {"rule": 1, "match": "default", "priority": 1}], p)
    # D-3: rounded down to what the card has
    check("rates are shown as they are in force", p is not None and p["classes"][2]["rate_mbps"] == 400, p)
    p = shown("set qos 0 tc-bw=40,60 untagged-prio=5; set qos 0 pause=on")
    check("words that are not named stay", p is not None and p["untagged_prio"] == 5 and p["rx_pause"] and
          p["classes"][1]["share"] == 60, p)
    p = shown("set qos 0 tc-bw=40,60; set tc-bandwidth 0 50,30,20")
    check("set tc-bandwidth", p is not None and [x["share"] for x in p["classes"]] == [50, 30, 20, 0, 0, 0, 0, 0], p)
    p = shown("set qos 0 pause=on tc-bw=40,60 hol-lifetime=100; qos reset 0")
    check("qos reset", p == shown("qos reset 0") and p is not None and not p["rx_pause"] and
          {x["algorithm"] for x in p["classes"]} == {"strict"}, p)
    rc, out, err = run(["-e", "set qos 0 untagged-prio=9"])
    check("a value that falls back says so", rc == 0 and "'9'" in out and "0..7" in out and "default 0" in out, (rc, out, err))
    p = shown("set qos 1 pause=on", port=0)
    check("the other port keeps its own", p is not None and not p["rx_pause"], p)


def key_table(keys):
    """The table of docs/qos.md from what the program knows; --tables prints both."""
    def cell(text, quote=""):
        return quote + text.replace("|", "\\|") + quote if text else ""
    rows = ["| key | values | unit | default | vendor's name | meaning |", "| --- | --- | --- | --- | --- | --- |"]
    for name, key in keys.items():
        rows.append(f"| `{name}` | {cell(key['values'])} | {key['unit']} | {cell(key['default'], '`')} | "
                    f"{cell(key['vendor'], '`')} | {cell(key['help'])} |")
    return "\n".join(rows) + "\n"


def tables():
    rc, out, err = run(["-e", "show qos keys json"], NULL)
    keys = json.loads(out)
    return key_table(keys["port"]), key_table(keys["group"])


def documented():
    with open(os.path.join(ROOT, "docs", "qos.md")) as f:
        text = f.read()
    for name, table in zip(("port", "group"), tables()):
        check(f"docs/qos.md has the keys of a {name}", table in text, "run: tests/system/test_qos_cli.py --tables")


REFUSED = [
    ("trust=x", "'x'", "pcp or dscp"), ("pfc=8", "'8'", "0..7"), ("tc=0:ets:101", "101", "0..100"), ("trusty=1", "trusty", "trust"),
    ("nothing", "nothing", "KEY=VALUE"), ("rx-pause=on rx-pfc=3", "rx-pause", "rx-pfc=none"), ("tc-bw=50,49", "99 %", "100"),
    ("dscp-pfc=on", "dscp-pfc: on", "trust=dscp"), ("hol-lifetime=99", "99", "100..10000000 us"), ("tc-rate=0:56001", "56001", "0..56000"),
    ("pfc=3 prio-tc=0,0,0,1,1,0,0,0", "priority 3", "want also 4"), ("rx-stall-minor=5", "5", "rx-stall-timeout"),
    ("rule=udp:0:1", "udp:0:1", "1..65535"), ("rule=default:*:1 rule=tcp:80:1", "rule 0", "last of 2"),
]


def refusals():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "commands")
        for word, value, want in REFUSED:
            # the pipe goes on after an error: what was in force must be there still, the good word before the bad one not
            with open(path, "w") as f:
                f.write(f"set qos 0 untagged-prio=4\nset qos 0 stall-count=9 {word}\n")
            rc, out, err = run(["--cmdline-file", path])
            check(f"refused: {word}", rc == 1 and err.count("\n") == 1 and value in err and want in err and "port 0" in err,
                  (rc, err))
        p = subprocess.run([APP, "--lcores", tpmd.lcores("0@0"), "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
                            "--log-level=*:error", f"--file-prefix=qos{os.getpid()}", *MODEL, "--"], text=True, timeout=60,
                           input="set qos 0 untagged-prio=4\nset qos 0 stall-count=9 trust=x\nset qos 0 stall-count=9 tc-bw=1\n"
                                 "show qos 0 json\n", capture_output=True)
        q = json.loads(p.stdout.splitlines()[-1])["ports"][0]
        check("a refused change leaves the old one in force", p.returncode == 1 and q["untagged_prio"] == 4 and
              q["stall_count"] == 7 and q["classes"][0]["share"] == 0, (p.returncode, q))
    for cmd, value, want in (("set qos 7 pfc=3", "7", "0,1"), ("show qos 9", "9", "0,1"), ("set tc-bandwidth 0 50,x", "50,x", "0..100"),
                             ("set qos 0", "set qos 0", "words")):
        rc, out, err = run(["-e", cmd])
        check(f"refused: {cmd}", rc == 1 and value in err and want in err, (rc, err))


CONFIGURATION = """# two ports
[port 0]
pfc=3      # storage
prio-tc=0,0,0,1,0,0,0,0
tc=0:ets:40
tc=1:ets:60
rule=udp:4791:3:26
[port 1]
untagged-prio=8
pause=on
[group 0 web]
mac=02:00:00:00:00:01
vlan=100
queues=2-3
rss=all
[group 0 guest-7]
mac=02:00:00:00:00:07
queues=1
prio=3
dscp=26
"""
SAVED = """[port 0]
rx-pfc=3
tx-pfc=3
prio-tc=0,0,0,1,0,0,0,0
tc=0:ets:40
tc=1:ets:60
rule=udp:4791:3:26
[group 0 web]
mac=02:00:00:00:00:01
vlan=100
rss=all
queues=2,3
[group 0 guest-7]
mac=02:00:00:00:00:07
queues=1
prio=3
dscp=26
[port 1]
rx-pause=on
tx-pause=on
"""
QUEUES = ["--rxq", "4", "--txq", "4"]


def files():
    with tempfile.TemporaryDirectory() as d:
        conf, saved, again = (os.path.join(d, n) for n in ("conf", "saved", "again"))

        def text(path):
            with open(path) as f:
                return f.read()

        with open(conf, "w") as f:
            f.write(CONFIGURATION)
        rc, out, err = run([*QUEUES, "-e", f"qos load {conf}; qos save {saved}; qos reset 0; qos load {saved}; qos save {again}"])
        check("qos load says what fell back", rc == 0 and f"{conf}:9: untagged-prio: '8'" in out, (rc, out, err))
        check("qos load and save", rc == 0 and text(saved) == SAVED and text(again) == SAVED, rc == 0 and text(saved))
        for name, find, put, line, value, want in (
                ("a bad word", "vlan=100", "vlan=4096", 13, "4096", "0..4095"),
                ("a bad sum", "tc=1:ets:60", "tc=1:ets:61", 2, "101 %", "100"),
                ("a port that is not there", "[port 1]", "[port 9]", 8, "port 9", "net_mlx4"),
                ("a group that the port cannot", "dscp=26", "prio=4\npfc=on", 16, "pfc: on", "no PFC on priority 4"),
                ("an unknown section", "[group 0 web]", "[groups 0 web]", 11, "groups 0 web", "[group N NAME]")):
            with open(conf, "w") as f:
                f.write(CONFIGURATION.replace(find, put))
            # the last line of the pipe shows that nothing of the file is in force
            p = subprocess.run([APP, "--lcores", tpmd.lcores("0@0"), "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
                                "--log-level=*:error", f"--file-prefix=qos{os.getpid()}", *MODEL, "--", *QUEUES],
                               input=f"qos load {conf}\nqos save {again}\n", capture_output=True, text=True, timeout=60)
            check(f"qos load refuses {name}", p.returncode == 1 and p.stderr.count("\n") == 1 and f"{conf}:{line}: " in p.stderr and
                  value in p.stderr and want in p.stderr and text(again) == "[port 0]\n[port 1]\n",
                  (p.returncode, p.stderr, text(again)))
        # What only shows when it is applied: the file is in force whole or not at all, beside groups that were there.
        with open(conf, "w") as f:
            f.write(CONFIGURATION)
        with open(saved, "w") as f:
            f.write("[port 1]\npause=off\nuntagged-prio=2\n[port 0]\npfc=3\nprio-tc=0,0,0,1,0,0,0,0\n[group 0 web]\n"
                    "mac=02:00:00:00:00:09\nqueues=2\n[group 0 new]\nmac=02:00:00:00:00:0a\nqueues=3\n[group 0 clash]\n"
                    "mac=02:00:00:00:00:07\nqueues=0\n")
        for running in ("", "start; sleep 50; "):
            p = subprocess.run([APP, "--lcores", tpmd.lcores("0@0,1@0"), "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
                                "--log-level=*:error", f"--file-prefix=qos{os.getpid()}", *MODEL, "--", *QUEUES],
                               input=f"qos load {conf}\n{running}qos load {saved}\nqos save {again}\n", capture_output=True,
                               text=True, timeout=60)
            check(f"qos load takes back what went before a clash {running}", p.returncode == 1 and
                  p.stderr.splitlines()[-1].startswith(f"error: {saved}:13: ") and "guest-7" in p.stderr and text(again) == SAVED,
                  (p.returncode, p.stderr, text(again)))
    for cmd, value, want in (("qos load /nonexistent", "/nonexistent", "No such file"), ("qos save /nonexistent/x", "/nonexistent/x", "No such file"),
                             ("qos save /dev/full", "/dev/full", "No space")):
        rc, out, err = run(["-e", cmd])
        check(f"refused: {cmd}", rc == 1 and err.count("\n") == 1 and value in err and want in err, (rc, err))


def groups():
    def groups_after(commands):
        rc, out, err = run([*QUEUES, "-e", commands, "-e", "show group 0 json"])
        return {g["name"]: g for g in json.loads(out.splitlines()[-1])["ports"][0]["groups"]} if rc == 0 else (rc, err)

    add = "group add 0 web mac=02:00:00:00:00:01 queues=2-3 rss=all; group add 0 g mac=02:00:00:00:00:02 queues=1 dscp=26"
    g = groups_after(add)
    check("group add", list(g) == ["web", "g"] and g["web"]["policy"]["queues"] == "2,3" and g["web"]["policy"]["rss"] == "all" and
          g["g"]["policy"]["dscp"] == "26" and g["web"]["rx_frames"] == 0, g)
    g = groups_after(add + "; group modify 0 web vlan=7 dscp=46; group remove 0 g")
    check("group modify and remove", list(g) == ["web"] and g["web"]["policy"]["vlan"] == "7" and g["web"]["policy"]["dscp"] == "46" and
          g["web"]["policy"]["queues"] == "2,3", g)
    # How a group's frames are treated: told to the port's queues, and against the port's own declaration.
    treat = "set qos 0 pfc=3 prio-tc=0,0,0,1,0,0,0,0; group add 0 s mac=02:00:00:00:00:03 queues=1 "
    g = groups_after(treat + "prio=3 tc=1 pfc=on dropless=50 rate=750 hol-lifetime=5000")
    want = {"prio": "3", "tc": "1", "pfc": "on", "dropless": "50", "rate": "750", "hol-lifetime": "5000"}
    check("group treatment", isinstance(g, dict) and want.items() <= g["s"]["policy"].items(), g)
    g = groups_after(treat + "prio=3 dropless=50; group modify 0 s dropless=forever rate=0")
    check("group dropless for ever", isinstance(g, dict) and g["s"]["policy"]["dropless"] == "forever" and
          "rate" not in g["s"]["policy"].keys() - want.keys(), g)
    for words, value, want in (("prio=2 pfc=on", "pfc: on", "no PFC on priority 2"), ("prio=3 pfc=off", "pfc: off", "port or on"),
                               ("prio=2 dropless=50", "dropless: 50", "lossy"), ("dropless=65536", "65536", "0..65535"),
                               ("rate=56001", "56001", "0..56000"), ("rate=41000", "41000", "the port's speed"),
                               ("prio=3 tc=0", "tc: 0", "any or 1"), ("prio=8", "'8'", "0..7"), ("trust=dscp", "trust: dscp", "pcp")):
        rc, out, err = run([*QUEUES, "-e", treat + words])
        check(f"refused: group with {words}", rc == 1 and err.count("\n") == 1 and value in err and want in err, (rc, err))
    for cmd, value, want in (
            ("group add 0 x queues=1", "00:00:00:00:00:00", "unicast"), ("group add 0 x mac=02:00:00:00:00:05 queues=4", "4", "below 4"),
            ("group add 0 x/y mac=02:00:00:00:00:05 queues=0", "x/y", "letters"),
            ("group add 0 web mac=02:00:00:00:00:05 queues=0", "web", "no group"),
            ("group add 0 x mac=02:00:00:00:00:01 queues=0", "02:00:00:00:00:01", "group 'web'"),
            ("group add 0 x mac=02:00:00:00:00:05 queues=2", "2", "group 'web'"),
            ("group add 0 x mac=02:00:00:00:00:05 queues=0 tc=1", "tc: 1", "any or 0"),
            ("group modify 0 web vlan=4096", "4096", "0..4095"), ("group modify 0 web queues=3,1", "1", "group 'g'"),
            ("group modify 0 nobody vlan=1", "nobody", "show group 0"), ("group remove 0 nobody", "nobody", "")):
        rc, out, err = run([*QUEUES, "-e", add, "-e", cmd])
        check(f"refused: {cmd}", rc == 1 and err.count("\n") == 1 and value in err and want in err, (rc, err))
    rc, out, err = run([*QUEUES, "-e", add + "; set fwd flowgen 0; set fwd macswap 1; start; sleep 200; stop; show group all"])
    check("show group for people", rc == 0 and "name: web" in out and "queues: 2,3" in out and "queues_used: 2" in out, (rc, out[-800:], err))
    for cmd in ("group add 0 x queues=0", "group modify 0 x vlan=1", "group remove 0 x", "show group 0"):
        rc, out, err = run(["-e", cmd], NULL)
        check(f"port of another driver: {cmd}", rc == 1 and err.count("\n") == 1 and "net_null" in err, (rc, err))
    rc, out, err = run(["-e", "group show all json"], NULL)
    check("groups of other drivers are left out", rc == 0 and json.loads(out) == {"ports": []}, (rc, out, err))


def other_drivers():
    for cmd in ("set qos 0 pfc=3", "show qos 0", "show qos stats 0", "qos reset 0", "set tc-bandwidth 0 100"):
        rc, out, err = run(["-e", cmd], NULL)
        check(f"port of another driver: {cmd}", rc == 1 and err.count("\n") == 1 and "net_null" in err and "net_mlx4" in err,
              (rc, err))
    for cmd in ("show qos all json", "show qos stats all json"):
        rc, out, err = run(["-e", cmd], NULL)
        check(f"ports of other drivers are left out: {cmd}", rc == 0 and json.loads(out) == {"ports": []}, (rc, out, err))


def counters():
    """Frames of the generator are counted on priority 0 of both ends, and the rates fit the counters."""
    rc, out, err = run(["--json", "-e", "set fwd flowgen 0; set fwd rxonly 1; start; wait counter tx_port_packets 1001 0 60;"
                       "wait counter rx_port_packets 1001 1 60; show qos stats all 1; stop"])
    ports = {}
    for line in out.splitlines() if rc == 0 else []:
        for p in json.loads(line).get("ports", []):
            if "total" in p:
                ports[p["port"]] = p
    tx, rx = (ports.get(n, {}).get("total", {}) for n in (0, 1))
    check("show qos stats", rc == 0 and tx.get("tx_frames", 0) > 1000 and rx.get("rx_frames", 0) > 1000 and
          tx["tx_frames_per_s"] > 0 and tx["tx_bytes"] >= 60 * tx["tx_frames"] and tx["tx_pause"] == 0 and
          ports[0]["priorities"][0]["tx_frames"] == tx["tx_frames"] and ports[0]["rx_stalled"] is False, (rc, err, ports))


def json_and_help():
    for cmd in ("show qos all", "show qos stats all", "show qos keys"):
        rc, out, err = run(["--json", "-e", cmd])
        try:
            check(f"json {cmd}", rc == 0 and len(json.loads(out)) > 0, (rc, err))
        except ValueError as e:
            check(f"json {cmd}", False, f"{e}: {out!r}")
    rc, out, err = run(["-e", "show qos keys"])
    check("keys for people", rc == 0 and "  hol-lifetime:\n    values: 0 or 100..10000000\n    unit: us\n" in out and
          "DelayDropTimeout" in out, (rc, out[:500]))


if sys.argv[1:] == ["--tables"]:
    print("\n".join(tables()))
    sys.exit(0)
for test in (words, refusals, other_drivers, counters, files, groups, json_and_help, documented):
    try:
        test()
    except Exception as e:  # a test that stops is a failure with a name, and the others still run
        check(test.__name__, False, repr(e))
sys.exit(1 if failed else 0)
