/* SPDX-License-Identifier: MIT */
#include "tools/serve/state_document.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static json_t *capture_document(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;

	return json_pack("{s:s, s:I}", "name", slash ? slash + 1 : path, "bytes",
			 stat(path, &status) == 0 ? (json_int_t)status.st_size : (json_int_t)-1);
}

static void write_captures(const struct state_sources *sources, FILE *to)
{
	json_t *captures = json_array();

	for (size_t i = 0; i < sources->capture_count; i++)
		json_array_append_new(captures, capture_document(sources->captures[i]));
	json_dumpf(captures, to, JSON_COMPACT);
	json_decref(captures);
}

static void write_devices(const struct state_sources *sources, FILE *to)
{
	const uint64_t until_ns = clock_now_ns() + STATE_WAIT_MS * RNIC_NS_PER_MS;

	for (uint32_t i = 0; i < sources->device_count; i++)
		device_watch_ask(sources->devices[i]); /* all read at the same time */
	for (uint32_t i = 0; i < sources->device_count; i++) {
		if (i > 0)
			fputc(',', to);
		device_watch_write(sources->devices[i], until_ns, to);
	}
}

char *state_document(const struct state_sources *sources)
{
	size_t bytes;
	char *text;
	FILE *to = open_memstream(&text, &bytes);
	bool is_whole;

	if (!to)
		return NULL;
	fprintf(to, "{\"uid\":%u,\"devices\":[", (unsigned)getuid());
	write_devices(sources, to);
	fputs("],\"captures\":", to);
	write_captures(sources, to);
	fputc('}', to);
	is_whole = ferror(to) == 0;
	if (fclose(to) == 0 && is_whole)
		return text;
	free(text);
	return NULL;
}
