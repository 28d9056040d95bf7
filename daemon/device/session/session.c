/* SPDX-License-Identifier: MIT */
#include "daemon/device/session/session.h"
#include "daemon/shared/quota/client_limits.h"

#include "daemon/device/device_config.h"
#include "daemon/device/session/session_owner.h"
#include "daemon/device/session/session_set.h"
#include "proto/shm/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SESSION_PORT 1 /* the device's one port, as its events name it */

/* OPEN_DEVICE makes a doorbell and a pipe; the client may bring two descriptors to reach its
 * memory. */
#define OPEN_DESCRIPTORS 4

/*
 * Opens the doorbell, an eventfd that the set watches and never reads. `*passed_fd` is the client's
 * descriptor.
 */
static int session_open_doorbell(struct session *session, int *passed_fd)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLET,
		.data.ptr = &session->doorbell_watch,
	};
	int result;

	session->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->doorbell_fd < 0)
		return -errno;
	*passed_fd = fcntl(session->doorbell_fd, F_DUPFD_CLOEXEC, 0);
	if (*passed_fd < 0)
		goto close_doorbell;
	if (epoll_ctl(session->set->epoll_fd, EPOLL_CTL_ADD, session->doorbell_fd, &event) != 0)
		goto close_passed;
	return 0;

close_passed:
	result = -errno;
	close(*passed_fd);
	close(session->doorbell_fd);
	session->doorbell_fd = -1;
	return result;
close_doorbell:
	result = -errno;
	close(session->doorbell_fd);
	session->doorbell_fd = -1;
	return result;
}

static void session_close_doorbell(struct session *session)
{
	if (session->doorbell_fd < 0)
		return;
	/* The client may hold the same file description: close() alone would leave the watch. */
	epoll_ctl(session->set->epoll_fd, EPOLL_CTL_DEL, session->doorbell_fd, NULL);
	close(session->doorbell_fd);
	session->doorbell_fd = -1;
}

static int session_open_regions(struct session *session, int fds[4])
{
	int result = quota_charge(session->account, RESOURCE_DESCRIPTORS, OPEN_DESCRIPTORS);

	if (result != 0)
		return result;
	result = session_open_shared(session, &session->region, RNIC_REGION_SESSION,
				     sizeof(struct rnic_session_region), &fds[0]);
	if (result != 0)
		goto discharge;
	result = session_open_shared(session, &session->status, RNIC_REGION_STATUS,
				     sizeof(struct rnic_status_region), &fds[1]);
	if (result != 0)
		goto close_region;
	result = session_open_doorbell(session, &fds[2]);
	if (result != 0)
		goto close_status;
	result = event_pipe_open(&session->async_pipe, &fds[3]);
	if (result != 0)
		goto close_doorbell;
	session->port_events.slot = SESSION_PORT;
	session_wake(session);
	return 0;

close_doorbell:
	close(fds[2]);
	session_close_doorbell(session);
close_status:
	close(fds[1]);
	session_close_shared(session, &session->status);
close_region:
	close(fds[0]);
	session_close_shared(session, &session->region);
discharge:
	quota_discharge(session->account, RESOURCE_DESCRIPTORS, OPEN_DESCRIPTORS);
	return result;
}

static void session_close_regions(struct session *session)
{
	event_source_forget(&session->port_events);
	event_pipe_close(&session->async_pipe);
	session_close_doorbell(session);
	session_close_shared(session, &session->status);
	session_close_shared(session, &session->region);
	quota_discharge(session->account, RESOURCE_DESCRIPTORS, OPEN_DESCRIPTORS);
}

static void session_init_tables(struct session *session)
{
	handle_table_init(&session->pds, LIMIT_SESSION_PDS);
	handle_table_init(&session->mrs, LIMIT_SESSION_MRS);
	handle_table_init(&session->mws, LIMIT_SESSION_MWS);
	handle_table_init(&session->channels, LIMIT_SESSION_CHANNELS);
	handle_table_init(&session->cqs, RNIC_SESSION_CQS_MAX);
	handle_table_init(&session->queue_regions, RNIC_SESSION_QPS_MAX);
	handle_table_init(&session->qps, RNIC_SESSION_QPS_MAX);
	handle_table_init(&session->ahs, LIMIT_SESSION_AHS);
	handle_table_init(&session->srqs, RNIC_SESSION_SRQS_MAX);
	handle_table_init(&session->xrcds, LIMIT_SESSION_XRCDS);
}

