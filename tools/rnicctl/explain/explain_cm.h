/* SPDX-License-Identifier: MIT */
/* What the messages of the connection manager say about a connection that was refused. Pure. */
#ifndef TOOLS_RNICCTL_EXPLAIN_CM_H
#define TOOLS_RNICCTL_EXPLAIN_CM_H

#include "proto/base/causes.h"
#include "tools/rnicctl/explain/evidence.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the entry is a message of the connection manager. */
bool explain_cm_is(const struct rnic_show_record *row);

/* Whether the program had let go of the connection, or ended, when the message came or went. */
bool explain_cm_is_late(const struct rnic_show_record *row);

/* Whether the peer ended the connection with the message, and its program was there to see it. */
bool explain_cm_is_end(const struct rnic_show_record *row);

/* Why the message refuses the connection; NULL: the message is no refusal. */
const struct rnic_cause_row *explain_cm_cause(const struct rnic_show_record *row);

/*
 * Why the connection of queue pair `qpn` did not come about, by the last message that its program
 * lived to see, which is stored: a refusal, or a request that was sent again and again. NULL: it
 * came about, or no message says otherwise.
 */
const struct rnic_cause_row *explain_cm_failure(const struct evidence *evidence, uint32_t qpn,
						const struct rnic_show_record **last);

/* Whether the peer's connection manager sent anything to queue pair `qpn`. */
bool explain_cm_has_heard(const struct evidence *evidence, uint32_t qpn);

/* Whether the explanation of a queue pair says the same as the trouble about its connection. */
bool explain_cm_tells(const struct evidence *evidence, const struct rnic_show_trouble *trouble);

#endif
