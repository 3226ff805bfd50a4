/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* lwIP by its raw interface, without threads: packets and time come from the test. */
#include <string.h>

#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>

#include "lwip.h"

#define CONNS 64
#define ETHER 14u
#define CHAIN_MAX 65535u /* a chain's length has 16 bits */

struct lwip_conn {
	struct tcp_pcb *pcb; /* NULL: lwIP has given it up */
	struct pbuf *in;
	bool used, open, end;
	int error;
};

static struct lwip_conn conns[CONNS], *newest;
static struct netif netif;
static uint64_t now;
static void (*out_frame)(void *arg, const uint8_t *frame, uint32_t len);
static void *out_arg;

/* In place of the library's own. */
u32_t
sys_now(void)
{
	return (u32_t)(now / 1000);
}

static err_t
packet_out(struct netif *n, struct pbuf *p, const ip4_addr_t *to)
{
	static uint8_t frame[ETHER + 65536];

	(void)n, (void)to;
	memset(frame, 0, ETHER);
	frame[12] = 8;
	pbuf_copy_partial(p, frame + ETHER, p->tot_len, 0);
	out_frame(out_arg, frame, ETHER + p->tot_len);
	return ERR_OK;
}

static err_t
netif_up(struct netif *n)
{
	n->name[0] = 't';
	n->name[1] = 'p';
	n->mtu = 1500;
	n->output = packet_out;
	n->flags |= NETIF_FLAG_LINK_UP;
	return ERR_OK;
}

static void
start(uint32_t ip, void (*out)(void *arg, const uint8_t *frame, uint32_t len), void *arg)
{
	const ip4_addr_t addr = {.addr = ip}, mask = {.addr = PP_HTONL(0xffffff00)}, none = {.addr = 0};

	out_frame = out;
	out_arg = arg;
	lwip_init();
	netif_add(&netif, &addr, &mask, &none, NULL, netif_up, ip_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
}

static void
input(const uint8_t *frame, uint32_t len)
{
	/* Those of the pool are smaller in Debian's library than it believes itself. */
	struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)(len - ETHER), PBUF_RAM);

	if (p == NULL)
		return;
	pbuf_take(p, frame + ETHER, (u16_t)(len - ETHER));
	if (netif.input(p, &netif) != ERR_OK)
		pbuf_free(p);
}

static void
time_is(uint64_t now_us)
{
	now = now_us;
	sys_check_timeouts();
}

static err_t
on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
	struct lwip_conn *c = arg;

	(void)pcb, (void)err;
	if (p == NULL) {
		c->end = true;
		return ERR_OK;
	}
	if (c->in == NULL) {
		c->in = p;
		return ERR_OK;
	}
	/* It is offered again. */
	if (c->in->tot_len + (uint32_t)p->tot_len > CHAIN_MAX)
		return ERR_MEM;
	pbuf_cat(c->in, p);
	return ERR_OK;
}

static void
on_error(void *arg, err_t err)
{
	struct lwip_conn *c = arg;

	c->pcb = NULL;
	/* All was sent and acknowledged both ways: that is no error. */
	c->error = err == ERR_CLSD ? 0 : err;
}

static err_t
on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
	(void)pcb, (void)err;
	((struct lwip_conn *)arg)->open = true;
	return ERR_OK;
}

static struct lwip_conn *
conn_of(struct tcp_pcb *pcb)
{
	struct lwip_conn *c = conns;

	while (c < conns + CONNS && c->used)
		c++;
	if (c == conns + CONNS)
		return NULL;
	*c = (struct lwip_conn){.pcb = pcb, .used = true};
	tcp_arg(pcb, c);
	tcp_recv(pcb, on_recv);
	tcp_err(pcb, on_error);
	return c;
}

static struct lwip_conn *
connect_to(uint32_t ip, uint16_t port)
{
	struct tcp_pcb *pcb = tcp_new();
	const ip_addr_t to = IPADDR4_INIT(ip);
	struct lwip_conn *c;

	if (pcb == NULL)
		return NULL;
	c = conn_of(pcb);
	if (c == NULL || tcp_connect(pcb, &to, port, on_connected) != ERR_OK)
		return NULL;
	return c;
}

