/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rsockets/rsocket_objects.h"
#include "lib/dropin/verbs/ibv_native.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROWTH	 64u
#define LATE_MAX 16

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_rsocket **table; /* by number */
static size_t table_size;

/* --- signals --------------------------------------------------------------------------------- */

/*
 * A signal handler runs while the call that it interrupted may have a lock, one of ours or that of
 * malloc(), and nobody can wait for that lock then. Handlers may call close(), and do. The table
 * therefore closes the rsocket once the call has no lock any more, and refuses all else.
 */
static _Thread_local struct {
	volatile sig_atomic_t
		locks; /* locks that this thread has, or is about to take or give back */
	volatile sig_atomic_t late_count;
	volatile int late[LATE_MAX]; /* descriptors to close */
} here;

void rnic_rsocket_locks_begin(void)
{
	here.locks++;
	atomic_signal_fence(memory_order_seq_cst);
}

void rnic_rsocket_locks_end(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	here.locks--;
	while (here.locks == 0 && here.late_count > 0)
		rnic_rsocket_close(here.late[--here.late_count]);
}

bool rnic_rsocket_is_interrupted(void)
{
	return here.locks > 0;
}

/* --- fork ------------------------------------------------------------------------------------ */

/*
 * Queue pairs do not go along into a child. The table there holds numbers that the child may close,
 * and nothing else.
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

static struct rnic_fork_entry table_fork_entry = {
	.before = lock_table,
	.in_parent = unlock_table,
	.in_child = mark_inherited,
};

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
	rnic_rsocket_locks_begin();
	pthread_mutex_lock(&rs->lock);
	rs->cancellation = cancellation;
}

void rnic_rsocket_unlock(struct rnic_rsocket *rs)
{
	const int cancellation = rs->cancellation;

	pthread_mutex_unlock(&rs->lock);
	rnic_rsocket_locks_end();
	pthread_setcancelstate(cancellation, NULL);
}

/*
 * pthread_cancel() decides first whether it sends a signal, and sends the signal later. The C
 * library before 2.41 obeys a late signal in the thread's next system call that may be cancelled,
 * whatever the thread has disabled meanwhile. poll(2) is such a call, and ends only when the signal
 * has come.
 */
int rnic_rsocket_begin_call(void)
{
	const int error = errno;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
		poll(NULL, 0, 0);
	errno = error;
	return type;
}

void rnic_rsocket_end_call(const int *type)
{
	pthread_setcanceltype(*type, NULL);
}

void rnic_rsocket_hold(struct rnic_rsocket *rs)
{
	atomic_fetch_add(&rs->references, 1);
}

void rnic_rsocket_put(struct rnic_rsocket *rs)
{
	if (atomic_fetch_sub(&rs->references, 1) > 1)
		return;
	rnic_rsocket_locks_begin();
	rs->kind->destroy(rs);
	rnic_rsocket_locks_end();
}

/* --- the table ------------------------------------------------------------------------------- */

static int rsocket_table_make_room(size_t fd)
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
	int error;

	rnic_rsocket_locks_begin();
	rnic_native.fork_list_add(&table_fork_entry);
	pthread_mutex_lock(&table_lock);
	error = rsocket_table_make_room((size_t)rs->fd);
	if (error == 0)
		table[rs->fd] = rs;
	pthread_mutex_unlock(&table_lock);
	rnic_rsocket_locks_end();
	return error;
}

static struct rnic_rsocket *rsocket_table_find(int fd)
{
	return fd >= 0 && (size_t)fd < table_size ? table[fd] : NULL;
}

struct rnic_rsocket *rnic_rsocket_get(int fd)
{
	struct rnic_rsocket *rs;

	if (rnic_rsocket_is_interrupted()) {
		errno = EDEADLK;
		return NULL;
	}
	rnic_rsocket_locks_begin();
	pthread_mutex_lock(&table_lock);
	rs = rsocket_table_find(fd);
	if (rs != NULL && rs->is_inherited)
		rs = NULL;
	if (rs != NULL)
		rnic_rsocket_hold(rs);
	pthread_mutex_unlock(&table_lock);
	rnic_rsocket_locks_end();
	if (rs == NULL)
		errno = EBADF;
	return rs;
}

/*
 * Takes the rsocket out of the table; the table's reference becomes the caller's. NULL: not there.
 */
static struct rnic_rsocket *rsocket_table_leave(int fd)
{
	struct rnic_rsocket *rs;

	rnic_rsocket_locks_begin();
	pthread_mutex_lock(&table_lock);
	rs = rsocket_table_find(fd);
	if (rs != NULL)
		table[fd] = NULL;
	pthread_mutex_unlock(&table_lock);
	rnic_rsocket_locks_end();
	return rs;
}

static void rsocket_table_put(void *rs)
{
	rnic_rsocket_put(rs);
}

static int close_late(int fd)
{
	if (here.late_count == LATE_MAX)
		return -EDEADLK;
	here.late[here.late_count++] = fd;
	return 0;
}

int rnic_rsocket_close(int fd)
{
	struct rnic_rsocket *rs;

	if (rnic_rsocket_is_interrupted())
		return close_late(fd);
	rs = rsocket_table_leave(fd);
	if (rs == NULL)
		return -EBADF;
	/* The objects behind it are the parent's; only the descriptor is here too. */
	if (rs->is_inherited)
		return close(fd) == 0 ? 0 : -errno;
	pthread_cleanup_push(rsocket_table_put, rs);
	rs->kind->close(rs);
	pthread_cleanup_pop(true);
	return 0;
}
