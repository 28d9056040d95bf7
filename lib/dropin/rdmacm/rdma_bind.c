/* SPDX-License-Identifier: MIT */
/*
 * Which devices an identifier is on. Where its channel hears of several, a new identifier is on
 * none until an address says where it belongs. While it is not bound, another address moves it: the
 * native identifier is made anew. An identifier that is bound to any address is on all devices of
 * its channel, with the same port, and hears of connections by each; it is on one again once it
 * resolves an address.
 */
#include "lib/dropin/rdmacm/rdma_sources.h"

#include "proto/wire/gid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define FREE_PORT_TRIES 16 /* for a port that is free on all devices */

static struct rnic_cma_channel *channel_of(const struct rnic_cma_id *id)
{
	return rnic_cma_channel(id->public.channel);
}

static bool has_choice(const struct rnic_cma_id *id)
{
	return channel_of(id)->source_count > 1 || id->native == NULL;
}

static bool is_any_address(const struct rnic_endpoint *endpoint)
{
	static const uint8_t zero[4];
	const struct rnic_gid any_ipv4 = rnic_gid_from_ipv4(zero);

	return rnic_gid_is_zero(&endpoint->address) ||
	       rnic_gid_equal(&endpoint->address, &any_ipv4);
}

/* The loss of one device of several leaves the identifier on the others. */
static int without_loss(int error)
{
	return rnic_cma_is_loss(error) ? 0 : error;
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

/* Makes a native identifier of the identifier on a device. */
static int create_at(struct rnic_cma_id *id, struct rnic_cma_source *source,
		     struct rnic_cm_id **created)
{
	struct rnic_cm_id *native;
	int error = rnic_cma_source_open(channel_of(id), source);

	if (error == 0)
		error = rnic_native.cm_create_id(
			source->native, (enum rnic_port_space)id->public.ps,
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

/* Frees the places that have ended and whose events the program has acknowledged. */
static void free_acknowledged(struct rnic_cma_id *id)
{
	struct rnic_cma_place **link = &id->ended, *place;

	while ((place = *link) != NULL) {
		if (rnic_native.cm_has_open_events(place->native)) {
			link = &place->next;
			continue;
		}
		*link = place->next;
		rnic_native.cm_destroy_id(place->native);
		free(place);
	}
}

/*
 * Ends the identifier at a place that it has left. This does not wait until the program has
 * acknowledged the events of that place: the program may be the caller.
 */
static void end_place(struct rnic_cma_id *id, struct rnic_cma_place *place)
{
	rnic_native.cm_end_id(place->native);
	place->next = id->ended;
	id->ended = place;
	free_acknowledged(id);
}

static void free_places(struct rnic_cma_place *places)
{
	while (places != NULL) {
		struct rnic_cma_place *place = places;

		places = place->next;
		rnic_native.cm_destroy_id(place->native);
		free(place);
	}
}

void rnic_cma_let_take(struct rnic_cma_id *id)
{
	if (id->is_synchronous || (fcntl(id->public.channel->fd, F_GETFL) & O_NONBLOCK) != 0)
		return;
	if (id->native != NULL)
		rnic_native.cm_let_take(id->native);
	for (struct rnic_cma_place *place = id->elsewhere; place != NULL; place = place->next)
		rnic_native.cm_let_take(place->native);
}

int rnic_cma_end(struct rnic_cma_id *id)
{
	int error = id->native != NULL ? rnic_native.cm_end_id(id->native) : 0;

	for (struct rnic_cma_place *place = id->elsewhere; place != NULL; place = place->next)
		if (error == 0)
			error = rnic_native.cm_end_id(place->native);
	return error;
}

void rnic_cma_free_natives(struct rnic_cma_id *id)
{
	if (id->native != NULL)
		rnic_native.cm_destroy_id(id->native);
	free_places(id->elsewhere);
	free_places(id->ended);
}

/*
 * Exchanges the place where the identifier is with `place`. The channel's lock keeps the thread
 * that takes events from seeing half of the exchange.
 */
static void exchange_own(struct rnic_cma_id *id, struct rnic_cma_place *place)
{
	struct rnic_cma_device *device = id->device;
	struct rnic_cm_id *native = id->native;

	pthread_mutex_lock(&channel_of(id)->lock);
	id->device = place->device;
	id->native = place->native;
	place->device = device;
	place->native = native;
	pthread_mutex_unlock(&channel_of(id)->lock);
}

/* Puts an identifier, which is bound nowhere from now on, on the device of `source`. */
static int move_to(struct rnic_cma_id *id, struct rnic_cma_source *source)
{
	struct rnic_cma_place *place = malloc(sizeof(*place));
	int error = place != NULL ? create_at(id, source, &place->native) : -ENOMEM;

	if (error != 0) {
		free(place);
		return error;
	}
	place->device = source->device;
	exchange_own(id, place);
	id->is_bound = false;
	if (place->native != NULL)
		end_place(id, place);
	else
		free(place);
	return 0;
}

/* Puts the identifier on the first device that is there, but for the one that it is on. */
static int move_anywhere(struct rnic_cma_id *id)
{
	const struct rnic_cma_channel *channel = channel_of(id);
	int error = -ENODEV;

	for (uint32_t i = 0; rnic_cma_is_loss(error) && i < channel->source_count; i++)
		if (channel->sources[i].device != id->device)
			error = move_to(id, &channel->sources[i]);
	return error;
}

int rnic_cma_begin(struct rnic_cma_id *id)
{
	const struct rnic_cma_channel *channel = channel_of(id);
	int error = -ENODEV;

	if (channel->source_count == 1)
		return move_to(id, &channel->sources[0]);
	for (uint32_t i = 0; error != 0 && i < channel->source_count; i++)
		error = rnic_native.context_check(channel->sources[i].device->native);
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
	int error = id->native != NULL ? rnic_native.cm_set_option(id->native, option, value) : 0;

	for (struct rnic_cma_place *place = id->elsewhere; error == 0 && place != NULL;
	     place = place->next)
		error = without_loss(rnic_native.cm_set_option(place->native, option, value));
	if (error == 0) {
		id->options[option].is_set = true;
		id->options[option].value = value;
	}
	return error;
}

/* ---- on all devices ---- */

static void set_elsewhere(struct rnic_cma_id *id, struct rnic_cma_place *elsewhere)
{
	pthread_mutex_lock(&channel_of(id)->lock);
	id->elsewhere = elsewhere;
	pthread_mutex_unlock(&channel_of(id)->lock);
}

/* Ends the identifier on all devices but its own. */
static void leave_elsewhere(struct rnic_cma_id *id)
{
	struct rnic_cma_place *elsewhere = id->elsewhere;

	set_elsewhere(id, NULL);
	while (elsewhere != NULL) {
		struct rnic_cma_place *place = elsewhere;

		elsewhere = place->next;
		end_place(id, place);
	}
}

/* Binds on the device of `source` too. */
static int bind_also(struct rnic_cma_id *id, struct rnic_cma_source *source,
		     const struct rnic_endpoint *local)
{
	struct rnic_cma_place *place = malloc(sizeof(*place));
	int error = place != NULL ? create_at(id, source, &place->native) : -ENOMEM;

	if (error != 0)
		goto free_place;
	error = rnic_native.cm_bind(place->native, local, NULL);
	if (error != 0)
		goto destroy_native;
	place->device = source->device;
	place->next = id->elsewhere;
	set_elsewhere(id, place);
	return 0;

destroy_native:
	rnic_native.cm_destroy_id(place->native);
free_place:
	free(place);
	return error;
}

/* Binds the port that the identifier has on its own device on the others. */
static int bind_elsewhere(struct rnic_cma_id *id, const struct rnic_endpoint *local)
{
	struct rnic_cma_channel *channel = channel_of(id);
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < channel->source_count; i++) {
		if (channel->sources[i].device == id->device)
			continue;
		error = without_loss(bind_also(id, &channel->sources[i], local));
	}
	if (error != 0)
		leave_elsewhere(id);
	return error;
}

/* Binds on the device where the identifier is, or else on any. */
static int bind_anywhere(struct rnic_cma_id *id, const struct rnic_endpoint *local,
			 struct rnic_cm_endpoints *where)
{
	int error = -ENODEV;

	if (id->native != NULL)
		error = rnic_native.cm_bind(id->native, local, where);
	if (!rnic_cma_is_loss(error))
		return error;
	error = move_anywhere(id);
	return error == 0 ? rnic_native.cm_bind(id->native, local, where) : error;
}

static int bind_everywhere(struct rnic_cma_id *id, const struct rnic_endpoint *local,
			   struct rnic_cm_endpoints *where)
{
	struct rnic_endpoint bound = *local;
	int error = -EADDRINUSE;

	for (int tries = 0; error == -EADDRINUSE && tries < FREE_PORT_TRIES; tries++) {
		error = bind_anywhere(id, local, where);
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

/* Binds on the device that has the address. */
static int bind_at_owner(struct rnic_cma_id *id, const struct rnic_endpoint *local,
			 struct rnic_cm_endpoints *where)
{
	struct rnic_cma_source *owner = rnic_cma_owner(channel_of(id), local);
	int error = 0;

	if (owner == NULL)
		return -EADDRNOTAVAIL;
	if (owner->device != id->device)
		error = move_to(id, owner);
	return error == 0 ? rnic_native.cm_bind(id->native, local, where) : error;
}

int rnic_cma_bind(struct rnic_cma_id *id, const struct rnic_endpoint *local,
		  struct rnic_cm_endpoints *where)
{
	int error;

	if (!has_choice(id) || id->is_bound)
		error = rnic_native.cm_bind(id->native, local, where);
	else if (is_any_address(local))
		error = bind_everywhere(id, local, where);
	else
		error = bind_at_owner(id, local, where);
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
	for (struct rnic_cma_place *place = id->elsewhere; error == 0 && place != NULL;
	     place = place->next)
		error = without_loss(rnic_native.cm_listen(place->native, backlog, NULL));
	return error;
}

/* ---- on one device again ---- */

/* The place on the device of `source`, beside the identifier's own device. NULL: there is none. */
static struct rnic_cma_place *find_elsewhere(const struct rnic_cma_id *id,
					     const struct rnic_cma_source *source)
{
	struct rnic_cma_place *place = id->elsewhere;

	while (place != NULL && place->device != source->device)
		place = place->next;
	return place;
}

/* Puts an identifier that is not bound where its peer, or its own address, puts it. */
static int move_to_chosen(struct rnic_cma_id *id, struct rnic_cma_source *chosen)
{
	if (chosen != NULL && chosen->device != id->device)
		return move_to(id, chosen);
	return id->native == NULL ? move_anywhere(id) : 0;
}

int rnic_cma_choose_device(struct rnic_cma_id *id, const struct rnic_endpoint *source,
			   const struct rnic_endpoint *destination)
{
	struct rnic_cma_source *chosen;
	struct rnic_cma_place *place;
	int error = 0;

	if (!has_choice(id) || id->public.verbs != NULL || (id->is_bound && id->elsewhere == NULL))
		return 0;
	if (source != NULL && !is_any_address(source))
		chosen = rnic_cma_owner(channel_of(id), source);
	else
		chosen = rnic_cma_way_to(channel_of(id), destination);
	place = chosen != NULL ? find_elsewhere(id, chosen) : NULL;
	if (place != NULL)
		exchange_own(id, place);
	else if (!id->is_bound)
		error = move_to_chosen(id, chosen);
	leave_elsewhere(id);
	if (error == 0)
		set_placed(id);
	return error;
}

/* ---- to another channel ---- */

/* Whether the channel hears of the device, or would hear no more than that it is lost. */
static bool hears_of(struct rnic_cma_channel *channel, const struct rnic_cma_device *device)
{
	return rnic_cma_source_of(channel, device) != NULL ||
	       rnic_native.context_check(device->native) != 0;
}

static bool hears_of_all(struct rnic_cma_channel *channel, const struct rnic_cma_id *id)
{
	bool hears = id->device == NULL || rnic_cma_source_of(channel, id->device) != NULL;

	for (const struct rnic_cma_place *place = id->elsewhere; place != NULL; place = place->next)
		hears = hears && hears_of(channel, place->device);
	return hears;
}

static int migrate_place(const struct rnic_cma_place *place, struct rnic_cma_channel *channel)
{
	struct rnic_cma_source *source = rnic_cma_source_of(channel, place->device);
	int error = source != NULL ? rnic_cma_source_open(channel, source) : -ENODEV;

	return error == 0 ? rnic_native.cm_migrate(place->native, source->native) : error;
}

/* Tries all places, and tells the first error. */
static int migrate_all(const struct rnic_cma_id *id, struct rnic_cma_channel *channel)
{
	const struct rnic_cma_place own = {.device = id->device, .native = id->native};
	int error = own.native != NULL ? migrate_place(&own, channel) : 0;

	for (const struct rnic_cma_place *place = id->elsewhere; place != NULL;
	     place = place->next) {
		int result = without_loss(migrate_place(place, channel));

		if (error == 0)
			error = result;
	}
	return error;
}

int rnic_cma_report_to(struct rnic_cma_id *id, struct rnic_cma_channel *channel)
{
	int error;

	if (!hears_of_all(channel, id))
		return -ENODEV;
	error = migrate_all(id, channel);
	if (error != 0)
		migrate_all(id, channel_of(id));
	return error;
}
