/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain_living.h"

#include "proto/base/bits.h"
#include "proto/base/causes.h"
#include "tools/rnicctl/explain/explanation.h"
#include "tools/rnicctl/row_kinds.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Objects of one kind that are told. */
enum { LIVING_TOLD_MAX = 8 };

static bool is_of_process(const struct evidence *evidence, uint32_t client_id, uint32_t pid)
{
	for (size_t i = 0; i < evidence->client_count; i++)
		if (evidence->clients[i].client_id == client_id && evidence->clients[i].pid == pid)
			return true;
	return false;
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "";
}

static void print_connection(const json_t *row)
{
	const bool has_peer = strcmp(text_of(row, "peer_gid"), "-") != 0;

	printf("connection %s %s %s port %lld", text_of(row, "state"), has_peer ? "with" : "at",
	       text_of(row, has_peer ? "peer_gid" : "local_gid"),
	       (long long)json_integer_value(
		       json_object_get(row, has_peer ? "peer_port" : "local_port")));
}

static void print_qp(const json_t *row)
{
	printf("queue pair 0x%06llx (%s, %s)",
	       (unsigned long long)json_integer_value(json_object_get(row, "qpn")),
	       text_of(row, "type"), text_of(row, "state"));
	if (strcmp(text_of(row, "peer_gid"), "-") != 0)
		printf(" to 0x%06llx of %s",
		       (unsigned long long)json_integer_value(json_object_get(row, "peer_qpn")),
		       text_of(row, "peer_gid"));
}

void explain_living_name_qp(const struct rnic_show_qp *qp)
{
	json_t *rows = row_json(row_kind_of(RNIC_SHOW_QPS), qp, 1);

	print_qp(json_array_get(rows, 0));
	json_decref(rows);
}

static void print_sentences(const json_t *row)
{
	static const char *const sentences[][2] = {
		{"waiting_for", "WAITS FOR"},
		{"last_error", "LAST ERROR"},
	};

	for (size_t i = 0; i < RNIC_COUNT_OF(sentences); i++)
		if (text_of(row, sentences[i][0])[0] != '\0')
			printf("  %s: %s\n", sentences[i][1], text_of(row, sentences[i][0]));
}

/* Tells the next object of a program, which has had `before` of the kind. */
static void tell(uint32_t kind, const void *object, size_t before, bool is_json)
{
	json_t *rows, *row;

	if (before >= LIVING_TOLD_MAX)
		return;
	rows = row_json(row_kind_of(kind), object, 1);
	row = json_array_get(rows, 0);
	if (is_json) {
		json_object_set_new(row, "object", json_string(row_kind_of(kind)->name));
		json_dumpf(row, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		if (kind == RNIC_SHOW_CM)
			print_connection(row);
		else
			print_qp(row);
		putchar('\n');
		print_sentences(row);
	}
	json_decref(rows);
}

static size_t tell_of_more(size_t count, const char *what, bool is_json)
{
	if (count > LIVING_TOLD_MAX && !is_json)
		printf("and %zu more %s\n", count - LIVING_TOLD_MAX, what);
	return count;
}

size_t explain_living_connections(const struct evidence *evidence, uint32_t pid, bool is_json)
{
	size_t count = 0;

	for (size_t i = 0; i < evidence->connection_count; i++)
		if (is_of_process(evidence, evidence->connections[i].client_id, pid))
			tell(RNIC_SHOW_CM, &evidence->connections[i], count++, is_json);
	return tell_of_more(count, "connections", is_json);
}

size_t explain_living_qps(const struct evidence *evidence, uint32_t pid, const uint32_t *told,
			  size_t told_count, bool is_json)
{
	size_t count = 0;

	for (size_t i = 0; i < evidence->qp_count; i++) {
		const struct rnic_show_qp *qp = &evidence->qps[i];
		bool is_told = false;

		for (size_t t = 0; t < told_count && !is_told; t++)
			is_told = told[t] == qp->qpn;
		if (!is_told && is_of_process(evidence, qp->client_id, pid))
			tell(RNIC_SHOW_QPS, qp, count++, is_json);
	}
	return tell_of_more(count, "queue pairs", is_json);
}

/* --- a program that has none of these, or is stopped ------------------------------------------ */

#define MADE_BYTES 192

/* "2 memory regions, 1 completion queue"; or what is not there. */
static void write_made(const struct rnic_show_client *client, bool is_there, char text[MADE_BYTES])
{
	const struct {
		const char *name;
		uint32_t count;
	} kinds[] = {
		{"protection domain", client->pd_count},
		{"memory region", client->mr_count},
		{"completion queue", client->cq_count},
		{"shared receive queue", client->srq_count},
		{"queue pair", client->qp_count},
		{"connection", 0},
	};
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < RNIC_COUNT_OF(kinds) && length < MADE_BYTES; i++) {
		const char *comma = length > 0 ? ", " : "";

		if ((kinds[i].count > 0) != is_there)
			continue;
		if (is_there)
			length += (size_t)snprintf(text + length, MADE_BYTES - length,
						   "%s%" PRIu32 " %s%s", comma, kinds[i].count,
						   kinds[i].name, kinds[i].count > 1 ? "s" : "");
		else
			length += (size_t)snprintf(text + length, MADE_BYTES - length, "%sno %s",
						   comma, kinds[i].name);
	}
}

static void tell_client(const struct rnic_show_client *client, bool is_json)
{
	const bool is_stopped = client->stop != RNIC_PROGRAM_RUNS;
	const struct rnic_cause_row *cause =
		rnic_cause_of(is_stopped ? RNIC_CAUSE_PROGRAM_STOPPED : RNIC_CAUSE_UNUSED_DEVICE);
	char has[MADE_BYTES], lacks[MADE_BYTES], detail[2 * MADE_BYTES + 64];
	json_t *document;

	write_made(client, true, has);
	write_made(client, false, lacks);
	if (is_stopped)
		explain_stop_text(client, detail, sizeof(detail));
	else
		snprintf(detail, sizeof(detail), "It has made %s: %s.",
			 has[0] != '\0' ? has : "nothing", lacks);
	if (!is_json) {
		printf("%s (pid %" PRIu32 ") has held the device for %" PRIu64 " ms\n",
		       client->program, client->pid, client->open_ms);
		printf("  0x%02x %s: %s\n  DETAIL: %s\n  HINT: %s\n", cause->code, cause->name,
		       cause->sentence, detail, cause->hint);
		return;
	}
	document =
		json_pack("{ss si ss sI ss sb ss}", "program", client->program, "pid", client->pid,
			  "object", "client", "open_ms", (json_int_t)client->open_ms, "cause",
			  cause->name, "undetermined", 0, "detail", detail);
	json_dumpf(document, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(document);
}

size_t explain_living_client(const struct evidence *evidence, uint32_t pid, bool is_json)
{
	size_t count = 0;

	for (size_t i = 0; i < evidence->client_count; i++)
		if (evidence->clients[i].pid == pid && count++ < LIVING_TOLD_MAX)
			tell_client(&evidence->clients[i], is_json);
	return tell_of_more(count, "times", is_json);
}

size_t explain_living_stop(const struct evidence *evidence, uint32_t pid, bool is_json)
{
	for (size_t i = 0; i < evidence->client_count; i++) {
		const struct rnic_show_client *client = &evidence->clients[i];

		if (client->pid != pid || client->stop == RNIC_PROGRAM_RUNS)
			continue;
		tell_client(client, is_json);
		return 1;
	}
	return 0;
}
