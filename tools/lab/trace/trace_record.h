/* SPDX-License-Identifier: MIT */
/*
 * What rnic-lab trace knows of a lesson: the steps of the program, which is both hosts, and the
 * packets of the captures of both hosts. A asks, B answers.
 *
 * The record owns its lists; trace_record_release() gives them back.
 */
#ifndef TOOLS_LAB_TRACE_TRACE_RECORD_H
#define TOOLS_LAB_TRACE_TRACE_RECORD_H

#include "tools/lab/trace/trace_operation.h"

#include "proto/wire/opcode.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

enum trace_side { TRACE_A, TRACE_B, TRACE_SIDES };

enum trace_step_kind {
	TRACE_STATE,	/* a queue pair has a new state */
	TRACE_RECEIVE,	/* B posts a receive */
	TRACE_REQUEST,	/* A posts a work request */
	TRACE_DONE,	/* A has a completion */
	TRACE_RECEIVED, /* B has a completion */
};

/* A step of the program. Members that a kind does not name are zero. */
struct trace_step {
	uint64_t time_ns; /* since 1970: before a post, after a change of state or completion */
	uint8_t kind;	  /* enum trace_step_kind */
	uint8_t side;	  /* enum trace_side */
	uint8_t state;	  /* STATE: enum ibv_qp_state */
	uint8_t status;	  /* DONE, RECEIVED: enum ibv_wc_status */
	uint32_t qpn;	  /* STATE */
	uint32_t number;  /* of the work request or receive, from 1 on */
	uint32_t psn;	  /* of the first packet of the work request; STATE: the first to send */
	uint32_t packets; /* PSNs that the work request takes */
	uint32_t bytes;
};

#define TRACE_NOTE_BYTES 256
#define TRACE_NO_PACKET	 UINT32_MAX

/* A packet as one host's capture has it. */
struct trace_packet {
	uint64_t time_ns; /* since 1970 */
	bool is_sent;	  /* by the host of the capture; else the packet came */
	bool is_broken;	  /* the ICRC is wrong */
	bool ack_request;
	uint8_t syndrome;
	uint8_t opcode;
	const struct rnic_opcode *row;
	struct rnic_psn psn;
	uint32_t dest_qpn;
	uint32_t payload_bytes;
	uint32_t other_end; /* the same packet in the other host's list, or TRACE_NO_PACKET */
	char note[TRACE_NOTE_BYTES]; /* the comment of the capture, or "" */
};

struct trace_packets {
	struct trace_packet *list;
	uint32_t count;
};

struct trace_record {
	const struct trace_operation *operation;
	uint32_t mtu_bytes;
	struct trace_step *steps; /* in their order */
	uint32_t step_count;
	struct trace_packets packets[TRACE_SIDES];
	char addresses[TRACE_SIDES][16];
};

/* Reads the packets of one host's capture that have a decodable header. Negative errno, -EBADMSG
 * for a damaged file. */
int trace_packets_read(struct trace_packets *packets, const char *path);

/* Finds for each packet that came the one that was sent. */
void trace_packets_match(struct trace_packets packets[TRACE_SIDES]);

/* Reads the steps that a lesson wrote to `fd`. Negative errno, -EBADMSG for half a step. */
int trace_steps_read(struct trace_record *record, int fd);

void trace_record_release(struct trace_record *record);

#endif
