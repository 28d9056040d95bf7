/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/stats_writer.h"

#include "daemon/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

int card_writer_open(struct card_writer *writer, int fd)
{
	struct stat status;
	void *address;

	memset(writer, 0, sizeof(*writer));
	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_size < (off_t)sizeof(struct rnic_card))
		return -EINVAL;
	address = mmap(NULL, sizeof(struct rnic_card), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (address == MAP_FAILED)
		return -errno;
	writer->card = address;
	writer->card->magic = RNIC_CARD_MAGIC;
	writer->card->bytes = sizeof(struct rnic_card);
	writer->has_change = true;
	return 0;
}

void card_writer_close(struct card_writer *writer)
{
	munmap(writer->card, sizeof(*writer->card));
	writer->card = NULL;
}

/* A counter keeps its entry: all kinds have as many counters as at the first call. */
static void card_writer_put(struct card_writer *writer, uint32_t *next, enum rnic_card_kind kind,
			    const char *name, uint64_t value)
{
	const uint32_t i = (*next)++;
	struct rnic_card_counter *entry;

	if (i >= RNIC_CARD_COUNTERS_MAX)
		return;
	entry = &writer->card->counters[i];
	atomic_store_explicit(&entry->value, value, memory_order_relaxed);
	if (i < writer->counter_count)
		return;
	entry->kind = kind;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	writer->counter_count = i + 1;
	atomic_store_explicit(&writer->card->counter_count, i + 1, memory_order_release);
}

void card_writer_refresh(struct card_writer *writer, const struct device_half *half,
			 uint64_t now_ns)
{
	struct rnic_show_counter fault;
	const char *name;
	uint64_t value;
	uint32_t next = 0;

	for (uint32_t i = 0; device_half_counter(half, i, &name, &value); i++)
		card_writer_put(writer, &next, RNIC_CARD_DEVICE, name, value);
	for (uint32_t i = 0; device_half_port_counter(half, i, &name, &value); i++)
		card_writer_put(writer, &next, RNIC_CARD_PORT, name, value);
	for (uint32_t i = 0; device_half_fault_counter(half, i, &fault); i++)
		card_writer_put(writer, &next, RNIC_CARD_FAULT, fault.name, fault.value);
	if (writer->has_change)
		device_half_fill_card(half, writer->card);
	writer->has_change = false;
	writer->refreshed_ns = now_ns;
}

static uint64_t card_writer_interval_ns(const struct card_writer *writer)
{
	return writer->has_change ? CARD_WRITER_CHANGE_NS : CARD_WRITER_REFRESH_NS;
}

void card_writer_refresh_if_due(struct card_writer *writer, const struct device_half *half,
				uint64_t now_ns)
{
	if (now_ns - writer->refreshed_ns >= card_writer_interval_ns(writer))
		card_writer_refresh(writer, half, now_ns);
}

uint64_t card_writer_due_ns(const struct card_writer *writer, uint64_t active_ns)
{
	if (!writer->has_change && active_ns <= writer->refreshed_ns)
		return UINT64_MAX;
	return writer->refreshed_ns + card_writer_interval_ns(writer);
}
