/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/explore_fault.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const class_names[EXPLORE_CLASS_COUNT] = {
	[EXPLORE_LOSS] = "loss",   [EXPLORE_ERRNO] = "errno", [EXPLORE_EVENTS] = "events",
	[EXPLORE_ORDER] = "order", [EXPLORE_DELAY] = "delay",
};

/* The name of a place in a form, and from how much to how much a number may be. */
static const struct {
	const char *name;
	uint64_t least;
	uint64_t most; /* 0: not a number, or one that the program decides */
} places[EXPLORE_PLACE_COUNT] = {
	[EXPLORE_PACKET] = {"{packet}", 0, 0},
	[EXPLORE_WORK] = {"{work}", 0, 0},
	[EXPLORE_CALL] = {"{call}", 0, 0},
	[EXPLORE_ERROR_CODE] = {"{errno}", 0, 0},
	[EXPLORE_STATUS] = {"{status}", 0, 0},
	[EXPLORE_NTH] = {"{nth}", 1, 0},
	[EXPLORE_FEW] = {"{few}", 1, 8},
	[EXPLORE_FIRST] = {"{first}", 1, 8},
	[EXPLORE_AT] = {"", 1000, 0},
	[EXPLORE_STAY] = {"", 1000, 4000000},
	[EXPLORE_DELAY_TIME] = {"{delay}", 100, 400000},
};

/* When a line begins and ends; bits of a form's frame. */
enum explore_frame {
	FRAME_AT = 1 << 0,
	FRAME_STAY = 1 << 1,
	FRAME_NEEDS_AT = 1 << 2, /* there is nothing for it before the program begins */
};

/* "{way}" and "{packet}" are the direction and the opcode of one target. */
static const struct {
	enum explore_class group;
	uint32_t frame;
	const char *text;
} forms[] = {
	{EXPLORE_LOSS, 0, "{way}drop@{packet}/nth={nth}"},
	{EXPLORE_LOSS, 0, "{way}drop@{packet}/first={first}"},
	{EXPLORE_LOSS, FRAME_AT | FRAME_STAY, "{way}drop@{packet}"},
	{EXPLORE_LOSS, FRAME_AT | FRAME_STAY, "{way}drop@{packet}/every={few}"},
	{EXPLORE_LOSS, 0, "{way}corrupt@{packet}/nth={nth}"},
	{EXPLORE_ERRNO, 0, "fail={errno}@{call}/nth={few}"},
	{EXPLORE_ERRNO, FRAME_AT, "fail={errno}@{call}/count={few}"},
	{EXPLORE_ERRNO, 0, "cq:status={status}@{work}/nth={nth}"},
	{EXPLORE_EVENTS, FRAME_AT | FRAME_STAY, "link down"},
	{EXPLORE_EVENTS, FRAME_AT, "event port-err"},
	{EXPLORE_EVENTS, FRAME_AT, "event gid-change"},
	{EXPLORE_EVENTS, FRAME_AT, "event device-fatal"},
	{EXPLORE_EVENTS, FRAME_AT | FRAME_NEEDS_AT, "event qp-fatal #{few}"},
	{EXPLORE_EVENTS, FRAME_AT | FRAME_NEEDS_AT, "qp error #{few}"},
	{EXPLORE_ORDER, 0, "{way}duplicate@{packet}/nth={nth}"},
	{EXPLORE_ORDER, 0, "{way}reorder@{packet}/nth={nth}/behind={few}"},
	{EXPLORE_ORDER, 0, "{way}reorder@{packet}/every={few}"},
	{EXPLORE_ORDER, 0, "cq:reorder@{work}"},
	{EXPLORE_DELAY, 0, "{way}delay={delay}@{packet}/nth={nth}"},
	{EXPLORE_DELAY, FRAME_AT | FRAME_STAY, "{way}delay={delay}@{packet}"},
	{EXPLORE_DELAY, 0, "cq:delay={delay}@{work}/nth={nth}"},
	{EXPLORE_DELAY, FRAME_AT | FRAME_STAY, "cq:delay={delay}@{work}"},
	{EXPLORE_DELAY, 0, "rnr/nth={nth}"},
	{EXPLORE_DELAY, FRAME_AT | FRAME_STAY, "rnr"},
};

