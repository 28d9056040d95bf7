/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/metric_printer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* How the daemon names the counter of a rule of --fault. */
#define FAULT_PREFIX "fault "

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };

struct metric {
	const char *name; /* without rnic_ and _total */
	const char *unit; /* "" for none */
	const char *help;
	enum metric_type type;
};

struct metric_page {
	FILE *to;
	enum metric_format format;
	const struct rnic_show_device *device;
};

/* A label's value: at most `bytes` bytes, which need not end in a zero. */
static void print_label(FILE *to, const char *name, const char *value, size_t bytes)
{
	fprintf(to, "%s=\"", name);
	for (size_t i = 0; i < bytes && value[i]; i++) {
		if (value[i] == '"' || value[i] == '\\')
			fputc('\\', to);
		fputc(value[i] >= ' ' && value[i] <= '~' ? value[i] : '?', to);
	}
	fputc('"', to);
}

static const char *sample_suffix(const struct metric *metric)
{
	switch (metric->type) {
	case METRIC_COUNTER:
		return "_total";
	case METRIC_INFO:
		return "_info";
	default:
		return "";
	}
}

/* OpenMetrics names a family without the suffix of its samples, Prometheus with it. */
static void print_metric_head(const struct metric_page *page, const struct metric *metric)
{
	static const char *const open_types[] = {"counter", "gauge", "info"};
	static const char *const types[] = {"counter", "gauge", "gauge"};
	const bool is_open = page->format == METRIC_FORMAT_OPENMETRICS;
	const char *suffix = is_open ? "" : sample_suffix(metric);

	fprintf(page->to, "# HELP rnic_%s%s %s.\n", metric->name, suffix, metric->help);
	fprintf(page->to, "# TYPE rnic_%s%s %s\n", metric->name, suffix,
		(is_open ? open_types : types)[metric->type]);
	if (is_open && metric->unit[0])
		fprintf(page->to, "# UNIT rnic_%s %s\n", metric->name, metric->unit);
}

/* Up to the labels, which are open for more. */
static void begin_sample(const struct metric_page *page, const struct metric *metric)
{
	fprintf(page->to, "rnic_%s%s{", metric->name, sample_suffix(metric));
	print_label(page->to, "device", page->device->device.name,
		    sizeof(page->device->device.name));
}

static void print_metric(const struct metric_page *page, const struct metric *metric,
			 uint64_t value)
{
	print_metric_head(page, metric);
	begin_sample(page, metric);
	fprintf(page->to, "} %" PRIu64 "\n", value);
}

static void print_info(const struct metric_page *page)
{
	static const struct metric info = {"device", "", "What the device is", METRIC_INFO};
	const struct rnic_device_attributes *device = &page->device->device;

	print_metric_head(page, &info);
	begin_sample(page, &info);
	fputc(',', page->to);
	print_label(page->to, "netdev", device->netdev, sizeof(device->netdev));
	fputc(',', page->to);
	print_label(page->to, "version", device->firmware, sizeof(device->firmware));
	fprintf(page->to, ",guid=\"0x%016" PRIx64 "\"} 1\n", device->node_guid);
}

static const struct rnic_show_counter *find_counter(const struct rnic_show_counter *counters,
						    size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(counters[i].name, name, sizeof(counters[i].name)) == 0)
			return &counters[i];
	}
	return NULL;
}

static void print_counters(const struct metric_page *page, const struct rnic_show_counter *counters,
			   size_t count)
{
	static const struct {
		const char *counter;
		struct metric metric;
	} rows[] = {
#define GAUGE_METRIC(name, unit, help, value)
#define COUNTER_METRIC(counter, name, unit, help) {counter, {name, unit, help, METRIC_COUNTER}},
#include "tools/rnicctl/metric_table.def"
#undef GAUGE_METRIC
#undef COUNTER_METRIC
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rnic_show_counter *found =
			find_counter(counters, count, rows[i].counter);
		if (found)
			print_metric(page, &rows[i].metric, found->value);
	}
}

static void print_gauges(const struct metric_page *page)
{
	const struct rnic_show_device *device = page->device;

#define GAUGE_METRIC(name, unit, help, value)                                                      \
	print_metric(page, &(const struct metric){name, unit, help, METRIC_GAUGE}, value);
#define COUNTER_METRIC(counter, name, unit, help)
#include "tools/rnicctl/metric_table.def"
#undef GAUGE_METRIC
#undef COUNTER_METRIC
}

static bool metric_is_fault(const struct rnic_show_counter *counter)
{
	return strncmp(counter->name, FAULT_PREFIX, strlen(FAULT_PREFIX)) == 0;
}

static bool has_same_name(const struct rnic_show_counter *one,
			  const struct rnic_show_counter *other)
{
	return strncmp(one->name, other->name, sizeof(one->name)) == 0;
}

/*
 * The rules of --fault are labels: no table can know them. Rules whose texts are the same are one
 * sample, because a page with two samples of the same labels is refused.
 */
static void print_faults(const struct metric_page *page, const struct rnic_show_counter *counters,
			 size_t count)
{
	static const struct metric metric = {"fault_actions", "", "Packets that a fault acted on",
					     METRIC_COUNTER};
	const size_t prefix = strlen(FAULT_PREFIX);
	bool is_first = true;

	for (size_t i = 0; i < count; i++) {
		uint64_t sum = 0;
		if (!metric_is_fault(&counters[i]) ||
		    find_counter(counters, count, counters[i].name) != &counters[i])
			continue;
		for (size_t other = i; other < count; other++) {
			if (has_same_name(&counters[i], &counters[other]))
				sum += counters[other].value;
		}
		if (is_first)
			print_metric_head(page, &metric);
		is_first = false;
		begin_sample(page, &metric);
		fputc(',', page->to);
		print_label(page->to, "rule", counters[i].name + prefix,
			    sizeof(counters[i].name) - prefix);
		fprintf(page->to, "} %" PRIu64 "\n", sum);
	}
}

void metric_print(FILE *to, enum metric_format format, const struct rnic_show_device *device,
		  const struct rnic_show_counter *counters, size_t count)
{
	const struct metric_page page = {to, format, device};

	print_info(&page);
	print_gauges(&page);
	print_counters(&page, counters, count);
	print_faults(&page, counters, count);
	if (format == METRIC_FORMAT_OPENMETRICS)
		fputs("# EOF\n", to);
}
