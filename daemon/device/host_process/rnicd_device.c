/* SPDX-License-Identifier: MIT */
/*
 * The program rnicd-device: the device process of one user. rnicd starts it with the process link
 * as descriptor 3, and nobody else can: without START the process ends.
 */
#include "daemon/device/host_process/call_filter.h"
#include "daemon/device/host_process/device_loop.h"
#include "daemon/device/host_process/own_descriptors.h"
#include "daemon/device/host_process/process_user.h"
#include "daemon/device/link/device_process.h"
#include "daemon/device/link/heap_limit.h"
#include "daemon/shared/base/heap.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/*
 * The control plane has set the limits. It starts the program as /proc/self/fd/N, which the kernel
 * makes the name N.
 */
static void rnicd_device_prepare(void)
{
	prctl(PR_SET_NAME, "rnicd-device", 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	/* The terminal's interrupt goes to all processes: this one ends with the control plane. */
	signal(SIGINT, SIG_IGN);
	/* A region beyond the limit of a file's size fails with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	heap_limit_mappings(LIMIT_HEAP_MAPPINGS);
}

/* The user, the log and the bounds that START names. */
static int rnicd_device_take_on(const struct rnic_process_start *start, char *reason,
				size_t reason_bytes)
{
	int result;

	log_set_level((enum log_level)start->log_level);
	result = process_user_become(start->uid, reason, reason_bytes);
	if (result == 0)
		result = process_user_close_off(reason, reason_bytes);
	if (result != 0)
		return result;
	result = heap_limit_set(heap_limit_part(start->memory_bytes));
	if (result != 0)
		snprintf(reason, reason_bytes, "the device process cannot bound its memory: %s",
			 strerror(-result));
	return result;
}

/* Gives up what the process needs no more. A machine without filters runs without one. */
static void rnicd_device_confine(void)
{
	int result = call_filter_install();

	if (result != 0)
		log_warning("the device process runs without a filter of system calls: %s",
			    strerror(-result));
}

static int rnicd_device_run(struct device_process *process)
{
	struct device_loop *loop = device_loop_create(process);
	int result;

	if (loop == NULL) {
		device_process_refuse(process, -ENOMEM, "cannot make the loop of the device");
		return 1;
	}
	device_process_prepare();
	rnicd_device_confine();
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
	static const struct device_process_role role = {.take_on = rnicd_device_take_on};
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
	result = device_process_open(process, PROCESS_LINK_FD, &role);
	if (result == 0) {
		result = rnicd_device_run(process);
		device_process_close(process);
	}
	free(process);
	return result == 0 ? 0 : 1;
}
