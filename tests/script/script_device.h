/* SPDX-License-Identifier: MIT */
/*
 * The engine under test with one queue pair, its memory, its receive ring and a clock that stands
 * still until it is told to move. What the engine does is seen here, in order, until somebody takes
 * it: packets (through bytes and ICRC), completions, asynchronous events.
 *
 * Packets in, posts and changes of memory that follow each other form one turn, like those that a
 * device finds at once: the engine answers when the turn ends.
 */
#ifndef TESTS_SCRIPT_SCRIPT_DEVICE_H
#define TESTS_SCRIPT_SCRIPT_DEVICE_H

#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/objects/ah.h"
#include "lib/nic/engine/objects/cq.h"
#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/engine/objects/xrcd.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/engine/verbs/srq.h"
#include "tests/script/script.h"
#include "tests/sim/model_memory.h"

enum seen_kind { SEEN_PACKET, SEEN_COMPLETION, SEEN_EVENT, SEEN_COUNT };

/* Something that was seen, or a packet whose bytes the engine still needs. */
struct script_seen {
	struct script_seen *next;
	uint64_t at_ns;
	struct cqe cqe;
	uint32_t event;
	struct rnic_packet packet; /* its payload points into `bytes` */
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
};

struct script_seen_list {
	struct script_seen *first;
	struct script_seen **last;
};

struct script_memory_region {
	struct model_memory model;
	struct mr mr;
	struct mw mw; /* of a window, instead */
	uint8_t *bytes;
	bool is_registered;
};

struct script_device {
	const struct script *script;
	struct engine engine;
	struct prng random; /* of the engine */
	struct pd pd;
	struct pd other_pd;
	struct cq send_cq;
	struct cq recv_cq;
	uint32_t send_cq_room;
	uint32_t recv_cq_room;
	struct xrcd xrcd;
	struct srq *srq; /* NULL: none */
	struct ah ah;	 /* of the peer, for UD */
	struct qp *qp;
	struct script_memory_region regions[SCRIPT_REGIONS_MAX];
	uint32_t region_keys[SCRIPT_REGIONS_MAX];
	struct script_resolver resolver;
	const struct script_post *ring[SCRIPT_POSTS_MAX];
	uint32_t ring_posted;
	uint8_t inline_bytes[SCRIPT_POSTS_MAX][SCRIPT_INLINE_BYTES];
	uint32_t inline_posted;
	uint32_t ring_pushed;
	bool is_watched; /* the engine wants to know of the next receive */
	uint64_t now_ns;
	uint64_t start_ns;
	struct script_seen_list seen[SEEN_COUNT];
	struct script_seen_list inbound; /* of the turn that is not over */
	const char *fault;		 /* the engine's forbidden act; NULL */
	FILE *log;
};

/* Brings the queue pair up by the script's settings; prints the exchange to `log`. */
bool script_device_init(struct script_device *device, const struct script *script, FILE *log);
void script_device_fini(struct script_device *device);

void script_device_receive(struct script_device *device, const struct script_packet *packet);
void script_device_post_send(struct script_device *device, const struct script_post *post);
void script_device_post_recv(struct script_device *device, const struct script_post *post);

/* False when the engine refuses. */
bool script_device_modify(struct script_device *device, enum rnic_qp_state state);

/* Asks the peer for a sign of life. False: the QP cannot. */
bool script_device_probe(struct script_device *device);

/* Accesses to the region fail from now on: the client unmapped it. */
void script_device_unmap(struct script_device *device, uint32_t region);
void script_device_deregister(struct script_device *device, uint32_t region);

/* The client's bytes at an address that a region covers. */
uint8_t *script_device_bytes(struct script_device *device, uint64_t address);

/* Ends the turn: due work is done, and the engine sends all it has. */
void script_device_turn(struct script_device *device);

/* Moves the clock to the engine's next deadline, at most to `until_ns`, and runs a turn there. */
void script_device_advance(struct script_device *device, uint64_t until_ns);

/* Whether anything is seen and not taken. */
bool script_device_has_seen(const struct script_device *device);

/* The oldest of its kind; NULL when none. */
const struct script_seen *script_device_peek(const struct script_device *device,
					     enum seen_kind kind);
void script_device_drop(struct script_device *device, enum seen_kind kind);

void script_completion_print(FILE *out, const struct cqe *cqe);

#endif
