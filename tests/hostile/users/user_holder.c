/* SPDX-License-Identifier: MIT */
/*
 * A user's program that holds all connections that the control plane gives to its user, after
 * HELLO, and some channels of the connection manager. It runs under rnic-run.
 *
 * usage: user_holder [programs]
 *
 * Prints "ready CONNECTIONS CHANNELS" once the control plane gives no more, and goes on asking
 * until somebody ends it. With "programs" it holds what the user's programs can have, gives the
 * last connections back, which may only look, and asks for nothing more.
 */
#include "proto/ctl/ctl_message.h"
#include "tests/hostile/users/control_caller.h"
#include "tests/unit/all_descriptors.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 100000,
	CHANNELS_MAX = 100,
	REFUSALS = 20, /* in a row: now there is no more */
	VIEWERS = 2,   /* the last connections of a user, which may only look */
};

/* Takes connections until the daemon gives none. Stores the last ones, the oldest first. */
static unsigned take_connections(int last[VIEWERS])
{
	unsigned count = 0, refusals = 0;

	while (refusals < REFUSALS && count < CONNECTIONS_MAX) {
		const int fd = control_caller_open(0, RNIC_HELLO_ADMIN);

		if (fd < 0) {
			refusals++;
			continue;
		}
		memmove(last, last + 1, (VIEWERS - 1) * sizeof(last[0]));
		last[VIEWERS - 1] = fd;
		count++;
		refusals = 0;
	}
	return count;
}

static unsigned take_channels(int fd)
{
	unsigned count = 0;

	for (; count < CHANNELS_MAX; count++) {
		control_caller_say(fd, RNIC_CTL_CM_CREATE_CHANNEL, "", 0);
		if (control_caller_hear(fd) != 0)
			break;
	}
	return count;
}

int main(int argc, char **argv)
{
	const bool is_quiet = argc > 1 && strcmp(argv[1], "programs") == 0;
	unsigned connections, channels;
	int first, last[VIEWERS] = {-1, -1};

	take_all_descriptors();
	first = control_caller_open(0, 0);
	connections = take_connections(last);
	channels = take_channels(first);
	printf("ready %u %u\n", connections, channels);
	fflush(stdout);
	for (int i = 0; is_quiet && i < VIEWERS; i++)
		close(last[i]);
	for (;;) {
		if (is_quiet) {
			pause();
			continue;
		}
		control_caller_open(0, RNIC_HELLO_ADMIN);
		poll(NULL, 0, 10);
	}
}
