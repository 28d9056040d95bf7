/* SPDX-License-Identifier: MIT */
/*
 * The handles of this process: numbers of three kinds, and the objects behind them.
 *
 * The table holds one reference to each object that it knows. A function that works with an object
 * holds another, so that a destroyed object ends with its last user. A child of fork() begins with
 * an empty table.
 */
#ifndef LIB_APIS_RDMA_HANDLE_DIRECTORY_H
#define LIB_APIS_RDMA_HANDLE_DIRECTORY_H

#include <stdatomic.h>

enum rnic_handle_kind { RNIC_HANDLE_REGION, RNIC_HANDLE_QP, RNIC_HANDLE_LISTENER };

/* The first member of each object. */
struct rnic_handle {
	enum rnic_handle_kind kind;
	int number;
	atomic_uint references;
	void (*end)(struct rnic_handle *handle); /* called without a reference left */
	struct rnic_handle *next;
};

/*
 * Makes a new object known as `number`; -1: as the kind's next number. A number comes again only
 * after all others. The table then holds the first reference. Returns the number, or -EEXIST: the
 * number is in use.
 */
int rnic_handle_add(struct rnic_handle *handle, enum rnic_handle_kind kind, int number,
		    void (*end)(struct rnic_handle *handle));

/* Takes one more reference, which the caller releases; NULL: no object has that number. */
struct rnic_handle *rnic_handle_hold(enum rnic_handle_kind kind, int number);

/*
 * Removes the object from the table and gives the table's reference to the caller; NULL: no object
 * has that number.
 */
struct rnic_handle *rnic_handle_remove(enum rnic_handle_kind kind, int number);

/* NULL is allowed. */
void rnic_handle_release(struct rnic_handle *handle);

#endif
