/* SPDX-License-Identifier: MIT */
/* The calls of cm.h about bindings. */
#include "daemon/control/cm/binding.h"

#include "daemon/control/cm/cm_connection.h"
#include "daemon/control/cm/cm_state.h"
#include "proto/mad/ip_cm.h"

#include <errno.h>
#include <stdlib.h>

static uint16_t choose_port(struct cm *cm, uint16_t port_space)
{
	return binding_choose_port(
		&cm->bindings, port_space,
		(uint32_t)random_source_below(&cm->config.random, EPHEMERAL_COUNT));
}

static struct cm_binding binding_as_wanted(struct cm *cm, const struct cm_bind *bind)
{
	return (struct cm_binding){
		.table = &cm->bindings,
		.address = bind->address,
		.port_space = bind->port_space,
		.may_reuse = bind->may_reuse,
		.is_ipv6_only = bind->is_ipv6_only,
		.owner = bind->owner,
		.user = bind->user,
	};
}

int cm_bind(struct cm *cm, const struct cm_bind *bind, struct cm_binding **out)
{
	struct cm_binding wanted = binding_as_wanted(cm, bind);
	struct cm_binding *binding;

	if (!rnic_port_space_exists(bind->port_space))
		return -EINVAL;
	if (cm->bindings.count >= cm->config.max_bindings)
		return -ENOSPC;
	if (wanted.address.port == 0)
		wanted.address.port = choose_port(cm, bind->port_space);
	else if (binding_in_the_way(&cm->bindings, &wanted) != NULL)
		return -EADDRINUSE;
	if (wanted.address.port == 0)
		return -EADDRNOTAVAIL;
	binding = malloc(sizeof(*binding));
	if (binding == NULL)
		return -ENOMEM;
	*binding = wanted;
	list_init(&binding->pending);
	binding_insert(&cm->bindings, binding);
	*out = binding;
	return 0;
}

void *cm_bind_holder(struct cm *cm, const struct cm_bind *bind)
{
	const struct cm_binding wanted = binding_as_wanted(cm, bind);
	const struct cm_binding *holder = binding_in_the_way(&cm->bindings, &wanted);

	return holder != NULL ? holder->user : NULL;
}

const struct cm_address *cm_binding_address(const struct cm_binding *binding)
{
	return &binding->address;
}

void cm_unbind(struct cm *cm, struct cm_binding *binding)
{
	if (binding == NULL)
		return;
	while (!list_is_empty(&binding->pending))
		connection_answered(
			list_first_entry(&binding->pending, struct cm_connection, pending_node));
	binding_remove(&cm->bindings, binding);
	free(binding);
}

int cm_listen(struct cm_binding *binding, uint32_t backlog)
{
	if (backlog == 0 || backlog > CM_DEFAULT_BACKLOG)
		backlog = CM_DEFAULT_BACKLOG;
	return binding_listen(binding, backlog);
}

void *cm_listen_holder(const struct cm_binding *binding)
{
	const struct cm_binding *holder = binding_other_listener(binding);

	return holder != NULL ? holder->user : NULL;
}

/* --- description ------------------------------------------------------------------------------ */

const struct cm_binding *cm_next_binding(const struct cm *cm, const struct cm_binding *binding)
{
	const struct list *next = binding == NULL ? cm->bindings.all.next : binding->node.next;

	return next == &cm->bindings.all ? NULL : list_entry(next, struct cm_binding, node);
}

void cm_describe_binding(const struct cm_binding *binding, struct cm_binding_info *info)
{
	*info = (struct cm_binding_info){
		.address = binding->address,
		.port_space = binding->port_space,
		.is_listening = binding->is_listening,
		.backlog = binding->backlog,
		.pending_count = binding->pending_count,
	};
}
