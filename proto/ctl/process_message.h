/* SPDX-License-Identifier: MIT */
/*
 * The messages of the process link: the SOCK_SEQPACKET socketpair between the control plane and the
 * device process of a user. Descriptors travel with their message (SCM_RIGHTS).
 *
 * The device process trusts the control plane. The control plane does not trust the device process:
 * it takes a bounded number of messages in a turn, never waits for one, checks each with
 * rnic_process_check(), and accepts descriptors of no message.
 *
 * The order of the link is the order of events: a device process knows a GID, and the facts, before
 * it gets a client that the control plane sends later. Two shared pages go with the link: the facts
 * page (the control plane writes) and the statistics page (the device process writes).
 */
#ifndef PROTO_CTL_PROCESS_MESSAGE_H
#define PROTO_CTL_PROCESS_MESSAGE_H

#include "proto/base/lane.h"
#include "proto/base/maxima.h"
#include "proto/base/record.h"
#include "proto/base/verbs_types.h"
#include "proto/ctl/ctl_message.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_PROCESS_MAGIC	   UINT32_C(0x6c707264) /* "drpl" in a hex dump */
#define RNIC_PROCESS_VERSION	   1
#define RNIC_PROCESS_MESSAGE_BYTES 12288 /* no message is longer */
#define RNIC_PROCESS_FDS_MAX	   9
#define RNIC_RULES_MAX		   64 /* that are loaded at a time */
#define RNIC_PROCESS_TEXT_BYTES	   256

enum rnic_process_operation {
	RNIC_PROCESS_START = 1,	  /* to the device process, first: struct rnic_process_start */
	RNIC_PROCESS_READY,	  /* to the control plane, the answer: struct rnic_process_ready */
	RNIC_PROCESS_GID,	  /* to the device process: struct rnic_process_gid */
	RNIC_PROCESS_FACTS,	  /* to the device process: struct rnic_process_facts */
	RNIC_PROCESS_CLIENT,	  /* to the device process: struct rnic_process_client */
	RNIC_PROCESS_ROWS,	  /* to the device process: struct rnic_process_rows */
	RNIC_PROCESS_ROWS_REPLY,  /* to the control plane: struct rnic_process_rows_reply, then rows
				   */
	RNIC_PROCESS_PACKET,	  /* both ways: struct rnic_process_packet, then the datagram */
	RNIC_PROCESS_JOIN,	  /* to the control plane: struct rnic_process_group */
	RNIC_PROCESS_JOINED,	  /* to the device process, the answer: struct rnic_process_group */
	RNIC_PROCESS_LEAVE,	  /* to the control plane: struct rnic_process_group */
	RNIC_PROCESS_TROUBLE,	  /* to the control plane: struct rnic_process_trouble */
	RNIC_PROCESS_CLIENT_GONE, /* both ways: struct rnic_process_client_gone */
	RNIC_PROCESS_PROBE,	  /* to the device process: struct rnic_process_probe */
	RNIC_PROCESS_PROBED,	  /* to the control plane, the answer: struct rnic_process_probe */
	RNIC_PROCESS_ORDER,	  /* to the device process: struct rnic_process_order */
	RNIC_PROCESS_ORDER_REPLY, /* to the control plane: struct rnic_process_order_reply */
	RNIC_PROCESS_RULES,	  /* to the device process: struct rnic_process_rules */
	RNIC_PROCESS_OPERATION_COUNT,
};

struct rnic_process_header {
	uint32_t magic;
	uint16_t version;
	uint16_t operation;
	uint32_t bytes; /* of the whole message */
	uint32_t reserved;
};

enum rnic_process_start_flag {
	RNIC_START_ECN = 1 << 0,
	RNIC_START_CAPTURE = 1 << 1, /* descriptor 2 is the capture */
};

/* Descriptors: the facts page (sealed, to be read), the file of the statistics page (to be
 * written), the capture or none.
 */
struct rnic_process_start {
	uint32_t lane; /* RNIC_LANE_FIRST to RNIC_LANE_LAST */
	uint32_t uid;  /* the user for whom the process works */
	uint32_t flags;
	uint32_t port;	       /* enum udp_port_kind */
	uint32_t segmentation; /* enum segmentation_mode */
	uint32_t poll;	       /* enum poll_mode */
	uint32_t log_level;    /* enum log_level */
	uint32_t netdev_index;
	uint32_t speed_mbps;   /* 0: not known */
	uint32_t peer_ports;   /* enum rnic_peer_ports */
	uint64_t memory_bytes; /* for the process, shared or its own, at most */
	struct rnic_device_attributes device;
	struct rnic_ctl_pkeys_reply pkeys;
};

