/* SPDX-License-Identifier: MIT */
/*
 * Everything that fork() must not tear or leave behind, in one list for each copy of the native
 * code. A thread of the parent that holds a lock at the moment of fork() does not exist in the
 * child, and the child must not use what belongs to the parent.
 */
#ifndef LIB_CLIENT_NATIVE_FORK_LIST_H
#define LIB_CLIENT_NATIVE_FORK_LIST_H

#include <stdbool.h>

/* One entry. NULL functions are left out. The entries must not depend on each other's order. */
struct rnic_fork_entry {
	void (*before)(void);	 /* in the parent: takes the entry's locks */
	void (*in_parent)(void); /* gives them back */
	void (*in_child)(void);	 /* gives them back, and forgets the parent's objects */
	struct rnic_fork_entry *next;
	bool is_listed;
};

/*
 * Puts the entry on the list, once however often a caller asks. The entry stays there to the end of
 * the process. The caller holds none of the entry's locks.
 */
void rnic_fork_list_add(struct rnic_fork_entry *entry);

#endif
