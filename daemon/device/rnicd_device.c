/* SPDX-License-Identifier: MIT */
/*
 * The program rnicd-device: the device process of one user. rnicd starts it with the process link
 * as descriptor 3, and nobody else can: without START the process ends.
 */
#include "base/heap.h"
#include "base/log.h"
#include "common/client_limits.h"
#include "device/process/device_loop.h"
#include "device/process/device_process.h"
#include "device/process/own_descriptors.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define RNICD_DEVICE_NICE (-10)

/* The control plane has set the limits. */
static void rnicd_device_prepare(void)
{
	signal(SIGPIPE, SIG_IGN);
	/* The terminal's interrupt goes to all processes: this one ends with the control plane. */
	signal(SIGINT, SIG_IGN);
	/* A region beyond the limit of a file's size fails with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	heap_limit_mappings(LIMIT_HEAP_MAPPINGS);
}

static int rnicd_device_run(struct device_process *process)
{
	struct device_loop *loop = device_loop_create(process);
	int result;

	if (loop == NULL) {
		device_process_refuse(process, -ENOMEM, "cannot make the loop of the device");
		return 1;
	}
	result = device_process_begin(process);
	if (result == 0)
		device_loop_run(loop);
	device_loop_destroy(loop);
	return result == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	/* For whoever finds this program and asks what it is. */
	static const struct argp argp = {
		.doc = "The device process of one user. rnicd(8) starts it, and nobody else can.",
	};
	struct device_process *process;
	int result;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	result = own_descriptors_check();
	if (result != 0) {
		log_error("rnicd-device is started by rnicd alone: %s", strerror(-result));
		return 1;
	}
	rnicd_device_prepare();
	process = calloc(1, sizeof(*process));
	if (process == NULL)
		return 1;
	result = device_process_open(process, PROCESS_LINK_FD);
	if (result == 0) {
		/* By now the process is the user's, so that only root gets more than its share. */
		setpriority(PRIO_PROCESS, 0, RNICD_DEVICE_NICE);
		result = rnicd_device_run(process);
		device_process_close(process);
	}
	free(process);
	return result == 0 ? 0 : 1;
}
