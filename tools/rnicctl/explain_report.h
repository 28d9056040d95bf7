/* SPDX-License-Identifier: MIT */
/* Chooses what to explain: a queue pair, a program, or the last failure; and prints explanations.
 */
#ifndef TOOLS_RNICCTL_EXPLAIN_REPORT_H
#define TOOLS_RNICCTL_EXPLAIN_REPORT_H

#include "tools/rnicctl/explain/evidence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to explain, and from what: sources[0] is the asked daemon's. */
struct explain_request {
	const struct evidence *sources;
	size_t source_count;
	bool json;
	bool only_trouble; /* nothing is told of queue pairs that ended well */
};

/*
 * Each prints explanations, and returns how many; 0: the daemon knows nothing of the queue pair, of
 * a program of this name or pid, or of any failure. Of several processes of one name, the last one
 * comes first.
 */
size_t explain_report_qp(const struct explain_request *request, uint32_t qpn);
size_t explain_report_program(const struct explain_request *request, const char *name_or_pid);
size_t explain_report_last(const struct explain_request *request);

#endif
