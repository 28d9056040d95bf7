/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the verbs, which applications, library, daemon and engine share: states, opcodes,
 * statuses, access rights, attribute masks. Installed as <rnic/verbs_types.h>.
 *
 * Where libibverbs has the same notion, the value is the same (lib/dropin/verbs asserts this), so
 * that a translation checks the range and needs no table.
 */
#ifndef PROTO_BASE_VERBS_TYPES_H
#define PROTO_BASE_VERBS_TYPES_H

#include <stdint.h>

#define RNIC_DEVICE_NAME_BYTES 16  /* with the final zero */
#define RNIC_MCAST_MEMBERS_MAX 256 /* queue pairs of one multicast group */

/* IBTA 1.4, 4.1.1: a 128-bit global identifier. RoCEv2 carries IPv4 as ::ffff:a.b.c.d. */
struct rnic_gid {
	uint8_t bytes[16];
};

enum rnic_qp_type {
	RNIC_QP_TYPE_RC = 2,
	RNIC_QP_TYPE_UC = 3,
	RNIC_QP_TYPE_UD = 4,
	RNIC_QP_TYPE_XRC_INITIATOR = 9,
	RNIC_QP_TYPE_XRC_TARGET = 10,
};

/* IBTA 1.4, 10.3.1. */
enum rnic_qp_state {
	RNIC_QP_STATE_RESET,
	RNIC_QP_STATE_INIT, /* receives can be posted */
	RNIC_QP_STATE_RTR,  /* and arrive */
	RNIC_QP_STATE_RTS,  /* and sends can be posted */
	RNIC_QP_STATE_SQD,  /* sends wait */
	RNIC_QP_STATE_SQE,  /* of UC and UD: a send has failed */
	RNIC_QP_STATE_ERR,  /* all that is posted completes with WR_FLUSH_ERR; RESET leads out */
	RNIC_QP_STATE_COUNT,
};

/* Which members of struct rnic_qp_attributes a modify gives. */
enum rnic_qp_attribute {
	RNIC_QP_ATTR_STATE = 1 << 0,
	RNIC_QP_ATTR_CURRENT_STATE = 1 << 1,
	RNIC_QP_ATTR_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	RNIC_QP_ATTR_ACCESS_FLAGS = 1 << 3,
	RNIC_QP_ATTR_PKEY_INDEX = 1 << 4,
	RNIC_QP_ATTR_PORT = 1 << 5,
	RNIC_QP_ATTR_QKEY = 1 << 6,
	RNIC_QP_ATTR_AV = 1 << 7,
	RNIC_QP_ATTR_PATH_MTU = 1 << 8,
	RNIC_QP_ATTR_TIMEOUT = 1 << 9,
	RNIC_QP_ATTR_RETRY_COUNT = 1 << 10,
	RNIC_QP_ATTR_RNR_RETRY = 1 << 11,
	RNIC_QP_ATTR_RQ_PSN = 1 << 12,
	RNIC_QP_ATTR_MAX_RD_ATOMIC = 1 << 13,
	RNIC_QP_ATTR_ALTERNATE_PATH = 1 << 14,
	RNIC_QP_ATTR_MIN_RNR_TIMER = 1 << 15,
	RNIC_QP_ATTR_SQ_PSN = 1 << 16,
	RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC = 1 << 17,
	RNIC_QP_ATTR_PATH_MIGRATION_STATE = 1 << 18,
	RNIC_QP_ATTR_CAPACITIES = 1 << 19,
	RNIC_QP_ATTR_DEST_QPN = 1 << 20,
	RNIC_QP_ATTR_RATE_LIMIT = 1 << 25,
};

/* Where packets go (the address vector, IBTA 1.4, 11.2.2.1). */
struct rnic_path {
	struct rnic_gid dest_gid;
	uint32_t flow_label; /* 20 bits; chooses nothing on our wire, kept for queries */
	uint8_t source_gid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t service_level;
	uint8_t port;
	uint8_t is_global; /* 1: dest_gid is given, which RoCE demands */
	uint8_t reserved[2];
	uint16_t dest_lid; /* no meaning on RoCE, kept for queries */
	uint8_t source_path_bits;
	uint8_t static_rate;
};

