/* SPDX-License-Identifier: MIT */
/*
 * One readable line to standard error, "rnicd: ..." at every level. Engine and ports never log; the
 * session layer logs one line for each client that it throws out. Clients choose how often that
 * happens, so such lines are limited in rate, by user (log_from_client).
 */
#ifndef DAEMON_SHARED_BASE_LOG_H
#define DAEMON_SHARED_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines of a level above `level` are left out. The default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

/* Stores the level that `name` ("error", "warning", "info", "debug") stands for; false when none.
 */
bool log_parse_level(const char *name, enum log_level *level);

/* Writes a line; errno is kept. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whose lines those are that anybody on the network may cause. */
#define LOG_NO_USER ((uid_t)-1)

/* Returns the user whose limit this user shares; mostly the same user. */
typedef uid_t log_account(void *context, uid_t uid);

/* Users who count as one have one limit together. NULL, as at the start: each counts alone. */
void log_set_account(log_account *account_of, void *context);

/*
 * A warning that a client of user `uid` caused. At most 20 lines a second are written for a user,
 * so that none hides what others do, and 20 for all users together beyond the first 127 of a
 * second. The rest is counted and summed up in a line.
 */
void log_from_client(uid_t uid, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes how many lines were left out in a second that is over. Call it at the deadline. */
void log_follow(uint64_t now_ns);

/* When log_follow() has something to write, by the clock of clock_now_ns(); UINT64_MAX: never. */
uint64_t log_next_deadline_ns(void);

#endif
