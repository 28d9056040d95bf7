/* SPDX-License-Identifier: MIT */
#include "tests/hostile/users/attack_ways.h"
#include "proto/ctl/ctl_cm.h"
#include "proto/ctl/ctl_message.h"
#include "tests/hostile/users/control_caller.h"
#include "tests/hostile/users/silent_file.h"
#include "tests/unit/all_descriptors.h"
#include "tests/unit/unit_test.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	KEY_SHIFT = 8,
	KEY_CLUSTER_BITS = 16, /* of the table that the keys shall crowd */
	KEY_CLUSTER_PART = 8,  /* the keys of one part in so many stay */
	DOORBELLS_LOST_OFFSET = 128,
	WATCHES_PER_POLL = 1000,
	WATCH_SETS_MAX = 5000,
	CQ_ENTRIES = 65536,
	FLUSH_ENTRIES = 16384,
	PIECE_BYTES = 1 << 20,
	MIB = 1 << 20,
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void work_once(struct bench *bench)
{
	struct ibv_sge local = {(uintptr_t)bench->bytes, 64, bench->mr->lkey};

	bench_transfer(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)bench->bytes + 128,
		       bench->mr->rkey);
}

static unsigned available_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > 100 ? (unsigned)limit.rlim_cur - 100 : 0;
}

/* ---- a processor, and nothing else ---- */

static void burn(struct bench *bench)
{
	(void)bench;
}

/* ---- keys of memory regions that crowd one part of a table ---- */

static struct ibv_mr *register_region(struct bench *bench)
{
	return ibv_reg_mr(bench->pd, bench->bytes, BENCH_BYTES, IBV_ACCESS_LOCAL_WRITE);
}

static bool is_in_cluster(uint32_t rkey)
{
	uint32_t place = rkey >> KEY_SHIFT & ((1U << KEY_CLUSTER_BITS) - 1);

	return place < (1U << KEY_CLUSTER_BITS) / KEY_CLUSTER_PART;
}

static void keys_prepare(struct bench *bench, unsigned amount)
{
	struct ibv_mr *region;

	for (unsigned i = 0; i < amount; i++) {
		region = register_region(bench);
		if (region == NULL)
			die("keys: register");
		if (!is_in_cluster(region->rkey))
			ibv_dereg_mr(region);
	}
}

static void keys_turn(struct bench *bench)
{
	struct ibv_mr *region = register_region(bench);

	if (region != NULL)
		ibv_dereg_mr(region);
}

/* A process that leaves all its keys at once, again and again. */
static unsigned key_amount;

static void keys_end_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	key_amount = amount;
}

static void keys_end_turn(struct bench *bench)
{
	pid_t child = fork();

	(void)bench;
	if (child == 0) {
		keys_prepare(bench_start(IBV_QPT_RC), key_amount);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		die("keys-end: fork");
}

/* ---- doorbells that say that doorbells were lost ---- */

static _Atomic uint32_t *doorbells_lost;

/* The session region of the first context of this process. */
static void *find_mapping(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start = 0;

	if (maps == NULL)
		die("/proc/self/maps");
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (strstr(line, name) != NULL) {
			start = strtoul(line, NULL, 16);
			break;
		}
	}
	fclose(maps);
	return (void *)start; /* NOLINT */
}

static void doorbells_prepare(struct bench *bench, unsigned amount)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	uint8_t *region = find_mapping("memfd:rnic-session");

	if (region == NULL)
		die("doorbells: no session region");
	doorbells_lost = (_Atomic uint32_t *)(region + DOORBELLS_LOST_OFFSET);
	for (unsigned i = 0; i < amount; i++)
		if (ibv_create_qp(bench->pd, &wanted) == NULL)
			die("doorbells: queue pair");
}

static void doorbells_turn(struct bench *bench)
{
	atomic_fetch_add(doorbells_lost, 1);
	work_once(bench);
}

/* ---- watches on the pipe of a completion channel ---- */

static struct ibv_comp_channel *channel;
static struct ibv_cq *watched_cq;
static int watch_sets[WATCH_SETS_MAX];

