/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_set.h"

#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SET_EVENTS	  64
#define SET_IDLE_NS	  (5 * RNIC_NS_PER_SECOND) /* from a process's last client to its end */
#define SET_ABANDONED_MAX 4			   /* hanging processes of one user */
#define SET_CLOSE_WAIT_MS 20
#define SET_CLOSING_NS	  RNIC_NS_PER_SECOND /* no close takes so long that does not hang */

int device_set_open(struct device_set *set, const struct device_set_config *config)
{
	memset(set, 0, sizeof(*set));
	/* Whoever started the daemon may have ignored it: children would end without a report. */
	signal(SIGCHLD, SIG_DFL);
	list_init(&set->processes);
	set->start = config->start;
	set->owner = config->owner;
	set->allowed = config->allowed;
	set->allowed_count = config->allowed_count;
	set->has_one_lane = config->has_one_lane;
	set->common = (struct device_common){
		.host = config->host,
		.start = &set->start,
		.facts = config->facts,
		.program = config->program,
		.program_path = config->program_path,
		.launch = config->launch,
		.capture_fd = config->capture_fd,
		.has_lanes = !config->has_one_lane,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
	};
	memory_budget_init(&set->common.memory, config->memory_bytes, config->process_max);
	return set->common.epoll_fd < 0 ? -errno : 0;
}

/* Frees the dead processes that no client refers to and that hold nothing. */
static void set_sweep(struct device_set *set)
{
	struct list *node, *following;

	list_for_each_safe (node, following, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		if (process->state == DEVICE_CHILD_DEAD && process->references == 0 &&
		    !device_child_is_closing(process))
			device_child_free(process);
	}
}

/* Whether all processes are dead or abandoned. */
static bool set_is_over(const struct device_set *set)
{
	const struct list *node;

	list_for_each (node, &set->processes) {
		const struct device_child *process =
			list_entry(node, const struct device_child, node);

		if (process->state != DEVICE_CHILD_DEAD && process->state != DEVICE_CHILD_ABANDONED)
			return false;
	}
	return true;
}

void device_set_close(struct device_set *set)
{
	struct list *node;

	set->common.now_ns = clock_now_ns();
	list_for_each (node, &set->processes)
		device_child_happen(list_entry(node, struct device_child, node), DEVICE_CHILD_END,
				    NULL);
	while (!set_is_over(set)) {
		struct pollfd events = {.fd = set->common.epoll_fd, .events = POLLIN};

		poll(&events, 1, SET_CLOSE_WAIT_MS);
		device_set_note_events(set);
		device_set_turn(set, clock_now_ns());
	}
	while (!list_is_empty(&set->processes)) {
		struct device_child *process =
			list_first_entry(&set->processes, struct device_child, node);

		assert(process->references == 0);
		/* The kernel ends an abandoned process as soon as it can. */
		process->state = DEVICE_CHILD_ABANDONED;
		device_child_happen(process, DEVICE_CHILD_EXIT, NULL);
		device_child_free(process);
	}
	record_shelf_clear(&set->common.records);
	close(set->common.epoll_fd);
}

/* --- clients --------------------------------------------------------------------------------- */

static bool set_is_allowed(const struct device_set *set, uid_t uid)
{
	for (uint32_t i = 0; i < set->allowed_count; i++)
		if (set->allowed[i] == uid)
			return true;
	return false;
}

/* Stores the user whose device process serves clients of `uid`. */
static int set_choose_user(const struct device_set *set, uid_t uid, uid_t *user, char *reason)
{
	if (set->owner == 0 && set->has_one_lane && uid != 0) {
		snprintf(reason, DEVICE_TEXT_BYTES,
			 "this rnicd serves root alone: it has one lane of queue pair numbers, as "
			 "its log and rnicctl show device say");
		return -EPERM;
	}
	if (set->owner == 0) {
		*user = uid;
		return 0;
	}
	if (uid != set->owner && uid != 0 && !set_is_allowed(set, uid)) {
		snprintf(reason, DEVICE_TEXT_BYTES,
			 "this rnicd serves user %u and root; rnicd --allow %u serves user %u too",
			 set->owner, uid, uid);
		return -EPERM;
	}
	*user = set->owner;
	return 0;
}

