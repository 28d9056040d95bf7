/* SPDX-License-Identifier: MIT */
#include "client/client.h"
#include "common/client_limits.h"

#include "base/log.h"
#include "base/time_units.h"
#include "client/client_set.h"
#include "device/device_half.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define SOCKET_DESCRIPTORS 1 /* the connection uses one descriptor */

struct client *client_create(struct client_set *set, int socket_fd, pid_t pid, uid_t uid)
{
	struct client *client = calloc(1, sizeof(*client));
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};

	if (client == NULL)
		return NULL;
	client->set = set;
	client->socket_fd = socket_fd;
	client->pid = pid;
	client->uid = uid;
	handle_table_init(&client->cm_channels, LIMIT_SESSION_CHANNELS);
	handle_table_init(&client->cm_ids, LIMIT_SESSION_CM_IDS);

	if (quota_open(&client->account, &set->quotas, uid) != 0)
		goto free_client;
	if (quota_charge(&client->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS) != 0)
		goto close_account;
	if (epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, socket_fd, &event) != 0)
		goto discharge;
	client->client_id = set->next_client_id++;
	client->hello_by_ns = set->now_ns + LIMIT_HELLO_MS * RNIC_NS_PER_MS;
	list_add_tail(&set->pre_hello, &client->pre_hello_node);
	list_add_tail(&set->clients, &client->node);
	set->client_count++;
	return client;

discharge:
	quota_discharge(&client->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);
close_account:
	quota_close(&client->account);
free_client:
	free(client);
	return NULL;
}

void client_cut(struct client *client)
{
	struct client_set *set = client->set;

	list_remove(&client->pre_hello_node);
	list_remove(&client->resume_node);
	free(client->call);
	client->call = NULL;
	if (client->session != NULL)
		device_half_cut_session(client->session);
	/* Shut down now, so that the client learns of the end at once. Close later: requests left
	 * in the socket may hold descriptors. */
	epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, client->socket_fd, NULL);
	shutdown(client->socket_fd, SHUT_RDWR);
	deferred_close_take(&set->deferred_close, client->socket_fd);
	client->socket_fd = -1;
	quota_discharge(&client->account, RESOURCE_DESCRIPTORS, SOCKET_DESCRIPTORS);
}

void client_destroy(struct client *client)
{
	struct client_set *set = client->set;

	assert(client->session == NULL);
	handle_table_fini(&client->cm_ids);
	handle_table_fini(&client->cm_channels);
	quota_close(&client->account);
	list_remove(&client->broken_node);
	list_remove(&client->node);
	set->client_count--;
	set->freed_count++;
	free(client);
}

void client_end(struct client *client)
{
	if (client->is_broken)
		return;
	client->is_broken = true;
	if (client->session != NULL)
		device_half_stop_session(client->session);
	client->set->ended_count++;
	list_add_tail(&client->set->broken, &client->broken_node);
}

void client_break(struct client *client, const char *format, ...)
{
	char reason[RNIC_CTL_TEXT_BYTES];
	va_list arguments;

	if (client->is_broken)
		return;
	client_end(client);
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	log_from_client("client %u (%s, pid %d) was disconnected: %s", client->client_id,
			client->program[0] != '\0' ? client->program : "unnamed", (int)client->pid,
			reason);
}

void client_note_trouble(struct client *client, const char *subject, const char *reason)
{
	struct trouble trouble = {
		.at_ns = client->set->now_ns,
		.pid = client->pid,
		.uid = client->uid,
	};

	snprintf(trouble.program, sizeof(trouble.program), "%s", client->program);
	snprintf(trouble.subject, sizeof(trouble.subject), "%s", subject);
	snprintf(trouble.reason, sizeof(trouble.reason), "%s", reason);
	trouble_log_note(&client->set->trouble_log, &trouble);
}

uint64_t client_next_hello_ns(const struct client_set *set)
{
	if (list_is_empty(&set->pre_hello))
		return UINT64_MAX;
	return list_first_entry(&set->pre_hello, const struct client, pre_hello_node)->hello_by_ns;
}