/*
 * Whoever makes `fd` readable pays for each watch. Stores the descriptors of the watches, at most
 * WATCH_SETS_MAX, and returns their number.
 */
static unsigned watch_descriptor(int fd, unsigned amount, int watches[WATCH_SETS_MAX])
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int copies[WATCHES_PER_POLL];
	unsigned count = 0;

	if (!take_all_descriptors())
		die("RLIMIT_NOFILE");
	for (unsigned i = 0; i < WATCHES_PER_POLL; i++)
		copies[i] = dup(fd);
	for (; count < amount / WATCHES_PER_POLL && count < WATCH_SETS_MAX; count++) {
		watches[count] = epoll_create1(0);
		if (watches[count] < 0)
			die("watches: epoll");
		for (unsigned j = 0; j < WATCHES_PER_POLL; j++)
			if (epoll_ctl(watches[count], EPOLL_CTL_ADD, copies[j], &event) != 0)
				die("watches: watch");
	}
	for (unsigned i = 0; i < WATCHES_PER_POLL; i++)
		close(copies[i]);
	return count;
}

static void watches_prepare(struct bench *bench, unsigned amount)
{
	channel = ibv_create_comp_channel(bench->context);
	if (channel == NULL)
		die("watches: channel");
	watched_cq = ibv_create_cq(bench->context, 16, NULL, channel, 0);
	if (watched_cq == NULL)
		die("watches: CQ");
	watch_descriptor(channel->fd, amount, watch_sets);
}

