/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A small server of HTTP/1.1: GET and HEAD, an answer a connection. One thread serves all connections and waits for none of them:
 * who is slow, says too much or says nothing is bounded in octets and in time.
 */
#ifndef EXPORTER_HTTP_H
#define EXPORTER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_LISTENERS 16u
#define HTTP_CONNECTIONS 64u
#define HTTP_REQUEST 8192u    /* octets of a request up to the empty line */
#define HTTP_REQUEST_MS 5000u /* time for it */
#define HTTP_ANSWER_MS 20000u /* time to take the answer */
#define HTTP_LINGER_MS 1000u  /* until the other side has closed, too */

/* What a request asks for; the texts end. */
struct http_request {
	char path[256]; /* without what is behind '?' */
	bool head;
	bool openmetrics; /* what it accepts best */
};

struct http_answer {
	int status; /* 200 unless said otherwise */
	const char *type;
	char *body; /* of malloc, or NULL: the status in words */
	size_t len;
};

typedef void (*http_fn)(void *arg, const struct http_request *r, struct http_answer *a);

struct http;

/* NULL: no memory. */
struct http *http_new(http_fn fn, void *arg);
/* ADDRESS:PORT, with an IPv6 address in brackets; or a path with a '/'. 0, or -1 with a line in err. */
int http_listen(struct http *h, const char *where, char *err, size_t len);
/* Until *stop is set, which a signal does. */
void http_run(struct http *h, const volatile int *stop);
/* Closes all, and removes the sockets that are files. */
void http_free(struct http *h);

/* A request's octets up to the empty line. 0, or the status of the refusal. */
int http_parse(const char *text, size_t len, struct http_request *r);

#endif /* EXPORTER_HTTP_H */
