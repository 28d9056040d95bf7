/* SPDX-License-Identifier: MIT */
/*
 * The control protocol between the library (or rnicctl) and the daemon, over SOCK_SEQPACKET unix
 * sockets: one message a request, one message a reply, in order.
 *
 * A program has two connections. The control connection leads to the daemon's socket: HELLO first,
 * then SHOW, CONDITION, VERB_RULES and CM_*. Its requests bring no descriptors. The reply to HELLO
 * brings the client's end of the device connection: OPEN_DEVICE first, then all other operations.
 * There descriptors travel with their message (SCM_RIGHTS). An operation on the wrong connection
 * ends that connection.
 *
 * A message is a struct rnic_ctl_header and the payload of its operation. A reply repeats operation
 * and request_id and carries a status: 0, or a negative errno with a struct rnic_ctl_refusal as
 * payload. Numbers are in host order: both ends are one host.
 */
#ifndef PROTO_CTL_CTL_MESSAGE_H
#define PROTO_CTL_CTL_MESSAGE_H

#include "proto/base/maxima.h"
#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_CTL_MAGIC		   UINT32_C(0x6c746372) /* "rctl" in a hex dump */
#define RNIC_CTL_VERSION_MIN	   4
#define RNIC_CTL_VERSION_MAX	   4
#define RNIC_CTL_MESSAGE_BYTES	   8192 /* no message is longer */
#define RNIC_CTL_FDS_MAX	   4
#define RNIC_CTL_TEXT_BYTES	   160
#define RNIC_TROUBLE_SUBJECT_BYTES 96
#define RNIC_CTL_NAME_BYTES	   RNIC_DEVICE_NAME_BYTES
#define RNIC_CTL_LANES_BYTES	   64
#define RNIC_CTL_PORTS_TEXT_BYTES  96
#define RNIC_CTL_RULES_TEXT_BYTES  1024
#define RNIC_RULE_TEXT_BYTES	   112 /* of one rule of faults */
#define RNIC_CTL_PKEYS_TEXT_BYTES  (7 * RNIC_PKEYS_MAX)

enum rnic_ctl_operation {
	RNIC_CTL_HELLO = 1,
	RNIC_CTL_QUERY_PORT,
	RNIC_CTL_QUERY_GIDS,
	RNIC_CTL_ALLOC_PD,
	RNIC_CTL_DEALLOC_PD,
	RNIC_CTL_REGISTER_MR,
	RNIC_CTL_DEREGISTER_MR,
	RNIC_CTL_CREATE_CHANNEL,
	RNIC_CTL_DESTROY_CHANNEL,
	RNIC_CTL_CREATE_CQ,
	RNIC_CTL_RESIZE_CQ,
	RNIC_CTL_DESTROY_CQ,
	RNIC_CTL_CREATE_QP,
	RNIC_CTL_MODIFY_QP,
	RNIC_CTL_QUERY_QP,
	RNIC_CTL_DESTROY_QP,
	RNIC_CTL_CREATE_AH,
	RNIC_CTL_DESTROY_AH,
	RNIC_CTL_SHOW,
	RNIC_CTL_ATTACH_MCAST,
	RNIC_CTL_DETACH_MCAST,
	RNIC_CTL_REREGISTER_MR,
	RNIC_CTL_QUERY_PKEYS,
	RNIC_CTL_ALLOC_MW,
	RNIC_CTL_DEALLOC_MW,
	RNIC_CTL_CREATE_SRQ,
	RNIC_CTL_MODIFY_SRQ,
	RNIC_CTL_QUERY_SRQ,
	RNIC_CTL_DESTROY_SRQ,
	RNIC_CTL_OPEN_XRCD,
	RNIC_CTL_CLOSE_XRCD,
	RNIC_CTL_OPEN_QP,
	RNIC_CTL_CM_CREATE_CHANNEL, /* from here on: ctl_cm.h */
	RNIC_CTL_CM_DESTROY_CHANNEL,
	RNIC_CTL_CM_SEND_EVENTS,
	RNIC_CTL_CM_CREATE_ID,
	RNIC_CTL_CM_DESTROY_ID,
	RNIC_CTL_CM_MIGRATE,
	RNIC_CTL_CM_SET_OPTION,
	RNIC_CTL_CM_QUERY,
	RNIC_CTL_CM_BIND,
	RNIC_CTL_CM_RESOLVE_ADDRESS,
	RNIC_CTL_CM_RESOLVE_ROUTE,
	RNIC_CTL_CM_LISTEN,
	RNIC_CTL_CM_CONNECT,
	RNIC_CTL_CM_ACCEPT,
	RNIC_CTL_CM_REJECT,
	RNIC_CTL_CM_ESTABLISH,
	RNIC_CTL_CM_DISCONNECT,
	RNIC_CTL_CM_NOTIFY,
	RNIC_CTL_CM_QP_ATTRIBUTES,
	RNIC_CTL_CM_JOIN_MCAST,
	RNIC_CTL_CM_LEAVE_MCAST,
	RNIC_CTL_RESIZE_SRQ,
	RNIC_CTL_SHARE,
	RNIC_CTL_IMPORT,
	RNIC_CTL_IMPORT_PD,
	RNIC_CTL_IMPORT_MR,
	RNIC_CTL_OPEN_DEVICE,
	RNIC_CTL_CREATE_QUEUE_REGION,
	RNIC_CTL_DESTROY_QUEUE_REGION,
	RNIC_CTL_WATCH_MEMORY,
	RNIC_CTL_CONDITION,
	RNIC_CTL_VERB_RULES,
	RNIC_CTL_OPERATION_COUNT,
};

