/* SPDX-License-Identifier: MIT */
#include "tools/serve/state_document.h"

#include "lib/client/admin/admin_link.h"
#include "proto/base/time_units.h"
#include "lib/wait/clock.h"
#include "tools/rnicctl/row_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the page has a place for. */
static const uint32_t kinds_shown[] = {
	RNIC_SHOW_DEVICE, RNIC_SHOW_CLIENTS,  RNIC_SHOW_QPS,	  RNIC_SHOW_PATHS,
	RNIC_SHOW_FAULTS, RNIC_SHOW_TROUBLES, RNIC_SHOW_COUNTERS,
};

static int state_add_kind(json_t *device, struct admin_link *link, const struct row_kind *kind)
{
	size_t count;
	void *rows;
	int error = admin_link_show(link, kind->kind, kind->row_bytes, &rows, &count);

	if (error)
		return error;
	json_object_set_new(device, kind->name, row_json(kind, rows, count));
	free(rows);
	return 0;
}

static json_t *device_document(const char *socket)
{
	json_t *device = json_pack("{s:s}", "socket", socket);
	struct admin_link link;
	int error = admin_link_open(&link, socket, "rnicctl");

	if (!error) {
		for (size_t i = 0; i < sizeof(kinds_shown) / sizeof(kinds_shown[0]) && !error; i++)
			error = state_add_kind(device, &link, row_kind_of(kinds_shown[i]));
		admin_link_close(&link);
	}
	if (error)
		json_object_set_new(device, "error", json_string(link.reason));
	return device;
}

static json_t *capture_document(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;

	return json_pack("{s:s, s:I}", "name", slash ? slash + 1 : path, "bytes",
			 stat(path, &status) == 0 ? (json_int_t)status.st_size : (json_int_t)-1);
}

char *state_document(const struct state_sources *sources)
{
	json_t *devices = json_array(), *captures = json_array(), *document;
	char *text;

	for (uint32_t i = 0; i < sources->sockets.count; i++)
		json_array_append_new(devices, device_document(sources->sockets.paths[i]));
	for (size_t i = 0; i < sources->capture_count; i++)
		json_array_append_new(captures, capture_document(sources->captures[i]));
	document = json_pack("{s:I, s:I, s:o, s:o}", "time_ms",
			     (json_int_t)(clock_now_ns() / RNIC_NS_PER_MS), "uid",
			     (json_int_t)getuid(), "devices", devices, "captures", captures);
	text = document ? json_dumps(document, JSON_COMPACT) : NULL;
	json_decref(document);
	return text;
}
