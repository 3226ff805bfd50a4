/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * triplane-run [OPTION...] [--] PROGRAM [ARGUMENT...]: runs a program of libibverbs and librdmacm on the ports that another
 * process shares ('share on' of triplane, tp_share_start()), or on those of a triplane that it starts and ends. The program gets
 * libtriplane-verbs.so and libtriplane-rdmacm.so in front of its libraries; with --sockets it is any program with sockets, and gets
 * libtriplane-sockets.so.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/share/name.h"
#include "preload/sock/owner.h"
#include "run.h"

/* As built, and as installed; that of verbs first. */
static const char *const library[][3] = {
	{"libtriplane-verbs.so", "../../preload/verbs/libtriplane-verbs.so", TRIPLANE_LIBDIR "/libtriplane-verbs.so"},
	{"libtriplane-rdmacm.so", "../../preload/rdmacm/libtriplane-rdmacm.so",
	 TRIPLANE_LIBDIR "/libtriplane-rdmacm.so"},
};
static const char sockets[] = "libtriplane-sockets.so";
static const char *const sockets_at[] = {"../../preload/sockets/libtriplane-sockets.so",
					 TRIPLANE_LIBDIR "/libtriplane-sockets.so"};
/* In the place of libibverbs. */
static const char *const instead[] = {"../../preload/verbs/dropin/libibverbs.so.1",
				      TRIPLANE_LIBDIR "/triplane/libibverbs.so.1"};
#define PORT_ENV "TRIPLANE_SOCKETS_PORT"
#define LINK_MS 3000 /* how long a link may take to come up */
#define LIBRARIES (sizeof(library) / sizeof(library[0]))

static const char usage[] =
	"usage: triplane-run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	"Runs a program of libibverbs and librdmacm on the ports that another process shares, or on those of its own;\n"
	"or one of sockets.\n"
	"  --attach SOCKET  where that process listens (" SHARE_SOCKET ")\n"
	"  --vdev ARGS      starts a triplane with that device, --vdev=net_mlx4_model0 for one; ends it with the "
	"program\n"
	"  --addr A/L       an address: the first one of its first port, the second of the second, and so on\n"
	"  --sockets        the program's sockets of TCP over IPv4 are the port's, where the port leads to their "
	"peers\n"
	"  --port N         which port of those: its place in the list, from 0 on (0)\n"
	"  --drop-in        a libibverbs.so.1 in place of the system's, for programs that load it by name\n"
	"  --view WORD      own /sys/class/infiniband and /dev/infiniband: try (the default), need, off\n"
	"  --short-names    no name of a device is longer than 15 octets, which is what UCX and Open MPI can use\n"
	"  --quiet          does not say what is used\n"
	"  --help           shows this text\n";

struct run {
	struct run_owner own;
	struct run_kept kept; /* once it runs */
	const char *at;
	bool quiet, attach, view, need_view, drop_in, sockets;
	const char *port;                     /* of sockets */
	char libraries[LIBRARIES * RUN_PATH]; /* with colons between */
	char folder[RUN_PATH];                /* of the one in libibverbs' place */
	char names[1024];
	char **argv;
};

/* 0 or RUN_EXIT, said. */
static int
preloads(struct run *r)
{
	char path[RUN_PATH];
	size_t used = 0;

	if (r->sockets)
		return run_find(sockets, sockets_at, 2, r->libraries);
	if (r->drop_in) {
		if (run_find("libibverbs.so.1", instead, 2, r->folder) != 0)
			return RUN_EXIT;
		*strrchr(r->folder, '/') = '\0';
	}
	for (unsigned int i = r->drop_in ? 1 : 0; i < LIBRARIES; i++) {
		if (run_find(library[i][0], &library[i][1], 2, path) != 0)
			return RUN_EXIT;
		used += (size_t)snprintf(r->libraries + used, sizeof(r->libraries) - used, "%s%s", used == 0 ? "" : ":",
					 path);
	}
	return 0;
}

