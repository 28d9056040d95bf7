/* SPDX-License-Identifier: MIT */
/* What a program sees that was started without a daemon, or told not to use one: no device, no
 * error. */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *what)
{
	if (condition)
		return;
	failures++;
	printf("failed: %s (errno %d)\n", what, errno);
}

static void expect_empty_list(const char *when)
{
	struct ibv_device **list;
	int count = -1;

	errno = 0;
	list = ibv_get_device_list(&count);
	expect(list != NULL && count == 0 && list[0] == NULL && errno == 0, when);
	if (list != NULL)
		ibv_free_device_list(list);
}

int main(void)
{
	struct ibv_context **contexts;
	int count = -1;

	setenv("RNIC_SOCKET", "/nonexistent/rnicd.sock", 1);
	expect_empty_list("no daemon, empty list");
	setenv("RNIC_DISABLE", "1", 1);
	expect_empty_list("disabled, empty list");

	contexts = rdma_get_devices(&count);
	expect(contexts != NULL && count == 0 && contexts[0] == NULL, "no contexts");
	if (contexts != NULL)
		rdma_free_devices(contexts);

	errno = 0;
	expect(rdma_create_event_channel() == NULL && errno == ENODEV, "no event channel");
	expect(strcmp(rdma_event_str(RDMA_CM_EVENT_ESTABLISHED), "RDMA_CM_EVENT_ESTABLISHED") == 0,
	       "names of events");
	expect(ibv_fork_init() == 0, "fork needs nothing");
	expect(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED, "fork needs nothing, it says");
	expect(ibv_rate_to_mbps(mbps_to_ibv_rate(103125)) == 103125, "rates");
	expect(mult_to_ibv_rate(ibv_rate_to_mult(IBV_RATE_40_GBPS)) == IBV_RATE_40_GBPS,
	       "multiples");
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
