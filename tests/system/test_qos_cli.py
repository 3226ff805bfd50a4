#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Queue policies on triplane's command line: words, files, JSON, exit codes; refusals leave the old policy in force."""
import json, os, subprocess, sys, tempfile

BUILD = os.environ.get("TP_BUILD", "build")
APP = os.environ.get("TRIPLANE", os.path.join(BUILD, "apps", "triplane"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = ["--vdev=net_mlx4_model0"]
NULL = ["--vdev=net_null0"]
failed = 0


def run(args, vdevs=MODEL, timeout=60):
    p = subprocess.run([APP, "--lcores", "0@0,1@0", "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
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


REFUSED = [
    ("trust=x", "'x'", "pcp or dscp"), ("pfc=8", "'8'", "0..7"), ("tc=0:ets:101", "101", "0..100"), ("trusty=1", "trusty", "trust"),
    ("nothing", "nothing", "KEY=VALUE"), ("rx-pause=on rx-pfc=3", "rx-pause", "rx-pfc=none"), ("tc-bw=50,49", "99 %", "100"),
    ("dscp-pfc=on", "dscp-pfc: on", "trust=dscp"), ("hol-lifetime=99", "99", "100..10000000 us"), ("tc-rate=0:56001", "56001", "0..56000"),
    ("pfc=3 prio-tc=0,0,0,1,1,0,0,0", "priority 3", "want also 4"), ("rx-stall-minor=5", "5", "rx-stall-timeout"),
    ("rule=udp:0:1", "udp:0:1", "PORT"), ("rule=default:*:1 rule=tcp:80:1", "rule 0", "last of 2"),
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
        p = subprocess.run([APP, "--lcores", "0@0", "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
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
    rc, out, err = run(["--json", "-e", "set fwd flowgen 0; set fwd rxonly 1; start; sleep 300; show qos stats all 1; stop"])
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


for test in (words, refusals, other_drivers, counters, json_and_help):
    try:
        test()
    except Exception as e:  # a test that stops is a failure with a name, and the others still run
        check(test.__name__, False, repr(e))
sys.exit(1 if failed else 0)
