#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane status, bind and unbind on a made-up machine: sysfs, procfs and /dev in a folder, whose drivers take and leave cards as
those of a kernel do. What is missing is said, each of it alone, and nothing is bound that should not be."""
import os
import pwd
import re
import resource
import select
import subprocess
import threading

import tpmd

APP = os.environ.get('TRIPLANE', os.path.join(os.environ['TP_BUILD'], 'apps', 'triplane'))
CARD, OTHER = '0000:03:00.0', '0000:03:00.1'
cases = tpmd.Cases()


class Machine:
    """A card of the kernel's driver, in IOMMU group 14, with two interfaces. Its "kernel" listens at what is written."""

    def __init__(self, folder, device=0x1007):
        self.root = folder
        os.chmod(folder, 0o755)
        self.stop, self.listens, self.fifos = threading.Event(), threading.Thread(target=self._kernel), {}
        self.put('sys/kernel/iommu_groups/14/type', 'DMA')
        self.put('sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages', '512')
        self.put('sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages', '1024')
        self.put('sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages', '512')
        for name in ('vfio', '14'):
            self.put('dev/vfio/' + name, '')
            os.chmod(self.path('dev/vfio/' + name), 0o600)
        for driver in ('vfio-pci', 'mlx4_core', 'snd_hda_intel'):
            os.makedirs(self.path('sys/bus/pci/drivers/' + driver))
            self._fifo('sys/bus/pci/drivers/%s/unbind' % driver)
        self._fifo('sys/bus/pci/drivers_probe')
        os.makedirs(self.path('proc/4711/fd'))
        self.put('proc/4711/comm', 'dpdk-testpmd')
        self.device(CARD, 0x15b3, device, 0x020000)
        for i, name in enumerate(('enp3s0', 'enp3s0d1')):
            self.put('%s/net/%s/flags' % (self.of(CARD), name), '0x1002')
        self.put(self.of(CARD) + '/infiniband/mlx4_0/fw_ver', '2.42.5000')
        self.bound(CARD, 'mlx4_core')
        self.refuses = set()  # drivers that take nothing
        self.wake = os.pipe()
        self.listens.start()

    def path(self, name):
        return os.path.join(self.root, name)

    def put(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'w') as f:
            f.write(text + '\n')

    def get(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def _fifo(self, name):
        os.mkfifo(self.path(name))
        self.fifos[os.open(self.path(name), os.O_RDWR | os.O_NONBLOCK)] = name

    def of(self, addr):
        return 'sys/bus/pci/devices/' + addr

    def device(self, addr, vendor, device, kind):
        for name, text in (('vendor', '0x%04x' % vendor), ('device', '0x%04x' % device), ('class', '0x%06x' % kind), ('numa_node', '0'),
                           ('driver_override', '(null)')):
            self.put('%s/%s' % (self.of(addr), name), text)
        group = 'sys/kernel/iommu_groups/14'
        os.symlink(self.path(group), self.path(self.of(addr) + '/iommu_group'))
        os.makedirs(self.path(group + '/devices'), exist_ok=True)
        os.symlink(self.path(self.of(addr)), self.path('%s/devices/%s' % (group, addr)))

    def bound(self, addr, driver):
        """The link of the driver; None: to none."""
        link = self.path(self.of(addr) + '/driver')
        if os.path.lexists(link):
            os.unlink(link)
        if driver:
            os.symlink(self.path('sys/bus/pci/drivers/' + driver), link)

    def driver(self, addr=CARD):
        link = self.path(self.of(addr) + '/driver')
        return os.path.basename(os.readlink(link)) if os.path.lexists(link) else None

    def _kernel(self):
        while not self.stop.is_set():
            for fd in select.select([*self.fifos, self.wake[0]], [], [])[0]:
                if fd not in self.fifos:
                    return
                addr = os.read(fd, 256).decode().strip()
                if self.fifos[fd].endswith('unbind'):
                    self.bound(addr, None)
                    continue
                wanted = self.get(self.of(addr) + '/driver_override').strip()
                wanted = wanted if wanted not in ('', '(null)') else 'mlx4_core'
                if wanted not in self.refuses and self.driver(addr) is None:
                    self.bound(addr, wanted)

    def state(self):
        """What a command could change: drivers, which one is wanted, whose the files of VFIO are."""
        devices = {a: (self.driver(a), self.get(self.of(a) + '/driver_override').strip().replace('(null)', ''))
                   for a in os.listdir(self.path('sys/bus/pci/devices'))}
        files = {n: os.stat(self.path('dev/vfio/' + n)) for n in os.listdir(self.path('dev/vfio'))}
        return devices, {n: (st.st_uid, st.st_gid, st.st_mode) for n, st in files.items()}

    def run(self, *words, user=None):
        cmd = [APP, words[0], '--sysroot', self.root, *words[1:]]
        kw = {'user': user, 'group': user} if user else {}
        p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60, text=True, check=False, **kw)
        return p.returncode, p.stdout

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        self.stop.set()
        os.write(self.wake[1], b'.')
        self.listens.join()
        for fd in (*self.fifos, *self.wake):
            os.close(fd)


