/* SPDX-License-Identifier: MIT */
/*
 * What a WRITE of 8 B costs a program that has many queue pairs:
 *
 *     many_qps serve PORT GID_INDEX QPS               prints "ready"; ends with its client
 *     many_qps call PORT GID_INDEX QPS HOST SECONDS   prints "connected" and a line of JSON
 *
 * The client waits for a line of its input after "connected", and for the end of its input after
 * the JSON. What others do between the two is for the messages alone. The messages go to the queue
 * pairs in turn, as many under way as one queue pair can hold.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	AT_ONCE = 128, /* messages under way on all queue pairs */
	DEPTH_MIN = 4,
	POLL_AT_MOST = 32,
	LIFE_SECONDS = 120, /* nobody waits for a peer or a completion for ever */
	QPS_MAX = 16384,
};

/* What a side must know of the other one; both run on one machine. */
struct side {
	union ibv_gid gid;
	uint64_t address;
	uint32_t rkey;
};

struct many {
	uint32_t count, depth, gid_index;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp **qps;
	uint64_t *words;     /* the target of each queue pair */
	uint32_t *under_way; /* by queue pair */
	uint32_t *remote_numbers;
	struct side local, remote;
};

static void require(bool is_well, const char *what)
{
	if (is_well)
		return;
	fprintf(stderr, "many_qps: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void say(const char *line)
{
	puts(line);
	fflush(stdout);
}

static double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static struct sockaddr_in socket_address(const char *host, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	errno = EINVAL;
	require(!host || inet_pton(AF_INET, host, &address.sin_addr) == 1, "the address");
	return address;
}

static int accept_client(uint16_t port)
{
	struct sockaddr_in address = socket_address(NULL, port);
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	require(listener >= 0, "socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	require(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	require(listen(listener, 1) == 0, "listen");
	say("ready");
	fd = accept(listener, NULL, NULL);
	require(fd >= 0, "accept");
	close(listener);
	return fd;
}

static int connect_to_server(const char *host, uint16_t port)
{
	struct sockaddr_in address = socket_address(host, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	require(fd >= 0, "socket");
	require(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
	return fd;
}

static void swap(int fd, const void *ours, void *theirs, size_t bytes)
{
	require(send(fd, ours, bytes, MSG_NOSIGNAL) == (ssize_t)bytes, "send");
	require(recv(fd, theirs, bytes, MSG_WAITALL) == (ssize_t)bytes, "receive");
}

static void make_qp(struct many *many, uint32_t i)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = many->cq,
		.recv_cq = many->cq,
		.cap = {.max_send_wr = many->depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = sizeof(*many->words)},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	many->qps[i] = ibv_create_qp(many->pd, &wanted);
	require(many->qps[i] != NULL, "ibv_create_qp");
}

static void make_objects(struct many *many)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	size_t words_bytes = many->count * sizeof(*many->words);

	require(devices && devices[0], "no device");
	many->context = ibv_open_device(devices[0]);
	require(many->context != NULL, "ibv_open_device");
	ibv_free_device_list(devices);
	many->qps = calloc(many->count, sizeof(*many->qps));
	many->words = calloc(1, words_bytes);
	many->under_way = calloc(many->count, sizeof(*many->under_way));
	many->remote_numbers = calloc(many->count, sizeof(*many->remote_numbers));
	require(many->qps && many->words && many->under_way && many->remote_numbers, "memory");
	many->pd = ibv_alloc_pd(many->context);
	require(many->pd != NULL, "ibv_alloc_pd");
	many->cq = ibv_create_cq(many->context, 2 * AT_ONCE, NULL, NULL, 0);
	require(many->cq != NULL, "ibv_create_cq");
	many->mr = ibv_reg_mr(many->pd, many->words, words_bytes,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	require(many->mr != NULL, "ibv_reg_mr");
	require(ibv_query_gid(many->context, 1, (int)many->gid_index, &many->local.gid) == 0,
		"ibv_query_gid");
	many->local.address = (uintptr_t)many->words;
	many->local.rkey = many->mr->rkey;
	for (uint32_t i = 0; i < many->count; i++)
		make_qp(many, i);
}

static void connect_qp(struct many *many, enum ibv_mtu mtu, uint32_t i)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = mtu,
		.dest_qp_num = many->remote_numbers[i],
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = many->remote.gid,
				    .sgid_index = (uint8_t)many->gid_index,
				    .hop_limit = 64}},
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	require(ibv_modify_qp(many->qps[i], &attributes,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS) == 0,
		"INIT");
	attributes.qp_state = IBV_QPS_RTR;
	require(ibv_modify_qp(many->qps[i], &attributes,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER) == 0,
		"RTR");
	attributes.qp_state = IBV_QPS_RTS;
	require(ibv_modify_qp(many->qps[i], &attributes,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		"RTS");
}

/* Returns when both sides can receive. */
static void connect_all(struct many *many, int fd)
{
	uint32_t *numbers = calloc(many->count, sizeof(*numbers));
	struct ibv_port_attr port;
	uint8_t ours = 0, theirs;

	require(numbers != NULL, "memory");
	require(ibv_query_port(many->context, 1, &port) == 0, "ibv_query_port");
	for (uint32_t i = 0; i < many->count; i++)
		numbers[i] = many->qps[i]->qp_num;
	swap(fd, &many->local, &many->remote, sizeof(many->local));
	swap(fd, numbers, many->remote_numbers, many->count * sizeof(*numbers));
	for (uint32_t i = 0; i < many->count; i++)
		connect_qp(many, port.active_mtu, i);
	swap(fd, &ours, &theirs, sizeof(ours));
	free(numbers);
}

static void post_write(struct many *many, uint32_t i)
{
	struct ibv_sge sge = {.addr = (uintptr_t)&many->words[i], .length = sizeof(*many->words)};
	struct ibv_send_wr *bad,
		request = {
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_INLINE,
			.wr.rdma = {.remote_addr = many->remote.address + i * sizeof(*many->words),
				    .rkey = many->remote.rkey},
		};

	errno = ibv_post_send(many->qps[i], &request, &bad);
	require(errno == 0, "ibv_post_send");
	many->under_way[i]++;
}

/* Returns how many messages have completed. */
static uint32_t take_completions(struct many *many)
{
	struct ibv_wc wcs[POLL_AT_MOST];
	int count = ibv_poll_cq(many->cq, POLL_AT_MOST, wcs);

	errno = EIO;
	require(count >= 0, "ibv_poll_cq");
	for (int i = 0; i < count; i++) {
		require(wcs[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(wcs[i].status));
		many->under_way[wcs[i].wr_id]--;
	}
	return (uint32_t)count;
}

/* Returns how many messages there were. */
static uint64_t write_for(struct many *many, double seconds)
{
	double end_s = wall_seconds() + seconds;
	uint64_t posted = 0, completed = 0;
	uint32_t next = 0;

	while (wall_seconds() < end_s) {
		while (posted - completed < AT_ONCE && many->under_way[next] < many->depth) {
			post_write(many, next);
			next = (next + 1) % many->count;
			posted++;
		}
		completed += take_completions(many);
	}
	while (completed < posted)
		completed += take_completions(many);
	return posted;
}

static void measure(struct many *many, double seconds)
{
	char line[16];
	double begin_s, begin_cpu_s, taken_s;
	uint64_t messages;

	say("connected");
	require(fgets(line, sizeof(line), stdin) != NULL, "nobody says go");
	begin_s = wall_seconds();
	begin_cpu_s = cpu_seconds();
	messages = write_for(many, seconds);
	taken_s = wall_seconds() - begin_s;
	printf("{\"messages\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
	       (unsigned long long)messages, taken_s, cpu_seconds() - begin_cpu_s);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
}

static void close_objects(struct many *many)
{
	for (uint32_t i = 0; i < many->count; i++)
		require(ibv_destroy_qp(many->qps[i]) == 0, "ibv_destroy_qp");
	ibv_dereg_mr(many->mr);
	ibv_destroy_cq(many->cq);
	ibv_dealloc_pd(many->pd);
	ibv_close_device(many->context);
	free(many->remote_numbers);
	free(many->under_way);
	free(many->words);
	free(many->qps);
}

int main(int argc, char **argv)
{
	bool is_client = argc == 7 && strcmp(argv[1], "call") == 0;
	bool is_server = argc == 5 && strcmp(argv[1], "serve") == 0;
	struct many many = {0};
	uint8_t end;
	int fd;

	if (is_client || is_server)
		many.count = (uint32_t)atoi(argv[4]);
	if (many.count == 0 || many.count > QPS_MAX) {
		fprintf(stderr, "usage: many_qps serve PORT GID_INDEX QPS\n"
				"       many_qps call PORT GID_INDEX QPS HOST SECONDS\n");
		return EXIT_FAILURE;
	}
	alarm(LIFE_SECONDS);
	many.gid_index = (uint32_t)atoi(argv[3]);
	many.depth = AT_ONCE / many.count + DEPTH_MIN;
	make_objects(&many);
	fd = is_client ? connect_to_server(argv[5], (uint16_t)atoi(argv[2]))
		       : accept_client((uint16_t)atoi(argv[2]));
	connect_all(&many, fd);
	if (is_client)
		measure(&many, atof(argv[6]));
	else
		require(recv(fd, &end, sizeof(end), 0) == 0, "the client");
	close(fd);
	close_objects(&many);
	return EXIT_SUCCESS;
}
