/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_fault.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVER "rx:"

/* What happens to packets on their way; an acknowledgement that becomes another one is sent so. */
static const char *const on_the_way[] = {"drop",    "duplicate", "reorder",
					 "corrupt", "delay",	 "mark"};

static bool fault_is_on_the_way(const char *rule)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(on_the_way); i++) {
		if (strncmp(rule, on_the_way[i], strlen(on_the_way[i])) == 0)
			return true;
	}
	return false;
}

int trace_fault_for_receivers(const char *spec, char **text)
{
	size_t bytes;
	FILE *stream = open_memstream(text, &bytes);

	if (stream == NULL)
		return -ENOMEM;
	for (const char *rule = spec, *end; *rule != '\0'; rule = end) {
		end = strchrnul(rule, ',');
		end += *end == ',';
		fprintf(stream, "%s%.*s", fault_is_on_the_way(rule) ? RECEIVER : "",
			(int)(end - rule), rule);
	}
	return fclose(stream) == 0 ? 0 : -ENOMEM;
}
