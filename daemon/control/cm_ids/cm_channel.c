/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm_ids/cm_channel.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Room for the events under way with the kernel's own bytes, and little more: a client that claims
 * to have taken what it leaves in the socket must not fill the kernel's memory.
 */
#define SEND_BUFFER_BYTES (2 * RNIC_CM_EVENTS_SENT_MAX * (int)sizeof(struct rnic_ctl_cm_event))

int cm_channel_open(struct client_cm_channel *channel, int *client_fd)
{
	const int bytes = SEND_BUFFER_BYTES;
	int fds[2];
	int result;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	/* The client must not send: descriptors that arrive here would have to be closed here. */
	if (shutdown(fds[0], SHUT_RD) != 0 ||
	    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) != 0) {
		result = -errno;
		close(fds[0]);
		close(fds[1]);
		return result;
	}
	*channel = (struct client_cm_channel){.fd = fds[0]};
	list_init(&channel->waiting);
	*client_fd = fds[1];
	return 0;
}

void cm_channel_close(struct client_cm_channel *channel)
{
	assert(list_is_empty(&channel->waiting));
	for (uint32_t i = 0; i < RNIC_CM_EVENTS_SENT_MAX; i++)
		assert(channel->under_way[i] == NULL);
	close(channel->fd);
	channel->fd = -1;
}

void cm_channel_add(struct client_cm_channel *channel, struct cm_waiting_event *event)
{
	list_add_tail(&channel->waiting, &event->channel_node);
}

void cm_channel_withdraw(struct client_cm_channel *channel, struct cm_waiting_event *event)
{
	list_remove(&event->channel_node);
	for (uint32_t i = 0; i < RNIC_CM_EVENTS_SENT_MAX; i++)
		if (channel->under_way[i] == event)
			channel->under_way[i] = NULL;
}

static uint32_t count_under_way(const struct client_cm_channel *channel)
{
	return channel->sent - channel->taken;
}

/*
 * Whether the client has taken the event that was marked as the last one. Before that an event for
 * each place that gets free would be a last one again, and the client would ask after each.
 */
static bool cm_channel_is_open(const struct client_cm_channel *channel)
{
	return !channel->is_full || count_under_way(channel) == 0;
}

int cm_channel_send(struct client_cm_channel *channel)
{
	if (!cm_channel_is_open(channel))
		return 0;
	channel->is_full = false;
	while (!list_is_empty(&channel->waiting) && !channel->is_full) {
		struct cm_waiting_event *event =
			list_first_entry(&channel->waiting, struct cm_waiting_event, channel_node);

		channel->is_full = count_under_way(channel) + 1 == RNIC_CM_EVENTS_SENT_MAX;
		event->event.is_last = channel->is_full;
		if (send(channel->fd, &event->event, sizeof(event->event),
			 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
		list_remove(&event->channel_node);
		channel->under_way[channel->sent % RNIC_CM_EVENTS_SENT_MAX] = event;
		channel->sent++;
	}
	return 0;
}

struct cm_waiting_event *cm_channel_next_taken(struct client_cm_channel *channel, uint32_t taken)
{
	while (count_under_way(channel) > 0 && (int32_t)(taken - channel->taken) > 0) {
		const uint32_t entry = channel->taken % RNIC_CM_EVENTS_SENT_MAX;
		struct cm_waiting_event *event = channel->under_way[entry];

		channel->under_way[entry] = NULL;
		channel->taken++;
		if (event != NULL)
			return event;
	}
	return NULL;
}

bool cm_channel_is_half_full(const struct client_cm_channel *channel)
{
	return count_under_way(channel) >= RNIC_CM_EVENTS_SENT_MAX / 2;
}

uint32_t cm_channel_known_taken(const struct client_cm_channel *channel)
{
	int left;

	if (count_under_way(channel) > 0 && ioctl(channel->fd, SIOCOUTQ, &left) == 0 && left == 0)
		return channel->sent;
	return channel->taken;
}
