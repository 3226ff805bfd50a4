/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who is told what a device is for its users (V-8). */
#include <errno.h>

#include "front.h"

#define MAX_LISTENERS 64u

static struct listener {
	tp_roce_status_cb cb;
	void *arg;
} listeners[MAX_LISTENERS];
/* Held while they are called, so that nobody is told who has unregistered. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct listener *
find(tp_roce_status_cb cb, const void *arg)
{
	for (unsigned int i = 0; i < MAX_LISTENERS; i++) {
		if (listeners[i].cb == cb && (cb == NULL || listeners[i].arg == arg))
			return &listeners[i];
	}
	return NULL;
}

int
tp_roce_status_register(tp_roce_status_cb cb, void *arg)
{
	struct listener *l;
	int err = 0;

	if (cb == NULL)
		return EINVAL;
	pthread_mutex_lock(&lock);
	l = find(NULL, NULL);
	if (find(cb, arg) != NULL)
		err = EEXIST;
	else if (l == NULL)
		err = ENOSPC;
	else
		*l = (struct listener){cb, arg};
	pthread_mutex_unlock(&lock);
	if (err == ENOSPC)
		TROCE_LOG(ERR, "%u listen to the status of devices, which is the limit", MAX_LISTENERS);
	return err;
}

int
tp_roce_status_unregister(tp_roce_status_cb cb, const void *arg)
{
	struct listener *l;

	pthread_mutex_lock(&lock);
	l = cb == NULL ? NULL : find(cb, arg);
	if (l != NULL)
		l->cb = NULL;
	pthread_mutex_unlock(&lock);
	return l == NULL ? ENOENT : 0;
}

void
troce_status(struct troce_dev *dev, enum tp_roce_status status)
{
	struct ibv_device *device = dev->vctx.context.device;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; dev->status != status && i < MAX_LISTENERS; i++) {
		if (listeners[i].cb != NULL)
			listeners[i].cb(listeners[i].arg, device, status);
	}
	dev->status = status;
	pthread_mutex_unlock(&lock);
}
