#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-run: an owner of its own, the view of devices, what it leaves behind, what it refuses; programs of UCX on it."""
import ctypes
import errno
import functools
import glob
import os
import random
import re
import signal
import subprocess
import sys

import share_owner
import tpmd
import view_counters
from share_owner import DEV, GID, LIMIT, RUN

cases = tpmd.Cases()
BUILD = os.environ['TP_BUILD']
CARD = ('--vdev', 'net_mlx4_model0', '--addr', '192.0.2.1/24', '--addr', '192.0.2.2/24')
USER = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')

scratch = tpmd.scratch()
os.chmod(scratch.name, 0o777)
ENV = {k: v for k, v in os.environ.items() if k != 'RUNTIME_DIRECTORY'}
ENV['XDG_RUNTIME_DIR'] = scratch.name


def start(*cmd, prefix=(), **kw):
    kw.setdefault('stdin', subprocess.DEVNULL)
    return subprocess.Popen([*prefix, RUN, *cmd], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **kw)


def run(*cmd, limit=LIMIT, **kw):
    p = start(*cmd, **kw)
    try:
        out, err = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return None, out, err + ' (ended by the test)'
    return p.returncode, out, err


def processes():
    """Those that a triplane-run of this test started, by its folder."""
    found = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            with open(path, 'rb') as f, open(path.replace('environ', 'stat')) as g:
                text, stat = f.read(), g.read()
        except OSError:
            continue
        if os.fsencode(scratch.name) in text and ') Z ' not in stat and int(path.split('/')[2]) != os.getpid():
            found.append(path.split('/')[2])
    return found


def left():
    """None, or what is still there of owners and programs."""
    if tpmd.wait_until(lambda: not processes() and not os.listdir(scratch.name), LIMIT):
        return None
    return 'left: processes %s, files %s' % (processes(), glob.glob(scratch.name + '/**', recursive=True))


# --- an owner of its own -------------------------------------------------------------------------------------------------


def own():
    """Its devices with the addresses that were given; one line says so; nothing is left."""
    rc, out, err = run(*CARD, 'ibv_devinfo', '-v')
    gids = re.findall(r'GID\[ *%d\]:\s+(\S+), RoCE v2' % GID, out)
    if rc != 0 or gids != ['::ffff:192.0.2.1', '::ffff:192.0.2.2']:
        return 'exit code %s, %s: %s' % (rc, gids, err)
    if err != 'triplane-run: 2 devices of a triplane of its own: %s %s\n' % DEV:
        return 'it says: ' + err
    return left()


def user(prefix):
    rc, out, err = run(*CARD, 'ibv_devices', prefix=prefix)
    return left() if rc == 0 and all(d in out for d in DEV) else 'exit code %s: %s %s' % (rc, out, err)


def as_user(name, case, fn):
    """A case of another user. The build is somewhere that only root may enter, in some clones."""
    if os.geteuid() != 0:
        cases.run(name, lambda: 'skip only root can become another user')
    elif subprocess.run([*USER, 'test', '-x', RUN], check=False).returncode != 0:
        cases.run(name, lambda: 'skip the build is not for other users to read')
    else:
        case(name, fn, USER)


def at_once():
    """Each of many programs that begin together finds all devices."""
    script = ('import subprocess as s; p = [s.Popen(["ibv_devices"], stdout=s.PIPE, text=True) for _ in range(40)];'
              'print(sum(q.communicate()[0].count("%s_p") for q in p))' % DEV[0][:-3])
    rc, out, err = run(*CARD, sys.executable, '-c', script)
    return left() if rc == 0 and out == '80\n' else 'exit code %s, 80 devices: %s %s' % (rc, out, err)


def exit_code():
    rc, _, err = run('--quiet', '--vdev', 'net_mlx4_model0', 'sh', '-c', 'exit 7')
    return left() if rc == 7 and err == '' else 'exit code %s: %s' % (rc, err)


