/* SPDX-License-Identifier: MIT */
#include "lib/client/native/fork_list.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* held throughout a fork() */
static struct rnic_fork_entry *entries;
static bool is_installed;

static void fork_list_before(void)
{
	pthread_mutex_lock(&list_lock);
	for (struct rnic_fork_entry *entry = entries; entry != NULL; entry = entry->next)
		if (entry->before != NULL)
			entry->before();
}

static void fork_list_in_parent(void)
{
	for (struct rnic_fork_entry *entry = entries; entry != NULL; entry = entry->next)
		if (entry->in_parent != NULL)
			entry->in_parent();
	pthread_mutex_unlock(&list_lock);
}

static void fork_list_in_child(void)
{
	for (struct rnic_fork_entry *entry = entries; entry != NULL; entry = entry->next)
		if (entry->in_child != NULL)
			entry->in_child();
	pthread_mutex_unlock(&list_lock);
}

void rnic_fork_list_add(struct rnic_fork_entry *entry)
{
	pthread_mutex_lock(&list_lock);
	if (!is_installed)
		is_installed = pthread_atfork(fork_list_before, fork_list_in_parent,
					      fork_list_in_child) == 0;
	if (!entry->is_listed) {
		entry->is_listed = true;
		entry->next = entries;
		entries = entry;
	}
	pthread_mutex_unlock(&list_lock);
}
