/* SPDX-License-Identifier: MIT */
#include "path/data_path.h"

int data_path_init(struct data_path *path, struct engine *engine, struct port *port,
		   const struct general_services *services)
{
	path->engine = engine;
	path->port = port;
	path->services = *services;
	receive_init(&path->receive, engine, &path->services, port);
	return transmit_init(&path->transmit, engine, &path->services, port);
}

void data_path_fini(struct data_path *path)
{
	transmit_fini(&path->transmit);
}

static void data_path_tick(struct data_path *path, uint64_t now_ns)
{
	const struct general_services *services = &path->services;

	if (engine_next_deadline_ns(path->engine) <= now_ns)
		engine_tick(path->engine, now_ns);
	if (services->next_deadline_ns(services->context) <= now_ns)
		services->tick(services->context, now_ns);
}

uint32_t data_path_turn(struct data_path *path, uint32_t (*take_work)(void *context), void *context,
			uint64_t now_ns)
{
	uint32_t done = receive_run(&path->receive, now_ns);

	data_path_tick(path, now_ns);
	done += take_work(context);
	return done + transmit_run(&path->transmit, now_ns);
}

uint32_t data_path_transmit(struct data_path *path, uint64_t now_ns)
{
	return transmit_run(&path->transmit, now_ns);
}

bool data_path_has_work(const struct data_path *path)
{
	const struct general_services *services = &path->services;

	return !transmit_is_blocked(&path->transmit) &&
	       (engine_has_ready(path->engine) || services->has_ready(services->context));
}

uint64_t data_path_next_deadline_ns(const struct data_path *path)
{
	const struct general_services *services = &path->services;
	uint64_t earliest_ns = engine_next_deadline_ns(path->engine);
	uint64_t services_ns = services->next_deadline_ns(services->context);
	uint64_t port_ns = path->port->ops->next_deadline_ns(path->port);

	if (services_ns < earliest_ns)
		earliest_ns = services_ns;
	return port_ns < earliest_ns ? port_ns : earliest_ns;
}