/* Makes an event on the channel: a queue pair in the error state completes what is posted. */
static void watches_turn(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = watched_cq,
		.recv_cq = watched_cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	struct ibv_qp *qp = ibv_create_qp(bench->pd, &wanted);
	struct ibv_cq *of;
	struct ibv_wc wc;
	void *context;

	if (qp == NULL)
		die("watches: queue pair");
	ibv_req_notify_cq(watched_cq, 0);
	attributes.qp_state = IBV_QPS_INIT;
	attributes.port_num = 1;
	ibv_modify_qp(qp, &attributes,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	if (ibv_post_recv(qp, &wr, &bad) != 0)
		die("watches: post");
	attributes.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
	if (ibv_get_cq_event(channel, &of, &context) != 0)
		die("watches: event");
	ibv_ack_cq_events(watched_cq, 1);
	while (ibv_poll_cq(watched_cq, 1, &wc) > 0)
		;
	ibv_destroy_qp(qp);
}

/* ---- memory that is copied by fork, or full of holes, while the device reads it ---- */

static struct ibv_mr *large;

/* Returns the bytes of a region of `amount` MiB or one more: each half of it holds whole pieces. */
static size_t region_bytes(unsigned amount)
{
	const size_t pieces_in_half = (amount + 1) / 2;

	return 2 * pieces_in_half * PIECE_BYTES;
}

static void large_prepare(struct bench *bench, unsigned amount)
{
	size_t bytes = region_bytes(amount);
	int fd = memfd_create("attack", MFD_CLOEXEC);
	void *memory;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		die("large: memory");
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("large: map");
	large = ibv_reg_mr(bench->pd, memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (large == NULL)
		die("large: register");
}

static void private_prepare(struct bench *bench, unsigned amount)
{
	size_t bytes = region_bytes(amount);
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("fork: map");
	memset(memory, 1, bytes);
	large = ibv_reg_mr(bench->pd, memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (large == NULL)
		die("fork: register");
}

/* Posts a WRITE from the first half of the region to the second. */
static void post_piece(struct bench *bench, size_t at)
{
	struct ibv_sge local = {(uintptr_t)large->addr + at, PIECE_BYTES, large->lkey};

	bench_post(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)large->addr + large->length / 2 + at,
		   large->rkey);
}

static void fork_turn(struct bench *bench)
{
	static size_t at;
	pid_t child;

	post_piece(bench, at);
	at = (at + PIECE_BYTES) % (large->length / 2);
	child = fork();
	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		die("fork");
	bench_expect(bench, 1);
}

static void holes_turn(struct bench *bench)
{
	unsigned pieces = 0;

	if (madvise(large->addr, large->length, MADV_REMOVE) != 0)
		die("holes: punch");
	for (size_t at = 0; at < large->length / 2; at += PIECE_BYTES, pieces++)
		post_piece(bench, at);
	bench_expect(bench, pieces);
}

/* ---- memory whose pages never come ---- */

/* Registers ordinary pages, and then puts the others in their place. */
static void hanging_prepare(struct bench *bench, unsigned amount)
{
	private_prepare(bench, amount);
	if (silent_file_map(large->addr, large->length) != 0)
		die("hanging: a file system of a user");
}

/* The process that reads the region for this WRITE hangs. */
static void hanging_turn(struct bench *bench)
{
	static size_t at;
	struct ibv_sge local = {(uintptr_t)large->addr + at, BENCH_BYTES / 2, large->lkey};

	if (at < large->length)
		bench_post(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)bench->bytes,
			   bench->mr->rkey);
	at += MIB;
	poll(NULL, 0, 10);
}

/* ---- event channels whose reader never comes back ---- */

struct silent_channel {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int fd; /* of the channel */
};

/* The kernel copies the event to a page that never comes, and holds what a reader holds. */
static void *read_into_silence(void *context)
{
	const struct silent_channel *silent = context;

	/* On a busy machine the channel may be gone before this thread runs. */
	if (read(silent->fd, large->addr, large->length) < 0 && errno != EBADF)
		die("hanging-channel: read");
	return NULL;
}

/* May hang as well: in this process. */
static void *destroy_silent_id(void *context)
{
	const struct silent_channel *silent = context;

	rdma_destroy_id(silent->id);
	return NULL;
}

static void *destroy_silent_channel(void *context)
{
	const struct silent_channel *silent = context;

	rdma_destroy_event_channel(silent->channel);
	return NULL;
}

static unsigned channels_left;

static void hanging_channel_prepare(struct bench *bench, unsigned amount)
{
	hanging_prepare(bench, amount);
	channels_left = amount;
}

/* Whoever serves the channel closes an end of what a reader holds. */
static void hanging_channel_turn(struct bench *bench)
{
	static void *(*const steps[])(void *) = {
		read_into_silence,
		destroy_silent_id,
		destroy_silent_channel,
	};
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};
	struct silent_channel *silent = calloc(1, sizeof(*silent));
	pthread_t thread;

	(void)bench;
	if (channels_left == 0 || silent == NULL) {
		poll(NULL, 0, 10);
		return;
	}
	channels_left--;
	silent->channel = rdma_create_event_channel();
	if (silent->channel == NULL ||
	    rdma_create_id(silent->channel, &silent->id, NULL, RDMA_PS_TCP) != 0 ||
	    rdma_resolve_addr(silent->id, NULL, (struct sockaddr *)&address, 1000) != 0)
		die("hanging-channel: an event");
	silent->fd = silent->channel->fd;
	for (unsigned i = 0; i < COUNT_OF(steps); i++) {
		if (pthread_create(&thread, NULL, steps[i], silent) != 0)
			die("hanging-channel: thread");
		poll(NULL, 0, 5);
	}
}

/* ---- completion queues that nobody polls ---- */

static unsigned unpolled_left;

static void unpolled_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	unpolled_left = amount; /* MiB */
}

