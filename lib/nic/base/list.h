/* SPDX-License-Identifier: MIT */
/*
 * Intrusive doubly linked lists: a head and its nodes are the same struct, embedded in the listed
 * objects. The list owns nothing; the owner of an object takes the object off its lists before
 * freeing it.
 *
 * A node is linked or points to itself; a node of zeroed memory counts as not linked. So a caller
 * can ask a node, and take it off its list, without knowing the list.
 */
#ifndef LIB_NIC_BASE_LIST_H
#define LIB_NIC_BASE_LIST_H

#include "proto/base/bits.h"

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

/* Makes an empty list, or a node that is on no list. */
static inline void list_init(struct list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool list_is_linked(const struct list *node)
{
	return node->next != NULL && node->next != node;
}

static inline void list_insert_between(struct list *node, struct list *prev, struct list *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

/* Puts `node`, which is on no list, at the front. */
static inline void list_add(struct list *head, struct list *node)
{
	list_insert_between(node, head, head->next);
}

/* Puts `node`, which is on no list, at the end. */
static inline void list_add_tail(struct list *head, struct list *node)
{
	list_insert_between(node, head->prev, head);
}

/* Takes `node` off its list, if any. */
static inline void list_remove(struct list *node)
{
	if (list_is_linked(node)) {
		node->prev->next = node->next;
		node->next->prev = node->prev;
	}
	list_init(node);
}

/* The struct of type `type` whose node `member` is at `node`. */
#define list_entry(node, type, member) RNIC_CONTAINER_OF(node, type, member)

/* The first entry of a list that is not empty. */
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)

/* Visits each node; the body must not take the visited one off the list. */
#define list_for_each(node, head)                                                                  \
	for ((node) = (head)->next; (node) != (head); (node) = (node)->next)

/* The same, and the body may take the visited node (only) off the list. */
#define list_for_each_safe(node, following, head)                                                  \
	for ((node) = (head)->next, (following) = (node)->next; (node) != (head);                  \
	     (node) = (following), (following) = (node)->next)

#endif
