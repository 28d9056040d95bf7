/* SPDX-License-Identifier: MIT */
/*
 * Whether rdma_resolve_addr() asks the neighbour: cm_neighbours answers|silent TIMEOUT_MS
 * ADDRESS...
 *
 * All addresses are resolved at the same time. Those that answer are resolved before the time is
 * over; silent ones end with ADDR_ERROR and -ETIMEDOUT at its end, within three tenths of it.
 */
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_SEC 60

static struct timespec begin;

static double elapsed_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin.tv_sec) * 1e3 +
	       (double)(now.tv_nsec - begin.tv_nsec) / 1e6;
}

static bool resolve(struct rdma_event_channel *events, char *address, int timeout_ms)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST, .ai_port_space = RDMA_PS_TCP};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	if (rdma_create_id(events, &id, address, RDMA_PS_TCP) != 0 ||
	    rdma_getaddrinfo(address, "7", &hints, &info) != 0 ||
	    rdma_resolve_addr(id, NULL, info->ai_dst_addr, timeout_ms) != 0) {
		perror(address);
		return false;
	}
	rdma_freeaddrinfo(info);
	return true;
}

static bool is_right(const struct rdma_cm_event *event, bool answers, double after_ms,
		     double timeout_ms)
{
	if (answers)
		return event->event == RDMA_CM_EVENT_ADDR_RESOLVED && event->status == 0 &&
		       after_ms < timeout_ms;
	return event->event == RDMA_CM_EVENT_ADDR_ERROR && event->status == -ETIMEDOUT &&
	       after_ms > 0.7 * timeout_ms && after_ms < 1.3 * timeout_ms;
}

/* Takes the event of one address. */
static bool take(struct rdma_event_channel *events, bool answers, int timeout_ms)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	double after_ms;
	bool result;

	if (rdma_get_cm_event(events, &event) != 0)
		return false;
	id = event->id;
	after_ms = elapsed_ms();
	result = is_right(event, answers, after_ms, timeout_ms);
	printf("%s %s: %s, status %d, after %.0f of %d ms\n", result ? "ok  " : "FAIL",
	       (const char *)id->context, rdma_event_str(event->event), event->status, after_ms,
	       timeout_ms);
	rdma_ack_cm_event(event);
	return rdma_destroy_id(id) == 0 && result;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	bool answers, result = events != NULL;
	int timeout_ms;

	if (argc < 4)
		return 2;
	alarm(PATIENCE_SEC);
	answers = strcmp(argv[1], "answers") == 0;
	timeout_ms = atoi(argv[2]);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 3; i < argc; i++)
		result = result && resolve(events, argv[i], timeout_ms);
	for (int i = 3; result && i < argc; i++)
		result = take(events, answers, timeout_ms);
	return result ? 0 : 1;
}
