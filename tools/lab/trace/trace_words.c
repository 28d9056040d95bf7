/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_words.h"

#include "proto/base/bits.h"
#include "proto/base/operation.h"
#include "proto/wire/syndrome.h"

#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* In the comments of a capture: what a rule of --fault did, and what the requester sends again. */
#define DROPPED	       "dropped by rule"
#define DAMAGED	       "damaged after this"
#define RETRANSMISSION ", retransmission"
#define OF_SERVICE     "RC "

static const char letters[TRACE_SIDES + 1] = "AB";

__attribute__((format(printf, 2, 3))) static void words_add(char text[TRACE_MEANING_BYTES],
							    const char *format, ...)
{
	const size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, TRACE_MEANING_BYTES - length, format, arguments);
	va_end(arguments);
}

static bool words_begin(const char *text, const char *words)
{
	return strncmp(text, words, strlen(words)) == 0;
}

bool trace_is_lost(const struct trace_line *line)
{
	const struct trace_packet *arrival = line->arrival;

	return line->packet != NULL &&
	       (arrival == NULL || arrival->is_broken || words_begin(arrival->note, DROPPED) ||
		words_begin(arrival->note, DAMAGED));
}

/* ---- steps ---- */

static const char *words_of_state(uint8_t state)
{
	return state == IBV_QPS_INIT ? "INIT" : state == IBV_QPS_RTR ? "RTR" : "RTS";
}

void trace_what(const struct trace_record *record, const struct trace_line *line,
		char text[TRACE_WHAT_BYTES])
{
	const struct trace_step *step = line->step;
	const char *name = line->packet != NULL ? line->packet->row->name : NULL;

	if (name != NULL && words_begin(name, OF_SERVICE))
		name += strlen(OF_SERVICE);
	if (name != NULL)
		snprintf(text, TRACE_WHAT_BYTES, "%s", name);
	else if (step->kind == TRACE_STATE)
		snprintf(text, TRACE_WHAT_BYTES, "state %s", words_of_state(step->state));
	else if (step->kind == TRACE_RECEIVE)
		snprintf(text, TRACE_WHAT_BYTES, "post RECEIVE");
	else if (step->kind == TRACE_REQUEST)
		snprintf(text, TRACE_WHAT_BYTES, "post %s", record->operation->words);
	else
		snprintf(text, TRACE_WHAT_BYTES, "completion");
}

static void state_meaning(const struct trace_record *record, const struct trace_line *line,
			  char text[TRACE_MEANING_BYTES])
{
	const struct trace_step *step = line->step;
	const char other = letters[1 - line->side];
	uint32_t peer_qpn = 0, peer_psn = 0;

	for (uint32_t i = 0; i < record->step_count; i++) {
		if (record->steps[i].kind == TRACE_STATE && record->steps[i].side != step->side) {
			peer_qpn = record->steps[i].qpn;
			peer_psn = record->steps[i].psn;
		}
	}
	if (step->state == IBV_QPS_INIT)
		words_add(text, "queue pair 0x%06x has a port and rights, and takes receives",
			  step->qpn);
	else if (step->state == IBV_QPS_RTR)
		words_add(text, "ready to receive from %c: queue pair 0x%06x, the first PSN is %u",
			  other, peer_qpn, peer_psn);
	else
		words_add(text, "ready to send, too: the first PSN will be %u", step->psn);
}

static void step_meaning(const struct trace_record *record, const struct trace_line *line,
			 char text[TRACE_MEANING_BYTES])
{
	const struct trace_step *step = line->step;
	const char *status = ibv_wc_status_str((enum ibv_wc_status)step->status);

	switch ((enum trace_step_kind)step->kind) {
	case TRACE_STATE:
		state_meaning(record, line, text);
		return;
	case TRACE_RECEIVE:
		words_add(text, "receive %u: memory for a message of A", step->number);
		return;
	case TRACE_REQUEST:
		words_add(text, "work request %u: %u packet%s, PSN %u", step->number, step->packets,
			  step->packets == 1 ? "" : "s", step->psn);
		if (step->packets > 1)
			words_add(text, " to %u", step->psn + step->packets - 1);
		return;
	case TRACE_DONE:
		words_add(text, "work request %u: %s", step->number, status);
		return;
	case TRACE_RECEIVED:
		words_add(text, "receive %u: %s", step->number, status);
		return;
	}
}

/* ---- packets ---- */

/* Which bytes of the message the packet carries. */
static void bytes_meaning(const struct trace_record *record, const struct trace_line *line,
			  char text[TRACE_MEANING_BYTES])
{
	const uint32_t place =
		(uint32_t)rnic_psn_distance(line->packet->psn, rnic_psn(line->request->psn));
	const uint32_t first = place * record->mtu_bytes;

	words_add(text, "bytes %u to %u", first, first + line->packet->payload_bytes - 1);
}

