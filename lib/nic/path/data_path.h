/* SPDX-License-Identifier: MIT */
/*
 * The data path of a device: the one thing that a driver of the engine needs. Packets go from the
 * port to the engine and to QP 1, expired timers run, and packets of both go to the port, all in
 * bounded turns.
 */
#ifndef NIC_PATH_DATA_PATH_H
#define NIC_PATH_DATA_PATH_H

#include "path/general_services.h"
#include "path/receive.h"
#include "path/transmit.h"

#include <stdbool.h>
#include <stdint.h>

struct data_path {
	struct engine *engine;
	struct port *port;
	struct general_services services;
	struct receive receive;
	struct transmit transmit;
};

/* -ENOMEM. `engine`, `port` and the context of `services` outlive `path`. */
int data_path_init(struct data_path *path, struct engine *engine, struct port *port,
		   const struct general_services *services);
void data_path_fini(struct data_path *path);

/*
 * One bounded turn: receives a batch, runs the timers, has the owner post work requests
 * (`take_work`), and sends a batch. Returns how many packets and work requests there were.
 */
uint32_t data_path_turn(struct data_path *path, uint32_t (*take_work)(void *context), void *context,
			uint64_t now_ns);

/* The sending part of a turn alone. */
uint32_t data_path_transmit(struct data_path *path, uint64_t now_ns);

/* Whether packets are ready that the port would take: another turn has work at once. */
bool data_path_has_work(const struct data_path *path);

/* The earliest instant at which a turn has something to do unasked; UINT64_MAX: never. */
uint64_t data_path_next_deadline_ns(const struct data_path *path);

#endif