/* Returns false when the device has no more memory for this user. */
static bool flush_into(struct bench *bench, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 1,
			.max_recv_wr = FLUSH_ENTRIES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	struct ibv_qp *qp = ibv_create_qp(bench->pd, &wanted);

	if (qp == NULL && errno == ENOSPC)
		return false;
	if (qp == NULL)
		die("unpolled: queue pair");
	ibv_modify_qp(qp, &attributes,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	for (unsigned i = 0; i < FLUSH_ENTRIES && ibv_post_recv(qp, &wr, &bad) == 0; i++)
		;
	attributes.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
	poll(NULL, 0, 1); /* until the requests have come back */
	ibv_destroy_qp(qp);
	return true;
}

static void unpolled_turn(struct bench *bench)
{
	struct ibv_cq *cq;

	if (unpolled_left < CQ_ENTRIES * 64 / MIB) {
		poll(NULL, 0, 1);
		return;
	}
	unpolled_left -= CQ_ENTRIES * 64 / MIB;
	cq = ibv_create_cq(bench->context, CQ_ENTRIES, NULL, NULL, 0);
	for (unsigned i = 0; cq != NULL && i < CQ_ENTRIES / FLUSH_ENTRIES; i++)
		if (!flush_into(bench, cq))
			unpolled_left = 0; /* the attacker keeps what it has */
}

/* ---- regions until there is no memory for more ---- */

static void regions_prepare(struct bench *bench, unsigned amount)
{
	unsigned count = 0;

	while (count < amount && register_region(bench) != NULL)
		count++;
	printf("regions %u, then: %s\n", count, count < amount ? strerror(errno) : "enough");
}

static void regions_turn(struct bench *bench)
{
	work_once(bench);
	poll(NULL, 0, 10);
}

/* ---- connections that say nothing ---- */

static int *sockets;
static unsigned socket_count;

/* -1: turned away. */
static int connect_silently(void)
{
	int fd = control_caller_connect(SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		die("silent: socket");
	return fd;
}

/* ---- control connections with watches ---- */

static unsigned control_watch_count, control_set_count;
static int control_fd = -1;

static void control_close(void)
{
	while (control_set_count > 0)
		close(watch_sets[--control_set_count]);
	close(control_fd);
	control_fd = -1;
}

static void control_ask(void)
{
	const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};

	control_caller_say(control_fd, RNIC_CTL_SHOW, &show, sizeof(show));
}

static void control_open(void)
{
	control_fd = control_caller_open(SOCK_NONBLOCK, RNIC_HELLO_ADMIN);
	if (control_fd < 0)
		return;
	control_set_count = watch_descriptor(control_fd, control_watch_count, watch_sets);
	control_ask();
}

static void control_watches_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	control_watch_count = amount;
	control_open();
}

/* The control plane takes a message out and answers, for as long as it keeps the connection. */
static void control_watches_turn(struct bench *bench)
{
	(void)bench;
	if (control_fd < 0) {
		poll(NULL, 0, 10);
		control_open();
	} else if (control_caller_hear(control_fd) != CONTROL_CALLER_NO_REPLY) {
		control_ask();
	} else {
		control_close();
	}
}

/* ---- listings without end, by all connections that a user may have ---- */

#define LISTED_IDS 4000

static struct pollfd *listers;
static unsigned lister_count;

/* Makes what is listed: identifiers of the connection manager. */
static void listings_make_ids(void)
{
	struct rnic_ctl_cm_create_id create = {
		.port_space = RNIC_PORT_SPACE_TCP,
		.qp_type = RNIC_QP_TYPE_RC,
	};
	const int fd = control_caller_open(0, 0);

	if (fd < 0)
		die("listings: a client");
	control_caller_say(fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0);
	if (control_caller_hear_answer(fd, &create.channel, sizeof(create.channel)) != 0)
		die("listings: a channel");
	for (unsigned i = 0; i < LISTED_IDS; i++) {
		control_caller_say(fd, RNIC_CTL_CM_CREATE_ID, &create, sizeof(create));
		if (control_caller_hear(fd) != 0)
			die("listings: an identifier");
	}
}

static void listings_ask(unsigned i)
{
	const struct rnic_ctl_show show = {
		.kind = i % 2 == 0 ? RNIC_SHOW_CM : RNIC_SHOW_CLIENTS,
	};

	control_caller_say(listers[i].fd, RNIC_CTL_SHOW, &show, sizeof(show));
}

static void listings_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	if (!take_all_descriptors())
		die("RLIMIT_NOFILE");
	listings_make_ids();
	listers = calloc(amount, sizeof(*listers));
	while (lister_count < amount) {
		listers[lister_count] = (struct pollfd){
			.fd = control_caller_open(0, RNIC_HELLO_ADMIN),
			.events = POLLIN,
		};
		if (listers[lister_count].fd < 0)
			break;
		lister_count++;
	}
	if (lister_count < amount / 4)
		die("listings: connections");
	for (unsigned i = 0; i < lister_count; i++)
		listings_ask(i);
}

