/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/log.h"
#include "lib/wait/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINE_BYTES		    512
#define LOG_CLIENT_LINES_PER_SECOND 20
#define LOG_SECOND_NS		    UINT64_C(1000000000)

/* The process has one standard error, hence one state of this kind. */
static struct {
	enum log_level level;
	uint64_t second_began_ns;
	uint32_t lines_this_second;
	uint64_t suppressed;
} log_state = {.level = LOG_LEVEL_INFO};

static const char *const log_level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

void log_set_level(enum log_level level)
{
	log_state.level = level;
}

bool log_parse_level(const char *name, enum log_level *level)
{
	for (unsigned i = 0; i < sizeof(log_level_names) / sizeof(log_level_names[0]); i++) {
		if (strcmp(name, log_level_names[i]) == 0) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

/* One write for the whole line, so that lines of several daemons on one terminal do not mix. */
__attribute__((format(printf, 2, 0))) static void log_line(enum log_level level, const char *format,
							   va_list arguments)
{
	static const char prefix[] = "rnicd: ";
	char line[LOG_LINE_BYTES];
	int saved_errno = errno;
	size_t bytes = sizeof(prefix) - 1;
	int wanted;

	if (level > log_state.level)
		return;
	memcpy(line, prefix, bytes);
	wanted = vsnprintf(line + bytes, sizeof(line) - bytes - 1, format, arguments);
	if (wanted < 0)
		wanted = 0;
	bytes += (size_t)wanted;
	if (bytes > sizeof(line) - 2)
		bytes = sizeof(line) - 2;
	line[bytes++] = '\n';
	if (write(STDERR_FILENO, line, bytes) < 0) {
		/* Nobody reads our standard error; there is no better place to say so. */
	}
	errno = saved_errno;
}

#define LOG_FUNCTION(name, level)                                                                  \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, format);                                                       \
		log_line(level, format, arguments);                                                \
		va_end(arguments);                                                                 \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)

void log_from_client(const char *format, ...)
{
	uint64_t now_ns = clock_now_ns();
	va_list arguments;

	if (now_ns - log_state.second_began_ns >= LOG_SECOND_NS) {
		if (log_state.suppressed != 0)
			log_warning("%llu more lines about clients were left out",
				    (unsigned long long)log_state.suppressed);
		log_state.second_began_ns = now_ns;
		log_state.lines_this_second = 0;
		log_state.suppressed = 0;
	}
	if (log_state.lines_this_second >= LOG_CLIENT_LINES_PER_SECOND) {
		log_state.suppressed++;
		return;
	}
	log_state.lines_this_second++;
	va_start(arguments, format);
	log_line(LOG_LEVEL_WARNING, format, arguments);
	va_end(arguments);
}
