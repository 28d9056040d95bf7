/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/event_pipe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int event_pipe_open(struct event_pipe *pipe, int *read_fd)
{
	int fds[2], result;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	/*
	 * Only our end is non-blocking: the client chooses for its own end. The two ends share no
	 * flags.
	 */
	if (fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0) {
		result = -errno;
		close(fds[0]);
		close(fds[1]);
		return result;
	}
	pipe->write_fd = fds[1];
	pipe->is_full = false;
	list_init(&pipe->waiting);
	*read_fd = fds[0];
	return 0;
}

void event_pipe_close(struct event_pipe *pipe)
{
	if (pipe->write_fd < 0)
		return;
	assert(list_is_empty(&pipe->waiting));
	close(pipe->write_fd);
	pipe->write_fd = -1;
}

void event_pipe_raise(struct event_pipe *pipe, struct event_source *source, uint32_t type)
{
	source->pending_types |= UINT32_C(1) << type;
	if (!list_is_linked(&source->node))
		list_add_tail(&pipe->waiting, &source->node);
}

/* Writes the events of one source; false when the pipe is full. */
static bool event_pipe_write(struct event_pipe *pipe, struct event_source *source)
{
	while (source->pending_types != 0) {
		uint32_t type = (uint32_t)__builtin_ctz(source->pending_types);
		struct rnic_event_record record = {
			.type = type,
			.slot = source->slot,
			.generation = source->generation,
		};
		/* A record is smaller than PIPE_BUF: the kernel writes all of it or nothing. */
		ssize_t written = write(pipe->write_fd, &record, sizeof(record));

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			return false;
		source->pending_types &= source->pending_types - 1;
	}
	return true;
}

bool event_pipe_flush(struct event_pipe *pipe)
{
	while (!list_is_empty(&pipe->waiting)) {
		struct event_source *source =
			list_first_entry(&pipe->waiting, struct event_source, node);

		if (!event_pipe_write(pipe, source)) {
			pipe->is_full = true;
			return false;
		}
		list_remove(&source->node);
	}
	pipe->is_full = false;
	return true;
}

void event_source_forget(struct event_source *source)
{
	source->pending_types = 0;
	list_remove(&source->node);
}