struct rnic_ctl_header {
	uint32_t magic;
	uint16_t version; /* 0 in a HELLO request */
	uint16_t operation;
	uint32_t request_id;
	uint32_t bytes; /* of the whole message */
	int32_t status; /* in a reply; 0 in a request */
	uint32_t reserved;
};

/* The payload of a refusal: the reason, a sentence for people with a final zero. */
struct rnic_ctl_refusal {
	char reason[RNIC_CTL_TEXT_BYTES];
};

/*
 * A name for an object of a session: a slot of the object's table, and how often the slot was used
 * before, so that the daemon refuses a stale handle. Slot and generation are never both 0.
 */
struct rnic_handle {
	uint32_t slot;
	uint32_t generation;
};

static inline bool rnic_handle_is_none(struct rnic_handle handle)
{
	return handle.slot == 0 && handle.generation == 0;
}

/* Requests that name one object and nothing else; their replies have no payload. */
struct rnic_ctl_object {
	struct rnic_handle handle;
};

/* ---- HELLO ---- */

enum rnic_ctl_hello_flag {
	RNIC_HELLO_ADMIN = 1 << 0, /* SHOW and CONDITION will follow; no device connection */
	/*
	 * The program is its own device process: the reply brings its end of the process link
	 * (process_message.h), where START waits.
	 */
	RNIC_HELLO_DIRECT = 1 << 1,
};

struct rnic_ctl_hello {
	uint16_t version_min;
	uint16_t version_max;
	uint32_t flags;
	uint64_t features; /* enum rnic_ctl_feature that the library asks for: none yet */
	char program[RNIC_CTL_NAME_BYTES];
};

/* What a daemon of this version may lack. */
enum rnic_ctl_feature {
	RNIC_FEATURE_VERB_RULES = 1 << 0, /* it answers VERB_RULES */
};

enum rnic_ctl_hello_reply_flag {
	/* To ADMIN: the daemon refuses all programs of this user. */
	RNIC_HELLO_REFUSES_PROGRAMS = 1 << 0,
};

/*
 * The reply's descriptor 0 (not for ADMIN) is the client's end of the device connection, or with
 * DIRECT of the process link.
 */
struct rnic_ctl_hello_reply {
	uint16_t version;
	uint16_t flags; /* enum rnic_ctl_hello_reply_flag */
	uint32_t client_id;
	uint64_t features; /* enum rnic_ctl_feature */
	struct rnic_device_attributes device;
};

/*
 * VERB_RULES asks for the rules for calls and completions (proto/base/verb_rules.h). Descriptors of
 * the reply: the rules page, to be read, and the hits page. The names are those by which rules know
 * the program.
 */
struct rnic_ctl_verb_rules_reply {
	uint32_t pid; /* as the daemon sees the program */
	uint32_t reserved;
	char program[RNIC_CTL_NAME_BYTES];
};

/* ---- OPEN_DEVICE: the first request of a device connection ---- */

enum rnic_ctl_open_device_flag {
	RNIC_OPEN_MEMORY_FD = 1 << 0, /* descriptor 0 is the client's /proc/self/mem */
};

struct rnic_ctl_open_device {
	uint32_t flags;
	uint32_t reserved;
};

