/* SPDX-License-Identifier: MIT */
/*
 * The device half of the daemon, as the control plane sees it: engine, ports, sessions, objects and
 * queues. device_host.h holds what the device half asks of the control plane. Nothing else is
 * shared but daemon/common, the packets of queue pair 1 (path/general_services.h), and facts that
 * the control plane writes and the device half reads.
 *
 * Everything belongs to one thread. Sessions end between turns only.
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

/* Opens ports and engine. NULL with a sentence in `reason`, and negative errno in `error`; nothing
 * is left open then. */
struct device_half *device_half_open(const struct device_half_config *config, uint64_t now_ns,
				     int *error, char reason[DEVICE_REASON_BYTES]);

/* Sends what queue pair 1 still has to say, and closes everything; there is no session
 * any more. */
void device_half_close(struct device_half *half);

/* ---- clients ---- */

/*
 * Makes a session for a client that said HELLO. Descriptors for the client, which the caller passes
 * on and closes, are stored at `fds` in the order of struct rnic_ctl_hello_reply. Negative errno:
 * -EINVAL when config->memory_fd is no /proc/self/mem open for both. The descriptors of `config`
 * belong to the device half in any case.
 */
int device_half_open_session(struct device_half *half, const struct session_config *config,
			     int fds[4], struct session **session);

/* Reads nothing more of what the client writes; the client is about to end. */
void device_half_stop_session(struct session *session);

/* Cuts the session off: it can reach nothing and nobody can reach it. */
void device_half_cut_session(struct session *session);

/* Frees what a session that was cut off owns, at a cost of `*budget` at most, which is taken from
 * it. Returns whether that was all: the session is no more. */
bool device_half_free_session(struct session *session, uint32_t *budget);

/* Looks at the client's doorbells from now on; returns whether they were not looked at. */
bool device_half_wake_session(struct session *session);

/* Carries out a request about port or objects of call->session; see ctl_call.h. */
int device_half_request(struct ctl_call *call);

/* ---- facts in ---- */

/* Ports and engine have `gid` at `index` from now on; NULL: none. Negative errno of the ports with
 * a sentence in `text`; the slot is empty then. */
int device_half_set_gid(struct device_half *half, uint32_t index, const struct rnic_gid *gid,
			char text[PORT_TEXT_BYTES]);
void device_half_set_path_mtu(struct device_half *half, uint32_t bytes);

/* Tells all clients of PORT_ACTIVE, PORT_ERR or GID_CHANGE. */
void device_half_port_event(struct device_half *half, enum rnic_async_event_type type);

/* Whether a queue pair or an address handle sends from the GID at `index`, or to `dest`. */
bool device_half_uses_gid(const struct device_half *half, uint32_t index);
bool device_half_uses_dest(const struct device_half *half, const struct rnic_gid *dest);

/* ---- listings ---- */

/* Adds the rows of a session: QPs, MRs, MWs, CQs, SRQs. */
void device_half_show(const struct session *session, uint32_t kind, struct show_rows *rows);

/* Fills in what the client's session has; client_id and what the control plane knows is left. */
void device_half_show_client(const struct session *session, struct rnic_show_client *row);

/* The partition keys by index, zero where there is none; the name of the port at the bottom. */
void device_half_pkeys(const struct device_half *half, uint16_t pkeys[RNIC_PKEYS_MAX]);
const char *device_half_port_name(const struct device_half *half);
uint32_t device_half_session_count(const struct device_half *half);

/* The counter numbered `index` of engine, ports and loop; or of the rules of --fault; or of the
 * port as the IBTA defines them. False: there are no more. */
bool device_half_counter(const struct device_half *half, uint32_t index, const char **name,
			 uint64_t *value);
uint32_t device_half_counter_count(const struct device_half *half); /* of the first kind */
bool device_half_fault_counter(const struct device_half *half, uint32_t index,
			       struct rnic_show_counter *counter);
bool device_half_port_counter(const struct device_half *half, uint32_t index, const char **name,
			      uint64_t *value);

/* ---- turns ---- */

/* One bounded turn: receive, timers, client work, transmit, deliver. Returns whether there was
 * anything to do. */
bool device_half_turn(struct device_half *half, uint64_t now_ns);

/* Whether another turn is worth its while at once. */
bool device_half_has_work(const struct device_half *half);

/* Asks all clients to ring, and looks at them once more; the caller may sleep when that is true,
 * and withdraws afterwards in any case. */
bool device_half_prepare_sleep(struct device_half *half);
void device_half_note_sleep(struct device_half *half);
void device_half_withdraw_sleep(struct device_half *half);

/*
 * Serves the descriptor of device_half_clients_fd(): doorbells of sleeping clients, room in pipes.
 * Returns whether there was anything.
 */
bool device_half_poll(struct device_half *half);
int device_half_clients_fd(const struct device_half *half);

/* Calls `watch` for each descriptor of the ports, which the next turn serves. */
void device_half_watch(struct device_half *half,
		       void (*watch)(void *context, int fd, bool for_writing), void *context);

/* Tells the host what the network said meanwhile, and logs a capture that cannot be written. */
void device_half_report(struct device_half *half);

/* When the next turn is due even if nothing arrives; UINT64_MAX when never. */
uint64_t device_half_next_deadline_ns(const struct device_half *half);

#endif