def by_signal():
    """What ends the program is passed to it, and told as a shell does."""
    p = start('--quiet', '--vdev', 'net_mlx4_model0', 'sh', '-c', 'trap "echo heard; exit 5" TERM; echo on; while :; do sleep 0.05; done')
    p.stdout.readline()
    p.terminate()
    out, err = p.communicate(timeout=LIMIT)
    if p.returncode != 5 or out != 'heard\n':
        return 'exit code %s: %s %s' % (p.returncode, out, err)
    rc, _, err = run('--quiet', '--vdev', 'net_mlx4_model0', 'sh', '-c', 'kill -KILL $$')
    return left() if rc == 137 else 'exit code %s: %s' % (rc, err)


def killed():
    """Even then neither its owner nor its program nor a file remains."""
    p = start(*CARD, 'sh', '-c', 'echo on; exec ibv_asyncwatch -d ' + DEV[0])
    p.stdout.readline()
    # One that begins another program has no words in between.
    tpmd.wait_until(lambda: len(processes()) >= 4)
    seen = processes()
    p.kill()
    p.communicate(timeout=LIMIT)
    return left() if len(seen) >= 4 else 'not triplane-run, its keeper, an owner and a program: %s' % seen


NO_FILES = 'mount -t tmpfs shm /dev/shm || exit 99; "$@"; echo "status $?"; ls -A /dev/shm'


