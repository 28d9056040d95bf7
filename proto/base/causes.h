/* SPDX-License-Identifier: MIT */
/*
 * The causes of failures, which vendor_err of a completion names by their code: causes.def. The
 * codes stay from release to release; `rnicctl explain CODE` prints a row.
 */
#ifndef PROTO_BASE_CAUSES_H
#define PROTO_BASE_CAUSES_H

#include "proto/base/verbs_types.h"

#include <stddef.h>
#include <stdint.h>

enum rnic_cause {
	RNIC_CAUSE_PASS = 0, /* nothing is wrong: no row */
#define CAUSE(code, name, status, clause, sentence, hint) RNIC_CAUSE_##name = (code),
#include "proto/base/causes.def"
#undef CAUSE
};

struct rnic_cause_row {
	uint8_t code;		    /* enum rnic_cause */
	enum rnic_wc_status status; /* of the completion; SUCCESS: nothing completes */
	const char *name;	    /* as in causes.def */
	const char *clause;	    /* of IBTA 1.4 */
	const char *sentence;	    /* what happened */
	const char *hint;	    /* what to do */
};

/* The row numbered `index`, in the order of codes; NULL: there are no more. */
const struct rnic_cause_row *rnic_cause_row(uint32_t index);

/* The row with this code; NULL: there is none. */
const struct rnic_cause_row *rnic_cause_of(uint32_t code);

/* The row with this name, which need not end after `length` bytes; NULL: there is none. */
const struct rnic_cause_row *rnic_cause_named(const char *name, size_t length);

#endif
