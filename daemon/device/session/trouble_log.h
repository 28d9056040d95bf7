/* SPDX-License-Identifier: MIT */
/*
 * What went wrong for the programs of a device, for the person who looks for the cause: queue pairs
 * that failed or dropped something, requests, connections and packets that were refused. Each is a
 * line of the log, and the last ones are kept for rnicctl, since the program that they are about
 * has often ended.
 *
 * Owned by the session set. Bounded: the oldest gives way, and of a program with half of them its
 * own.
 */
#ifndef DAEMON_DEVICE_SESSION_TROUBLE_LOG_H
#define DAEMON_DEVICE_SESSION_TROUBLE_LOG_H

#include "ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TROUBLE_LOG_MAX		   32
#define TROUBLE_LOG_DELIVERIES_MAX 16 /* new ones in a minute */

struct qp;
struct session;
struct session_cm_id;
struct session_set;

struct trouble {
	uint64_t at_ns;
	uint64_t logged_ns;
	pid_t pid;
	uid_t uid;
	bool is_of_all;		/* of the device: everybody may know */
	int cqe_delivery_error; /* what the network says of the subject; 0: it is something else */
	char program[RNIC_CTL_NAME_BYTES];
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
};

struct trouble_log {
	struct trouble entries[TROUBLE_LOG_MAX];
	uint32_t count;					      /* ever noted */
	uint64_t cqe_delivery_ns[TROUBLE_LOG_DELIVERIES_MAX]; /* when the last of them were noted */
	uint32_t cqe_delivery_count;			      /* ever noted */
};

/* engine_sink.trouble; `context` is the session_set. */
void trouble_of_qp(void *context, const struct qp *qp);

/*
 * A request of `session` is answered with `error` (negative errno) and `reason` ("": the error's
 * own text). Notes nothing of what is no fault: -EAGAIN, and all that rnicctl asks.
 */
void trouble_of_request(struct session *session, uint16_t operation, int error, const char *reason);

/* What cm_identifier_last_error() says has just happened to the connection of `id`. */
void trouble_of_connection(const struct session_cm_id *id);

/*
 * The network refuses for good to carry a datagram of `bytes` bytes to `dest`; `error` is the
 * negative errno of sending it.
 */
void trouble_of_network(struct session_set *set, const struct rnic_gid *dest, uint32_t bytes,
			int error);

/*
 * The network says, by ICMP from `from` (zero: nobody knows), that datagrams to `dest` do not
 * arrive; `error` and `mtu_bytes` are as in struct port_report. Anybody can send ICMP: it is told,
 * and nothing else follows from it; only when something of a client goes to `dest`, as one trouble
 * for each `dest` and `error`, and TROUBLES_DELIVERIES_MAX new ones in a minute.
 */
void trouble_of_delivery(struct session_set *set, const struct rnic_gid *dest,
			 const struct rnic_gid *from, int error, uint32_t mtu_bytes);

/* The trouble that `n` others came after; NULL when there are not that many. */
const struct trouble *trouble_nth(const struct trouble_log *trouble_log, uint32_t n);

#endif
