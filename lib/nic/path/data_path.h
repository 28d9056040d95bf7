/* SPDX-License-Identifier: MIT */
/*
 * The data path of a device: the one thing that a driver of the engine needs. Packets go from the
 * port to the engine, expired timers run, and the engine's packets go to the port, all in bounded
 * turns.
 */
#ifndef LIB_NIC_PATH_DATA_PATH_H
#define LIB_NIC_PATH_DATA_PATH_H

#include "lib/nic/path/port_stack.h"
#include "lib/nic/path/receive.h"
#include "lib/nic/path/transmit.h"

#include <stdbool.h>
#include <stdint.h>

struct data_path {
	struct engine *engine;
	struct port *port;
	struct packet_notes notes;
	struct receive receive;
	struct transmit transmit;
};

/* -ENOMEM. `engine` and `port` outlive `path`. */
int data_path_init(struct data_path *path, struct engine *engine, struct port *port);
void data_path_fini(struct data_path *path);

/* The top of the stack takes the place of the port before. Not within a turn. */
void data_path_set_stack(struct data_path *path, const struct port_stack *stack);

/*
 * A capture below the port gets comments on the packets; `program` names the programs of queue
 * pairs. -ENOMEM: it gets none.
 */
int data_path_set_capture(struct data_path *path, struct capture *capture,
			  packet_notes_program *program, void *context);

/*
 * The process has `lane` alone (RNIC_LANE_NONE: all of the device, as at first). `take_misrouted`
 * gets the packets for other lanes that came here, while a turn runs; NULL: they are dropped.
 */
void data_path_set_lane(struct data_path *path, uint8_t lane, receive_misrouted *take_misrouted,
			void *context);

/*
 * Takes a packet for this lane that another process received: `length` bytes from the BTH
 * to the ICRC, which is checked. Not within a turn.
 */
void data_path_deliver(struct data_path *path, const struct rnic_addresses *addresses,
		       uint8_t *bytes, uint32_t length, uint64_t now_ns);

/*
 * One bounded turn: receives a batch, runs the timers, has the owner post work requests
 * (`take_work`), and sends a batch. Returns how many packets and work requests there were.
 */
uint32_t data_path_turn(struct data_path *path, uint32_t (*take_work)(void *context), void *context,
			uint64_t now_ns);

/*
 * The same, but receives nothing, and runs no timer: what a timer waits for may have arrived.
 */
uint32_t data_path_turn_to_send(struct data_path *path, uint32_t (*take_work)(void *context),
				void *context, uint64_t now_ns);

/* Sends the acknowledgements that wait for a request: engine_end_waits(). */
void data_path_end_waits(struct data_path *path, bool none_came, uint64_t now_ns);

/*
 * Sends all acknowledgements that are owed, and what has to leave before them: the owner ends.
 * False: the port takes no more now.
 */
bool data_path_acknowledge_all(struct data_path *path, uint64_t now_ns);

/* Whether packets are ready that the port would take: another turn has work at once. */
bool data_path_has_work(const struct data_path *path);

/* The earliest instant at which a turn has something to do unasked; UINT64_MAX: never. */
uint64_t data_path_next_deadline_ns(const struct data_path *path);

#endif
