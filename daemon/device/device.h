/* SPDX-License-Identifier: MIT */
/*
 * The device of the daemon: engine, ports, device connections with their sessions, objects and
 * queues of one user's programs. device/process drives it in a process of its own: what the control
 * plane says by the messages of process_message.h arrives here as calls, and what the device
 * half has to say goes out by device_host.h. Tests drive it without a process.
 *
 * One thread uses everything here. Sessions end in device_turn() only.
 */
#ifndef DAEMON_DEVICE_DEVICE_H
#define DAEMON_DEVICE_DEVICE_H

#include "daemon/device/device_config.h"
#include "daemon/device/device_host.h"
#include "lib/nic/port/port.h"
#include "proto/base/verbs_types.h"
#include "proto/ctl/ctl_message.h"
#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

struct device;
struct show_rows;

/*
 * Opens ports and engine. The device knows no facts of the port before the first
 * device_set_facts(). On failure returns NULL with a sentence in `reason` and a negative errno
 * in `error`, and leaves nothing open.
 */
struct device *device_open(const struct device_config *config, uint64_t now_ns, int *error,
			   char reason[DEVICE_REASON_BYTES]);

/* Ends all clients and closes everything. */
void device_close(struct device *device);

/*
 * In a child of fork(), which has no device: closes the child's copies of all descriptors, and
 * touches no memory that the parent shares. Nothing else may be called afterwards.
 */
void device_forget(struct device *device);

/* ---- clients ---- */

/*
 * Serves the device connection of a client from now on, until the client hangs up or breaks the
 * protocol. The device owns the descriptors of `client` in any case. Negative errno: -ENOSPC
 * when there are too many clients, -ENOMEM.
 */
int device_add_client(struct device *device, const struct device_client *client);

/* Ends the client of that number in the next turn, if there still is one. */
void device_end_client(struct device *device, uint32_t client_id);

/* The number of device connections, and of those that said OPEN_DEVICE. */
uint32_t device_client_count(const struct device *device);
uint32_t device_session_count(const struct device *device);

/* ---- facts in ---- */

/*
 * Gives ports and engine the GID `gid` at `index`; NULL: none. `sockets` are the lane's at this
 * GID, which the device closes in any case. Negative errno of the ports with a sentence in
 * `text`; the slot is empty then.
 */
int device_set_gid(struct device *device, uint32_t index, const struct rnic_gid *gid,
		   const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES]);

/*
 * Applies all facts of the port: later requests are answered and checked by them. Reports
 * PORT_ACTIVE, PORT_ERR and GID_CHANGE to all clients where the facts differ from the ones before.
 */
void device_set_facts(struct device *device, const struct rnic_process_facts *facts);

/*
 * Takes `fd` in place of the socket of a multicast group, which is one of the interface of before.
 * Negative errno of multicast_leave() or multicast_give(): the group has none then.
 */
int device_renew_group(struct device *device, const struct rnic_gid *group, int fd);

/*
 * Takes a packet of this lane that another process received: `length` bytes from the BTH
 * to the ICRC, which is checked. Not within a turn.
 */
void device_deliver(struct device *device, const struct rnic_addresses *addresses, uint8_t *bytes,
		    uint32_t length, uint64_t now_ns);

/*
 * Asks the peer of the queue pair `qpn` for a sign of life, and stores how many packets have come
 * from it. Errors: those of peer_probe_ask(); -ENOENT there is no such queue pair.
 */
int device_probe_peer(struct device *device, uint32_t qpn, uint64_t *received_packets);

/*
 * Loads the rules that are not loaded yet, and unloads those that are not among `rules`. Not within
 * a turn. -EINVAL for a text that is no rule, -ENOMEM: some rules are loaded, others not.
 */
int device_set_rules(struct device *device, const struct rnic_process_rules *rules,
		     uint64_t now_ns);

/*
 * Carries out the condition of an order: an event, or an error of the client's object that the
 * order names. Not within a turn. Negative errno with a sentence in `reason`: -ENOENT, there is no
 * such object; -EINVAL, its state does not allow it.
 */