static err_t
on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
	(void)arg;
	if (err != ERR_OK || pcb == NULL)
		return ERR_VAL;
	newest = conn_of(pcb);
	if (newest == NULL)
		return ERR_MEM;
	newest->open = true;
	return ERR_OK;
}

static bool
listen_at(uint16_t port)
{
	static struct tcp_pcb *listener;
	struct tcp_pcb *pcb = tcp_new();

	if (listener != NULL)
		tcp_close(listener);
	listener = NULL;
	if (pcb == NULL || tcp_bind(pcb, IP_ANY_TYPE, port) != ERR_OK)
		return false;
	listener = tcp_listen(pcb);
	if (listener == NULL)
		return false;
	tcp_accept(listener, on_accept);
	return true;
}

static struct lwip_conn *
accepted(void)
{
	struct lwip_conn *c = newest;

	newest = NULL;
	return c;
}

static bool
is_open(const struct lwip_conn *c)
{
	return c->open;
}

static size_t
send_data(struct lwip_conn *c, const void *data, size_t len)
{
	if (c->pcb == NULL || !c->open)
		return 0;
	len = LWIP_MIN(len, tcp_sndbuf(c->pcb));
	if (len == 0 || tcp_write(c->pcb, data, (u16_t)len, TCP_WRITE_FLAG_COPY) != ERR_OK)
		return 0;
	tcp_output(c->pcb);
	return len;
}

static size_t
recv_data(struct lwip_conn *c, void *data, size_t len)
{
	u16_t n;

	if (c->in == NULL)
		return 0;
	n = pbuf_copy_partial(c->in, data, (u16_t)LWIP_MIN(len, c->in->tot_len), 0);
	c->in = pbuf_free_header(c->in, n);
	if (c->pcb != NULL)
		tcp_recved(c->pcb, n);
	return n;
}

static bool
at_end(const struct lwip_conn *c)
{
	return c->end && c->in == NULL;
}

static int
error_of(const struct lwip_conn *c)
{
	return c->error;
}

static void
shut(struct lwip_conn *c)
{
	if (c->pcb != NULL)
		tcp_shutdown(c->pcb, 0, 1);
}

static void
give_back(struct lwip_conn *c)
{
	if (c->in != NULL)
		pbuf_free(c->in);
	*c = (struct lwip_conn){0};
}

static struct tcp_pcb *
let_go(struct lwip_conn *c)
{
	struct tcp_pcb *pcb = c->pcb;

	if (pcb != NULL) {
		tcp_arg(pcb, NULL);
		tcp_recv(pcb, NULL);
		tcp_err(pcb, NULL);
	}
	return pcb;
}

static void
close_conn(struct lwip_conn *c)
{
	struct tcp_pcb *pcb = let_go(c);

	if (pcb != NULL && tcp_close(pcb) != ERR_OK)
		tcp_abort(pcb);
	give_back(c);
}

static void
abort_conn(struct lwip_conn *c)
{
	struct tcp_pcb *pcb = let_go(c);

	if (pcb != NULL)
		tcp_abort(pcb);
	give_back(c);
}

static uint32_t
length_of(const struct tcp_pcb *pcb)
{
	uint32_t n = 0;

	for (; pcb != NULL; pcb = pcb->next)
		n++;
	return n;
}

static uint32_t
num_conns(void)
{
	return length_of(tcp_active_pcbs);
}

static uint32_t
num_time_waits(void)
{
	return length_of(tcp_tw_pcbs);
}

const struct lwip_module lwip_module = {start,      input,      time_is,   connect_to,     listen_at, accepted,
					is_open,    send_data,  recv_data, at_end,         error_of,  shut,
					close_conn, abort_conn, num_conns, num_time_waits, ERR_RST,   ERR_RST};
