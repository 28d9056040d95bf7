/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/memory_budget.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#define BUDGET_PATH_BYTES 4096
#define BUDGET_LINE_BYTES 2048

/* --- measuring ------------------------------------------------------------------------------- */

/* A limit in a file; UINT64_MAX: there is no such file, or no limit ("max"). */
static uint64_t budget_read_limit(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long bytes;
	uint64_t limit = UINT64_MAX;

	if (file == NULL)
		return UINT64_MAX;
	if (fscanf(file, "%llu", &bytes) == 1)
		limit = bytes;
	fclose(file);
	return limit;
}

static uint64_t budget_smaller(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* The smallest limit in `file` of the group at `group`, and of all groups above. Changes `group`.
 */
static uint64_t budget_of_group(const char *mount, char *group, const char *file)
{
	uint64_t smallest = UINT64_MAX;
	char path[BUDGET_PATH_BYTES];
	char *end;

	for (;;) {
		if (snprintf(path, sizeof(path), "%s%s/%s", mount, group, file) < (int)sizeof(path))
			smallest = budget_smaller(smallest, budget_read_limit(path));
		end = strrchr(group, '/');
		if (end == NULL)
			return smallest;
		*end = '\0';
	}
}

/* Whether the controllers of a line, separated by commas, have memory among them. */
static bool budget_has_memory(const char *controllers)
{
	const size_t length = strlen("memory");
	const char *found = controllers;

	while ((found = strstr(found, "memory")) != NULL) {
		if ((found == controllers || found[-1] == ',') &&
		    (found[length] == '\0' || found[length] == ','))
			return true;
		found += length;
	}
	return false;
}

/* The limit that a line "number:controllers:group" leads to. Changes the line. */
static uint64_t budget_of_line(char *line, const char *mounts)
{
	char mount[BUDGET_LINE_BYTES];
	char *controllers = strchr(line, ':');
	char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

	if (group == NULL)
		return UINT64_MAX;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	controllers++;
	if (controllers[0] == '\0')
		return budget_of_group(mounts, group, "memory.max");
	if (!budget_has_memory(controllers))
		return UINT64_MAX;
	if (snprintf(mount, sizeof(mount), "%s/memory", mounts) >= (int)sizeof(mount))
		return UINT64_MAX;
	return budget_of_group(mount, group, "memory.limit_in_bytes");
}

uint64_t memory_budget_measure(const char *groups, const char *mounts)
{
	char line[BUDGET_LINE_BYTES];
	struct sysinfo machine;
	uint64_t smallest = UINT64_MAX;
	FILE *file = fopen(groups, "re");

	if (sysinfo(&machine) == 0)
		smallest = (uint64_t)machine.totalram * machine.mem_unit;
	if (file == NULL)
		return smallest;
	while (fgets(line, sizeof(line), file) != NULL)
		smallest = budget_smaller(smallest, budget_of_line(line, mounts));
	fclose(file);
	return smallest;
}

/* --- giving ---------------------------------------------------------------------------------- */

void memory_budget_init(struct memory_budget *budget, uint64_t memory_bytes, uint32_t process_max)
{
	assert(process_max > 0);
	*budget = (struct memory_budget){
		.memory_bytes = memory_bytes,
		.process_max = process_max,
	};
}

uint64_t memory_budget_take(struct memory_budget *budget)
{
	const uint64_t all = budget->memory_bytes / MEMORY_BUDGET_PARTS_ALL;
	const uint64_t sure = all / 2 / budget->process_max;
	const uint64_t left = all - budget->given_bytes;
	uint64_t of_others = 0, bytes;

	budget->process_count++;
	if (budget->process_count < budget->process_max)
		of_others = sure * (budget->process_max - budget->process_count);
	if (left < of_others + sure)
		bytes = budget_smaller(left, sure);
	else
		bytes = sure + (left - of_others - sure) / 2;
	bytes = budget_smaller(bytes, budget->memory_bytes / MEMORY_BUDGET_PARTS_EACH);
	budget->given_bytes += bytes;
	return bytes;
}

void memory_budget_give_back(struct memory_budget *budget, uint64_t bytes)
{
	assert(budget->process_count > 0 && budget->given_bytes >= bytes);
	budget->process_count--;
	budget->given_bytes -= bytes;
}
