/* SPDX-License-Identifier: MIT */
/*
 * The language of scenarios: what shall go wrong while a program runs, and when. One rule a line:
 *
 *     LINE    = [ "at" TIME ] [ "for" TIME ] [ "on" DEVICE ] WHAT [ "#" COMMENT ]
 *     WHAT    = a rule of faults, as of rnicd --fault and rnicctl fault add (fault_rule.h)
 *             | "link" ( "down" | "up" | "flap" DOWN [ "/" UP ] | "renumber" )
 *             | "event" ( "port-err" | "port-active" | "gid-change" | "device-fatal"
 *                       | "qp-fatal" QPN | "cq-err" CQ | "srq-err" SRQN )
 *             | "qp" "error" QPN
 *
 * "at" is the time since the program began, "for" how long a rule stays or the link is down;
 * without them a line is there from the beginning, and to the end. DEVICE is rnicN, the place of
 * the daemon's socket, or a network interface; without one the line concerns all devices. QPN may
 * be #N, the Nth queue pair that is there at that time. A comment begins at the beginning of a
 * line, or behind a blank and before one.
 */
#ifndef TOOLS_RNIC_RUN_SCENARIO_FILE_H
#define TOOLS_RNIC_RUN_SCENARIO_FILE_H

#include "proto/base/verbs_types.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>

#define SCENARIO_LINES_MAX   64
#define SCENARIO_TEXT_BYTES  256
#define SCENARIO_NAME_BYTES  256
#define SCENARIO_FAULT_BYTES (SCENARIO_NAME_BYTES + 300)

struct scenario_line {
	uint32_t number; /* of the line in its file, from 1 on */
	uint64_t at_ns;
	uint64_t for_ns;		     /* 0: to the end */
	char device[RNIC_DEVICE_NAME_BYTES]; /* empty: all */
	enum rnic_condition condition;	     /* FAULT_ADD: a rule */
	bool needs_process;		     /* a rule that reaches device processes alone */
	char object[32];		     /* of the condition; empty: none */
	char rule[SCENARIO_TEXT_BYTES];	     /* the text of the rule; empty: none */
	char text[SCENARIO_TEXT_BYTES];	     /* the line, without its comment */
};

struct scenario {
	char name[SCENARIO_NAME_BYTES]; /* of the file */
	bool is_quiet; /* says nothing of what is not possible when its time has come */
	uint32_t count;
	struct scenario_line lines[SCENARIO_LINES_MAX];
};

/*
 * Adds what the line says; nothing, if that is a comment or blank. -EINVAL with a sentence in
 * `message`, which names file, line and column, and what is expected there.
 */
int scenario_add_line(struct scenario *scenario, const char *text, uint32_t number,
		      char message[SCENARIO_FAULT_BYTES]);

/* Whether the line brings the link down, so that its end brings the link up. */
bool scenario_line_cuts(const struct scenario_line *line);

/* The line without the blanks at its beginning. */
const char *scenario_line_words(const struct scenario_line *line);

/* Reads a file. Errors as of scenario_add_line(), and a negative errno of reading. */
int scenario_read(struct scenario *scenario, const char *path, char message[SCENARIO_FAULT_BYTES]);

#endif