def on(change, words, status, *said, driver='mlx4_core', user=None, absent=()):
    """What a command says on a machine that was changed, and which driver the card has afterwards."""
    with tpmd.scratch() as folder, Machine(folder) as m:
        change(m)
        before = m.state()
        rc, out = m.run(*words, user=user)
        missing = [s for s in said if not re.search(s, out)]
        found = [s for s in absent if re.search(s, out)]
        if rc != status or missing or found or m.driver() != driver:
            return 'status %d, driver %s, not said: %s, said: %s, all: %s' % (rc, m.driver(), missing, found, out)
        # Who looks changes nothing, and neither does who is refused.
        after = m.state()
        return None if rc == 0 and words[0] != 'status' or before == after else 'it was %s, and is %s' % (before, after)


def nothing(m):
    pass


def vfio(m):
    m.bound(CARD, 'vfio-pci')
    os.remove(m.path(m.of(CARD) + '/infiniband/mlx4_0/fw_ver'))


def both(*changes):
    def change(m):
        for c in changes:
            c(m)
    return change


def up(m):
    m.put(m.of(CARD) + '/net/enp3s0d1/flags', '0x1003')


def neighbour(m):
    m.device(OTHER, 0x8086, 0xa170, 0x040300)
    m.bound(OTHER, 'snd_hda_intel')


def bridge(m):
    m.device('0000:00:1c.0', 0x8086, 0xa110, 0x060400)
    m.bound('0000:00:1c.0', 'snd_hda_intel')


def no_iommu(m):
    os.unlink(m.path(m.of(CARD) + '/iommu_group'))
    for name in ('devices/' + CARD, 'type'):
        os.unlink(m.path('sys/kernel/iommu_groups/14/' + name))
    os.rmdir(m.path('sys/kernel/iommu_groups/14/devices'))
    os.rmdir(m.path('sys/kernel/iommu_groups/14'))


def unsafe(m):
    m.put('sys/module/vfio/parameters/enable_unsafe_noiommu_mode', 'Y')


def old_firmware(m):
    m.put(m.of(CARD) + '/infiniband/mlx4_0/fw_ver', '2.11.500')


def no_pages(m):
    m.put('sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages', '3')


def other_node(m):
    m.put('sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages', '7')


def no_module(m):
    fd = [f for f, n in m.fifos.items() if 'vfio-pci' in n][0]
    os.unlink(m.path(m.fifos[fd]))
    os.rmdir(m.path('sys/bus/pci/drivers/vfio-pci'))


def virtual(m):
    m.put(m.of(CARD) + '/device', '0x1004')


def network(m):
    m.put(m.of(CARD) + '/vendor', '0x8086')


def held(m):
    vfio(m)
    os.symlink(m.path('dev/vfio/14'), m.path('proc/4711/fd/25'))


def refuses(name):
    def change(m):
        m.refuses.add(name)
    return change


def without(m):
    """The kernel makes a group where there is no IOMMU, once it may."""
    vfio(m)
    unsafe(m)
    m.put('sys/kernel/iommu_groups/14/name', 'vfio-noiommu')
    os.unlink(m.path('dev/vfio/14'))


def no_file(m):
    vfio(m)
    os.unlink(m.path('dev/vfio/14'))


def opened(m):
    vfio(m)
    for name in ('vfio', '14'):
        os.chmod(m.path('dev/vfio/' + name), 0o666)


def given_back():
    """There and back; the override does not stay."""
    with tpmd.scratch() as folder, Machine(folder) as m:
        for words, driver in ((('bind', '03:00.0'), 'vfio-pci'), (('bind', CARD), 'vfio-pci'), (('unbind', CARD), 'mlx4_core'),
                              (('unbind', CARD), 'mlx4_core')):
            rc, out = m.run(*words)
            if rc != 0 or m.driver() != driver or 'bound to ' + driver not in out:
                return '%s: %d, %s: %s' % (words, rc, m.driver(), out)
        left = m.get(m.of(CARD) + '/driver_override').strip()
    return 'driver_override: %s' % left if left else None


def owner():
    who = pwd.getpwnam('nobody')
    with tpmd.scratch() as folder, Machine(folder) as m:
        rc, out = m.run('bind', '--owner', 'nobody', CARD)
        st = os.stat(m.path('dev/vfio/14'))
    return None if (rc, st.st_uid, st.st_gid) == (0, who.pw_uid, who.pw_gid) else '%d, %d:%d: %s' % (rc, st.st_uid, st.st_gid, out)


