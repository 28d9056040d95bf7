/* SPDX-License-Identifier: MIT */
/*
 * Which device an identifier is on. A new one is on the first device, for want of a better one, and
 * moves when an address says where it belongs: the native identifier is made anew there. An
 * identifier that is bound to any address is on all devices of its channel, with the same port, and
 * hears of connections by each; it is on one again once it resolves an address.
 */
#include "rdmacm/rdma_sources.h"

#include "wire/gid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FREE_PORT_TRIES 16 /* for a port that is free on all devices */

static struct rnic_cma_channel *channel_of(const struct rnic_cma_id *id)
{
	return rnic_cma_channel(id->public.channel);
}

static bool has_choice(const struct rnic_cma_id *id)
{
	return channel_of(id)->source_count > 1;
}

static bool is_any_address(const struct rnic_endpoint *endpoint)
{
	static const uint8_t zero[4];
	const struct rnic_gid any_ipv4 = rnic_gid_from_ipv4(zero);

	return rnic_gid_is_zero(&endpoint->address) ||
	       rnic_gid_equal(&endpoint->address, &any_ipv4);
}

/* ---- native identifiers ---- */

static int apply_options(const struct rnic_cma_id *id, struct rnic_cm_id *native)
{
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < RNIC_CMA_OPTIONS_MAX; i++)
		if (id->options[i].is_set)
			error = rnic_native.cm_set_option(native, (enum rnic_cm_option)i,
							  id->options[i].value);
	return error;
}

/* Makes the identifier's native one on another device. */
static int create_at(struct rnic_cma_id *id, const struct rnic_cma_source *source,
		     struct rnic_cm_id **created)
{
	struct rnic_cm_id *native;
	int error = rnic_native.cm_create_id(source->native, (enum rnic_port_space)id->public.ps,
					     (enum rnic_qp_type)id->public.qp_type, id, &native);

	if (error != 0)
		return error;
	error = apply_options(id, native);
	if (error != 0) {
		rnic_native.cm_destroy_id(native);
		return error;
	}
	*created = native;
	return 0;
}

/* Puts an identifier, which is bound nowhere from now on, on the device of `source`. */
static int move_to(struct rnic_cma_id *id, const struct rnic_cma_source *source)
{
	struct rnic_cm_id *created;
	int error = create_at(id, source, &created);

	if (error != 0)
		return error;
	rnic_native.cm_destroy_id(id->native);
	id->native = created;
	id->device = source->device;
	id->is_bound = false;
	return 0;
}

/* The first device of a new identifier may have been lost since. */
static int move_to_another(struct rnic_cma_id *id)
{
	const struct rnic_cma_channel *channel = channel_of(id);
	int error = -ENODEV;

	for (uint32_t i = 0; error == -ENODEV && i < channel->source_count; i++)
		if (channel->sources[i].device != id->device)
			error = move_to(id, &channel->sources[i]);
	return error;
}

static void set_placed(struct rnic_cma_id *id)
{
	pthread_mutex_lock(&channel_of(id)->lock);
	id->is_placed = true;
	pthread_mutex_unlock(&channel_of(id)->lock);
}

int rnic_cma_set_option(struct rnic_cma_id *id, enum rnic_cm_option option, uint32_t value)
{
	int error = rnic_native.cm_set_option(id->native, option, value);

	for (uint32_t i = 0; error == 0 && i < id->elsewhere_count; i++)
		error = rnic_native.cm_set_option(id->elsewhere[i].native, option, value);
	if (error == 0) {
		id->options[option].is_set = true;
		id->options[option].value = value;
	}
	return error;
}

/* ---- on all devices ---- */

/* Under the channel's lock the thread that takes events reads where an identifier is. */
static void set_elsewhere(struct rnic_cma_id *id, struct rnic_cma_elsewhere *elsewhere,
			  uint32_t count)
{
	pthread_mutex_lock(&channel_of(id)->lock);
	id->elsewhere = elsewhere;
	id->elsewhere_count = count;
	pthread_mutex_unlock(&channel_of(id)->lock);
}

void rnic_cma_leave_elsewhere(struct rnic_cma_id *id)
{
	struct rnic_cma_elsewhere *elsewhere = id->elsewhere;
	const uint32_t count = id->elsewhere_count;

	if (elsewhere == NULL)
		return;
	set_elsewhere(id, NULL, 0);
	for (uint32_t i = 0; i < count; i++)
		rnic_native.cm_destroy_id(elsewhere[i].native);
	free(elsewhere);
}

/* Binds on the device of `source` too. A device that is lost is left out. */
static int bind_also(struct rnic_cma_id *id, const struct rnic_cma_source *source,
		     const struct rnic_endpoint *local, struct rnic_cma_elsewhere *elsewhere)
{
	int error = create_at(id, source, &elsewhere->native);

	if (error == 0) {
		error = rnic_native.cm_bind(elsewhere->native, local, NULL);
		if (error != 0)
			rnic_native.cm_destroy_id(elsewhere->native);
	}
	elsewhere->device = source->device;
	return error;
}

