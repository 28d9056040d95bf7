/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder's region: what happened to the queue pairs of a device process, and to its
 * device. The device process is the only writer; the control plane reads the region as untrusted.
 *
 * The region is an array of rings of 2 KiB. A ring of a queue pair is taken at its first event out
 * of the ordinary; ordinary traffic leaves no entry, because the entry POSITION says how far the
 * queue pair had come. A reader that finds `count` changed while it copied has lost the entries
 * that were replaced meanwhile.
 */
#ifndef PROTO_BASE_RECORD_H
#define PROTO_BASE_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

#define RNIC_RECORD_MAGIC	 UINT32_C(0x64636572) /* "recd" in a hex dump */
#define RNIC_RECORD_RING_ENTRIES 126
#define RNIC_RECORD_TICK_SHIFT	 14 /* an entry's time is in units of 2^14 ns: 16.384 us */

/* The rings of the device, and then those that queue pairs take. */
#define RNIC_RECORD_PORT_RING	0 /* link and addresses */
#define RNIC_RECORD_LIFE_RINGS	4 /* connections and ends, by QPN or key; from ring 1 on */
#define RNIC_RECORD_SHARED_RING 5 /* of queue pairs for which there was no ring */
#define RNIC_RECORD_FIRST_RING	6
#define RNIC_RECORD_RINGS	70

enum rnic_record_event {
	/* In the ring of a queue pair: */
	RNIC_RECORD_OWNER = 1, /* psn: QPN, value: peer's, tick: client_id; the next entries of the
				  shared ring are of this queue pair */
	RNIC_RECORD_POSITION,  /* psn: behind the last one sent, value: oldest unacknowledged */
	RNIC_RECORD_TAKEN,     /* psn: expected, value: packets received, modulo 2^32 */
	RNIC_RECORD_STATE,     /* detail: new state, extra: old state */
	RNIC_RECORD_TROUBLE,   /* detail: enum rnic_cause; value: key, if about one */
	RNIC_RECORD_DROPPED,   /* detail: enum rnic_cause; psn: of the packet, value: opcode */
	RNIC_RECORD_NAK_SENT,  /* detail: AETH syndrome; psn */
	RNIC_RECORD_NAK_RECEIVED,   /* detail: AETH syndrome; psn */
	RNIC_RECORD_TIMED_OUT,	    /* detail: retries left, extra: timeouts in a row; psn: oldest
				       unacknowledged, value: ms since a packet came, or NEVER */
	RNIC_RECORD_SENT_AGAIN,	    /* detail: retries left; psn: first, value: end */
	RNIC_RECORD_SEND_FAILED,    /* detail: enum rnic_cause, extra: status; psn, value: wr_id */
	RNIC_RECORD_RECEIVE_FAILED, /* the same of a receive */
	/* In the rings of the device: */
	RNIC_RECORD_CONNECTED,	  /* extra: own GID index; psn: QPN, value: peer's QPN */
	RNIC_RECORD_QP_TOOK,	  /* before QP_ENDED, of a responder. psn: QPN, value: PSN that the
				     responder expected next */
	RNIC_RECORD_QP_ENDED,	  /* detail: enum rnic_record_end, extra: state; psn: QPN, value:
				     peer's QPN */
	RNIC_RECORD_REGION_ENDED, /* detail: enum rnic_record_end; value: key */
	RNIC_RECORD_LINK,	  /* detail: 1 up, 0 down */
	RNIC_RECORD_ADDRESS,	/* detail: 1 came, 0 went, extra: index; value: its last 32 bits */
	RNIC_RECORD_UNKNOWN_QP, /* psn: of the packet, value: the QPN that is not here */
	/* The control plane's own, in no ring: a program that was its own device ended. */
	RNIC_RECORD_PROGRAM_ENDED,
	/* ... and messages of connections. detail: enum rnic_cm_kind, extra: reason of a REJ or
	   status of a SIDR_REP; psn: port of the service, value: 0 or RNIC_RECORD_CM_LATE. The
	   queue pairs may be 0: not known. */
	RNIC_RECORD_CM_SENT,
	RNIC_RECORD_CM_RECEIVED,
	/* The control plane's own, too: a device process ended before its programs. */
	RNIC_RECORD_DEVICE_FAILED,
	RNIC_RECORD_EVENT_COUNT,
};

enum rnic_record_end {
	RNIC_RECORD_BY_CALL = 0,    /* the program destroyed or deregistered the object */
	RNIC_RECORD_BY_PROGRAM_END, /* the program ended */
};

#define RNIC_RECORD_NEVER UINT32_MAX

/* The program had let go of the connection, or ended, when the message came or went. */
#define RNIC_RECORD_CM_LATE 1

struct rnic_record_entry {
	uint32_t tick; /* time in units of 2^RNIC_RECORD_TICK_SHIFT ns, modulo 2^32: 19 hours */
	uint8_t event; /* enum rnic_record_event */
	uint8_t detail;
	uint8_t extra;
	uint8_t run;  /* how often the entry happened after the first time, at most 255 */
	uint32_t psn; /* or what the event says */
	uint32_t value;
};

/* `qpn` and `client_id` are those of the queue pair that has, or had, the ring. */
struct rnic_record_ring {
	_Atomic uint32_t count; /* entries ever written, modulo 2^32: the last is count - 1 */
	uint32_t qpn;
	uint32_t peer_qpn;
	uint32_t client_id;
	uint32_t reserved[4];
	struct rnic_record_entry entries[RNIC_RECORD_RING_ENTRIES];
};

struct rnic_record_region {
	struct rnic_record_ring rings[RNIC_RECORD_RINGS];
};

_Static_assert(sizeof(struct rnic_record_entry) == 16, "many fit");
_Static_assert(sizeof(struct rnic_record_ring) == 2048, "a queue pair takes 2 KiB at most");

static inline uint32_t rnic_record_tick(uint64_t now_ns)
{
	return (uint32_t)(now_ns >> RNIC_RECORD_TICK_SHIFT);
}

#endif
