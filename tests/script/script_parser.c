/* SPDX-License-Identifier: MIT */
#include "tests/script/script_parser.h"

#include "lib/nic/engine/counters.h"
#include "proto/base/bits.h"
#include "proto/base/checked.h"
#include "tests/script/script_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_BYTES_MAX (1 << 20)

/* The defaults of a script. */
#define MEM_NAME    "mem"
#define MEM_ADDRESS 0x1000
#define MEM_BYTES   0x10000
#define ALL_ACCESS                                                                                 \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |            \
	 RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND | RNIC_ACCESS_FLUSH_GLOBAL)

struct parser {
	struct script *script;
	struct script_line line;
	char text[SCRIPT_LINE_BYTES];	/* of the line, in words */
	char source[SCRIPT_LINE_BYTES]; /* of the line, as it is */
	uint64_t posted[SCRIPT_POSTS_MAX];
	uint32_t posted_count;
};

/* --- settings and regions -------------------------------------------------------------------- */

static const struct setting {
	const char *name;
	uint64_t most;
	uint64_t default_value;
} settings[SETTING_COUNT] = {
	[SETTING_MTU] = {"mtu", 4096, 1024},
	[SETTING_TIMEOUT] = {"timeout", 31, 10},
	[SETTING_RETRY] = {"retry", 7, 7},
	[SETTING_RNR_RETRY] = {"rnr_retry", 7, 7},
	[SETTING_MIN_RNR_TIMER] = {"min_rnr_timer", 31, 12},
	[SETTING_SEND_PSN] = {"send_psn", 0xffffff, 100},
	[SETTING_RECV_PSN] = {"recv_psn", 0xffffff, 200},
	[SETTING_MAX_RD_ATOMIC] = {"max_rd_atomic", 128, 4},
	[SETTING_MAX_DEST_RD_ATOMIC] = {"max_dest_rd_atomic", 128, 4},
	[SETTING_ACCESS] = {"access", 0, ALL_ACCESS & ~(uint64_t)RNIC_ACCESS_LOCAL_WRITE},
	[SETTING_STATE] = {"state", 0, RNIC_QP_STATE_RTS},
	[SETTING_SEND_CQ] = {"send_cq", 1000, 1000},
	[SETTING_PKEY] = {"pkey", 0xffff, 0xffff},
	[SETTING_ECN] = {"ecn", 1, 0},
	[SETTING_QP] = {"qp", 0, SCRIPT_QP_RC},
	[SETTING_SRQ_LIMIT] = {"srq_limit", SCRIPT_POSTS_MAX, 0},
	[SETTING_QKEY] = {"qkey", UINT32_MAX, 0x1234},
	[SETTING_RECV_CQ] = {"recv_cq", 1000, 1000},
	[SETTING_KEEP] = {"keep", 1000, 64},
};

/* Any of the rights, or `none`. */
static bool parse_access(struct script_line *line, uint64_t *access)
{
	uint64_t bits = 0;

	if (script_line_accept(line, "none")) {
		*access = 0;
		return true;
	}
	do {
		uint32_t bit;

		if (!script_line_name(line, "a right or none", script_access_names,
				      SCRIPT_ACCESS_BITS, &bit))
			return false;
		bits |= UINT64_C(1) << bit;
	} while (line->next < line->word_count && !script_line_accept(line, "other_pd"));
	*access = bits;
	return true;
}

