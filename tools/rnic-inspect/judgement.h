/* SPDX-License-Identifier: MIT */
/* The judgement about one captured frame. Pure. */
#ifndef TOOLS_RNIC_INSPECT_JUDGEMENT_H
#define TOOLS_RNIC_INSPECT_JUDGEMENT_H

#include "tools/rnic-inspect/capture_reader.h"

#include "proto/wire/ip_header.h"

#define VERDICT_REASON_BYTES 96

/* In the order of the summary. */
enum verdict {
	VERDICT_OTHER,	      /* not RoCEv2 */
	VERDICT_GOOD,	      /* decodes and its ICRC is right */
	VERDICT_BAD_ICRC,     /* decodes or not; the ICRC is wrong */
	VERDICT_UNDECODABLE,  /* the ICRC is right or out of reach; the packet is not valid */
	VERDICT_RENUMBERED,   /* the ICRC is right for another IPv4 identification only */
	VERDICT_SEGMENTED,    /* a segmented send before it was cut into packets: not judged */
	VERDICT_CUT,	      /* the capture has not all bytes of the frame: not judged */
	VERDICT_OPTIONS,      /* IPv4 options or IPv6 extension headers: not judged */
	VERDICT_INFINIBAND,   /* InfiniBand's packets on another layer than UDP: not judged */
	VERDICT_UNKNOWN_LINK, /* of a link type that the reader does not know */
	VERDICT_COUNT,
};

struct judgement {
	enum verdict verdict;
	bool has_datagram;		   /* `datagram` is valid */
	bool has_packet;		   /* `packet` is valid */
	char reason[VERDICT_REASON_BYTES]; /* a sentence fragment for people; empty when GOOD */
	struct rnic_datagram datagram;	   /* points into the frame */
	struct rnic_packet packet;	   /* points into the frame */
};

struct judgement judge(const struct capture_frame *frame);

#endif
