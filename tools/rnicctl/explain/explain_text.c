/* SPDX-License-Identifier: MIT */
/* What an entry of the flight recorder says, in words. */
#include "tools/rnicctl/explain/explanation.h"

#include "proto/base/verbs_types.h"
#include "proto/mad/cm_message.h"
#include "proto/wire/syndrome.h"
#include "tools/rnicctl/explain/explain_cm.h"

#include <inttypes.h>
#include <stdio.h>

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static const char *cause_name(uint32_t code)
{
	const struct rnic_cause_row *row = rnic_cause_of(code);

	return row != NULL ? row->name : "unknown cause";
}

static const char *nak_name(uint32_t syndrome)
{
	if (rnic_syndrome_kind((uint8_t)syndrome) == RNIC_SYNDROME_RNR_NAK)
		return "receiver not ready";
	switch (rnic_syndrome_value((uint8_t)syndrome)) {
	case RNIC_NAK_PSN_SEQUENCE_ERROR:
		return "PSN sequence error";
	case RNIC_NAK_INVALID_REQUEST:
		return "invalid request";
	case RNIC_NAK_REMOTE_ACCESS_ERROR:
		return "remote access error";
	case RNIC_NAK_REMOTE_OPERATIONAL_ERROR:
		return "remote operational error";
	default:
		return "unknown NAK";
	}
}

static const char *by_whom(const struct rnic_show_record *row)
{
	return row->detail == RNIC_RECORD_BY_PROGRAM_END ? "its program ended"
							 : "its program destroyed it";
}

static void timeout_text(const struct rnic_show_record *row, char *text, size_t bytes)
{
	const int length = snprintf(text, bytes,
				    "no acknowledgement from PSN 0x%06" PRIx32
				    " on: time-out %" PRIu32 " in a row, %" PRIu32 " retries left",
				    row->psn, row->extra, row->detail);

	if (length < 0 || (size_t)length >= bytes)
		return;
	if (row->value == RNIC_RECORD_NEVER)
		snprintf(text + length, bytes - (size_t)length,
			 "; no packet ever came from the peer");
	else
		snprintf(text + length, bytes - (size_t)length,
			 "; the last packet came %" PRIu32 " ms before", row->value);
}

static void failure_text(const struct rnic_show_record *row, const char *what, char *text,
			 size_t bytes)
{
	snprintf(text, bytes, "%s 0x%" PRIx64 " failed: %s (status %" PRIu32 ")", what,
		 (uint64_t)row->value << 32 | row->psn, cause_name(row->detail), row->extra);
}

/* A message of the connection manager; with the reason, when it refuses. */
static void cm_text(const struct rnic_show_record *row, char *text, size_t bytes)
{
	const struct rnic_cause_row *cause = explain_cm_cause(row);
	const char *kind = rnic_cm_kind_text(row->detail);
	int length = snprintf(text, bytes, "%s %s of the connection to port %" PRIu32,
			      row->event == RNIC_RECORD_CM_SENT ? "sent" : "received",
			      kind != NULL ? kind : "unknown message", row->psn);

	if (length > 0 && (size_t)length < bytes && cause != NULL)
		length += snprintf(text + length, bytes - (size_t)length,
				   ": %s (reason %" PRIu32 ")", cause->name, row->extra);
	if (length > 0 && (size_t)length < bytes && row->run > 0)
		length += snprintf(text + length, bytes - (size_t)length, ", %" PRIu32 " times",
				   row->run + 1);
	if (length > 0 && (size_t)length < bytes && explain_cm_is_late(row))
		snprintf(text + length, bytes - (size_t)length,
			 ", when its program had let go of it");
}

