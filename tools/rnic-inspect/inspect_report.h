/* SPDX-License-Identifier: MIT */
/* Prints the result on standard output: a line a packet and a summary, as text or as JSON lines. */
#ifndef TOOLS_RNIC_INSPECT_INSPECT_REPORT_H
#define TOOLS_RNIC_INSPECT_INSPECT_REPORT_H

#include "tools/rnic-inspect/judgement.h"

struct inspect_summary {
	uint64_t verdict_counts[VERDICT_COUNT];
};

/* Whether a frame with this verdict is, or was meant to be, a RoCEv2 packet. */
bool inspect_is_roce(enum verdict verdict);

/* For inspect_is_roce(). `time_ns` counts from the first frame of the capture. */
void inspect_report_text(const struct judgement *judgement, uint64_t time_ns);
void inspect_report_json(const struct judgement *judgement, uint64_t time_ns);

void inspect_summary_text(const struct inspect_summary *summary);
void inspect_summary_json(const struct inspect_summary *summary);

#endif
