/* SPDX-License-Identifier: MIT */
/*
 * The modes of rnic-lab. A server prepares once, serves each client in a process of its own, and
 * its client uses it.
 *
 * prepare: before the server listens; NULL for nothing to do. serve: after HELLO, until the client
 * has left. use: until the input has ended. All return a negative errno after printing the reason
 * (but for -EINTR, a signal), and `use` returns a positive number when the peer or the user asked
 * for something impossible.
 */
#ifndef TOOLS_LAB_MODES_LAB_MODES_H
#define TOOLS_LAB_MODES_LAB_MODES_H

#include "tools/lab/modes/lab_meeting.h"

struct lab_mode {
	const char *name;
	int (*prepare)(const struct lab_options *options, struct lab_watch *watch);
	int (*serve)(struct lab_meeting *meeting);
	int (*use)(struct lab_meeting *meeting);
};

extern const struct lab_mode lab_send_mode;   /* SEND and RECEIVE, with an acknowledgement */
extern const struct lab_mode lab_write_mode;  /* WRITE with immediate */
extern const struct lab_mode lab_read_mode;   /* READ of a range */
extern const struct lab_mode lab_lambda_mode; /* a function that runs at its data */

/* Listens and serves until a signal comes, or with --once one client. Negative errno. */
int lab_server_run(const struct lab_mode *mode, const struct lab_options *options,
		   struct lab_watch *watch);

/* Connects to the server and uses it. */
int lab_client_run(const struct lab_mode *mode, const struct lab_options *options,
		   struct lab_watch *watch);

#endif
