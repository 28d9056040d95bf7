/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/judgement.h"

#include "tools/rnic-inspect/link_layer.h"

#include "proto/base/be.h"
#include "proto/wire/icrc.h"

#include <errno.h>

#define PATH_MTU_MIN 256

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

/* Whether an IP packet that does not decode as a datagram is at least addressed to RoCEv2. */
static bool is_meant_for_roce(const uint8_t *ip, size_t ip_bytes)
{
	size_t header_bytes = ip[0] >> 4 == 4 ? RNIC_IPV4_HEADER_BYTES : RNIC_IPV6_HEADER_BYTES;

	return ip_bytes >= header_bytes + 4 &&
	       rnic_be16_read(ip + header_bytes + 2) == RNIC_UDP_PORT;
}

/* Whether the ICRC is right, with the identification that the frame shows: all 32 bits count. */
static bool is_icrc_right(const struct rnic_datagram *datagram, size_t length)
{
	uint16_t identification = 0;
	enum rnic_icrc_verdict verdict =
		rnic_icrc_check(&datagram->addresses, datagram->payload, length, &identification);

	return verdict != RNIC_ICRC_BAD && identification == datagram->identification;
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
		    is_icrc_right(datagram, segment_bytes))
			return true;
	}
	return false;
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
	if (is_icrc_right(datagram, datagram->payload_bytes)) {
		judgement->verdict = error == 0 ? VERDICT_GOOD : VERDICT_UNDECODABLE;
		judgement->reason = error == 0 ? NULL : decode_error_text(error);
	} else if (is_segmented(datagram)) {
		judgement->has_packet = false;
		judgement->verdict = VERDICT_SEGMENTED;
		judgement->reason = "segmented send, captured before it was cut";
	} else {
		judgement->verdict = VERDICT_BAD_ICRC;
		judgement->reason = bad_icrc_text(datagram);
	}
}

struct judgement judge(const struct capture_frame *frame)
{
	struct judgement judgement = {.verdict = VERDICT_OTHER};
	const uint8_t *ip;
	size_t ip_bytes;
	int error;

	if (!link_layer_find_ip(frame->link_type, frame->bytes, frame->captured_bytes, &ip,
				&ip_bytes))
		return judgement;
	error = rnic_datagram_decode(&judgement.datagram, ip, ip_bytes);
	if (error == -EBADMSG && is_meant_for_roce(ip, ip_bytes)) {
		judgement.verdict = VERDICT_UNDECODABLE;
		judgement.reason = frame->captured_bytes < frame->original_bytes
					   ? "cut short by the capture"
					   : "IP and UDP lengths disagree";
	}
	if (error != 0 || judgement.datagram.dest_port != RNIC_UDP_PORT)
		return judgement;
	judgement.has_datagram = true;
	judge_datagram(&judgement);
	return judgement;
}