/* Descriptors of the reply: session region, status region, doorbell eventfd, read end of the pipe
 * of asynchronous events. */
struct rnic_ctl_open_device_reply {
	uint32_t client_id;
	uint32_t reserved;
};

/* ---- ports and GIDs ---- */

struct rnic_ctl_port_reply {
	uint32_t state;	       /* enum rnic_port_state */
	uint8_t max_mtu;       /* 1..5 */
	uint8_t active_mtu;    /* 1..5 */
	uint8_t own_gid_index; /* for connections within the host; stays while its GID does */
	uint8_t reserved;
	uint32_t max_message_bytes;
	uint32_t gid_count;
	uint32_t speed_mbps; /* of the netdev; 0 unknown */
};

struct rnic_gid_entry {
	struct rnic_gid gid; /* zero: the slot is empty */
	uint32_t netdev_index;
	uint32_t reserved;
};

struct rnic_ctl_gids_reply {
	uint32_t count;
	uint32_t reserved;
	struct rnic_gid_entry entries[RNIC_GIDS_MAX];
};

/* By P_Key index; 0: the slot is empty. */
struct rnic_ctl_pkeys_reply {
	uint16_t pkeys[RNIC_PKEYS_MAX];
};

/* ---- protection domains, memory ---- */

struct rnic_ctl_pd_reply {
	struct rnic_handle pd;
};

enum rnic_memory_mode {
	RNIC_MEMORY_MAPPED = 1,	    /* descriptor 0 is a memfd sealed against shrinking */
	RNIC_MEMORY_REMOTE = 2,	    /* any memory of the client */
	RNIC_MEMORY_PROC_MEM = 3,   /* in rows: remote, by /proc/self/mem */
	RNIC_MEMORY_PROCESS_VM = 4, /* in rows: remote, by process_vm_readv and process_vm_writev */
	RNIC_MEMORY_NULL = 5,	    /* no memory: reads give zeros, writes do nothing */
};

/* Whether the device learns that the program unmaps or moves memory of a region. */
enum rnic_watch {
	RNIC_WATCH_NEEDLESS = 0, /* what the program maps does not matter to the region */
	RNIC_WATCH_ON,
	RNIC_WATCH_OFF,	    /* the user or program wants none */
	RNIC_WATCH_REFUSED, /* by the kernel, or a filter of system calls */
	RNIC_WATCH_HELD,    /* another userfaultfd has part of the range */
	RNIC_WATCH_KIND,    /* the kernel does not watch such a mapping: a file, say */
	RNIC_WATCH_FULL,    /* too many mappings */
	RNIC_WATCH_USER,    /* the program is of another user than the device process */
};

/*
 * WATCH_MEMORY comes before the first region of mode REMOTE. Of a program of its own device
 * process, RNIC_WATCH_ON brings no descriptor.
 */
struct rnic_ctl_watch_memory {
	uint32_t watch;		 /* enum rnic_watch: ON, OFF or REFUSED */
	uint32_t has_descriptor; /* 1: descriptor 0 is a userfaultfd that nobody has used; else 0 */
};

struct rnic_ctl_register_mr {
	struct rnic_handle pd;
	uint32_t access; /* enum rnic_access */
	uint32_t mode;	 /* RNIC_MEMORY_MAPPED, RNIC_MEMORY_REMOTE or RNIC_MEMORY_NULL */
	uint64_t address;
	uint64_t length;
	uint64_t iova;
	uint64_t memfd_offset; /* MAPPED: where `address` lies in the memfd */
};

/* The region becomes what REGISTER_MR would make, but keeps its handle and keys. */
struct rnic_ctl_reregister_mr {
	struct rnic_ctl_register_mr wanted;
	struct rnic_handle mr;
};

struct rnic_ctl_register_mr_reply {
	struct rnic_handle mr;
	uint32_t lkey;
	uint32_t rkey;
};

struct rnic_ctl_alloc_mw {
	struct rnic_handle pd;
	uint32_t type; /* enum rnic_mw_type */
	uint32_t reserved;
};

struct rnic_ctl_alloc_mw_reply {
	struct rnic_handle mw;
	uint32_t rkey; /* names the window in a bind, which replaces its low 8 bits */
	uint32_t reserved;
};

/* ---- imports ---- */

/*
 * A handle in 32 bits, for programs that hand a number to another process: the slot and the lower
 * bits of the generation.
 */