/* `which` is ` 1 of 7`, as the requester counts its retries, or other words. */
static void again_meaning(const char *which, char text[TRACE_MEANING_BYTES])
{
	unsigned number, most;

	if (sscanf(which, " %u of %u", &number, &most) == 2)
		words_add(text, "again (%u of %u): ", number, most);
	else
		words_add(text, "again: ");
}

static void request_meaning(const struct trace_record *record, const struct trace_line *line,
			    char text[TRACE_MEANING_BYTES])
{
	const struct trace_packet *packet = line->packet;
	const char *again = strstr(packet->note, RETRANSMISSION);

	if (again != NULL)
		again_meaning(again + strlen(RETRANSMISSION), text);
	if (line->request != NULL && packet->payload_bytes > 0)
		bytes_meaning(record, line, text);
	else if (packet->row->operation == RNIC_OPERATION_READ_REQUEST)
		words_add(text, "asks B's device for the bytes");
	else if (packet->row->headers & RNIC_HEADER_ATOMIC)
		words_add(text, "asks B's device to add to 8 bytes");
	else
		words_add(text, "no bytes");
	if (packet->ack_request)
		words_add(text, ", wants an ACK");
}

static void acknowledge_meaning(const struct trace_line *line, char text[TRACE_MEANING_BYTES])
{
	const uint32_t psn = line->packet->psn.value;
	const uint8_t syndrome = line->packet->syndrome;
	const uint8_t value = rnic_syndrome_value(syndrome);

	if (rnic_syndrome_kind(syndrome) == RNIC_SYNDROME_ACK)
		words_add(text, "all packets up to %u are there", psn);
	else if (rnic_syndrome_kind(syndrome) == RNIC_SYNDROME_RNR_NAK)
		words_add(text, "RNR NAK: %u found no receive, send it again later", psn);
	else if (rnic_syndrome_kind(syndrome) == RNIC_SYNDROME_NAK &&
		 value == RNIC_NAK_PSN_SEQUENCE_ERROR)
		words_add(text, "NAK: %u is missing, send again from there", psn);
	else
		words_add(text, "%s of %u", rnic_syndrome_text(syndrome), psn);
}

static void response_meaning(const struct trace_record *record, const struct trace_line *line,
			     char text[TRACE_MEANING_BYTES])
{
	const struct rnic_opcode *row = line->packet->row;

	if (line->request != NULL && line->packet->payload_bytes > 0)
		bytes_meaning(record, line, text);
	else if (row->headers & RNIC_HEADER_ATOMIC_ACK)
		words_add(text, "the 8 bytes as they were before");
	else if (row->headers & RNIC_HEADER_AETH)
		acknowledge_meaning(line, text);
}

/* What a device says of a packet that came, and the same in a few words. */
static const struct {
	const char *note;
	const char *words;
} short_notes[] = {
	{"No receive entry", "has no receive"},
	{"packets before this one", "misses those before"},
	{"received before", "has it, answers again"},
};

static void refusal_meaning(const char *note, char who, char text[TRACE_MEANING_BYTES])
{
	for (size_t i = 0; i < RNIC_COUNT_OF(short_notes); i++) {
		if (words_begin(note, short_notes[i].note)) {
			words_add(text, "; %c %s", who, short_notes[i].words);
			return;
		}
	}
	words_add(text, "; %c: %.*s", who, (int)strcspn(note, ";."), note);
}

/* How the other end took it, where that is not as usual. */
static void fate_meaning(const struct trace_line *line, char text[TRACE_MEANING_BYTES])
{
	const char *note = line->arrival != NULL ? line->arrival->note : "";

	if (line->arrival == NULL)
		words_add(text, "; LOST: did not arrive");
	else if (line->arrival->is_broken || words_begin(note, DAMAGED))
		words_add(text, "; LOST: came damaged, its ICRC is wrong");
	else if (words_begin(note, DROPPED))
		words_add(text, "; LOST%s", note + strlen("dropped"));
	else if (note[0] != '\0')
		refusal_meaning(note, letters[1 - line->side], text);
}

void trace_meaning(const struct trace_record *record, const struct trace_line *line,
		   char text[TRACE_MEANING_BYTES])
{
	text[0] = '\0';
	if (line->step != NULL) {
		step_meaning(record, line, text);
		return;
	}
	if (line->packet->row->service == RNIC_SERVICE_MANUFACTURER)
		words_add(text, "rnicd tells rnicd what is missing; no other device sends it");
	else if (line->packet->row->is_request)
		request_meaning(record, line, text);
	else
		response_meaning(record, line, text);
	fate_meaning(line, text);
}