static const char *const packet_names[] = {
	"rc-send",	    "rc-write",	      "rc-read-request",
	"rc-read-response", "rc-acknowledge", "rc-atomic-acknowledge",
	"rc-compare-swap",  "rc-fetch-add",   "uc-send",
	"uc-write",	    "ud-send",
};

static const char *const work_names[] = {
	"send", "rdma-write", "rdma-read", "comp-swap", "fetch-add", "recv", "recv-rdma-with-imm",
};

static const char *const call_names[] = {
	"alloc_pd",   "reg_mr",	   "create_cq",	 "create_qp",	    "create_comp_channel",
	"modify_qp",  "post_send", "post_recv",	 "query_port",	    "query_gid",
	"create_srq", "create_ah", "cm_connect", "cm_resolve_addr",
};

static const char *const errno_names[] = {"ENOMEM", "EAGAIN", "EINVAL", "EIO"};

static const char *const status_names[] = {
	"RETRY_EXC_ERR",  "RNR_RETRY_EXC_ERR", "WR_FLUSH_ERR",
	"REM_ACCESS_ERR", "LOC_PROT_ERR",      "REM_OP_ERR",
};

static bool form_has(uint32_t form, const char *name)
{
	return strstr(forms[form].text, name) != NULL;
}

static bool form_is_rnr(uint32_t form)
{
	return strncmp(forms[form].text, "rnr", strlen("rnr")) == 0;
}

static bool form_has_place(uint32_t form, uint32_t place)
{
	switch (place) {
	case EXPLORE_PACKET:
		return form_has(form, "{way}") || form_is_rnr(form);
	case EXPLORE_AT:
		return (forms[form].frame & FRAME_AT) != 0;
	case EXPLORE_STAY:
		return (forms[form].frame & FRAME_STAY) != 0;
	default:
		return form_has(form, places[place].name);
	}
}

int explore_classes_read(const char *text, uint32_t *classes)
{
	*classes = 0;
	for (;;) {
		const size_t length = strcspn(text, ",");
		uint32_t group = 0;

		while (group < EXPLORE_CLASS_COUNT &&
		       (strlen(class_names[group]) != length ||
			strncmp(class_names[group], text, length) != 0))
			group++;
		if (group == EXPLORE_CLASS_COUNT)
			return -EINVAL;
		*classes |= 1u << group;
		if (text[length] == '\0')
			return 0;
		text += length + 1;
	}
}

/* --- what there is to spoil ------------------------------------------------------------------- */

static void add_targets(struct explore_profile *profile, const char *way, const char *const *names,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		profile->targets[profile->target_count++] =
			(struct explore_target){.way = way, .name = names[i]};
}

void explore_profile_init(struct explore_profile *profile, bool has_packets)
{
	*profile = (struct explore_profile){0};
	add_targets(profile, "cq:", work_names, RNIC_COUNT_OF(work_names));
	if (!has_packets)
		return;
	add_targets(profile, "tx:", packet_names, RNIC_COUNT_OF(packet_names));
	add_targets(profile, "rx:", packet_names, RNIC_COUNT_OF(packet_names));
}

void explore_target_probe(const struct explore_target *target, char text[SCENARIO_TEXT_BYTES])
{
	snprintf(text, SCENARIO_TEXT_BYTES, "%sdelay=0ns@%s", target->way, target->name);
}

/* Only an acknowledgement that is sent can say that a receiver was not ready. */
static bool target_suits(const struct explore_target *target, uint32_t form)
{
	const bool is_work = strcmp(target->way, "cq:") == 0;

	if (target->count == 0 || is_work != form_has(form, "{work}"))
		return false;
	return !form_is_rnr(form) ||
	       (strcmp(target->name, "rc-acknowledge") == 0 && strcmp(target->way, "tx:") == 0);
}

/*
 * Uniform in [0, bound), by one number of the generator whatever the bound: a run that takes longer
 * than another, or has one packet more, does not change all that is drawn behind.
 */
static uint64_t draw_below(struct prng *prng, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)prng_next(prng) * bound >> 64);
}

