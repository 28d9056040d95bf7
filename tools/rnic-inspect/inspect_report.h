/* SPDX-License-Identifier: MIT */
/* Prints the result on standard output: a line a packet and a summary, as text or as JSON lines. */
#ifndef TOOLS_RNIC_INSPECT_INSPECT_REPORT_H
#define TOOLS_RNIC_INSPECT_INSPECT_REPORT_H

#include "tools/rnic-inspect/judgement.h"

struct inspect_summary {
	uint64_t verdict_counts[VERDICT_COUNT];
	uint64_t unknown_link_count; /* of VERDICT_OTHER: frames of a link type that the reader does
					not know */
};

/* `time_ns` counts from the first frame of the capture. Not for VERDICT_OTHER. */
void inspect_report_text(const struct judgement *judgement, uint64_t time_ns);
void inspect_report_json(const struct judgement *judgement, uint64_t time_ns);

void inspect_summary_text(const struct inspect_summary *summary);
void inspect_summary_json(const struct inspect_summary *summary);

#endif
