/* SPDX-License-Identifier: MIT */
/* What is said of a queue pair: the first cause, and the chain of what happened at both ends. */
#ifndef TOOLS_RNICCTL_EXPLANATION_H
#define TOOLS_RNICCTL_EXPLANATION_H

#include "proto/base/causes.h"
#include "tools/rnicctl/explain/evidence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_STEPS_MAX  24
#define EXPLAIN_KEPT_FIRST 6 /* steps that stay when there are too many */
#define EXPLAIN_TEXT_BYTES 320

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
	const struct rnic_show_qp *qp;	    /* the queue pair; NULL: it has ended */
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

/* Writes what the step says, a part of a sentence. */
void explain_step_text(const struct rnic_show_record *row, char *text, size_t bytes);

/* Writes who stopped the program of the client, and how it goes on: whole sentences. */
void explain_stop_text(const struct rnic_show_client *client, char *text, size_t bytes);

#endif
