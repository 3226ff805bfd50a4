#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings of large sends, tags, RSS, filters, DCBX and 802.1Qau through triplane: set, refused with their range, saved and loaded by another process."""
import json, os, subprocess, sys, tempfile

import tpmd

BUILD = os.environ.get("TP_BUILD", "build")
APP = os.environ.get("TRIPLANE", os.path.join(BUILD, "apps", "triplane"))
MODEL = ["--vdev=net_mlx4_model0"]
failed = 0


def run(lines, vdevs=MODEL, level="error"):
    """Commands by a pipe: one that fails does not end the others."""
    p = subprocess.run([APP, "--lcores", tpmd.lcores("0@0,1@0"), "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci",
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


def shown(out):
    """The answers in JSON, but the last one."""
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")][:-1]


def round_trip(name, lines, want, vdevs=MODEL, shows=()):
    """
    What the commands set differs from the defaults, is in a file, and in force after another process has read it; what it shows of
    the objects that run by them is the same, too, and the result.
    """
    shows = [s + " json" for s in shows]
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "saved")
        rc, out, err = run(lines + [f"save {path}", *shows, "show settings diff json"], vdevs)
        first = shown(out)
        check(f"{name}: set", rc == 0 and err == "" and diff(out) == want, (rc, err, out[-600:]))
        with open(path) as f:
            saved = f.read()
        rc, out, err = run([f"load {path}", *shows, "show settings diff json"], vdevs)
        check(f"{name}: saved and loaded", rc == 0 and err == "" and diff(out) == want, (rc, err, out[-600:], saved))
        check(f"{name}: runs as before", shown(out) == first and len(first) == len(shows), (first, shown(out)))
    return first


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
    check("a change is logged", "[port-setting] port 0: lso-size: 131072 -> 3000" in err, err)


def tags():
    want = {"tag-untagged": "both", "port-vlan": "291"}
    round_trip("port VLAN", [f"set setting 0 {name} {v}" for name, v in want.items()], {"port 0": want})
    refused("set setting 0 port-vlan 4096", "'4096'", "0..4095")
    refused("set setting 0 tag-untagged on", "'on'", "none, priority, vlan or both")


def vlan_passes():
    """Frames with the port VLAN of one port pass the other one's filter by its ids, set while there was no filter yet."""
    lines = ["set setting 0 mode txonly", "set setting 1 mode rxonly", "set setting 1 vlan-ids 5", "set setting 1 rx-vlan-filter on",
             "set setting 0 tag-untagged vlan"]
    rc, out, err = run(lines + ["set setting 0 port-vlan 5", "start", "wait counter rx_good_packets 100 1 60", "stop"])
    check("the VLAN that may pass", rc == 0 and err == "", (rc, err, out[-300:]))
    rc, out, err = run(lines + ["set setting 0 port-vlan 6", "start", "wait counter tx_good_packets 1000 0 60", "stop",
                                "show port stats 1 json"])
    check("the VLAN that may not", rc == 0 and json.loads(out.splitlines()[-1])["ports"][0]["rx_packets"] == 0, (rc, err, out[-300:]))


KEY = bytes(range(7, 47)).hex()


def commands():
    """What commands set is a setting: saved, loaded by another process, and with the port configured anew it is still there."""
    macs, want = ["02:00:00:00:00:0%d" % i for i in (1, 2)], {
        "rx-queues": "4", "rss-key": KEY, "rss-table": "3,1", "rss-default-queue": "2", "rx-vlan-filter": "on", "vlan-ids": "5,7-9",
        "vxlan-port": "5000", "dcbx": "on", "dcbx-willing": "on"}
    want["mac-addresses"] = ",".join(macs)
    lines = ["port stop all", "set setting 1 rx-queues 4", "port start all", f"rss key 1 {KEY}", "rss reta 1 3,1",
             "set setting 1 rss-default-queue 2", "port config 1 vlan filter on"]
    lines += [f"port vlan add 1 {v}" for v in (9, 5, 7, 4, 8)] + ["port vlan remove 1 4"]
    lines += [f"port mac add 1 {m}" for m in macs] + ["port tunnel add 1 vxlan 5000", "dcbx 1 on willing"]
    round_trip("commands of filters and RSS", lines, {"port 1": want})
    anew = ["port stop 1", "set setting 1 mtu 1400", "set setting 1 mtu 1500", "port start 1", "rss show 1 json", "show settings diff json"]
    rc, out, err = run(lines + anew)
    rss = json.loads(out.splitlines()[-2])["ports"][0]
    check("kept when the port is configured anew", rc == 0 and diff(out) == {"port 1": want} and rss["key"] == KEY and
          rss["reta"].startswith("3,1,3,1,3,1,"), (rc, err, out[-900:]))


def texts():
    """The same by the rows; back to the defaults, nothing is left."""
    rows = {"rss-types": "tcp4,ipv6,udp6", "rss-key": KEY, "rss-table": "1,0,1", "vlan-ids": "0-3,4095", "mac-addresses": "02:00:00:00:00:09", "vxlan-port": "65535",
            "dcbx": "on"}
    lines = ["port stop all", "set setting 0 rx-queues 2"] + [f"set setting 0 {n} {v}" for n, v in rows.items()] + ["port start all"]
    round_trip("lists", lines, {"port 0": {"rx-queues": "2", **rows}})
    rc, out, err = run(lines + ["port stop all"] + [f"set setting 0 {n} {v}" for n, v in (
        ("rss-types", "ip,tcp,udp"), ("rss-key", "default"), ("rss-table", "default"), ("vlan-ids", "none"), ("mac-addresses", "none"), ("vxlan-port", "0"), ("dcbx", "off"),
        ("rx-queues", "1"))] + ["port start all", "show settings diff json"])
    check("back to the defaults", rc == 0 and err == "" and diff(out) == {}, (rc, err, out[-600:]))
    for name, value, want in (("rss-key", "12345", "default or the octets"), ("rss-key", "1234", "want 40"), ("rss-table", "0,,1", "such as 0,1,1,2"),
                              ("rss-table", "0,256", "such as 0,1,1,2"), ("vlan-ids", "4096", "0..4095"), ("vlan-ids", "9-7", "0..4095"),
                              ("mac-addresses", "01:00:5e:00:00:01", "unicast"), ("vxlan-port", "65536", "0..65535"), ("dcbx", "maybe", "off or on"),
                              ("rss-types", "tcp5", "such as ipv4,tcp4"), ("rss-types", "tcp4,", "such as ipv4,tcp4"),
                              ("rss-default-queue", "256", "0..255")):
        rc, out, err = run(["port stop 0", f"set setting 0 {name} {value}", "show settings diff json"])
        check(f"refused: {name} {value}", rc == 1 and err.count("\n") == 1 and name in err and want in err and diff(out) == {}, (rc, err))
    refused("rss reta 0 0,3", "3", "want 0..0")
    rc, out, err = run(["port stop 0", "set setting 0 rss-table 0,3", "port start 0"])
    check("a table beyond the queues", rc == 1 and "queues: 3, want 0..0" in err, (rc, err))
    rc, out, err = run(["set setting 0 vxlan-port 5000", "set setting 1 vxlan-port 6000", "show settings diff json"])
    check("one VXLAN port a card", rc == 1 and "6000" in err and "other port" in err and diff(out) == {"port 0": {"vxlan-port": "5000"}}, (rc, err))
    rc, out, err = run(["show settings 0 json"], ["--vdev=net_mlx4_model0,type=cx3"])
    check("a card without tunnels has no vxlan-port", rc == 0 and "vxlan-port" not in objects(out)["port 0"], (rc, err))


def checksums():
    want = {"ipv4-cksum": "off", "tcp4-cksum": "tx", "udp4-cksum": "rx", "tcp6-cksum": "rx", "udp6-cksum": "off"}
    round_trip("checksums by protocol", [f"set setting 0 {name} {v}" for name, v in want.items()], {"port 0": want})
    refused("set setting 0 tcp4-cksum on", "'on'", "off, tx, rx or both")


def header_split():
    round_trip("header split", ["port stop 1", "set setting 1 header-split on", "port start 1"], {"port 1": {"header-split": "on"}})
    refused("set setting 1 header-split on", "stop")


def multicast():
    """As many addresses as a list may have, none of them a neighbour of another; DCBX listens beside them."""
    macs = ["01:00:5E:%02X:%02X:00" % (i // 256, i % 256) for i in range(1024)]
    want = {"mcast-list": "1024", "mcast-addresses": ",".join(macs)}
    round_trip("a full multicast list", ["set setting 1 mcast-list 1024"] + ["port mcast add 1 " + m for m in macs], {"port 1": want})
    want = {"mcast-addresses": "01:00:5E:00:00:05-01:00:5E:00:00:08,33:33:00:00:00:01"}
    round_trip("commands of the multicast list", ["port mcast add 0 33:33:00:00:00:01", "port mcast add 0 01:00:5e:00:00:04 count 5",
                                                  "port mcast remove 0 01:00:5e:00:00:04"], {"port 0": want})
    rc, out, err = run(["port mcast add 0 01:00:5e:00:00:05", "dcbx 0 on", "show port mcast 0 json", "dcbx 0 off", "show port mcast 0 json"])
    listed = [json.loads(line)["ports"][0]["listed"] for line in out.splitlines()]
    check("DCBX beside the list", rc == 0 and err == "" and listed == [2, 1], (rc, err, out))
    refused("set setting 0 mcast-list 63", "'63'", "64..1024")
    refused("set setting 0 mcast-addresses 02:00:00:00:00:01", "02:00:00:00:00:01", "up to 1024 multicast addresses")
    refused("set setting 0 mcast-addresses 01:00:5e:00:00:01-01:00:5e:00:04:01", "up to 1024 multicast addresses")
    refused("port mcast add 0 02:00:00:00:00:01", "02:00:00:00:00:01", "want multicast")
    refused("port mcast remove 0 01:00:5e:00:00:01", "0 of 1 addresses from 01:00:5e:00:00:01")


def names():
    """Names that users of the vendor's driver look for, as its manual and Microsoft's have them."""
    rc, out, err = run(["show setting-table json"])
    have = {(r["scope"], r["name"]): r["vendor"] for r in json.loads(out)["settings"]}
    want = {("card", "rss-udp"): "UseRSSForUDP", ("card", "rss-raw-ip"): "UseRSSForRawIP", ("card", "rss-or-vmq"): "*RssOrVmqPreference",
            ("port", "tx-tcp-tso"): "*LsoV2IPv4, *LsoV2IPv6", ("port", "rx-tcp-cksum"): "*TCPChecksumOffloadIPv4, *TCPChecksumOffloadIPv6",
            ("port", "udp4-cksum"): "*UDPChecksumOffloadIPv4", ("port", "tcp6-cksum"): "*TCPChecksumOffloadIPv6",
            ("port", "rx-tcp-lro"): "*RscIPv4, *RscIPv6", ("port", "lso-size"): "LSOSize", ("port", "tag-untagged"): "*PriorityVLANTag",
            ("port", "vxlan-port"): "*VxlanUDPPortNumber", ("port", "rss-queues"): "*NumRSSQueues", ("port", "roce-mtu"): "RoceMaxFrameSize"}
    wrong = {k: have.get(k) for k, v in want.items() if have.get(k) != v}
    check("the vendor's names", rc == 0 and not wrong, wrong or err)


def told():
    """Commands that change settings otherwise than by a value log the old and the new one, too; those that change nothing do not."""
    key = "00" * 39 + "01"
    for cmd, want in (("rss key 0 " + key, "rss-key: default -> " + key), ("rss reta 0 0,1,1", "rss-table: default -> 0,1,1"),
                      ("port mac add 0 02:00:00:00:00:05", "mac-addresses: none -> 02:00:00:00:00:05"),
                      ("port mac set 0 02:00:00:00:00:06", "mac: 00:02:C9:A1:B2:01 -> 02:00:00:00:00:06"),
                      ("port vlan add 0 7", "vlan-ids: none -> 7"), ("port mcast add 0 01:00:5e:00:00:05", "mcast-addresses: none -> 01:00:5E:00:00:05"), ("port tunnel add 0 vxlan 5000", "vxlan-port: 0 -> 5000"),
                      ("dcbx 0 on willing", "dcbx-willing: off -> on"), ("set dcbx-times 0 5 3", "dcbx-interval: 30 -> 5"), ("set dcbx-times 0 5 3", "dcbx-hold: 4 -> 3")):
        lines = ["port stop 0", "set setting 0 rx-queues 2", "port start 0", "port config 0 vlan filter on", cmd]
        rc, _, err = run(lines, level="notice")
        check("told of: " + cmd[:40], rc == 0 and f"[port-setting] port 0: {want}" in err, (rc, err[-400:]))
    rc, _, err = run(["port vlan remove 0 7", "rss reta 0 0", "rss reta 0 0"], level="notice")
    check("told once", err.count("rss-table: default -> 0") == 1 and "vlan-ids" not in err, err[-400:])


def rdma():
    """RoCE is on after a load as it was before: the port has the GIDs of its addresses, the provider and the mode."""
    want = {"roce": "v1", "roce-provider": "sw", "roce-addresses": "192.0.2.1/24,2001:db8::1/64@7", "roce-gateway": "192.0.2.254",
            "roce-mtu": "512", "roce-prio": "3", "roce-dscp": "26", "roce-ttl": "9", "roce-udp-port": "1021", "roce-gid-poll": "500"}
    lines = ["set roce 0 mtu 512", "set roce 0 prio 3", "set roce 0 dscp 26", "set roce 0 ttl 9", "set roce 0 udp-port 1021",
             "set setting 0 roce-gid-poll 500", "roce 0 on v1 sw", "roce addr add 0 192.0.2.1/24", "roce addr add 0 2001:db8::1/64 vlan 7",
             "roce gateway 0 192.0.2.254"]
    first = round_trip("RoCE", lines, {"port 0": want}, shows=["show roce devices", "show roce gid 0"])
    device = [d for d in first[0]["devices"] if d["port"] == 0][0]
    gids = {(g["gid"], g["type"]) for g in first[1]["ports"][0]["gids"]}
    check("RoCE: provider, mode", (device.get("provider"), device.get("mode")) == ("sw", "v1"), device)
    check("RoCE: GIDs", {("192.0.2.1", "v1"), ("2001:db8::1", "v1")} <= gids, gids)
    rc, out, err = run(["roce 0 on", "set setting 0 roce-addresses 192.0.2.1/24,192.0.2.2/24", "set setting 0 roce-addresses 192.0.2.2/24",
                        "show roce gid 0 json", "show settings diff json"])
    gids = {g["gid"] for g in shown(out)[0]["ports"][0]["gids"]}
    check("RoCE: addresses of an open port", rc == 0 and "192.0.2.2" in gids and "192.0.2.1" not in gids, (err, gids))
    for value in ("192.0.2.1", "192.0.2.1/33", "192.0.2.1/24@4095", "192.0.2.1/24,192.0.2.1/24", "x/1"):
        refused(f"set setting 0 roce-addresses {value}", f"'{value}'", "none or up to 16")
    refused("set setting 0 roce v3", "'v3'", "v1-mac")
    refused("set setting 0 roce-gateway 192.0.2.1/24", "192.0.2.1/24", "none or an address")


IB = ["--vdev=net_mlx4_model0,port0=ib,port1=ib,wire0=ibswitch:set/port:1,wire1=ibswitch:set/port:2"]
IPOIB = ("name", "device", "state", "pkey", "pkey_in_table", "membership", "mac", "mode", "refuse_incoming", "guid_mask", "age_interval_ms", "age",
         "monitor_ms", "query_runs", "leave_runs", "connected_mtu", "mtu")


def picked(objs, keys):
    return [{k: o.get(k) for k in keys} for o in objs]


def fabric(out):
    """What runs: IPoIB ports, pairs, managers, times, whether ports are lent. Which port of a pair was up first is chance."""
    ipoib, pairs, sm, mad = shown(out)
    return (picked(ipoib["ports"], IPOIB), picked(pairs["pairs"], ("name", "up", "primary", "backup", "failback", "failback_ms")),
            picked(sm["managers"], ("device", "role", "priority", "subnet_up")), mad["lent"], picked(mad["ports"], ("device", "sa_timeout_ms", "sa_retries")))


def infiniband():
    """
    All that commands of InfiniBand make runs again after a load by another process: ports are up in the partitions that the manager
    gives them, with the words that they were made with and what was changed since.
    """
    card = "net_mlx4_model0"
    start = ["port start all", "wait link up all 60", "show ipoib json", "show ipoib pair json", "ib sm show json", "show ib mad json", "show settings diff json"]
    with tempfile.TemporaryDirectory() as d:
        path, sock = os.path.join(d, "saved"), os.path.join(d, "umad")
        lines = [f"ib umad on {sock}", f"ib sm on {card}/1 priority 3", f"ib sm partitions {card}/1 0x8005 0x0006", f"ib sa {card}/2 timeout 500 retries 4",
                 f"ipoib add {card}/1 pkey 0x8005 mode connected cm-mtu 9000 refuse-incoming 1 age 3 guid-mask 0x7e age-interval 20000",
                 f"ipoib add {card}/2 mac 02:00:00:00:00:09 monitor 2000 query-runs 4 leave-runs 5", "ipoib set 1 age 7",
                 f"ipoib pair add {card}/1 {card}/2 failback off delay 10 pkey 0x0006 age 4"]
        rc, out, err = run(lines + [f"save {path}"] + start, IB)
        first = fabric(out)
        check("InfiniBand: set", rc == 0 and err == "" and [p["state"] for p in first[0]] == ["up", "up"] and first[1][0]["up"] and
              first[2] == [{"device": f"{card}/1", "role": "master", "priority": 3, "subnet_up": True}] and first[3] and
              {"device": f"{card}/2", "sa_timeout_ms": 500, "sa_retries": 4} in first[4], (rc, err, first))
        check("InfiniBand: words", (first[0][0]["age"], first[0][0]["membership"], first[0][1]["age"], first[0][1]["query_runs"], first[1][0]["failback_ms"]) ==
              (3, "full", 7, 4, 10), first)
        rc, out, err = run([f"load {path}"] + start, IB)
        check("InfiniBand: saved and loaded", rc == 0 and err == "" and fabric(out) == first, (rc, err, first, fabric(out)))
        with open(path) as f:
            saved = f.read()
        check("InfiniBand: the socket", f"ib-umad={sock}" in saved, saved)
        # What is refused further on leaves no port behind; a list of ports without these takes them away.
        bad, less = os.path.join(d, "bad"), os.path.join(d, "less")
        for name, text in ((bad, saved.replace("ipoib-age=7", "ipoib-age=21")), (less, "[program]\n")):
            with open(name, "w") as f:
                f.write(text)
        rc, out, err = run([f"load {bad}", "show ipoib json", f"load {path}", f"load {less}", "show ipoib json", "ib sm show json", "show settings diff json"], IB)
        got = shown(out)
        check("InfiniBand: all or nothing", rc == 1 and f"{bad}:" in err and "'21'" in err and got[0]["ports"] == [], (err, got[0]))
        check("InfiniBand: what a file does not name goes", got[1]["ports"] == [] and got[2]["managers"] == [] and diff(out) == {}, (err, got[1:]))
        rc, out, err = run([f"set setting program ib-ports 3 ipoib {card}/1", "show ipoib json", "show settings diff json"], IB)
        check("InfiniBand: another number", rc == 1 and "would be port 0" in err and shown(out)[0]["ports"] == [], err)
    for name, value, want in (("ib-managers", f"{card}/1 16", "PRIORITY"), ("ib-sa", f"{card}/1 249 1", "250..60000"), ("ib-ports", f"0 eth {card}/1", "NUMBER ipoib")):
        refused(f"set setting program {name} {value}", f"'{value}'", want, vdevs=IB)


def dcbx_times():
    want = {"dcbx-interval": "5", "dcbx-hold": "3", "dcbx": "on", "dcbx-willing": "on"}
    round_trip("DCBX", ["set dcbx-times 0 5 3", "dcbx 0 on willing"], {"port 0": want})
    refused("set setting 0 dcbx-interval 3601", "'3601'", "1..3600")
    refused("set setting 0 dcbx-hold 0", "'0'", "1..100")


def notification():
    """802.1Qau: the card of the other process has the parameters, by its own answer; what is refused names the range and leaves the card as it was."""
    want = "3,5:cn_tag=1:rpg_byte_reset=4294967295:rpg_ai_rate=7,-6:rpg_gd=8,disable_32_14_4e"
    first = round_trip("802.1Qau", ["set setting 0 qcn disable_32_14_4e,-6:rpg_gd=8:rpg_threshold=5,5:rpg_ai_rate=7:rpg_byte_reset=4294967295:cn_tag=1,3"],
                       {"port 0": {"qcn": want}}, shows=["qcn get 0", "qcn get 1 5"])
    named = {5: {"cn_tag": 1, "rpg_byte_reset": 4294967295, "rpg_ai_rate": 7}, 6: {"rpg_gd": 8}}
    std = {"cn_tag": 0, "rppp_max_rps": 1, "rpg_time_reset": 15000, "rpg_byte_reset": 150000, "rpg_threshold": 5, "rpg_max_rate": 0, "rpg_ai_rate": 5, "rpg_hai_rate": 50,
           "rpg_gd": 7, "rpg_min_dec_fac": 50, "rpg_min_rate": 10}
    has = [{k: v for k, v in p.items() if k not in ("counters", "priority")} for p in first[0]["ports"][0]["priorities"]]
    check("802.1Qau: what the card has", has == [{**std, **named.get(i, {}), "rpg_enable": int(i in (3, 5)), "disable_32_14_4e": 1} for i in range(8)], has)
    check("802.1Qau: the other port", first[1]["ports"][0]["priorities"][0]["rpg_ai_rate"] == 5, first[1])
    for value, *words in (("9", "'9'", "0..7"), ("5:rpg_min_dec_fac=101", "rpg_min_dec_fac '101'", "0..100 %"), ("5:rpg_gd=4294967296", "rpg_gd '4294967296'", "0..4294967295"),
                          ("5:cn_tag=2", "cn_tag '2'", "0..1"), ("5:rpg_gd", "rpg_gd ''", "0..4294967295"), ("5:rpg_gd=", "rpg_gd ''", "0..4294967295"), ("5:rpg_gd=-1", "'-1'", "0..4294967295"),
                          ("5:rpg_time_reset=1.5", "'1.5'", "0..4294967295 us"), ("5:rpg_x=1", "'rpg_x'", "rpg_ai_rate"), ("5:rpg_enable=1", "'rpg_enable'", "rpg_ai_rate"),
                          ("5:disable_32_14_4e=1", "'disable_32_14_4e'", "rpg_ai_rate"), ("-5", "'-5'", "-5:rpg_gd=8"), ("5,5", "priority 5", "twice"), ("5,", "''", "0..7")):
        refused(f"set setting 0 qcn {value}", *words)
    rc, out, err = run(["set setting 0 qcn 5", "show settings 0 json"], ["--vdev=net_mlx4_model0,congestion=0"])
    check("802.1Qau: not offered", rc == 1 and err == "error: port 0: has no qcn: Operation not supported\n" and "qcn" not in objects(out)["port 0"], (rc, err, out[-300:]))
    refused("set setting 0 qcn 5", "port 0", "qcn", vdevs=["--vdev=net_null0"])
    # The third command fails: what the two before it told is taken back.
    rc, out, err = run(["qcn set 0 1 rpg_gd 9", "set setting 0 qcn 2:rpg_gd=8,4:rpg_gd=8", "show settings diff json", "qcn get 0 1-4 rpg_gd json"],
                       ["--vdev=net_mlx4_model0,fail=CONGESTION_CTRL:4:3"])
    now, card = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    check("802.1Qau: all or nothing", rc == 1 and err.count("error: ") == 1 and "error: port 0: qcn 2:rpg_gd=8,4:rpg_gd=8" in err and
          current({o["object"]: o["settings"] for o in now["objects"]}["port 0"]) == {"qcn": "-1:rpg_gd=9"} and
          [p["rpg_gd"] for p in card["ports"][0]["priorities"]] == [9, 7, 7, 7], (rc, err, out))
    # Commands are changes of it; live, back to nothing.
    rc, out, err = run(["qcn set 0 5 rpg_gd 8", "qcn enable 0 5-6", "qcn clear 0", "qcn defaults 0 5", "set setting 0 qcn none", "qcn get 0 5-6 rpg_enable json"], level="notice")
    said = [line.split("[port-setting] port 0: ")[1] for line in err.splitlines() if "[port-setting] port 0: qcn" in line]
    card = json.loads(out.splitlines()[-1])
    check("802.1Qau: told", said == ["qcn: none -> -5:rpg_gd=8", "qcn: -5:rpg_gd=8 -> 5:rpg_gd=8,6", "qcn: 5:rpg_gd=8,6 -> 6", "qcn: 6 -> none"] and
          [p["rpg_enable"] for p in card["ports"][0]["priorities"]] == [0, 0], (said, out))


TESTS = (notification, told, rdma, infiniband, dcbx_times, names, large_sends, tags, vlan_passes, commands, texts, checksums, header_split, multicast)
for test in TESTS:
    try:
        test()
    except Exception as e:  # a test that stops is a failure with a name, and the others still run
        check(test.__name__, False, repr(e))
sys.exit(1 if failed else 0)
