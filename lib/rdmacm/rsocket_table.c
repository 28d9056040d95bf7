/* SPDX-License-Identifier: MIT */
#include "rdmacm/rsocket_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROWTH 64u

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_rsocket **table; /* by number */
static size_t table_size;

/* --- fork ------------------------------------------------------------------------------------ */

/*
 * Queue pairs do not go along into a child. What is in the table there has numbers that the child
 * may close, and nothing else.
 */
static void lock_table(void)
{
	pthread_mutex_lock(&table_lock);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&table_lock);
}

static void mark_inherited(void)
{
	for (size_t fd = 0; fd < table_size; fd++)
		if (table[fd] != NULL)
			table[fd]->is_inherited = true;
	pthread_mutex_init(&table_lock, NULL);
}

static void install_fork_handlers(void)
{
	pthread_atfork(lock_table, unlock_table, mark_inherited);
}

/* --- objects --------------------------------------------------------------------------------- */

void rnic_rsocket_init(struct rnic_rsocket *rs, const struct rnic_rsocket_kind *kind, int domain,
		       const struct rnic_rsocket_options *options)
{
	rs->kind = kind;
	rs->fd = -1;
	rs->domain = domain;
	rs->options = *options;
	rs->options.route = NULL;
	rs->options.route_bytes = 0;
	atomic_init(&rs->references, 1);
	pthread_mutex_init(&rs->lock, NULL);
}

void rnic_rsocket_fini(struct rnic_rsocket *rs)
{
	free(rs->options.route);
	pthread_mutex_destroy(&rs->lock);
}

void rnic_rsocket_lock(struct rnic_rsocket *rs)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	pthread_mutex_lock(&rs->lock);
	rs->cancellation = cancellation;
}

void rnic_rsocket_unlock(struct rnic_rsocket *rs)
{
	const int cancellation = rs->cancellation;

	pthread_mutex_unlock(&rs->lock);
	pthread_setcancelstate(cancellation, NULL);
}

void rnic_rsocket_hold(struct rnic_rsocket *rs)
{
	atomic_fetch_add(&rs->references, 1);
}

void rnic_rsocket_put(struct rnic_rsocket *rs)
{
	if (atomic_fetch_sub(&rs->references, 1) == 1)
		rs->kind->destroy(rs);
}

/* --- the table ------------------------------------------------------------------------------- */

static int make_room(size_t fd)
{
	const size_t size = (fd / GROWTH + 1) * GROWTH;
	struct rnic_rsocket **larger;

	if (fd < table_size)
		return 0;
	larger = realloc(table, size * sizeof(struct rnic_rsocket *));
	if (larger == NULL)
		return -ENOMEM;
	memset(larger + table_size, 0, (size - table_size) * sizeof(struct rnic_rsocket *));
	table = larger;
	table_size = size;
	return 0;
}

int rnic_rsocket_enter(struct rnic_rsocket *rs)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int error;

	pthread_once(&once, install_fork_handlers);
	pthread_mutex_lock(&table_lock);
	error = make_room((size_t)rs->fd);
	if (error == 0)
		table[rs->fd] = rs;
	pthread_mutex_unlock(&table_lock);
	return error;
}

static struct rnic_rsocket *find(int fd)
{
	return fd >= 0 && (size_t)fd < table_size ? table[fd] : NULL;
}

struct rnic_rsocket *rnic_rsocket_get(int fd)
{
	struct rnic_rsocket *rs;

	pthread_mutex_lock(&table_lock);
	rs = find(fd);
	if (rs != NULL && rs->is_inherited)
		rs = NULL;
	if (rs != NULL)
		rnic_rsocket_hold(rs);
	pthread_mutex_unlock(&table_lock);
	return rs;
}

struct rnic_rsocket *rnic_rsocket_leave(int fd)
{
	struct rnic_rsocket *rs;

	pthread_mutex_lock(&table_lock);
	rs = find(fd);
	if (rs != NULL)
		table[fd] = NULL;
	pthread_mutex_unlock(&table_lock);
	return rs;
}
