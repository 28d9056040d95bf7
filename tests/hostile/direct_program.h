/* SPDX-License-Identifier: MIT */
/* A program that asks to be its own device process, played by hand: the process link and a lane. */
#ifndef TESTS_HOSTILE_DIRECT_PROGRAM_H
#define TESTS_HOSTILE_DIRECT_PROGRAM_H

#include "proto/base/lane.h"
#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

/* A program, and its end of the process link. */
struct direct {
	int control_fd;
	int link_fd;
	uint32_t client_id;
};

/* Says HELLO. Returns the status; `link_fd` is -1 unless the status is 0. */
int direct_open(struct direct *direct);
void direct_close(const struct direct *direct);

void direct_say(const struct direct *direct, uint16_t operation, const void *payload,
		uint32_t bytes);

/* Opens and answers READY. */
void direct_serve(struct direct *direct);

/* Waits until the control plane has closed the link: messages may still be there. */
void direct_expect_end(const struct direct *direct);

/* An honest client comes, works and goes, and nothing of the liars is left. */
void direct_expect_unharmed(void);

/* A program that serves, with what the control plane gave it for one GID. */
struct lane_program {
	struct direct direct;
	uint32_t lane;
	int stats_fd;
	int receive_fd;
	int send_fds[RNIC_LANE_SEND_SOCKETS]; /* -1: the kernel tells no lanes apart */
};

/* Opens, answers READY and takes the descriptors. */
void lane_program_open(struct lane_program *program);
void lane_program_close(const struct lane_program *program);

/* The sockets and the statistics page alone: the program keeps its lane. */
void lane_program_close_sockets(const struct lane_program *program);

/* Whether the program has send sockets; says on standard output that the test needs them. */
bool lane_program_has_ports(const struct lane_program *program);

#endif