bool device_set_serves(const struct device_set *set, uid_t uid)
{
	char reason[DEVICE_TEXT_BYTES];
	uid_t user;

	return set_choose_user(set, uid, &user, reason) == 0;
}

/* Whether the process hangs in the kernel, or the thread that closes its link does. */
static bool set_hangs(const struct device_child *process)
{
	return process->state == DEVICE_CHILD_ABANDONED ||
	       (process->state == DEVICE_CHILD_DEAD && device_child_is_closing(process) &&
		process->common->now_ns - process->dead_ns >= SET_CLOSING_NS);
}

/* Finds the user's living process; counts those that hang. */
static struct device_child *set_find(const struct device_set *set, uid_t user, uint32_t *abandoned)
{
	struct device_child *found = NULL;
	struct list *node;

	*abandoned = 0;
	for (node = set->processes.next; node != &set->processes; node = node->next) {
		struct device_child *process = list_entry(node, struct device_child, node);

		if (process->uid != user || process->is_program)
			continue;
		if (device_child_is_alive(process))
			found = process;
		else if (set_hangs(process))
			++*abandoned;
	}
	return found;
}

/* Whether a lane becomes free by itself: its process is about to end. */
static bool set_awaits_lane(const struct device_set *set)
{
	const struct list *node;

	list_for_each (node, &set->processes) {
		const struct device_child *process =
			list_entry(node, const struct device_child, node);

		if (process->state == DEVICE_CHILD_ENDING || process->state == DEVICE_CHILD_KILLED)
			return true;
	}
	return false;
}

int device_set_acquire(struct device_set *set, uid_t uid, struct device_child **process,
		       char reason[DEVICE_TEXT_BYTES])
{
	uint32_t abandoned;
	uid_t user;
	int result = set_choose_user(set, uid, &user, reason);

	if (result != 0)
		return result;
	*process = set_find(set, user, &abandoned);
	if (*process == NULL && abandoned >= SET_ABANDONED_MAX) {
		snprintf(reason, DEVICE_TEXT_BYTES,
			 "%u device processes of user %u hang in the kernel", abandoned, user);
		return -EAGAIN;
	}
	if (*process == NULL) {
		result = device_child_start(&set->common, user, process, reason);
		if (result == -ENOSPC && set_awaits_lane(set))
			return -EINPROGRESS;
		if (result != 0)
			return result;
		list_add_tail(&set->processes, &(*process)->node);
	}
	(*process)->references++;
	return 0;
}

/* Says why a program may not be its own device process; NULL: it may. */
static const char *set_refuse_program(const struct device_set *set,
				      const struct served_client *client)
{
	if (set->common.capture_fd >= 0)
		return "rnicd --capture does not see what a program does by itself: leave out one "
		       "of --capture and --direct";
	if (rule_table_needs_process(&set->common.rules, set->owner))
		return "rules of faults do not reach what a program does by itself: leave out "
		       "--direct, or rnicd --fault, or say rnicctl fault clear";
	if (set->has_one_lane)
		return "--direct needs lanes, which this kernel does not have: rnicctl show device";
	if (client->pid_fd < 0)
		return "--direct needs a kernel with descriptors of processes (Linux 5.3)";
	return NULL;
}

/* The programs that have not let go of a device which was taken from them. */
static unsigned set_count_lingering(const struct device_set *set)
{
	const struct list *node;
	unsigned count = 0;

	list_for_each (node, &set->processes) {
		const struct device_child *process =
			list_entry(node, const struct device_child, node);

		count += process->is_program && process->state == DEVICE_CHILD_ABANDONED;
	}
	return count;
}

int device_set_adopt(struct device_set *set, const struct served_client *client,
		     struct device_child **process, int *fd, char reason[DEVICE_TEXT_BYTES])
{
	const struct device_program program = {client->uid, client->pid, client->pid_fd};
	const char *refusal = set_refuse_program(set, client);
	struct device_child *adopted;
	int result;