def no_files():
    """Nothing is in a /dev/shm of its own after triplane-run, whether it ended or was killed; None, or what is."""
    prefix = ('unshare', '-m', 'sh', '-c', NO_FILES, 'sh')
    if subprocess.run([*prefix, 'true'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout != 'status 0\n':
        return 'skip only root can mount'
    for program, status in (('ibv_devinfo', 0), ('ibv_devinfo; kill -KILL $PPID; exec sleep 60', 137)):
        rc, out, err = run(*CARD, 'sh', '-c', program, prefix=prefix)
        if DEV[1] not in out or not out.endswith('status %d\n' % status):
            return 'exit code %s: %s %s' % (rc, out[-300:], err)
    return left()


def kill_owner():
    for pid in processes():
        try:
            if os.path.basename(os.readlink('/proc/%s/exe' % pid)) == 'triplane':
                os.kill(int(pid), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass


def owner_gone():
    """A program hears of the end of its owner, and so does who started both."""
    p = start(*CARD, 'stdbuf', '-oL', 'ibv_asyncwatch', '-d', DEV[0])
    p.stdout.readline()  # it watches
    kill_owner()
    event = p.stdout.readline()
    p.terminate()
    _, err = p.communicate(timeout=LIMIT)
    if p.returncode != 143 or not re.search('fatal|catastrophic|event_type', event, re.I):
        return 'exit code %s: %s' % (p.returncode, event)
    return left() if 'the owner that was started ended with exit code 137' in err else 'it says: ' + err


def calls(path):
    """A connection to the socket is there."""
    with open('/proc/net/unix') as f:
        return any(w[5] == '03' and w[-1] == path for w in map(str.split, f.read().splitlines()[1:]))


def owner_gone_first():
    """An owner that ends while its link is waited for ends the wait, and no program is started."""
    for _ in range(5):
        p = start('--vdev', 'net_mlx4_model0,ports=1,wire0=none', 'echo', 'ran')
        tpmd.wait_until(lambda: any(map(calls, glob.glob(scratch.name + '/*/share'))) or p.poll() is not None, LIMIT)
        kill_owner()
        out, err = p.communicate(timeout=LIMIT)
        if out == '':
            break
    if p.returncode != 1 or out != '' or len(err.splitlines()) > 4 or 'ended with exit code 137' not in err:
        return 'exit code %s: %s %s' % (p.returncode, out, err[-900:])
    return left()


# --- the view ------------------------------------------------------------------------------------------------------------

PORTS = {'state': '4: ACTIVE', 'phys_state': '5: LinkUp', 'rate': '40 Gb/sec (4X QDR)', 'link_layer': 'Ethernet', 'lid': '0x0',
         'gids/3': '0000:0000:0000:0000:0000:ffff:c000:0202', 'gid_attrs/types/2': 'IB/RoCE v1', 'gid_attrs/types/3': 'RoCE v2',
         'gid_attrs/ndevs/3': DEV[1], 'pkeys/0': '0xffff'}
DEVICE = {'node_guid': '0002:c903:00a1:b200', 'fw_ver': '2.42.5000', 'hca_type': 'MT4103', 'device/vendor': '0x15b3',
          'device/device': '0x1007', 'device/numa_node': '-1', 'board_id': 'MT_1090120019'}


@functools.cache
def namespaces(prefix=()):
    """The kernel gives them to this user."""
    _, _, err = run('--view', 'need', '--vdev', 'net_mlx4_model0', 'true', prefix=prefix)
    return 'namespaces: Operation not permitted' not in err


def with_view(name, fn, *user):
    cases.run(name, lambda: fn(*user) if namespaces(*user) else 'skip the kernel gives this user no namespaces')


def view(prefix=()):
    """Files as the kernel has them, beside all that was in these folders; nobody else sees them."""
    script = ('import glob, os; print({f: open(f).read().strip() for f in glob.glob("/sys/class/infiniband/%s/**", recursive=True)'
              ' if os.path.isfile(f)}); print(os.stat("/dev/infiniband/uverbs1").st_mode, sorted(os.listdir("/sys/class")),'
              ' sorted(os.listdir("/dev")), os.path.exists("/dev/shm"), len(open("/dev/urandom", "rb").read(9)))' % DEV[1])
    rc, out, err = run('--view', 'need', *CARD, sys.executable, '-c', script, prefix=prefix)
    if rc != 0:
        return 'exit code %s: %s' % (rc, err)
    files = eval(out.splitlines()[0])  # what the line above printed
    base = '/sys/class/infiniband/%s/' % DEV[1]
    want = {base + k: v for k, v in DEVICE.items()}
    want.update({base + 'ports/1/' + k: v for k, v in PORTS.items()})
    wrong = {k: (files.get(k), v) for k, v in want.items() if files.get(k) != v}
    mode, rest = out.splitlines()[1].split(' ', 1)
    there = [d for d in os.listdir('/sys/class') + os.listdir('/dev') if "'%s'" % d not in rest]
    if wrong or int(mode) & 0o170000 != 0o020000 or not rest.endswith('True 9'):
        return 'wrong: %s; %s' % (wrong, out.splitlines()[1])
    if there and not all(d.startswith(('tty', 'vcs', 'loop')) for d in there):
        return 'not there any more: %s' % there
    return 'seen outside' if os.path.exists('/sys/class/infiniband/' + DEV[1]) else left()


INDEX = r'''
import ctypes
lib, n = ctypes.CDLL(None), ctypes.c_int()
lib.ibv_get_device_list.restype, lib.ibv_get_device_name.restype = ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p
devs = lib.ibv_get_device_list(ctypes.byref(n))
for dev in map(ctypes.c_void_p, devs[:n.value]):
    with open('/sys/class/infiniband_verbs/uverbs%d/ibdev' % lib.ibv_get_device_index(dev)) as f:
        print(lib.ibv_get_device_name(dev).decode(), f.read().strip())
'''


def index():
    """The number of a device is that of its uverbs."""
    rc, out, err = run('--view', 'need', *CARD, sys.executable, '-c', INDEX)
    return left() if rc == 0 and out.splitlines() == [d + ' ' + d for d in DEV] else 'exit code %s: %s %s' % (rc, out, err)


def ibstat():
    """A program that reads all of it by itself, without this project's libraries in front."""
    rc, out, err = run('--view', 'need', *CARD, 'env', '-u', 'LD_PRELOAD', 'ibstat', DEV[0], '1')
    for line in ('State: Active', 'Physical state: LinkUp', 'Rate: 40', 'Link layer: Ethernet', 'Port GUID: 0x0202c9fffea1b201'):
        if line not in out:
            return 'exit code %s, no %s: %s %s' % (rc, line, out, err)
    return left() if rc == 0 else 'exit code %s: %s' % (rc, err)


def counters(prefix=()):
    rc, out, err = run('--view', 'need', *CARD, sys.executable, view_counters.__file__, *DEV, str(tpmd.free_port()), prefix=prefix,
                       limit=3 * LIMIT)
    return view_counters.wrong(rc, out, err) or left()


NOBODYS_CHILD = ('import os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print("alone")\n'
                 'os.write(int(os.environ["HELD"]), b"x")')


def beside():
    """What keeps counters going is no child of the program, holds nothing of it open, and goes with it."""
    r, w = os.pipe()
    p = start('--view', 'need', *CARD, sys.executable, '-c', NOBODYS_CHILD, pass_fds=(w, ), prefix=('env', 'HELD=%d' % w))
    os.close(w)
    out, err = p.communicate(timeout=LIMIT)
    with os.fdopen(r, 'rb') as f:
        said = f.read()  # until nobody can write any more
    return left() if p.returncode == 0 and out == 'alone\n' and said == b'x' else 'exit code %s, %s: %s %s' % (p.returncode, said, out, err)


def in_software():
    """RoCE in software says so: no maker's number, no slot, no board."""
    script = 'ibv_devinfo -v; cd /sys/class/infiniband/net_null0 && ls . device board_id hca_type; cat ports/1/hw_counters/looped'
    rc, out, err = run('--view', 'need', '--vdev', 'net_null0', 'sh', '-c', script)
    there = out.split('/sys/class')[-1]
    if not re.search(r'vendor_id:\s+0xffffff\n', out) or re.search('board_id:|^device|^hca_type|^board', out, re.M):
        return 'exit code %s: %s %s' % (rc, there, err)
    return left() if rc == 0 and out.endswith('\n0\n') and err.count('No such file') == 3 else 'exit code %s: %s %s' % (rc, there, err)


def no_view():
    """Nothing of it when it is not wanted."""
    rc, out, err = run('--view', 'off', *CARD, 'sh', '-c', 'ls -d /sys/class/infiniband/%s; ibv_devices' % DEV[0])
    return left() if rc == 0 and '/sys' not in out and DEV[0] in out else 'exit code %s: %s %s' % (rc, out, err)


# Where a view cannot be: what a shell does first, as root of a namespace; what is said.
WITHOUT_RIGHTS = 'exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
NO_VIEW = [
    ('no-namespaces', 'echo 0 >/proc/sys/user/max_user_namespaces; ' + WITHOUT_RIGHTS, 'namespaces: No space left on device'),
    ('no-names-of-users', 'mount -o remount,ro,bind /proc; ' + WITHOUT_RIGHTS, 'namespaces: Read-only file system'),
    ('no-device-full', 'mount -t tmpfs dev /mnt; cd /mnt; mkdir -m 1777 shm; for f in null zero random urandom; do touch $f;'
     'mount --bind /dev/$f $f; done; mount --rbind /mnt /dev; cd /; exec "$@"', 'devices: No such file or directory'),
]


def failed_view(script, why):
    """One that cannot be leaves nothing of it to the program, which runs, or refuses it when it is needed."""
    prefix = ('unshare', '-U', '-r', '-m', 'sh', '-ec', script, 'sh')
    able = subprocess.run([*prefix, 'true'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if able.returncode != 0:
        return 'skip no namespaces here: ' + able.stdout
    said = 'triplane-run: no view of /sys/class/infiniband and /dev/infiniband: ' + why
    look = 'id -u; for f in /sys/class/infiniband/%s /dev/infiniband/uverbs0; do test -e $f && echo $f; done; ibv_devices' % DEV[0]
    rc, out, err = run(*CARD, 'sh', '-c', look, prefix=prefix)
    if rc != 0 or out.splitlines()[0] != '0' or '/' in out or DEV[1] not in out or err.splitlines()[1:] != [said]:
        return 'exit code %s: %s %s' % (rc, out, err)
    rc, out, err = run('--quiet', '--view', 'need', *CARD, 'echo', 'ran', prefix=prefix)
    if rc != 1 or out != '' or err != said + '; --view off does without\n':
        return 'needed: exit code %s: %s %s' % (rc, out, err)
    return left()


# --- in libibverbs' place --------------------------------------------------------------------------------------------------

RDMACM = os.path.join(BUILD, 'preload/rdmacm/libtriplane-rdmacm.so')
DROP_IN = os.path.join(BUILD, 'preload/verbs/dropin/libibverbs.so.1')


def system_library():
    out = subprocess.run(['/sbin/ldconfig', '-p'], check=True, capture_output=True, text=True).stdout
    return re.search(r'libibverbs\.so\.1 .*=> (\S+)', out).group(1)


def versions():
    """Each symbol of the system's library, with its version, and no other."""
    def of(path):
        out = subprocess.run(['readelf', '-W', '--dyn-syms', path], check=True, capture_output=True, text=True).stdout
        return {w[7] for w in map(str.split, out.splitlines()) if len(w) > 7 and w[6] not in ('UND', 'Ndx')}
    return None if of(DROP_IN) == of(system_library()) else 'differ: %s' % sorted(of(DROP_IN) ^ of(system_library()))


def answers():
    """What asks no device answers as the system's library does: names, rates, the kernel's structures, files of sysfs."""
    both = [ctypes.CDLL(path) for path in (system_library(), DROP_IN)]
    bad = []

    def same(name, kind, *args):
        got = []
        for lib in both:
            fn = getattr(lib, name)
            fn.restype = kind
            out = ctypes.create_string_buffer(b'\x5a' * 512)
            got.append((fn(*[out if a is None else a for a in args]), out.raw if None in args else None))
        if got[0] != got[1]:
            bad.append((name, str(args[-1])[:20], [str(g)[:120] for g in got]))

    for name in ('ibv_wc_status_str', 'ibv_event_type_str', 'ibv_node_type_str', 'ibv_port_state_str'):
        for value in range(-1, 30):
            same(name, ctypes.c_char_p, value)
    for value in range(-1, 30):
        same('ibv_rate_to_mult', ctypes.c_int, value)
        same('ibv_rate_to_mbps', ctypes.c_int, value)
    for value in [both[0].ibv_rate_to_mbps(i) for i in range(30)] + list(range(-1, 500)):
        same('mbps_to_ibv_rate', ctypes.c_int, value)
        same('mult_to_ibv_rate', ctypes.c_int, value)
    rng = random.Random(3)
    for name in ('ibv_copy_ah_attr_from_kern', 'ibv_copy_qp_attr_from_kern', 'ibv_copy_path_rec_from_kern', 'ibv_copy_path_rec_to_kern'):
        for _ in range(20):
            same(name, None, None, bytes(rng.getrandbits(8) for _ in range(512)))
    same('ibv_get_sysfs_path', ctypes.c_char_p)
    for path in (b'/proc/sys/kernel', b'/nowhere'):
        for size in (100, 3):
            same('ibv_read_sysfs_file', ctypes.c_int, path, b'ostype', None, ctypes.c_size_t(size))
    return None if not bad else '%d differ: %s' % (len(bad), bad[:3])


BY_NAME = r'''
import ctypes
lib, this = ctypes.CDLL('libibverbs.so.1'), ctypes.CDLL(None)
this.dlvsym.restype, this.dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
def call(name, version, kind, *args):
    at = this.dlvsym(lib._handle, name, version)
    return ctypes.CFUNCTYPE(kind, *[type(a) for a in args])(at)(*args)
n = ctypes.c_int()
devs = call(b'ibv_get_device_list', b'IBVERBS_1.1', ctypes.POINTER(ctypes.c_void_p), ctypes.pointer(n))
print(*[call(b'ibv_get_device_name', b'IBVERBS_1.1', ctypes.c_char_p, ctypes.c_void_p(devs[i])).decode() for i in range(n.value)])
ctx = call(b'ibv_open_device', b'IBVERBS_1.1', ctypes.c_void_p, ctypes.c_void_p(devs[1]))
gid = (ctypes.c_ubyte * 16)()
call(b'ibv_query_gid', b'IBVERBS_1.1', ctypes.c_int, ctypes.c_void_p(ctx), ctypes.c_uint8(1), ctypes.c_int(3), ctypes.pointer(gid))
print(*gid[10:])
print(call(b'ibv_get_device_list', b'IBVERBS_1.0', ctypes.c_void_p), call(b'ibv_cmd_alloc_pd', b'IBVERBS_PRIVATE_%d', ctypes.c_int))
'''


def by_name():
    """A program that loads the library and asks for versions; one that is linked with it; what is private or too old is refused."""
    private = subprocess.run(['readelf', '-W', '--dyn-syms', system_library()], check=True, capture_output=True, text=True).stdout
    script = BY_NAME.replace('%d', re.search(r'IBVERBS_PRIVATE_(\d+)', private).group(1))
    rc, out, err = run('--drop-in', *CARD, sys.executable, '-c', script)
    if rc != 0 or out.splitlines() != ['%s %s' % DEV, '255 255 192 0 2 2', 'None %d' % errno.EOPNOTSUPP]:
        return 'exit code %s: %s %s' % (rc, out, err)
    rc, out, err = run('--drop-in', *CARD, 'sh', '-c', 'ibv_devices; echo $LD_PRELOAD; echo $LD_LIBRARY_PATH')
    if rc != 0 or DEV[1] not in out or 'libtriplane-verbs' in out:
        return 'exit code %s: %s %s' % (rc, out, err)
    lists = out.splitlines()[-2:]
    want = [RDMACM, os.path.dirname(DROP_IN)]
    wrong = [w for w, got in zip(want, lists) if got.split(':')[0] != os.path.realpath(w)]
    return left() if not wrong else 'lists: %s' % lists


def long_lists():
    """What was in the lists before stays in them, however much it is."""
    more = ':'.join('/nowhere/%d' % i for i in range(1500))
    rc, out, err = run('--drop-in', *CARD, 'sh', '-c', 'echo $LD_LIBRARY_PATH', prefix=('env', 'LD_LIBRARY_PATH=' + more))
    return left() if rc == 0 and out.rstrip().endswith(':' + more) else 'exit code %s: %s %s' % (rc, out[-200:], err)


# --- other people's programs ---------------------------------------------------------------------------------------------

SHORT = ('mlx4_model0_p0', 'mlx4_model0_p1')
# UCX tells a datagram's IPv4 header by what later cards put into sl: the address of IPv6 is what this card and it agree on.
UCX = {'UCX_IB_GID_INDEX': '1', 'UCX_WARN_UNUSED_ENV_VARS': 'n'}
UCX_TESTS = [('rc_verbs', 'tag_lat', 8, 500), ('rc_verbs', 'tag_bw', 65536, 200), ('rc_verbs', 'ucp_put_bw', 8, 500),
             ('rc_verbs', 'ucp_get', 4096, 200), ('rc_verbs', 'ucp_am_lat', 1024, 200), ('rc_verbs', 'ucp_add', 8, 200),
             ('ud_verbs', 'tag_lat', 8, 500), ('ud_verbs', 'tag_bw', 16384, 100), ('ud_verbs', 'ucp_am_lat', 1024, 200)]
QPERF = ('rc_lat', 'rc_bw', 'rc_rdma_read_lat', 'rc_rdma_write_bw')


def in_card():
    """This file's part below, in a triplane-run and a network of its own; each of its lines is a case."""
    if os.geteuid() != 0:
        return 'skip only root can make a network'
    ENV.update(UCX)
    rc, out, err = run('--view', 'need', '--short-names', *CARD, 'unshare', '-n', sys.executable, os.path.abspath(__file__),
                       'programs', limit=LIMIT * (len(UCX_TESTS) + len(QPERF)))
    return cases.relay(out) or (left() if rc == 0 else 'exit code %s: %s %s' % (rc, out[-900:], err[-900:]))


def both(port, server, client, env=({}, {})):
    """The client's exit code and output; the server is ended."""
    ends = share_owner.pair(share_owner.start, server, client, lambda _: tpmd.listens(port), True, env)
    return ends.rc, ends.out[-600:] + ('' if ends.rc == 0 else '; the server: ' + ends.said[-400:])


def ucx(tl, test, size, count):
    port = tpmd.free_port()
    cmd = ['ucx_perftest', '-t', test, '-s', str(size), '-n', str(count), '-w', '5', '-p', str(port)]
    tls = {'UCX_TLS': tl + ',self' + (',ud_verbs:aux' if tl == 'rc_verbs' else '')}
    rc, out = both(port, cmd, cmd + ['127.0.0.1'], [{**tls, 'UCX_NET_DEVICES': d + ':1'} for d in SHORT])
    # It would have had huge pages of the machine, and not given them back.
    good = rc == 0 and re.search(r'Final: +%d ' % count, out) and not re.search(r'UCX +(WARN|ERROR)', out)
    return None if good else 'exit code %d: %r' % (rc, out)


def qperf(test):
    """By rdma_cm: without it, qperf knows no RoCE. Its own connection goes to the same address, which the kernel has here, too."""
    port = tpmd.free_port()
    rc, out = both(port, ['qperf', '-lp', str(port)], ['qperf', '-lp', str(port), '-cm', '1', '-t', '1', '192.0.2.1', test])
    return None if rc == 0 and re.search(r'(latency|bw) += +[1-9]', out) else 'exit code %d: %r' % (rc, out)


def programs():
    subprocess.run('ip link set lo up; ip addr add 192.0.2.1/32 dev lo; ip addr add 192.0.2.2/32 dev lo', shell=True, check=True)
    for tl, test, size, count in UCX_TESTS:
        cases.run('ucx-%s-%s-%d' % (tl[:2], test, size), ucx, tl, test, size, count)
    for test in QPERF:
        cases.run('qperf-' + test, qperf, test)
    cases.exit()


def ucx_memory():
    """By its own word it takes no huge pages of the machine, which it could not give back, unless it is told to."""
    for before, want in ((), 'thp,md,mmap,heap'), (('env', 'UCX_ALLOC=heap'), 'heap'):
        rc, out, err = run('--view', 'off', *CARD, 'ucx_info', '-c', prefix=before)
        if rc != 0 or 'UCX_SELF_ALLOC=%s\n' % want not in out:
            return 'exit code %d: %s %s' % (rc, re.findall(r'.*_ALLOC=.*', out), err)
    return None


def ucx_devices():
    rc, out, err = run('--view', 'need', '--short-names', *CARD, 'ucx_info', '-d')
    seen = set(re.findall(r'Transport: (\S+_verbs)\s+#\s+Device: (\S+)', out))
    want = {(t, d + ':1') for t in ('rc_verbs', 'ud_verbs') for d in SHORT}
    return left() if rc == 0 and seen >= want else 'exit code %s: %s %s' % (rc, seen, err)


# --- refusals --------------------------------------------------------------------------------------------------------------

MODEL = ('--vdev', 'net_mlx4_model0')
REFUSALS = [
    ('both', ['--attach', '/x', *MODEL, 'true'], r'^triplane-run: --attach .* --vdev '),
    ('address-alone', ['--addr', '192.0.2.1/24', 'true'], r'^triplane-run: --addr goes with --vdev'),
    ('address', [*MODEL, '--addr', '192.0.2.1', 'true'], r"^triplane-run: --addr: '192.0.2.1' is no address"),
    ('address-length', [*MODEL, '--addr', '192.0.2.1/33', 'true'], r"'192.0.2.1/33' is no address"),
    ('address-6', [*MODEL, '--addr', 'fd00::/129', 'true'], r"'fd00::/129' is no address"),
    ('addresses', [*MODEL, *['--addr', '::1/64'] * 17, 'true'], r'more than 16 of --addr'),
    ('address-port', [*MODEL, *['--addr', 'fd00::1/64'] * 3, 'true'], r'--addr: 3 addresses, and 2 ports'),
    ('address-refused', [*MODEL, '--addr', '224.0.0.1/24', 'true'], r'224\.0\.0\.1: not the unicast.*\nerror: .*\n.*shares no port'),
    ('devices', [*MODEL * 9, 'true'], r'more than 8 of --vdev'),
    ('device', ['--vdev', 'nonsense0', 'true'], r'nonsense0.*\ntriplane-run: the owner that was started shares no port'),
    ('argument', ['--vdev', 'net_mlx4_model0,foo=1', 'true'], r"unknown device argument 'foo'.*shares no port"),
    ('program', [*MODEL, 'no-such-program'], r'triplane-run: no-such-program: No such file'),
    ('view', ['--view', 'maybe', *MODEL, 'true'], r"^triplane-run: --view: 'maybe' is not one of try, need, off"),
    ('nothing', [*MODEL], r'^triplane-run: no program is named'),
]


def refusal(cmd, pattern, prefix=()):
    rc, out, err = run(*cmd, prefix=prefix)
    return left() if rc == 1 and out == '' and re.search(pattern, err, re.S) else 'exit code %s: %s %s' % (rc, out, err)


def no_port():
    """A card in another process has no page of doorbells for each program: what is said names the port, and how it is shared."""
    with tpmd.scratch() as tmp, tpmd.Hca(os.path.join(tmp, 'card')) as card:
        vdev = 'net_mlx4_user0,socket=' + card.path
        bad = refusal(['--vdev', vdev, 'true'],
                      r"port 0, net_mlx4_user0_p0: not shared: .* page of doorbells.* \('roce 0 on v2 sw'\)\n"
                      r'.*\ntriplane-run: no port of the triplane that was started can be shared; .* --attach$')
        if bad:
            return bad
        app, path = tpmd.Triplane([vdev], name='noport'), os.path.join(tmp, 'share')
        for line in ('set fwd rxonly', tpmd.IDLE, 'roce 0 on v2 sw', 'start', 'share on ' + path):
            app.tell(line)
        app.ask('show share')
        rc, out, err = run('--attach', path, 'ibv_devices')
        app.over()
        return None if rc == 0 and 'net_mlx4_user0_p0' in out else 'as it says: exit code %s: %s %s' % (rc, out, err)


def main():
    for name, cmd, pattern in REFUSALS:
        cases.run('refusal-' + name, refusal, cmd, pattern)
    cases.run('refusal-port', no_port)
    cases.run('refusal-descriptors', refusal, [*MODEL, 'true'], 'no owner can be started: Too many open files', ('prlimit', '--nofile=4'))
    cases.run('own', own)
    as_user('user', cases.run, user)
    cases.run('at-once', at_once)
    cases.run('exit-code', exit_code)
    cases.run('by-signal', by_signal)
    cases.run('killed', killed)
    cases.run('no-files', no_files)
    cases.run('owner-gone', owner_gone)
    cases.run('owner-gone-first', owner_gone_first)
    with_view('view', view)
    as_user('view-user', with_view, view)
    with_view('device-index', index)
    with_view('ibstat', ibstat)
    with_view('counters', counters)
    as_user('counters-user', with_view, counters)
    with_view('beside', beside)
    with_view('in-software', in_software)
    cases.run('no-view', no_view)
    for name, script, why in NO_VIEW:
        cases.run('view-' + name, failed_view, script, why)
    cases.run('drop-in-versions', versions)
    cases.run('drop-in-answers', answers)
    cases.run('drop-in-by-name', by_name)
    cases.run('drop-in-long-lists', long_lists)
    cases.run('ucx-memory', ucx_memory)
    with_view('ucx-devices', ucx_devices)
    with_view('programs', in_card)
    scratch.cleanup()
    cases.exit()


if __name__ == '__main__':
    if sys.argv[1:] == ['programs']:
        programs()
    else:
        main()
