/* SPDX-License-Identifier: MIT */
/*
 * All clients of the control plane. The epoll instance of their server holds the listening socket
 * and the connections.
 */
#ifndef DAEMON_CONTROL_CLIENTS_CLIENT_SET_H
#define DAEMON_CONTROL_CLIENTS_CLIENT_SET_H

#include "daemon/control/clients/cm_journal.h"
#include "daemon/control/clients/gone_clients.h"
#include "daemon/control/clients/subordinate_ids.h"
#include "daemon/control/clients/throttled_users.h"
#include "daemon/control/clients/trouble_log.h"
#include "daemon/shared/base/handle_table.h"
#include "daemon/shared/link/device_facts.h"
#include "daemon/shared/quota/user_quota.h"
#include "daemon/shared/served_peer/served_peer.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

#define CLIENT_SET_BUCKETS 1024 /* a power of two: a quarter of LIMIT_SESSIONS */

struct cm;
struct device_set;
struct neighbour_queries;
struct rule_owner;

/* How the device was set up, as texts for listings. */
struct device_settings {
	char udp_port[RNIC_CTL_NAME_BYTES];
	char poll[RNIC_CTL_NAME_BYTES];
	char segmentation[RNIC_CTL_NAME_BYTES];
	char ecn[RNIC_CTL_NAME_BYTES];
	char lanes[RNIC_CTL_LANES_BYTES];
	uint32_t lane_count;
	uint8_t cm_tos; /* the traffic class that an identifier begins with */
	/* At present: */
	char source_ports[RNIC_CTL_PORTS_TEXT_BYTES];
	uint32_t unused_addresses;
};

/* How a condition reaches what is not a device process. */
struct condition_calls {
	void (*cut_link)(void *context, bool is_cut);
	/* Those of `owner` in the device set have changed. */
	void (*set_rules)(void *context, const struct rule_owner *owner);
	/* The link is down and up by turns, until cut_link(). */
	void (*flap_link)(void *context, uint64_t down_ns, uint64_t up_ns);
	void (*renumber_gids)(void *context);
	void *context;
};

struct client_set {
	struct device_set *devices;
	struct cm *cm; /* the device's connection manager; its sink is cm_sink.h's */
	const struct device_facts *facts;
	const struct device_settings *settings;
	struct neighbour_queries *neighbours; /* of the device's network; NULL: not to be asked */
	struct condition_calls conditions;
	struct served_set peers; /* struct client.peer */
	struct list greeting; /* struct served_peer.silent_node, of clients whose HELLO waits for a
				 device process */
	struct handle_table numbers; /* short ones of all clients, for client_object_number() */
	struct list by_id[CLIENT_SET_BUCKETS]; /* struct client.id_node, by the client_id */
	uint32_t next_client_id;
	bool has_ended_program;	  /* since the counters of the view were last hastened */
	bool has_wrapped;	  /* all numbers of clients have been drawn once */
	uint64_t now_ns;	  /* time of the turn under way */
	struct user_quotas users; /* of the quotas of `peers` */
	struct subordinate_ids subordinates;
	struct throttled_users throttled_users;
	struct trouble_log trouble_log;
	struct cm_journal cm_journal;
	struct gone_clients gone;
};

/* The configuration of a set. Everything in it outlives the set. */
struct client_set_config {
	const struct request_role *role; /* of the control connections */
	struct device_set *devices;
	struct cm *cm;
	const struct device_facts *facts;
	const struct device_settings *settings;
	struct neighbour_queries *neighbours; /* NULL: every address counts as one that answers */
	struct condition_calls conditions;
	uint32_t own_descriptors; /* that the control plane needs for itself, at most */
};

/* Makes an empty set. Returns a negative errno of epoll_create1. */
int client_set_init(struct client_set *set, const struct client_set_config *config);

/* The set must be empty (asserted). */
void client_set_fini(struct client_set *set);

/* The user as whom `uid` counts in the shares (subordinate_ids.h). */
uid_t client_set_account(struct client_set *set, uid_t uid);

#endif