/* Binds the port that the identifier has on its own device on the others. */
static int bind_elsewhere(struct rnic_cma_id *id, const struct rnic_endpoint *local)
{
	struct rnic_cma_channel *channel = channel_of(id);
	struct rnic_cma_elsewhere *elsewhere = calloc(channel->source_count, sizeof(*elsewhere));
	uint32_t count = 0;
	int error = 0;

	if (elsewhere == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; error == 0 && i < channel->source_count; i++) {
		if (channel->sources[i].device == id->device)
			continue;
		error = bind_also(id, &channel->sources[i], local, &elsewhere[count]);
		if (error == 0)
			count++;
		else if (error == -ENODEV)
			error = 0;
	}
	set_elsewhere(id, elsewhere, count);
	if (error != 0)
		rnic_cma_leave_elsewhere(id);
	return error;
}

static int bind_everywhere(struct rnic_cma_id *id, const struct rnic_endpoint *local,
			   struct rnic_cm_endpoints *where)
{
	struct rnic_endpoint bound = *local;
	int error = -EADDRINUSE;

	for (int tries = 0; error == -EADDRINUSE && tries < FREE_PORT_TRIES; tries++) {
		error = rnic_native.cm_bind(id->native, local, where);
		if (error == -ENODEV && move_to_another(id) == 0)
			error = rnic_native.cm_bind(id->native, local, where);
		if (error != 0)
			return error;
		bound.port = where->local.port;
		error = bind_elsewhere(id, &bound);
		/* The port that was asked for, or this one of many, is another's on some device. */
		if (error != 0 && move_to(id, rnic_cma_source_of(channel_of(id), id->device)) != 0)
			return error;
		if (local->port != 0)
			break;
	}
	return error;
}

int rnic_cma_bind(struct rnic_cma_id *id, const struct rnic_endpoint *local,
		  struct rnic_cm_endpoints *where)
{
	struct rnic_cma_source *owner = NULL;
	int error = 0;

	if (has_choice(id) && !id->is_bound && is_any_address(local)) {
		error = bind_everywhere(id, local, where);
	} else {
		/* The device that does not have the address says so. */
		if (has_choice(id) && !id->is_bound)
			owner = rnic_cma_owner(channel_of(id), local);
		if (owner != NULL && owner->device != id->device)
			error = move_to(id, owner);
		if (error == 0)
			error = rnic_native.cm_bind(id->native, local, where);
	}
	if (error != 0)
		return error;
	id->is_bound = true;
	set_placed(id);
	return 0;
}

int rnic_cma_listen(struct rnic_cma_id *id, uint32_t backlog, struct rnic_cm_endpoints *where)
{
	static const uint8_t zero[4];
	const struct rnic_endpoint any = {.family = 4, .address = rnic_gid_from_ipv4(zero)};
	int error = has_choice(id) && !id->is_bound ? rnic_cma_bind(id, &any, where) : 0;

	if (error == 0)
		error = rnic_native.cm_listen(id->native, backlog, where);
	for (uint32_t i = 0; error == 0 && i < id->elsewhere_count; i++) {
		error = rnic_native.cm_listen(id->elsewhere[i].native, backlog, NULL);
		if (error == -ENODEV)
			error = 0;
	}
	return error;
}

/* ---- on one device again ---- */

/* Makes the native identifier on the device of `source` the identifier's own, if it has one. */
static bool try_exchange(struct rnic_cma_id *id, const struct rnic_cma_source *source)
{
	for (uint32_t i = 0; i < id->elsewhere_count; i++) {
		const struct rnic_cma_elsewhere other = id->elsewhere[i];

		if (other.device != source->device)
			continue;
		pthread_mutex_lock(&channel_of(id)->lock);
		id->elsewhere[i] = (struct rnic_cma_elsewhere){id->device, id->native};
		id->device = other.device;
		id->native = other.native;
		pthread_mutex_unlock(&channel_of(id)->lock);
		return true;
	}
	return false;
}

int rnic_cma_choose_device(struct rnic_cma_id *id, const struct rnic_endpoint *source,
			   const struct rnic_endpoint *destination)
{
	struct rnic_cma_source *chosen;
	int error = 0;

	if (!has_choice(id) || id->public.verbs != NULL || (id->is_bound && id->elsewhere == NULL))
		return 0;
	if (source != NULL && !is_any_address(source))
		chosen = rnic_cma_owner(channel_of(id), source);
	else
		chosen = rnic_cma_way_to(channel_of(id), destination);
	if (chosen != NULL && chosen->device != id->device && !try_exchange(id, chosen) &&
	    !id->is_bound)
		error = move_to(id, chosen);
	rnic_cma_leave_elsewhere(id);
	if (error == 0)
		set_placed(id);
	return error;
}

/* Whether the channel hears of all devices of the identifier. */
static bool hears_of(struct rnic_cma_channel *channel, const struct rnic_cma_id *id)
{
	bool hears = rnic_cma_source_of(channel, id->device) != NULL;

	for (uint32_t i = 0; i < id->elsewhere_count; i++)
		hears = hears && rnic_cma_source_of(channel, id->elsewhere[i].device) != NULL;
	return hears;
}

int rnic_cma_report_to(struct rnic_cma_id *id, struct rnic_cma_channel *channel)
{
	int error = -ENODEV;

	if (!hears_of(channel, id))
		return error;
	error = rnic_native.cm_migrate(id->native, rnic_cma_source_of(channel, id->device)->native);
	for (uint32_t i = 0; error == 0 && i < id->elsewhere_count; i++)
		error = rnic_native.cm_migrate(
			id->elsewhere[i].native,
			rnic_cma_source_of(channel, id->elsewhere[i].device)->native);
	return error;
}
