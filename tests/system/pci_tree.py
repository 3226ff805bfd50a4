# SPDX-License-Identifier: BSD-3-Clause
"""A made-up tree of PCI devices, as DPDK reads it."""
import os


def pci_tree(folder, device_id, driver, seen=None):
    """A card in a folder for SYSFS_PCI_DEVICES, bound to this driver; seen: how the folder is called by who reads it."""
    dev = os.path.join(folder, '0000:03:00.0')
    os.makedirs(dev)
    values = {'vendor': '0x15b3', 'device': '0x%04x' % device_id, 'subsystem_vendor': '0x15b3', 'subsystem_device': '0x0055',
              'class': '0x020000', 'max_vfs': '0', 'numa_node': '0', 'vendor_id': '0x15b3'}
    for k, v in values.items():
        with open(os.path.join(dev, k), 'w') as f:
            f.write(v + '\n')
    with open(os.path.join(dev, 'resource'), 'w') as f:
        f.write('0x00000000f0000000 0x00000000f00fffff 0x0000000000140204\n' + ''.join('0x0 0x0 0x0\n' for _ in range(1)) +
                '0x00000000e0000000 0x00000000e07fffff 0x000000000014220c\n' + '0x0 0x0 0x0\n' * 3)
    if driver:
        os.makedirs(os.path.join(folder, 'drivers', driver))
        os.symlink(os.path.join(seen or folder, 'drivers', driver), os.path.join(dev, 'driver'))
