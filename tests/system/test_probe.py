#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which driver the PCI bus asks first, on a made-up tree of PCI devices that claim to be bound to vfio-pci."""
import os
import re
import subprocess

import tpmd
from pci_tree import pci_tree

cases = tpmd.Cases()


def probe(device_id, driver, plugins=()):
    with tpmd.scratch() as d:
        tree = os.path.join(d, 'devices')
        os.makedirs(tree)
        pci_tree(tree, device_id, driver)
        args = tpmd.eal('tpprobe%d' % os.getpid(), pci=True, memory=256, plugin=not plugins)
        args = [a for a in args if not a.startswith('--log-level')] + ['--log-level=lib.eal:debug', '--log-level=bus.pci:debug']
        for plugin in plugins:
            args += ['-d', plugin]
        env = dict(os.environ, SYSFS_PCI_DEVICES=tree)
        p = subprocess.run(['dpdk-testpmd'] + args + ['--', '--no-mlockall', '--total-num-mbufs=2048'], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, env=env)
        return p.stdout.decode(errors='replace')


def first_driver(device_id, plugins=()):
    out = probe(device_id, 'vfio-pci', plugins)
    drivers = re.findall(r'probe driver: 15b3:%04x (\S+)' % device_id, out)
    if not drivers:
        return 'no driver was asked: %s' % out[-600:]
    return None if drivers[0] == 'net_mlx4_vfio' else 'asked first: %s' % drivers


for dev in (0x1003, 0x1004, 0x1007):
    cases.run('pci-order-%04x' % dev, first_driver, dev)


def theirs():
    """Where DPDK loads drivers from."""
    out = probe(0x1003, None)
    found = re.findall(r'(\S*/librte_net_mlx4\.so[.\d]*)', out)
    return found[0] if found else None


def after_theirs():
    """In DPDK's own folder the order of plugins is the file system's: the one that registers last is asked first all the same."""
    other = theirs()
    if other is None:
        return 'this DPDK loads no net_mlx4'
    out = probe(0x1007, 'vfio-pci', (other, tpmd.PLUGIN))
    loaded = [os.path.basename(n).split('.')[0] for n in re.findall(r'open shared lib (\S+)', out)]
    if loaded[:2] != ['librte_net_mlx4', 'librte_net_mlx4_vfio']:
        return 'they were loaded as %s' % loaded[:4]
    return first_driver(0x1007, (other, tpmd.PLUGIN))


def kernel_bound():
    """A card that the kernel's driver has is theirs."""
    drivers = re.findall(r'probe driver: 15b3:1007 (\S+)', probe(0x1007, 'mlx4_core'))
    return None if drivers[-1:] == ['net_mlx4'] else 'asked: %s' % drivers


cases.run('pci-order-after-net_mlx4', after_theirs)
cases.run('pci-order-kernel-bound', kernel_bound)

cases.exit()
