/* SPDX-License-Identifier: MIT */
/*
 * The device processes of the control plane, one for each user. A daemon of root serves each client
 * in a device process of the client's uid. A daemon of another user serves that user, root and the
 * users of --allow, all in the device process of its own uid. Where there is one lane, a daemon of
 * root serves root alone.
 *
 * A process is started for the user's first client, ended some seconds after the last, and at the
 * end of the daemon. All calls return at once, device_set_close() aside. One thread uses the set.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_SET_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_SET_H

#include "daemon/control/supervisor/device_child.h"
#include "daemon/control/supervisor/device_link.h"
#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The configuration. What it points to outlives the set. */
struct device_set_config {
	const struct device_set_host *host;
	const struct device_facts *facts;
	struct rnic_process_start start; /* for all processes; the set fills in lane, uid, memory */
	const char *program;		 /* what `launch` takes */
	const char *program_path;	 /* for messages */
	device_launcher *launch;
	int capture_fd;	      /* -1: none; stays the caller's */
	uid_t owner;	      /* of the daemon */
	const uid_t *allowed; /* --allow */
	uint32_t allowed_count;
	bool has_one_lane;     /* then there is the owner's process alone */
	uint64_t memory_bytes; /* of the machine: memory_budget_measure() */
	uint32_t process_max;  /* at a time, those aside that hang */
};

struct device_set {
	struct device_common common;
	struct rnic_process_start start;
	struct list processes; /* struct device_child.node, in the order of their start */
	uid_t owner;
	const uid_t *allowed;
	uint32_t allowed_count;
	bool has_one_lane;
	bool may_have_events; /* noted, and not asked for yet */
};

/* Makes a set without processes. Negative errno of epoll_create1(2). */
int device_set_open(struct device_set *set, const struct device_set_config *config);

/* Ends all processes and waits for their ends, some seconds at most. No reference may be left. */
void device_set_close(struct device_set *set);

/* ---- clients ---- */

/*
 * Takes a reference to the device process that serves clients of `uid`, and starts the process if
 * there is none. -EINPROGRESS: no lane is left, but a process is ending; call again when
 * device_set_take_news() says so. Another negative errno, with a sentence in `reason`: -EPERM the
 * daemon does not serve that user; -ENOSPC no lane is left; -EAGAIN too many processes of the user
 * hang; or no process can be started.
 */
int device_set_acquire(struct device_set *set, uid_t uid, struct device_child **process,
		       char reason[DEVICE_TEXT_BYTES]);

/* Whether the daemon serves programs of `uid` at all: -EPERM of device_set_acquire() if not. */
bool device_set_serves(const struct device_set *set, uid_t uid);

/*
 * Makes the client's own program its device process, which holds the client from then on, and takes
 * a reference. Stores the program's end of the process link at `fd`, the caller's. Negative errno
 * with a sentence in `reason`, and `*process` is as before: -EPERM the daemon is another user's;
 * -EAGAIN programs do not let go of devices that were taken from them; -EOPNOTSUPP the daemon
 * captures packets, makes faults or has one lane, or the kernel has no PID descriptors; -ENOSPC no
 * lane is left; -ENOMEM.
 */
int device_set_adopt(struct device_set *set, const struct served_client *client,
		     struct device_child **process, int *fd, char reason[DEVICE_TEXT_BYTES]);

/* Gives a reference back. */
void device_set_release(struct device_child *process);

/*
 * Lets the process end what it has of a client that the control plane has ended. Nothing happens
 * when the process has said that the client has gone, or was never told of the client.
 */
void device_set_end_client(struct device_child *process, uint32_t client_id);

/* Whether a process still holds the client, so that no other client may have its number. */
bool device_set_holds_client(const struct device_set *set, uint32_t client_id);

/*
 * Hands a new device connection of the client to the process and stores the client's end at `fd`,
 * the caller's. -EINPROGRESS: not yet; call again when device_set_take_news() says so, or a little
 * later. Another negative errno, with a sentence in `reason`: the process serves no more.
 */
int device_set_connect(struct device_child *process, const struct served_client *client, int *fd,
		       char reason[DEVICE_TEXT_BYTES]);

/* ---- facts ---- */

/* Lets all processes know the GID at `index`; zero: the slot is empty. */
void device_set_set_gid(struct device_set *set, uint32_t index, const struct rnic_gid *gid);

/*
 * The interface has this index from now on. With the facts, which are sent afterwards, all
 * processes get new sockets for the GIDs.
 */
void device_set_set_netdev(struct device_set *set, uint32_t netdev_index);

/* Sends the facts, which have changed, to all processes. */
void device_set_set_facts(struct device_set *set, uint32_t path_mtu_bytes);

/* Kills the process that serves with this lane, if there is one, because of what `reason` says. */
void device_set_end_lane(struct device_set *set, uint8_t lane, const char *reason);

/* Sends the rules to the processes that those of `owner` concern: these have changed. */
void device_set_set_rules(struct device_set *set, const struct rule_owner *owner);

/*
 * Stores the PIDs of the programs that are their own device processes, of one user or of all, at
 * most `max`. Returns their number.
 */
uint32_t device_set_programs(const struct device_set *set, uid_t uid, bool is_of_all, pid_t *pids,
			     uint32_t max);

/* Whether a process may still use the GID at `index`. */
bool device_set_uses_gid(struct device_set *set, uint32_t index);

/* ---- packets and listings ---- */

/*
 * Passes a datagram on to the process of `lane`. When there is none, or its link has no room,
 * counts the datagram as lost. Returns whether there is one.
 */
bool device_set_pass_packet(struct device_set *set, uint8_t lane,
			    const struct rnic_process_packet *packet, const uint8_t *datagram);

/*
 * Has the process of the queue pair `qpn` ask the peer for a sign of life. The answer with `number`
 * goes to device_set_host.probed(); none comes when there is no such process, when it is stopped,
 * or when the link has no room.
 */
void device_set_probe_peer(struct device_set *set, uint32_t qpn, uint32_t number);

/* The process that serves with the lowest lane from `lane` on; NULL: none. */
struct device_child *device_set_next(const struct device_set *set, uint32_t lane);

/* The client `asker` has gone: nobody waits for the rows that it asked for. */
void device_set_forget_viewer(struct device_set *set, uint32_t asker);

/* The totals of all statistics pages, up to date. The pointer is valid as long as the set. */
const struct stats_totals *device_set_totals(struct device_set *set);
struct stats_objects device_set_objects(const struct device_set *set);

/* Ends the processes that no client refers to. */
void device_set_end_idle(struct device_set *set);

/* The processes that are neither dead nor abandoned. */
uint32_t device_set_process_count(const struct device_set *set);

/* ---- turns ---- */

/* device_common.epoll_fd is readable: the next turn asks for its events. */
void device_set_note_events(struct device_set *set);

/*
 * Serves the noted events and what is due: messages, ends, deadlines. Bounded. Returns whether
 * there was any event.
 */
bool device_set_turn(struct device_set *set, uint64_t now_ns);

/* Whether a deferred request may go on; false from then on until the next news. */
bool device_set_take_news(struct device_set *set);

/* The time at which device_set_turn() has something to do without any event; UINT64_MAX: never. */
uint64_t device_set_next_deadline_ns(const struct device_set *set);

#endif
