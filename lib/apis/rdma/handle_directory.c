/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/handle_directory.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#define BUCKETS 1024
#define KINDS	3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct rnic_handle *buckets[BUCKETS];
	int next_numbers[KINDS];
} table;

static pthread_once_t fork_handler_once = PTHREAD_ONCE_INIT;

/*
 * Another thread of the parent may have been in the midst of a change: the child uses nothing of
 * the table. It leaves the parent's objects as they are, because these may be half changed, too.
 */
static void handle_directory_after_fork_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (size_t i = 0; i < BUCKETS; i++)
		table.buckets[i] = NULL;
}

static void handle_directory_install_fork_handler(void)
{
	pthread_atfork(NULL, NULL, handle_directory_after_fork_in_child);
}

/* The link that leads to the handle, or the end of its bucket. Under the lock. */
static struct rnic_handle **handle_directory_find(enum rnic_handle_kind kind, int number)
{
	struct rnic_handle **link = &table.buckets[(unsigned)number % BUCKETS];

	while (*link != NULL && ((*link)->number != number || (*link)->kind != kind))
		link = &(*link)->next;
	return link;
}

/* Draws an unused number. There are more numbers than memory can hold objects. */
static int draw(enum rnic_handle_kind kind)
{
	int *next = &table.next_numbers[kind];
	int number;

	do {
		number = *next;
		*next = number == INT_MAX ? 0 : number + 1;
	} while (*handle_directory_find(kind, number) != NULL);
	return number;
}

int rnic_handle_add(struct rnic_handle *handle, enum rnic_handle_kind kind, int number,
		    void (*end)(struct rnic_handle *handle))
{
	struct rnic_handle **link;

	pthread_once(&fork_handler_once, handle_directory_install_fork_handler);
	pthread_mutex_lock(&lock);
	if (number < 0)
		number = draw(kind);
	link = handle_directory_find(kind, number);
	if (*link != NULL) {
		number = -EEXIST;
	} else {
		handle->kind = kind;
		handle->number = number;
		handle->end = end;
		handle->next = NULL;
		atomic_init(&handle->references, 1);
		*link = handle;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

struct rnic_handle *rnic_handle_hold(enum rnic_handle_kind kind, int number)
{
	struct rnic_handle *handle;

	pthread_mutex_lock(&lock);
	handle = *handle_directory_find(kind, number);
	if (handle != NULL)
		atomic_fetch_add_explicit(&handle->references, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return handle;
}

struct rnic_handle *rnic_handle_remove(enum rnic_handle_kind kind, int number)
{
	struct rnic_handle **link;
	struct rnic_handle *handle;

	pthread_mutex_lock(&lock);
	link = handle_directory_find(kind, number);
	handle = *link;
	if (handle != NULL)
		*link = handle->next;
	pthread_mutex_unlock(&lock);
	return handle;
}

void rnic_handle_release(struct rnic_handle *handle)
{
	if (handle != NULL &&
	    atomic_fetch_sub_explicit(&handle->references, 1, memory_order_acq_rel) == 1)
		handle->end(handle);
}