/*
 * The attributes of a queue pair. Encodings are those of the wire: `timeout` is a code n of 5 bits
 * for 4.096 us * 2^n, 0 for no end (IBTA 1.4, 9.7.6.1.3); `min_rnr_timer` is one of 0.01 ms (code
 * 1) to 491.52 ms (31), or 655.36 ms (0; table 45 there); `path_mtu` is 1..5 for 256..4096 bytes.
 */
struct rnic_qp_attributes {
	uint32_t state;		/* enum rnic_qp_state */
	uint32_t current_state; /* likewise */
	uint32_t qkey;		/* of UD: datagrams must have it */
	uint32_t rq_psn;	/* 24 bits: the peer's sq_psn */
	uint32_t sq_psn;
	uint32_t dest_qpn;
	uint32_t access_flags; /* enum rnic_access: what the peer may do at all */
	uint16_t pkey_index;
	uint8_t path_mtu;	    /* the same on both ends */
	uint8_t max_rd_atomic;	    /* READs and atomics under way at once; the peer's next one */
	uint8_t max_dest_rd_atomic; /* those of the peer */
	uint8_t min_rnr_timer;	    /* how long the peer waits when no receive is posted */
	uint8_t port;		    /* 1 */
	uint8_t timeout;
	uint8_t retry_count; /* 0..7 */
	uint8_t rnr_retry;   /* 0..6, or 7 for no end */
	uint8_t en_sqd_async_notify;
	uint8_t path_migration_state;
	uint8_t sq_draining;
	uint8_t alternate_port;
	uint8_t alternate_timeout;
	uint8_t reserved;
	uint16_t alternate_pkey_index;
	uint16_t reserved_too;
	uint32_t rate_limit_kbps;
	struct rnic_path path;
	struct rnic_path alternate_path;
};

/* Depths and sizes of a queue pair's queues; as wanted in a request, as granted in a reply. */
struct rnic_qp_capacities {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
};

/* A shared receive queue: its size as granted, and the limit below which an event is raised. */
struct rnic_srq_attributes {
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit; /* 0: not armed */
};

/* Which members of struct rnic_srq_attributes a modify gives. */
enum rnic_srq_attribute {
	RNIC_SRQ_ATTR_MAX_WR = 1 << 0,
	RNIC_SRQ_ATTR_LIMIT = 1 << 1,
};

/* A piece of registered memory; `address` counts in the region's own address space (its iova). */
struct rnic_sge {
	uint64_t address;
	uint32_t length;
	uint32_t lkey;
};

/* The longest message, 2 GiB (IBTA 1.4, 9.4.3 and 9.7.4.1). */
#define RNIC_MESSAGE_BYTES_MAX (UINT32_C(1) << 31)

/* Local reads need no right. */
enum rnic_access {
	RNIC_ACCESS_LOCAL_WRITE = 1 << 0,
	RNIC_ACCESS_REMOTE_WRITE = 1 << 1,
	RNIC_ACCESS_REMOTE_READ = 1 << 2,
	RNIC_ACCESS_REMOTE_ATOMIC = 1 << 3,
	RNIC_ACCESS_MW_BIND = 1 << 4,	 /* windows can be bound to it */
	RNIC_ACCESS_ZERO_BASED = 1 << 5, /* of windows: addresses count from 0 */
	RNIC_ACCESS_ON_DEMAND = 1 << 6,	 /* the device looks for a page when it needs the page */
	RNIC_ACCESS_HUGETLB = 1 << 7,	 /* a promise of the application, without effect */
	RNIC_ACCESS_FLUSH_GLOBAL = 1 << 8,
	RNIC_ACCESS_FLUSH_PERSISTENT = 1 << 9, /* this device does not have it */
	RNIC_ACCESS_RELAXED_ORDERING = 1 << 20,
	/* Hints a device may ignore: bits 20 to 29. */
	RNIC_ACCESS_OPTIONAL_RANGE = 0x3ff00000,
};

