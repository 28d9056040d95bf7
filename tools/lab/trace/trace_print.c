/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_print.h"

#include "tools/lab/trace/trace_order.h"
#include "tools/lab/trace/trace_words.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct trace_printer {
	const struct trace_record *record;
	bool has_colours;
	bool has_begun;
	uint64_t begin_ns; /* since 1970: the first line */
	int error;
};

static uint64_t printer_time_ns(struct trace_printer *printer, const struct trace_line *line)
{
	if (!printer->has_begun)
		printer->begin_ns = line->time_ns;
	printer->has_begun = true;
	return line->time_ns - printer->begin_ns;
}

/* ---- text ---- */

/* The arrow, or the side of a step. A lost packet ends in a cross, so that no colour is needed. */
static const char *printer_who(const struct trace_line *line)
{
	static const char *const arrows[TRACE_SIDES][2] = {{"A ---> B", "A --x"},
							   {"A <--- B", "   x-- B"}};
	static const char *const sides[TRACE_SIDES] = {"A", "       B"};

	return line->step != NULL ? sides[line->side] : arrows[line->side][trace_is_lost(line)];
}

/* Blue and yellow differ for all eyes; a lost packet is bold in either. */
static const char *printer_colour(const struct trace_printer *printer,
				  const struct trace_line *line)
{
	static const char *const colours[TRACE_SIDES][2] = {{"\033[34m", "\033[1;34m"},
							    {"\033[33m", "\033[1;33m"}};

	if (!printer->has_colours || line->step != NULL)
		return "";
	return colours[line->side][trace_is_lost(line)];
}

static void printer_take_text(void *context, const struct trace_line *line)
{
	struct trace_printer *printer = context;
	const uint64_t time_ns = printer_time_ns(printer, line);
	const char *colour = printer_colour(printer, line);
	char what[TRACE_WHAT_BYTES], meaning[TRACE_MEANING_BYTES], psn[16] = "", bytes[16] = "";

	if (line->packet != NULL) {
		snprintf(psn, sizeof(psn), "%" PRIu32, line->packet->psn.value);
		if (line->packet->payload_bytes > 0)
			snprintf(bytes, sizeof(bytes), "%" PRIu32, line->packet->payload_bytes);
	}
	trace_what(printer->record, line, what);
	trace_meaning(printer->record, line, meaning);
	printf("%4" PRIu64 ".%03" PRIu64 "  %s%-8s%s  %-20s %5s %5s  %s\n", time_ns / 1000000,
	       time_ns / 1000 % 1000, colour, printer_who(line), colour[0] != '\0' ? "\033[0m" : "",
	       what, psn, bytes, meaning);
}

void trace_print_text(const struct trace_record *record)
{
	struct trace_printer printer = {
		.record = record,
		.has_colours = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL,
	};

	printf("A is %s, B is %s. A packet carries %u bytes at most.\n", record->addresses[TRACE_A],
	       record->addresses[TRACE_B], record->mtu_bytes);
	printf("%8s  %-8s  %-20s %5s %5s  %s\n", "ms", "who", "what", "PSN", "bytes",
	       "what it means");
	trace_order_run(record, printer_take_text, &printer);
}

/* ---- JSON ---- */

static const char *step_name(const struct trace_step *step)
{
	static const char *const names[] = {
		[TRACE_STATE] = "state",	  [TRACE_RECEIVE] = "receive",
		[TRACE_REQUEST] = "work request", [TRACE_DONE] = "completion",
		[TRACE_RECEIVED] = "completion",
	};

	return names[step->kind];
}

static json_t *json_of_step(const struct trace_step *step)
{
	if (step->kind == TRACE_STATE)
		return json_pack("{s:s, s:I}", "event", step_name(step), "qpn",
				 (json_int_t)step->qpn);
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:i}", "event", step_name(step), "number",
			 (json_int_t)step->number, "psn", (json_int_t)step->psn, "packets",
			 (json_int_t)step->packets, "bytes", (json_int_t)step->bytes, "status",
			 step->status);
}

static json_t *json_of_packet(const struct trace_line *line)
{
	const struct trace_packet *packet = line->packet;
	json_t *object = json_pack("{s:s, s:i, s:I, s:I, s:I, s:b}", "event", "packet", "opcode",
				   packet->opcode, "qpn", (json_int_t)packet->dest_qpn, "psn",
				   (json_int_t)packet->psn.value, "bytes",
				   (json_int_t)packet->payload_bytes, "lost", trace_is_lost(line));

	if (packet->row->headers & RNIC_HEADER_AETH)
		json_object_set_new(object, "syndrome", json_integer(packet->syndrome));
	return object;
}

static void printer_take_json(void *context, const struct trace_line *line)
{
	struct trace_printer *printer = context;
	const uint64_t time_ns = printer_time_ns(printer, line);
	char what[TRACE_WHAT_BYTES], meaning[TRACE_MEANING_BYTES];
	json_t *object = json_pack("{s:I, s:s}", "time_ns", (json_int_t)time_ns, "host",
				   line->side == TRACE_A ? "A" : "B");

	trace_what(printer->record, line, what);
	trace_meaning(printer->record, line, meaning);
	json_object_update_new(object, line->step != NULL ? json_of_step(line->step)
							  : json_of_packet(line));
	json_object_update_new(object, json_pack("{s:s, s:s}", "what", what, "meaning", meaning));
	if (object == NULL)
		printer->error = -ENOMEM;
	else if (json_dumpf(object, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF)
		printer->error = -EIO;
	json_decref(object);
}

int trace_print_json(const struct trace_record *record)
{
	struct trace_printer printer = {.record = record};

	trace_order_run(record, printer_take_json, &printer);
	return printer.error;
}
