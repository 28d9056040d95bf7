/* SPDX-License-Identifier: MIT */
/* rnic-lab: the operations of an RDMA network interface, one at a time, between two programs. */
#include "tools/lab/lab_text.h"
#include "tools/lab/modes/lab_modes.h"
#include "tools/lab/trace/lab_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct lab_mode *const modes[] = {
	[LAB_SEND] = &lab_send_mode,
	[LAB_WRITE] = &lab_write_mode,
	[LAB_READ] = &lab_read_mode,
	[LAB_LAMBDA] = &lab_lambda_mode,
};

int main(int argc, char **argv)
{
	struct lab_options options;
	struct lab_watch watch;
	int result;

	lab_options_read(&options, argc, argv);
	result = lab_watch_init(&watch);
	if (result) {
		lab_say("cannot watch for signals: %s", strerror(-result));
		return EXIT_FAILURE;
	}
	if (options.mode == LAB_TRACE)
		result = lab_trace_run(&options, &watch);
	else if (options.server)
		result = lab_client_run(modes[options.mode], &options, &watch);
	else
		result = lab_server_run(modes[options.mode], &options, &watch);
	lab_watch_fini(&watch);
	if (result != -EINTR)
		return result ? EXIT_FAILURE : EXIT_SUCCESS;
	/* A signal is the normal end of a server; a client has not reached the end of its input. */
	return options.server || options.mode == LAB_TRACE ? 128 + watch.signal : EXIT_SUCCESS;
}
