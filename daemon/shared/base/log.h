/* SPDX-License-Identifier: MIT */
/*
 * One readable line to standard error, "rnicd: ..." at every level. Engine and ports never log; the
 * session layer logs one line for each client that it throws out. Clients choose how often that
 * happens, so such lines are limited in rate (log_from_client).
 */
#ifndef DAEMON_SHARED_BASE_LOG_H
#define DAEMON_SHARED_BASE_LOG_H

#include <stdbool.h>

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

/* A warning that a client caused: at most 20 lines a second are written, the rest is counted and
 * summed up. */
void log_from_client(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
