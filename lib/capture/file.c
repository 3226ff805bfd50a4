/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * pcapng (draft-ietf-opsawg-pcapng): a section with one interface, packets, and at the end the interface's statistics. Blocks
 * are gathered in a buffer; a file that can be cut ends with a whole block, also when the disk is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture_priv.h"

#define BUFFER (256u << 10)
#define BLOCK_MOST (TP_CAPTURE_OCTETS_MAX + 4096u)

#define SECTION 0x0a0d0d0au
#define INTERFACE 1u
#define STATISTICS 5u
#define PACKET 6u

/* Options, by block. */
enum { OPT_END = 0, SHB_HARDWARE = 2, SHB_OS = 3, SHB_PROGRAM = 4 };
enum { IF_NAME = 2, IF_TEXT = 3, IF_MAC = 6, IF_SPEED = 8, IF_TSRESOL = 9, IF_FILTER = 11 };
enum { EPB_FLAGS = 2, EPB_LOST = 4, EPB_QUEUE = 6 };
enum { ISB_FROM = 2, ISB_TO = 3, ISB_SEEN = 4, ISB_LOST = 5, ISB_ACCEPTED = 6, ISB_WRITTEN = 8 };

#define LINKTYPE_ETHERNET 1
#define FLAGS_IN 1u
#define FLAGS_OUT 2u

/* All files that are open, for one control thread at a time. */
static TAILQ_HEAD(, cap_file) all = TAILQ_HEAD_INITIALIZER(all);
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- blocks ---------------------------------------------------------------------------------------------------------- */

static void
put(struct cap_file *f, const void *data, size_t len)
{
	memcpy(f->buf + f->len, data, len);
	f->len += len;
}

static void
put32(struct cap_file *f, uint32_t v)
{
	put(f, &v, sizeof(v));
}

static void
pad(struct cap_file *f, size_t len)
{
	const uint32_t zero = 0;

	put(f, &zero, (size_t)RTE_ALIGN(len, sizeof(zero)) - len);
}

static void
option(struct cap_file *f, unsigned int code, const void *data, size_t len)
{
	put32(f, code | (uint32_t)len << 16);
	put(f, data, len);
	pad(f, len);
}

static void
option_text(struct cap_file *f, unsigned int code, const char *text)
{
	option(f, code, text, strlen(text));
}

/* A number of 64 bits, the lower half second where it is a time. */
static void
option_time(struct cap_file *f, unsigned int code, uint64_t ns)
{
	const uint32_t half[2] = {(uint32_t)(ns >> 32), (uint32_t)ns};

	option(f, code, half, sizeof(half));
}

static void
option_count(struct cap_file *f, unsigned int code, uint64_t n)
{
	option(f, code, &n, sizeof(n));
}

static size_t
begin(struct cap_file *f, uint32_t type)
{
	const size_t at = f->len;

	put32(f, type);
	put32(f, 0);
	return at;
}

static void
end(struct cap_file *f, size_t at)
{
	const uint32_t len = (uint32_t)(f->len - at + sizeof(len));

	put32(f, len);
	memcpy(f->buf + at + sizeof(uint32_t), &len, sizeof(len));
	if (f->len > BUFFER - BLOCK_MOST)
		cap_file_flush(f);
}

/* --- what they say --------------------------------------------------------------------------------------------------- */

static void
section(struct cap_file *f, const char *hardware)
{
	const uint32_t magic = 0x1a2b3c4d, version = 1;
	const uint64_t unknown = UINT64_MAX;
	const size_t at = begin(f, SECTION);
	struct utsname os;
	char text[256];

	put32(f, magic);
	put32(f, version);
	put(f, &unknown, sizeof(unknown)); /* the section's length */
	if (hardware != NULL)
		option_text(f, SHB_HARDWARE, hardware);
	if (uname(&os) == 0) {
		snprintf(text, sizeof(text), "%.80s %.80s", os.sysname, os.release);
		option_text(f, SHB_OS, text);
	}
	option_text(f, SHB_PROGRAM, "Triplane " TRIPLANE_VERSION);
	put32(f, OPT_END);
	end(f, at);
}

static void
interface(struct cap_file *f, uint16_t port, const struct tp_capture_conf *conf, uint32_t keep, bool card)
{
	const uint8_t resolution = 9; /* 10^-9 s */
	char name[RTE_ETH_NAME_MAX_LEN] = "", text[TP_CAPTURE_TEXT + 1];
	const size_t at = begin(f, INTERFACE);
	struct rte_ether_addr mac;
	struct rte_eth_link link;

	(void)rte_eth_dev_get_name_by_port(port, name);
	put32(f, LINKTYPE_ETHERNET);
	put32(f, keep);
	option_text(f, IF_NAME, name);
	snprintf(text, sizeof(text), "port %u; times of received packets: %s", port,
		 card ? "the card's clock" : "when they were taken out of the ring");
	option_text(f, IF_TEXT, text);
	if (rte_eth_macaddr_get(port, &mac) == 0)
		option(f, IF_MAC, &mac, sizeof(mac));
	if (rte_eth_link_get_nowait(port, &link) == 0 && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN &&
	    link.link_speed != RTE_ETH_SPEED_NUM_NONE)
		option_count(f, IF_SPEED, (uint64_t)link.link_speed * 1000000);
	option(f, IF_TSRESOL, &resolution, sizeof(resolution));
	if (conf->filter[0] != '\0') {
		/* 0: as libpcap has it */
		text[0] = 0;
		memcpy(&text[1], conf->filter, strlen(conf->filter));
		option(f, IF_FILTER, text, 1 + strlen(conf->filter));
	}
	put32(f, OPT_END);
	end(f, at);
}

