/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/lab_trace.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/trace/trace_hosts.h"
#include "tools/lab/trace/trace_print.h"
#include "tools/lab/trace/trace_lesson.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The capture is the daemon's, and does not see a device inside the program. */
static bool trace_is_direct(void)
{
	const char *direct = getenv("RNIC_DIRECT");

	return direct != NULL && direct[0] != '\0' && strcmp(direct, "0") != 0;
}

static int trace_collect(struct trace_record *record, const struct trace_hosts *hosts, int steps_fd)
{
	int result = trace_steps_read(record, steps_fd);

	for (enum trace_side side = 0; side < TRACE_SIDES && result == 0; side++) {
		memcpy(record->addresses[side], hosts->of[side].address, TRACE_ADDRESS_BYTES);
		result = trace_packets_read(&record->packets[side], hosts->of[side].capture);
	}
	if (result == 0)
		trace_packets_match(record->packets);
	else
		lab_say("cannot read what was captured: %s", strerror(-result));
	return result;
}

static int trace_report(const struct lab_options *options, const struct trace_hosts *hosts,
			int steps_fd)
{
	struct trace_record record = {
		.operation = options->operation,
		.mtu_bytes = options->mtu_bytes,
	};
	int result = trace_collect(&record, hosts, steps_fd);

	if (result == 0 && options->is_json)
		result = trace_print_json(&record);
	else if (result == 0)
		trace_print_text(&record);
	if (result == 0 && fflush(stdout) != 0)
		result = -errno;
	trace_record_release(&record);
	return result;
}

int lab_trace_run(const struct lab_options *options, struct lab_watch *watch)
{
	struct trace_hosts hosts;
	int steps_fd, result, reported;

	if (options->inside_fd >= 0)
		return trace_lesson_run(options, watch, options->inside_fd);
	if (trace_is_direct()) {
		lab_say("trace needs the packets that a daemon captures, and with --direct there "
			"are none: leave it out");
		return -EOPNOTSUPP;
	}
	steps_fd = memfd_create("steps", MFD_CLOEXEC);
	if (steps_fd < 0)
		return -errno;
	result = trace_hosts_start(&hosts, options, watch);
	if (result == 0) {
		result = trace_hosts_run(&hosts, options->arguments, steps_fd, watch);
		trace_hosts_stop(&hosts);
		reported = trace_report(options, &hosts, steps_fd);
		result = result ? result : reported;
	}
	trace_hosts_end(&hosts);
	close(steps_fd);
	return result;
}
