/* SPDX-License-Identifier: MIT */
/*
 * The device process's end of the process link (process_message.h): carries out what the
 * control plane says, and tells the control plane what the device meets.
 *
 * The control plane is trusted, but may be slow, stopped or dead. Nothing here blocks. A trouble or
 * a packet that finds the link full is lost; listings, groups and the ends of clients are tried
 * again. When the link hangs up, or brings what is no message, `is_down` is set, and the process
 * ends.
 */
#ifndef DAEMON_DEVICE_LINK_LINK_CLIENT_H
#define DAEMON_DEVICE_LINK_LINK_CLIENT_H

#include "daemon/device/link/group_joins.h"
#include "daemon/shared/link/process_link.h"
#include "daemon/shared/quota/client_limits.h"

#include <stdbool.h>
#include <stdint.h>

#define LINK_CLIENT_ROWS_MAX	  16 /* listings under way */
#define LINK_CLIENT_TURN_MESSAGES 64
#define LINK_CLIENT_GONE_MAX	  LIMIT_SESSIONS /* the control plane hands over no more */

struct stats_writer;
struct datagram;
struct device;
struct device_host;

struct link_client {
	int fd;
	struct stats_writer *stats;
	const struct rnic_facts_page *facts_page; /* shared: the control plane writes */
	struct device *device;
	uint64_t facts_sequence; /* applied */
	uint32_t netdev_index;	 /* of these facts; 0: there were none yet */
	struct group_joins joins;
	uint32_t gone[LINK_CLIENT_GONE_MAX]; /* clients that have gone; to be told */
	uint32_t gone_count;
	struct rnic_process_rows rows[LINK_CLIENT_ROWS_MAX]; /* to be answered */
	uint32_t rows_count;
	struct rnic_process_order_reply answer; /* to the latest order */
	bool has_answer;			/* it is to be sent */
	bool is_down;
	struct process_receipt receipt;
};

/*
 * Prepares the link `fd`, which stays the caller's. The caller sets `facts_page` and `half` before
 * link_client_poll().
 */
void link_client_init(struct link_client *link, int fd, struct stats_writer *stats);
void link_client_fini(struct link_client *link);

/* Fills in the callbacks by which the device tells its host. */
void link_client_fill_host(struct link_client *link, struct device_host *host);

/* Answers START. Negative errno of process_link_send(). */
int link_client_send_ready(struct link_client *link, int status, const char *udp_port,
			   const char *reason);

/* Serves a bounded number of messages. Returns whether there was any. */
bool link_client_poll(struct link_client *link);

/*
 * Applies the facts that the control plane has sent, when the facts page says that there are newer
 * ones: what a client does next may rest on them.
 */
void link_client_catch_up(struct link_client *link);

/* Tries again what the full link did not take, and ends the waits for groups. */
void link_client_tick(struct link_client *link, uint64_t now_ns);
uint64_t link_client_next_deadline_ns(const struct link_client *link, uint64_t now_ns);

#endif