/* `status` is 0, or a negative errno with a sentence in `reason`; the process ends then. */
struct rnic_process_ready {
	int32_t status;
	uint32_t reserved;
	char udp_port[RNIC_CTL_NAME_BYTES]; /* the name of the port in use */
	char reason[RNIC_PROCESS_TEXT_BYTES];
};

/*
 * The slot `index` has this GID from now on, and the descriptors are its receive socket and its
 * RNIC_LANE_SEND_SOCKETS send sockets; or the slot is empty (a zero GID, no descriptors).
 */
struct rnic_process_gid {
	uint32_t index;
	uint32_t reserved;
	struct rnic_gid gid;
};

/* All facts of the port. The GIDs of `gids` came before in messages of their own. */
struct rnic_process_facts {
	uint64_t sequence; /* counts up; the facts page has that of the latest message */
	uint32_t path_mtu_bytes;
	uint8_t hop_limit_ipv4; /* of packets to one host; 0: unknown */
	uint8_t hop_limit_ipv6;
	uint16_t is_cut;       /* 1: rnicctl link down, no packet comes or goes; else 0 */
	uint32_t netdev_index; /* 0: as before */
	struct rnic_ctl_port_reply port;
	struct rnic_ctl_gids_reply gids;
};

/* Descriptors: the device connection, and a PID descriptor of the client's process or none. */
struct rnic_process_client {
	uint32_t client_id;
	uint32_t uid;
	uint32_t pid;
	uint32_t reserved;
	char program[RNIC_CTL_NAME_BYTES];
};

/*
 * A client of CLIENT has ended, for whatever reason. The device process says so once for each
 * client, when it ends the client by itself or because the control plane says so. Until then the
 * control plane gives the number to no other client.
 */
struct rnic_process_client_gone {
	uint32_t client_id;
	uint32_t reserved;
};

/*
 * The peer of the queue pair `qpn` is asked for a sign of life (peer_probe.h). The device process
 * answers at once, with the number of packets that have come from the peer so far: when it grows
 * from one answer to the next, the peer lives. `status` is 0 or a negative errno: that of
 * peer_probe_ask(), -ENOENT there is no such queue pair.
 */
struct rnic_process_probe {
	uint32_t qpn;
	uint32_t number; /* the control plane's own, for the answer */
	int32_t status;	 /* in the answer */
	uint32_t reserved;
	uint64_t received_packets; /* in the answer */
};

/*
 * The device process answers with rows of enum rnic_show_kind: CLIENTS, QPS, MRS, CQS, MWS or SRQS.
 * All rows of one kind count from 0, over all clients; the first row of the answer is number
 * `cursor`, below 2^24.
 */
struct rnic_process_rows {
	uint32_t request_id;
	uint32_t kind;
	uint32_t cursor;
	uint32_t reserved;
};

struct rnic_process_rows_reply {
	uint32_t request_id;
	uint32_t kind;
	uint32_t row_count;
	uint32_t row_bytes;
	uint32_t next; /* `cursor` plus `row_count`; 0: these were the last rows */
	uint32_t reserved;
};

/* A rule of faults: a text that was checked, as fault_rule.h has it. */
struct rnic_process_rule {
	uint32_t id; /* 0: the slot is empty */
	uint32_t reserved;
	uint64_t seed; /* where the text has none */
	char text[RNIC_RULE_TEXT_BYTES];
};

/* All rules that the process is to have, by slot. A rule that stays goes on as it is. */
struct rnic_process_rules {
	struct rnic_process_rule rules[RNIC_RULES_MAX];
};

/*
 * The device process carries out the condition, and answers with 0, or with a negative errno and a
 * sentence. One order is under way for each process. LINK changes nothing: its answer says that all
 * messages before it are carried out.
 */
struct rnic_process_order {
	uint32_t request_id;
	uint32_t condition; /* enum rnic_condition; not LINK_DOWN or LINK_UP: FACTS has these */
	uint32_t client_id; /* the owner of what `number` names; 0: all clients */
	uint32_t number;
};

struct rnic_process_order_reply {
	uint32_t request_id;
	int32_t status;
	char reason[RNIC_CTL_TEXT_BYTES];
};

