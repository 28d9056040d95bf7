/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/inspect_report.h"

#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/syndrome.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <jansson.h>

static const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_OTHER] = "other",	   [VERDICT_GOOD] = "good",
	[VERDICT_BAD_ICRC] = "bad_icrc",   [VERDICT_UNDECODABLE] = "undecodable",
	[VERDICT_SEGMENTED] = "segmented",
};

static uint64_t packet_count(const struct inspect_summary *summary)
{
	uint64_t count = 0;

	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		count += summary->verdict_counts[verdict];
	return count;
}

static uint64_t roce_count(const struct inspect_summary *summary)
{
	return packet_count(summary) - summary->verdict_counts[VERDICT_OTHER];
}

void inspect_report_text(const struct judgement *judgement, uint64_t time_ns)
{
	const struct rnic_packet *packet = &judgement->packet;
	char source[RNIC_GID_TEXT_BYTES], dest[RNIC_GID_TEXT_BYTES];

	printf("%" PRIu64 ".%06" PRIu64, time_ns / RNIC_NS_PER_SECOND,
	       time_ns % RNIC_NS_PER_SECOND / 1000);
	if (judgement->has_datagram)
		printf(" %s > %s", rnic_gid_text(&judgement->datagram.addresses.source, source),
		       rnic_gid_text(&judgement->datagram.addresses.dest, dest));
	if (judgement->has_packet) {
		printf(" %s qpn 0x%06" PRIx32 " psn 0x%06" PRIx32 " length %" PRIu32,
		       packet->row->name, packet->dest_qpn, packet->psn.value,
		       packet->payload_bytes);
		if (packet->row->headers & RNIC_HEADER_AETH)
			printf(" %s", rnic_syndrome_text(packet->aeth.syndrome));
	} else if (judgement->has_datagram) {
		printf(" datagram of %zu bytes", judgement->datagram.payload_bytes);
	}
	printf(": %s\n", judgement->reason != NULL ? judgement->reason : "ICRC ok");
}

/* Prints and releases `object`, which is NULL when there was no memory to make it. */
static void print_json(json_t *object)
{
	if (object == NULL || json_dumpf(object, stdout, JSON_COMPACT) != 0) {
		fprintf(stderr, "rnic-inspect: cannot write JSON\n");
		exit(2);
	}
	putchar('\n');
	json_decref(object);
}

void inspect_report_json(const struct judgement *judgement, uint64_t time_ns)
{
	const struct rnic_packet *packet = &judgement->packet;
	char source[RNIC_GID_TEXT_BYTES], dest[RNIC_GID_TEXT_BYTES];
	json_t *object = json_pack("{s:I, s:s, s:s?}", "time_ns", (json_int_t)time_ns, "verdict",
				   verdict_names[judgement->verdict], "reason", judgement->reason);

	if (judgement->has_datagram)
		json_object_update_new(
			object,
			json_pack("{s:s, s:s, s:I}", "source",
				  rnic_gid_text(&judgement->datagram.addresses.source, source),
				  "dest", rnic_gid_text(&judgement->datagram.addresses.dest, dest),
				  "datagram_bytes", (json_int_t)judgement->datagram.payload_bytes));
	if (judgement->has_packet)
		json_object_update_new(
			object, json_pack("{s:s, s:I, s:I, s:I}", "opcode", packet->row->name,
					  "dest_qpn", (json_int_t)packet->dest_qpn, "psn",
					  (json_int_t)packet->psn.value, "payload_bytes",
					  (json_int_t)packet->payload_bytes));
	if (judgement->has_packet && packet->row->headers & RNIC_HEADER_AETH)
		json_object_set_new(object, "syndrome",
				    json_string(rnic_syndrome_text(packet->aeth.syndrome)));
	print_json(object);
}

void inspect_summary_text(const struct inspect_summary *summary)
{
	const uint64_t *counts = summary->verdict_counts;

	printf("%" PRIu64 " packets, %" PRIu64 " RoCEv2, %" PRIu64 " bad ICRC, %" PRIu64
	       " undecodable",
	       packet_count(summary), roce_count(summary), counts[VERDICT_BAD_ICRC],
	       counts[VERDICT_UNDECODABLE]);
	if (counts[VERDICT_SEGMENTED] != 0)
		printf(", %" PRIu64 " segmented sends not judged (capture behind a device without "
		       "segmentation offload)",
		       counts[VERDICT_SEGMENTED]);
	if (summary->unknown_link_count != 0)
		printf(", %" PRIu64 " frames of an unknown link type", summary->unknown_link_count);
	putchar('\n');
}

void inspect_summary_json(const struct inspect_summary *summary)
{
	const uint64_t *counts = summary->verdict_counts;

	print_json(json_pack("{s:{s:I, s:I, s:I, s:I, s:I, s:I}}", "summary", "packets",
			     (json_int_t)packet_count(summary), "roce",
			     (json_int_t)roce_count(summary), "bad_icrc",
			     (json_int_t)counts[VERDICT_BAD_ICRC], "undecodable",
			     (json_int_t)counts[VERDICT_UNDECODABLE], "segmented",
			     (json_int_t)counts[VERDICT_SEGMENTED], "unknown_link_type",
			     (json_int_t)summary->unknown_link_count));
}