/* The events of a queue pair's packets; false: the event is another one. */
static bool packet_text(const struct rnic_show_record *row, char *text, size_t bytes)
{
	switch ((enum rnic_record_event)row->event) {
	case RNIC_RECORD_POSITION:
		snprintf(text, bytes,
			 "had sent all before PSN 0x%06" PRIx32
			 ", acknowledged before 0x%06" PRIx32,
			 row->psn, row->value);
		return true;
	case RNIC_RECORD_TAKEN:
	case RNIC_RECORD_QP_TOOK:
		snprintf(text, bytes, "had taken all requests before PSN 0x%06" PRIx32,
			 row->event == RNIC_RECORD_TAKEN ? row->psn : row->value);
		return true;
	case RNIC_RECORD_DROPPED:
		snprintf(text, bytes, "dropped PSN 0x%06" PRIx32 " (%s), and %" PRIu32 " more",
			 row->psn, cause_name(row->detail), row->run);
		return true;
	case RNIC_RECORD_NAK_SENT:
		snprintf(text, bytes, "answered PSN 0x%06" PRIx32 " with a NAK: %s", row->psn,
			 nak_name(row->detail));
		return true;
	case RNIC_RECORD_NAK_RECEIVED:
		snprintf(text, bytes, "the peer refused PSN 0x%06" PRIx32 " with a NAK: %s",
			 row->psn, nak_name(row->detail));
		return true;
	case RNIC_RECORD_TIMED_OUT:
		timeout_text(row, text, bytes);
		return true;
	case RNIC_RECORD_SENT_AGAIN:
		snprintf(text, bytes,
			 "sent again from PSN 0x%06" PRIx32 " to before 0x%06" PRIx32 ", %" PRIu32
			 " retries left",
			 row->psn, row->value, row->detail);
		return true;
	case RNIC_RECORD_UNKNOWN_QP:
		snprintf(text, bytes, "packets for queue pair 0x%06" PRIx32 ", which was not here",
			 row->value);
		return true;
	default:
		return false;
	}
}

void explain_step_text(const struct rnic_show_record *row, char *text, size_t bytes)
{
	if (packet_text(row, text, bytes))
		return;
	switch ((enum rnic_record_event)row->event) {
	case RNIC_RECORD_STATE:
		snprintf(text, bytes, "went from %s to %s", state_name(row->extra),
			 state_name(row->detail));
		break;
	case RNIC_RECORD_TROUBLE:
		snprintf(text, bytes, "%s; the queue pair is in %s", cause_name(row->detail),
			 state_name(row->extra));
		break;
	case RNIC_RECORD_SEND_FAILED:
		failure_text(row, "work request", text, bytes);
		break;
	case RNIC_RECORD_RECEIVE_FAILED:
		failure_text(row, "receive", text, bytes);
		break;
	case RNIC_RECORD_CONNECTED:
		snprintf(text, bytes, "was connected to queue pair 0x%06" PRIx32, row->value);
		break;
	case RNIC_RECORD_QP_ENDED:
		snprintf(text, bytes, "queue pair 0x%06" PRIx32 " ended in %s: %s", row->psn,
			 state_name(row->extra), by_whom(row));
		break;
	case RNIC_RECORD_REGION_ENDED:
		snprintf(text, bytes, "the region with key 0x%08" PRIx32 " was deregistered",
			 row->value);
		break;
	case RNIC_RECORD_LINK:
		snprintf(text, bytes, "the link %s", row->detail != 0 ? "came up" : "went down");
		break;
	case RNIC_RECORD_ADDRESS:
		snprintf(text, bytes, "the address with GID index %" PRIu32 " %s", row->extra,
			 row->detail != 0 ? "came" : "went away");
		break;
	case RNIC_RECORD_CM_SENT:
	case RNIC_RECORD_CM_RECEIVED:
		cm_text(row, text, bytes);
		break;
	case RNIC_RECORD_PROGRAM_ENDED:
		snprintf(text, bytes, "the program with pid %" PRIu32 " ended", row->pid);
		break;
	case RNIC_RECORD_DEVICE_FAILED:
		snprintf(text, bytes, "the device process with pid %" PRIu32 " ended", row->pid);
		break;
	default:
		snprintf(text, bytes, "event %" PRIu32, row->event);
	}
}

void explain_stop_text(const struct rnic_show_client *client, char *text, size_t bytes)
{
	if (client->stop == RNIC_PROGRAM_TRACED)
		snprintf(text, bytes,
			 "%s (pid %" PRIu32 ") is held by a debugger or another tracer, which lets "
			 "it go on.",
			 client->program, client->pid);
	else
		snprintf(text, bytes,
			 "%s (pid %" PRIu32 ") was stopped by a signal, such as SIGSTOP or that of "
			 "Ctrl-Z: kill -CONT %" PRIu32 " lets it go on.",
			 client->program, client->pid, client->pid);
}
