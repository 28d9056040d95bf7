/* SPDX-License-Identifier: MIT */
/*
 * A program with a device, a queue pair and memory that does what its standard input says, line by
 * line, so that a script can ask how the program fares while the daemon's processes die or stand
 * still. It runs under rnic-run.
 *
 * usage: family_client
 *
 *   work   one WRITE to itself; answers "worked", or "failed" and why
 *   ask    registers a region, which the device has to answer; "asked", or "failed" and why
 *   keep   registers pages of its own; "kept"
 *   unmap  unmaps these pages, which are registered still; "unmapped"
 *   exec   replaces itself by a program that sleeps
 *   fork   leaves a child that sleeps, and ends at once
 *   exit   ends at once and frees nothing
 *   close  frees everything and ends
 *   wait   two threads wait for events that do not come; "waited for ..." when one comes back
 *   create a thread makes an identifier of rdma_cm; "created", or "failed"
 *   garble device, garble control
 *          sends nonsense on all connections of that kind
 *
 * Says "ready" first, and "event NAME" at each asynchronous event.
 */
#include "tests/interop/family/client_threads.h"
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 8000,
	MILLISECONDS = 1000,
	NANOSECONDS = 1000000,
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * MILLISECONDS + (int64_t)now.tv_nsec / NANOSECONDS;
}

static void say_failure(const char *what, const char *why)
{
	printf("failed: %s: %s\n", what, why);
}

static void work(struct bench *bench)
{
	struct ibv_sge local = {(uintptr_t)bench->bytes, 64, bench->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)bench->bytes + 128, .rkey = bench->mr->rkey},
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int64_t deadline = now_ms() + PATIENCE_MS;
	int polled = ibv_post_send(bench->qp, &wr, &bad);

	if (polled != 0) {
		say_failure("post", strerror(polled));
		return;
	}
	while ((polled = ibv_poll_cq(bench->cq, 1, &wc)) == 0 && now_ms() < deadline)
		poll(NULL, 0, 1);
	if (polled < 0)
		say_failure("poll", "the device is lost");
	else if (polled == 0)
		say_failure("poll", "nothing came");
	else if (wc.status != IBV_WC_SUCCESS)
		say_failure("status", ibv_wc_status_str(wc.status));
	else
		printf("worked\n");
}

static uint8_t *kept; /* registered */

static void keep(struct bench *bench)
{
	kept = mmap(NULL, BENCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept == MAP_FAILED || ibv_reg_mr(bench->pd, kept, BENCH_BYTES, 0) == NULL)
		say_failure("region", strerror(errno));
	else
		printf("kept\n");
}

static void unmap(void)
{
	if (munmap(kept, BENCH_BYTES) != 0)
		say_failure("munmap", strerror(errno));
	else
		printf("unmapped\n");
}

static void ask(struct bench *bench)
{
	struct ibv_mr *mr = ibv_reg_mr(bench->pd, bench->bytes, BENCH_BYTES, 0);

	if (mr == NULL || ibv_dereg_mr(mr) != 0)
		say_failure("region", strerror(errno));
	else
		printf("asked\n");
}

static void leave_child(void)
{
	pid_t child = fork();

	if (child == 0)
		pause(); /* the script ends the child */
	else
		printf("child %d\n", (int)child);
	fflush(stdout);
	_exit(child < 0);
}

static void obey(struct bench *bench, const char *word)
{
	if (strcmp(word, "work\n") == 0) {
		work(bench);
	} else if (strcmp(word, "ask\n") == 0) {
		ask(bench);
	} else if (strcmp(word, "keep\n") == 0) {
		keep(bench);
	} else if (strcmp(word, "unmap\n") == 0) {
		unmap();
	} else if (strcmp(word, "exec\n") == 0) {
		execlp("sleep", "sleep", "600", (char *)NULL);
	} else if (strcmp(word, "fork\n") == 0) {
		leave_child();
	} else if (strcmp(word, "exit\n") == 0) {
		_exit(0);
	} else if (strcmp(word, "wait\n") == 0) {
		threads_wait(bench);
	} else if (strcmp(word, "create\n") == 0) {
		threads_create_id();
	} else if (strncmp(word, "garble ", 7) == 0) {
		threads_garble(word + 7);
	} else if (strcmp(word, "close\n") == 0) {
		bench_stop(bench);
		exit(0);
	} else {
		say_failure("no such word", word);
	}
}

/* Returns false when the pipe of events has ended. */
static bool take_event(struct bench *bench)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(bench->context, &event) != 0)
		return false;
	if (event.event_type == IBV_EVENT_DEVICE_FATAL)
		printf("event device fatal\n");
	else
		printf("event %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
	return event.event_type != IBV_EVENT_DEVICE_FATAL;
}

int main(void)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct pollfd waits[2] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = bench->context->async_fd, .events = POLLIN},
	};
	char word[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready\n");
	for (;;) {
		if (poll(waits, 2, -1) < 0)
			return 1;
		if (waits[1].revents && !take_event(bench))
			waits[1].fd = -1;
		if (!waits[0].revents)
			continue;
		if (fgets(word, sizeof(word), stdin) == NULL)
			return 0;
		obey(bench, word);
	}
}
