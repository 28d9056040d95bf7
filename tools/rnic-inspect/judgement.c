/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/judgement.h"

#include "tools/rnic-inspect/link_layer.h"

#include "proto/base/be.h"
#include "proto/wire/icrc.h"

#include <errno.h>
#include <stdio.h>

#define PATH_MTU_MIN		  256
#define PROTOCOL_HOP_BY_HOP	  0
#define PROTOCOL_UDP		  17
#define PROTOCOL_ROUTING	  43
#define PROTOCOL_DESTINATION	  60
#define IPV4_FRAGMENT_OFFSET_MASK 0x1fff
#define IPV4_MORE_FRAGMENTS	  0x2000

/* An IP packet to RoCEv2's port, which need not be a RoCEv2 packet. */
struct roce_header {
	bool is_roce;	   /* to the port, as far as the frame shows; else nothing else is valid */
	bool has_options;  /* IPv4 options or IPv6 extension headers */
	bool has_fragment; /* the first fragment of a packet */
};

static const char *decode_error_text(int error)
{
	switch (error) {
	case -EPROTO:
		return "unknown transport header version";
	case -EOPNOTSUPP:
		return "reserved opcode";
	default:
		return "length does not fit the opcode";
	}
}

/* Steps over the extension headers at `*at`, and returns the protocol behind them. */
static uint8_t ipv6_headers_skip(const uint8_t *ip, size_t ip_bytes, size_t *at)
{
	uint8_t protocol = ip[6];

	while ((protocol == PROTOCOL_HOP_BY_HOP || protocol == PROTOCOL_ROUTING ||
		protocol == PROTOCOL_DESTINATION) &&
	       ip_bytes >= *at + 2) {
		protocol = ip[*at];
		*at += 8 * (ip[*at + 1] + (size_t)1);
	}
	return protocol;
}

/* What the frame shows of an IP packet that does not decode as a datagram. */
static struct roce_header roce_header_read(const uint8_t *ip, size_t ip_bytes)
{
	struct roce_header header = {0};
	uint8_t protocol;
	size_t udp_at;

	if (ip_bytes >= RNIC_IPV4_HEADER_BYTES && ip[0] >> 4 == 4) {
		udp_at = (ip[0] & 15) * (size_t)4;
		protocol = ip[9];
		header.has_options = udp_at > RNIC_IPV4_HEADER_BYTES;
		header.has_fragment = rnic_be16_read(ip + 6) & IPV4_MORE_FRAGMENTS;
		if (rnic_be16_read(ip + 6) & IPV4_FRAGMENT_OFFSET_MASK)
			return header;
	} else if (ip_bytes >= RNIC_IPV6_HEADER_BYTES && ip[0] >> 4 == 6) {
		udp_at = RNIC_IPV6_HEADER_BYTES;
		protocol = ipv6_headers_skip(ip, ip_bytes, &udp_at);
		header.has_options = udp_at > RNIC_IPV6_HEADER_BYTES;
	} else {
		return header;
	}
	header.is_roce = protocol == PROTOCOL_UDP && ip_bytes >= udp_at + 4 &&
			 rnic_be16_read(ip + udp_at + 2) == RNIC_UDP_PORT;
	return header;
}

static void set_verdict(struct judgement *judgement, enum verdict verdict, const char *reason)
{
	judgement->verdict = verdict;
	snprintf(judgement->reason, sizeof(judgement->reason), "%s", reason);
}

/*
 * Senders give the device several packets at once. A capture before the device has cut them shows
 * one datagram. A frame is such a datagram when it is longer than any packet, or when its front is
 * a packet of a path MTU with a right ICRC.
 */
static bool is_segmented(const struct rnic_datagram *datagram)
{
	const struct rnic_opcode *row;

	if (datagram->payload_bytes > RNIC_PACKET_BYTES_MAX)
		return true;
	if (datagram->payload_bytes < RNIC_BTH_BYTES)
		return false;
	row = rnic_opcode_row(datagram->payload[0]);
	for (size_t mtu = PATH_MTU_MIN; mtu <= RNIC_PAYLOAD_BYTES_MAX; mtu *= 2) {
		size_t segment_bytes = row->header_bytes + mtu + RNIC_ICRC_BYTES;

		if (segment_bytes < datagram->payload_bytes &&
		    rnic_icrc_is_right_as_shown(datagram, segment_bytes))
			return true;
	}
	return false;
}

/*
 * The datagram for which the ICRC was made, if only its identification and don't-fragment bit
 * differ from those of the frame.
 */