#define RNIC_NAME_SLOT_BITS 20

static inline uint32_t rnic_handle_name(struct rnic_handle handle)
{
	return handle.slot | handle.generation << RNIC_NAME_SLOT_BITS;
}

static inline uint32_t rnic_name_slot(uint32_t name)
{
	return name & ((UINT32_C(1) << RNIC_NAME_SLOT_BITS) - 1);
}

/*
 * SHARE and IMPORT have no payload. Their descriptor 0 is a file, which the client gives to the
 * processes that may import its objects.
 */

struct rnic_ctl_import_pd {
	uint32_t name; /* of a PD of the client that shared the file */
	uint32_t reserved;
};

struct rnic_ctl_import_mr {
	struct rnic_handle pd; /* an imported PD; the region belongs to it */
	uint32_t name;
	uint32_t reserved;
};

/* There is no handle: the region stays the exporter's. */
struct rnic_ctl_import_mr_reply {
	uint64_t length;
	uint32_t lkey;
	uint32_t rkey;
};

/* ---- completion ---- */

/* The reply's descriptor 0 is the read end of the channel's pipe. */
struct rnic_ctl_channel_reply {
	struct rnic_handle channel;
};

struct rnic_ctl_create_cq {
	uint32_t entries;
	uint32_t completion_vector;
	struct rnic_handle channel; /* none: no completion events */
	uint32_t flags;		    /* enum rnic_cq_flag */
	uint32_t reserved;
};

/* The reply's descriptor 0 is the CQ's region; also that of RESIZE_CQ. */
struct rnic_ctl_cq_reply {
	struct rnic_handle cq;
	uint32_t entries; /* granted: at least as many as the client asked for */
	uint32_t slots;
};

struct rnic_ctl_resize_cq {
	struct rnic_handle cq;
	uint32_t entries;
	uint32_t reserved;
};

/* ---- queue pairs ---- */

/* Asks for memory for the queues of queue pairs. The reply's descriptor 0 is the region. */
struct rnic_ctl_create_queue_region {
	uint64_t bytes; /* a multiple of RNIC_QUEUE_PAGE_BYTES, not 0 */
};

struct rnic_ctl_queue_region_reply {
	struct rnic_handle queue_region;
};

/*
 * The queues are laid out by rnic_queues_plan() of what rnic_queues_grant() grants. The device does
 * not check whether queues of one client overlap: that harms the client alone.
 */
struct rnic_ctl_create_qp {
	struct rnic_handle pd;
	struct rnic_handle send_cq;
	struct rnic_handle recv_cq;
	struct rnic_handle srq;
	uint32_t type; /* enum rnic_qp_type */
	uint32_t signal_all;
	struct rnic_qp_capacities capacities;
	uint32_t reserved;
	struct rnic_handle xrcd; /* of an XRC target, which has neither PD nor CQs; else none */
	struct rnic_handle queue_region; /* none: the QP has no queues */
	uint64_t entries_offset;	 /* of the queues' entries in the region */
	uint64_t spill_offset;		 /* of their spill areas */
};

struct rnic_ctl_create_qp_reply {
	struct rnic_handle qp;
	uint32_t qpn;
};

/*
 * With an `rts_mask` the request makes two steps: by the members in `mask` to RTR, and by those in
 * `rts_mask` to RTS, whatever `state` says. The first step stands when the second one is refused.
 */
struct rnic_ctl_modify_qp {
	struct rnic_handle qp;
	uint32_t mask;	   /* enum rnic_qp_attribute */
	uint32_t rts_mask; /* likewise; 0: one step, to `state` if that is in `mask` */
	struct rnic_qp_attributes attributes;
};

struct rnic_ctl_query_qp_reply {
	struct rnic_qp_attributes attributes;
	struct rnic_qp_capacities capacities;
	uint32_t signal_all;
};

/* ---- shared receive queues ---- */

struct rnic_ctl_create_srq {
	struct rnic_handle pd;
	struct rnic_handle xrcd; /* none: the SRQ is not of XRC */
	struct rnic_handle cq;	 /* with xrcd: the SRQ's receives complete there; else none */
	struct rnic_srq_attributes wanted;
	uint32_t reserved;
};

/* The reply's descriptor 0 is the SRQ's region, laid out by rnic_srq_plan(granted). */
struct rnic_ctl_create_srq_reply {
	struct rnic_handle srq;
	uint32_t number;
	struct rnic_srq_attributes granted;
};

