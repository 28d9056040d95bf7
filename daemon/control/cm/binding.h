/* SPDX-License-Identifier: MIT */
/*
 * The bindings: the ports in use of each port space, and their listeners. All processes of a host
 * share one table, as they share the ports of TCP. The table follows librdmacm's rules: two
 * bindings exclude each other if an address belongs to both, unless both allow sharing. Only one of
 * the bindings that share an address listens.
 *
 * A user may have as many bindings of one port as identifiers, if all allow sharing. So listeners
 * have chains of their own, in which a request looks, and the hash is seeded: nobody piles bindings
 * up in the way of others' ports.
 *
 * Invariant: pending_count is the number of connections whose `binding` is this binding.
 */
#ifndef DAEMON_CONTROL_CM_BINDING_H
#define DAEMON_CONTROL_CM_BINDING_H

#include "daemon/control/cm/cm.h"
#include "lib/nic/base/list.h"

#define BINDING_CHAINS	    1024
#define BINDING_PORT_SPACES 4

/* The ephemeral ports, as in Linux. */
#define EPHEMERAL_FIRST 32768
#define EPHEMERAL_COUNT LIMIT_CM_EPHEMERAL_PORTS

struct cm_binding {
	struct list node;      /* of binding_table.all */
	struct list chain;     /* of the bindings of the same port */
	struct list listeners; /* of those that listen; not linked: this one does not */
	struct binding_table *table;
	struct cm_address address;
	uint16_t port_space;
	bool may_reuse;
	bool is_ipv6_only;
	bool is_listening;
	uint32_t backlog;
	struct list pending; /* connections that wait for the holder's answer */
	uint32_t pending_count;
	uint32_t owner; /* the user whose listeners share what a peer may have */
	void *user;
};

/* All zero before binding_table_init(). */
struct binding_table {
	struct list all; /* oldest first */
	uint32_t count;
	bool has_new_listener; /* since the last look at the requests that wait for a listener */
	uint64_t seed;
	struct list chains[BINDING_CHAINS];    /* by port space and port */
	struct list listeners[BINDING_CHAINS]; /* likewise, of the bindings that listen */
	/* The number of bindings of each port: a short search for a free port when few are free. */
	uint32_t uses[BINDING_PORT_SPACES][EPHEMERAL_COUNT];
};

void binding_table_init(struct binding_table *table, uint64_t seed);

/* A binding of the table that excludes `wanted`, which is on no table; NULL: there is none. */
struct cm_binding *binding_in_the_way(struct binding_table *table, const struct cm_binding *wanted);

/*
 * A port that no binding of `port_space` has at any address. The search begins at number `start` of
 * the EPHEMERAL_COUNT ports. 0: all ports are taken.
 */
uint16_t binding_choose_port(struct binding_table *table, uint16_t port_space, uint32_t start);

void binding_insert(struct binding_table *table, struct cm_binding *binding);
void binding_remove(struct binding_table *table, struct cm_binding *binding);

/*
 * -EINVAL: the binding listens already. -EADDRINUSE: another binding that shares an address
 * listens, which is binding_other_listener().
 */
int binding_listen(struct cm_binding *binding, uint32_t backlog);

/* The same without a look at other listeners. */
void binding_begin_listening(struct cm_binding *binding);
struct cm_binding *binding_other_listener(const struct cm_binding *binding);

/*
 * The most specific binding that listens for `port` of `port_space` at `gid`; NULL: there is none.
 */
struct cm_binding *binding_find_listener(struct binding_table *table, uint16_t port_space,
					 uint16_t port, const struct rnic_gid *gid);

#endif
