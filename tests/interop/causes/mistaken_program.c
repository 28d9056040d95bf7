/* SPDX-License-Identifier: MIT */
/*
 * A beginner's program with one deliberate mistake: mistaken_program SOCKET END MISTAKE.
 *
 * The two ends, `server` and `client`, are programs of two hosts, and tell each other what they
 * need over the Unix socket SOCKET. The client does the work: one request, or some. Both print what
 * the verbs said, then "done", and stay as they are until standard input ends. They leave
 * everything to exit(), as such programs do.
 */
#include "tests/interop/verbs/qp_steps.h"

#include <infiniband/verbs.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BYTES	 4096
#define PSN	 0x1234
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* What is done, and how: right, until a mistake changes it. */
static struct plan {
	int64_t opcode, requests, bytes, send_flags;
	int64_t depth, cq_entries, receives, has_channel, has_send_cq;
	int64_t rights, rkey_step, lkey_step, address_step, qpn_step, psn_step;
	int64_t rnr_retry, max_rd_atomic, max_dest_rd_atomic, port, mtu, forgotten_mask;
	int64_t is_global, gid_index_step, takes_own_gid, takes_nobodys_gid;
	int64_t last_state;
	int64_t act, pause_ms; /* of one end, between the connection and the work */
} plan = {
	.opcode = IBV_WR_SEND,
	.requests = 1,
	.bytes = 64,
	.send_flags = IBV_SEND_SIGNALED,
	.depth = 16,
	.cq_entries = 64,
	.receives = 16,
	.rights = ALL_RIGHTS,
	.rnr_retry = 7,
	.max_rd_atomic = 1,
	.max_dest_rd_atomic = 1,
	.port = 1,
	.mtu = IBV_MTU_1024,
	.is_global = true,
	.last_state = IBV_QPS_RTS,
};

struct end {
	uint32_t qpn, psn, rkey;
	uint64_t address;
	union ibv_gid gid;
};

static bool is_server;
static int gid_index; /* of the address that both use */

static struct program {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct end own, peer;
	uint8_t bytes[2 * BYTES];
} program;

/* ---- the mistakes ---- */

/* What an end does to the other. */
enum act { ACT_NONE, ACT_DEREGISTER, ACT_DESTROY, ACT_TO_ERROR, ACT_EXIT };

enum who { CLIENT = 1, SERVER = 2, BOTH = CLIENT | SERVER };

struct change {
	enum who who;
	size_t member;
	int64_t value;
};

#define SET(who, member, value)                                                                    \
	{                                                                                          \
		who, offsetof(struct plan, member), value                                          \
	}

static const struct {
	const char *name;
	struct change changes[3];
} mistakes[] = {
	{"wrong_gid_index", {SET(BOTH, gid_index_step, 90)}},
	{"no_receive", {SET(SERVER, receives, 0)}},
	{"no_receive_no_retry", {SET(SERVER, receives, 0), SET(CLIENT, rnr_retry, 0)}},
	{"wrong_rkey", {SET(BOTH, opcode, IBV_WR_RDMA_WRITE), SET(CLIENT, rkey_step, 0x1100)}},
	{"wrong_lkey", {SET(CLIENT, lkey_step, 0x1100)}},
	{"wrong_address", {SET(BOTH, opcode, IBV_WR_RDMA_WRITE), SET(CLIENT, address_step, BYTES)}},
	{"misaligned_atomic",
	 {SET(BOTH, opcode, IBV_WR_ATOMIC_FETCH_AND_ADD), SET(BOTH, bytes, 8),
	  SET(CLIENT, address_step, 4)}},
	{"missing_rights",
	 {SET(BOTH, opcode, IBV_WR_RDMA_WRITE), SET(SERVER, rights, IBV_ACCESS_LOCAL_WRITE)}},
	{"no_rd_atomic", {SET(BOTH, opcode, IBV_WR_RDMA_READ), SET(CLIENT, max_rd_atomic, 0)}},
	{"no_dest_rd_atomic",
	 {SET(BOTH, opcode, IBV_WR_RDMA_READ), SET(SERVER, max_dest_rd_atomic, 0)}},
	{"small_cq",
	 {SET(BOTH, opcode, IBV_WR_RDMA_WRITE), SET(CLIENT, requests, 8),
	  SET(CLIENT, cq_entries, 1)}},
	{"small_receive_cq", {SET(SERVER, cq_entries, 1), SET(CLIENT, requests, 8)}},
	{"wrong_cq", {SET(CLIENT, has_send_cq, true)}},
	{"peer_in_init", {SET(SERVER, last_state, IBV_QPS_INIT)}},
	{"missing_mask", {SET(CLIENT, forgotten_mask, IBV_QP_MIN_RNR_TIMER)}},
	{"wrong_port", {SET(CLIENT, port, 2)}},
	{"mtus_differ", {SET(BOTH, bytes, BYTES), SET(SERVER, mtu, IBV_MTU_512)}},
	{"not_global", {SET(CLIENT, is_global, false)}},
	{"nobodys_gid", {SET(CLIENT, takes_nobodys_gid, true)}},
	{"wrong_qpn", {SET(CLIENT, qpn_step, 1)}},
	{"wrong_psn", {SET(CLIENT, psn_step, 0x200000)}},
	{"old_psn", {SET(CLIENT, psn_step, -3)}},
	{"own_gid", {SET(CLIENT, takes_own_gid, true)}},
	{"send_in_init", {SET(CLIENT, last_state, IBV_QPS_INIT)}},
	{"send_in_rtr", {SET(CLIENT, last_state, IBV_QPS_RTR)}},
	{"receive_in_reset", {SET(SERVER, last_state, IBV_QPS_RESET)}},
	{"remote_without_local", {SET(SERVER, rights, IBV_ACCESS_REMOTE_WRITE)}},
	{"unarmed", {SET(CLIENT, has_channel, true)}},
	{"unsignaled", {SET(CLIENT, send_flags, 0)}},
	{"overfull_unpolled", {SET(CLIENT, requests, 20)}},
	{"overfull_unsignaled", {SET(CLIENT, requests, 20), SET(CLIENT, send_flags, 0)}},
	{"region_deregistered",
	 {SET(BOTH, opcode, IBV_WR_RDMA_WRITE), SET(SERVER, act, ACT_DEREGISTER)}},
	{"peer_destroyed", {SET(SERVER, act, ACT_DESTROY)}},
	{"peer_to_error", {SET(SERVER, act, ACT_TO_ERROR)}},
	{"peer_exited", {SET(SERVER, act, ACT_EXIT), SET(CLIENT, pause_ms, 300)}},
	{"link_down", {SET(CLIENT, pause_ms, 700)}},
	{"requests_lost", {SET(CLIENT, pause_ms, 700)}},
	{"answers_lost", {SET(CLIENT, pause_ms, 700)}},
};