int device_carry_out(struct device *device, const struct rnic_process_order *order,
		     char reason[RNIC_CTL_TEXT_BYTES]);

/* ---- listings ---- */

/* Adds the rows of all sessions: clients, QPs, MRs, MWs, CQs, SRQs. */
void device_show(const struct device *device, uint32_t kind, struct show_rows *rows);

/* Fills in the numbers of the statistics page: GIDs in use, sessions and objects; but no counters.
 */
void device_fill_stats(const struct device *device, struct rnic_stats_page *stats);

/* The name of the port at the bottom of the stack. */
const char *device_port_name(const struct device *device);

/*
 * Read the counter numbered `index`: of engine, ports and loop; or of the port as the IBTA defines
 * its counters. False: there are no more.
 */
bool device_counter(const struct device *device, uint32_t index, const char **name,
		    uint64_t *value);
bool device_port_counter(const struct device *device, uint32_t index, const char **name,
			 uint64_t *value);

/* The same of stack_counters.h, for the device's ports; the slot is below RNIC_RULES_MAX. */
uint64_t device_lost_by_faults(const struct device *device);
bool device_has_rules(const struct device *device);
void device_rule_read(const struct device *device, uint32_t slot, uint32_t *id, uint64_t *hits);

/* ---- turns ---- */

/*
 * Runs one bounded turn: receive, timers, client work, transmit, deliver, the ends of clients.
 * Returns whether there was anything to do.
 */
bool device_turn(struct device *device, uint64_t now_ns);

/* The same, but receives nothing, and runs no timer: what a timer waits for may have arrived. */
bool device_turn_to_send(struct device *device, uint64_t now_ns);

/* The number of datagrams that the ports have received. */
uint64_t device_received_datagrams(const struct device *device);

/* Returns whether another turn has work at once. */
bool device_has_work(const struct device *device);

/*
 * Asks all clients to wake the daemon, and looks at their doorbells once more. The caller may sleep
 * when device_prepare_sleep() returns true, and calls device_withdraw_sleep() afterwards
 * in any case.
 */
bool device_prepare_sleep(struct device *device);
void device_note_sleep(struct device *device);
void device_withdraw_sleep(struct device *device);

/*
 * Sends acknowledgements that wait for later packets. So do requests, the end of a client, and
 * device_prepare_sleep().
 */
void device_end_waits(struct device *device);

/*
 * Sends all acknowledgements that are owed, and waits a while for a port that takes nothing: the
 * process is about to end. So does device_close().
 */
void device_acknowledge_all(struct device *device);

/* Notes what the clients' libraries refused: the program of the device exits. */
void device_note_refusals(const struct device *device);

/* Looks at the doorbells of all clients from now on, as if each had woken the daemon. */
void device_wake_clients(struct device *device);

/*
 * Call device_note_requests() when device_requests_fd() is readable. The next
 * device_serve() answers the requests that were noted; run a turn in between: what a client
 * posted before its request is on its way before the answer. Call device_serve() before
 * device_poll(). While device_has_resumes(), a deferred request is to go on whatever the
 * descriptor says. device_serve() returns whether there was anything to do.
 */
void device_note_requests(struct device *device);
bool device_serve(struct device *device);
bool device_has_resumes(const struct device *device);
int device_requests_fd(const struct device *device);

/*
 * Serves the descriptor of device_clients_fd(): doorbells of sleeping clients, room in pipes.
 * Returns whether there was anything to do.
 */
bool device_poll(struct device *device);
int device_clients_fd(const struct device *device);

/* Calls `watch` for each descriptor of the ports. The next turn serves these descriptors. */
void device_watch(struct device *device, void (*watch)(void *context, int fd, bool for_writing),
		  void *context);

/* Tells the host what the network reported meanwhile, and logs a capture that cannot be written. */
void device_report(struct device *device);

/* Returns the time of the next turn when nothing arrives before; UINT64_MAX: never. */
uint64_t device_next_deadline_ns(const struct device *device);

#endif
