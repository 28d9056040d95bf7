/* SPDX-License-Identifier: MIT */
/*
 * Prints a device and its counters as metrics, by the rows of metric_table.def: in the text format
 * of Prometheus, which node_exporter's textfile collector reads, or as OpenMetrics. The rows come
 * from a daemon; texts in them are escaped and never end a line or a label.
 */
#ifndef TOOLS_RNICCTL_METRIC_PRINTER_H
#define TOOLS_RNICCTL_METRIC_PRINTER_H

#include "proto/ctl/ctl_message.h"

#include <stdio.h>

enum metric_format { METRIC_FORMAT_PROMETHEUS, METRIC_FORMAT_OPENMETRICS };

/* A counter that the table lacks, of a later daemon, is left out; one that `counters` lacks, too.
 */
void metric_print(FILE *to, enum metric_format format, const struct rnic_show_device *device,
		  const struct rnic_show_counter *counters, size_t count);

#endif
