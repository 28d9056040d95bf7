/* SPDX-License-Identifier: MIT */
/*
 * The last messages of the connection manager, for the person who asks why a connection was refused
 * or ended. The control plane handles connections, so that no device process records them.
 *
 * The journal is bounded, and each user has a share: no user's connections displace the messages of
 * another one's. The subordinate ids of one owner are one user. Messages that concern no program
 * are the device's share. The owner is the set of clients.
 */
#ifndef DAEMON_CONTROL_CLIENTS_CM_JOURNAL_H
#define DAEMON_CONTROL_CLIENTS_CM_JOURNAL_H

#include "proto/ctl/ctl_message.h"
#include "proto/mad/cm_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CM_JOURNAL_USERS   16
#define CM_JOURNAL_ENTRIES 60 /* of each user */

struct cm_journal_entry {
	uint64_t at_ns; /* the last time, when it came or went several times in a row */
	pid_t pid;
	uid_t uid;
	uint32_t client_id;
	uint32_t qpn;	   /* own; 0: none yet */
	uint32_t peer_qpn; /* 0: not known yet */
	uint16_t port;	   /* of the service */
	uint16_t reason;   /* of a REJ or SIDR_REP */
	uint8_t run;	   /* how often after the first time, at most 255 */
	bool is_sent;
	bool is_late; /* the program had let go of the connection: `pid` and `client_id` are 0 */
	enum rnic_cm_kind kind;
	char program[RNIC_CTL_NAME_BYTES];
};

struct cm_journal_share {
	uid_t account;
	bool is_of_device; /* then `account` says nothing */
	uint64_t used_ns;  /* 0: the share is free */
	uint32_t count; /* less than twice the bound; the last one is count - 1, modulo the bound */
	struct cm_journal_entry entries[CM_JOURNAL_ENTRIES];
};

/* Zeroed: empty. */
struct cm_journal {
	struct cm_journal_share shares[CM_JOURNAL_USERS];
};

/*
 * Notes the message of a program of the user `account`, or of the device. When all shares are
 * taken, the user whose last message is the oldest loses theirs. A message equal to the last one
 * but for its time, which was sent or came again, only adds to the run of that.
 */
void cm_journal_note(struct cm_journal *journal, uid_t account, bool is_of_device,
		     const struct cm_journal_entry *entry);

/* The entry with `n` older ones; NULL: there are not that many. */
const struct cm_journal_entry *cm_journal_nth(const struct cm_journal_share *share, uint32_t n);

#endif