static bool parse_setting(struct script_line *line, struct script *script)
{
	const char *names[SETTING_COUNT];
	uint32_t name, index;
	uint64_t value;

	if (script->step_count != 0)
		return script_line_complain(line, "expected set before the first step");
	for (uint32_t i = 0; i < SETTING_COUNT; i++)
		names[i] = settings[i].name;
	if (!script_line_name(line, "a setting", names, SETTING_COUNT, &index))
		return false;
	if (index == SETTING_ACCESS)
		return parse_access(line, &script->settings[index]);
	if (index == SETTING_STATE) {
		if (!script_line_name(line, "a state", script_state_names, RNIC_QP_STATE_RTS + 1,
				      &name))
			return false;
		script->settings[index] = name;
		return true;
	}
	if (index == SETTING_QP) {
		if (!script_line_name(line, "a queue pair", script_qp_names, SCRIPT_QP_COUNT,
				      &name))
			return false;
		script->settings[index] = name;
		return true;
	}
	if (!script_line_number(line, settings[index].name, settings[index].most, &value))
		return false;
	if (index == SETTING_MTU && (value < 256 || (value & (value - 1)) != 0))
		return script_line_complain(line, "expected mtu 256, 512, 1024, 2048 or 4096");
	script->settings[index] = value;
	return true;
}

static bool overlaps(const struct script *script, uint64_t address, uint64_t length)
{
	for (uint32_t i = 0; i < script->region_count; i++) {
		const struct script_region *other = &script->regions[i];

		if (address < other->address + other->length && other->address < address + length)
			return true;
	}
	return false;
}

static bool is_name_good(struct script_line *line, const char *name)
{
	const size_t most = sizeof(((struct script_region *)0)->name) - 1;

	if (name == NULL)
		return false;
	return strlen(name) <= most ||
	       script_line_complain(line, "expected a name of at most %zu letters", most);
}

static bool add_region(struct script_line *line, struct script *script,
		       const struct script_region *region)
{
	if (script->region_count == SCRIPT_REGIONS_MAX)
		return script_line_complain(line, "expected at most %d regions",
					    SCRIPT_REGIONS_MAX);
	script->regions[script->region_count++] = *region;
	return true;
}

static bool parse_region(struct script_line *line, struct script *script)
{
	struct script_region region = {0};
	const char *name = script_line_take(line, "a name");
	uint64_t length, access;

	if (script->step_count != 0)
		return script_line_complain(line, "expected region before the first step");
	if (!is_name_good(line, name) ||
	    !script_line_number(line, "an address", UINT64_MAX / 2, &region.address) ||
	    !script_line_number(line, "a length", REGION_BYTES_MAX, &length) ||
	    !parse_access(line, &access))
		return false;
	if (length == 0 || overlaps(script, region.address, length))
		return script_line_complain(line, "expected a range that no other region has; mem "
						  "is 0x1000 to 0x10fff");
	snprintf(region.name, sizeof(region.name), "%s", name);
	region.length = (uint32_t)length;
	region.access = (uint32_t)access;
	region.is_of_other_pd = strcmp(line->words[line->word_count - 1], "other_pd") == 0;
	return add_region(line, script, &region);
}

