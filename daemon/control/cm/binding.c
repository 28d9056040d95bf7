/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/binding.h"

#include "proto/base/bits.h"
#include "proto/mad/ip_cm.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <string.h>

void binding_table_init(struct binding_table *table, uint64_t seed)
{
	table->seed = seed;
	list_init(&table->all);
	table->count = 0;
	table->has_new_listener = false;
	for (uint32_t i = 0; i < BINDING_CHAINS; i++) {
		list_init(&table->chains[i]);
		list_init(&table->listeners[i]);
	}
}

static uint32_t binding_chain_of(const struct binding_table *table, uint16_t port_space,
				 uint16_t port)
{
	return (uint32_t)(rnic_mix64(table->seed ^ ((uint32_t)port_space << 16 | port)) %
			  BINDING_CHAINS);
}

static uint32_t binding_own_chain(const struct cm_binding *binding)
{
	return binding_chain_of(binding->table, binding->port_space, binding->address.port);
}

/* --- addresses of a binding ------------------------------------------------------------------- */

static bool is_any_ipv4(const struct rnic_gid *gid)
{
	static const uint8_t zero[4];

	return rnic_gid_is_ipv4(gid) && memcmp(rnic_gid_ipv4(gid), zero, sizeof(zero)) == 0;
}

static bool binding_is_any(const struct cm_binding *binding)
{
	return rnic_gid_is_zero(&binding->address.gid) || is_any_ipv4(&binding->address.gid);
}

static bool covers_ipv4(const struct cm_binding *binding)
{
	return rnic_gid_is_zero(&binding->address.gid) ? !binding->is_ipv6_only
						       : rnic_gid_is_ipv4(&binding->address.gid);
}

static bool covers_ipv6(const struct cm_binding *binding)
{
	return !rnic_gid_is_ipv4(&binding->address.gid);
}

/* Whether an address belongs to both bindings. */
static bool overlap(const struct cm_binding *a, const struct cm_binding *b)
{
	if (a->port_space != b->port_space || a->address.port != b->address.port)
		return false;
	if (!binding_is_any(a) && !binding_is_any(b))
		return rnic_gid_equal(&a->address.gid, &b->address.gid);
	return (covers_ipv4(a) && covers_ipv4(b)) || (covers_ipv6(a) && covers_ipv6(b));
}

/* How well `binding` fits `gid`. 0: not at all. A more specific binding has a larger fitness. */
static int fitness(const struct cm_binding *binding, const struct rnic_gid *gid)
{
	bool is_ipv4 = rnic_gid_is_ipv4(gid);

	if (!binding_is_any(binding))
		return rnic_gid_equal(&binding->address.gid, gid) ? 3 : 0;
	if (is_ipv4 ? !covers_ipv4(binding) : !covers_ipv6(binding))
		return 0;
	return covers_ipv4(binding) && covers_ipv6(binding) ? 1 : 2;
}

/* --- taking an address ------------------------------------------------------------------------ */

struct cm_binding *binding_in_the_way(struct binding_table *table, const struct cm_binding *wanted)
{
	struct list *node;

	list_for_each (node, &table->chains[binding_own_chain(wanted)]) {
		struct cm_binding *other = list_entry(node, struct cm_binding, chain);

		if (overlap(other, wanted) && !(other->may_reuse && wanted->may_reuse))
			return other;
	}
	return NULL;
}

static uint32_t *uses_of(struct binding_table *table, uint16_t port_space)
{
	switch (port_space) {
	case RNIC_PORT_SPACE_IPOIB:
		return table->uses[0];
	case RNIC_PORT_SPACE_TCP:
		return table->uses[1];
	case RNIC_PORT_SPACE_UDP:
		return table->uses[2];
	default:
		return table->uses[3];
	}
}

bool cm_port_is_ephemeral(uint16_t port)
{
	return (uint32_t)port - EPHEMERAL_FIRST < EPHEMERAL_COUNT;
}

/* The count of the port's bindings; NULL when the port is not ephemeral. */
static uint32_t *find_uses(struct binding_table *table, uint16_t port_space, uint16_t port)
{
	if (!cm_port_is_ephemeral(port))
		return NULL;
	return &uses_of(table, port_space)[port - EPHEMERAL_FIRST];
}

uint16_t binding_choose_port(struct binding_table *table, uint16_t port_space, uint32_t start)
{
	const uint32_t *uses = uses_of(table, port_space);

	for (uint32_t i = 0; i < EPHEMERAL_COUNT; i++) {
		uint32_t place = (start + i) % EPHEMERAL_COUNT;

		if (uses[place] == 0)
			return (uint16_t)(EPHEMERAL_FIRST + place);
	}
	return 0;
}

void binding_insert(struct binding_table *table, struct cm_binding *binding)
{
	uint32_t *uses = find_uses(table, binding->port_space, binding->address.port);

	list_add_tail(&table->all, &binding->node);
	list_add_tail(&table->chains[binding_own_chain(binding)], &binding->chain);
	table->count++;
	if (uses != NULL)
		(*uses)++;
}

void binding_remove(struct binding_table *table, struct cm_binding *binding)
{
	uint32_t *uses = find_uses(table, binding->port_space, binding->address.port);

	list_remove(&binding->node);
	list_remove(&binding->chain);
	list_remove(&binding->listeners);
	table->count--;
	if (uses != NULL)
		(*uses)--;
}

/* --- listening -------------------------------------------------------------------------------- */

struct cm_binding *binding_other_listener(const struct cm_binding *binding)
{
	struct list *node;

	list_for_each (node, &binding->table->listeners[binding_own_chain(binding)]) {
		struct cm_binding *other = list_entry(node, struct cm_binding, listeners);

		if (other != binding && overlap(other, binding))
			return other;
	}
	return NULL;
}

void binding_begin_listening(struct cm_binding *binding)
{
	binding->is_listening = true;
	binding->table->has_new_listener = true;
	list_add_tail(&binding->table->listeners[binding_own_chain(binding)], &binding->listeners);
}

int binding_listen(struct cm_binding *binding, uint32_t backlog)
{
	if (binding->is_listening)
		return -EINVAL;
	if (binding_other_listener(binding) != NULL)
		return -EADDRINUSE;
	binding_begin_listening(binding);
	binding->backlog = backlog;
	return 0;
}

struct cm_binding *binding_find_listener(struct binding_table *table, uint16_t port_space,
					 uint16_t port, const struct rnic_gid *gid)
{
	struct cm_binding *best = NULL;
	struct list *node;
	int best_fitness = 0;

	list_for_each (node, &table->listeners[binding_chain_of(table, port_space, port)]) {
		struct cm_binding *binding = list_entry(node, struct cm_binding, listeners);
		int fits = fitness(binding, gid);

		if (binding->port_space == port_space && binding->address.port == port &&
		    fits > best_fitness) {
			best = binding;
			best_fitness = fits;
		}
	}
	return best;
}