/* The request of MODIFY_SRQ and, with MAX_WR in `mask`, of RESIZE_SRQ. */
struct rnic_ctl_modify_srq {
	struct rnic_handle srq;
	uint32_t mask; /* enum rnic_srq_attribute */
	struct rnic_srq_attributes attributes;
};

/*
 * Descriptor 0 is the SRQ's new region, laid out by rnic_srq_plan(granted). The daemon has moved
 * the waiting entries to the new region, and the indices go on. The client posts nothing between
 * request and reply, and does not use the old region any more.
 */
struct rnic_ctl_resize_srq_reply {
	struct rnic_srq_attributes granted;
};

struct rnic_ctl_query_srq_reply {
	struct rnic_srq_attributes attributes;
};

/* ---- XRC ---- */

enum rnic_ctl_xrcd_flag {
	RNIC_XRCD_FILE = 1 << 0,      /* descriptor 0 is the file that names the domain */
	RNIC_XRCD_CREATE = 1 << 1,    /* make the domain when there is none */
	RNIC_XRCD_EXCLUSIVE = 1 << 2, /* refuse when there is one */
	RNIC_XRCD_ALL_FLAGS = RNIC_XRCD_FILE | RNIC_XRCD_CREATE | RNIC_XRCD_EXCLUSIVE,
};

struct rnic_ctl_open_xrcd {
	uint32_t flags;
	uint32_t reserved;
};

struct rnic_ctl_xrcd_reply {
	struct rnic_handle xrcd;
};

/* One more handle for a target QP of the domain. Any session may have made the QP. */
struct rnic_ctl_open_qp {
	struct rnic_handle xrcd;
	uint32_t qpn;
	uint32_t reserved;
};

struct rnic_ctl_open_qp_reply {
	struct rnic_handle qp;
	uint32_t state; /* enum rnic_qp_state */
	uint32_t reserved;
};

/* ---- address handles and multicast ---- */

struct rnic_ctl_create_ah {
	struct rnic_handle pd;
	struct rnic_path path;
};

struct rnic_ctl_ah_reply {
	struct rnic_handle ah;
};

/* ATTACH_MCAST and DETACH_MCAST. */
struct rnic_ctl_mcast {
	struct rnic_handle qp;
	struct rnic_gid group;
};

/* ---- CONDITION: what rnicctl makes happen ---- */

enum rnic_condition {
	RNIC_CONDITION_LINK = 1,  /* reports the state of the link, and changes nothing */
	RNIC_CONDITION_LINK_DOWN, /* of the device: no packet comes or goes */
	RNIC_CONDITION_LINK_UP,
	RNIC_CONDITION_PORT_ERR, /* of the device: the event alone */
	RNIC_CONDITION_PORT_ACTIVE,
	RNIC_CONDITION_GID_CHANGE,
	RNIC_CONDITION_DEVICE_FATAL,
	RNIC_CONDITION_QP_FATAL,     /* queue pair `number` goes to ERR, with the event */
	RNIC_CONDITION_QP_ERROR,     /* the same without an event */
	RNIC_CONDITION_CQ_ERR,	     /* of `client_id`, in slot `number`: no more completions */
	RNIC_CONDITION_SRQ_ERR,	     /* of `client_id`, with `number`: the event alone */
	RNIC_CONDITION_FAULT_ADD,    /* loads the rules of `text`, line `number` of a file */
	RNIC_CONDITION_FAULT_DELETE, /* unloads rule `number` */
	RNIC_CONDITION_FAULT_CLEAR,  /* unloads all rules that the asker may unload */
	RNIC_CONDITION_LINK_FLAP,    /* by turns down and up, for the times of `text`: "1s/500ms" */
	RNIC_CONDITION_GID_RENUMBER, /* GIDs that nobody uses get other indexes */
	RNIC_CONDITION_COUNT,
};

struct rnic_ctl_condition {
	uint32_t condition; /* enum rnic_condition */
	uint32_t client_id; /* of CQ_ERR and SRQ_ERR; else 0 */
	uint32_t number;
	uint32_t reserved;
	char text[RNIC_CTL_RULES_TEXT_BYTES]; /* of FAULT_ADD (fault_rule.h) and LINK_FLAP */
};

/* What happened, as a sentence; "": what was asked for, and there is nothing to add. */
struct rnic_ctl_condition_reply {
	char text[RNIC_CTL_TEXT_BYTES];
};

