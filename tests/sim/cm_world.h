/* SPDX-License-Identifier: MIT */
/*
 * Hosts with a connection manager each, on the simulated network, and programs that do as a plan
 * says: who connects to whom, what the other answers and when, who parts. What each end is told is
 * kept as a word, one letter an event, and checked as it grows:
 *
 *     Q request  R response  E established  J rejected  U unreachable  D disconnected  T timewait
 * exit
 *
 * so that a connection that went well reads "RDT" at the end that asked and "QEDT" at the other.
 * The first thing that is wrong is kept as a sentence.
 */
#ifndef TESTS_SIM_CM_WORLD_H
#define TESTS_SIM_CM_WORLD_H

#include "daemon/control/cm/cm.h"
#include "lib/nic/base/prng.h"
#include "proto/mad/cm_message.h"
#include "proto/mad/ip_cm.h"
#include "tests/sim/sim_net.h"

#define CM_WORLD_PORT	   7174
#define CM_WORLD_QUESTIONS 64 /* more are not answered */
#define CM_WORLD_MS	   UINT64_C(1000000)
#define CM_WORLD_S	   UINT64_C(1000000000)
#define CM_NEVER	   UINT64_MAX

#define CM_BIT(kind) (1u << ((kind)-RNIC_CM_REQ))

enum cm_answer { CM_ACCEPT, CM_REJECT, CM_DESTROY, CM_IGNORE };
enum cm_closing_end { CM_ACTIVE_CLOSES, CM_PASSIVE_CLOSES, CM_BOTH_CLOSE };

/* Bits. */
enum cm_side { CM_ACTIVE_SIDE = 1, CM_PASSIVE_SIDE = 2 };

struct cm_plan {
	uint32_t from;
	uint32_t to;
	uint8_t qp_type;	  /* 0: RC */
	uint16_t port;		  /* 0: CM_WORLD_PORT, where every host listens */
	uint8_t response_timeout; /* code; 0: 12, 17 ms */
	uint8_t packet_lifetime;  /* code; 0: 10, 4 ms */
	uint8_t max_retries;	  /* 0: 15 */
	enum cm_answer answer;	  /* of the passive end, to the request */
	uint64_t answer_after_ns;
	enum cm_answer confirm; /* of the active end, to the response */
	uint64_t confirm_after_ns;
	uint64_t give_up_after_ns;   /* the active end is destroyed; 0: never */
	uint64_t take_back_after_ns; /* the passive one, having accepted, if it does not stand by
					then */
	enum cm_closing_end closing_end;
	bool closes_by_destroying;
	uint8_t ends_by_call; /* bits of enum cm_side: the end's call answers the peer's farewell */
	uint64_t part_after_ns; /* when such an end answers; CM_NEVER */
	uint32_t qpn;		/* of the active end; 0: any */
	uint64_t hold_ns;	/* from when an end stands until it closes; CM_NEVER */
};

struct cm_end {
	struct cm_world *world;
	struct cm_end *next;
	struct cm_end *active; /* of a passive end: the asking end; of an active end: itself */
	const struct cm_plan *plan;
	uint32_t token;
	uint32_t host;
	uint32_t incarnation; /* of the host */
	bool is_active;
	struct cm_connection *connection; /* NULL: destroyed */
	struct cm_qp_parameters qp;	  /* the QP attributes that it sends */
	char log[8];
	enum cm_phase phase; /* as its calls and events have it */
	int status;	     /* of J, U or D */
	uint64_t act_at_ns;
	uint64_t give_up_at_ns;
	bool has_confirmed; /* the active end has called cm_establish() */
	bool has_closed;    /* disconnected or destroyed it */
	bool is_parting;    /* was told of the end, and answers by a call */
	uint32_t requests;  /* of an active end: how often the peer's program saw it */
	uint32_t stood;	    /* of an active end: how many passive ends were told E */
};

/* A question to the device whether the peer of a QP is still there. */
struct cm_question {
	uint32_t qpn;
	uint32_t comm_id;
};

struct cm_host {
	struct cm_world *world;
	uint32_t index;
	uint32_t incarnation;
	struct cm *cm;
	struct prng random; /* of the CM */
	struct sim_nic *nic;
	struct cm_binding *listeners[2];		  /* TCP, UDP */
	struct cm_question questions[CM_WORLD_QUESTIONS]; /* of this turn */
	uint32_t question_count;
	uint64_t heard; /* packets of peers, over all QPs */
	bool is_dead;	/* hears nothing and says nothing */
};

struct cm_world {
	struct sim_net net;
	struct prng prng;
	struct cm_host *hosts;
	struct cm_end *ends; /* all that ever were, newest first */
	struct cm_plan **plans;
	uint32_t connect_count;
	uint32_t lose_first;	 /* bits of kinds of messages of which the next is lost: CM_BIT() */
	uint32_t lose_all;	 /* bits of kinds of messages that are lost, however often tried */
	bool may_be_unreachable; /* so much is lost that tries may run out */
	bool has_restarted;
	char failure[256]; /* "" while all is well */
};

/* Aborts when out of memory. */
struct cm_world *cm_world_create(uint32_t hosts, uint64_t seed, FILE *trace);

/*
 * Destroys the remaining connections, waits until nothing moves, checks that nothing is owned any
 * more, and frees it. NULL, or the first fault, in a static buffer.
 */
const char *cm_world_finish(struct cm_world *world);

/* Starts a connection; `plan` is copied. The active end. */
struct cm_end *cm_world_connect(struct cm_world *world, const struct cm_plan *plan);

/* Runs for this long. */
void cm_world_run(struct cm_world *world, uint64_t duration_ns);

/* Gives all links these properties. */
void cm_world_links(struct cm_world *world, const struct sim_link *link);

/* The host forgets everything, as when its daemon is killed, and begins anew. */
void cm_world_restart(struct cm_world *world, uint32_t host);

/* The last passive end of the connection that `active` began; NULL: its peer never saw it. */
struct cm_end *cm_world_peer(struct cm_world *world, const struct cm_end *active);

void cm_world_fail(struct cm_world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
