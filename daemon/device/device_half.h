/* SPDX-License-Identifier: MIT */
/*
 * The device half of the daemon, as the control plane sees it: engine, ports, sessions, objects and
 * queues. device_host.h declares what the device half asks of the control plane. The two halves
 * share nothing else but daemon/common, the packets of queue pair 1 (path/general_services.h), and
 * the facts that the control plane writes and the device half reads.
 *
 * One thread uses everything here. Sessions end between turns only.
 */
#ifndef DAEMON_DEVICE_DEVICE_HALF_H
#define DAEMON_DEVICE_DEVICE_HALF_H

#include "base/verbs_types.h"
#include "ctl/ctl_message.h"
#include "device/device_config.h"
#include "device/device_host.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl_call;
struct device_half;
struct rnic_show_client;
struct rnic_show_counter;
struct session;
struct show_rows;

/*
 * Opens ports and engine. On failure returns NULL with a sentence in `reason` and a negative errno
 * in `error`, and leaves nothing open.
 */
struct device_half *device_half_open(const struct device_half_config *config, uint64_t now_ns,
				     int *error, char reason[DEVICE_REASON_BYTES]);

/* Sends the packets that wait in queue pair 1, and closes everything. All sessions must be gone. */
void device_half_close(struct device_half *half);

/* ---- clients ---- */

/*
 * Makes a session for a client that said HELLO. Stores the client's descriptors at `fds` in the
 * order of struct rnic_ctl_hello_reply; the caller passes them on and closes them. Negative errno:
 * -EINVAL when config->memory_fd is no /proc/self/mem open for reading and writing. The device half
 * owns the descriptors of `config` in any case.
 */
int device_half_open_session(struct device_half *half, const struct session_config *config,
			     int fds[4], struct session **session);

/* Stops reading what the client writes. The client is about to end. */
void device_half_stop_session(struct session *session);

/* Cuts the session off: the session can reach nothing, and nothing can reach the session. */
void device_half_cut_session(struct session *session);

/*
 * Frees the objects of a session that was cut off, at a cost of `*budget` at most, and subtracts
 * the cost from the budget. Returns true when it has freed everything, the session included.
 */
bool device_half_free_session(struct session *session, uint32_t *budget);

/*
 * Makes the turns look at the client's doorbells from now on. Returns whether the session was
 * asleep.
 */
bool device_half_wake_session(struct session *session);

/* Carries out a request about the port or the objects of call->session; see ctl_call.h. */
int device_half_request(struct ctl_call *call);

/* ---- facts in ---- */

/*
 * Gives ports and engine the GID `gid` at `index`; NULL: none. Negative errno of the ports with a
 * sentence in `text`; the slot is empty then.
 */
int device_half_set_gid(struct device_half *half, uint32_t index, const struct rnic_gid *gid,
			char text[PORT_TEXT_BYTES]);
void device_half_set_path_mtu(struct device_half *half, uint32_t bytes);

/* Reports PORT_ACTIVE, PORT_ERR or GID_CHANGE to all clients. */
void device_half_port_event(struct device_half *half, enum rnic_async_event_type type);

/* Return whether a queue pair or an address handle sends from the GID at `index`, or to `dest`. */
bool device_half_uses_gid(const struct device_half *half, uint32_t index);
bool device_half_uses_dest(const struct device_half *half, const struct rnic_gid *dest);

/* ---- listings ---- */

/* Adds the rows of a session: QPs, MRs, MWs, CQs, SRQs. */
void device_half_show(const struct session *session, uint32_t kind, struct show_rows *rows);

/* Fills in the session's part of the row. The control plane fills in client_id and its own part. */
void device_half_show_client(const struct session *session, struct rnic_show_client *row);

/*
 * The partition keys by index (zero where there is none), the name of the port at the bottom of the
 * stack, and the number of sessions.
 */
void device_half_pkeys(const struct device_half *half, uint16_t pkeys[RNIC_PKEYS_MAX]);
const char *device_half_port_name(const struct device_half *half);
uint32_t device_half_session_count(const struct device_half *half);

/*
 * Read the counter numbered `index`: of engine, ports and loop; of the rules of --fault; or of the
 * port as the IBTA defines its counters. False: there are no more.
 */
bool device_half_counter(const struct device_half *half, uint32_t index, const char **name,
			 uint64_t *value);
uint32_t device_half_counter_count(const struct device_half *half); /* of engine, ports and loop */
bool device_half_fault_counter(const struct device_half *half, uint32_t index,
			       struct rnic_show_counter *counter);
bool device_half_port_counter(const struct device_half *half, uint32_t index, const char **name,
			      uint64_t *value);

/* ---- turns ---- */

/*
 * Runs one bounded turn: receive, timers, client work, transmit, deliver. Returns whether there was
 * anything to do.
 */
bool device_half_turn(struct device_half *half, uint64_t now_ns);

/* Returns whether another turn has work at once. */
bool device_half_has_work(const struct device_half *half);

/*
 * Asks all clients to wake the daemon, and looks at their doorbells once more. The caller may sleep
 * when device_half_prepare_sleep() returns true, and calls device_half_withdraw_sleep() afterwards
 * in any case.
 */
bool device_half_prepare_sleep(struct device_half *half);
void device_half_note_sleep(struct device_half *half);
void device_half_withdraw_sleep(struct device_half *half);

/*
 * Serves the descriptor of device_half_clients_fd(): doorbells of sleeping clients, room in pipes.
 * Returns whether there was anything to do.
 */
bool device_half_poll(struct device_half *half);
int device_half_clients_fd(const struct device_half *half);

/* Calls `watch` for each descriptor of the ports. The next turn serves these descriptors. */
void device_half_watch(struct device_half *half,
		       void (*watch)(void *context, int fd, bool for_writing), void *context);

/* Tells the host what the network reported meanwhile, and logs a capture that cannot be written. */
void device_half_report(struct device_half *half);

/* Returns the time of the next turn when nothing arrives before; UINT64_MAX: never. */
uint64_t device_half_next_deadline_ns(const struct device_half *half);

#endif