static bool make_mistake(const char *name, enum who who)
{
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		if (strcmp(mistakes[i].name, name) != 0)
			continue;
		for (size_t n = 0; n < COUNT(mistakes[i].changes); n++) {
			const struct change *change = &mistakes[i].changes[n];

			if (change->who & who)
				*(int64_t *)((char *)&plan + change->member) = change->value;
		}
		return true;
	}
	return false;
}

/* ---- the two ends ---- */

static void give_up(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(2);
}

/* The client comes when the server listens. */
static int meet(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (is_server) {
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
		    listen(fd, 1) != 0)
			give_up("listen");
		puts("listens");
		return accept(fd, NULL, NULL);
	}
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		give_up("connect");
	return fd;
}

static void exchange(int fd)
{
	if (write(fd, &program.own, sizeof(program.own)) != sizeof(program.own) ||
	    read(fd, &program.peer, sizeof(program.peer)) != sizeof(program.peer))
		give_up("exchange");
}

static void open_objects(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = (uint32_t)plan.depth,
			.max_recv_wr = (uint32_t)plan.depth,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	if (devices == NULL || devices[0] == NULL)
		give_up("no device");
	program.context = ibv_open_device(devices[0]);
	program.pd = ibv_alloc_pd(program.context);
	program.mr = ibv_reg_mr(program.pd, program.bytes, BYTES, (int)plan.rights);
	if (program.mr == NULL)
		give_up("ibv_reg_mr");
	program.channel = plan.has_channel ? ibv_create_comp_channel(program.context) : NULL;
	program.cq = ibv_create_cq(program.context, (int)plan.cq_entries, NULL, program.channel, 0);
	wanted.send_cq = wanted.recv_cq = program.cq;
	if (plan.has_send_cq)
		wanted.send_cq =
			ibv_create_cq(program.context, (int)plan.cq_entries, NULL, NULL, 0);
	program.qp = ibv_create_qp(program.pd, &wanted);
	if (program.qp == NULL)
		give_up("ibv_create_qp");
	ibv_query_gid(program.context, 1, gid_index, &program.own.gid);
	program.own.qpn = program.qp->qp_num;
	program.own.psn = PSN;
	program.own.rkey = program.mr->rkey;
	program.own.address = (uintptr_t)program.bytes;
}

static union ibv_gid peer_gid(void)
{
	union ibv_gid gid = plan.takes_own_gid ? program.own.gid : program.peer.gid;

	if (plan.takes_nobodys_gid)
		gid.raw[15] ^= 0x40;
	return gid;
}

