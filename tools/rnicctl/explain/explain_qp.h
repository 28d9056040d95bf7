/* SPDX-License-Identifier: MIT */
/*
 * Finds the first cause of what happened to a queue pair, from what one or more daemons know. The
 * ends of a connection are found by their QPNs; the clocks of two hosts need not agree, because
 * both records tell of the same NAKs and of the moment at which both ends were connected. Where
 * neither is there, only what needs no clock counts. Pure.
 */
#ifndef TOOLS_RNICCTL_EXPLAIN_QP_H
#define TOOLS_RNICCTL_EXPLAIN_QP_H

#include "tools/rnicctl/explain/explanation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_SOURCES_MAX 8

/*
 * Explains queue pair `qpn` of sources[0]; the others may have its peer. False: sources[0] has
 * nothing of the queue pair. The steps point into the sources.
 */
bool explain_qp(const struct evidence *sources, size_t source_count, uint32_t qpn,
		struct explanation *explanation);

#endif
