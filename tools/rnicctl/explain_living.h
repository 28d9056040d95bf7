/* SPDX-License-Identifier: MIT */
/*
 * What a program has that did not fail: its connections and queue pairs, each with its state and
 * what it waits for; or the device alone.
 */
#ifndef TOOLS_RNICCTL_EXPLAIN_LIVING_H
#define TOOLS_RNICCTL_EXPLAIN_LIVING_H

#include "tools/rnicctl/explain/evidence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints which queue pair it is, in which state, and to which peer: the beginning of a line. */
void explain_living_name_qp(const struct rnic_show_qp *qp);

/*
 * Each prints the objects of process `pid`, the first ones where there are many, and returns how
 * many the program has. Those of `told` are explained elsewhere.
 */
size_t explain_living_connections(const struct evidence *evidence, uint32_t pid, bool is_json);
size_t explain_living_qps(const struct evidence *evidence, uint32_t pid, const uint32_t *told,
			  size_t told_count, bool is_json);

/*
 * Prints that the process holds the device, since when, and what it has made and what not: for one
 * of which nothing else is told. Returns how many times it holds the device.
 */
size_t explain_living_client(const struct evidence *evidence, uint32_t pid, bool is_json);

/* Says that the program is stopped; 0 when it is not, or nobody knows. */
size_t explain_living_stop(const struct evidence *evidence, uint32_t pid, bool is_json);

#endif