/* A datagram for another lane, from the BTH on, ICRC included and checked. */
struct rnic_process_packet {
	struct rnic_gid source;
	struct rnic_gid dest;
	uint16_t source_port;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t datagram_bytes;
};

/* JOINED with `status` 0 brings the group's socket as its descriptor. */
struct rnic_process_group {
	struct rnic_gid group;
	int32_t status; /* negative errno; 0 in JOIN and LEAVE */
	uint32_t reserved;
};

struct rnic_process_trouble {
	uint32_t client_id;	   /* 0: of all clients, not of one */
	int32_t undelivered_error; /* why packets do not arrive: negative errno, or 0 */
	uint32_t cause;		   /* enum rnic_cause, one that has a row */
	uint32_t reserved;
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
};

/* ---- shared pages ---- */

/* The control plane writes this page after it has sent FACTS with this sequence. */
struct rnic_facts_page {
	uint32_t magic;
	uint32_t reserved;
	_Atomic uint64_t sequence;
};

#define RNIC_STATS_MAGIC	UINT32_C(0x74617473) /* "stat" in a hex dump */
#define RNIC_STATS_COUNTERS_MAX 160

enum rnic_stats_kind {
	RNIC_STATS_DEVICE = 1, /* of engine, ports and loop */
	RNIC_STATS_FAULT = 2,  /* of faults, beside the hits of rules */
	RNIC_STATS_PORT = 3,   /* of the port as the IBTA defines its counters */
};

/* The device process writes a name once, before it counts the entry in `counter_count`. */
struct rnic_stats_counter {
	_Atomic uint64_t value;
	uint32_t kind; /* enum rnic_stats_kind */
	uint32_t reserved;
	char name[48];
};

/*
 * How often a rule acted. The device process stores `id` 0 before it changes `hits` to those of
 * another rule, and that rule's `id` after it, with release.
 */
struct rnic_stats_rule {
	_Atomic uint32_t id;
	uint32_t reserved;
	_Atomic uint64_t hits;
};

/* The name of the counter of RNIC_STATS_FAULT. */
#define RNIC_STATS_QUEUE_FULL "fault queue full"

static inline void rnic_stats_rule_store(struct rnic_stats_rule *rule, uint32_t id, uint64_t hits)
{
	if (atomic_load_explicit(&rule->id, memory_order_relaxed) != id)
		atomic_store_explicit(&rule->id, 0, memory_order_release);
	atomic_store_explicit(&rule->hits, hits, memory_order_release);
	atomic_store_explicit(&rule->id, id, memory_order_release);
}

/*
 * What the control plane shows of a device process. The device process is the only writer. It
 * stores `facts_sequence` after `gids_used`, with release. The control plane loads the sequence
 * first, with acquire. So it knows the GIDs that were in use when the process had applied these
 * facts, and gives none of them away.
 */
struct rnic_stats_page {
	uint32_t magic;
	uint32_t bytes;
	_Atomic uint64_t facts_sequence; /* of the latest FACTS that the process applied */
	_Atomic uint32_t gids_used;	 /* by index: a bit is 1 while a QP or an AH uses the GID */
	_Atomic uint32_t session_count;
	_Atomic uint32_t pd_count;
	_Atomic uint32_t mr_count;
	_Atomic uint32_t mw_count;
	_Atomic uint32_t cq_count;
	_Atomic uint32_t qp_count;
	_Atomic uint32_t srq_count;
	_Atomic uint32_t counter_count;
	uint32_t reserved;
	struct rnic_stats_counter counters[RNIC_STATS_COUNTERS_MAX];
	struct rnic_stats_rule rules[RNIC_RULES_MAX]; /* by slot */
};

/*
 * The whole file of the statistics page. `qp_owners` has the client_id of the client that made the
 * queue pair, by the QPN's bits below the lane; 0: there is no such queue pair. The device process
 * stores an owner before the client learns the QPN, so the control plane finds each QPN that a
 * client may name. `record` is the flight recorder of the process.
 */
struct rnic_stats_file {
	struct rnic_stats_page page;
	_Atomic uint32_t qp_owners[RNIC_LANE_QPNS];
	struct rnic_record_region record;
};

/*
 * Checks a message of `received` bytes: magic, version, length by operation. Returns 0 or -EPROTO.
 * process_message.c has the sizes.
 */
int rnic_process_check(const void *message, size_t received);

#endif
