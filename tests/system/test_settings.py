#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings through triplane: shown, set, saved, loaded, tuned and restored, also while packets flow; what is refused changes nothing."""
import json, os, pty, re, select, subprocess, sys, tempfile, time

import tpmd

BUILD = os.environ.get("TP_BUILD", "build")
APP = os.environ.get("TRIPLANE", os.path.join(BUILD, "apps", "triplane"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = ["--vdev=net_mlx4_model0"]
NULL = ["--vdev=net_null0", "--vdev=net_null1"]
failed = 0


def command(vdevs=MODEL, quiet=True, memory=512):
    return [APP, "--lcores", tpmd.lcores("0@0,1@0,2@0,3@0"), "--no-huge", "-m", str(memory), "--no-shconf", "--no-telemetry", "--no-pci",
            f"--log-level=*:{'error' if quiet else 'notice'}", f"--file-prefix=set{os.getpid()}", *vdevs, "--"]


def run(lines, vdevs=MODEL, quiet=True, args=(), memory=512):
    """Commands by a pipe: one that fails does not end the others."""
    p = subprocess.run(command(vdevs, quiet, memory) + list(args), input="\n".join(lines) + "\n", capture_output=True,
                       text=True, timeout=180)
    return p.returncode, p.stdout, p.stderr


def check(name, ok, reason=""):
    global failed
    failed += not ok
    print(f"ok {name}" if ok else f"not ok {name}: {reason}", flush=True)


def objects(line):
    return {o["object"]: o["settings"] for o in json.loads(line)["objects"]}


def last(out):
    return out.splitlines()[-1] if out else ""


def text(path):
    with open(path) as f:
        return f.read()


def reference():
    p = subprocess.run([APP, "--", "--settings-md"], capture_output=True, text=True)
    check("docs/settings.md is current", text(os.path.join(ROOT, "docs", "settings.md")) == p.stdout,
          "run: triplane -- --settings-md > docs/settings.md")
    rc, out, err = run(["show setting-table json"], NULL)
    rows = json.loads(out)["settings"]
    check("setting-table has every row of the reference", rc == 0 and len(rows) == sum(
        line.startswith("| `") for line in p.stdout.splitlines()), len(rows))


def views():
    rc, out, err = run(["show settings json", "show settings diff json", "show settings info json", "show settings 1 json",
                        "set setting 0 promiscuous off", "show settings 0 diff json", "show settings"])
    lines = out.splitlines()
    now, diff, info, one, after = (objects(line) for line in lines[:5])
    check("show settings", rc == 0 and now["port 0"]["rx-ring"] == "512" and now["program"]["burst"] == "32" and
          now["card 1"]["type"] == "cx3pro" and now["txq 1 0"]["rate"] == "0", (rc, err))
    check("nothing differs from the defaults at first", diff == {}, diff)
    ring = info["port 0"]["rx-ring"]
    check("show settings info", (ring["min"], ring["max"], ring["default"], ring["unit"], ring["when"], ring["vendor"]) ==
          (256, 4096, "512", "descriptors", "port stopped", "*ReceiveBuffers"), ring)
    check("show settings of a port", set(one) == {"card 1", "port 1", "rxq 1 0", "txq 1 0"}, set(one))
    check("show settings diff", after == {"port 0": {"promiscuous": {"current": "off", "default": "on"}}}, after)
    check("show settings as text", "object: port 0" in out and "    promiscuous: off" in out, out[-500:])
    rc, out, err = run(["show settings json"], NULL)
    null = objects(out)["port 0"]
    check("a port of another driver has what it has", rc == 0 and "mtu" in null and "trust" not in null, null)


def where(obj):
    """An object's text as the command line takes it."""
    return obj[5:] if obj.startswith("port ") else obj


def every_row():
    """Each setting: below and above its range, another type: one line with the value and the range, and nothing is in force."""
    rc, out, err = run(["show settings info json"])
    rows = [(obj, name, row) for obj, s in objects(out).items() for name, row in s.items()
            if obj in ("program", "port 0", "rxq 0 0", "txq 0 0")]
    bad = []
    for obj, name, row in rows:
        values = ["bogus", "-1"]
        if name == "kernel":
            values = ["a/b", "abcdefghijklmnop"]  # others may be names
        if row["type"] == "number":
            values += [str(row["max"] + 1)] + ([str(row["min"] - 1)] if row["min"] > 0 else [])
        if name not in ("untagged-prio", "roce-netdev"):  # falls back to its default; any name may come to be
            bad += [(obj, name, v, row) for v in values]
    rc, out, err = run([f"set setting {where(obj)} {name} {v}" for obj, name, v, row in bad] + ["show settings diff json"])
    errors = err.splitlines()
    check("every row refuses what it does not take", rc == 1 and len(errors) == len(bad) and len(bad) > 100 and
          objects(last(out)) == {}, (rc, len(errors), len(bad), last(out)))
    wrong = [(b[:3], e) for b, e in zip(bad, errors)
             if not (b[1] in e and f"'{b[2]}'" in e and ("want" in e or "is not" in e))]
    check("every refusal names the setting, the value and what is wanted", not wrong, wrong[:3])
    ranges = [(b[:3], e) for b, e in zip(bad, errors) if b[3]["type"] == "number" and b[3]["values"] not in e]
    check("every refusal of a number has its range", not ranges, ranges[:3])
    # the ends of every range of numbers, with ports stopped where that is wanted
    good = [(obj, name, v) for obj, name, row in rows if row["type"] == "number" and name not in ("peer", "rx-queues", "tx-queues")
            and not (name == "rate") for v in (str(row["min"]), str(row["max"]), row["default"])]
    good += [("port 0", n, v) for n in ("rx-queues", "tx-queues") for v in ("256", "1")]
    # What was set is what is in force, and nothing else changed.
    live = [g for g in good if g[0] in ("rxq 0 0", "txq 0 0")]
    stopped = [g for g in good if g not in live]

    def steps(some):
        return [line for obj, name, v in some for line in (f"set setting {where(obj)} {name} {v}", "show settings diff json")]
    rc, out, err = run(steps(live) + ["port stop all"] + steps(stopped) + ["port start all", "show settings diff json"])
    said = [objects(line) for line in out.splitlines() if line.startswith("{")]
    check("every range has its ends", rc == 0 and err == "" and len(said) == len(good) + 1 and said[-1] == {}, (rc, err, last(out)))
    default = {(obj, name): row["default"] for obj, name, row in rows}
    wrong = [(g, s) for g, s in zip(live + stopped, said)
             if {(o, n): x["current"] for o, xs in s.items() for n, x in xs.items() if o == g[0] and n == g[1]} !=
             ({} if g[2] == default.get(g[:2], "1") else {g[:2]: g[2]})]
    check("every setting takes both ends of its range", not wrong, wrong[:3])
    for cmd, value, want in (("set setting 0 rings 5", "rings", "rx-ring"), ("set setting 9 mtu 1500", "9", "0,1"),
                             ("set setting rxq 0 7 dropless 5", "rxq 0 7", "rxq 1 0"), ("set setting program mtu 9", "mtu", "program"),
                             ("set setting 0 rx-ring 1024", "started", "port stop 0"), ("set setting group 0 web prio 1", "web", "group"),
                             ("show settings 0 all", "all", "current"), ("set setting 0 peer 30", "30", "port that is there")):
        rc, out, err = run([cmd])
        check(f"refused: {cmd}", rc == 1 and err.count("\n") == 1 and value in err and want in err, (rc, err))


def logged():
    """Old and new value with the event's name, by whichever command; none for what stays."""
    rc, out, err = run(["set setting 0 promiscuous off", "port config 1 allmulti on", "set burst 64", "set setting program burst 64",
                        "set setting 0 trust dscp", "set setting rxq 0 0 dropless 50", "set setting txq 0 0 prio 3",
                        "set setting 0 mtu 9000"], quiet=False)
    events = re.findall(r"\[([a-z-]+-setting)\] (.*)", err)
    check("changes are logged", events == [
        ("port-setting", "port 0: promiscuous: on -> off"), ("port-setting", "port 1: all-multicast: off -> on"),
        ("program-setting", "program: burst: 32 -> 64"), ("port-setting", "port 0: trust: pcp -> dscp"),
        ("rxq-setting", "port 0 Rx queue 0: dropless: 0 -> 50"), ("txq-setting", "port 0 Tx queue 0: prio: 0 -> 3")], (events, err))


CONFIGURATION = """# two ports
[program]
burst=64
txpkts=64,128
[port 0]
rx-queues=4      # of which the last waits
tx-queues=4
rx-ring=1024
mtu=9000
rx-vlan-strip=on
rx-ipv4-cksum=on
mode=macswap
tc=0:ets:40 1:ets:60
prio-tc=0,0,0,1,0,0,0,0
rule=udp:4791:3:26 tcp:80-88:1
[port 1]
tx-queues=4
[rxq 0 3]
dropless=50
[txq 0 1]
prio=3
"""


def files():
    with tempfile.TemporaryDirectory() as d:
        conf, saved, again, clean = (os.path.join(d, n) for n in ("conf", "saved", "again", "clean"))
        with open(conf, "w") as f:
            f.write(CONFIGURATION)
        rc, out, err = run([f"save {clean}", f"load {conf}", f"save {saved}", "show settings diff json", f"load {clean}",
                            f"load {saved}", f"save {again}", "show settings diff json", "start", "sleep 50", "stop"])
        lines = [line for line in out.splitlines() if line.startswith("{")]
        want = {"program": {"burst": "64", "txpkts": "64,128"}, "rxq 0 3": {"dropless": "50"}, "txq 0 1": {"prio": "3"}}
        diff = objects(lines[0]) if lines else {}
        check("load", rc == 0 and err == "" and all({k: v["current"] for k, v in diff[o].items()} == w for o, w in want.items()) and
              diff["port 0"]["rule"]["current"] == "udp:4791:3:26 tcp:80-88:1" and diff["port 0"]["mtu"]["current"] == "9000" and
              set(diff["port 1"]) == {"tx-queues"}, (rc, err, diff))
        check("save and load bring everything back", rc == 0 and text(saved) == text(again) and lines[0] == lines[1] and
              "rx-ring=1024\n" in text(saved) and "rx-ring" not in text(clean), (rc, err))
        rc, out, err = run(["set setting 0 mtu 9000", f"load {saved}", "show settings 0 json", f"load {clean}", "show settings diff json"])
        check("another program loads it", rc == 1 and objects(out.splitlines()[1])["port 0"]["mode"] == "macswap" and
              set(objects(last(out))) <= {"rxq 0 3", "txq 0 1"}, (rc, out, err))
        os.mkdir(os.path.join(d, "folder"))
        for cmd, word in ((f"load {d}/none", "none"), (f"load {d}/folder", "folder"), (f"save {d}/no/file", "no/file"),
                          (f"save {d}/folder", "folder")):
            rc, out, err = run([cmd], NULL)
            check(f"refused: {cmd.split('/')[0]}{word}", rc == 1 and err.count("\n") == 1 and word in err, (rc, err))
        check("nothing is left beside a file", sorted(os.listdir(d)) == ["again", "clean", "conf", "folder", "saved"], os.listdir(d))


def bad_files():
    good = ["[program]", "burst=64", "[port 0]", "mtu=2000", "trust=dscp"]
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "conf")

        def refused(name, lines, errors, before=()):
            with open(path, "w") as f:
                f.write("\n".join(lines) + "\n")
            rc, out, err = run([*before, f"load {path}", "show settings diff json", "show fwd json"])
            got, lines = err.splitlines(), [line for line in out.splitlines() if line.startswith("{")]
            check(f"load refuses {name}", rc == 1 and len(got) == len(errors) and objects(lines[0]) == {} and
                  json.loads(lines[1])["running"] == bool(before) and
                  all(f"{path}:{n}: " in g and all(w in g for w in words) for g, (n, *words) in zip(got, errors)), (rc, err, out[-800:]))

        refused("each wrong line", good + ["rx-ring=255", "rx-ring=x", "ring=512", "mtu=1500", "tc=8:strict", "rx-vlan-strip=maybe",
                                           "[port 5]", "rx-ring=1", "[card 0]", "type=cx3", "what", "[program]"],
                [(6, "'255'", "256..4096 descriptors"), (7, "'x'", "256..4096"), (8, "'ring'", "rx-ring"),
                 (9, "'1500'", "line 4"), (10, "8:strict", "0..7"), (11, "'maybe'", "off or on"), (12, "port 5", "port 1"),
                 (15, "type", "device"), (16, "'what'", "NAME=VALUE"), (17, "already")])
        refused("a sum that is wrong", good + ["tc=0:ets:40"], [(6, "40 %", "100")])
        refused("a sum that is wrong, while packets flow", good + ["tc=0:ets:40"], [(6, "40 %", "100")], ["start", "sleep 20"])
        refused("a queue that is not there", good + ["[rxq 1 3]", "dropless=5"], [(7, "rxq 1 3", "rxq 1 0")], ["start"])
        refused("settings that want each other", good + ["trust=pcp"], [(6, "'pcp'", "line 5")])
        # more buffers than there is memory: the ports start with their old rings, and forwarding goes on
        with open(path, "w") as f:
            f.write("[port 0]\nrx-queues=64\nrx-ring=4096\n")
        rc, out, err = run(["set fwd flowgen 0", "set fwd macswap 1", "start", f"load {path}", "clear port stats all",
                            "wait counter rx_good_packets 101 1 60", "show port stats 1 json", "show settings 0 diff json"], memory=256)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        check("ports that do not start get their old settings, and packets flow on", rc == 1 and "memory" in err and
              "does not hold" not in err and json.loads(lines[0])["ports"][0]["rx_packets"] > 100 and
              set(objects(lines[1])["port 0"]) == {"mode"}, (rc, err, lines))


PROFILES = {  # of three forwarding lcores: queues and rings of port 0, queues of port 1, burst, lcores, moderation
    "single-port": ("3", "4096", "2048", "1", "32", "all", "adaptive"), "single-stream": ("1", "4096", "2048", "1", "64", "1", "low-latency"),
    "dual-port": ("1", "4096", "2048", "1", "32", "all", "adaptive"), "forwarding": ("3", "512", "2048", "3", "64", "all", "aggressive"),
    "multicast": ("3", "4096", "512", "3", "32", "all", "aggressive"), "balanced": ("1", "512", "512", "1", "32", "all", "moderate"),
}


def profiles():
    """Each applied and restored while generated packets go round: they go on in each of the three states, and none is missing."""
    for name, want in PROFILES.items():
        traffic = ["clear port stats all", "wait counter rx_good_packets 101 1 60", "show port stats 1 json"]
        rc, out, err = run(["set setting program flows 7", "port stop all", "set setting 1 rx-ring 1024", "port start all",
                            "set fwd flowgen 0", "set fwd macswap 1", "start", *traffic, "show settings diff json", f"tune {name}",
                            *traffic, "show settings json", "show tune json", "tune restore", *traffic,
                            "show settings diff json", "show tune json", "stop", "show model json"])
        lines = [line for line in out.splitlines() if line.startswith("{")]
        if len(lines) != 9:
            check(f"tune {name}", False, (rc, err, out))
            continue
        now = objects(lines[3])
        got = (now["port 0"]["rx-queues"], now["port 0"]["rx-ring"], now["port 0"]["tx-ring"], now["port 1"]["rx-queues"],
               now["program"]["burst"], now["program"]["lcores"], now["port 1"]["rx-moderation"])
        check(f"tune {name}", rc == 0 and got == want and json.loads(lines[4])["profile"] == name, (rc, err, got))
        check(f"packets flow before, under and after {name}", all(json.loads(lines[i])["ports"][0]["rx_packets"] > 100
                                                                   for i in (0, 2, 5)), [lines[i] for i in (0, 2, 5)])
        check(f"tune restore after {name}", lines[1] == lines[6] and json.loads(lines[7])["changes"] == [] and
              now["program"]["flows"] == "7", (lines[1], lines[6]))
        check(f"no rule of the card was broken by {name}", all(p["violations"] == 0 for p in json.loads(lines[8])["ports"]), lines[8])


def tune_logs():
    with tempfile.TemporaryDirectory() as d:
        log = os.path.join(d, "log")
        rc, out, err = run(["tune multicast", f"tune single-stream {log}", "show tune json", "tune restore", "show settings diff json",
                            "tune restore"], quiet=False)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        before = {(c["object"], c["setting"]): c["before"] for c in json.loads(lines[0])["changes"]}
        check("two profiles, one restore", before[("port 0", "rx-ring")] == "512" and before[("program", "burst")] == "32" and
              objects(lines[1]) == {} and rc == 1 and "no profile" in err, (rc, before, err))
        check("profiles are logged", "[tune-applied] multicast" in err and "[tune-restored]" in err and
              "[port-setting] port 0: rx-ring: 512 -> 4096" in err and "[port-setting] port 0: rx-ring: 4096 -> 512" in err, err)
        check("the written log has what was before", "[program]\nburst=32 # became 64\n" in text(log) and
              "all-multicast=on # became off\n" in text(log), text(log))
        rc, out, err = run(["tune single-stream", f"tune restore {log}", "show settings 0 json"])
        check("another program restores by the log", rc == 0 and objects(last(out))["port 0"]["all-multicast"] == "on" and
              objects(last(out))["port 0"]["tx-ring"] == "512", (rc, err))
        rc, out, err = run([f"tune forwarding {d}/no/log", "show settings diff json"])
        check("without its log a profile is not in force", rc == 1 and "no/log" in err and objects(last(out)) == {}, (rc, err))
        rc, out, err = run(["tune forwarding", "tune manual", "tune restore", "show tune json"])
        check("manual keeps what there is", rc == 1 and "no profile" in err and json.loads(last(out))["profile"] == "manual", err)
        with open(log, "w") as f:
            f.write("[port 0]\nrx-ring=1\n")
        rc, out, err = run([f"tune restore {log}", "tune fast"])
        check("a damaged log and an unknown profile are refused", rc == 1 and f"{log}:2: " in err and "'fast'" in err and
              "single-stream" in err, err)


def groups():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "conf")
        rc, out, err = run(["group add 0 web mac=02:00:00:00:00:01 queues=2-3", "set setting group 0 web prio 3", f"save {path}",
                            "set setting group 0 web prio 9", "set setting group 0 web dscp 9", f"load {path}",
                            "show settings 0 json"], args=["--rxq", "4", "--txq", "4"])
        web = objects(last(out))["group 0 web"]
        check("settings of groups", rc == 1 and err.count("\n") == 1 and "'9'" in err and "0..7" in err and
              (web["prio"], web["dscp"], web["queues"]) == ("3", "none", "2,3"), (rc, err, web))


