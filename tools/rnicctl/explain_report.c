/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain_report.h"

#include "tools/rnicctl/explain/explain_cm.h"
#include "tools/rnicctl/explain/explain_qp.h"
#include "tools/rnicctl/explain_living.h"
#include "tools/support/number_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_PROGRAM "rnicd" /* of troubles that are no client's */
#define US_PER_MS      UINT64_C(1000)
#define QPS_MAX	       64 /* of one process that are explained */
#define WELL_MAX       8  /* of one process that had no failure */
#define PROCESSES_MAX  64 /* of one name that are explained */

/* --- printing -------------------------------------------------------------------------------- */

static void print_steps(const struct explanation *explanation)
{
	const size_t last = explanation->left_out > 0 ? EXPLAIN_KEPT_FIRST : SIZE_MAX;
	char text[EXPLAIN_TEXT_BYTES];

	for (size_t i = 0; i < explanation->step_count; i++) {
		const struct explanation_step *step = &explanation->steps[i];

		if (i == last)
			printf("     ... %zu more\n", explanation->left_out);
		explain_step_text(step->row, text, sizeof(text));
		if (step->is_undated)
			printf("  %12s     ", "?");
		else
			printf("  %+12.3f ms  ", -step->ms);
		printf("%s  %s%s\n", step->at_peer ? "peer" : "here", text,
		       step->is_cause ? "  <== first cause" : "");
	}
}

static void print_explanation_text(const struct explanation *explanation)
{
	const struct rnic_cause_row *cause = explanation->cause;

	if (explanation->qp != NULL)
		explain_living_name_qp(explanation->qp);
	else
		printf("queue pair 0x%06" PRIx32 " to 0x%06" PRIx32, explanation->qpn,
		       explanation->peer_qpn);
	if (explanation->pid != 0)
		printf(" of %s (pid %" PRIu32 ")", explanation->program, explanation->pid);
	printf("\n");
	if (cause != NULL)
		printf("  0x%02x %s%s%s: %s\n", cause->code, cause->name,
		       explanation->at_peer ? ", at the peer" : "",
		       explanation->is_undetermined ? ", first cause undetermined" : "",
		       cause->sentence);
	else
		printf("  Nothing went wrong that was recorded.\n");
	if (explanation->detail[0] != '\0' &&
	    (cause == NULL || strcmp(explanation->detail, cause->sentence) != 0))
		printf("  DETAIL: %s\n", explanation->detail);
	if (cause != NULL)
		printf("  HINT: %s\n", cause->hint);
	if (explanation->error != NULL && explanation->error != cause)
		printf("  SEEN AS: 0x%02x %s\n", explanation->error->code,
		       explanation->error->name);
	if (explanation->recovery[0] != '\0')
		printf("  RECOVERY: %s\n", explanation->recovery);
	if (explanation->gaps[0] != '\0')
		printf("  RECORD: %s\n", explanation->gaps);
	print_steps(explanation);
}

static json_t *steps_json(const struct explanation *explanation)
{
	json_t *steps = json_array();
	char text[EXPLAIN_TEXT_BYTES];

	for (size_t i = 0; i < explanation->step_count; i++) {
		const struct explanation_step *step = &explanation->steps[i];

		explain_step_text(step->row, text, sizeof(text));
		json_array_append_new(
			steps, json_pack("{so ss sb ss}", "ms_before",
					 step->is_undated ? json_null() : json_real(step->ms),
					 "end", step->at_peer ? "peer" : "here", "first_cause",
					 step->is_cause, "text", text));
	}
	return steps;
}

