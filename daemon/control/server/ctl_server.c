/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/ctl_server.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/server/peer_user.h"
#include "daemon/control/server/socket_acl.h"
#include "daemon/shared/base/log.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_RETRY_NS	 (100 * RNIC_NS_PER_MS)
#define SERVER_NO_BAR_NS RNIC_NS_PER_SECOND
#define TURNED_AWAY_MAX	 16 /* connections in a turn: to turn one away is little work */

static int ctl_server_open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void ctl_server_watch(const struct ctl_server *server, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = NULL};

	epoll_ctl(server->set->peers.server.epoll_fd, EPOLL_CTL_MOD, server->listen_fd, &event);
}

/* Accepts nothing for a moment: the newcomers wait in the socket, which would wake us again. */
static void ctl_server_pause(struct ctl_server *server)
{
	ctl_server_watch(server, 0);
	server->retry_ns = server->set->now_ns + SERVER_RETRY_NS;
}

static bool ctl_server_is_over(const void *context, uid_t account)
{
	return !client_set_is_refused(context, account);
}

static void ctl_server_retry(struct ctl_server *server, uint64_t now_ns)
{
	if (now_ns < server->retry_ns)
		return;
	if (server->spare_fd < 0)
		server->spare_fd = ctl_server_open_spare();
	if (server->spare_fd < 0) {
		server->retry_ns = now_ns + SERVER_RETRY_NS;
		return;
	}
	server->retry_ns = UINT64_MAX;
	ctl_server_watch(server, EPOLLIN);
}

void ctl_server_follow(struct ctl_server *server, uint64_t now_ns)
{
	ctl_server_retry(server, now_ns);
	barred_users_review(&server->barred, server->place.path, ctl_server_is_over, server->set,
			    now_ns);
}

uint64_t ctl_server_next_deadline_ns(const struct ctl_server *server)
{
	const uint64_t review_ns = barred_users_next_deadline_ns(&server->barred);

	return server->retry_ns < review_ns ? server->retry_ns : review_ns;
}

/* Returns the listening socket, or a negative errno. */
static int ctl_server_listen(struct ctl_server *server, const struct ctl_server_config *config,
			     char *reason)
{
	int result;

	if (config->taken_fd < 0)
		return socket_path_listen(config->path, config->mode, &server->place, reason);
	result = socket_path_adopt(config->taken_fd, config->path, &server->place, reason);
	if (result != 0)
		return result;
	/* A daemon that was killed may have left some behind; a file without a list has none. */
	socket_acl_admit_all(server->place.path);
	return config->taken_fd;
}

int ctl_server_open(struct ctl_server *server, struct client_set *set,
		    const struct ctl_server_config *config, char reason[SOCKET_PATH_REASON_BYTES])
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	int listen_fd = ctl_server_listen(server, config, reason);
	int result;

	if (listen_fd < 0)
		return listen_fd;
	server->set = set;
	server->listen_fd = listen_fd;
	server->rights = peer_user_rights();
	server->unmapped = peer_user_unmapped(PEER_USER_MAP_PATH, PEER_USER_UNMAPPED_PATH);
	server->spare_fd = ctl_server_open_spare();
	server->retry_ns = server->spare_fd >= 0 ? UINT64_MAX : 0;
	server->barred = (struct barred_users){0};
	server->no_bar_until_ns = 0;
	if (epoll_ctl(set->peers.server.epoll_fd, EPOLL_CTL_ADD, listen_fd, &event) != 0) {
		result = -errno;
		snprintf(reason, SOCKET_PATH_REASON_BYTES, "cannot watch the control socket");
		ctl_server_close(server);
		return result;
	}
	set->peers.server.listener = server;
	return 0;
}

void ctl_server_close(struct ctl_server *server)
{
	barred_users_admit(&server->barred, server->place.path);
	socket_path_remove(&server->place);
	close(server->listen_fd);
	if (server->spare_fd >= 0)
		close(server->spare_fd);
}

/* The process at the other end of a connection that was accepted. */
struct newcomer {
	int fd;
	pid_t pid;
	uid_t uid;
	uid_t account; /* client_set_account() */
};

/* Negative errno: nobody knows whose connection it is. */
static int newcomer_identify(const struct ctl_server *server, struct newcomer *newcomer)
{
	const int result =
		peer_user_of(newcomer->fd, server->rights, &newcomer->pid, &newcomer->uid);

	if (result == 0)
		newcomer->account = client_set_account(server->set, newcomer->uid);
	return result;
}

/* Shuts down the connection of a user, who may have made that long. */
static void ctl_server_shut_down(struct ctl_server *server, const struct newcomer *newcomer)
{
	struct client_set *set = server->set;
	const uint64_t began_ns = clock_thread_ns();

	if (client_set_shuts_out(set, newcomer->account))
		return;
	shutdown(newcomer->fd, SHUT_RDWR);
	client_set_charge(set, newcomer->uid, clock_thread_ns() - began_ns);
}

static void ctl_server_drop(struct ctl_server *server, int fd)
{
	deferred_close_take(&server->set->peers.server.deferred_close, fd);
}

/* Ends the connection, and says whose it was. */
static void ctl_server_refuse(struct ctl_server *server, const struct newcomer *newcomer,
			      const char *reason)
{
	log_from_client(newcomer->uid, "a connection (pid %d, user %u) was turned away: %s",
			(int)newcomer->pid, (unsigned)newcomer->uid, reason);
	ctl_server_shut_down(server, newcomer);
	ctl_server_drop(server, newcomer->fd);
}