/* Memory windows, IBTA 1.4, 10.6.7. Type 2 is the type 2B of that clause. */
enum rnic_mw_type {
	RNIC_MW_TYPE_1 = 1,
	RNIC_MW_TYPE_2 = 2,
};

/* The effect of a FLUSH, and its range: the FETH of IBTA 1.6, annex A19. */
enum rnic_flush_type {
	RNIC_FLUSH_GLOBAL = 1 << 0,	  /* visible to all processors and devices */
	RNIC_FLUSH_PERSISTENT = 1 << 1,	  /* safe from loss of power */
	RNIC_FLUSH_WHOLE_REGION = 1 << 4, /* not only the given range */
};

enum rnic_wr_opcode {
	RNIC_WR_RDMA_WRITE,
	RNIC_WR_RDMA_WRITE_WITH_IMM,
	RNIC_WR_SEND,
	RNIC_WR_SEND_WITH_IMM,
	RNIC_WR_RDMA_READ,
	RNIC_WR_ATOMIC_COMPARE_SWAP,
	RNIC_WR_ATOMIC_FETCH_ADD,
	RNIC_WR_LOCAL_INVALIDATE,
	RNIC_WR_BIND_MW,
	RNIC_WR_SEND_WITH_INVALIDATE,
	RNIC_WR_FLUSH = 14,
	RNIC_WR_ATOMIC_WRITE = 15,
	RNIC_WR_OPCODE_COUNT,
};

enum rnic_send_flag {
	RNIC_SEND_FENCE = 1 << 0,     /* begins when all READs and atomics before it are done */
	RNIC_SEND_SIGNALED = 1 << 1,  /* raises a completion when it succeeds, too */
	RNIC_SEND_SOLICITED = 1 << 2, /* wakes a peer that waits for solicited messages only */
	RNIC_SEND_INLINE = 1 << 3,    /* the data is copied when it is posted */
};

/*
 * How a request ended. A failed request brings its queue pair into ERR, or, a send of UC and UD,
 * into SQE, and so ends a connection. This device does not use a status without a comment.
 */
enum rnic_wc_status {
	RNIC_WC_SUCCESS,
	RNIC_WC_LOC_LEN_ERR,   /* longer than a message may be; of a receive: than its elements */
	RNIC_WC_LOC_QP_OP_ERR, /* a request that the queue pair cannot do, or malformed */
	RNIC_WC_LOC_EEC_OP_ERR,
	RNIC_WC_LOC_PROT_ERR, /* lkey, range, domain or right of an element; or memory is gone */
	RNIC_WC_WR_FLUSH_ERR, /* not begun, or not finished, when the queue pair came into ERR */
	RNIC_WC_MW_BIND_ERR,  /* a window cannot be bound, or a key not be invalidated, like this */
	RNIC_WC_BAD_RESP_ERR, /* the peer's answer makes no sense */
	RNIC_WC_LOC_ACCESS_ERR,
	RNIC_WC_REM_INV_REQ_ERR,   /* the peer: access_flags, a receive too short, path_mtu */
	RNIC_WC_REM_ACCESS_ERR,	   /* the peer: rkey, range or right of its region */
	RNIC_WC_REM_OP_ERR,	   /* the peer: a bad receive, or memory that is gone */
	RNIC_WC_RETRY_EXC_ERR,	   /* no answer within timeout and retry_count: the peer is gone */
	RNIC_WC_RNR_RETRY_EXC_ERR, /* the peer posted no receive within rnr_retry */
	RNIC_WC_LOC_RDD_VIOL_ERR,
	RNIC_WC_REM_INV_RD_REQ_ERR,
	RNIC_WC_REM_ABORT_ERR,
	RNIC_WC_INV_EECN_ERR,
	RNIC_WC_INV_EEC_STATE_ERR,
	RNIC_WC_FATAL_ERR,
	RNIC_WC_RESP_TIMEOUT_ERR,
	RNIC_WC_GENERAL_ERR,
	RNIC_WC_STATUS_COUNT,
};

