/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdio.h>
#include <stdlib.h>

#include "net_port.h"

struct net_port np;
int troce_logtype;
__thread struct troce_talk troce_talk;

static FILE *log_file;
static char *log_text;
static size_t log_len;

static int
set_gids(struct troce_dev *dev, const struct troce_gid *table)
{
	np.tables++;
	if (np.refuse != 0)
		return np.refuse;
	memcpy(np.table, table, sizeof(np.table));
	return 0;
}

static const struct troce_provider provider = {.name = "test", .set_gids = set_gids};

void
troce_async_event(struct troce_dev *dev, enum ibv_event_type type, void *obj)
{
	assert_int_equal(type, IBV_EVENT_GID_CHANGE);
	assert_null(obj);
	np.events++;
}

struct troce_marks
troce_marks_of(const struct troce_dev *dev, bool v2, uint16_t service)
{
	assert_ptr_equal(dev, &np.dev);
	if (np.rule_prio == 0xff || !v2 || service != np.rule_service)
		return (struct troce_marks){.dscp = -1};
	return (struct troce_marks){.ruled = true, .prio = np.rule_prio, .dscp = np.rule_dscp};
}

struct rte_ether_addr
np_mac(const char *mac)
{
	struct rte_ether_addr m;

	assert_int_equal(rte_ether_unformat_addr(mac, &m), 0);
	return m;
}

int
np_open(enum tp_roce_mode mode, const char *mac)
{
	int rc;

	if (log_file == NULL) {
		log_file = open_memstream(&log_text, &log_len);
		assert_int_equal(rte_openlog_stream(log_file), 0);
		troce_logtype = rte_log_register("roce");
		rte_log_set_level((uint32_t)troce_logtype, RTE_LOG_INFO);
	}
	memset(&np, 0, sizeof(np));
	np.rule_prio = 0xff;
	np.dev.prov = &provider;
	np.dev.port_id = UINT16_MAX; /* no ethdev */
	np.dev.mode = mode;
	np.dev.mac = np_mac(mac);
	np.dev.conf.ttl = TP_ROCE_TTL;
	np.dev.conf.netdev_ms = TP_ROCE_GID_POLL_MS;
	pthread_mutex_init(&np.dev.lock, NULL);
	rc = troce_net_side.init(&np.dev);
	(void)np_log();
	return rc;
}

void
np_close(void)
{
	troce_net_side.fini(&np.dev);
	assert_null(np.dev.net);
	pthread_mutex_destroy(&np.dev.lock);
	if (log_file != NULL) {
		(void)rte_openlog_stream(NULL);
		fclose(log_file);
		free(log_text);
		log_file = NULL;
	}
}

struct sockaddr *
np_sockaddr(const char *addr)
{
	static struct sockaddr_storage ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	memset(&ss, 0, sizeof(ss));
	if (strchr(addr, ':') == NULL) {
		in->sin_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, addr, &in->sin_addr), 1);
	} else {
		in6->sin6_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, addr, &in6->sin6_addr), 1);
	}
	return (struct sockaddr *)&ss;
}

union ibv_gid
np_gid(const char *addr)
{
	union ibv_gid gid;
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(addr, ':') == NULL ? "::ffff:" : "", addr);
	assert_int_equal(inet_pton(AF_INET6, mapped, gid.raw), 1);
	return gid;
}

int
np_add(const char *addr, uint16_t vlan)
{
	char host[64];
	const char *slash = strchr(addr, '/');

	assert_non_null(slash);
	snprintf(host, sizeof(host), "%.*s", (int)(slash - addr), addr);
	return tp_roce_addr_add(np_ctx(), np_sockaddr(host), (unsigned int)atoi(slash + 1), vlan);
}

int
np_del(const char *addr)
{
	return tp_roce_addr_del(np_ctx(), np_sockaddr(addr));
}

const char *
np_log(void)
{
	static char text[8192];

	fflush(log_file);
	snprintf(text, sizeof(text), "%.*s", (int)log_len, log_text);
	rewind(log_file);
	fflush(log_file);
	return text;
}

void
np_assert_line(const char *word, ...)
{
	const char *text = np_log(), *nl = strchr(text, '\n');
	va_list ap;

	assert_non_null(nl);
	assert_int_equal(nl[1], '\0');
	va_start(ap, word);
	for (; word != NULL; word = va_arg(ap, const char *))
		if (strstr(text, word) == NULL)
			fail_msg("'%s' is not in: %s", word, text);
	va_end(ap);
}