static void print_explanation_json(const struct explanation *explanation)
{
	const struct rnic_cause_row *cause = explanation->cause;
	json_t *document = json_pack(
		"{sI sI sI ss ss* ss* sb sb ss ss ss ss* so}", "qpn", (json_int_t)explanation->qpn,
		"peer_qpn", (json_int_t)explanation->peer_qpn, "pid", (json_int_t)explanation->pid,
		"program", explanation->program, "cause", cause != NULL ? cause->name : NULL,
		"hint", cause != NULL ? cause->hint : NULL, "at_peer", explanation->at_peer,
		"undetermined", explanation->is_undetermined, "detail", explanation->detail,
		"recovery", explanation->recovery, "gaps", explanation->gaps, "seen_as",
		explanation->error != NULL ? explanation->error->name : NULL, "chain",
		steps_json(explanation));

	json_dumpf(document, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(document);
}

static void print_failure(const struct explain_request *request,
			  const struct rnic_show_trouble *trouble,
			  const struct rnic_cause_row *cause)
{
	/* That nobody answered is what was seen. The record, which is not there, may say why. */
	const bool is_undetermined = cause->code == RNIC_CAUSE_RETRY_EXCEEDED;
	json_t *document;

	if (!request->json) {
		printf("%s of %s (pid %" PRIu32 ")", trouble->subject, trouble->program,
		       trouble->pid);
		if (!request->sources[0].is_of_log)
			printf(", %" PRIu64 " ms ago", trouble->age_ms);
		printf("\n  0x%02x %s%s: %s\n  DETAIL: %s\n  HINT: %s\n", cause->code, cause->name,
		       is_undetermined ? ", first cause undetermined" : "", cause->sentence,
		       trouble->reason, cause->hint);
		return;
	}
	document = json_pack("{ss si ss ss sb ss}", "subject", trouble->subject, "pid",
			     trouble->pid, "program", trouble->program, "cause", cause->name,
			     "undetermined", is_undetermined, "detail", trouble->reason);
	json_dumpf(document, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(document);
}

/* The log of an older daemon names no causes: most of its troubles are refused calls. */
static void print_trouble(const struct explain_request *request,
			  const struct rnic_show_trouble *trouble)
{
	const struct rnic_cause_row *cause = rnic_cause_of(trouble->cause);

	print_failure(request, trouble, cause != NULL ? cause : rnic_cause_of(RNIC_CAUSE_REFUSED));
}

/* --- choosing -------------------------------------------------------------------------------- */

static size_t print_qp(const struct explain_request *request, uint32_t qpn, bool only_failed)
{
	static struct explanation explanation;

	if (!explain_qp(request->sources, request->source_count, qpn, &explanation))
		return 0;
	if (only_failed && explanation.cause == NULL && explanation.detail[0] == '\0')
		return 0;
	if (request->json)
		print_explanation_json(&explanation);
	else
		print_explanation_text(&explanation);
	return 1;
}

size_t explain_report_qp(const struct explain_request *request, uint32_t qpn)
{
	return print_qp(request, qpn, false);
}

/* A program by its name, or by its pid. */
struct wanted {
	const char *name;
	uint32_t pid; /* 0: by name */
};

static bool is_wanted(const struct wanted *wanted, const char *program, uint32_t pid)
{
	if (strcmp(program, DEVICE_PROGRAM) == 0)
		return false;
	if (wanted->pid != 0)
		return pid == wanted->pid;
	/* Names are cut to what a row has. */
	return program[0] != '\0' && strncmp(program, wanted->name, RNIC_CTL_NAME_BYTES - 1) == 0;
}

static void add_number(uint32_t numbers[QPS_MAX], size_t *count, uint32_t qpn)
{
	for (size_t i = 0; i < *count; i++)
		if (numbers[i] == qpn)
			return;
	if (*count < QPS_MAX)
		numbers[(*count)++] = qpn;
}

/* The queue pairs of the program, those that had trouble first, and living ones that wait. */
static size_t find_qps(const struct evidence *own, const struct wanted *wanted,
		       uint32_t numbers[QPS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < own->record_count; i++)
		if (own->records[i].qpn != 0 &&
		    is_wanted(wanted, own->records[i].program, own->records[i].pid))
			add_number(numbers, &count, own->records[i].qpn);
	for (size_t i = 0; i < own->client_count; i++) {
		const struct rnic_show_client *client = &own->clients[i];

		for (size_t q = 0; q < own->qp_count; q++)
			if (own->qps[q].client_id == client->client_id &&
			    is_wanted(wanted, client->program, client->pid))
				add_number(numbers, &count, own->qps[q].qpn);
	}
	return count;
}

/* Whether the trouble is one that the flight recorder has, with more facts. */
static bool is_recorded(const struct evidence *own, const struct rnic_show_trouble *trouble)
{
	unsigned qpn;

	if (evidence_is_refusal(trouble))
		return false;
	if (explain_cm_tells(own, trouble))
		return true;
	if (sscanf(trouble->subject, "queue pair 0x%x", &qpn) != 1)
		return false;
	for (size_t i = 0; i < own->record_count; i++)
		if (own->records[i].event == RNIC_RECORD_TROUBLE && own->records[i].qpn == qpn)
			return true;
	return false;
}

/* Nothing failed, which is an answer as well: what the queue pairs did last is told. */
static size_t report_well(const struct explain_request *request, const uint32_t *numbers,
			  size_t count)
{
	size_t printed = 0;

	for (size_t i = 0; !request->only_trouble && i < count && printed < WELL_MAX; i++)
		printed += print_qp(request, numbers[i], false);
	return printed;
}

/* All that is known of one process: what failed first, and then what it has and waits for. */
static size_t report_process(const struct explain_request *request, const struct wanted *wanted)
{
	const struct evidence *own = &request->sources[0];
	uint32_t numbers[QPS_MAX];
	size_t printed = 0, told = 0;
	const size_t count = find_qps(own, wanted, numbers);

	/* The oldest refusal is the last row. What it led to comes behind. */
	for (size_t i = own->trouble_count; i-- > 0;) {
		const struct rnic_show_trouble *trouble = &own->troubles[i];

		if (is_recorded(own, trouble) || !is_wanted(wanted, trouble->program, trouble->pid))
			continue;
		print_trouble(request, trouble);
		printed++;
	}
	for (size_t i = 0; i < count; i++) {
		if (print_qp(request, numbers[i], true) == 0)
			continue;
		numbers[told++] = numbers[i];
	}
	if (told == 0) /* a queue pair that was told of says so itself */
		printed += explain_living_stop(own, wanted->pid, request->json);
	printed += told + explain_living_connections(own, wanted->pid, request->json) +
		   explain_living_qps(own, wanted->pid, numbers, told, request->json);
	if (printed == 0)
		printed = report_well(request, numbers, count);
	return printed > 0 ? printed : explain_living_client(own, wanted->pid, request->json);
}

/* The processes of one name. */
struct processes {
	struct process {
		uint32_t pid;
		uint64_t age_us; /* of the last that is known of the process */
	} of[PROCESSES_MAX];
	size_t count;
};

static void add_process(struct processes *processes, uint32_t pid, uint64_t age_us)
{
	struct process *process = processes->of;
	struct process *end = process + processes->count;

	while (process < end && process->pid != pid)
		process++;
	if (process == &processes->of[PROCESSES_MAX])
		return;
	if (process == end) {
		processes->count++;
		*process = (struct process){.pid = pid, .age_us = age_us};
	} else if (age_us < process->age_us) {
		process->age_us = age_us;
	}
}

static int compare_processes(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return a->age_us < b->age_us ? -1 : a->age_us > b->age_us;
}

static void find_processes(const struct evidence *own, const struct wanted *wanted,
			   struct processes *processes)
{
	for (size_t i = 0; i < own->record_count; i++)
		if (is_wanted(wanted, own->records[i].program, own->records[i].pid))
			add_process(processes, own->records[i].pid, own->records[i].age_us);
	for (size_t i = 0; i < own->trouble_count; i++)
		if (is_wanted(wanted, own->troubles[i].program, own->troubles[i].pid))
			add_process(processes, own->troubles[i].pid,
				    own->troubles[i].age_ms * US_PER_MS);
	for (size_t i = 0; i < own->client_count; i++)
		if (is_wanted(wanted, own->clients[i].program, own->clients[i].pid))
			add_process(processes, own->clients[i].pid, 0);
	qsort(processes->of, processes->count, sizeof(processes->of[0]), compare_processes);
}

/* Explains the last run of a program first: people mostly ask about that one. */
size_t explain_report_program(const struct explain_request *request, const char *name_or_pid)
{
	struct wanted wanted = {.name = name_or_pid};
	struct processes processes = {0};
	size_t printed = 0;

	number_text_is(name_or_pid, 10, &wanted.pid);
	find_processes(&request->sources[0], &wanted, &processes);
	for (size_t i = 0; i < processes.count; i++) {
		wanted.pid = processes.of[i].pid;
		printed += report_process(request, &wanted);
	}
	return printed;
}

/* A request for a connection that reached no program: nobody listened, or nobody could be asked. */
static void print_unheard(const struct explain_request *request, const struct rnic_show_record *row)
{
	struct rnic_show_trouble told = {
		.age_ms = row->age_us / US_PER_MS,
		.pid = row->pid,
		.program = DEVICE_PROGRAM,
	};

	snprintf(told.subject, sizeof(told.subject), "request for a connection to port %" PRIu32,
		 row->psn);
	explain_step_text(row, told.reason, sizeof(told.reason));
	print_failure(request, &told, explain_cm_cause(row));
}

/* Queue pairs that wait, and what the device met that is no program's. */
static size_t report_rest(const struct explain_request *request)
{
	const struct evidence *own = &request->sources[0];
	size_t printed = 0;

	for (size_t i = 0; i < own->trouble_count; i++) {
		if (strcmp(own->troubles[i].program, DEVICE_PROGRAM) != 0)
			continue;
		print_trouble(request, &own->troubles[i]);
		printed++;
	}
	for (size_t i = 0; i < own->record_count; i++) {
		if (own->records[i].client_id != 0 || explain_cm_is_late(&own->records[i]) ||
		    explain_cm_cause(&own->records[i]) == NULL)
			continue;
		print_unheard(request, &own->records[i]);
		printed++;
	}
	for (size_t i = 0; i < own->qp_count; i++)
		printed += print_qp(request, own->qps[i].qpn, true);
	return printed;
}

/* The latest failure that is not only a flush; NULL: none. */
static const struct rnic_show_record *last_trouble(const struct evidence *own)
{
	const struct rnic_show_record *last = NULL;

	for (size_t i = 0; i < own->record_count; i++) {
		const struct rnic_show_record *row = &own->records[i];

		if (row->event == RNIC_RECORD_TROUBLE && row->detail != RNIC_CAUSE_FLUSHED &&
		    (last == NULL || row->age_us < last->age_us))
			last = row;
	}
	return last;
}

size_t explain_report_last(const struct explain_request *request)
{
	const struct evidence *own = &request->sources[0];
	const struct rnic_show_record *last = last_trouble(own);
	struct wanted wanted = {.pid = last != NULL ? last->pid : 0};
	const uint64_t age_us = last != NULL ? last->age_us : UINT64_MAX;

	/* The latest trouble is the first row. */
	for (size_t i = 0; i < own->trouble_count; i++) {
		const struct rnic_show_trouble *trouble = &own->troubles[i];

		if (trouble->age_ms * US_PER_MS >= age_us)
			break;
		/* A peer's packets for nobody are the last failure, and no program's. */
		if (strncmp(trouble->subject, "packets from ", strlen("packets from ")) == 0) {
			print_trouble(request, trouble);
			return 1;
		}
		if (strcmp(trouble->program, DEVICE_PROGRAM) == 0)
			continue;
		wanted.pid = trouble->pid;
		break;
	}
	if (wanted.pid != 0)
		return report_process(request, &wanted);
	return report_rest(request);
}
