/* SPDX-License-Identifier: MIT */
/*
 * The messages between the control plane and one device process (process_message.h).
 *
 * Outbound nothing is queued. What a process must know is state: the GIDs, the facts, one answer.
 * device_link_flush() sends what differs from what was sent before, as soon as the link has room. A
 * process that stopped so costs a bounded amount of memory, and an attempt now and then.
 *
 * Inbound a turn takes a bounded number of messages. A process that sends too many is not read for
 * a moment, and a message that breaks the protocol ends the process.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_LINK_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_LINK_H

#include "daemon/control/supervisor/device_child.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_letter;

/* A client, as the control plane knows it since HELLO. */
struct served_client {
	uint32_t client_id;
	uid_t uid;
	pid_t pid;
	int pid_fd; /* a PID descriptor of the client's process; -1: none may be used */
	const char *program;
};

/*
 * Receives messages, and lets happen what they and the state of the link mean. `is_hung_up`: the
 * other end of the link is closed; messages may still be there.
 */
void device_link_receive(struct device_child *process, bool is_hung_up);

/* The time at which a process that sent too much is read again; UINT64_MAX: it may send. */
uint64_t device_link_next_deadline_ns(const struct device_child *process);

/* Whether the process serves, and no attempt to send has just found the link full. */
bool device_link_may_send(const struct device_child *process);

/*
 * Sends GIDs, facts and answers that the process lacks. Returns whether nothing is left to send;
 * false also when the process does not serve.
 */
bool device_link_flush(struct device_child *process);

/*
 * Hands over one end of a device connection, which stays the caller's, and from then on the process
 * holds the client. 0; -EAGAIN: the process does not take its messages, or does not say which of
 * its clients have gone: try again in a later turn; -ENOMEM; -EPIPE: the process serves no more.
 */
int device_link_send_client(struct device_child *process, const struct served_client *client,
			    int connection_fd);

/*
 * Tells the process of the clients that the control plane has ended (client_ledger_end). What the
 * link has no room for is told by a later device_link_flush().
 */
void device_link_tell_ends(struct device_child *process);

/*
 * Passes a datagram on. 0; -EAGAIN: it is lost, as in a network, since datagrams have their half of
 * the link's room; -EPIPE: the process serves no more.
 */
int device_link_send_packet(struct device_child *process, const struct rnic_process_packet *packet,
			    const uint8_t *datagram);

/* Sends a PROBE, with the same results. */
int device_link_send_probe(struct device_child *process, const struct rnic_process_probe *probe);

/* Sends a message to a process that serves. 0, -EAGAIN or -EPIPE. */
int device_link_send(struct device_child *process, const struct process_letter *letter);

/* Notes that rules have changed. */
void device_link_note_rules(struct device_child *process);

/* Notes that facts or GIDs have changed. */
void device_link_note_facts(struct device_child *process);

/*
 * Whether the process may still use the GID at `index`: a queue pair or an address handle of the
 * process does, or the process has not applied the latest facts yet. A process that has not applied
 * them for 30 s is not waited for.
 */
bool device_link_uses_gid(struct device_child *process, uint32_t index);

/* Makes a text that the process wrote fit for a log line and a terminal, and ends it. */
void device_link_clean_text(char *text, size_t bytes);

#endif
