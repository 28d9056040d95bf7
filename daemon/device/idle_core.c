/* SPDX-License-Identifier: MIT */
#include "device/idle_core.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_CORE_LOOK_NS    UINT64_C(1000000)
#define IDLE_CORE_TEXT_BYTES 128

void idle_core_open(struct idle_core *idle)
{
	cpu_set_t cores;

	*idle = (struct idle_core){.loadavg_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC)};
	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		idle->cores = (uint32_t)CPU_COUNT(&cores);
}

void idle_core_close(struct idle_core *idle)
{
	if (idle->loadavg_fd >= 0)
		close(idle->loadavg_fd);
}

/* "0.20 0.18 0.12 1/80 11206": before the slash is what runs or wants to. */
uint32_t idle_core_running(const char *text)
{
	const char *slash = strchr(text, '/');
	const char *digits = slash;

	if (slash == NULL)
		return 0;
	while (digits > text && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return (uint32_t)strtoul(digits, NULL, 10);
}

bool idle_core_is_there(struct idle_core *idle, uint64_t now_ns)
{
	char text[IDLE_CORE_TEXT_BYTES];
	uint32_t running;
	ssize_t bytes;

	if (now_ns < idle->look_again_ns)
		return idle->is_there;
	idle->look_again_ns = now_ns + IDLE_CORE_LOOK_NS;
	bytes = idle->loadavg_fd < 0 ? -1 : pread(idle->loadavg_fd, text, sizeof(text) - 1, 0);
	text[bytes > 0 ? bytes : 0] = '\0';
	running = idle_core_running(text);
	/* We are one of those that run. */
	idle->is_there = running != 0 && running <= idle->cores;
	return idle->is_there;
}
