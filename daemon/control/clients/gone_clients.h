/* SPDX-License-Identifier: MIT */
/*
 * The clients that have gone last, for troubles that their device processes report later. The ring
 * is shared by user: a new entry replaces the oldest one of the user who has most. So no user makes
 * the clients of another unknown by many short programs. Pure.
 */
#ifndef DAEMON_CONTROL_CLIENTS_GONE_CLIENTS_H
#define DAEMON_CONTROL_CLIENTS_GONE_CLIENTS_H

#include "proto/ctl/ctl_message.h"

#include <stdint.h>
#include <sys/types.h>

#define GONE_CLIENTS_MAX 64

struct gone_client {
	uint32_t client_id; /* 0: none */
	pid_t pid;
	uid_t uid;
	uid_t account;	  /* the user as whom `uid` counts: subordinate_ids.h */
	pid_t device_pid; /* of the device process that served the client */
	char program[RNIC_CTL_NAME_BYTES];
};

/* Zeroed: none has gone. */
struct gone_clients {
	struct gone_client entries[GONE_CLIENTS_MAX]; /* the oldest first; free ones at the start */
};

void gone_clients_note(struct gone_clients *all, const struct gone_client *gone);

/* NULL: nothing is left of the client. Valid until the next one is noted. */
const struct gone_client *gone_clients_find(const struct gone_clients *all, uint32_t client_id);

#endif