/* Draws one of the targets that suit the form; EXPLORE_TARGETS_MAX: none does. */
static uint32_t draw_target(struct prng *prng, const struct explore_profile *profile, uint32_t form)
{
	uint32_t places_of[EXPLORE_TARGETS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->target_count; i++)
		if (target_suits(&profile->targets[i], form))
			places_of[count++] = i;
	return count != 0 ? places_of[draw_below(prng, count)] : EXPLORE_TARGETS_MAX;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Two digits are enough for numbers that people read. */
static uint64_t round_number(uint64_t number)
{
	uint64_t unit = 1;

	while (number / unit >= 100)
		unit *= 10;
	return number / unit * unit;
}

/* Small numbers as often as large ones: each doubling is as likely as the next. */
static uint64_t draw_number(struct prng *prng, uint64_t least, uint64_t most)
{
	uint32_t doublings = 0;
	uint64_t from, to;

	while (least << (doublings + 1) <= most)
		doublings++;
	from = least << draw_below(prng, doublings + 1);
	to = 2 * from - 1 < most ? 2 * from - 1 : most;
	return from + draw_below(prng, to - from + 1);
}

/*
 * Delays add up where a program waits for one thing after another. A right program has to end in
 * time, so that all delays of one line together take no longer than EXPLORE_DELAYS_MAX_US in a run
 * as it was without faults.
 */
static uint64_t draw_delay(struct prng *prng, const struct explore_target *target, uint32_t form)
{
	const uint64_t times = form_has_place(form, EXPLORE_NTH) ? 1 : target->count;
	const uint64_t share = EXPLORE_DELAYS_MAX_US / times;
	uint64_t least = places[EXPLORE_DELAY_TIME].least;
	uint64_t most = places[EXPLORE_DELAY_TIME].most;

	if (most > share)
		most = share > 0 ? share : 1;
	if (least > most)
		least = most;
	return round_number(draw_number(prng, least, most));
}

static void draw_values(struct prng *prng, const struct explore_profile *profile, uint32_t target,
			struct explore_fault *fault)
{
	const uint64_t counts[EXPLORE_PLACE_COUNT] = {
		[EXPLORE_CALL] = RNIC_COUNT_OF(call_names),
		[EXPLORE_ERROR_CODE] = RNIC_COUNT_OF(errno_names),
		[EXPLORE_STATUS] = RNIC_COUNT_OF(status_names),
	};
	const uint64_t run_us = profile->duration_us > 1000 ? profile->duration_us : 1001;

	for (uint32_t place = 0; place < EXPLORE_PLACE_COUNT; place++) {
		uint64_t *value = &fault->values[place];

		if (!form_has_place(fault->form, place))
			continue;
		if (place == EXPLORE_PACKET || place == EXPLORE_WORK)
			*value = target;
		else if (counts[place] != 0)
			*value = draw_below(prng, counts[place]);
		else if (place == EXPLORE_AT)
			*value = round_number(1000 + draw_below(prng, run_us - 1000));
		else if (place == EXPLORE_STAY && draw_below(prng, 3) == 0)
			*value = 0; /* to the end */
		else if (place == EXPLORE_NTH)
			*value = draw_number(prng, 1, profile->targets[target].count);
		else if (place == EXPLORE_DELAY_TIME)
			*value = draw_delay(prng, &profile->targets[target], fault->form);
		else
			*value = round_number(
				draw_number(prng, places[place].least, places[place].most));
	}
}

/* Draws a fault of the class; false: none suits. */
static bool draw_fault(struct prng *prng, const struct explore_profile *profile,
		       enum explore_class group, struct explore_fault *fault)
{
	uint32_t choices[RNIC_COUNT_OF(forms)], targets[RNIC_COUNT_OF(forms)];
	uint32_t count = 0;

	for (uint32_t form = 0; form < RNIC_COUNT_OF(forms); form++) {
		const bool needs_target =
			form_has_place(form, EXPLORE_PACKET) || form_has_place(form, EXPLORE_WORK);
		const uint32_t target = draw_target(prng, profile, form);

		if (forms[form].group != group || (needs_target && target == EXPLORE_TARGETS_MAX))
			continue;
		choices[count] = form;
		targets[count++] = target;
	}
	if (count == 0)
		return false;
	count = (uint32_t)draw_below(prng, count);
	*fault = (struct explore_fault){.form = choices[count]};
	draw_values(prng, profile, targets[count], fault);
	return true;
}

bool explore_draw(struct prng *prng, const struct explore_profile *profile, uint32_t classes,
		  struct explore_faults *faults)
{
	uint32_t attempts = 0;

	*faults = (struct explore_faults){0};
	do {
		const uint32_t group = (uint32_t)draw_below(prng, EXPLORE_CLASS_COUNT);

		if ((classes >> group & 1) != 0 &&
		    draw_fault(prng, profile, (enum explore_class)group,
			       &faults->faults[faults->count]))
			faults->count++;
		attempts++;
	} while ((faults->count == 0 && attempts < 100) ||
		 (faults->count < EXPLORE_FAULTS_MAX && draw_below(prng, 2) == 0));
	return faults->count != 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static const char *explore_time_text(uint64_t time_us, char room[24])
{
	const bool is_whole = time_us % 1000 == 0;

	snprintf(room, 24, "%" PRIu64 "%s", is_whole ? time_us / 1000 : time_us,
		 is_whole ? "ms" : "us");
	return room;
}

static const char *value_text(const struct explore_profile *profile, uint32_t place, uint64_t value,
			      char room[24])
{
	switch (place) {
	case EXPLORE_PACKET:
	case EXPLORE_WORK:
		return profile->targets[value].name;
	case EXPLORE_CALL:
		return call_names[value];
	case EXPLORE_ERROR_CODE:
		return errno_names[value];
	case EXPLORE_STATUS:
		return status_names[value];
	case EXPLORE_DELAY_TIME:
		return explore_time_text(value, room);
	default:
		snprintf(room, 24, "%" PRIu64, value);
		return room;
	}
}

/* The word for the place at `*at`, and goes on behind the place; NULL: there is none. */
static const char *next_value(const struct explore_profile *profile,
			      const struct explore_fault *fault, const char **at, char room[24])
{
	static const char way[] = "{way}";

	for (uint32_t place = 0; place < EXPLORE_PLACE_COUNT; place++) {
		const size_t length = strlen(places[place].name);

		if (length == 0 || strncmp(*at, places[place].name, length) != 0)
			continue;
		*at += length;
		return value_text(profile, place, fault->values[place], room);
	}
	if (strncmp(*at, way, strlen(way)) != 0)
		return NULL;
	*at += strlen(way);
	return profile->targets[fault->values[EXPLORE_PACKET]].way;
}

void explore_fault_text(const struct explore_profile *profile, const struct explore_fault *fault,
			char text[SCENARIO_TEXT_BYTES])
{
	const char *at = forms[fault->form].text;
	char room[24];
	int length = 0;

	if (fault->values[EXPLORE_AT] != 0)
		length += snprintf(text, SCENARIO_TEXT_BYTES, "at %s ",
				   explore_time_text(fault->values[EXPLORE_AT], room));
	if (fault->values[EXPLORE_STAY] != 0)
		length += snprintf(text + length, SCENARIO_TEXT_BYTES - length, "for %s ",
				   explore_time_text(fault->values[EXPLORE_STAY], room));
	while (*at != '\0') {
		const char *word = next_value(profile, fault, &at, room);

		if (word != NULL)
			length += snprintf(text + length, SCENARIO_TEXT_BYTES - length, "%s", word);
		else
			text[length++] = *at++;
	}
	text[length] = '\0';
}

/* --- simpler faults --------------------------------------------------------------------------- */

/* The least that the value may be: without times a line is there all the time. */
static uint64_t least_value(const struct explore_fault *fault, uint32_t place)
{
	const bool may_be_left_out =
		place == EXPLORE_STAY ||
		(place == EXPLORE_AT && (forms[fault->form].frame & FRAME_NEEDS_AT) == 0);

	return may_be_left_out ? 0 : places[place].least;
}

bool explore_fault_simplify(struct explore_fault *fault, uint32_t step)
{
	for (uint32_t place = EXPLORE_NTH; place < EXPLORE_PLACE_COUNT; place++) {
		uint64_t *value = &fault->values[place];
		const uint64_t least = places[place].least;
		const uint64_t half = round_number(*value / 2);

		/* Two ways each: the least at once, and half as much. */
		if (*value <= least_value(fault, place))
			continue;
		if (step == 0) {
			*value = least_value(fault, place);
			return true;
		}
		if (step == 1 && *value > least) {
			*value = half > least ? half : least;
			return true;
		}
		step -= *value > least ? 2 : 1;
	}
	return false;
}

bool explore_fault_strengthen(struct explore_fault *fault)
{
	static const enum explore_place strong[] = {EXPLORE_FIRST, EXPLORE_STAY,
						    EXPLORE_DELAY_TIME};
	uint64_t sum = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(strong); i++)
		sum += fault->values[strong[i]] *= 2;
	return sum != 0;
}
