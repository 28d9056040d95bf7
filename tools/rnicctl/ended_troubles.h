/* SPDX-License-Identifier: MIT */
/*
 * The troubles of a daemon that has ended. A daemon that rnic-run started ends some seconds after
 * its last program, and its list of troubles ends too; the log beside its socket has a line for
 * each. The log is not trusted: a bounded part of a plain file of this user is read, and lines of
 * another form are passed over.
 */
#ifndef TOOLS_RNICCTL_ENDED_TROUBLES_H
#define TOOLS_RNICCTL_ENDED_TROUBLES_H

#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stddef.h>

struct row_kind;

#define ENDED_TROUBLES_MAX 32

/*
 * Reads the last troubles from the log beside `socket`, the latest first; their `age_ms` is 0, for
 * the log has no times. Returns how many. -EACCES: the log is of another user, or no plain file of
 * one name. Else an errno of open(2) or read(2), -ENOENT: there is no log.
 */
int ended_troubles_read(const char *socket, struct rnic_show_trouble rows[ENDED_TROUBLES_MAX]);

/* The layout of these rows: troubles without their age. */
const struct row_kind *ended_troubles_kind(void);

/* Prints them as rnicctl show troubles does, without their age. Negative errno after a complaint.
 */
int ended_troubles_show(const char *socket, bool is_json);

#endif