def roce():
    """What needs RoCE off is set by a load all the same; what it cannot be opened with is undone, and it is open again."""
    with tempfile.TemporaryDirectory() as d:
        good, bad = os.path.join(d, "good"), os.path.join(d, "bad")
        for path, mtu in ((good, 512), (bad, 1000)):
            with open(path, "w") as f:
                f.write(f"[port 0]\nroce=v2\nroce-provider=sw\nroce-mtu={mtu}\nroce-ttl=5\nroce-dscp=26\n")
        rc, out, err = run(["roce 0 on v2 sw", f"load {bad}", "show settings 0 diff json", "set setting 0 roce-ttl 9", f"load {good}",
                            "show settings 0 diff json", "show roce gid 0 json"])
        lines = [line for line in out.splitlines() if line.startswith("{")]
        now = {k: v["current"] for k, v in objects(lines[1]).get("port 0", {}).items()}
        check("settings of RoCE", rc == 1 and "256, 512, 1024" in err and "roce 0 off" in err and "does not hold" not in err and
              set(objects(lines[0])["port 0"]) == {"roce", "roce-provider"} and
              now == {"roce": "v2", "roce-provider": "sw", "roce-mtu": "512", "roce-ttl": "5", "roce-dscp": "26"} and
              len(json.loads(lines[2])["ports"][0]["gids"]) > 0, (rc, err, lines))


