/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/handle_domain.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_handle_domain *current; /* holds no reference */

static pthread_once_t fork_handler_once = PTHREAD_ONCE_INIT;

static void handle_domain_after_fork_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	current = NULL;
}

static void handle_domain_install_fork_handler(void)
{
	pthread_atfork(NULL, NULL, handle_domain_after_fork_in_child);
}

static int open_domain(struct rnic_handle_domain **opened)
{
	struct rnic_handle_domain *domain = calloc(1, sizeof(*domain));
	int error;

	if (domain == NULL)
		return -ENOMEM;
	error = rnic_open(NULL, &domain->context);
	if (error != 0)
		goto free_domain;
	error = rnic_alloc_pd(domain->context, &domain->pd);
	if (error != 0)
		goto close_context;
	*opened = domain;
	return 0;

close_context:
	rnic_close(domain->context);
free_domain:
	free(domain);
	return error;
}

static bool handle_domain_is_alive(const struct rnic_handle_domain *domain)
{
	struct rnic_port_attributes port;

	return rnic_query_port(domain->context, &port) == 0;
}

int rnic_handle_domain_hold(struct rnic_handle_domain **held)
{
	int error = 0;

	pthread_once(&fork_handler_once, handle_domain_install_fork_handler);
	pthread_mutex_lock(&lock);
	if (current == NULL || !handle_domain_is_alive(current))
		error = open_domain(&current);
	if (error == 0) {
		current->references++;
		*held = current;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

void rnic_handle_domain_release(struct rnic_handle_domain *domain)
{
	bool is_last;

	if (domain == NULL)
		return;
	pthread_mutex_lock(&lock);
	is_last = --domain->references == 0;
	if (is_last && current == domain)
		current = NULL;
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	rnic_dealloc_pd(domain->pd);
	rnic_close(domain->context);
	free(domain);
}