/* "NAME 1" or "NAME 2", "other_pd" behind it or not. */
static bool parse_window(struct script_line *line, struct script *script)
{
	struct script_region window = {0};
	const char *name = script_line_take(line, "a name");
	uint64_t type;

	if (script->step_count != 0)
		return script_line_complain(line, "expected window before the first step");
	if (!is_name_good(line, name) || !script_line_number(line, "a type", 2, &type))
		return false;
	if (type == 0)
		return script_line_complain(line, "expected type 1 or 2");
	snprintf(window.name, sizeof(window.name), "%s", name);
	window.window_type = (uint8_t)type;
	window.is_of_other_pd = script_line_accept(line, "other_pd");
	return add_region(line, script, &window);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool parse_packet_in(struct parser *parser, struct script_step *step)
{
	return script_packet_parse(&parser->line, parser->script, true, &step->packet);
}

static bool parse_packet_out(struct parser *parser, struct script_step *step)
{
	return script_packet_parse(&parser->line, parser->script, false, &step->packet);
}

/* "wr N", which no post before has. */
static bool parse_new_wr(struct parser *parser, struct script_post *post)
{
	struct script_line *line = &parser->line;

	if (!script_line_accept(line, "wr"))
		return script_line_complain(line, "expected wr");
	if (!script_line_number(line, "a work request's number", UINT64_MAX, &post->wr_id))
		return false;
	for (uint32_t i = 0; i < parser->posted_count; i++) {
		if (parser->posted[i] == post->wr_id)
			return script_line_complain(line,
						    "expected a new number: wr %llu is posted "
						    "above",
						    (unsigned long long)post->wr_id);
	}
	if (parser->posted_count == SCRIPT_POSTS_MAX)
		return script_line_complain(line, "expected at most %d posts", SCRIPT_POSTS_MAX);
	parser->posted[parser->posted_count++] = post->wr_id;
	return true;
}

/* "va A len N [lkey K]" after its first word. Without lkey it is that of the region at A. */
static bool parse_sge(struct parser *parser, struct script_post *post)
{
	struct script_line *line = &parser->line;
	struct script_sge *sge = &post->sges[post->sge_count];
	const struct script_region *region;
	uint64_t length;

	if (post->sge_count == SCRIPT_SGES_MAX)
		return script_line_complain(line, "expected at most %d pairs of va and len",
					    SCRIPT_SGES_MAX);
	if (!script_line_number(line, "an address", UINT64_MAX, &sge->address))
		return false;
	if (!script_line_accept(line, "len"))
		return script_line_complain(line, "expected len");
	if (!script_line_number(line, "a length", UINT32_MAX, &length))
		return false;
	sge->length = (uint32_t)length;
	post->sge_count++;
	if (script_line_accept(line, "lkey"))
		return script_key_parse(line, parser->script, &sge->lkey);
	region = script_find_region(parser->script, sge->address, 1);
	if (region == NULL)
		return script_line_complain(line, "expected an address in a region, or lkey");
	sge->lkey = (struct script_key){
		.is_region = true,
		.value = (uint32_t)(region - parser->script->regions),
	};
	return true;
}

static bool parse_post_flag(struct script_line *line, struct script_post *post)
{
	if (script_line_accept(line, "fence"))
		post->flags |= RNIC_SEND_FENCE;
	else if (script_line_accept(line, "solicited"))
		post->flags |= RNIC_SEND_SOLICITED;
	else if (script_line_accept(line, "inline"))
		post->flags |= RNIC_SEND_INLINE;
	else if (script_line_accept(line, "unsignaled"))
		post->flags &= (uint8_t)~RNIC_SEND_SIGNALED;
	else
		return false;
	return true;
}

static bool parse_word32(struct script_line *line, const char *what, uint32_t *out)
{
	uint64_t number;

	if (!script_line_number(line, what, UINT32_MAX, &number))
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool parse_send_word(struct parser *parser, struct script_post *post)
{
	struct script_line *line = &parser->line;
	uint64_t number;

	if (parse_post_flag(line, post))
		return true;
	if (script_line_accept(line, "remote"))
		return script_line_number(line, "an address", UINT64_MAX, &post->remote_address);
	if (script_line_accept(line, "rkey"))
		return script_key_parse(line, parser->script, &post->rkey);
	if (script_line_accept(line, "compare"))
		return script_line_number(line, "compare", UINT64_MAX, &post->compare);
	if (script_line_accept(line, "swap") || script_line_accept(line, "add"))
		return script_line_number(line, "swap or add", UINT64_MAX, &post->swap_or_add);
	if (script_line_accept(line, "inv"))
		return script_key_parse(line, parser->script, &post->inv);
	if (script_line_accept(line, "imm"))
		return parse_word32(line, "imm", &post->immediate);
	if (script_line_accept(line, "srqn"))
		return parse_word32(line, "srqn", &post->srqn);
	if (script_line_accept(line, "qkey"))
		return parse_word32(line, "qkey", &post->qkey);
	if (script_line_accept(line, "dmalen"))
		return parse_word32(line, "dmalen", &post->flush_length);
	if (script_line_accept(line, "flush"))
		return parse_word32(line, "flush", &post->flush_type);
	if (script_line_accept(line, "access")) {
		if (!parse_access(line, &number))
			return false;
		post->access = (uint32_t)number;
		return true;
	}
	return script_line_complain(line, "expected a word of post, got '%s'",
				    script_line_peek(line));
}

static bool parse_post(struct parser *parser, struct script_step *step)
{
	struct script_line *line = &parser->line;
	struct script_post *post = &step->post;
	bool is_send = script_line_accept(line, "send");
	uint32_t opcode = 0;

	if (!is_send && !script_line_accept(line, "recv"))
		return script_line_complain(line, "expected send or recv");
	step->kind = is_send ? STEP_POST_SEND : STEP_POST_RECV;
	post->flags = RNIC_SEND_SIGNALED;
	post->qkey = (uint32_t)parser->script->settings[SETTING_QKEY];
	if (!parse_new_wr(parser, post))
		return false;
	if (is_send && !script_line_name(line, "an opcode", script_wr_opcode_names,
					 RNIC_WR_OPCODE_COUNT, &opcode))
		return false;
	post->opcode = (uint8_t)opcode;
	while (line->next < line->word_count) {
		if (script_line_accept(line, "malformed")) {
			post->is_malformed = true;
		} else if (script_line_accept(line, "va")) {
			if (!parse_sge(parser, post))
				return false;
		} else if (!is_send) {
			return script_line_complain(line, "expected va or malformed, got '%s'",
						    script_line_peek(line));
		} else if (!parse_send_word(parser, post)) {
			return false;
		}
	}
	for (uint32_t i = 0; (post->flags & RNIC_SEND_INLINE) && i < post->sge_count; i++) {
		if (script_find_region(parser->script, post->sges[i].address,
				       post->sges[i].length) == NULL)
			return script_line_complain(line, "expected inline data within a region");
	}
	return true;
}

static bool parse_wr(struct script_line *line, uint64_t *wr_id)
{
	if (!script_line_accept(line, "wr"))
		return script_line_complain(line, "expected wr");
	return script_line_number(line, "a work request's number", UINT64_MAX, wr_id);
}

static bool parse_flush(struct parser *parser, struct script_step *step)
{
	step->cqe.status = RNIC_WC_WR_FLUSH_ERR;
	return parse_wr(&parser->line, &step->cqe.wr_id);
}

static bool parse_completion_word(struct parser *parser, struct script_completion *cqe)
{
	struct script_line *line = &parser->line;
	uint32_t opcode;

	if (script_line_accept(line, "len")) {
		cqe->has_length = true;
		return parse_word32(line, "a length", &cqe->length);
	}
	if (script_line_accept(line, "imm")) {
		cqe->has_immediate = true;
		return parse_word32(line, "an immediate", &cqe->immediate);
	}
	if (script_line_accept(line, "inv")) {
		cqe->has_invalidate = true;
		return script_key_parse(line, parser->script, &cqe->inv);
	}
	if (script_line_accept(line, "solicited")) {
		cqe->is_solicited = true;
		return true;
	}
	if (!script_line_name(line, "len, imm, inv, solicited or an opcode", script_wc_opcode_names,
			      SCRIPT_WC_OPCODES, &opcode))
		return false;
	cqe->has_opcode = true;
	cqe->opcode = (uint8_t)opcode;
	return true;
}

static bool parse_complete(struct parser *parser, struct script_step *step)
{
	struct script_line *line = &parser->line;
	uint32_t status;

	if (!parse_wr(line, &step->cqe.wr_id) ||
	    !script_line_name(line, "a status", script_wc_status_names, RNIC_WC_STATUS_COUNT,
			      &status))
		return false;
	step->cqe.status = (uint8_t)status;
	while (line->next < line->word_count) {
		if (!parse_completion_word(parser, &step->cqe))
			return false;
	}
	return true;
}

static bool parse_event(struct parser *parser, struct script_step *step)
{
	return script_line_name(&parser->line, "an event", script_event_names, RNIC_EVENT_COUNT,
				&step->number);
}

static bool parse_state(struct parser *parser, struct script_step *step)
{
	return script_line_name(&parser->line, "a state", script_state_names, RNIC_QP_STATE_COUNT,
				&step->number);
}

static bool parse_modify(struct parser *parser, struct script_step *step)
{
	if (!parse_state(parser, step))
		return false;
	if (step->number != RNIC_QP_STATE_ERR && step->number != RNIC_QP_STATE_SQD &&
	    step->number != RNIC_QP_STATE_RTS && step->number != RNIC_QP_STATE_RESET)
		return script_line_complain(&parser->line, "expected ERR, SQD, RTS or RESET");
	return true;
}

/* "A len N = PATTERN", or "A = word N". */
static bool parse_memory(struct parser *parser, struct script_step *step)
{
	struct script_line *line = &parser->line;
	struct script_memory *memory = &step->memory;
	uint64_t length = 8;

	if (!script_line_number(line, "an address", UINT64_MAX, &memory->address))
		return false;
	if (script_line_accept(line, "len") &&
	    !script_line_number(line, "a length", REGION_BYTES_MAX, &length))
		return false;
	memory->length = (uint32_t)length;
	if (!script_line_accept(line, "="))
		return script_line_complain(line, "expected =");
	if (!script_pattern_parse(line, &memory->pattern))
		return false;
	if (script_find_region(parser->script, memory->address, length) == NULL)
		return script_line_complain(line, "expected a range within a region");
	return true;
}

static bool parse_counter(struct parser *parser, struct script_step *step)
{
	const char *names[COUNTER_COUNT];

	for (uint32_t i = 0; i < COUNTER_COUNT; i++)
		names[i] = counter_name((enum counter)i);
	return script_line_name(&parser->line, "a counter", names, COUNTER_COUNT,
				&step->counter.index) &&
	       script_line_number(&parser->line, "a count", UINT64_MAX, &step->counter.value);
}

static bool parse_region_name(struct parser *parser, struct script_step *step)
{
	struct script_key key;

	if (!script_key_parse(&parser->line, parser->script, &key))
		return false;
	if (!key.is_region)
		return script_line_complain(&parser->line, "expected a region's name");
	step->number = key.value;
	return true;
}

static bool parse_nothing(struct parser *parser, struct script_step *step)
{
	(void)parser;
	(void)step;
	return true;
}

static const struct verb {
	const char *word;
	enum step_kind kind;
	bool may_range; /* it waits for something, so that its time can be a range */
	bool (*parse)(struct parser *, struct script_step *);
} verbs[] = {
	{"<", STEP_RECEIVE, false, parse_packet_in},
	{">", STEP_EXPECT, true, parse_packet_out},
	{"post", STEP_POST_SEND, false, parse_post},
	{"complete", STEP_COMPLETE, true, parse_complete},
	{"flush", STEP_COMPLETE, true, parse_flush},
	{"event", STEP_EVENT, true, parse_event},
	{"state", STEP_STATE, false, parse_state},
	{"memory", STEP_MEMORY, false, parse_memory},
	{"store", STEP_STORE, false, parse_memory},
	{"counter", STEP_COUNTER, false, parse_counter},
	{"modify", STEP_MODIFY, false, parse_modify},
	{"probe", STEP_PROBE, false, parse_nothing},
	{"unmap", STEP_UNMAP, false, parse_region_name},
	{"deregister", STEP_DEREGISTER, false, parse_region_name},
	{"nothing", STEP_NOTHING, false, parse_nothing},
};

static bool parse_step(struct parser *parser)
{
	struct script *script = parser->script;
	struct script_line *line = &parser->line;
	struct script_step *step = &script->steps[script->step_count];
	const char *word = script_line_take(line, "a step");

	if (script->step_count == SCRIPT_STEPS_MAX)
		return script_line_complain(line, "expected at most %d steps", SCRIPT_STEPS_MAX);
	*step = (struct script_step){.line = line->number};
	snprintf(step->source, sizeof(step->source), "%s", parser->source);
	if (word[0] == '+') {
		if (!script_word_time(line, word, &step->after_ns, &step->until_ns))
			return false;
		word = script_line_take(line, "a step after the time");
		if (word == NULL)
			return false;
	}
	for (size_t i = 0; i < RNIC_COUNT_OF(verbs); i++) {
		if (strcmp(word, verbs[i].word) != 0)
			continue;
		if (step->after_ns != step->until_ns && !verbs[i].may_range)
			return script_line_complain(line, "expected one time, not a range: only >, "
							  "complete, flush and event wait");
		step->kind = verbs[i].kind;
		if (!verbs[i].parse(parser, step) || !script_line_end(line))
			return false;
		script->step_count++;
		return true;
	}
	return script_line_complain(line,
				    "expected set, region, window or a step (< > post complete "
				    "flush event state memory store counter modify unmap "
				    "deregister nothing), got '%s'",
				    word);
}

static bool parse_line(struct parser *parser)
{
	struct script_line *line = &parser->line;
	bool is_good;

	if (!script_line_split(line, parser->text))
		return false;
	if (line->word_count == 0)
		return true;
	if (script_line_accept(line, "set"))
		is_good = parse_setting(line, parser->script);
	else if (script_line_accept(line, "region"))
		is_good = parse_region(line, parser->script);
	else if (script_line_accept(line, "window"))
		is_good = parse_window(line, parser->script);
	else
		return parse_step(parser);
	return is_good && script_line_end(line);
}

/* --- the file -------------------------------------------------------------------------------- */

const struct script_region *script_find_region(const struct script *script, uint64_t address,
					       uint64_t length)
{
	for (uint32_t i = 0; i < script->region_count; i++) {
		const struct script_region *region = &script->regions[i];

		if (region->window_type == 0 && address >= region->address &&
		    rnic_range_within(address - region->address, length, region->length))
			return region;
	}
	return NULL;
}

static bool init_script(struct script *script, const char *name)
{
	*script = (struct script){
		.name = name,
		.regions = {{.name = MEM_NAME,
			     .address = MEM_ADDRESS,
			     .length = MEM_BYTES,
			     .access = ALL_ACCESS}},
		.region_count = 1,
		.steps = calloc(SCRIPT_STEPS_MAX + 1, sizeof(struct script_step)),
	};
	for (uint32_t i = 0; i < SETTING_COUNT; i++)
		script->settings[i] = settings[i].default_value;
	return script->steps != NULL;
}

void script_fini(struct script *script)
{
	free(script->steps);
	*script = (struct script){0};
}

/* Copies the next line; returns the text behind it. */
static const char *take_line(struct parser *parser, const char *text, const char *end)
{
	const char *newline = memchr(text, '\n', (size_t)(end - text));
	size_t length = (size_t)((newline != NULL ? newline : end) - text);

	parser->line.number++;
	if (length >= sizeof(parser->text)) {
		script_line_complain(&parser->line, "expected a line of at most %zu bytes",
				     sizeof(parser->text) - 1);
		length = 0;
	} else if (memchr(text, '\0', length) != NULL) {
		script_line_complain(&parser->line, "expected printable ASCII");
		length = 0;
	}
	memcpy(parser->text, text, length);
	parser->text[length] = '\0';
	snprintf(parser->source, sizeof(parser->source), "%.*s", (int)strcspn(parser->text, "#"),
		 parser->text);
	return newline != NULL ? newline + 1 : end;
}

bool script_parse(const char *name, const char *text, size_t length, struct script *out,
		  struct script_error *error)
{
	const char *end = text + length;
	struct script script;
	struct parser parser = {.script = &script};

	*error = (struct script_error){0};
	parser.line.error = error->text;
	if (!init_script(&script, name))
		return script_line_complain(&parser.line, "no memory");
	while (text < end) {
		text = take_line(&parser, text, end);
		if (error->text[0] == '\0' && parse_line(&parser))
			continue;
		error->line = parser.line.number;
		script_fini(&script);
		return false;
	}
	*out = script;
	return true;
}
