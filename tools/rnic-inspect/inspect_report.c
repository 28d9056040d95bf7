/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/inspect_report.h"

#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/syndrome.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <jansson.h>

/*
 * The words of each verdict: `name` in JSON, `text` in the summary for people. There it stands only
 * when the capture has such frames, unless it stands `always`.
 */
static const struct verdict_words {
	const char *name;
	const char *text;
	bool is_roce;
	bool always;
} verdict_words[VERDICT_COUNT] = {
	[VERDICT_OTHER] = {.name = "other"},
	[VERDICT_GOOD] = {.name = "good", .is_roce = true},
	[VERDICT_BAD_ICRC] = {.name = "bad_icrc",
			      .text = "bad ICRC",
			      .is_roce = true,
			      .always = true},
	[VERDICT_UNDECODABLE] = {.name = "undecodable",
				 .text = "undecodable",
				 .is_roce = true,
				 .always = true},
	[VERDICT_RENUMBERED] = {.name = "renumbered",
				.text = "renumbered on the way",
				.is_roce = true},
	[VERDICT_SEGMENTED] = {.name = "segmented",
			       .text = "segmented sends not judged (capture behind a device "
				       "without segmentation offload)",
			       .is_roce = true},
	[VERDICT_CUT] = {.name = "cut",
			 .text = "cut short by the capture, not judged",
			 .is_roce = true},
	[VERDICT_OPTIONS] = {.name = "options",
			     .text = "with IPv4 options or IPv6 extension headers, not judged",
			     .is_roce = true},
	[VERDICT_INFINIBAND] = {.name = "infiniband",
				.text = "frames of native InfiniBand or RoCE version 1, which are "
					"not RoCEv2"},
	[VERDICT_UNKNOWN_LINK] = {.name = "unknown_link_type",
				  .text = "frames of an unknown link type"},
};

bool inspect_is_roce(enum verdict verdict)
{
	return verdict_words[verdict].is_roce;
}

static uint64_t packet_count(const struct inspect_summary *summary)
{
	uint64_t count = 0;

	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		count += summary->verdict_counts[verdict];
	return count;
}

static uint64_t roce_count(const struct inspect_summary *summary)
{
	uint64_t count = 0;

	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		if (verdict_words[verdict].is_roce)
			count += summary->verdict_counts[verdict];
	return count;
}

/*
 * The ICRC covers the addresses and ports. A single packet may have been damaged; when no packet of
 * several is right, something rewrites them.
 */
static bool all_are_bad(const struct inspect_summary *summary)
{
	const uint64_t *counts = summary->verdict_counts;

	return counts[VERDICT_BAD_ICRC] > 1 && counts[VERDICT_GOOD] == 0 &&
	       counts[VERDICT_RENUMBERED] == 0 && counts[VERDICT_UNDECODABLE] == 0;
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
	printf(": %s\n", judgement->reason[0] != 0 ? judgement->reason : "ICRC ok");
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
				   verdict_words[judgement->verdict].name, "reason",
				   judgement->reason[0] != 0 ? judgement->reason : NULL);

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
	printf("%" PRIu64 " packets, %" PRIu64 " RoCEv2", packet_count(summary),
	       roce_count(summary));
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		const struct verdict_words *words = &verdict_words[verdict];
		uint64_t count = summary->verdict_counts[verdict];

		if (words->text != NULL && (words->always || count != 0))
			printf(", %" PRIu64 " %s", count, words->text);
	}
	if (all_are_bad(summary))
		printf("; all ICRCs are wrong: were addresses or ports changed, by NAT on the way "
		       "or in the file?");
	putchar('\n');
}

void inspect_summary_json(const struct inspect_summary *summary)
{
	json_t *object = json_pack("{s:I, s:I}", "packets", (json_int_t)packet_count(summary),
				   "roce", (json_int_t)roce_count(summary));

	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		json_object_set_new(object, verdict_words[verdict].name,
				    json_integer((json_int_t)summary->verdict_counts[verdict]));
	json_object_set_new(object, "all_icrcs_bad", json_boolean(all_are_bad(summary)));
	print_json(json_pack("{s:o}", "summary", object));
}