/* ---- SHOW: what rnicctl prints ---- */

enum rnic_show_kind {
	RNIC_SHOW_DEVICE = 1,
	RNIC_SHOW_CLIENTS,
	RNIC_SHOW_QPS,
	RNIC_SHOW_MRS,
	RNIC_SHOW_CQS,
	RNIC_SHOW_COUNTERS,
	RNIC_SHOW_MWS,
	RNIC_SHOW_SRQS,
	RNIC_SHOW_CM, /* rows of ctl_cm.h */
	RNIC_SHOW_TROUBLES,
	RNIC_SHOW_PDS,
	RNIC_SHOW_PATHS,
	RNIC_SHOW_FAULTS,
	RNIC_SHOW_RECORD,
};

struct rnic_ctl_show {
	uint32_t kind;
	uint32_t cursor; /* 0 first, then `next` of the reply before */
};

/* Rows of the kind asked for follow this; `next` 0 means that these were the last. */
struct rnic_ctl_show_reply {
	uint32_t kind;
	uint32_t row_count;
	uint32_t row_bytes;
	uint32_t next;
};

struct rnic_show_device {
	struct rnic_device_attributes device;
	struct rnic_ctl_port_reply port;
	char udp_port[RNIC_CTL_NAME_BYTES]; /* "uring" or "socket" */
	char poll[RNIC_CTL_NAME_BYTES];
	char segmentation[RNIC_CTL_NAME_BYTES];
	uint32_t pid;
	uint32_t client_count;
	uint32_t qp_count;
	uint32_t mr_count;
	uint32_t cq_count;
	uint32_t pd_count;
	uint32_t mw_count;
	struct rnic_ctl_gids_reply gids;
	uint32_t srq_count;
	uint32_t lane_count;		       /* device processes that can be at a time */
	char ecn[RNIC_CTL_NAME_BYTES];	       /* "off" or "on" */
	char pkeys[RNIC_CTL_PKEYS_TEXT_BYTES]; /* as rnicd takes them: "0xffff,0x8001" */
	char lanes[RNIC_CTL_LANES_BYTES];      /* the number, or "one" and why */
	/* How many UDP ports that packets come from are kept from other users, and which are not */
	char source_ports[RNIC_CTL_PORTS_TEXT_BYTES];
	uint32_t unused_addresses; /* of the interface, where another program has UDP port 4791 */
	uint32_t reserved;
};

/* Whether the kernel lets the program run. Only who may see its objects is told. */
enum rnic_program_stop {
	RNIC_PROGRAM_RUNS = 0, /* or nobody knows */
	RNIC_PROGRAM_STOPPED,  /* by a signal: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */
	RNIC_PROGRAM_TRACED,   /* by a debugger or another tracer */
};

struct rnic_show_client {
	uint32_t client_id;
	uint32_t pid;
	uint32_t uid;
	uint32_t qp_count;
	uint32_t mr_count;
	uint32_t cq_count;
	uint32_t pd_count;
	uint32_t mw_count;
	uint64_t registered_bytes;
	char program[RNIC_CTL_NAME_BYTES];
	uint32_t srq_count;
	uint32_t stop;	  /* enum rnic_program_stop */
	uint64_t open_ms; /* since the program opened the device */
};

struct rnic_show_qp {
	uint32_t client_id;
	uint32_t qpn;
	uint32_t type;
	uint32_t state;
	uint32_t peer_qpn;
	uint32_t path_mtu_bytes;
	struct rnic_gid peer_gid;
	uint32_t send_posted; /* entries not yet retired */
	uint32_t recv_posted;
	uint32_t send_psn; /* next to send */
	uint32_t unacknowledged_psn;
	uint32_t expected_psn;
	uint32_t packets_in_flight;
	uint64_t sent_packets;
	uint64_t received_packets;
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t retransmitted_packets;
	uint64_t timeouts;
	uint64_t rnr_naks_received;
	uint64_t sequence_naks_received;
	uint64_t duplicates_received;
	uint64_t completions;
	char last_error[RNIC_CTL_TEXT_BYTES];  /* a sentence, empty when nothing went wrong */
	char waiting_for[RNIC_CTL_TEXT_BYTES]; /* what the QP waits for now, empty when idle */
	uint32_t peer_kind;		       /* enum rnic_peer_kind */
	uint32_t peer_port;		       /* UDP port of its packets; 0: not known */
	char timeout[RNIC_CTL_TEXT_BYTES];     /* a sentence, empty when it fits the path */
};

