/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_record.h"

#include "tools/rnic-inspect/judgement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- packets ---- */

static int trace_packets_add(struct trace_packets *packets, const struct trace_packet *packet)
{
	struct trace_packet *list =
		reallocarray(packets->list, packets->count + (size_t)1, sizeof(*list));

	if (list == NULL)
		return -ENOMEM;
	packets->list = list;
	packets->list[packets->count++] = *packet;
	return 0;
}

static struct trace_packet trace_packet_of(const struct capture_frame *frame,
					   const struct judgement *judgement)
{
	const struct rnic_packet *packet = &judgement->packet;
	struct trace_packet found = {
		.time_ns = frame->time_ns,
		.is_sent = frame->direction == CAPTURE_OUTBOUND,
		.is_broken = judgement->verdict == VERDICT_BAD_ICRC,
		.ack_request = packet->ack_request,
		.syndrome = packet->aeth.syndrome,
		.opcode = packet->opcode,
		.row = packet->row,
		.psn = packet->psn,
		.dest_qpn = packet->dest_qpn,
		.payload_bytes = packet->payload_bytes,
		.other_end = TRACE_NO_PACKET,
	};

	snprintf(found.note, sizeof(found.note), "%.*s", (int)frame->comment_bytes,
		 frame->comment_bytes > 0 ? (const char *)frame->comment : "");
	return found;
}

int trace_packets_read(struct trace_packets *packets, const char *path)
{
	struct capture_reader *reader;
	struct capture_frame frame;
	int result = capture_reader_open(&reader, path);

	if (result)
		return result;
	while ((result = capture_reader_next(reader, &frame)) == 1) {
		const struct judgement judgement = judge(&frame);
		struct trace_packet packet;

		if (!judgement.has_packet)
			continue;
		packet = trace_packet_of(&frame, &judgement);
		result = trace_packets_add(packets, &packet);
		if (result)
			break;
	}
	capture_reader_close(reader);
	return result;
}

static bool trace_is_same_packet(const struct trace_packet *sent, const struct trace_packet *came)
{
	return sent->is_sent && sent->other_end == TRACE_NO_PACKET &&
	       sent->opcode == came->opcode && sent->dest_qpn == came->dest_qpn &&
	       rnic_psn_equal(sent->psn, came->psn);
}

static void trace_match_arrivals(struct trace_packets *arrived, struct trace_packets *sent)
{
	for (uint32_t i = 0; i < arrived->count; i++) {
		if (arrived->list[i].is_sent)
			continue;
		for (uint32_t j = 0; j < sent->count; j++) {
			if (!trace_is_same_packet(&sent->list[j], &arrived->list[i]))
				continue;
			arrived->list[i].other_end = j;
			sent->list[j].other_end = i;
			break;
		}
	}
}

void trace_packets_match(struct trace_packets packets[TRACE_SIDES])
{
	trace_match_arrivals(&packets[TRACE_A], &packets[TRACE_B]);
	trace_match_arrivals(&packets[TRACE_B], &packets[TRACE_A]);
}

/* ---- steps ---- */

int trace_steps_read(struct trace_record *record, int fd)
{
	const off_t bytes = lseek(fd, 0, SEEK_END);
	const size_t count = bytes < 0 ? 0 : (size_t)bytes / sizeof(*record->steps);

	if (bytes < 0)
		return -errno;
	if ((size_t)bytes % sizeof(*record->steps) != 0)
		return -EBADMSG;
	record->steps = calloc(count + 1, sizeof(*record->steps));
	if (record->steps == NULL)
		return -ENOMEM;
	if (pread(fd, record->steps, (size_t)bytes, 0) != bytes)
		return -EIO;
	record->step_count = (uint32_t)count;
	return 0;
}

void trace_record_release(struct trace_record *record)
{
	free(record->steps);
	for (int side = 0; side < TRACE_SIDES; side++)
		free(record->packets[side].list);
	*record = (struct trace_record){0};
}
