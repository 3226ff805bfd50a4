#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each installed library serves a program outside the tree, which is built by pkg-config alone. The installed tree has been moved:
its files name no place."""
import os
import shlex
import subprocess
import tempfile

import tpmd

PREFIX = 'usr/local'
cases = tpmd.Cases()
tree = tempfile.mkdtemp(prefix='tplibs')
place = os.path.join(tree, 'moved')

# By package: what a program says, and the program.
PROGRAMS = {
    'libtp_model': ('card 15b3, violations 0', '''
#include <stdio.h>
#include <tp_model.h>
int main(void)
{
	struct tp_model_config c;
	struct tp_model *m;
	uint32_t id = 0;

	tp_model_config_default(&c);
	if (tp_model_create(&c, &m) != 0)
		return 1;
	tp_model_cfg_read(m, 0, &id, sizeof(id));
	for (uint64_t ns = 0; ns < 1000000; ns += 1000) {
		tp_model_set_time(m, ns);
		tp_model_step(m, 64);
	}
	printf("card %04x, violations %u", id & 0xffff, (unsigned int)tp_model_violations_total(m));
	tp_model_destroy(m);
	return 0;
}
'''),
    'libtp_model_dpdk': ('no wire', '''
#include <stdio.h>
#include <tp_model_dpdk.h>
int main(int argc, char **argv)
{
	struct tp_wire *w;
	char err[256];

	fputs(argc > 1 && tp_wire_ethdev_create(argv[1], &w, err, sizeof(err)) == 0 ? "wire" : "no wire", stdout);
	return 0;
}
'''),
    'libtp_dcb': ('no such word: -2, features: pfc', '''
#include <stdio.h>
#include <tp_dcbx.h>
#include <tp_qos.h>
int main(void)
{
	struct tp_qos_port q;
	char err[TP_ERR_LEN];

	tp_qos_port_default(&q);
	printf("no such word: %d, features: %s", tp_qos_port_word(&q, "mtu=1500", err), tp_dcbx_feature_text(TP_DCBX_PFC));
	return 0;
}
'''),
    'libtp_txq': ('queues 4', '''
#include <stdio.h>
#include <tp_txq.h>
int main(void)
{
	struct tp_txq_choice c;
	char err[256];

	if (tp_txq_init(&c, TP_TXQ_BY_SIZE | TP_TXQ_BY_HASH, 0, 0, 4, err, sizeof(err)) != 0)
		return 1;
	printf("queues %u", c.num);
	return 0;
}
'''),
    'libtp_kernel': ('tp0: 0, tp%d: -22, port 0: -19', '''
#include <stdio.h>
#include <tp_kernel.h>
int main(void)
{
	struct tp_kernel *k;

	printf("tp0: %d, tp%%d: %d, port 0: %d", tp_kernel_name_check("tp0"), tp_kernel_name_check("tp%d"), tp_kernel_open(0, NULL, &k));
	return 0;
}
'''),
    'libtp_capture': ('0 0: filter', '''
#include <stdio.h>
#include <tp_capture.h>
int main(void)
{
	char err[TP_CAPTURE_ERR];
	struct tp_capture_conf conf;
	int good = tp_capture_conf_parse(TP_CAPTURE_FILE, "./a.pcapng filter udp port 53", &conf, err);
	int bad = tp_capture_conf_parse(TP_CAPTURE_FILE, "./a.pcapng filter udp prot", &conf, err);

	printf("%d %d: %.6s", good, bad != -22, err);
	return 0;
}
'''),
    'libtp_roce': ('RDMA_CM_EVENT_ESTABLISHED', '''
#include <stdio.h>
#include <tp_rdma.h>
#include <tp_roce.h>
int main(void)
{
	printf("%s", tp_rdma_event_str(RDMA_CM_EVENT_ESTABLISHED));
	return 0;
}
'''),
    'librte_net_mlx4_vfio': ('port 0: -19', '''
#include <stdio.h>
#include <rte_pmd_mlx4_qos.h>
int main(void)
{
	struct tp_qos_port q;

	printf("port 0: %d", rte_pmd_mlx4_qos_get(0, &q));
	return 0;
}
'''),
}


def sh(*cmd, **kw):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, stdin=subprocess.DEVNULL, check=False, **kw)
    return p.returncode, p.stdout.decode(errors='replace')


def complete():
    """No library is left out."""
    packages = {f.removesuffix('.pc') for f in os.listdir(folder())}
    return None if packages == set(PROGRAMS) else 'installed packages %s, programs of %s' % (sorted(packages), sorted(PROGRAMS))


def installed():
    first = os.path.join(tree, 'first')
    rc, out = sh('meson', 'install', '--no-rebuild', '--quiet', '-C', os.environ['TP_BUILD'], '--destdir', first)
    if rc == 0:
        os.rename(first, place)
    return None if rc == 0 else out[-400:]


def folder():
    return next(d for d, _, files in os.walk(os.path.join(place, PREFIX)) if 'libtp_roce.pc' in files)


def serves(package):
    says, text = PROGRAMS[package]
    src, exe = os.path.join(tree, package + '.c'), os.path.join(tree, package)
    with open(src, 'w', encoding='utf-8') as f:
        f.write(text)
    rc, out = sh('pkg-config', '--cflags', '--libs', package, env=dict(os.environ, PKG_CONFIG_PATH=folder()))
    if rc != 0:
        return out
    rc, out = sh('gcc', '-O2', '-Wall', '-Werror', '-o', exe, src, *shlex.split(out))
    if rc != 0:
        return out[-500:]
    rc, out = sh(exe, env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(folder())))
    return None if rc == 0 and out == says else '%d: %s' % (rc, out[-300:])


def alone():
    """The model is for programs that have no DPDK."""
    _, out = sh('ldd', os.path.join(tree, 'libtp_model'))
    return 'it needs DPDK: ' + out if 'librte_' in out else None


try:
    cases.run('install-libs-files', installed)
    cases.run('install-libs-complete', complete)
    for name in PROGRAMS:
        cases.run('install-libs-' + name, serves, name)
    cases.run('install-libs-model-alone', alone)
finally:
    subprocess.run(['rm', '-rf', tree], check=False)
cases.exit()