	if (client->uid != set->owner) {
		snprintf(reason, DEVICE_TEXT_BYTES,
			 "this rnicd is user %u's, and --direct needs one of the program's own "
			 "user: rnic-run --direct --socket PATH --address 127.0.0.N starts one",
			 set->owner);
		return -EPERM;
	}
	if (refusal != NULL) {
		snprintf(reason, DEVICE_TEXT_BYTES, "%s", refusal);
		return -EOPNOTSUPP;
	}
	if (set_count_lingering(set) >= SET_ABANDONED_MAX) {
		snprintf(reason, DEVICE_TEXT_BYTES,
			 "%u programs of this user keep devices that were taken from them; are "
			 "they stopped?",
			 SET_ABANDONED_MAX);
		return -EAGAIN;
	}
	result = device_child_adopt(&set->common, &program, &adopted, fd, reason);
	if (result != 0)
		return result;
	list_add_tail(&set->processes, &adopted->node);
	result = client_ledger_add(&adopted->held, client->client_id);
	if (result != 0) {
		snprintf(reason, DEVICE_TEXT_BYTES, "no memory for a client");
		close(*fd);
		return result;
	}
	adopted->references++;
	*process = adopted;
	return 0;
}

void device_set_release(struct device_child *process)
{
	assert(process->references > 0);
	if (--process->references == 0)
		process->idle_ns = process->common->now_ns;
}

void device_set_end_client(struct device_child *process, uint32_t client_id)
{
	client_ledger_end(&process->held, client_id);
	device_link_tell_ends(process);
}

bool device_set_holds_client(const struct device_set *set, uint32_t client_id)
{
	const struct list *node;

	list_for_each (node, &set->processes)
		if (client_ledger_has(&list_entry(node, const struct device_child, node)->held,
				      client_id))
			return true;
	return false;
}

int device_set_connect(struct device_child *process, const struct served_client *client, int *fd,
		       char reason[DEVICE_TEXT_BYTES])
{
	int fds[2];
	int result;

	if (process->state == DEVICE_CHILD_STARTING)
		return -EINPROGRESS;
	if (process->state != DEVICE_CHILD_SERVING) {
		snprintf(reason, DEVICE_TEXT_BYTES, "%s",
			 process->reason[0] != '\0' ? process->reason
						    : "the device process has ended");
		return -ENODEV;
	}
	if (!device_link_may_send(process))
		return -EINPROGRESS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
		result = -errno;
		snprintf(reason, DEVICE_TEXT_BYTES, "cannot make a socket: %s", strerror(-result));
		return result;
	}
	/* The device process may not set options. The stamps say how long a request waited. */
	setsockopt(fds[1], SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int));
	result = device_link_send_client(process, client, fds[1]);
	close(fds[1]);
	if (result == 0) {
		*fd = fds[0];
		return 0;
	}
	close(fds[0]);
	if (result == -EAGAIN)
		return -EINPROGRESS;
	if (result == -ENOMEM) {
		snprintf(reason, DEVICE_TEXT_BYTES, "no memory for a client");
		return result;
	}
	snprintf(reason, DEVICE_TEXT_BYTES, "the device process has ended");
	return -ENODEV;
}

/* --- facts ----------------------------------------------------------------------------------- */

void device_set_set_gid(struct device_set *set, uint32_t index, const struct rnic_gid *gid)
{
	struct list *node;

	assert(index < RNIC_GIDS_MAX);
	set->common.gids[index] = *gid;
	list_for_each (node, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);
		const struct rnic_gid *known = &process->outbox.known[index];

		/* The process loses it even where facts follow late. */
		if (!rnic_gid_is_zero(known) && !rnic_gid_equal(known, gid))
			device_link_note_facts(process);
	}
}

