/* SPDX-License-Identifier: MIT */
/*
 * Plays a scenario on daemons while a program runs. A process of its own does so, which unloads
 * everything when rnic-run says so, and also when rnic-run ends in any other way.
 */
#ifndef TOOLS_RNIC_RUN_SCENARIO_PLAY_H
#define TOOLS_RNIC_RUN_SCENARIO_PLAY_H

#include "lib/client/native/socket_list.h"
#include "tools/rnic-run/scenario_file.h"

#include <sys/types.h>

/* What the process tells; in memory that both have. */
struct scenario_report {
	uint64_t hits[SCENARIO_LINES_MAX]; /* by the place in scenario.lines */
	/* As in rnic_show_fault: which process of the daemon has acted by a rule. */
	uint32_t actors[SCENARIO_LINES_MAX];
};

struct scenario_play {
	pid_t pid;
	int stop_fd; /* the process ends when this end is closed */
	struct scenario_report *report;
};

/*
 * Begins. What is for the beginning is there when this returns. The scenario and the list must stay
 * as they are. Negative errno after a complaint.
 */
int scenario_play_start(struct scenario_play *play, const struct scenario *scenario,
			const struct rnic_socket_list *sockets);

/* Unloads everything, and stores the hits. */
void scenario_play_end(struct scenario_play *play, struct scenario_report *report);

/* Prints the hits of each line to standard error. */
void scenario_report_print(const struct scenario *scenario, const struct scenario_report *report);

#endif