void
cap_file_head(struct cap_file *f, uint16_t port, const struct tp_capture_conf *conf, uint32_t keep, bool card)
{
	struct rte_eth_dev_info info;

	section(f, rte_eth_dev_info_get(port, &info) == 0 ? info.driver_name : NULL);
	interface(f, port, conf, keep, card);
}

void
cap_file_packet(struct cap_file *f, const struct cap_slot *s, uint64_t ns)
{
	const uint32_t flags = s->out ? FLAGS_OUT : FLAGS_IN, queue = s->queue;
	const size_t at = begin(f, PACKET);

	put32(f, 0);
	put32(f, (uint32_t)(ns >> 32));
	put32(f, (uint32_t)ns);
	put32(f, s->kept);
	put32(f, s->len);
	put(f, s->data, s->kept);
	pad(f, s->kept);
	option(f, EPB_FLAGS, &flags, sizeof(flags));
	option(f, EPB_QUEUE, &queue, sizeof(queue));
	if (s->lost > f->lost) {
		option_count(f, EPB_LOST, s->lost - f->lost);
		f->lost = s->lost;
	}
	put32(f, OPT_END);
	f->waiting++;
	f->waiting_octets += s->kept;
	end(f, at);
}

void
cap_file_stats(struct cap_file *f, uint64_t from, uint64_t to, const struct tp_capture_stats *st)
{
	const size_t at = begin(f, STATISTICS);

	put32(f, 0);
	put32(f, (uint32_t)(to >> 32));
	put32(f, (uint32_t)to);
	option_time(f, ISB_FROM, from);
	option_time(f, ISB_TO, to);
	option_count(f, ISB_SEEN, st->seen);
	option_count(f, ISB_LOST, st->lost);
	option_count(f, ISB_ACCEPTED, st->seen - st->filtered);
	option_count(f, ISB_WRITTEN, st->packets);
	put32(f, OPT_END);
	end(f, at);
}

/* --- the file -------------------------------------------------------------------------------------------------------- */

/* A pipe blocks from now on; a file must be nobody else's. */
static int
judge(struct cap_file *f, const char *path, char err[TP_CAPTURE_ERR])
{
	const struct cap_file *o;
	struct stat st;

	if (fstat(f->fd, &st) != 0 || fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) & ~O_NONBLOCK) != 0) {
		snprintf(err, TP_CAPTURE_ERR, "%.300s: %s", path, strerror(errno));
		return -errno;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->seekable = S_ISREG(st.st_mode);
	TAILQ_FOREACH(o, &all, next)
	if (f->seekable && o->dev == f->dev && o->ino == f->ino) {
		snprintf(err, TP_CAPTURE_ERR, "%.300s: another capture writes to it", path);
		return -EBUSY;
	}
	if (f->seekable && ftruncate(f->fd, 0) != 0) {
		snprintf(err, TP_CAPTURE_ERR, "%.300s: %s", path, strerror(errno));
		return -errno;
	}
	return 0;
}

int
cap_file_open(struct cap_file *f, const char *path, char err[TP_CAPTURE_ERR])
{
	int ret;

	memset(f, 0, sizeof(*f));
	f->fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	if (f->fd < 0) {
		ret = -errno;
		snprintf(err, TP_CAPTURE_ERR, "%.300s: %s", path,
			 ret == -ENXIO ? "a pipe that nobody reads" : strerror(errno));
		return ret;
	}
	pthread_mutex_lock(&all_lock);
	ret = judge(f, path, err);
	f->buf = ret == 0 ? malloc(BUFFER) : NULL;
	if (ret == 0 && f->buf == NULL) {
		snprintf(err, TP_CAPTURE_ERR, "%.300s: no memory", path);
		ret = -ENOMEM;
	}
	if (ret == 0)
		TAILQ_INSERT_TAIL(&all, f, next);
	else
		close(f->fd);
	pthread_mutex_unlock(&all_lock);
	return ret;
}

static void
count(uint64_t *n, uint64_t more)
{
	__atomic_store_n(n, *n + more, __ATOMIC_RELAXED);
}

void
cap_file_flush(struct cap_file *f)
{
	size_t done = 0;
	ssize_t n;

	while (f->error == 0 && done < f->len) {
		n = write(f->fd, f->buf + done, f->len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			f->error = n == 0 ? EIO : errno;
	}
	/* Half a block is none; and the statistics may have room where it was. */
	if (f->error != 0 && f->seekable && done != 0 && ftruncate(f->fd, (off_t)f->good) == 0)
		(void)lseek(f->fd, (off_t)f->good, SEEK_SET);
	if (f->error == 0) {
		f->good += f->len;
		count(&f->packets, f->waiting);
		count(&f->octets, f->waiting_octets);
	} else {
		count(&f->missing, f->waiting);
	}
	f->len = 0;
	f->waiting = f->waiting_octets = 0;
}

int
cap_file_close(struct cap_file *f)
{
	cap_file_flush(f);
	pthread_mutex_lock(&all_lock);
	TAILQ_REMOVE(&all, f, next);
	pthread_mutex_unlock(&all_lock);
	if (close(f->fd) != 0 && f->error == 0)
		f->error = errno;
	free(f->buf);
	f->buf = NULL;
	return f->error;
}