def empty():
    with tpmd.scratch() as folder:
        p = subprocess.run([APP, 'status', '--sysroot', folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return None if p.returncode == 1 and 'no ConnectX-3' in p.stdout else p.stdout


LIMIT = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
LOCKS = LIMIT == resource.RLIM_INFINITY or LIMIT >= 512 << 20
NOBODY = pwd.getpwnam('nobody').pw_uid
STATUS, BIND, UNBIND = ('status',), ('bind', CARD), ('unbind', CARD)
VFIO = {'driver': 'vfio-pci'}
for name, args, kw in (
        ('status-kernel', (nothing, STATUS, 1, r'ConnectX-3 Pro \(15b3:1007\), NUMA node 0', r'driver: mlx4_core',
                           r'enp3s0 \(down\), enp3s0d1 \(down\)', r'firmware: 2\.42\.5000', r'IOMMU group: 14\n',
                           r"missing:\n  0000:03:00\.0: bound to mlx4_core: 'triplane bind 0000:03:00\.0' as root\nnot ready"), {}),
        ('status-ready', (vfio, STATUS, 0, r'driver: vfio-pci', r'1024 MiB free of 2048 MiB', r'\nready\n$'), {**VFIO, 'absent': ('missing', 'better')}),
        ('status-up', (up, STATUS, 1, r'enp3s0d1 \(up\)'), {}),
        ('status-no-iommu', (no_iommu, STATUS, 1, r'no IOMMU is on: .*intel_iommu=on'), {}),
        ('status-neighbour', (both(vfio, neighbour), STATUS, 1, r'0000:03:00\.1 shares IOMMU group 14 and is bound to snd_hda_intel'), VFIO),
        ('status-bridge', (both(vfio, bridge), STATUS, 0, r'\nready'), VFIO),
        ('status-firmware', (old_firmware, STATUS, 1, r'firmware 2\.11\.500 is older than 2\.30\.8000'), {}),
        ('status-hugepages', (both(vfio, no_pages), STATUS, 0, r'better:\n  hugepages: 6 MiB are free, 512 are wanted: echo 256 >', r'\nready'), VFIO),
        ('status-node', (both(vfio, other_node), STATUS, 0, r'better:\n  0000:03:00\.0: 14 MiB of hugepages are free on its NUMA node 0'), VFIO),
        ('status-module', (no_module, STATUS, 1, r'vfio-pci: not loaded', r'modprobe vfio-pci'), {}),
        ('status-file', (no_file, STATUS, 1, r'/dev/vfio/14: No such file'), VFIO),
        ('status-unsafe', (without, STATUS, 1, r'/dev/vfio/noiommu-14: No such file'), VFIO),
        ('status-vf', (virtual, STATUS, 1, r'virtual function'), {}),
        ('status-user', (vfio, STATUS, 1, r"user \d+ may not open \S*/dev/vfio/14 \(owner 0, mode 600\): as root, 'triplane bind 0000:03:00\.0 --owner"),
         {**VFIO, 'user': NOBODY}),
        ('status-user-may', (opened, STATUS, 0 if LOCKS else 1, r'locked memory: '),
         {**VFIO, 'user': NOBODY, 'absent': ('may not open',)}),
        ('bind-up', (up, BIND, 1, r'interface enp3s0d1 is up'), {}),
        ('bind-forced', (up, (*BIND, '--force'), 0, r'0000:03:00\.0: bound to vfio-pci'), VFIO),
        ('bind-no-iommu', (no_iommu, BIND, 1, r'no IOMMU group'), {}),
        ('bind-unsafe', (both(no_iommu, unsafe), BIND, 0, r'bound to vfio-pci'), VFIO),
        ('bind-neighbour', (neighbour, BIND, 1, r'0000:03:00\.1 shares IOMMU group 14 and is bound to snd_hda_intel'), {}),
        ('bind-vf', (virtual, BIND, 1, r'virtual function'), {}),
        ('bind-other', (network, BIND, 1, r'PCI 8086:1007 is no ConnectX-3'), {}),
        ('bind-module', (no_module, BIND, 1, r'no vfio-pci: modprobe vfio-pci'), {}),
        ('bind-absent', (nothing, ('bind', '0000:77:00.0'), 1, r'0000:77:00\.0: there is no such PCI device'), {}),
        ('bind-owner', (nothing, (*BIND, '--owner', 'no-such-user'), 1, r"no user 'no-such-user'"), {}),
        ('bind-user', (nothing, BIND, 1, r'driver_override: Permission denied: run this as root'), {'user': NOBODY}),
        ('unbind-held', (held, UNBIND, 1, r'process 4711 \(dpdk-testpmd\) has it'), VFIO),
        ('word-address', (nothing, ('bind', '3:0'), 2, r"'3:0': wanted an address such as 0000:03:00\.0"), {}),
        ('word-option', (nothing, ('unbind', '--force', CARD), 2, r'wanted it with bind alone'), {}),
        ('word-none', (nothing, ('bind',), 2, r'wanted the address of a card'), {})):
    cases.run('bind-' + name if not name.startswith('bind') else name, lambda args=args, kw=kw: on(*args, **kw))
cases.run('bind-there-and-back', given_back)
cases.run('bind-owner-given', owner)
cases.run('bind-no-card', empty)
# The longest: the driver is waited for.
cases.run('bind-refused', lambda: on(refuses('vfio-pci'), BIND, 1, r'vfio-pci does not take it'))
cases.exit()
