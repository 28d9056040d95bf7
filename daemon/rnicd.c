/* SPDX-License-Identifier: MIT */
/* The daemon: options, one control plane, its loop, and an orderly end. */
#include "base/clock.h"
#include "common/client_limits.h"
#include "base/log.h"
#include "base/system_random.h"
#include "control/control_plane.h"
#include "event_loop.h"
#include "options.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RNICD_NICE (-10)

/*
 * Raises the limit of descriptors, because every client costs descriptors, and the priority, which
 * shortens the delay of answers. A refused priority is no failure.
 */
static void rnicd_raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* Large pieces of the heap must not use the mappings that the limits count for clients. */
	mallopt(M_MMAP_MAX, LIMIT_HEAP_MAPPINGS);
	setpriority(PRIO_PROCESS, 0, RNICD_NICE);
}

static void rnicd_announce(const struct rnicd_options *options, const struct control_plane *control)
{
	log_info("%s on %s serves at %s (port %s)", options->name, control->addressing.netdev,
		 control->server.place.path, control->facts.udp_port);
	if (options->ready_fd < 0)
		return;
	if (write(options->ready_fd, "\n", 1) != 1)
		log_warning("nobody waits at --ready-fd: %s", strerror(errno));
	close(options->ready_fd);
}

static int rnicd_run(const struct rnicd_options *options, struct control_plane *control)
{
	const struct event_loop_config loop_config = {
		.poll = options->poll,
		.exit_when_idle_ns = options->exit_when_idle_ns,
	};
	struct event_loop *loop = event_loop_create(control, &loop_config);

	if (loop == NULL) {
		log_error("cannot make the event loop");
		return 1;
	}
	rnicd_announce(options, control);
	event_loop_run(loop);
	event_loop_destroy(loop);
	return 0;
}

int main(int argc, char **argv)
{
	struct rnicd_options options;
	struct control_config config;
	struct system_random random;
	char reason[CONTROL_REASON_BYTES];
	struct control_plane *control;
	int status;

	options_parse(&options, argc, argv);
	log_set_level(options.log_level);
	signal(SIGPIPE, SIG_IGN);
	rnicd_raise_limits();

	config = (struct control_config){
		.netdev = options.netdev,
		.address = options.address,
		.name = options.name,
		.socket_path = options.socket_path,
		.fault = options.fault,
		.capture = options.capture,
		.port = options.port,
		.segmentation = options.segmentation,
		.segmentation_name = options.segmentation_name,
		.poll_name = options.poll_name,
	};
	config.has_ecn = options.has_ecn;
	config.pkey_count = options.pkey_count;
	memcpy(config.pkeys, options.pkeys, sizeof(config.pkeys));
	config.random = system_random_source(&random);
	status = system_random_init(&random);
	if (status != 0) {
		log_error("the kernel gives no random numbers: %s", strerror(-status));
		return 1;
	}
	control = calloc(1, sizeof(*control));
	if (control == NULL) {
		log_error("cannot start: %s", strerror(errno));
		return 1;
	}
	if (control_plane_open(control, &config, clock_now_ns(), reason) != 0) {
		log_error("%s", reason);
		free(control);
		return 1;
	}
	status = rnicd_run(&options, control);
	control_plane_close(control);
	free(control);
	return status;
}
