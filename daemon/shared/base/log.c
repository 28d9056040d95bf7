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
#define LOG_USERS_MAX		    128 /* that have a limit of their own */
#define LOG_SECOND_NS		    UINT64_C(1000000000)

/* The lines about one user in a second. */
struct log_user {
	uid_t uid;
	uint32_t lines;
	uint64_t left_out;
};

/* The process has one standard error, hence one state of this kind. */
static struct {
	enum log_level level;
	uint64_t second_began_ns;
	struct log_user users[LOG_USERS_MAX]; /* who had lines in this second */
	struct log_user others;		      /* all those beyond */
	uint32_t user_count;		      /* 0: no second has begun */
	bool has_left_out;
	log_account *account_of;
	void *account_context;
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

/* --- lines that clients cause ----------------------------------------------------------------- */

static void log_begin_second(uint64_t now_ns)
{
	log_state.second_began_ns = now_ns;
	/* Root always has a place. */
	log_state.users[0] = (struct log_user){.uid = 0};
	log_state.user_count = 1;
	log_state.others = (struct log_user){.uid = LOG_NO_USER};
	log_state.has_left_out = false;
}

static void log_tell_left_out(const struct log_user *user, const char *whose)
{
	if (user->left_out != 0)
		log_warning("%llu more lines about %s were left out",
			    (unsigned long long)user->left_out, whose);
}

static void log_end_second(uint64_t now_ns)
{
	char whose[32];

	for (uint32_t i = 0; i < log_state.user_count; i++) {
		const struct log_user *user = &log_state.users[i];

		if (user->uid == LOG_NO_USER)
			snprintf(whose, sizeof(whose), "the network");
		else
			snprintf(whose, sizeof(whose), "user %u", (unsigned)user->uid);
		log_tell_left_out(user, whose);
	}
	log_tell_left_out(&log_state.others, "other users");
	log_begin_second(now_ns);
}

void log_set_account(log_account *account_of, void *context)
{
	log_state.account_of = account_of;
	log_state.account_context = context;
}

static struct log_user *log_find_user(uid_t uid)
{
	struct log_user *user;

	if (log_state.account_of != NULL && uid != LOG_NO_USER)
		uid = log_state.account_of(log_state.account_context, uid);
	for (uint32_t i = 0; i < log_state.user_count; i++)
		if (log_state.users[i].uid == uid)
			return &log_state.users[i];
	if (log_state.user_count == LOG_USERS_MAX)
		return &log_state.others;
	user = &log_state.users[log_state.user_count++];
	*user = (struct log_user){.uid = uid};
	return user;
}

void log_from_client(uid_t uid, const char *format, ...)
{
	const uint64_t now_ns = clock_now_ns();
	struct log_user *user;
	va_list arguments;

	if (log_state.user_count == 0 || now_ns - log_state.second_began_ns >= LOG_SECOND_NS)
		log_end_second(now_ns);
	user = log_find_user(uid);
	if (user->lines >= LOG_CLIENT_LINES_PER_SECOND) {
		user->left_out++;
		log_state.has_left_out = true;
		return;
	}
	user->lines++;
	va_start(arguments, format);
	log_line(LOG_LEVEL_WARNING, format, arguments);
	va_end(arguments);
}

uint64_t log_next_deadline_ns(void)
{
	return log_state.has_left_out ? log_state.second_began_ns + LOG_SECOND_NS : UINT64_MAX;
}

void log_follow(uint64_t now_ns)
{
	if (now_ns >= log_next_deadline_ns())
		log_end_second(now_ns);
}
