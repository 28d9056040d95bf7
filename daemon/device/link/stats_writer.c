/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/stats_writer.h"

#include "daemon/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

int stats_writer_open(struct stats_writer *writer, int fd)
{
	struct stat status;
	void *address;

	memset(writer, 0, sizeof(*writer));
	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_size < (off_t)sizeof(struct rnic_stats_file))
		return -EINVAL;
	address = mmap(NULL, sizeof(struct rnic_stats_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);
	if (address == MAP_FAILED)
		return -errno;
	writer->file = address;
	writer->stats = &writer->file->page;
	writer->stats->magic = RNIC_STATS_MAGIC;
	writer->stats->bytes = sizeof(struct rnic_stats_page);
	writer->has_change = true;
	return 0;
}

void stats_writer_close(struct stats_writer *writer)
{
	munmap(writer->file, sizeof(*writer->file));
	writer->file = NULL;
	writer->stats = NULL;
}

/* A counter keeps its entry: all kinds have as many counters as at the first call. */
static void stats_writer_put(struct stats_writer *writer, uint32_t *next, enum rnic_stats_kind kind,
			     const char *name, uint64_t value)
{
	const uint32_t i = (*next)++;
	struct rnic_stats_counter *entry;

	if (i >= RNIC_STATS_COUNTERS_MAX)
		return;
	entry = &writer->stats->counters[i];
	atomic_store_explicit(&entry->value, value, memory_order_relaxed);
	if (i < writer->counter_count)
		return;
	entry->kind = kind;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	writer->counter_count = i + 1;
	atomic_store_explicit(&writer->stats->counter_count, i + 1, memory_order_release);
}

/* Once more after the last rule has gone, for the page to say so. */
static void stats_writer_refresh_rules(struct stats_writer *writer, const struct device *device)
{
	const bool has_rules = device_has_rules(device);
	uint64_t hits;
	uint32_t id;

	if (!has_rules && !writer->shows_rules)
		return;
	for (uint32_t slot = 0; slot < RNIC_RULES_MAX; slot++) {
		device_rule_read(device, slot, &id, &hits);
		rnic_stats_rule_store(&writer->stats->rules[slot], id, hits);
	}
	writer->shows_rules = has_rules;
}

void stats_writer_refresh(struct stats_writer *writer, const struct device *device, uint64_t now_ns)
{
	const char *name;
	uint64_t value;
	uint32_t next = 0;

	for (uint32_t i = 0; device_counter(device, i, &name, &value); i++)
		stats_writer_put(writer, &next, RNIC_STATS_DEVICE, name, value);
	for (uint32_t i = 0; device_port_counter(device, i, &name, &value); i++)
		stats_writer_put(writer, &next, RNIC_STATS_PORT, name, value);
	stats_writer_put(writer, &next, RNIC_STATS_FAULT, RNIC_STATS_QUEUE_FULL,
			 device_lost_by_faults(device));
	stats_writer_refresh_rules(writer, device);
	if (writer->has_change)
		device_fill_stats(device, writer->stats);
	writer->has_change = false;
	writer->refreshed_ns = now_ns;
}

static uint64_t stats_writer_interval_ns(const struct stats_writer *writer)
{
	return writer->has_change ? STATS_WRITER_CHANGE_NS : STATS_WRITER_REFRESH_NS;
}

void stats_writer_refresh_if_due(struct stats_writer *writer, const struct device *device,
				 uint64_t now_ns)
{
	if (now_ns - writer->refreshed_ns >= stats_writer_interval_ns(writer))
		stats_writer_refresh(writer, device, now_ns);
}

uint64_t stats_writer_due_ns(const struct stats_writer *writer, uint64_t active_ns)
{
	if (!writer->has_change && active_ns <= writer->refreshed_ns)
		return UINT64_MAX;
	return writer->refreshed_ns + stats_writer_interval_ns(writer);
}
