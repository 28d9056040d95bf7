/* SPDX-License-Identifier: MIT */
/*
 * The other end of a device process, for tests: starts the real program rnicd-device as rnicd does,
 * with the process link as descriptor 3, and speaks for the control plane and for clients. Each
 * wait for the program ends after FAKE_WAIT_MS with a failed assertion.
 */
#ifndef TESTS_UNIT_DAEMON_DEVICE_LINK_FAKE_CONTROL_PLANE_H
#define TESTS_UNIT_DAEMON_DEVICE_LINK_FAKE_CONTROL_PLANE_H

#include "daemon/shared/link/process_link.h"
#include "lib/nic/port/udp/udp_port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKE_WAIT_MS 10000
#define FAKE_LANE    0x93

struct fake_control_plane {
	pid_t pid;
	int link_fd;
	struct rnic_process_start start;
	struct rnic_facts_page *facts_page;
	struct rnic_stats_page *stats;
	int facts_fd;
	int stats_fd;
	uint64_t facts_sequence;
	struct process_receipt receipt; /* the last one */
};

/* The test's end of a device connection. */
struct fake_client {
	int fd;
	uint32_t request_id;
	uint8_t reply[RNIC_CTL_MESSAGE_BYTES]; /* the payload of the last reply */
	int reply_fds[RNIC_CTL_FDS_MAX];
	unsigned reply_fd_count;
};

/* Starts the program, and fills in a START that serves the test's user; sends nothing. */
void fake_launch(struct fake_control_plane *control);

/* Sends START, and returns the status of READY; the reason is in the receipt. */
int fake_start(struct fake_control_plane *control);

/* Both; READY must be without a failure. */
void fake_run(struct fake_control_plane *control, enum udp_port_kind port);

/* Waits for the program's end and returns its wait status; closes what the fake has open. */
int fake_await_end(struct fake_control_plane *control);

/* Hangs up, and returns the wait status. */
int fake_hang_up(struct fake_control_plane *control);

void fake_send(struct fake_control_plane *control, uint16_t operation, const void *payload,
	       size_t bytes, const int *fds, unsigned fd_count);

/* The same of a message with a tail. */
void fake_send_tail(struct fake_control_plane *control, uint16_t operation, const void *payload,
		    size_t bytes, const void *tail, size_t tail_bytes);

/* Receives the next message, which must be of that operation; the payload. */
const void *fake_receive(struct fake_control_plane *control, uint16_t operation);

/* Sends FACTS with one GID, or none, and then writes the page. */
void fake_tell_facts(struct fake_control_plane *control, const struct rnic_gid *gid);

/* Waits until the statistics page shows at least that sequence of facts. */
void fake_await_stats_facts(struct fake_control_plane *control, uint64_t sequence);

/* Tells of a client, this process, which says OPEN_DEVICE and shows its memory. */
void fake_client_open(struct fake_control_plane *control, struct fake_client *client,
		      uint32_t client_id);
void fake_client_close(struct fake_client *client);

/* Sends a request without waiting. */
void fake_client_ask(struct fake_client *client, uint16_t operation, const void *payload,
		     size_t bytes);

/* The same with a descriptor, which stays the caller's. */
void fake_client_ask_with(struct fake_client *client, uint16_t operation, const void *payload,
			  size_t bytes, int fd);

/* Waits for the reply, keeps it, and returns its status. */
int fake_client_answer(struct fake_client *client);

/* Both. */
int fake_client_call(struct fake_client *client, uint16_t operation, const void *payload,
		     size_t bytes);

/* Waits until the device process hangs up. */
void fake_client_await_hang_up(struct fake_client *client);

#endif
