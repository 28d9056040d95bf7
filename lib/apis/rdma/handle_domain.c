/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/handle_domain.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_handle_session *current; /* holds no reference */

static pthread_once_t fork_handler_once = PTHREAD_ONCE_INIT;

static void handle_session_after_fork_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	current = NULL;
}

static void handle_session_install_fork_handler(void)
{
	pthread_atfork(NULL, NULL, handle_session_after_fork_in_child);
}

static int open_session(struct rnic_handle_session **opened)
{
	struct rnic_handle_session *session = calloc(1, sizeof(*session));
	int error;

	if (session == NULL)
		return -ENOMEM;
	error = rnic_open(NULL, &session->context);
	if (error != 0)
		goto free_session;
	error = rnic_alloc_pd(session->context, &session->pd);
	if (error != 0)
		goto close_context;
	*opened = session;
	return 0;

close_context:
	rnic_close(session->context);
free_session:
	free(session);
	return error;
}

static bool handle_session_is_alive(const struct rnic_handle_session *session)
{
	struct rnic_port_attributes port;

	return rnic_query_port(session->context, &port) == 0;
}

int rnic_handle_session_hold(struct rnic_handle_session **held)
{
	int error = 0;

	pthread_once(&fork_handler_once, handle_session_install_fork_handler);
	pthread_mutex_lock(&lock);
	if (current == NULL || !handle_session_is_alive(current))
		error = open_session(&current);
	if (error == 0) {
		current->references++;
		*held = current;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

void rnic_handle_session_release(struct rnic_handle_session *session)
{
	bool is_last;

	if (session == NULL)
		return;
	pthread_mutex_lock(&lock);
	is_last = --session->references == 0;
	if (is_last && current == session)
		current = NULL;
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	rnic_dealloc_pd(session->pd);
	rnic_close(session->context);
	free(session);
}