/*
 * A destination of a client's reliable QPs. All clients of the device process share the path, so
 * that only `qp_count` and `limit` are of the client.
 */
struct rnic_show_path {
	uint32_t client_id;
	uint32_t qp_count;
	struct rnic_gid peer_gid;
	uint32_t limit; /* enum rnic_path_limit */
	uint32_t reserved;
	uint64_t least_round_trip_us;	 /* of ten seconds; 0: not measured */
	uint64_t smoothed_round_trip_us; /* queues included */
	uint64_t rate_mbit_per_s;	 /* that the path has delivered; 0: not measured */
	uint64_t window_bytes;		 /* that may be under way */
	uint64_t in_flight_bytes;	 /* that nobody acknowledged yet */
};

struct rnic_show_mr {
	uint32_t client_id;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint32_t mode;	/* enum rnic_memory_mode, of those that a region can have */
	uint32_t watch; /* enum rnic_watch */
};

struct rnic_show_mw {
	uint32_t client_id;
	uint32_t type; /* enum rnic_mw_type */
	uint32_t rkey;
	uint32_t is_bound; /* the rest is 0 unless it is */
	uint32_t access;
	uint32_t lkey; /* of the region to which the window is bound */
	uint32_t qpn;  /* type 2: the queue pair that bound the window */
	uint32_t reserved;
	uint64_t iova;
	uint64_t length;
};

struct rnic_show_cq {
	uint32_t client_id;
	uint32_t slot;
	uint32_t entries;
	uint32_t used;
	uint32_t armed;
	uint32_t overrun;
	uint64_t completions;
	uint32_t users;	 /* QPs, counted once for sending and once for receiving */
	uint32_t number; /* that no other CQ of the device has at the same time */
};

struct rnic_show_pd {
	uint32_t client_id;
	uint32_t slot;
	uint32_t users;	 /* MRs, MWs, QPs and AHs */
	uint32_t number; /* that no other PD of the device has at the same time */
};

struct rnic_show_srq {
	uint32_t client_id;
	uint32_t number;
	uint32_t qp_count;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	uint32_t posted; /* entries that no QP has taken yet */
	uint32_t is_xrc;
};

/* A rule of faults that is loaded. */
#define RNIC_FAULT_ACTORS UINT32_MAX

struct rnic_show_fault {
	uint32_t id;
	uint32_t uid;	    /* of the user who loaded the rule */
	uint32_t is_of_all; /* 1: packets of all users; 0: of this user's device process */
	uint32_t actor;	    /* 1 + the lane that has acted; 0: none; RNIC_FAULT_ACTORS: several */
	uint64_t hits;	    /* packets on which the rule acted */
	uint64_t seed;
	char text[RNIC_RULE_TEXT_BYTES];
};

/*
 * An entry of a flight recorder, as record.h has them. `qpn` is 0 for entries of the device. A
 * cursor stands for a part of a ring: rows of one ring come in their order, rings in any order.
 */
#define RNIC_RECORD_GAP_SHARED UINT32_C(1) /* the queue pair shares a ring with others */
#define RNIC_RECORD_GAP_OLDER  UINT32_C(2) /* older entries of the ring have been replaced */

struct rnic_show_record {
	uint32_t client_id; /* 0: of the device process */
	uint32_t pid;
	uint32_t uid;
	uint32_t qpn;
	uint64_t age_us;
	uint32_t peer_qpn;
	uint32_t event; /* enum rnic_record_event */
	uint32_t detail;
	uint32_t extra;
	uint32_t run;
	uint32_t psn;
	uint32_t value;
	uint32_t gaps; /* RNIC_RECORD_GAP_*: what is not recorded */
	char program[RNIC_CTL_NAME_BYTES];
};

struct rnic_show_counter {
	char name[48];
	uint64_t value;
};

/* An error that a program met, whether the program still runs or not; the latest first. */
struct rnic_show_trouble {
	uint64_t age_ms;
	uint32_t pid;
	uint32_t uid;
	uint32_t cause; /* enum rnic_cause */
	uint32_t reserved;
	char program[RNIC_CTL_NAME_BYTES];
	char subject[RNIC_TROUBLE_SUBJECT_BYTES]; /* "queue pair 0x61251f", "MODIFY_QP" */
	char reason[RNIC_CTL_TEXT_BYTES];	  /* a sentence */
};

#endif
