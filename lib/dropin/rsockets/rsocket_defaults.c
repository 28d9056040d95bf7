/* SPDX-License-Identifier: MIT */
/* Defaults of rsockets: ours, unless a file in /etc/rdma/rsocket gives a number (rsocket(7)). */
#include "lib/dropin/rsockets/rsocket_flow.h"
#include "lib/dropin/rsockets/rsocket_objects.h"

#include <stdio.h>

#define CONFIGURATION "/etc/rdma/rsocket/"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct rnic_rsocket_options options = {
	.send_bytes = 1u << 17,
	.receive_bytes = 1u << 17,
	.send_requests = 384,
	.receive_requests = 384,
	.inline_bytes = 64,
	.send_timeout_ns = RNIC_RSOCKET_FOREVER,
	.receive_timeout_ns = RNIC_RSOCKET_FOREVER,
	.linger_seconds = -1,
};
static uint32_t polling_us = 10;

static const struct {
	const char *path;
	uint32_t *value;
	uint32_t least, most;
} files[] = {
	{CONFIGURATION "mem_default", &options.receive_bytes, 2, 1u << 28},
	{CONFIGURATION "wmem_default", &options.send_bytes, 2 * RNIC_RSOCKET_LOW_WATER_BYTES,
	 1u << 28},
	{CONFIGURATION "sqsize_default", &options.send_requests, 1, UINT16_MAX - 1},
	{CONFIGURATION "rqsize_default", &options.receive_requests, 1, UINT16_MAX - 1},
	{CONFIGURATION "inline_default", &options.inline_bytes, 0, UINT16_MAX - 1},
	{CONFIGURATION "iomap_size", &options.iomap_entries, 0, UINT16_MAX},
	{CONFIGURATION "polling_time", &polling_us, 0, 1000000},
};

static void read_file(size_t which)
{
	FILE *file = fopen(files[which].path, "re");
	unsigned value;

	if (file == NULL)
		return;
	if (fscanf(file, "%u", &value) == 1) {
		if (value < files[which].least)
			value = files[which].least;
		if (value > files[which].most)
			value = files[which].most;
		*files[which].value = value;
	}
	fclose(file);
}

static void read_files(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		read_file(i);
	options.iomap_entries = rnic_rsocket_iomap_entries(options.iomap_entries);
}

const struct rnic_rsocket_options *rnic_rsocket_default_options(void)
{
	pthread_once(&once, read_files);
	return &options;
}

int64_t rnic_rsocket_polling_ns(void)
{
	pthread_once(&once, read_files);
	return (int64_t)polling_us * 1000;
}
