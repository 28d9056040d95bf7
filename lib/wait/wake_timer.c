/* SPDX-License-Identifier: MIT */
#include "lib/wait/wake_timer.h"

#include "proto/base/time_units.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/timerfd.h>
#include <unistd.h>

int wake_timer_open(struct wake_timer *timer)
{
	timer->armed_ns = UINT64_MAX;
	timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return timer->fd < 0 ? -errno : 0;
}

void wake_timer_set(struct wake_timer *timer, uint64_t wake_ns)
{
	const struct itimerspec when = {
		.it_value.tv_sec = (time_t)(wake_ns / RNIC_NS_PER_SECOND),
		.it_value.tv_nsec = (long)(wake_ns % RNIC_NS_PER_SECOND),
	};

	if (timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
		timer->armed_ns = wake_ns;
}

void wake_timer_arm(struct wake_timer *timer, uint64_t deadline_ns, uint64_t now_ns)
{
	const bool is_soon_enough = timer->armed_ns <= deadline_ns && timer->armed_ns > now_ns;

	if (deadline_ns != UINT64_MAX && !is_soon_enough)
		wake_timer_set(timer, deadline_ns);
}

void wake_timer_take(struct wake_timer *timer)
{
	uint64_t expirations;

	if (read(timer->fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		timer->armed_ns = UINT64_MAX;
}
