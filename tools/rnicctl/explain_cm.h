/* SPDX-License-Identifier: MIT */
/* What the messages of the connection manager say about a connection that was refused. Pure. */
#ifndef TOOLS_RNICCTL_EXPLAIN_CM_H
#define TOOLS_RNICCTL_EXPLAIN_CM_H

#include "proto/base/causes.h"
#include "tools/rnicctl/evidence.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the entry is a message of the connection manager. */
bool explain_cm_is(const struct rnic_show_record *row);

/* Whether the peer ended the connection with the message. */
bool explain_cm_is_end(const struct rnic_show_record *row);

/* Why the message refuses the connection; NULL: the message is no refusal. */
const struct rnic_cause_row *explain_cm_cause(const struct rnic_show_record *row);

/*
 * Why the connection of queue pair `qpn` did not come about, by the last message of it, which is
 * stored: a refusal, or a request that was sent again and again. NULL: it came about, or no message
 * says otherwise.
 */
const struct rnic_cause_row *explain_cm_failure(const struct evidence *evidence, uint32_t qpn,
						const struct rnic_show_record **last);

/*
 * Why a connection of the program `pid` failed, of which the trouble tells; NULL: the trouble is
 * not about a connection. `is_told` is whether a queue pair's explanation says the same.
 */
const struct rnic_cause_row *explain_cm_trouble(const struct evidence *evidence,
						const struct rnic_show_trouble *trouble,
						bool *is_told);

/* The kind of the message, as the specification writes it. */
const char *explain_cm_kind(uint32_t kind);

#endif
