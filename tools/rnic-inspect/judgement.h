/* SPDX-License-Identifier: MIT */
/* The judgement about one captured frame. Pure. */
#ifndef TOOLS_RNIC_INSPECT_JUDGEMENT_H
#define TOOLS_RNIC_INSPECT_JUDGEMENT_H

#include "tools/rnic-inspect/capture_reader.h"

#include "proto/wire/ip_header.h"

enum verdict {
	VERDICT_OTHER,	     /* not RoCEv2 */
	VERDICT_GOOD,	     /* decodes and its ICRC is right */
	VERDICT_BAD_ICRC,    /* decodes or not; the ICRC is wrong */
	VERDICT_UNDECODABLE, /* the ICRC is right or out of reach; the packet is not valid */
	VERDICT_SEGMENTED,   /* a segmented send before it was cut into packets: not judged */
	VERDICT_COUNT,
};

struct judgement {
	enum verdict verdict;
	const char *reason;	       /* a sentence fragment for people; NULL when GOOD or OTHER */
	bool has_datagram;	       /* `datagram` is valid */
	bool has_packet;	       /* `packet` is valid */
	struct rnic_datagram datagram; /* points into the frame */
	struct rnic_packet packet;     /* points into the frame */
};

struct judgement judge(const struct capture_frame *frame);

#endif
