/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http.h"
#include "lib/metrics/tel.h"

#define NS_MS 1000000ull
#define BACKLOG 64
#define IDLE_MS 1000 /* a signal that came between the look at *stop and poll() is seen then */

enum state { READS, WRITES, LINGERS };

struct conn {
	int fd;
	enum state state;
	uint64_t until; /* of tel_now() */
	char *request;
	size_t got;
	char *answer;
	size_t len, sent;
};

struct http {
	http_fn fn;
	void *arg;
	int listener[HTTP_LISTENERS];
	char *path[HTTP_LISTENERS]; /* of a Unix socket, else NULL */
	unsigned int num_listeners;
	struct conn conn[HTTP_CONNECTIONS];
	unsigned int num_conns;
};

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{200, "OK"},
	{400, "Bad Request"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{414, "URI Too Long"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{505, "HTTP Version Not Supported"},
};

static const char *
reason(int status)
{
	unsigned int i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Error";
}

struct http *
http_new(http_fn fn, void *arg)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h != NULL) {
		h->fn = fn;
		h->arg = arg;
	}
	return h;
}

/* --- listeners --------------------------------------------------------------------------------------------------------- */

/* A file that nobody listens at is one of a server that is gone. */
static int
take_path(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, ret;

	if (lstat(addr->sun_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	ret = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ? 0 : -errno;
	close(fd);
	if (ret != -ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(addr->sun_path) == 0 ? 0 : -errno;
}

static int
add(struct http *h, int fd, const char *path)
{
	if (listen(fd, BACKLOG) != 0) {
		const int ret = -errno;

		close(fd);
		return ret;
	}
	h->listener[h->num_listeners] = fd;
	h->path[h->num_listeners] = path == NULL ? NULL : strdup(path);
	h->num_listeners++;
	return 0;
}

static int
listen_unix(struct http *h, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, ret;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	ret = take_path(&addr);
	if (ret != 0)
		return ret;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return add(h, fd, path);
}

static int
listen_inet(struct http *h, const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol), on = 1, ret;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ai->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return add(h, fd, NULL);
}

/* ADDRESS:PORT in its parts. */
static bool
parts(const char *where, char host[64], char port[8])
{
	const char *colon = strrchr(where, ':');
	size_t n = colon == NULL ? 0 : (size_t)(colon - where);
	unsigned long v;
	char *end;

	if (n > 1 && where[0] == '[' && where[n - 1] == ']') {
		where++;
		n -= 2;
	} else if (memchr(where, ':', n) != NULL) {
		return false;
	}
	if (n == 0 || n >= 64 || colon[1] < '0' || colon[1] > '9')
		return false;
	v = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || v == 0 || v > 65535)
		return false;
	snprintf(host, 64, "%.*s", (int)n, where);
	snprintf(port, 8, "%lu", v);
	return true;
}

int
http_listen(struct http *h, const char *where, char *err, size_t len)
{
	const struct addrinfo hint = {.ai_socktype = SOCK_STREAM,
				      .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *ai = NULL;
	char host[64], port[8];
	int ret;

	if (h->num_listeners == HTTP_LISTENERS) {
		snprintf(err, len, "'%s' is one address too many, at most %u", where, HTTP_LISTENERS);
		return -1;
	}
	if (strchr(where, '/') != NULL) {
		ret = listen_unix(h, where);
	} else {
		if (!parts(where, host, port) || getaddrinfo(host, port, &hint, &ai) != 0) {
			snprintf(err, len,
				 "'%s' is no address to listen at; want ADDRESS:PORT such as 127.0.0.1:9717 or "
				 "[::1]:9717 with a "
				 "port in 1..65535, or a path with a '/'",
				 where);
			return -1;
		}
		ret = listen_inet(h, ai);
		freeaddrinfo(ai);
	}
	if (ret == 0)
		return 0;
	snprintf(err, len, "cannot listen at %s: %s", where,
		 ret == -EEXIST ? "there is a file that is no socket" : strerror(-ret));
	return -1;
}

/* --- connections ------------------------------------------------------------------------------------------------------- */

static void
hang_up(struct conn *c)
{
	close(c->fd);
	free(c->request);
	free(c->answer);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

static void
linger(struct conn *c)
{
	shutdown(c->fd, SHUT_WR);
	c->state = LINGERS;
	c->until = tel_now() + HTTP_LINGER_MS * NS_MS;
}

static void
write_on(struct conn *c)
{
	ssize_t n;

	while (c->sent < c->len) {
		n = send(c->fd, c->answer + c->sent, c->len - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n <= 0) {
			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				return;
			hang_up(c);
			return;
		}
		c->sent += (size_t)n;
	}
	linger(c);
}

/* The answer stands behind its head in one piece of memory. */
static void
answer(struct conn *c, struct http_answer *a, bool head)
{
	const char *type = a->type != NULL ? a->type : "text/plain; charset=utf-8";
	char line[512], text[64];
	const char *body = a->body;
	size_t n;

	if (body == NULL) {
		snprintf(text, sizeof(text), "%d %s\n", a->status, reason(a->status));
		body = text;
		a->len = strlen(text);
	}
	n = (size_t)snprintf(
		line, sizeof(line),
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sCache-Control: no-store\r\n"
		"Connection: close\r\n\r\n",
		a->status, reason(a->status), type, a->len, a->status == 405 ? "Allow: GET, HEAD\r\n" : "");
	c->answer = malloc(n + a->len);
	if (c->answer == NULL) {
		hang_up(c);
	} else {
		memcpy(c->answer, line, n);
		if (!head)
			memcpy(c->answer + n, body, a->len);
		c->len = n + (head ? 0 : a->len);
		c->state = WRITES;
		c->until = tel_now() + HTTP_ANSWER_MS * NS_MS;
	}
	free(a->body);
	if (c->answer != NULL)
		write_on(c);
}

static void
refuse(struct conn *c, int status)
{
	struct http_answer a = {.status = status};

	answer(c, &a, false);
}

static void
serve(struct http *h, struct conn *c, size_t len)
{
	struct http_answer a = {.status = 200};
	struct http_request r;
	int status = http_parse(c->request, len, &r);

	if (status != 0) {
		refuse(c, status);
		return;
	}
	h->fn(h->arg, &r, &a);
	answer(c, &a, r.head);
}

/* Octets up to the end of the empty line; 0: it did not come so far. */
static size_t
whole(const char *text, size_t len)
{
	const char *p = text, *end = text + len, *lf;

	while ((lf = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		p = lf + 1;
		if (p < end && *p == '\r')
			p++;
		if (p < end && *p == '\n')
			return (size_t)(p + 1 - text);
	}
	return 0;
}

static void
read_on(struct http *h, struct conn *c)
{
	ssize_t n = recv(c->fd, c->request + c->got, HTTP_REQUEST - c->got, MSG_DONTWAIT);
	size_t len;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->got += (size_t)n;
	len = whole(c->request, c->got);
	if (len != 0)
		serve(h, c, len);
	else if (c->got == HTTP_REQUEST)
		refuse(c, 431);
}

/* What still comes is not for us; but closing before it came would take the answer away from who did not read it. */
static void
drain(struct conn *c)
{
	char rest[4096];
	ssize_t n = recv(c->fd, rest, sizeof(rest), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		hang_up(c);
}

static void
late(struct conn *c)
{
	if (c->state == READS && c->got != 0)
		refuse(c, 408);
	else
		hang_up(c);
}

static void
welcome(struct http *h, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c;

	if (fd < 0)
		return;
	c = &h->conn[h->num_conns];
	*c = (struct conn){.fd = fd, .state = READS, .until = tel_now() + HTTP_REQUEST_MS * NS_MS};
	c->request = malloc(HTTP_REQUEST);
	if (c->request == NULL)
		hang_up(c);
	else
		h->num_conns++;
}

static void
turn(struct http *h)
{
	struct pollfd p[HTTP_LISTENERS + HTTP_CONNECTIONS];
	const unsigned int conns = h->num_conns;
	unsigned int i, n = 0, listeners;
	uint64_t now = tel_now(), first = now + IDLE_MS * NS_MS;
	struct conn *c;

	for (i = 0; i < conns; i++) {
		c = &h->conn[i];
		p[n++] = (struct pollfd){.fd = c->fd, .events = c->state == WRITES ? POLLOUT : POLLIN};
		if (c->until < first)
			first = c->until;
	}
	/* Who comes while there is no room waits in the queue of the socket. */
	listeners = conns < HTTP_CONNECTIONS ? h->num_listeners : 0;
	for (i = 0; i < listeners; i++)
		p[n++] = (struct pollfd){.fd = h->listener[i], .events = POLLIN};
	if (poll(p, n, first <= now ? 0 : (int)((first - now) / NS_MS) + 1) < 0)
		return;
	now = tel_now();
	for (i = 0; i < conns; i++) {
		c = &h->conn[i];
		if (p[i].revents != 0 && c->state == READS)
			read_on(h, c);
		else if (p[i].revents != 0 && c->state == WRITES)
			write_on(c);
		else if (p[i].revents != 0)
			drain(c);
		else if (now >= c->until)
			late(c);
		/* One that goes on and on has no more time either. */
		if (c->fd >= 0 && c->state == LINGERS && now >= c->until)
			hang_up(c);
	}
	for (i = 0; i < listeners && h->num_conns < HTTP_CONNECTIONS; i++)
		if (p[conns + i].revents != 0)
			welcome(h, h->listener[i]);
	for (i = 0, n = 0; i < h->num_conns; i++)
		if (h->conn[i].fd >= 0)
			h->conn[n++] = h->conn[i];
	h->num_conns = n;
}

void
http_run(struct http *h, const volatile int *stop)
{
	while (*stop == 0)
		turn(h);
}

void
http_free(struct http *h)
{
	unsigned int i;

	for (i = 0; i < h->num_conns; i++)
		hang_up(&h->conn[i]);
	for (i = 0; i < h->num_listeners; i++) {
		close(h->listener[i]);
		if (h->path[i] != NULL)
			(void)unlink(h->path[i]);
		free(h->path[i]);
	}
	free(h);
}
