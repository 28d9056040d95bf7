/* SPDX-License-Identifier: MIT */
#include "tests/script/script_run.h"

#include "lib/nic/engine/counters.h"
#include "tests/script/script_device.h"
#include "tests/script/script_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct run {
	const struct script *script;
	struct script_device device;
	const struct script_step *step; /* under way; NULL at the end */
	uint64_t base_ns;		/* when the step before happened */
	bool is_in_turn;		/* stimuli were given and not yet answered */
	FILE *out;
};

/* --- complaints ------------------------------------------------------------------------------ */

static const char *source_of(const struct script_step *step)
{
	return step->source + strspn(step->source, " \t");
}

/* The head of every complaint; always false. */
static bool complain(struct run *run, const char *got)
{
	if (run->step == NULL)
		fprintf(run->out, "%s: at the end of the script\n  expected: nothing more\n",
			run->script->name);
	else
		fprintf(run->out, "%s:%u:\n  expected: %s\n", run->script->name, run->step->line,
			source_of(run->step));
	fprintf(run->out, "  got:      %s", got);
	return false;
}

static void print_seen(struct run *run, enum seen_kind kind, const struct script_seen *seen)
{
	uint64_t after_ns = seen->at_ns - run->base_ns;

	fprintf(run->out, "+%" PRIu64 ".%06" PRIu64 "ms ", after_ns / 1000000, after_ns % 1000000);
	switch (kind) {
	case SEEN_PACKET:
		fprintf(run->out, "> ");
		script_packet_print(run->out, &run->device.resolver, &seen->packet);
		break;
	case SEEN_COMPLETION:
		script_completion_print(run->out, &seen->cqe);
		break;
	default:
		fprintf(run->out, "event %s", script_event_names[seen->event]);
		break;
	}
	fprintf(run->out, "\n");
}

static bool complain_seen(struct run *run, enum seen_kind kind, const char *why)
{
	complain(run, "");
	print_seen(run, kind, script_device_peek(&run->device, kind));
	if (why[0] != '\0')
		fprintf(run->out, "  because:  %s\n", why);
	return false;
}

/* Anything seen and not taken was not expected. */
static bool check_nothing_seen(struct run *run)
{
	for (uint32_t kind = 0; kind < SEEN_COUNT; kind++) {
		if (script_device_peek(&run->device, kind) != NULL)
			return complain_seen(run, kind, "");
	}
	return true;
}

/* --- time ------------------------------------------------------------------------------------ */

static void end_turn(struct run *run)
{
	if (run->is_in_turn)
		script_device_turn(&run->device);
	run->is_in_turn = false;
}

/* Lets the clock go to the step's time; nothing may happen on the way. */
static bool reach_time(struct run *run)
{
	uint64_t until_ns = run->base_ns + run->step->after_ns;

	if (run->step->after_ns == 0)
		return true;
	end_turn(run);
	while (check_nothing_seen(run)) {
		if (run->device.now_ns == until_ns) {
			run->base_ns = until_ns;
			return true;
		}
		script_device_advance(&run->device, until_ns);
	}
	return false;
}

/* Waits for something of `kind`, and for its time. */
static const struct script_seen *wait_for(struct run *run, enum seen_kind kind)
{
	uint64_t until_ns = run->base_ns + run->step->until_ns;
	const struct script_seen *seen;

	end_turn(run);
	while (!script_device_has_seen(&run->device) && run->device.now_ns < until_ns)
		script_device_advance(&run->device, until_ns);
	seen = script_device_peek(&run->device, kind);
	if (seen == NULL) {
		if (check_nothing_seen(run))
			complain(run, "nothing\n");
		return NULL;
	}
	if (seen->at_ns < run->base_ns + run->step->after_ns || seen->at_ns > until_ns) {
		complain_seen(run, kind, "the time differs");
		return NULL;
	}
	run->base_ns = seen->at_ns;
	return seen;
}

/* --- expectations ---------------------------------------------------------------------------- */

static bool expect_packet(struct run *run)
{
	const struct script_seen *seen = wait_for(run, SEEN_PACKET);
	char why[128] = "";

	if (seen == NULL)
		return false;
	if (!script_packet_matches(&run->step->packet, &run->device.resolver, &seen->packet, why,
				   sizeof(why)))
		return complain_seen(run, SEEN_PACKET, why);
	script_device_drop(&run->device, SEEN_PACKET);
	return true;
}

/* The first difference between a completion and the expected one; "" when there is none. */
static const char *completion_difference(const struct script_completion *expected,
					 const uint32_t *region_keys, const struct cqe *got)
{
	bool has_immediate = (got->wc_flags & RNIC_WC_WITH_IMM) != 0;
	bool has_invalidate = (got->wc_flags & RNIC_WC_WITH_INVALIDATE) != 0;

	if (got->wr_id != expected->wr_id)
		return "it is of another work request";
	if (got->status != expected->status)
		return "the status differs";
	if (expected->has_opcode && got->opcode != expected->opcode)
		return "the opcode differs";
	if (expected->has_length && got->byte_count != expected->length)
		return "the length differs";
	if (got->status != RNIC_WC_SUCCESS)
		return "";
	if (has_immediate != expected->has_immediate ||
	    (has_immediate && got->immediate != expected->immediate))
		return "the immediate differs";
	if (has_invalidate != expected->has_invalidate ||
	    (has_invalidate && got->immediate != script_key_resolve(&expected->inv, region_keys)))
		return "the key that was invalidated differs";
	return got->is_solicited == expected->is_solicited ? "" : "solicited differs";
}

