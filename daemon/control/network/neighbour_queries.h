/* SPDX-License-Identifier: MIT */
/*
 * Questions whether an address can be reached on the link, as the kernel's connection manager asks
 * (rdma_resolve_ip(), drivers/infiniband/core/addr.c, Linux 6.12): a next hop whose link address is
 * known answers at once, and another one by its link address or, at the end of the time, not at
 * all.
 *
 * The kernel tells when a neighbour's link address becomes known. News may be lost, so a query
 * looks once more at the end of its time.
 */
#ifndef DAEMON_CONTROL_NETWORK_NEIGHBOUR_QUERIES_H
#define DAEMON_CONTROL_NETWORK_NEIGHBOUR_QUERIES_H

#include "daemon/control/network/next_hop.h"
#include "lib/nic/base/list.h"

/* A zeroed one is not under way. Its owner cancels it before freeing it. */
struct neighbour_query {
	struct list node;
	struct hop_way way;
	struct next_hop hop;
	uint64_t until_ns;
	bool has_answered;
	/* Ends the query: 0, or -ETIMEDOUT. Must not begin or cancel another one. */
	void (*ended)(struct neighbour_query *query, int status);
};

/* What the queries need of the kernel. */
struct neighbour_calls {
	bool (*is_unknown)(void *context, const struct hop_way *way, struct next_hop *hop);
	void (*call)(void *context, const struct hop_way *way);
	/* Whether neighbour_queries_note() is to be called. */
	void (*hear)(void *context, bool is_wanted);
};

struct neighbour_queries {
	const struct neighbour_calls *calls;
	void *context;
	struct list waiting;   /* struct neighbour_query.node */
	uint64_t next_ns;      /* when neighbour_queries_tick() is due; UINT64_MAX: never */
	uint32_t netdev_index; /* of the device */
};

void neighbour_queries_init(struct neighbour_queries *queries, const struct neighbour_calls *calls,
			    void *context, uint32_t netdev_index);

/*
 * Asks for the way from `source`, an address of the device, to `peer`. False: there is nothing to
 * wait for. True: query->ended() is called by a later neighbour_queries_tick(), at `until_ns` at
 * the latest.
 */
bool neighbour_queries_begin(struct neighbour_queries *queries, struct neighbour_query *query,
			     const struct rnic_gid *source, const struct rnic_gid *peer,
			     uint64_t until_ns);

/* Forgets a query. Nothing to do for one that is not under way. */
void neighbour_queries_cancel(struct neighbour_queries *queries, struct neighbour_query *query);

/* The link address of a neighbour has become known. */
void neighbour_queries_note(struct neighbour_queries *queries, const struct next_hop *hop);

/* Ends queries that are answered or late: a bounded number of them in one call. */
void neighbour_queries_tick(struct neighbour_queries *queries, uint64_t now_ns);

#endif