/*
 * Turns a connection away when no descriptor is left: accepts it with the spare descriptor and ends
 * it. The client learns of the end, and the listening socket does not stay readable for ever. The
 * thread may take long to close what the client has sent: without a spare nothing is accepted.
 */
static void ctl_server_turn_away(struct ctl_server *server)
{
	struct newcomer newcomer;

	close(server->spare_fd);
	newcomer.fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (newcomer.fd >= 0 && newcomer_identify(server, &newcomer) == 0)
		ctl_server_refuse(server, &newcomer, "no file descriptors are left");
	else if (newcomer.fd >= 0)
		ctl_server_drop(server, newcomer.fd);
	server->spare_fd = ctl_server_open_spare();
	if (server->spare_fd < 0)
		ctl_server_pause(server);
}

/* Another user may be barred though this one was not. */
static void ctl_server_note_no_bar(const struct newcomer *newcomer, int result)
{
	log_from_client(newcomer->uid,
			"the kernel does not refuse connections of user %u, who goes on "
			"connecting when each is turned away: %s",
			(unsigned)newcomer->uid,
			result == -EUSERS
				? "it refuses as many users already as it may"
				: "the user owns the socket's file, or its access control list "
				  "lets the user in by another entry than \"rw-\"");
}

/* The file cannot change: that is so for all users, for a while. */
static void ctl_server_pause_bars(struct ctl_server *server, uid_t uid, int error)
{
	const uint64_t now_ns = server->set->now_ns;

	server->no_bar_until_ns = now_ns + SERVER_NO_BAR_NS;
	if (barred_users_note_line(&server->barred, uid, now_ns))
		log_warning("the kernel cannot refuse connections of user %u at the control "
			    "socket: %s",
			    (unsigned)uid, strerror(-error));
}

/*
 * Lines about bars, and a file that takes none, are not lines of the user, which those about each
 * connection would hide: barred_users_note_line() keeps them few.
 */
static void ctl_server_note_bar(struct ctl_server *server, const struct newcomer *newcomer)
{
	if (barred_users_note_line(&server->barred, newcomer->uid, server->set->now_ns))
		log_warning("the kernel refuses connections of user %u for a while: the user went "
			    "on connecting when each was turned away",
			    (unsigned)newcomer->uid);
}

/* Whether the kernel asks the list about this user, whom an entry can name alone. */
static bool ctl_server_can_list(const struct ctl_server *server, uid_t uid)
{
	return uid != PEER_USER_CONTAINED && uid != server->unmapped && !user_quota_is_owner(uid);
}

/* Keeps out who goes on connecting. Whom no list names (socket_acl.h) is turned away each time. */
static void ctl_server_bar(struct ctl_server *server, const struct newcomer *newcomer)
{
	const uint32_t count = server->barred.count;
	int result;

	if (!client_set_note_turned_away(server->set, newcomer->account) ||
	    !ctl_server_can_list(server, newcomer->uid) ||
	    server->set->now_ns < server->no_bar_until_ns)
		return;
	result = barred_users_add(&server->barred, server->place.path, newcomer->uid,
				  newcomer->account, server->set->now_ns);
	if (result == -EUSERS || result == -EEXIST)
		ctl_server_note_no_bar(newcomer, result);
	else if (result != 0)
		ctl_server_pause_bars(server, newcomer->uid, result);
	else if (server->barred.count > count)
		ctl_server_note_bar(server, newcomer);
}

/* Makes a client of the newcomer. Returns NULL, or why there is none. */
static const char *ctl_server_admit(struct ctl_server *server, const struct newcomer *newcomer)
{
	if (client_set_shuts_out(server->set, newcomer->account))
		return "connections of its user took too long";
	if (client_set_is_overdrawn(server->set, newcomer->account))
		return "its user connects too often for a share of a processor";
	if (client_create(server->set, newcomer->fd, newcomer->pid, newcomer->uid,
			  newcomer->account) == NULL)
		return "no memory, or its user has too much";
	return NULL;
}

/* Accepts a connection. Returns whether there was one, and it was turned away. */
static bool ctl_server_accept_one(struct ctl_server *server)
{
	const uint64_t began_ns = clock_thread_ns();
	struct newcomer newcomer;
	const char *reason;

	newcomer.fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (newcomer.fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			ctl_server_turn_away(server);
		else if (errno == ENOMEM || errno == ENOBUFS)
			ctl_server_pause(server);
		return false;
	}
	if (newcomer_identify(server, &newcomer) != 0) {
		ctl_server_drop(server, newcomer.fd);
		return true;
	}
	reason = ctl_server_admit(server, &newcomer);
	if (reason != NULL) {
		ctl_server_refuse(server, &newcomer, reason);
		ctl_server_bar(server, &newcomer);
	}
	client_set_pay(server->set, newcomer.account, clock_thread_ns() - began_ns);
	return reason != NULL;
}

void ctl_server_accept(struct request_server *requests)
{
	struct ctl_server *server = requests->listener;
	unsigned turned_away = 0;

	if (server->spare_fd < 0) {
		ctl_server_pause(server);
		return;
	}
	while (turned_away < TURNED_AWAY_MAX && ctl_server_accept_one(server))
		turned_away++;
}
