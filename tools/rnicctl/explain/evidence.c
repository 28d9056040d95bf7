/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain/evidence.h"

#include "proto/base/bits.h"
#include "proto/base/causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void read_boot_id(char boot_id[EVIDENCE_BOOT_BYTES])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file == NULL || fgets(boot_id, EVIDENCE_BOOT_BYTES, file) == NULL)
		boot_id[0] = '\0';
	boot_id[strcspn(boot_id, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
}

static uint64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int evidence_collect(struct admin_link *link, struct evidence *evidence)
{
	static const struct {
		uint32_t kind;
		size_t row_bytes;
	} kinds[] = {
		{RNIC_SHOW_RECORD, sizeof(struct rnic_show_record)},
		{RNIC_SHOW_TROUBLES, sizeof(struct rnic_show_trouble)},
		{RNIC_SHOW_CLIENTS, sizeof(struct rnic_show_client)},
		{RNIC_SHOW_CM, sizeof(struct rnic_show_cm)},
		{RNIC_SHOW_QPS, sizeof(struct rnic_show_qp)},
	};
	const uint64_t taken_us = monotonic_us();
	void *rows[RNIC_COUNT_OF(kinds)] = {NULL};
	size_t counts[RNIC_COUNT_OF(kinds)] = {0};
	int error = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(kinds) && error == 0; i++) {
		void *all;
		size_t count;

		error = admin_link_show(link, kinds[i].kind, kinds[i].row_bytes, &all, &count);
		rows[i] = error == 0 ? all : NULL;
		counts[i] = error == 0 ? count : 0;
	}
	*evidence = (struct evidence){
		.taken_us = taken_us,
		.records = rows[0],
		.record_count = counts[0],
		.troubles = rows[1],
		.trouble_count = counts[1],
		.clients = rows[2],
		.client_count = counts[2],
		.connections = rows[3],
		.connection_count = counts[3],
		.qps = rows[4],
		.qp_count = counts[4],
	};
	read_boot_id(evidence->boot_id);
	return error;
}

void evidence_free(struct evidence *evidence)
{
	free(evidence->records);
	free(evidence->qps);
	free(evidence->troubles);
	free(evidence->clients);
	free(evidence->connections);
	*evidence = (struct evidence){0};
}

const struct rnic_show_record *evidence_of_device(const struct evidence *evidence,
						  enum rnic_record_event event, uint32_t number,
						  uint32_t value)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < evidence->record_count; i++) {
		const struct rnic_show_record *row = &evidence->records[i];

		if (row->event == (uint32_t)event &&
		    (number == EVIDENCE_ANY || row->psn == number) &&
		    (value == EVIDENCE_ANY || row->value == value) &&
		    (found == NULL || row->age_us <= found->age_us))
			found = row;
	}
	return found;
}

bool evidence_is_refusal(const struct rnic_show_trouble *trouble)
{
	return trouble->cause == RNIC_CAUSE_REFUSED;
}
