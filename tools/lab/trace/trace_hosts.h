/* SPDX-License-Identifier: MIT */
/*
 * The two hosts of a traced lesson: an rnicd each, on a loopback address of its own, which writes
 * all its packets to a file. They end with this process, whatever its end.
 */
#ifndef TOOLS_LAB_TRACE_TRACE_HOSTS_H
#define TOOLS_LAB_TRACE_TRACE_HOSTS_H

#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lab_options.h"
#include "tools/lab/trace/trace_record.h"

#include <limits.h>
#include <sys/types.h>

enum { TRACE_ADDRESS_BYTES = 16 };

struct trace_host {
	pid_t pid; /* 0: none */
	char address[TRACE_ADDRESS_BYTES];
	char socket[PATH_MAX];
	char log[PATH_MAX];
	char capture[PATH_MAX];
};

struct trace_hosts {
	char directory[PATH_MAX - NAME_MAX - 1]; /* for all their files; "" for none */
	struct trace_host of[TRACE_SIDES];
};

/*
 * Starts both, with the rules of the options, and returns when programs can connect. Prints the
 * reason of an error; negative errno. The caller calls trace_hosts_end() in any case.
 */
int trace_hosts_start(struct trace_hosts *hosts, const struct lab_options *options,
		      struct lab_watch *watch);

/* Ends both; their captures are complete then. */
void trace_hosts_stop(struct trace_hosts *hosts);

/* Ends what runs, and removes all files but the captures that the user asked for. */
void trace_hosts_end(struct trace_hosts *hosts);

/*
 * Runs this program's own lesson on the devices of both, as `arguments` say, with the steps for
 * `fd`, and waits for its end. Returns as it did: 0, or a negative errno for a reason that it has
 * printed, or that this function has.
 */
int trace_hosts_run(const struct trace_hosts *hosts, char **arguments, int fd,
		    struct lab_watch *watch);

#endif
