# SPDX-License-Identifier: BSD-3-Clause
"""tgt's target, on a shared port and on TCP of the kernel, and fio on its disks."""
import json
import os
import random
import subprocess

import tpmd
from share_owner import LIMIT, finish

THERE = '192.0.2.2'
NAME = 'iqn.2026-01.example.triplane:'
INITIATORS = (NAME + 'one', NAME + 'two')  # over iSER, tgt wants them by name
BLOCKS = 65536  # of 512 octets
RDMA_PORT = '3260'  # tgtd's own: it takes no other one here. It is the owner's, so that no other program of this machine has it


def fio_rate(out):
    """Writes a second of a job that tells in JSON; None: it told nothing."""
    return json.JSONDecoder().raw_decode(out[out.index('{\n'):])[0]['jobs'][0]['write']['iops'] if out and '{\n' in out else None


class Target:
    """tgtd with a disk for each transport. Its socket of control is in the owner's folder."""

    def __init__(self, owner):
        self.env = {**os.environ, 'TGT_IPC_SOCKET': os.path.join(owner.dir.name, 'tgt')}
        self.tcp = tpmd.free_port()
        # Its buffers are a segment of huge pages where the machine has some. What it says goes to no pipe, which nobody reads.
        self.proc = owner.start('sh', '-c', 'exec tgtd "$@" >"$0" 2>&1',
                                os.path.join(owner.dir.name, 'said'), '-f', '--iscsi', 'portal=127.0.0.1:%d' % self.tcp, '--iser',
                                'pool_sz_mb=128', env=self.env)
        if not tpmd.wait_until(lambda: self.proc.poll() is not None or (tpmd.listens(self.tcp) and any(
                p['listening'] for p in owner.show()['programs'])), LIMIT) or self.proc.poll() is not None:
            self.end()
            with open(os.path.join(owner.dir.name, 'said')) as f:
                raise RuntimeError('tgtd does not listen: ' + f.read())
        self.disk, self.first = {}, {}
        rng = random.Random(18)
        for tid, kind in ((1, 'iscsi'), (2, 'iser')):
            self.disk[kind] = os.path.join(owner.dir.name, kind)
            self.first[kind] = rng.randbytes(512 * BLOCKS)
            with open(self.disk[kind], 'wb') as f:
                f.write(self.first[kind])
            at = ('--lld', kind, '--tid', str(tid))
            self.tell(*at, '--op', 'new', '--mode', 'target', '-T', NAME + kind)
            self.tell(*at, '--op', 'new', '--mode', 'logicalunit', '--lun', '1', '-b', self.disk[kind])
            self.tell(*at, '--op', 'bind', '--mode', 'target', '-I', 'ALL')
            for name in INITIATORS:
                self.tell(*at, '--op', 'bind', '--mode', 'target', '-Q', name)

    def tell(self, *args):
        done = subprocess.run(['tgtadm', *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT, check=False)
        if done.returncode != 0:
            raise RuntimeError('tgtadm %s: %s' % (' '.join(args), done.stdout))

    def portal(self, kind):
        return '%s://%s' % (kind, '%s:%s' % (THERE, RDMA_PORT) if kind == 'iser' else '127.0.0.1:%d' % self.tcp)

    def url(self, kind):
        return '%s/%s/1' % (self.portal(kind), NAME + kind)

    def random_writes(self, start_it, kind):
        """
        fio writes all blocks of 4 KiB in random order, 32 at a time, by NBD to a qemu-nbd whose disk is the target's; then it reads them
        and checks each. What it said; None: it failed, or found another block than it wrote.
        """
        path = self.disk[kind] + '.nbd'
        portal = self.portal(kind).split('//')[1]
        nbd = start_it('qemu-nbd', '-t', '-k', path, '--image-opts', 'driver=raw,file.driver=iscsi,file.transport=%s,file.portal=%s,'
                       'file.target=%s,file.lun=1,file.initiator-name=%s' %
                       ('iser' if kind == 'iser' else 'tcp', portal, NAME + kind, INITIATORS[0]))
        try:
            if not tpmd.wait_until(lambda: os.path.exists(path) or nbd.poll() is not None, LIMIT) or nbd.poll() is not None:
                return None
            p = subprocess.run(['fio', '--name=j', '--ioengine=nbd', '--uri=nbd+unix:///?socket=' + path, '--rw=randwrite', '--bs=4k',
                                '--iodepth=32', '--size=%d' % (512 * BLOCKS), '--verify=crc32c', '--verify_state_save=0',
                                '--output-format=json'], stdout=subprocess.PIPE, timeout=LIMIT, text=True, check=False)
            return p.stdout if p.returncode == 0 else None
        finally:
            nbd.kill()
            finish(nbd)

    def end(self):
        self.proc.kill()
        finish(self.proc)
