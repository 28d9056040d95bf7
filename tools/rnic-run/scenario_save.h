/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNIC_RUN_SCENARIO_SAVE_H
#define TOOLS_RNIC_RUN_SCENARIO_SAVE_H

#include "tools/rnic-run/scenario_play.h"

/*
 * Writes what a run was: a scenario in which each rule that draws packets by chance is replaced by
 * one rule for each packet that it hit, the nth of those that it applied to. A rule that hit too
 * many, or packets of several processes, stays as it is, and a comment says so. Negative errno
 * after a complaint.
 */
int scenario_save(const struct scenario *scenario, const struct scenario_report *report,
		  const char *path);

/*
 * Stores which of the packets that the rule applied to it hit, from 1 on, where it hit `hits` by
 * chance in the process of `lane`. Negative errno when the rule cannot have done so.
 */
int scenario_hits_find(const char *rule, uint32_t lane, uint64_t hits, uint64_t *nths);

/* Copies the text of the rule without what says how packets are drawn. */
void scenario_rule_without_chance(const char *rule, char text[SCENARIO_TEXT_BYTES]);

#endif