void device_set_end_lane(struct device_set *set, uint8_t lane, const char *reason)
{
	struct device_child *process = device_set_next(set, lane);

	if (process != NULL && process->lane == lane)
		device_child_happen(process, DEVICE_CHILD_VIOLATION, reason);
}

void device_set_set_netdev(struct device_set *set, uint32_t netdev_index)
{
	struct list *node;

	set->start.netdev_index = netdev_index;
	set->start.device.netdev_index = netdev_index;
	list_for_each (node, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		process->outbox.stale = UINT32_MAX;
		device_link_note_facts(process);
	}
}

void device_set_set_facts(struct device_set *set, uint32_t path_mtu_bytes)
{
	struct list *node;

	set->common.path_mtu_bytes = path_mtu_bytes;
	list_for_each (node, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		device_link_note_facts(process);
		device_link_flush(process);
	}
}

void device_set_set_rules(struct device_set *set, const struct rule_owner *owner)
{
	struct list *node;

	list_for_each (node, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		if (!owner->is_of_all && owner->uid != process->uid)
			continue;
		verb_pages_write(&process->verbs, &set->common.rules, process->uid,
				 set->common.now_ns);
		device_link_note_rules(process);
		device_link_flush(process);
	}
}

uint32_t device_set_programs(const struct device_set *set, uid_t uid, bool is_of_all, pid_t *pids,
			     uint32_t max)
{
	const struct list *node;
	uint32_t count = 0;

	list_for_each (node, &set->processes) {
		const struct device_child *process =
			list_entry(node, const struct device_child, node);

		if (!process->is_program || !device_child_is_alive(process) ||
		    (!is_of_all && process->uid != uid))
			continue;
		if (count < max)
			pids[count] = process->pid;
		count++;
	}
	return count;
}

bool device_set_uses_gid(struct device_set *set, uint32_t index)
{
	struct list *node;

	list_for_each (node, &set->processes)
		if (device_link_uses_gid(list_entry(node, struct device_child, node), index))
			return true;
	return false;
}

/* --- packets and listings -------------------------------------------------------------------- */

struct device_child *device_set_next(const struct device_set *set, uint32_t lane)
{
	struct device_child *found = NULL;
	struct list *node;

	for (node = set->processes.next; node != &set->processes; node = node->next) {
		struct device_child *process = list_entry(node, struct device_child, node);

		if (process->state == DEVICE_CHILD_SERVING && process->lane >= lane &&
		    (found == NULL || process->lane < found->lane))
			found = process;
	}
	return found;
}

bool device_set_pass_packet(struct device_set *set, uint8_t lane,
			    const struct rnic_process_packet *packet, const uint8_t *datagram)
{
	struct device_child *process = device_set_next(set, lane);
	const bool is_held = process != NULL && process->lane == lane;

	if (!is_held || device_link_send_packet(process, packet, datagram) != 0)
		set->common.lost_packets++;
	return is_held;
}

void device_set_probe_peer(struct device_set *set, uint32_t qpn, uint32_t number)
{
	const struct rnic_process_probe probe = {.qpn = qpn, .number = number};
	struct device_child *process = device_set_next(set, rnic_lane_of(qpn));

	if (process != NULL && process->lane == rnic_lane_of(qpn))
		device_link_send_probe(process, &probe);
}

void device_set_forget_viewer(struct device_set *set, uint32_t asker)
{
	struct list *node;

	list_for_each (node, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		if (process->rows.state == PENDING_QUERY_FREE || process->rows.asker != asker)
			continue;
		pending_query_forget(&process->rows);
		set->common.has_news = true;
	}
}

const struct stats_totals *device_set_totals(struct device_set *set)
{
	struct list *node;

	list_for_each (node, &set->processes)
		device_child_count(list_entry(node, struct device_child, node));
	return &set->common.totals;
}

struct stats_objects device_set_objects(const struct device_set *set)
{
	struct stats_objects objects = {0};
	const struct list *node;

	list_for_each (node, &set->processes)
		stats_reader_add_objects(&list_entry(node, const struct device_child, node)->stats,
					 &objects);
	return objects;
}