static bool find_sent(const struct rnic_datagram *shown, struct rnic_datagram *sent)
{
	*sent = *shown;
	if (!rnic_addresses_are_ipv4(&shown->addresses) ||
	    rnic_icrc_check(&shown->addresses, shown->payload, shown->payload_bytes,
			    &sent->identification) == RNIC_ICRC_BAD)
		return false;
	if (rnic_icrc_is_right_as_shown(sent, sent->payload_bytes))
		return true;
	sent->dont_fragment = !shown->dont_fragment;
	return rnic_icrc_is_right_as_shown(sent, sent->payload_bytes);
}

/*
 * A router that joins datagrams (GRO) and cuts them again numbers the pieces. An ICRC that is right
 * for another identification than the frame's shows that. Damage looks the same in 1 of 65,536
 * cases.
 */
static bool judge_renumbered(struct judgement *judgement)
{
	const struct rnic_datagram *shown = &judgement->datagram;
	struct rnic_datagram sent;
	const char *flag = "";

	if (!find_sent(shown, &sent))
		return false;
	if (sent.dont_fragment != shown->dont_fragment)
		flag = sent.dont_fragment ? " with don't fragment" : " without don't fragment";
	judgement->verdict = VERDICT_RENUMBERED;
	snprintf(judgement->reason, sizeof(judgement->reason),
		 "ICRC right for identification %u%s: %s on the way",
		 (unsigned int)sent.identification, flag,
		 sent.identification != shown->identification ? "renumbered" : "changed");
	return true;
}

static const char *bad_icrc_text(const struct rnic_datagram *datagram)
{
	bool is_ipv4 = rnic_addresses_are_ipv4(&datagram->addresses);

	return is_ipv4 && !datagram->dont_fragment ? "bad ICRC, don't fragment not set"
						   : "bad ICRC";
}

static void judge_datagram(struct judgement *judgement)
{
	const struct rnic_datagram *datagram = &judgement->datagram;
	int error = rnic_packet_decode(&judgement->packet, &datagram->addresses, datagram->payload,
				       datagram->payload_bytes);

	judgement->has_packet = error == 0;
	if (rnic_icrc_is_right_as_shown(datagram, datagram->payload_bytes)) {
		if (error == 0)
			judgement->verdict = VERDICT_GOOD;
		else
			set_verdict(judgement, VERDICT_UNDECODABLE, decode_error_text(error));
	} else if (is_segmented(datagram)) {
		judgement->has_packet = false;
		set_verdict(judgement, VERDICT_SEGMENTED,
			    "segmented send, captured before it was cut");
	} else if (!judge_renumbered(judgement)) {
		set_verdict(judgement, VERDICT_BAD_ICRC, bad_icrc_text(datagram));
	}
}

/* A frame to RoCEv2's port that does not decode as a datagram. */
static void judge_broken(struct judgement *judgement, const struct capture_frame *frame,
			 const struct roce_header *header)
{
	if (frame->captured_bytes < frame->original_bytes)
		set_verdict(judgement, VERDICT_CUT, "cut short by the capture, not judged");
	else if (header->has_options)
		set_verdict(judgement, VERDICT_OPTIONS,
			    "IPv4 options or IPv6 extension headers, not judged");
	else if (header->has_fragment)
		set_verdict(judgement, VERDICT_UNDECODABLE, "a fragment");
	else
		set_verdict(judgement, VERDICT_UNDECODABLE, "IP and UDP lengths disagree");
}

struct judgement judge(const struct capture_frame *frame)
{
	struct judgement judgement = {.verdict = VERDICT_OTHER};
	struct roce_header header;
	const uint8_t *ip;
	size_t ip_bytes;

	switch (link_layer_find_ip(frame, &ip, &ip_bytes)) {
	case LINK_INFINIBAND:
		judgement.verdict = VERDICT_INFINIBAND;
		return judgement;
	case LINK_UNKNOWN:
		judgement.verdict = VERDICT_UNKNOWN_LINK;
		return judgement;
	case LINK_IP:
		break;
	case LINK_OTHER:
		return judgement;
	}
	if (rnic_datagram_decode(&judgement.datagram, ip, ip_bytes) == 0) {
		judgement.has_datagram = judgement.datagram.dest_port == RNIC_UDP_PORT;
		if (judgement.has_datagram)
			judge_datagram(&judgement);
		return judgement;
	}
	header = roce_header_read(ip, ip_bytes);
	if (header.is_roce)
		judge_broken(&judgement, frame, &header);
	return judgement;
}
