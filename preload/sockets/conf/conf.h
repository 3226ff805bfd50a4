/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Settings by variables of the environment, and what the library says. The accelerator of this card's time had variables of its
 * own (VMA_*); those that mean something here are understood where ours is not set.
 */
#ifndef PRELOAD_SOCKETS_CONF_H
#define PRELOAD_SOCKETS_CONF_H

#define RULES_ENV "TRIPLANE_SOCKETS_RULES"
#define ID_ENV "TRIPLANE_SOCKETS_ID"

/* How much is said: its numbers. */
enum say_level { SAY_ERROR = 1, SAY_WARNING, SAY_INFO };

struct sock_settings {
	unsigned int port;  /* place in the owner's list, from 0 on */
	unsigned int spin;  /* microseconds that a call looks for frames */
	unsigned int looks; /* and so often at most, 0: as often as it can */
	unsigned int mbufs, mtu /* 0: the port's */;
	unsigned int cc, ecn; /* enum tcp_cc, tcp_ecn */
	unsigned int wscale;  /* 0: no window scaling */
};

/* What is wrong is said, and the usual value is taken. banner: they are said, too, to who wants to hear much. */
void settings_get(struct sock_settings *s);
/* As the program found it, ours or an old one; NULL: it is not set, or empty. */
const char *setting_text(const char *name);
/* A line, to the log or standard error. */
void say_at(enum say_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define say(...) say_at(SAY_WARNING, __VA_ARGS__)

#endif /* PRELOAD_SOCKETS_CONF_H */