def one_shot():
    p = subprocess.run(command() + ["--json", "-e", "show settings 0", "-e", "set setting 0 promiscuous off; show settings diff"],
                       capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    lines = p.stdout.splitlines()
    check("one shot with --json", p.returncode == 0 and objects(lines[0])["port 0"]["promiscuous"] == "on" and
          objects(lines[1])["port 0"]["promiscuous"]["current"] == "off", (p.returncode, p.stderr))
    p = subprocess.run(command() + ["-e", "set setting 0 mtu 1; show settings"], capture_output=True, text=True, timeout=60,
                       stdin=subprocess.DEVNULL)
    check("one shot that fails", p.returncode == 1 and "600..9600 octets" in p.stderr and p.stdout == "", (p.returncode, p.stderr))


def terminal():
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(APP, command(NULL))
    seen = ""

    def expect(what):
        nonlocal seen
        end = time.time() + 60
        while not re.search(what, seen) and time.time() < end:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    seen += os.read(fd, 4096).decode(errors="replace")
                except OSError:
                    break
        found, was = re.search(what, seen) is not None, seen
        seen = ""
        return found, was

    expect("triplane> ")
    os.write(fd, b"tune sin\t\t")
    check("terminal completes profiles", *expect("(?s)single-port.*single-stream|single-stream.*single-port"))
    os.write(fd, b"stream\n")
    check("terminal tunes", *expect("tune single-stream: .* settings changed"))
    os.write(fd, b"set setting 0 all-multicast maybe\n")
    check("terminal explains", *expect("'maybe', want off or on"))
    os.write(fd, b"set setting program burst 17\nshow settings diff\n")
    check("terminal sets", *expect("current: 17"))
    os.write(fd, b"quit\n")
    check("terminal ends", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)


def wake_on_lan():
    rc, out, err = run(["set setting 1 wake-on-lan magic", "show settings diff json", "show device 0,1 json",
                        "set setting 1 wake-on-lan off", "show device 1 json"], ["--vdev=net_mlx4_model0,wol=1"])
    lines = out.splitlines()
    check("wake-on-lan of one port", rc == 0 and objects(lines[0])["port 1"] == {"wake-on-lan": {"current": "magic", "default": "off"}} and
          [p["wake_on_lan"] for p in json.loads(lines[1])["ports"]] == ["off", "magic"] and
          json.loads(lines[2])["ports"][0]["wake_on_lan"] == "off", (rc, out[-600:], err))
    rc, out, err = run(["show device 0 json", "set setting 0 wake-on-lan magic"])
    check("no wake-on-lan without the firmware's", rc != 0 and "not offered by the firmware" in out and
          "port 0: has no wake-on-lan: " in err, (rc, out[-300:], err))


for test in (reference, views, every_row, logged, files, bad_files, profiles, tune_logs, groups, roce, wake_on_lan, one_shot, terminal):
    try:
        test()
    except Exception as e:  # a test that stops is a failure with a name, and the others still run
        check(test.__name__, False, repr(e))
sys.exit(1 if failed else 0)
