/* SPDX-License-Identifier: MIT */
/*
 * A client: the peer of a control connection (served_peer.h), and its objects of the connection
 * manager. HELLO also makes a device connection, unless the client is an administrator; a device
 * process serves that one. When one of the two ends, the process behind it tells the other, which
 * ends too (RNIC_PROCESS_CLIENT_GONE).
 *
 * The client is hostile. served_peer_break() notes what is wrong, and client_teardown_run() ends
 * the client where no caller still holds a pointer to the client.
 */
#ifndef DAEMON_CONTROL_CLIENTS_CLIENT_H
#define DAEMON_CONTROL_CLIENTS_CLIENT_H

#include "daemon/control/clients/gone_clients.h"
#include "daemon/shared/base/handle_table.h"
#include "daemon/shared/reports/show_rows.h"
#include "daemon/shared/served_peer/served_peer.h"
#include "lib/nic/base/list.h"
#include "proto/base/causes.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client_set;
struct device_child;
struct processor_share;

/* A longer call is a client's doing: a call on a socket takes microseconds. */
#define LIMIT_CALL_NS 20000000

/* What a page costs a device process, at most: to wake up, and to make 8 KiB of rows. */
#define LIMIT_LISTING_PAGE_NS UINT64_C(50000)

struct client {
	struct served_peer peer;
	struct client_set *set;
	struct rnic_handle number;   /* in client_set.numbers */
	struct list id_node;	     /* of client_set.by_id */
	struct device_child *device; /* that serves the client, or is to; NULL: none, or not yet */
	bool has_greeted;	     /* HELLO was accepted */
	uint64_t greeted_ns;	     /* when HELLO was accepted */
	struct show_patience patience; /* with the device process that SHOW lists */
	bool is_admin;
	bool is_viewing;     /* the latest request only looks: user_quota.listings pays */
	uint32_t rule_first; /* rules that the request under way has loaded */
	uint32_t rule_count;

	struct handle_table cm_channels; /* struct client_cm_channel */
	struct handle_table cm_ids;	 /* struct client_cm_id */
	uint32_t cm_event_count;	 /* events that wait in all cm_channels */
};

/*
 * Makes a client for an accepted connection of the user `uid`, who counts as `account` (see
 * client_set_account()), and puts the client into the set. The client owns the connection from then
 * on. A client beyond the user's share may only look: account.is_viewer. NULL: out of memory, or
 * the user has as many of these as a user may have. The caller closes the connection then.
 */
struct client *client_create(struct client_set *set, int socket_fd, pid_t pid, uid_t uid,
			     uid_t account);

/* The client of a peer, and of the peer's connection. */
struct client *client_of_peer(struct served_peer *peer);
struct client *client_of_connection(struct request_connection *requests);

/*
 * Steps in which a client ends, for the role. client_cut() shuts the connection down, and tells the
 * device process. client_destroy() frees the client itself after all its objects are freed.
 */
void client_cut(struct served_peer *peer);
void client_destroy(struct served_peer *peer);

/*
 * Notes that a call on a socket of the user `uid` took `cpu_ns` of this thread's time. A user whose
 * calls take longer than honest peers make them gets no connection for a while, and the user's
 * clients end with this turn: one line says so (throttled_users.h). All subordinate ids of one
 * owner are one user here, else somebody would go on with the next one of 65,536. Root and the
 * daemon's own user may have all there is.
 */
void client_set_charge(struct client_set *set, uid_t uid, uint64_t cpu_ns);

/* Whether this account (client_set_account()) gets no connection now: see client_set_charge(). */
bool client_set_shuts_out(const struct client_set *set, uid_t account);

/*
 * Whether the client ends, and with it all that it holds. A client whose hang-up nobody has seen
 * yet ends with this turn.
 */
bool client_has_gone(struct client *client);

/* Notes the failure `subject` of a client that has gone. */
void client_note_late_trouble(struct client_set *set, const struct gone_client *gone,
			      enum rnic_cause cause, const char *subject, const char *reason);

/* Returns the client numbered `client_id`; NULL: there is none, or no more. */
struct client *client_find(const struct client_set *set, uint32_t client_id);

/*
 * The number by which listings name the client's object in `slot`: no other object of its kind has
 * it at the same time, of whichever client. A device process may claim any slot: the upper bits of
 * one that cannot be are ignored.
 */
uint32_t client_object_number(const struct client *client, uint32_t slot);

/*
 * Puts the client into `list`, which is peers.silent or greeting of its set, and gives it the whole
 * time anew: to say HELLO, or to wait for the answer.
 */
void client_expect_hello(struct client *client, struct list *list);

/* Returns the earlier of the deadlines of both lists. */
uint64_t client_next_hello_ns(const struct client_set *set);

/*
 * The share of the user (user_quota.h) that pays for the latest request: `listings` when
 * client.is_viewing, else `requests`. A user who may have all there is pays nothing. A user who is
 * alone pays nothing for requests.
 */
struct processor_share *client_share(const struct client *client);

/* Notes that work for the client took `cpu_ns` of a processor, which this share pays. */
void client_pay(struct client *client, uint64_t cpu_ns);

/*
 * Whether this share has paid for what the user has had. 0: the request may go on, and ends with
 * client_end_request(). -EAGAIN: wait a while (ctl_call.awaits_time). -EBUSY: another client of the
 * user waits so; wait behind that one (ctl_call.waits_in). A client that waits is not
 * silent: its time to say HELLO begins anew when the request goes on.
 */
int client_await_share(struct client *client);

/*
 * Asks for the permission to ask device processes for a page of a listing. Each of them answers one
 * question at a time, and works for its own user meanwhile. 0: the client has the permission, until
 * client_end_request(). -EBUSY: another client of the user has it; wait for the turn in
 * user_quota.listings.
 */
int client_begin_pages(struct client *client);

/* Ends permission and wait, if the client has one, and lets the user's next client go on. */
void client_end_request(struct client *client);

/*
 * Whether this account (client_set_account()) owes so much for connections that it gets no more of
 * them now. client_set_pay() notes what it took to accept one, and to turn it away.
 */
bool client_set_is_overdrawn(const struct client_set *set, uid_t account);
void client_set_pay(struct client_set *set, uid_t account, uint64_t cpu_ns);

/* Whether each connection of this account is turned away now: overdrawn, or shut out. */
bool client_set_is_refused(const struct client_set *set, uid_t account);

/*
 * Notes that a connection of this account was turned away. Returns whether the account is to be
 * kept from connecting at all, until client_set_is_refused() ends: it goes on though it is refused,
 * LIMIT_TURNED_AWAY times. An overdrawn account then owes the most that one can.
 */
bool client_set_note_turned_away(struct client_set *set, uid_t account);

/* Notes a failure for the client, which rnicctl shows. */
void client_note_trouble(struct client *client, enum rnic_cause cause, const char *subject,
			 const char *reason);

#endif