void device_set_end_idle(struct device_set *set)
{
	struct list *node;

	list_for_each (node, &set->processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		if (process->references == 0)
			device_child_happen(process, DEVICE_CHILD_END, NULL);
	}
}

uint32_t device_set_process_count(const struct device_set *set)
{
	const struct list *node;
	uint32_t count = 0;

	list_for_each (node, &set->processes) {
		const enum device_child_state state =
			list_entry(node, const struct device_child, node)->state;

		count += state != DEVICE_CHILD_DEAD && state != DEVICE_CHILD_ABANDONED;
	}
	return count;
}

/* --- turns ----------------------------------------------------------------------------------- */

static uint64_t set_idle_deadline_ns(const struct device_child *process)
{
	return device_child_is_alive(process) && process->references == 0
		       ? process->idle_ns + SET_IDLE_NS
		       : UINT64_MAX;
}

/* Does what is due for one process. */
static void set_tick(struct device_child *process)
{
	const uint64_t now_ns = process->common->now_ns;

	device_child_check(process);
	if (now_ns >= set_idle_deadline_ns(process))
		device_child_happen(process, DEVICE_CHILD_END, NULL);
	if (now_ns >= process->outbox.retry_ns)
		device_link_flush(process);
	if (now_ns >= device_link_next_deadline_ns(process))
		device_link_receive(process, false);
	if (now_ns >= child_log_next_deadline_ns(&process->log))
		child_log_read(&process->log, now_ns);
	if (pending_query_expire(&process->rows, now_ns))
		process->common->has_news = true;
	if (pending_order_expire(&process->order, now_ns))
		process->common->has_news = true;
}

void device_set_note_events(struct device_set *set)
{
	set->may_have_events = true;
}

/* Serves the noted events. Returns whether there was any. */
static bool set_serve_events(struct device_set *set, uint64_t now_ns)
{
	struct epoll_event events[SET_EVENTS];
	int count;

	if (!set->may_have_events)
		return false;
	set->may_have_events = false;
	count = epoll_wait(set->common.epoll_fd, events, SET_EVENTS, 0);
	for (int i = 0; i < count; i++) {
		struct device_child *process = events[i].data.ptr;

		process->may_have_ended = true;
		child_log_read(&process->log, now_ns);
		/* Last messages come before the end. */
		if (device_child_is_alive(process))
			device_link_receive(process, (events[i].events & EPOLLHUP) != 0);
		else if (process->is_program && (events[i].events & (EPOLLRDHUP | EPOLLHUP)) != 0)
			device_child_happen(process, DEVICE_CHILD_HANG_UP, NULL);
	}
	return count > 0;
}

bool device_set_turn(struct device_set *set, uint64_t now_ns)
{
	struct list *node;
	bool had_events;

	set->common.now_ns = now_ns;
	if (list_is_empty(&set->processes))
		return false;
	had_events = set_serve_events(set, now_ns);
	list_for_each (node, &set->processes)
		set_tick(list_entry(node, struct device_child, node));
	set_sweep(set);
	return had_events;
}

bool device_set_take_news(struct device_set *set)
{
	bool has_news = set->common.has_news;

	set->common.has_news = false;
	return has_news;
}

uint64_t device_set_next_deadline_ns(const struct device_set *set)
{
	uint64_t earliest_ns = UINT64_MAX;
	const struct list *node;

	list_for_each (node, &set->processes) {
		const struct device_child *process =
			list_entry(node, const struct device_child, node);
		const uint64_t deadlines_ns[] = {
			earliest_ns,
			device_child_next_deadline_ns(process),
			device_link_next_deadline_ns(process),
			child_log_next_deadline_ns(&process->log),
			set_idle_deadline_ns(process),
			process->rows.state == PENDING_QUERY_FREE ? UINT64_MAX
								  : process->rows.until_ns,
			pending_order_deadline_ns(&process->order),
		};

		earliest_ns = rnic_earliest_ns(deadlines_ns, RNIC_COUNT_OF(deadlines_ns));
	}
	return earliest_ns;
}
