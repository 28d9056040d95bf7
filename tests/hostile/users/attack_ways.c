/* SPDX-License-Identifier: MIT */
#include "tests/hostile/users/attack_ways.h"

#include "tests/hostile/users/attack_tools.h"
#include "tests/hostile/users/control_ways.h"
#include "tests/hostile/users/silent_file.h"
#include "tests/hostile/users/view_watches.h"
#include "tests/unit/unit_test.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	KEY_SHIFT = 8,
	KEY_CLUSTER_BITS = 16, /* of the table that the keys shall crowd */
	KEY_CLUSTER_PART = 8,  /* the keys of one part in so many stay */
	DOORBELLS_LOST_OFFSET = 128,
	CQ_ENTRIES = 65536,
	FLUSH_ENTRIES = 16384,
	PIECE_BYTES = 1 << 20,
	MIB = 1 << 20,
};

static void work_once(struct bench *bench)
{
	struct ibv_sge local = {(uintptr_t)bench->bytes, 64, bench->mr->lkey};

	bench_transfer(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)bench->bytes + 128,
		       bench->mr->rkey);
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
			attack_die("keys: register");
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
		attack_die("keys-end: fork");
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
		attack_die("/proc/self/maps");
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
		attack_die("doorbells: no session region");
	doorbells_lost = (_Atomic uint32_t *)(region + DOORBELLS_LOST_OFFSET);
	for (unsigned i = 0; i < amount; i++)
		if (ibv_create_qp(bench->pd, &wanted) == NULL)
			attack_die("doorbells: queue pair");
}

static void doorbells_turn(struct bench *bench)
{
	atomic_fetch_add(doorbells_lost, 1);
	work_once(bench);
}

/* ---- watches on the pipe of a completion channel ---- */

static struct ibv_comp_channel *channel;
static struct ibv_cq *watched_cq;
static int watch_sets[ATTACK_WATCH_SETS_MAX];

static void watches_prepare(struct bench *bench, unsigned amount)
{
	channel = ibv_create_comp_channel(bench->context);
	if (channel == NULL)
		attack_die("watches: channel");
	watched_cq = ibv_create_cq(bench->context, 16, NULL, channel, 0);
	if (watched_cq == NULL)
		attack_die("watches: CQ");
	attack_watch_descriptor(channel->fd, amount, watch_sets);
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
		attack_die("watches: queue pair");
	ibv_req_notify_cq(watched_cq, 0);
	attributes.qp_state = IBV_QPS_INIT;
	attributes.port_num = 1;
	ibv_modify_qp(qp, &attributes,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	if (ibv_post_recv(qp, &wr, &bad) != 0)
		attack_die("watches: post");
	attributes.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
	if (ibv_get_cq_event(channel, &of, &context) != 0)
		attack_die("watches: event");
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
		attack_die("large: memory");
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		attack_die("large: map");
	large = ibv_reg_mr(bench->pd, memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (large == NULL)
		attack_die("large: register");
}

static void *private_memory(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		attack_die("fork: map");
	return memset(memory, 1, bytes);
}

static void private_prepare(struct bench *bench, unsigned amount)
{
	size_t bytes = region_bytes(amount);
	void *memory = private_memory(bytes);

	large = ibv_reg_mr(bench->pd, memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (large == NULL)
		attack_die("fork: register");
}

/* Posts a WRITE from the first half of the region to the second. */
static void post_piece(struct bench *bench, size_t at)
{
	struct ibv_sge local = {(uintptr_t)large->addr + at, PIECE_BYTES, large->lkey};

	bench_post(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)large->addr + large->length / 2 + at,
		   large->rkey);
}

static void fork_once(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		attack_die("fork");
}

static void fork_turn(struct bench *bench)
{
	static size_t at;

	post_piece(bench, at);
	at = (at + PIECE_BYTES) % (large->length / 2);
	fork_once();
	bench_expect(bench, 1);
}

/* The same without a device: what the kernel's work for the copies costs other users. */
static void fork_alone_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	private_memory(region_bytes(amount));
}

static void fork_alone_turn(struct bench *bench)
{
	(void)bench;
	fork_once();
}

static void holes_turn(struct bench *bench)
{
	unsigned pieces = 0;

	if (madvise(large->addr, large->length, MADV_REMOVE) != 0)
		attack_die("holes: punch");
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
		attack_die("hanging: a file system of a user");
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
		attack_die("hanging-channel: read");
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
		attack_die("hanging-channel: an event");
	silent->fd = silent->channel->fd;
	for (unsigned i = 0; i < COUNT_OF(steps); i++) {
		if (pthread_create(&thread, NULL, steps[i], silent) != 0)
			attack_die("hanging-channel: thread");
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
		attack_die("unpolled: queue pair");
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

/* ---- the device opened and closed without end ---- */

static void opens_turn(struct bench *bench)
{
	struct ibv_context *context = ibv_open_device(bench->context->device);

	if (context != NULL)
		ibv_close_device(context);
}

/* ---- the same, while the user watches what the daemon writes for all ---- */

static void view_watches_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	view_watches_take(amount);
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
		attack_die("respawn: fork");
}

static const struct attack_way ways[] = {
	{"burn", false, NULL, burn},
	{"keys", true, keys_prepare, keys_turn},
	{"keys-end", false, keys_end_prepare, keys_end_turn},
	{"doorbells", true, doorbells_prepare, doorbells_turn},
	{"watches", true, watches_prepare, watches_turn},
	{"fork", true, private_prepare, fork_turn},
	{"fork-alone", false, fork_alone_prepare, fork_alone_turn},
	{"holes", true, large_prepare, holes_turn},
	{"hanging", true, hanging_prepare, hanging_turn},
	{"hanging-channel", true, hanging_channel_prepare, hanging_channel_turn},
	{"unpolled", true, unpolled_prepare, unpolled_turn},
	{"regions", true, regions_prepare, regions_turn},
	{"opens", true, NULL, opens_turn},
	{"view-watches", true, view_watches_prepare, opens_turn},
	{"stopped", true, stopped_prepare, stopped_turn},
	{"device-stopped", true, NULL, device_stopped_turn},
	{"respawn", false, NULL, respawn_turn},
};

const struct attack_way *attack_way_find(const char *name)
{
	for (unsigned i = 0; i < COUNT_OF(ways); i++)
		if (strcmp(ways[i].name, name) == 0)
			return &ways[i];
	return control_way_find(name);
}
