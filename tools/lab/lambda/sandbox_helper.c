/* SPDX-License-Identifier: MIT */
/* The helper: a child for each order, its end in time, and the judgement of that end. */
#include "tools/lab/lambda/sandbox_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Closes all descriptors but two. */
static void close_others(int first, int second)
{
	int low = first < second ? first : second, high = first < second ? second : first;

	if (low > 0)
		close_range(0, (unsigned int)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned int)(low < 0 ? 0 : low + 1), (unsigned int)high - 1, 0);
	close_range((unsigned int)high + 1, ~0U, 0);
}

/* Returns 0, or -1 when the server is gone. */
static int receive_order(int fd, struct sandbox_order *order, int descriptors[SANDBOX_DESCRIPTORS])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * SANDBOX_DESCRIPTORS)];
	} control;
	struct iovec part = {.iov_base = order, .iov_len = sizeof(*order)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t count;

	do
		count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (count < 0 && errno == EINTR);
	if (count != sizeof(*order) || message.msg_controllen != sizeof(control.bytes))
		return -1;
	memcpy(descriptors, CMSG_DATA(&control.header), sizeof(int) * SANDBOX_DESCRIPTORS);
	return 0;
}

/* Waits until the child has ended, or ends it. Returns whether it was late. */
static bool await_child(pid_t child, uint32_t wall_ms, int *status)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
	bool is_late = false;

	/* Only signals that end this process could interrupt it. */
	if (end.fd < 0 || poll(&end, 1, (int)wall_ms) != 1) {
		is_late = true;
		kill(child, SIGKILL);
	}
	if (end.fd >= 0)
		close(end.fd);
	while (waitpid(child, status, 0) < 0 && errno == EINTR)
		;
	return is_late;
}

/* The report is a stranger's: the helper believes it only where it concerns that stranger alone. */
static void judge_report(const struct sandbox_report *report, uint64_t output_room,
			 struct lambda_result *result)
{
	result->verdict = report->verdict < LAMBDA_VERDICTS ? (enum lambda_verdict)report->verdict
							    : LAMBDA_CRASHED;
	result->detail = report->detail;
	result->address = report->address;
	result->value = report->value;
	if (result->verdict != LAMBDA_RETURNED)
		return;
	if (report->value < 0)
		result->verdict = LAMBDA_FAILED;
	else if ((uint64_t)report->value > output_room)
		result->verdict = LAMBDA_OVERFLOWED;
	else
		result->output_bytes = (uint32_t)report->value;
}

static struct lambda_result sandbox_helper_judge(const struct sandbox_order *order, bool is_late,
						 int status, const struct sandbox_report *shared)
{
	struct sandbox_report report = *shared;
	struct lambda_result result = {.detail = -1};

	if (is_late) {
		result.verdict = LAMBDA_LATE;
	} else if (WIFEXITED(status) && report.is_complete) {
		judge_report(&report, order->files[SANDBOX_OUTPUT].bytes, &result);
	} else if (WIFEXITED(status)) {
		/* The function must not call exit_group(), the only call that gets through. */
		result.verdict = LAMBDA_CALLED_SYSTEM;
		result.detail = SYS_exit_group;
	} else if (WTERMSIG(status) == SIGSYS) {
		result.verdict = LAMBDA_CALLED_SYSTEM;
	} else if (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU) {
		result.verdict = LAMBDA_LOOPED;
	} else {
		result.verdict = LAMBDA_CRASHED;
		result.detail = WTERMSIG(status);
	}
	return result;
}

static struct lambda_result run(const struct sandbox_order *order,
				const int descriptors[SANDBOX_DESCRIPTORS], int table_fd,
				struct sandbox_report *report)
{
	struct lambda_result refusal = {.verdict = LAMBDA_REFUSED, .detail = EAGAIN};
	pid_t helper = getpid(), child;
	bool is_late;
	int status;

	memset(report, 0, sizeof(*report));
	child = fork();
	if (child < 0)
		return refusal;
	if (child == 0) {
		/* The child ends with the helper, also with one that is gone already. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != helper)
			_exit(EXIT_FAILURE);
		sandbox_child_run(order, descriptors, table_fd, report);
	}
	is_late = await_child(child, order->limits.wall_ms, &status);
	return sandbox_helper_judge(order, is_late, status, report);
}

void sandbox_helper_run(int fd, int table_fd)
{
	struct sandbox_report *report;
	struct sandbox_order order;
	struct lambda_result result;
	int descriptors[SANDBOX_DESCRIPTORS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "rnic-lab-helper");
	close_others(fd, table_fd);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (report == MAP_FAILED)
		_exit(EXIT_FAILURE);
	while (receive_order(fd, &order, descriptors) == 0) {
		result = run(&order, descriptors, table_fd, report);
		for (int i = 0; i < SANDBOX_DESCRIPTORS; i++)
			close(descriptors[i]);
		if (send(fd, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			break;
	}
	_exit(EXIT_SUCCESS);
}
