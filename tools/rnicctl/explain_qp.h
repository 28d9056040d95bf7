/* SPDX-License-Identifier: MIT */
/*
 * Finds the first cause of what happened to a queue pair, from what one or more daemons know. The
 * ends of a connection are found by their QPNs; the clocks of two hosts need not agree, because
 * both records tell of the same NAKs and of the moment at which both ends were connected. Where
 * neither is there, only what needs no clock counts. Pure.
 */
#ifndef TOOLS_RNICCTL_EXPLAIN_QP_H
#define TOOLS_RNICCTL_EXPLAIN_QP_H

#include "proto/base/causes.h"
#include "tools/rnicctl/evidence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_SOURCES_MAX 8
#define EXPLAIN_STEPS_MAX   24
#define EXPLAIN_KEPT_FIRST  6 /* steps that stay when there are too many */
#define EXPLAIN_TEXT_BYTES  320

struct explanation_step {
	double ms; /* before the error */
	bool at_peer;
	bool is_undated; /* the peer's clock is unknown: `ms` only orders these steps */
	bool is_cause;
	const struct rnic_show_record *row;
};

struct explanation {
	uint32_t qpn;
	uint32_t peer_qpn;
	uint32_t pid;
	char program[RNIC_CTL_NAME_BYTES];
	const struct rnic_cause_row *cause; /* the first one; NULL: nothing went wrong */
	bool at_peer;			    /* the first cause is the other end's */
	bool is_undetermined;		    /* `detail` says between what, and what would decide */
	const struct rnic_cause_row *error; /* what the program saw; NULL: nothing */
	char detail[EXPLAIN_TEXT_BYTES];
	char recovery[EXPLAIN_TEXT_BYTES]; /* which requests may have been executed; or "" */
	char gaps[EXPLAIN_TEXT_BYTES];	   /* what the records lack; or "" */
	struct explanation_step steps[EXPLAIN_STEPS_MAX];
	size_t step_count;
	size_t left_out; /* steps between the first and the last ones */
};

/*
 * Explains queue pair `qpn` of sources[0]; the others may have its peer. False: sources[0] has
 * nothing of the queue pair. The steps point into the sources.
 */
bool explain_qp(const struct evidence *sources, size_t source_count, uint32_t qpn,
		struct explanation *explanation);

/* Writes what the step says, a part of a sentence. */
void explain_step_text(const struct rnic_show_record *row, char *text, size_t bytes);

#endif