enum rnic_wc_opcode {
	RNIC_WC_SEND,
	RNIC_WC_RDMA_WRITE,
	RNIC_WC_RDMA_READ,
	RNIC_WC_COMPARE_SWAP,
	RNIC_WC_FETCH_ADD,
	RNIC_WC_BIND_MW,
	RNIC_WC_LOCAL_INVALIDATE,
	RNIC_WC_FLUSH = 8,
	RNIC_WC_ATOMIC_WRITE = 9,
	RNIC_WC_RECV = 1 << 7,
	RNIC_WC_RECV_RDMA_WITH_IMM,
};

enum rnic_wc_flag {
	RNIC_WC_GRH = 1 << 0,
	RNIC_WC_WITH_IMM = 1 << 1,
	RNIC_WC_WITH_INVALIDATE = 1 << 3,
};

enum rnic_cq_flag {
	RNIC_CQ_TIMESTAMPS = 1 << 0, /* the queue notes when each work request completed */
};

/*
 * RoCE has no service level, but the completion of a datagram must tell of which kind its packet
 * was (IBTA A17.4.5.1). ConnectX does so in the service level, and UCX looks there.
 */
enum rnic_wc_service_level {
	RNIC_WC_SL_IPV6 = 9,
	RNIC_WC_SL_IPV4 = 10,
};

/* This device does not raise an event without a comment. */
enum rnic_async_event_type {
	RNIC_EVENT_CQ_ERR,   /* a completion found the queue full and is lost; destroy the queue */
	RNIC_EVENT_QP_FATAL, /* in ERR, for a reason that no completion tells */
	RNIC_EVENT_QP_REQ_ERR,	  /* in ERR: the peer's request was invalid */
	RNIC_EVENT_QP_ACCESS_ERR, /* in ERR: the peer had no right to what it asked for */
	RNIC_EVENT_COMM_EST,	  /* in RTR: the peer's first message came */
	RNIC_EVENT_SQ_DRAINED,	  /* in SQD: all sends that had begun are done */
	RNIC_EVENT_PATH_MIG,
	RNIC_EVENT_PATH_MIG_ERR,
	RNIC_EVENT_DEVICE_FATAL, /* the daemon is gone: see rnic_get_async_event() */
	RNIC_EVENT_PORT_ACTIVE,	 /* the interface is up */
	RNIC_EVENT_PORT_ERR,	 /* or down */
	RNIC_EVENT_LID_CHANGE,
	RNIC_EVENT_PKEY_CHANGE,
	RNIC_EVENT_SM_CHANGE,
	RNIC_EVENT_SRQ_ERR,		/* receives of it can no longer be taken */
	RNIC_EVENT_SRQ_LIMIT_REACHED,	/* fewer are posted than the limit, which is now off */
	RNIC_EVENT_QP_LAST_WQE_REACHED, /* in ERR: it takes no more of its shared receive queue */
	RNIC_EVENT_CLIENT_REREGISTER,
	RNIC_EVENT_GID_CHANGE, /* an address came or went */
	RNIC_EVENT_COUNT,
};

/*
 * Identity and limits of a device. The limits are those of one client; other clients may use up
 * what the client needs to reach them.
 */
struct rnic_device_attributes {
	char name[RNIC_DEVICE_NAME_BYTES];
	char netdev[RNIC_DEVICE_NAME_BYTES]; /* the interface that it is on */
	char firmware[RNIC_DEVICE_NAME_BYTES];
	uint64_t node_guid; /* host order */
	uint64_t max_mr_bytes;
	uint64_t page_sizes; /* a mask */
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint32_t hardware_version;
	uint32_t netdev_index;
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_inline_bytes;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint32_t max_pd;
	uint32_t max_ah;
	uint32_t max_srq;
	uint32_t max_srq_wr;
	uint32_t max_srq_sge;
	uint32_t max_mw;
	uint32_t max_mcast_groups;
	uint32_t max_qp_rd_atomic;
	uint32_t max_message_bytes;
	uint32_t gid_count; /* slots, most of them empty */
	uint32_t pkey_count;
	uint32_t completion_vectors;
	uint32_t local_ack_delay; /* a code, as `timeout` above */
	uint64_t features;	  /* reserved for announcing optional operations */
};

enum rnic_port_state { RNIC_PORT_DOWN = 1, RNIC_PORT_ACTIVE = 4 };

#endif
