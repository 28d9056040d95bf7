/* SPDX-License-Identifier: MIT */
/*
 * A simulated host: the real engine, the port stack in front of its network statistics page,
 * memory, and QPs with receive rings. It does what the device loop does, one turn at a time, with
 * the time given.
 *
 * It compares the engine's counters with the packets it saw, and breaks on purpose (`sabotage`) so
 * that the oracle can be shown to notice.
 */
#ifndef TESTS_SIM_SIM_HOST_H
#define TESTS_SIM_SIM_HOST_H

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
#include "tests/sim/model_memory.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_net.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_BATCH 32

/* A host's registrations of its arena, each good for something else. */
enum sim_key {
	SIM_KEY_ALL, /* every right */
	SIM_KEY_NO_ATOMIC,
	SIM_KEY_READ_ONLY,  /* remote reads, no writes of either side */
	SIM_KEY_LOCAL_ONLY, /* no remote rights */
	SIM_KEY_OTHER_PD,
	SIM_KEY_STALE,	 /* was deregistered */
	SIM_KEY_PATTERN, /* a pattern region instead of the arena */
	SIM_KEY_WINDOWS, /* no remote rights: windows are bound to it */
	SIM_KEY_COUNT,
};

#define SIM_ZERO 0xff /* in a member whose 0 means the default: really 0 */

/* Both QPs of a connection. 0 means the default, SIM_ZERO a real 0. */
struct sim_connection {
	uint8_t type;	       /* enum rnic_qp_type; RC. XRC: the second end is the target */
	uint8_t path_mtu;      /* 1..5; 3: 1024 bytes; of UD it is 4096 */
	uint8_t timeout;       /* code; 10: 4.2 ms */
	uint8_t retry_count;   /* 7 */
	uint8_t rnr_retry;     /* 7: without end */
	uint8_t min_rnr_timer; /* code; 1: 10 us */
	uint8_t rd_atomic;     /* outstanding READs and atomics; 16 */
	uint8_t sges;	       /* 4 */
	bool signal_all;
	bool is_shared;		  /* both ends take their receives from their host's SRQ */
	uint32_t depth;		  /* of the send queue; 64 */
	uint32_t inline_bytes;	  /* 256 */
	uint32_t psn;		  /* of the first end; the second starts elsewhere. 0: random */
	uint32_t access_flags;	  /* of both; 0: all */
	uint32_t send_cq_entries; /* 0: endless */
};

/* A receive as the client's ring has it. */
struct sim_receive {
	struct rnic_sge sges[LIMIT_SGES];
	uint32_t sge_count;
};

/* A receive of a host's SRQ, and its expected contents; `pieces` live as long as the simulation. */
struct sim_shared_receive {
	struct sim_receive receive;
	struct model_receive model;
};

/* The SRQ of a host. A restart forgets the posted receives. */
struct sim_srq {
	struct srq *srq;
	struct sim_shared_receive *receives;
	uint32_t capacity;
	uint32_t posted;
	uint32_t pushed;
};

struct sim_qp {
	struct sim *sim;
	struct sim_host *host;
	struct sim_qp *peer;
	struct qp *qp;
	struct cq send_cq;
	struct cq recv_cq;
	struct ah ah; /* UD: to the peer */
	struct mw mw; /* see end.window */
	struct sim_connection connection;
	struct oracle_end end;
	struct sim_receive *ring;
	uint32_t ring_posted;
	uint32_t ring_pushed;
	uint32_t ring_capacity;
	uint32_t send_cq_room; /* completions that still fit */
	uint32_t start_psn;
	bool is_watched; /* the engine wants to know of the next receive */
	bool is_dead;	 /* its host restarted: nothing can be posted before it is connected anew */
	bool was_full;	 /* a CQ has refused a completion */
};

/*
 * Breaks a host on purpose: may change the completion, and returns how often it is delivered (1 for
 * a host that works).
 */
typedef uint32_t sim_sabotage(struct cqe *cqe);

/* Traffic, counted from the packets themselves. */
struct sim_packet_log {
	uint64_t built;
	uint64_t built_bytes;
	uint64_t accepted; /* with a good ICRC */
	uint64_t bad_icrc;
	uint64_t sent_rnr_naks;
	uint64_t sent_sequence_naks;
	uint64_t sent_naks;
	uint64_t completions;
	uint64_t error_completions;
	uint64_t flushed_completions;
};

struct sim_host {
	uint32_t index;
	struct sim_net *net;
	struct sim_nic *nic;
	struct oracle *oracle;
	struct engine_config engine_config;
	uint64_t seed;	    /* of the engine's random numbers; another one after a restart */
	struct prng random; /* of the engine */
	struct rnic_record_region record;
	struct engine engine;
	struct port *port;     /* the stack's top */
	struct port *receiver; /* without the ports of rules for the other direction */
	struct port *sender;
	struct sim_memory memory;
	struct model_memory arena;
	struct model_memory pattern;
	struct pd pd;
	struct pd other_pd;
	struct mr mrs[SIM_KEY_COUNT];
	struct sim_srq srq;
	struct sim_srq xrc_srq; /* of xrcd */
	struct xrcd xrcd;
	struct cq xrc_cq;
	uint32_t batch; /* packets built, or received, at once */
	uint32_t turns;
	bool is_dirty;		/* something was posted since the last turn */
	bool has_changed_key;	/* receives posted before name one that is gone */
	sim_sabotage *sabotage; /* NULL: none */
	struct sim_packet_log log;
	uint32_t async_events[RNIC_EVENT_COUNT];
	/* Encoded and refused by the port so far. */
	struct datagram pending[SIM_BATCH];
	uint32_t pending_first;
	uint32_t pending_count;
	uint8_t bytes[SIM_BATCH][RNIC_PACKET_BYTES_MAX];
	struct packet_builder builders[SIM_BATCH];
};

struct sim_host_config {
	uint32_t index;
	uint64_t seed;
	uint64_t arena_bytes;
	uint64_t pattern_bytes;
	uint32_t max_qps;
	uint32_t batch;
	bool is_direct;
	bool has_no_credits;
	bool has_ecn;
	uint64_t line_rate; /* bytes a second; 0: the default */
	uint32_t kept_packets;
	bool has_no_recorder;
};

int sim_host_init(struct sim_host *host, struct sim_net *net, struct oracle *oracle,
		  const struct sim_host_config *config);

/*
 * The engine is destroyed and made anew, with other keys, as when a machine restarts: nothing that
 * is under way to or from it means anything any more. All QPs and address handles of it have been
 * destroyed.
 */
void sim_host_restart(struct sim_host *host);

/* All QPs have been destroyed. Complains when anything is still referenced. */
void sim_host_fini(struct sim_host *host);

/* The next instant at which a turn has something to do. */
uint64_t sim_host_next_ns(const struct sim_host *host);

/* One turn of the loop: receive, put in place, tick, transmit. */
void sim_host_turn(struct sim_host *host);

/* Complains when a counter of the engine differs from the packets seen. */
void sim_host_check_counters(struct sim_host *host);

#endif
