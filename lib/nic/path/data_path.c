/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/data_path.h"

int data_path_init(struct data_path *path, struct engine *engine, struct port *port)
{
	path->engine = engine;
	path->port = port;
	path->notes = (struct packet_notes){.capture = NULL};
	receive_init(&path->receive, engine, port, &path->notes);
	return transmit_init(&path->transmit, engine, port, &path->notes);
}

void data_path_fini(struct data_path *path)
{
	transmit_fini(&path->transmit);
}

void data_path_set_stack(struct data_path *path, const struct port_stack *stack)
{
	path->port = stack->top;
	path->receive.port = port_stack_receiver(stack);
	path->transmit.port = port_stack_sender(stack);
}

int data_path_set_capture(struct data_path *path, struct capture *capture,
			  packet_notes_program *program, void *context)
{
	int error;

	path->notes = (struct packet_notes){
		.capture = capture,
		.program = program,
		.context = context,
	};
	error = transmit_set_capture(&path->transmit);
	if (error != 0)
		path->notes.capture = NULL;
	return error;
}

void data_path_set_lane(struct data_path *path, uint8_t lane, receive_misrouted *take_misrouted,
			void *context)
{
	receive_set_lane(&path->receive, lane, take_misrouted, context);
}

void data_path_deliver(struct data_path *path, const struct rnic_addresses *addresses,
		       uint8_t *bytes, uint32_t length, uint64_t now_ns)
{
	receive_deliver(&path->receive, addresses, bytes, length, now_ns);
}

uint32_t data_path_turn(struct data_path *path, uint32_t (*take_work)(void *context), void *context,
			uint64_t now_ns)
{
	const uint32_t received = receive_run(&path->receive, now_ns);

	if (engine_next_deadline_ns(path->engine) <= now_ns)
		engine_tick(path->engine, now_ns);
	return received + data_path_turn_to_send(path, take_work, context, now_ns);
}

uint32_t data_path_turn_to_send(struct data_path *path, uint32_t (*take_work)(void *context),
				void *context, uint64_t now_ns)
{
	const uint32_t taken = take_work(context);

	return taken + transmit_run(&path->transmit, now_ns);
}

void data_path_end_waits(struct data_path *path, bool none_came, uint64_t now_ns)
{
	if (engine_end_waits(path->engine, none_came))
		transmit_run(&path->transmit, now_ns);
}

bool data_path_acknowledge_all(struct data_path *path, uint64_t now_ns)
{
	while (engine_hasten_acknowledgements(path->engine) || transmit_is_blocked(&path->transmit))
		if (transmit_run(&path->transmit, now_ns) == 0)
			return false;
	return true;
}

bool data_path_has_work(const struct data_path *path)
{
	return !transmit_is_blocked(&path->transmit) && engine_has_ready(path->engine);
}

uint64_t data_path_next_deadline_ns(const struct data_path *path)
{
	const uint64_t engine_ns = engine_next_deadline_ns(path->engine);
	const uint64_t port_ns = path->port->ops->next_deadline_ns(path->port);

	return port_ns < engine_ns ? port_ns : engine_ns;
}