static bool expect_completion(struct run *run)
{
	const struct script_seen *seen = wait_for(run, SEEN_COMPLETION);
	const char *why;

	if (seen == NULL)
		return false;
	why = completion_difference(&run->step->cqe, run->device.region_keys, &seen->cqe);
	if (why[0] != '\0')
		return complain_seen(run, SEEN_COMPLETION, why);
	script_device_drop(&run->device, SEEN_COMPLETION);
	return true;
}

static bool expect_event(struct run *run)
{
	const struct script_seen *seen = wait_for(run, SEEN_EVENT);

	if (seen == NULL)
		return false;
	if (seen->event != run->step->number)
		return complain_seen(run, SEEN_EVENT, "");
	script_device_drop(&run->device, SEEN_EVENT);
	return true;
}

static bool expect_state(struct run *run)
{
	uint8_t state = run->device.qp->state;

	if (state == run->step->number)
		return true;
	complain(run, "");
	fprintf(run->out, "state %s\n", script_state_names[state]);
	return false;
}

static bool expect_memory(struct run *run)
{
	const struct script_memory *memory = &run->step->memory;
	const uint8_t *bytes = script_device_bytes(&run->device, memory->address);
	uint8_t *wanted = malloc(memory->length + (size_t)1);
	bool is_right = true;

	if (wanted == NULL)
		abort();
	script_pattern_fill(&memory->pattern, wanted, memory->length);
	for (uint32_t i = 0; i < memory->length && is_right; i++) {
		is_right = bytes[i] == wanted[i];
		if (is_right)
			continue;
		complain(run, "");
		fprintf(run->out, "%#x at %#" PRIx64 ", not %#x\n", bytes[i], memory->address + i,
			wanted[i]);
	}
	free(wanted);
	return is_right;
}

static bool expect_counter(struct run *run)
{
	enum counter counter = (enum counter)run->step->counter.index;
	uint64_t value = run->device.engine.counters[counter];

	if (value == run->step->counter.value)
		return true;
	complain(run, "");
	fprintf(run->out, "counter %s %" PRIu64 "\n", counter_name(counter), value);
	return false;
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool stimulate(struct run *run)
{
	struct script_device *device = &run->device;
	const struct script_step *step = run->step;

	if (!run->is_in_turn && !check_nothing_seen(run))
		return false;
	run->is_in_turn = true;
	switch (step->kind) {
	case STEP_RECEIVE:
		script_device_receive(device, &step->packet);
		return true;
	case STEP_POST_SEND:
		script_device_post_send(device, &step->post);
		return true;
	case STEP_POST_RECV:
		script_device_post_recv(device, &step->post);
		return true;
	case STEP_STORE:
		script_pattern_fill(&step->memory.pattern,
				    script_device_bytes(device, step->memory.address),
				    step->memory.length);
		return true;
	case STEP_UNMAP:
		script_device_unmap(device, step->number);
		return true;
	case STEP_DEREGISTER:
		script_device_deregister(device, step->number);
		return true;
	case STEP_PROBE:
		if (!script_device_probe(device))
			return complain(run, "the queue pair cannot ask its peer\n");
		return true;
	default:
		break;
	}
	if (!script_device_modify(device, (enum rnic_qp_state)step->number))
		return complain(run, "the engine refuses\n");
	return true;
}

static bool check_now(struct run *run)
{
	end_turn(run);
	switch (run->step->kind) {
	case STEP_STATE:
		return expect_state(run);
	case STEP_MEMORY:
		return expect_memory(run);
	case STEP_COUNTER:
		return expect_counter(run);
	default:
		return check_nothing_seen(run);
	}
}

static bool run_step(struct run *run)
{
	switch (run->step->kind) {
	case STEP_EXPECT:
		return expect_packet(run);
	case STEP_COMPLETE:
		return expect_completion(run);
	case STEP_EVENT:
		return expect_event(run);
	case STEP_STATE:
	case STEP_MEMORY:
	case STEP_COUNTER:
	case STEP_NOTHING:
		return reach_time(run) && check_now(run);
	default:
		return reach_time(run) && stimulate(run);
	}
}

static bool run_steps(struct run *run)
{
	for (uint32_t i = 0; i < run->script->step_count; i++) {
		run->step = &run->script->steps[i];
		if (!run_step(run))
			return false;
		if (run->device.fault != NULL) {
			complain(run, run->device.fault);
			fprintf(run->out, "\n");
			return false;
		}
	}
	run->step = NULL;
	end_turn(run);
	return check_nothing_seen(run);
}

bool script_run(const struct script *script, bool is_verbose, FILE *out)
{
	struct run run = {.script = script, .out = out};
	char *text = NULL;
	size_t length = 0;
	FILE *log = open_memstream(&text, &length);
	bool is_right;

	if (log == NULL || !script_device_init(&run.device, script, log))
		abort();
	run.base_ns = run.device.now_ns;
	is_right = run_steps(&run);
	script_device_fini(&run.device);
	fclose(log);
	if (!is_right || is_verbose)
		fprintf(out, "%s: the exchange (milliseconds):\n%s", script->name, text);
	free(text);
	return is_right;
}
