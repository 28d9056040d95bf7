/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the hostile tests: a daemon of their own on a private socket, and the control protocol
 * spoken by hand, so that a test can break any of its rules. The tests use nothing of the library.
 */
#ifndef TESTS_HOSTILE_HOSTILE_LINK_H
#define TESTS_HOSTILE_HOSTILE_LINK_H

#include "proto/ctl/ctl_message.h"
#include "proto/shm/cqe.h"
#include "proto/shm/region.h"
#include "proto/shm/wqe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Calls of these helpers fail the running cmocka test when the machine, not the daemon, misbehaves.
 */

struct hostile_daemon {
	pid_t pid;
	char directory[64];
	char path[96];
};

/* The daemon of the program's tests, from hostile_start() to hostile_stop(). */
extern struct hostile_daemon rnicd;

/* Takes the daemon's path from the command line. False, and says how to use the program, if it has
 * none. */
bool hostile_arguments(int argc, char **argv);

/* For the whole group of tests: starts a daemon at an address of its own, until it serves. */
int hostile_start(void **state);

/* The same at `address`, or at one of its own (NULL), with this rule for --peer-ports. */
void hostile_start_at(const char *address, const char *peer_ports);

/* Ends it by SIGTERM; it must end well and have removed its socket. */
int hostile_stop(void **state);

/* Stops the daemon with its device processes, and lets them go on. */
void hostile_pause(const struct hostile_daemon *daemon);
void hostile_continue(const struct hostile_daemon *daemon);

/* A control connection that has said nothing yet. */
int hostile_connect(const struct hostile_daemon *daemon);

/* Ends the test where there are no other users that we could be. */
void hostile_skip_unless_root(void);

/* A control connection of another user, and of the user nobody. */
int hostile_connect_as(const struct hostile_daemon *daemon, uid_t user);
int hostile_connect_as_nobody(const struct hostile_daemon *daemon);

/* Sends `bytes` as one message with descriptors. False when the daemon hung up. */
bool hostile_send(int fd, const void *message, size_t bytes, const int *fds, unsigned fd_count);

struct hostile_reply {
	struct rnic_ctl_header header;
	uint8_t payload[RNIC_CTL_MESSAGE_BYTES];
	int fds[RNIC_CTL_FDS_MAX];
	unsigned fd_count;
};

/* Receives one message; false when the daemon hung up. */
bool hostile_receive(int fd, struct hostile_reply *reply);

/* Sends a well-formed request. False when the daemon hung up. */
bool hostile_request(int fd, uint16_t operation, const void *payload, size_t bytes);

/* The same and its reply. False when the daemon hung up; closes the reply's
 * descriptors. */
bool hostile_call(int fd, uint16_t operation, const void *payload, size_t bytes,
		  struct hostile_reply *reply);

/* The same, keeping descriptors; asserts success. */
void hostile_must(int fd, uint16_t operation, const void *payload, size_t bytes,
		  struct hostile_reply *reply);

/*
 * The same with any status, which the function returns. On status 0 the function copies
 * `answer_bytes` of the reply's payload to `answer`, which may be NULL with 0 bytes.
 */
int32_t hostile_answer(int fd, uint16_t operation, const void *request, size_t bytes, void *answer,
		       size_t answer_bytes);

/* The device's counter of that name, as an administrator's connection lists it. */
uint64_t hostile_counter(int admin_fd, const char *name);

/* Opens a control connection and says HELLO as an administrator. */
int hostile_connect_as_administrator(const struct hostile_daemon *daemon);

/* Says HELLO on a control connection. Returns the device connection, which has said nothing yet. */
int hostile_hello(int control_fd);

/* A client with regions, a PD, a CQ with a channel, and an RC QP connected to itself. */
struct hostile_client {
	int control_fd;
	int fd; /* the device connection */
	struct rnic_session_region *session;
	int doorbell_fd;
	int events_fd;
	struct rnic_handle pd, channel, cq, qp;
	struct rnic_handle srq; /* none, or of the QP that is to be made */
	uint32_t qpn;
	uint32_t cq_entries; /* to ask for */
	uint32_t cq_slots;
	const struct rnic_cq_region *cq_region;
	size_t cq_bytes;
	struct rnic_qp_control *indices; /* of the QP, in the session region */
	void *queues;
	size_t queues_bytes;
	struct rnic_queues_plan plan;
	int channel_fd;
};

#define HOSTILE_STEPS 7

/*
 * Builds the first `steps` of HOSTILE_STEPS: HELLO and OPEN_DEVICE, PD, channel, CQ, QP, INIT, RTR
 * and RTS.
 */
void hostile_client_open(struct hostile_client *client, const struct hostile_daemon *daemon,
			 unsigned steps);
/* The same for a control connection that there is, and that becomes the client's. */
void hostile_client_adopt(struct hostile_client *client, int control_fd, unsigned steps);
/* Builds the missing part of the first `steps` of a client that has `done` of them. */
void hostile_client_go_on(struct hostile_client *client, unsigned done, unsigned steps);

/*
 * Makes a region for the queues of a queue pair that the client is to request, and says so in the
 * request. The client maps the region, with all entries at the start.
 */
void hostile_place_queues(struct hostile_client *client, struct rnic_ctl_create_qp *request);

void hostile_client_close(struct hostile_client *client);

/* Asks to register `bytes` of a file as mapped memory; the reply is to be received. */
void hostile_ask_to_register(const struct hostile_client *client, int file, uint64_t offset,
			     uint64_t bytes);
/* The same; returns the status of the reply. */
int hostile_register(const struct hostile_client *client, int file, uint64_t offset,
		     uint64_t bytes);
/* The status of the next reply. */
int hostile_receive_status(const struct hostile_client *client);

/* Rings a doorbell as the protocol wants it. */
void hostile_ring(struct hostile_client *client, uint32_t doorbell);

/* Waits until the daemon hangs up. */
void hostile_expect_hang_up(int fd);

/* Waits until `cq` has had completion number `index`, the first being 0; returns its entry. */
const struct rnic_cqe *hostile_wait_completion(struct hostile_client *client, uint32_t index);

/* Waits until the daemon holds `clients` clients and `qps` QPs, whatever else it holds. */
void hostile_wait_owned(const struct hostile_daemon *daemon, uint32_t clients, uint32_t qps,
			struct rnic_show_device *row);
/* The same, and then no more of all else: each client has a PD and each QP a CQ. */
void hostile_expect_owned(const struct hostile_daemon *daemon, uint32_t clients, uint32_t qps);

#endif
