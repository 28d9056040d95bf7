/* SPDX-License-Identifier: MIT */
/*
 * One connection manager with a hand-written peer. The fixture exchanges datagrams with the manager
 * and keeps the manager's events. Anything unexpected fails the test.
 */
#ifndef TESTS_UNIT_DAEMON_CONTROL_CM_CM_FIXTURE_H
#define TESTS_UNIT_DAEMON_CONTROL_CM_CM_FIXTURE_H

#include "daemon/control/cm/cm.h"
#include "daemon/control/cm/cm_connection.h"
#include "lib/nic/base/prng.h"
#include "proto/base/bits.h"
#include "proto/mad/cm_message.h"
#include "proto/mad/ip_cm.h"
#include "tests/unit/unit_test.h"

#define FIXTURE_EVENTS	     64
#define FIXTURE_PORT	     7174
#define FIXTURE_PEER_PORT    40000
#define FIXTURE_PEER_COMM_ID 0x70000001
#define FIXTURE_PEER_QPN     0x000077
#define FIXTURE_QPN	     0x000055
#define FIXTURE_GUID	     UINT64_C(0x1122334455667788)
#define MS		     UINT64_C(1000000)

/* The time of one try: CM_DEFAULT_RESPONSE_TIMEOUT and CM_DEFAULT_PACKET_LIFETIME together. */
#define FIXTURE_TRY_NS	    ((UINT64_C(4096) << 17) + (UINT64_C(4096) << 15))
#define FIXTURE_TIMEWAIT_NS (512 * MS) /* of both defaults: Linux's and ours */

struct fixture_event {
	struct cm_event event; /* without `private_data` */
	uint8_t private_data[CM_PRIVATE_BYTES_MAX];
};

struct cm_fixture {
	struct cm *cm;
	struct prng random; /* of the CM */
	uint64_t now_ns;
	struct rnic_gid local;
	struct rnic_gid peer;
	struct fixture_event events[FIXTURE_EVENTS];
	uint32_t event_count;
	uint32_t event_read;
	uint16_t peer_udp_port;	     /* of all datagrams that the test pushes */
	uint32_t strange_port_count; /* that the manager has told of */
	struct cm_strange_port strange_port;
	bool is_refusing;    /* the holder takes no requests */
	uint32_t note_count; /* of messages that the manager told of */
	struct cm_message_note note;
	uint32_t question_count; /* to the device, about the peer of FIXTURE_QPN */
	uint32_t asked_comm_id;	 /* of the last one */
};

void fixture_init(struct cm_fixture *fixture, uint32_t max_connections);

/* A fixture whose manager keeps requests for a listener. */
void fixture_init_patient(struct cm_fixture *fixture, uint32_t max_connections,
			  uint64_t listener_wait_ns);

/* The test must have destroyed all objects and read all events. */
void fixture_fini(struct cm_fixture *fixture);

/* Pushes a datagram from the peer. */
void fixture_push(struct cm_fixture *fixture, const struct rnic_cm_message *message);

/* Takes the next datagram for the peer; fails when there is none, or one of another kind. */
struct rnic_cm_message fixture_pull(struct cm_fixture *fixture, enum rnic_cm_kind kind);
void fixture_expect_silence(struct cm_fixture *fixture);

/* Takes the next event; fails when there is none, or one of another type. */
const struct fixture_event *fixture_expect_event(struct cm_fixture *fixture,
						 enum cm_event_type type);
void fixture_expect_no_event(const struct cm_fixture *fixture);

/* Lets time pass, with ticks at the deadlines. */
void fixture_wait(struct cm_fixture *fixture, uint64_t duration_ns);

/* A listener at FIXTURE_PORT of the TCP port space. */
struct cm_binding *fixture_listen(struct cm_fixture *fixture, uint32_t backlog);

/* Valid messages of the peer, for changes by the test. */
struct rnic_cm_message fixture_req(const struct cm_fixture *fixture);
struct rnic_cm_message fixture_sidr_req(const struct cm_fixture *fixture);
struct rnic_cm_message fixture_rep(uint32_t comm_id);
struct rnic_cm_message fixture_about(enum rnic_cm_kind kind, uint32_t comm_id);

/* Valid parameters. */
struct cm_connect fixture_connect_parameters(const struct cm_fixture *fixture);

/*
 * The peer of an established connection disconnects, and its holder has to answer by a call: the
 * holder hears of it, and the peer of nothing.
 */
void fixture_end_by_call(struct cm_fixture *fixture, struct cm_connection *connection);

/* A connection in that state, with all earlier messages and events taken. */
struct cm_connection *fixture_reach(struct cm_fixture *fixture, enum connection_state state,
				    bool is_active);

#endif