/* Steps on to the last state, and says what was refused. */
static void connect_qp(void)
{
	struct ibv_qp_attr attributes = {
		.port_num = (uint8_t)plan.port,
		.qp_access_flags = ALL_RIGHTS,
		.path_mtu = (enum ibv_mtu)plan.mtu,
		.dest_qp_num = (uint32_t)(program.peer.qpn + plan.qpn_step),
		.rq_psn = program.peer.psn,
		.sq_psn = (uint32_t)(program.own.psn + plan.psn_step) & 0xffffff,
		.max_dest_rd_atomic = (uint8_t)plan.max_dest_rd_atomic,
		.max_rd_atomic = (uint8_t)plan.max_rd_atomic,
		.min_rnr_timer = 12,
		.timeout = 12,
		.retry_cnt = 3,
		.rnr_retry = (uint8_t)plan.rnr_retry,
		.ah_attr = {.is_global = (uint8_t)plan.is_global,
			    .port_num = 1,
			    .grh = {.dgid = peer_gid(),
				    .sgid_index = (uint8_t)(gid_index + plan.gid_index_step),
				    .hop_limit = 64}},
	};

	for (int state = IBV_QPS_INIT; state <= (int)plan.last_state; state++) {
		const int mask = qp_mask_to((enum ibv_qp_state)state, IBV_QPT_RC) &
				 ~(int)plan.forgotten_mask;

		attributes.qp_state = (enum ibv_qp_state)state;
		if (ibv_modify_qp(program.qp, &attributes, mask) != 0)
			give_up("ibv_modify_qp");
	}
}

static struct ibv_sge own_bytes(void)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)program.bytes,
		.length = (uint32_t)plan.bytes,
		.lkey = (uint32_t)(program.mr->lkey + plan.lkey_step),
	};
}

static void post_all_receives(void)
{
	struct ibv_sge sge = own_bytes();
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	for (int64_t i = 0; i < plan.receives; i++)
		if (ibv_post_recv(program.qp, &wr, &bad) != 0)
			give_up("ibv_post_recv");
}

static void post_requests(void)
{
	struct ibv_sge sge = own_bytes();
	struct ibv_send_wr wr = {
		.wr_id = 0x42,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = (enum ibv_wr_opcode)plan.opcode,
		.send_flags = (unsigned)plan.send_flags,
	};
	struct ibv_send_wr *bad;

	if (plan.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = program.peer.address + (uint64_t)plan.address_step;
		wr.wr.atomic.rkey = program.peer.rkey;
	} else {
		wr.wr.rdma.remote_addr = program.peer.address + (uint64_t)plan.address_step;
		wr.wr.rdma.rkey = (uint32_t)(program.peer.rkey + plan.rkey_step);
	}
	for (int64_t i = 0; i < plan.requests; i++) {
		errno = ibv_post_send(program.qp, &wr, &bad);
		if (errno != 0)
			give_up("ibv_post_send");
	}
}

/* Polls for a second, as one does who expects a completion at once. */
static void take_completion(void)
{
	struct timespec now, end;
	struct ibv_wc wc;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec++;
	do {
		if (ibv_poll_cq(program.cq, 1, &wc) == 1) {
			printf("completion: %d, vendor_err 0x%02x\n", wc.status, wc.vendor_err);
			return;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	puts("no completion");
}

static void act(void)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

	switch ((enum act)plan.act) {
	case ACT_DEREGISTER:
		if (ibv_dereg_mr(program.mr) != 0)
			give_up("ibv_dereg_mr");
		break;
	case ACT_DESTROY:
		if (ibv_destroy_qp(program.qp) != 0)
			give_up("ibv_destroy_qp");
		break;
	case ACT_TO_ERROR:
		if (ibv_modify_qp(program.qp, &error, IBV_QP_STATE) != 0)
			give_up("ibv_modify_qp");
		break;
	default:
		break;
	}
}

static void work(void)
{
	struct pollfd event = {.events = POLLIN};

	poll(NULL, 0, (int)plan.pause_ms);
	post_requests();
	if (plan.has_channel) {
		event.fd = program.channel->fd;
		puts(poll(&event, 1, 300) == 0 ? "no event" : "event");
	} else if (plan.requests == 1) {
		take_completion();
	}
}

int main(int argc, char **argv)
{
	char end_of_input;
	int peer;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < COUNT(mistakes); i++)
			puts(mistakes[i].name);
		return 0;
	}
	if (argc != 5)
		return 1;
	is_server = strcmp(argv[2], "server") == 0;
	gid_index = atoi(argv[3]);
	if (!make_mistake(argv[4], is_server ? SERVER : CLIENT))
		return 1;
	peer = meet(argv[1]);
	open_objects();
	exchange(peer);
	connect_qp();
	if (is_server)
		post_all_receives();
	if (plan.act != ACT_EXIT)
		act();
	exchange(peer);
	printf("both are connected\n");
	if (!is_server)
		work();
	printf("done\n");
	if (plan.act == ACT_EXIT)
		return 0;
	return read(STDIN_FILENO, &end_of_input, 1) != 0;
}