static void listings_turn(struct bench *bench)
{
	(void)bench;
	poll(listers, lister_count, 100);
	for (unsigned i = 0; i < lister_count; i++) {
		if (listers[i].revents == 0)
			continue;
		if (control_caller_hear(listers[i].fd) == CONTROL_CALLER_NO_REPLY)
			listers[i].fd = -1;
		else
			listings_ask(i);
	}
}

/* ---- silence ---- */

static void silent_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	if (!take_all_descriptors())
		die("RLIMIT_NOFILE");
	socket_count = amount < available_descriptors() ? amount : available_descriptors();
	sockets = calloc(socket_count, sizeof(*sockets));
	for (unsigned i = 0; i < socket_count; i++)
		sockets[i] = connect_silently();
}

static void silent_turn(struct bench *bench)
{
	static unsigned next;

	(void)bench;
	if (sockets[next] >= 0)
		close(sockets[next]);
	sockets[next] = connect_silently();
	next = (next + 1) % socket_count;
}

/* ---- the device opened and closed without end ---- */

static void opens_turn(struct bench *bench)
{
	struct ibv_context *context = ibv_open_device(bench->context->device);

	if (context != NULL)
		ibv_close_device(context);
}

/* ---- processes that stand still, or are killed ---- */

static void signal_own_devices(int signal)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	struct stat status;
	char path[300], name[32];
	FILE *file;

	while ((entry = readdir(processes)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fgets(name, sizeof(name), file) != NULL &&
		    strcmp(name, "rnicd-device\n") == 0 && stat(path, &status) == 0)
			kill((pid_t)atoi(entry->d_name), signal); /* others' are refused */
		fclose(file);
	}
	closedir(processes);
}

static void stopped_prepare(struct bench *bench, unsigned amount)
{
	struct ibv_sge local = {(uintptr_t)bench->bytes, 64, bench->mr->lkey};

	for (unsigned i = 0; i < amount; i++)
		bench_post(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)bench->bytes + 128,
			   bench->mr->rkey);
}

static void stopped_turn(struct bench *bench)
{
	(void)bench;
	raise(SIGSTOP);
}

static void device_stopped_turn(struct bench *bench)
{
	(void)bench;
	signal_own_devices(SIGSTOP);
	poll(NULL, 0, 100);
}

/* A child opens the device, which a new process must serve, and that process is killed. */
static void respawn_turn(struct bench *bench)
{
	pid_t child = fork();

	(void)bench;
	if (child == 0) {
		work_once(bench_start(IBV_QPT_RC));
		signal_own_devices(SIGKILL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		die("respawn: fork");
}

static const struct attack_way ways[] = {
	{"burn", false, NULL, burn},
	{"keys", true, keys_prepare, keys_turn},
	{"keys-end", false, keys_end_prepare, keys_end_turn},
	{"doorbells", true, doorbells_prepare, doorbells_turn},
	{"watches", true, watches_prepare, watches_turn},
	{"control-watches", false, control_watches_prepare, control_watches_turn},
	{"fork", true, private_prepare, fork_turn},
	{"holes", true, large_prepare, holes_turn},
	{"hanging", true, hanging_prepare, hanging_turn},
	{"hanging-channel", true, hanging_channel_prepare, hanging_channel_turn},
	{"unpolled", true, unpolled_prepare, unpolled_turn},
	{"regions", true, regions_prepare, regions_turn},
	{"listings", false, listings_prepare, listings_turn},
	{"silent", false, silent_prepare, silent_turn},
	{"opens", true, NULL, opens_turn},
	{"stopped", true, stopped_prepare, stopped_turn},
	{"device-stopped", true, NULL, device_stopped_turn},
	{"respawn", false, NULL, respawn_turn},
};

const struct attack_way *attack_way_find(const char *name)
{
	for (unsigned i = 0; i < COUNT_OF(ways); i++)
		if (strcmp(ways[i].name, name) == 0)
			return &ways[i];
	return NULL;
}
