/* SPDX-License-Identifier: MIT */
/*
 * Who has which port of which port space, and who listens there. All processes of a host share one
 * table, as they share the ports of TCP. Rules of librdmacm: two bindings that cover an address in
 * common exclude each other, unless both said that they may share; of those only one listens.
 *
 * Invariant: pending_count is the number of connections whose `binding` this is.
 */
#ifndef DAEMON_CM_BINDING_H
#define DAEMON_CM_BINDING_H

#include "base/list.h"
#include "cm/cm.h"

#define BINDING_CHAINS	    1024
#define BINDING_PORT_SPACES 4

/* Ports for those who ask for any: what Linux gives. */
#define EPHEMERAL_FIRST 32768
#define EPHEMERAL_COUNT 28232

struct cm_binding {
	struct list node;  /* of binding_table.all */
	struct list chain; /* of those of the same port */
	struct binding_table *table;
	struct cm_address address;
	uint16_t port_space;
	bool may_reuse;
	bool is_ipv6_only;
	bool is_listening;
	uint32_t backlog;
	struct list pending; /* connections that wait for their holder's answer */
	uint32_t pending_count;
	void *user;
};

/* All zero before binding_table_init(). */
struct binding_table {
	struct list all; /* oldest first */
	uint32_t count;
	bool has_new_listener; /* since the requests that wait for one were looked at */
	struct list chains[BINDING_CHAINS]; /* by port */
	/* Bindings of each port, so that the search for a free one is short when few are left. */
	uint32_t uses[BINDING_PORT_SPACES][EPHEMERAL_COUNT];
};

void binding_table_init(struct binding_table *table);

/* Whether the address of `wanted`, which is on no table, excludes it from this one. */
bool binding_is_taken(struct binding_table *table, const struct cm_binding *wanted);

/*
 * A port that no binding of `port_space` has with any address, searched from the `start`th of
 * EPHEMERAL_COUNT ports on; 0 when all are taken.
 */
uint16_t binding_choose_port(struct binding_table *table, uint16_t port_space, uint32_t start);

void binding_insert(struct binding_table *table, struct cm_binding *binding);
void binding_remove(struct binding_table *table, struct cm_binding *binding);

/* -EINVAL: it listens already. -EADDRINUSE: another one listens at an address of it. */
int binding_listen(struct cm_binding *binding, uint32_t backlog);

/* The most specific binding that listens for `port` of `port_space` at `gid`; NULL: nobody does. */
struct cm_binding *binding_find_listener(struct binding_table *table, uint16_t port_space,
					 uint16_t port, const struct rnic_gid *gid);

#endif