/* Devices that are shared there; their number, or -1, which was said. */
static int
devices(struct run *r)
{
	int fd = run_call(r->at), n = 0, err = 0;
	char name[IBV_SYSFS_NAME_MAX];
	struct share_hello h;
	size_t used = 0;

	if (fd < 0)
		return -1;
	while (err == 0 && n < (int)RUN_DEVICES) {
		err = run_hello(fd, r->at, (uint32_t)n, &h);
		if (err == 0 && used < sizeof(r->names)) {
			share_name(name, h.name, h.ibdev, getenv(SHARE_NAMES_ENV));
			used += (size_t)snprintf(r->names + used, sizeof(r->names) - used, " %s", name);
		}
		n += err == 0;
	}
	close(fd);
	return err == 0 || err == ENOENT ? n : -1;
}

static int
look(struct run *r)
{
	int n = devices(r);

	if (n < 0)
		return RUN_EXIT;
	if (n == 0 && !r->attach)
		return run_refuse("no port of the triplane that was started can be shared; one that runs by itself can "
				  "share them "
				  "as RoCE in software, for --attach");
	if (n == 0)
		return run_refuse("%s: no port has RoCE on; 'roce 0 on' of triplane, say", r->at);
	/* Programs such as those of UCX look once, at their start. */
	if (!r->attach && run_wait_active(r->at, (unsigned int)n, LINK_MS) != 0)
		return RUN_EXIT;
	if (!r->quiet && r->attach)
		fprintf(stderr, "triplane-run: %d device%s of %s:%s\n", n, n == 1 ? "" : "s", r->at, r->names);
	else if (!r->quiet)
		fprintf(stderr, "triplane-run: %d device%s of a triplane of its own:%s\n", n, n == 1 ? "" : "s",
			r->names);
	return 0;
}

/* A list of the environment with something in front of it. 0 or errno. */
static int
in_front(const char *variable, const char *what)
{
	const char *before = getenv(variable);
	bool alone = before == NULL || before[0] == '\0';
	char *list;
	int err;

	if (asprintf(&list, "%s%s%s", what, alone ? "" : ":", alone ? "" : before) < 0)
		return ENOMEM;
	err = setenv(variable, list, 1) == 0 ? 0 : errno;
	free(list);
	return err;
}

/*
 * UCX takes segments of System V with huge pages where there are some. They can be registered, but not detached in the end, since
 * it has hands of its own on that call; so it is told its usual ways of having memory without that one.
 */
static int
no_huge_segments(void)
{
	if (setenv("UCX_ALLOC", "thp,md,mmap,heap", 0) != 0 ||
	    setenv("UCX_ALLOC_PRIO", "md:sysv,md:posix,thp,md:*,mmap,heap", 0) != 0)
		return errno;
	return 0;
}

/* Returns when the program does not start, which was said. */
static void
start(void *arg)
{
	struct run *r = arg;
	int err;

	if (r->view && !r->sockets && run_view(r->at, r->need_view, r->quiet) != 0)
		return;
	err = in_front("LD_PRELOAD", r->libraries);
	if (err == 0 && r->drop_in)
		err = in_front("LD_LIBRARY_PATH", r->folder);
	if (err == 0 && setenv(SHARE_ENV, r->at, 1) != 0)
		err = errno;
	if (err == 0 && r->port != NULL && setenv(PORT_ENV, r->port, 1) != 0)
		err = errno;
	if (err == 0 && !r->sockets)
		err = no_huge_segments();
	if (err != 0) {
		run_refuse("%s", strerror(err));
		return;
	}
	execvp(r->argv[0], r->argv);
	run_refuse("%s: %s", r->argv[0], strerror(errno));
}

static int
own(struct run *r)
{
	int rc = run_owner_start(&r->own, &r->kept), end;

	if (rc != 0)
		return rc;
	r->at = r->kept.socket;
	rc = look(r);
	if (rc == 0)
		rc = run_program(start, r);
	end = run_owner_end(&r->kept);
	return rc != 0 ? rc : end;
}

static int
attached(struct run *r)
{
	if (look(r) == 0)
		start(r);
	return RUN_EXIT;
}

