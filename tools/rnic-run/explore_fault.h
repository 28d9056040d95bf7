/* SPDX-License-Identifier: MIT */
/*
 * The faults that rnic-run --explore tries: forms of lines of a scenario, with places for what is
 * drawn. The forms know nothing of a program; what there is to spoil comes from a run without
 * faults. Pure.
 */
#ifndef TOOLS_RNIC_RUN_EXPLORE_FAULT_H
#define TOOLS_RNIC_RUN_EXPLORE_FAULT_H

#include "lib/nic/base/prng.h"
#include "tools/rnic-run/scenario_file.h"

#define EXPLORE_FAULTS_MAX  4 /* in one scenario */
#define EXPLORE_TARGETS_MAX 64

/* The most that a line delays in sum, a part of the time that a run may take. */
#define EXPLORE_DELAYS_MAX_US UINT64_C(4000000)

enum explore_class {
	EXPLORE_LOSS,
	EXPLORE_ERRNO,
	EXPLORE_EVENTS,
	EXPLORE_ORDER,
	EXPLORE_DELAY,
	EXPLORE_CLASS_COUNT,
};

#define EXPLORE_ALL_CLASSES ((1u << EXPLORE_CLASS_COUNT) - 1)

/* What a form leaves open, and a draw decides. */
enum explore_place {
	EXPLORE_PACKET, /* which packets: a direction and an opcode */
	EXPLORE_WORK,	/* which completions */
	EXPLORE_CALL,
	EXPLORE_ERROR_CODE, /* of a call */
	EXPLORE_STATUS,	    /* of a completion */
	EXPLORE_NTH,	    /* of those that a run has */
	EXPLORE_FEW,
	EXPLORE_FIRST,	    /* so many from the first on */
	EXPLORE_AT,	    /* microseconds; 0: from before the program begins */
	EXPLORE_STAY,	    /* microseconds; 0: to the end */
	EXPLORE_DELAY_TIME, /* microseconds */
	EXPLORE_PLACE_COUNT,
};

struct explore_target {
	const char *way;  /* "tx:", "rx:" or "cq:" */
	const char *name; /* an opcode, or a kind of work */
	uint64_t count;	  /* how many a run has */
};

/* What a run of the program has, that could be spoiled. */
struct explore_profile {
	uint64_t duration_us;
	uint32_t target_count;
	struct explore_target targets[EXPLORE_TARGETS_MAX];
};

struct explore_fault {
	uint32_t form;
	uint64_t values[EXPLORE_PLACE_COUNT]; /* of the places that the form has; else 0 */
};

struct explore_faults {
	uint32_t count;
	struct explore_fault faults[EXPLORE_FAULTS_MAX];
};

/* Reads names with commas between. -EINVAL: one is none. */
int explore_classes_read(const char *text, uint32_t *classes);

/* All targets that a program may have, without counts; those of packets only if asked for. */
void explore_profile_init(struct explore_profile *profile, bool has_packets);

/* The text of a rule that counts the target, and does nothing. */
void explore_target_probe(const struct explore_target *target, char text[SCENARIO_TEXT_BYTES]);

/* Draws one fault or a few of these classes. False: they have nothing that the program could meet.
 */
bool explore_draw(struct prng *prng, const struct explore_profile *profile, uint32_t classes,
		  struct explore_faults *faults);

/* The line of a scenario. */
void explore_fault_text(const struct explore_profile *profile, const struct explore_fault *fault,
			char text[SCENARIO_TEXT_BYTES]);

/*
 * Makes the fault simpler in its way `step`, from 0 on: a smaller number, an earlier time, a
 * shorter one. False: there is no such way.
 */
bool explore_fault_simplify(struct explore_fault *fault, uint32_t step);

/* Makes it twice as long or as many. False: the fault has no such number. */
bool explore_fault_strengthen(struct explore_fault *fault);

#endif
