/* SPDX-License-Identifier: MIT */
/* A pipe by which a test tells a thread that waits of an event, a byte for each. */
#ifndef TESTS_UNIT_DAEMON_DEVICE_HOST_PROGRAM_EVENT_CHANNEL_H
#define TESTS_UNIT_DAEMON_DEVICE_HOST_PROGRAM_EVENT_CHANNEL_H

#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <unistd.h>

struct channel {
	int read_fd;
	int write_fd;
};

static inline void channel_open(struct channel *channel)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	*channel = (struct channel){fds[0], fds[1]};
}

static inline void channel_close(struct channel *channel)
{
	close(channel->read_fd);
	close(channel->write_fd);
}

static inline void channel_signal(const struct channel *channel)
{
	assert_int_equal(write(channel->write_fd, "", 1), 1);
}

#endif