static int
vdev(struct run *r, const char *args)
{
	static char text[RUN_VDEVS][RUN_PATH];
	struct run_owner *o = &r->own;

	if (o->num_vdevs == RUN_VDEVS)
		return run_refuse("more than %u of --vdev", RUN_VDEVS);
	if ((size_t)snprintf(text[o->num_vdevs], RUN_PATH, "--vdev=%s", args) >= RUN_PATH)
		return run_refuse("--vdev has more than %zu characters", RUN_PATH - sizeof("--vdev="));
	o->vdev[o->num_vdevs] = text[o->num_vdevs];
	o->num_vdevs++;
	return 0;
}

static int
address(struct run *r, const char *text)
{
	if (r->own.num_addrs == RUN_ADDRS)
		return run_refuse("more than %u of --addr", RUN_ADDRS);
	if (!run_addr(text))
		return run_refuse("--addr: '%s' is no address with its length, such as 192.0.2.1/24 or fd00::1/64",
				  text);
	r->own.addr[r->own.num_addrs++] = text;
	return 0;
}

static int
view(struct run *r, const char *word)
{
	r->view = strcmp(word, "off") != 0;
	r->need_view = strcmp(word, "need") == 0;
	return !r->view || r->need_view || strcmp(word, "try") == 0
		       ? 0
		       : run_refuse("--view: '%s' is not one of try, need, off", word);
}

static int
port(struct run *r, const char *text)
{
	if (strspn(text, "0123456789") != strlen(text) || text[0] == '\0' || strlen(text) > 2 ||
	    atoi(text) >= (int)RUN_DEVICES)
		return run_refuse("--port: '%s' is not a number of 0..%u", text, RUN_DEVICES - 1);
	r->port = text;
	return 0;
}

/* 0, or RUN_EXIT: a refusal, said. */
static int
options(struct run *r, int argc, char **argv)
{
	static const struct option longs[] = {
		{"attach", required_argument, NULL, 's'},
		{"vdev", required_argument, NULL, 'v'},
		{"addr", required_argument, NULL, 'A'},
		{"view", required_argument, NULL, 'V'},
		{"drop-in", no_argument, NULL, 'd'},
		{"sockets", no_argument, NULL, 'S'},
		{"port", required_argument, NULL, 'p'},
		{"short-names", no_argument, NULL, 'n'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, rc = 0;

	while (rc == 0 && (c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			r->at = optarg;
			r->attach = true;
			break;
		case 'v': rc = vdev(r, optarg); break;
		case 'A': rc = address(r, optarg); break;
		case 'd': r->drop_in = true; break;
		case 'S': r->sockets = true; break;
		case 'p': rc = port(r, optarg); break;
		case 'V': rc = view(r, optarg); break;
		case 'n': rc = setenv(SHARE_NAMES_ENV, "short", 1) == 0 ? 0 : run_refuse("%s", strerror(errno)); break;
		case 'q': r->quiet = true; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: fputs(usage, stderr); rc = RUN_EXIT;
		}
	}
	r->argv = argv + optind;
	if (rc != 0)
		return rc;
	if (r->attach && r->own.num_vdevs != 0)
		return run_refuse(
			"--attach uses the ports of another process, --vdev wants some of its own: one of them");
	if (r->own.num_addrs != 0 && r->own.num_vdevs == 0)
		return run_refuse("--addr goes with --vdev: the ports of another process have their addresses");
	if (r->sockets && r->drop_in)
		return run_refuse("--drop-in is for programs of libibverbs, --sockets for others: one of them");
	if (r->port != NULL && !r->sockets)
		return run_refuse("--port goes with --sockets: programs of libibverbs name the port themselves");
	if (optind == argc)
		return run_refuse("no program is named, as in: triplane-run ibv_devinfo");
	return 0;
}

int
main(int argc, char **argv)
{
	struct run r = {.at = owner_path(), .view = true};

	if (options(&r, argc, argv) != 0 || preloads(&r) != 0)
		return RUN_EXIT;
	if (r.own.num_vdevs != 0)
		return own(&r);
	r.attach = true;
	return attached(&r);
}