/*
 * Opens access to the client's memory. The session owns the descriptors from now on. It is no error
 * when neither way is open, until the client registers memory of its own address space. -EINVAL:
 * the memory descriptor is another file.
 */
static int session_open_process(struct session *session, const struct session_config *config)
{
	int result = remote_process_init(&session->process, config->pid, config->pid_fd,
					 config->memory_fd);

	session->has_process = result == 0;
	if (session->has_process)
		return 0;
	if (config->pid_fd >= 0)
		close(config->pid_fd);
	if (config->memory_fd >= 0)
		quota_defer_close(session->account, config->memory_fd);
	return result == -EINVAL ? result : 0;
}

static void session_close_process(struct session *session)
{
	if (session->process.watch == RNIC_WATCH_ON) {
		memory_gate_close(&session->process.gate);
		quota_discharge(session->account, RESOURCE_DESCRIPTORS, !session->set->is_program);
	}
	if (session->has_process)
		remote_process_fini(&session->process);
	session->has_process = false;
}

int session_create(struct session_set *set, const struct session_config *config, int fds[4],
		   struct session **created)
{
	struct session *session = calloc(1, sizeof(*session));
	int result;

	if (session == NULL) {
		if (config->pid_fd >= 0)
			close(config->pid_fd);
		if (config->memory_fd >= 0)
			quota_defer_close(config->account, config->memory_fd);
		return -ENOMEM;
	}
	session->set = set;
	session->connection = config->connection;
	session->account = config->account;
	session->client_id = config->client_id;
	session->doorbell_fd = -1;
	session->share_fd = -1;
	session->async_pipe.write_fd = -1;
	session->files.unmap = session_unmap;
	session->files.unmap_context = session;
	session->doorbell_watch = (struct watch){WATCH_DOORBELL, session};
	session->pipe_watch = (struct watch){WATCH_PIPE, session};
	session_init_tables(session);
	result = session_open_process(session, config);
	if (result != 0)
		goto free_session;
	/* Link before memory is shared: sigbus_guard.h searches this list for the owner. */
	list_add_tail(&set->sessions, &session->node);
	set->session_count++;
	result = session_open_regions(session, fds);
	if (result != 0)
		goto remove_session;
	*created = session;
	return 0;

remove_session:
	set->session_count--;
	scheduler_remove(&session->look_node);
	list_remove(&session->node);
	session_close_process(session);
free_session:
	free(session);
	return result;
}

void session_cut(struct session *session)
{
	scheduler_remove(&session->look_node);
	scheduler_remove(&session->poller_node);
	scheduler_remove(&session->event_node);
	session_close_doorbell(session);
}

void session_destroy(struct session *session)
{
	struct session_set *set = session->set;

	assert(session->registered_bytes == 0);
	session_close_process(session);
	if (session->share_fd >= 0) {
		quota_defer_close(session->account, session->share_fd);
		quota_discharge(session->account, RESOURCE_DESCRIPTORS, 1);
	}
	set->session_count--;
	session_close_regions(session);
	list_remove(&session->node);
	free(session);
}

void session_announce_sleep(struct session *session)
{
	rnic_wake_announce(&session_region(session)->need_wakeup);
}

void session_withdraw_sleep(struct session *session)
{
	rnic_wake_withdraw(&session_region(session)->need_wakeup);
}

void session_wake(struct session *session)
{
	session->rung_ns = session->set->now_ns;
	if (scheduler_add(&session->set->scheduler, WAIT_DOORBELL_LOOK, &session->look_node))
		session_withdraw_sleep(session);
}

void session_break(struct session *session, const char *format, ...)
{
	char reason[RNIC_CTL_TEXT_BYTES];
	va_list arguments;

	if (session->is_broken)
		return;
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	session->is_broken = true;
	session->set->owner->break_client(session->connection, reason);
}
