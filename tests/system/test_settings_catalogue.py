#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings of large sends, tags, RSS, filters and DCBX through triplane: set, refused with their range, saved and loaded by another process."""
import json, os, subprocess, sys, tempfile

BUILD = os.environ.get("TP_BUILD", "build")
APP = os.environ.get("TRIPLANE", os.path.join(BUILD, "apps", "triplane"))
MODEL = ["--vdev=net_mlx4_model0"]
failed = 0


def run(lines, vdevs=MODEL, level="error"):
    """Commands by a pipe: one that fails does not end the others."""
    p = subprocess.run([APP, "--lcores", "0@0,1@0", "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
                        f"--log-level=*:{level}", f"--file-prefix=setc{os.getpid()}", *vdevs, "--"],
                       input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=180)
    return p.returncode, p.stdout, p.stderr


def check(name, ok, reason=""):
    global failed
    failed += not ok
    print(f"ok {name}" if ok else f"not ok {name}: {reason}", flush=True)


def objects(line):
    return {o["object"]: o["settings"] for o in json.loads(line)["objects"]}


def current(settings):
    return {name: s["current"] for name, s in settings.items()}


def diff(out):
    return {obj: current(s) for obj, s in objects(out.splitlines()[-1]).items()}


def round_trip(name, lines, want, vdevs=MODEL):
    """What the commands set differs from the defaults, is in a file, and in force after another process has read it."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "saved")
        rc, out, err = run(lines + [f"save {path}", "show settings diff json"], vdevs)
        check(f"{name}: set", rc == 0 and err == "" and diff(out) == want, (rc, err, out[-600:]))
        with open(path) as f:
            saved = f.read()
        rc, out, err = run([f"load {path}", "show settings diff json"], vdevs)
        check(f"{name}: saved and loaded", rc == 0 and err == "" and diff(out) == want, (rc, err, out[-600:], saved))


def refused(cmd, *words, vdevs=MODEL):
    rc, out, err = run([cmd, "show settings diff json"], vdevs)
    check(f"refused: {cmd}", rc == 1 and err.count("\n") == 1 and all(w in err for w in words) and diff(out) == {}, (rc, err, out[-300:]))


def large_sends():
    want = {"lso-size": "9000", "lso-min-segments": "8", "lso-tcp-options": "off", "lso-ip-options": "off"}
    round_trip("large sends", [f"set setting 1 {name} {v}" for name, v in want.items()], {"port 1": want})
    refused("set setting 0 lso-min-segments 1", "'1'", "2..32")
    refused("set setting 0 lso-size 131073", "'131073'", "0..131072")
    rc, out, err = run(["set setting 0 lso-size 3000"], ["--vdev=net_null0"])
    check("a device without large sends", rc == 1 and "lso-size" in err, (rc, err))
    rc, out, err = run(["set setting 0 lso-size 3000"], level="notice")
    check("a change is logged", "[port-setting] port 0: lso-size: 64000 -> 3000" in err, err)


def tags():
    want = {"tag-untagged": "both", "port-vlan": "291"}
    round_trip("port VLAN", [f"set setting 0 {name} {v}" for name, v in want.items()], {"port 0": want})
    refused("set setting 0 port-vlan 4096", "'4096'", "0..4095")
    refused("set setting 0 tag-untagged on", "'on'", "none, priority, vlan or both")


TESTS = (large_sends, tags)
for test in TESTS:
    try:
        test()
    except Exception as e:  # a test that stops is a failure with a name, and the others still run
        check(test.__name__, False, repr(e))
sys.exit(1 if failed else 0)
