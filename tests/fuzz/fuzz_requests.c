/* SPDX-License-Identifier: MIT */
/*
 * A session of control requests, carried out by the real handlers on a real engine and connection
 * manager: whatever they ask for and in whatever order, all of it is gone with the session.
 *
 * An input is a list of requests: the operation, how many patches follow, the payload, the patches.
 * A patch puts eight bytes of an earlier reply into the payload, so that handles that were given
 * out can be named. An operation beyond the last writes an entry into the work queue of a queue
 * pair or a shared receive queue instead; now and then the device has a turn. The session begins
 * with an object of each kind, and a queue pair that is ready to send, of the type that the first
 * byte chooses.
 */
#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm/cm.h"
#include "daemon/control/cm_ids/cm_sink.h"
#include "daemon/control/server/client_teardown.h"
#include "daemon/control/server/ctl_dispatch.h"
#include "daemon/control/server/troubles.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/device/device.h"
#include "daemon/device/device_limits.h"
#include "daemon/device/device_state.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/requests/device_connection.h"
#include "daemon/device/requests/device_requests.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session_turn.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "daemon/shared/served_peer/peer_teardown.h"
#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine_limits.h"
#include "proto/base/bits.h"
#include "proto/ctl/ctl_check.h"
#include "proto/shm/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUESTS_MAX  48
#define MEMORY_BYTES  65536
#define REPLIES	      16
#define FIRST_REPLIES 9 /* these are kept, later ones replace one another */
#define REPLY_BYTES   32
#define PATCHES	      4 /* at most 3 a request */

struct input {
	const uint8_t *bytes;
	size_t left;
};

static struct {
	struct device device;	   /* whose ports send and receive nothing */
	struct device_set devices; /* without processes */
	struct device_child child;
	struct client_set clients;
	struct device_facts facts;
	struct device_settings settings;
	struct cm *cm;
	struct prng random; /* of engine and CM */
	int memfd;
} device;

/* One session. */
struct run {
	struct input input;
	struct client *client;
	struct device_connection *connection;
	uint8_t replies[REPLIES][REPLY_BYTES];
	uint32_t reply_count;
};

static void take(struct input *input, void *bytes, size_t count)
{
	size_t there = count < input->left ? count : input->left;

	memcpy(bytes, input->bytes, there);
	memset((uint8_t *)bytes + there, 0, count - there);
	input->bytes += there;
	input->left -= there;
}

static uint8_t take_byte(struct input *input)
{
	uint8_t byte;

	take(input, &byte, 1);
	return byte;
}

static int join(void *context, const struct rnic_gid *group, bool is_wanted)
{
	(void)context;
	(void)group;
	(void)is_wanted;
	return 0;
}

static void note_trouble(void *context, const struct rnic_process_trouble *trouble)
{
	(void)context;
	trouble_of_device(&device.clients, &device.child, trouble);
}

static void fill_facts(struct device_facts *facts, const struct rnic_gid *gid)
{
	facts->device = (struct rnic_device_attributes){
		.max_qp_wr = LIMIT_WR_DEPTH,
		.max_sge = LIMIT_SGES,
		.max_inline_bytes = RNIC_INLINE_BYTES_MAX,
		.max_mr_bytes = UINT64_C(1) << 40,
		.max_cqe = LIMIT_CQ_ENTRIES,
		.max_srq_wr = LIMIT_WR_DEPTH,
		.max_srq_sge = LIMIT_SGES,
		.max_qp_rd_atomic = LIMIT_RD_ATOMIC,
		.max_message_bytes = RNIC_MESSAGE_BYTES_MAX,
		.gid_count = RNIC_GIDS_MAX,
		.pkey_count = 1,
		.completion_vectors = 1,
	};
	facts->port = (struct rnic_ctl_port_reply){
		.state = RNIC_PORT_ACTIVE,
		.max_mtu = 5,
		.active_mtu = 5,
	};
	facts->gids.count = RNIC_GIDS_MAX;
	facts->gids.entries[0].gid = *gid;
	facts->pkeys.pkeys[0] = 0xffff;
}

/* Listings read the ports' counters and a name. */
static void give_ports(struct port_stack *ports)
{
	static const struct port_ops ops = {.name = "none"};
	static struct port port = {.ops = &ops};

	*ports = (struct port_stack){
		.udp = &port,
		.multicast = &port,
		.loopback = &port,
		.top = &port,
	};
}

static void forget_client(void *context, uint32_t client_id)
{
	(void)context;
	(void)client_id;
}

static void catch_up(void *context)
{
	(void)context;
}

static void start_device(void)
{
	static const struct rnic_gid gid = {{[10] = 0xff, 0xff, 127, 0, 0, 1}};
	const struct cm_config cm_config = {
		.sink = &cm_identifier_sink,
		.sink_context = &device.clients,
		.random = prng_source(&device.random),
		.max_connections = LIMIT_CM_CONNECTIONS,
		.max_bindings = LIMIT_CM_BINDINGS,
	};
	static const struct device_host host = {
		.trouble = note_trouble,
		.client_gone = forget_client,
		.catch_up = catch_up,
	};
	static struct engine_sink sink;
	const struct engine_config config = {
		.sink = &sink,
		.sink_context = &device.device.sessions,
		.random = prng_source(&device.random),
		.max_qps = LIMIT_QPS,
		.max_mrs = LIMIT_MRS + LIMIT_MWS,
		.lane = RNIC_LANE_FIRST,
	};
	static struct rnic_stats_file file;

	log_set_level(LOG_LEVEL_ERROR);
	give_ports(&device.device.ports);
	fill_facts(&device.facts, &gid);
	prng_init(&device.random, 0);
	device.cm = cm_create(&cm_config);
	assert(device.cm != NULL);
	sink = device_sink;
	sink.multicast = join;
	assert(session_set_init(&device.device.sessions, &device.device.engine, &device.facts,
				&device_connection_owner) == 0);
	assert(connection_set_init(&device.device.connections, &device.device.sessions, &host,
				   &device_requests_role, UINT64_MAX) == 0);
	device.device.sessions.qp_owners = file.qp_owners;
	device.child = (struct device_child){
		.common = &device.devices.common,
		.state = DEVICE_CHILD_SERVING,
		.lane = RNIC_LANE_FIRST,
		.stats_page.address = &file,
	};
	assert(device_set_open(&device.devices, &(struct device_set_config){
							.capture_fd = -1, .process_max = 1}) == 0);
	assert(client_set_init(&device.clients, &(struct client_set_config){
							.role = &ctl_dispatch_role,
							.devices = &device.devices,
							.cm = device.cm,
							.facts = &device.facts,
							.settings = &device.settings,
						}) == 0);
	assert(engine_init(&device.device.engine, &config) == 0);
	engine_set_gid(&device.device.engine, 0, &gid);
	device.memfd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert(device.memfd >= 0 && ftruncate(device.memfd, MEMORY_BYTES) == 0);
	assert(fcntl(device.memfd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
}

static uint8_t *next_reply(struct run *run)
{
	uint32_t count = run->reply_count++;

	if (count >= FIRST_REPLIES)
		count = FIRST_REPLIES + count % (REPLIES - FIRST_REPLIES);
	return run->replies[count];
}

/* Carries out the request in `call`, with a descriptor of memory if it may have one. */
static void request(struct run *run, struct ctl_call *call, uint16_t operation, bool with_fd)
{
	const bool is_control =
		rnic_ctl_operation_connection(operation) == RNIC_CTL_CONTROL_CONNECTION;
	uint32_t bytes = rnic_ctl_request_bytes(operation);
	int result;

	call->connection =
		is_control ? &run->client->peer.requests : &run->connection->peer.requests;
	if (call->connection->is_broken)
		return;
	call->request.header = (struct rnic_ctl_header){
		.magic = RNIC_CTL_MAGIC,
		.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
		.operation = operation,
		.bytes = (uint32_t)sizeof(call->request.header) + bytes,
	};
	with_fd = with_fd && !is_control;
	call->has_foreign_fds = false;
	call->fd_count = with_fd;
	call->fds[0] = with_fd ? dup(device.memfd) : -1;
	memset(call->progress, 0, sizeof(call->progress));
	call->waits_for = 0;
	do
		result = request_connection_dispatch(call, call->request.header.bytes);
	while (result == -EINPROGRESS && !call->connection->is_broken);
	if (result == 0) {
		memcpy(next_reply(run), call->reply.payload, REPLY_BYTES);
		for (unsigned i = 0; i < call->reply_fd_count; i++)
			close(call->reply_fds[i]);
	}
	if (with_fd && call->fds[0] >= 0)
		close(call->fds[0]);
}

static void patch(struct run *run, struct ctl_call *call, uint32_t bytes)
{
	uint8_t which = take_byte(&run->input);
	uint32_t at = take_byte(&run->input) * 4U;
	uint32_t from = (which >> 4) % (REPLY_BYTES / 8) * 8U;

	if (at + 8 <= bytes)
		memcpy(call->request.payload + at, run->replies[which % REPLIES] + from, 8);
}

static void ask(struct run *run, struct ctl_call *call, uint16_t operation)
{
	uint32_t bytes = rnic_ctl_request_bytes(operation);
	uint8_t kind = take_byte(&run->input);

	take(&run->input, call->request.payload, bytes);
	for (uint8_t i = 0; i < kind % PATCHES; i++)
		patch(run, call, bytes);
	request(run, call, operation, (kind & 0x80) != 0);
}

/* A client's acts on a queue: any bytes as an entry, and any step of the producer's index. */
static void scribble(struct run *run, const struct client_ring *ring, _Atomic uint32_t *producer,
		     size_t entry_bytes)
{
	uint32_t slot = take_byte(&run->input);
	uint8_t step = take_byte(&run->input);

	if (ring->slots == 0)
		return;
	take(&run->input, (uint8_t *)ring->entries + (slot & (ring->slots - 1)) * entry_bytes,
	     entry_bytes);
	rnic_word_publish(producer,
			  rnic_word_load(producer) + (step == 0xff ? 1U << 20 : step % 3));
}

static void scribble_receive(struct run *run, const struct receive_ring *ring,
			     _Atomic uint32_t *producer)
{
	scribble(run, &ring->wqes, producer, sizeof(struct rnic_recv_wqe));
}

static struct rnic_qp_control *control_of(const struct session_qp *qp)
{
	return rnic_qp_control_of(session_region(qp->session), qp->handle.slot);
}

static void post(struct run *run, uint8_t what)
{
	const struct session *session = run->connection->session;
	struct session_srq *srq = handle_table_at(&session->srqs, what >> 2 & 3);
	struct session_qp *qp = handle_table_at(&session->qps, what >> 2 & 3);

	if ((what & 3) == 0 && srq != NULL) {
		struct rnic_srq_region *head = srq->region.address;

		scribble_receive(run, &srq->recv, &head->recv_producer.value);
	} else if ((what & 3) == 1 && qp != NULL && qp->recv.wqes.slots != 0) {
		scribble_receive(run, &qp->recv, &control_of(qp)->recv_producer);
		wqe_fetch_review(qp);
	} else if (qp != NULL && qp->queue_region != NULL) {
		scribble(run, &qp->send_ring, &control_of(qp)->send_producer,
			 sizeof(struct rnic_send_wqe));
		wqe_fetch_schedule(qp);
	}
}

/* A turn of the device, on a network that loses everything. */
static void turn(void)
{
	static struct packet_builder builder;
	static struct rnic_packet packet;

	session_turn_take_work(&device.device.sessions);
	for (uint32_t i = 0; i < 64 && engine_transmit(&device.device.engine, &builder,
						       device.device.sessions.now_ns);
	     i++)
		engine_packets_read(&device.device.engine, device.device.sessions.now_ns);
	for (uint32_t i = 0; i < 64 && cm_transmit(device.cm, &packet); i++)
		;
	device.device.sessions.now_ns += 300000000;
	device.clients.now_ns = device.device.sessions.now_ns;
	engine_tick(&device.device.engine, device.device.sessions.now_ns);
	cm_tick(device.cm, device.device.sessions.now_ns);
	session_turn_deliver(&device.device.sessions, false);
}

/* A request that is in order. */
static void make(struct run *run, struct ctl_call *call, uint16_t operation, const void *payload,
		 bool with_fd)
{
	memcpy(call->request.payload, payload, rnic_ctl_request_bytes(operation));
	request(run, call, operation, with_fd);
	if (call->reply.header.status != 0) {
		fprintf(stderr, "%s: %s\n", rnic_ctl_operation_name(operation), call->reason);
		abort();
	}
}

/* The handle in the latest reply. */
static struct rnic_handle made(const struct ctl_call *call)
{
	struct rnic_handle handle;

	memcpy(&handle, call->reply.payload, sizeof(handle));
	return handle;
}

static void make_qp(struct run *run, struct ctl_call *call, struct rnic_handle pd,
		    struct rnic_handle cq)
{
	static const uint8_t types[] = {RNIC_QP_TYPE_RC, RNIC_QP_TYPE_UC, RNIC_QP_TYPE_UD,
					RNIC_QP_TYPE_XRC_INITIATOR};
	const uint8_t type = types[take_byte(&run->input) % RNIC_COUNT_OF(types)];
	const struct rnic_ctl_create_queue_region region = {.bytes = 8192};
	struct rnic_ctl_create_qp create = {
		.pd = pd,
		.send_cq = cq,
		.recv_cq = type == RNIC_QP_TYPE_XRC_INITIATOR ? (struct rnic_handle){0} : cq,
		.type = type,
		.capacities = {8, type == RNIC_QP_TYPE_XRC_INITIATOR ? 0 : 8, 4, 4, 64},
	};
	struct rnic_ctl_modify_qp modify = {
		.attributes = {.port = 1,
			       .access_flags = 0xf,
			       .path_mtu = 1,
			       .max_rd_atomic = 4,
			       .max_dest_rd_atomic = 4,
			       .timeout = 14,
			       .retry_count = 1,
			       .path = {.port = 1,
					.is_global = 1,
					.dest_gid = {{[10] = 0xff, 0xff, 127, 0, 0, 2}}}},
	};
	bool is_reliable = type == RNIC_QP_TYPE_RC || type == RNIC_QP_TYPE_XRC_INITIATOR;
	uint32_t to_init = RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT;
	uint32_t to_rtr = 0, to_rts = RNIC_QP_ATTR_SQ_PSN;

	make(run, call, RNIC_CTL_CREATE_QUEUE_REGION, &region, false);
	create.queue_region = made(call);
	create.spill_offset = region.bytes / 2;
	make(run, call, RNIC_CTL_CREATE_QP, &create, false);
	modify.qp = made(call);
	to_init |= type == RNIC_QP_TYPE_UD ? RNIC_QP_ATTR_QKEY : RNIC_QP_ATTR_ACCESS_FLAGS;
	if (type != RNIC_QP_TYPE_UD)
		to_rtr = RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |
			 RNIC_QP_ATTR_RQ_PSN;
	if (type == RNIC_QP_TYPE_RC)
		to_rtr |= RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER;
	if (is_reliable)
		to_rts |= RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
			  RNIC_QP_ATTR_MAX_RD_ATOMIC;
	for (uint32_t state = RNIC_QP_STATE_INIT; state <= RNIC_QP_STATE_RTS; state++) {
		modify.attributes.state = state;
		modify.mask = RNIC_QP_ATTR_STATE | (state == RNIC_QP_STATE_INIT	 ? to_init
						    : state == RNIC_QP_STATE_RTR ? to_rtr
										 : to_rts);
		make(run, call, RNIC_CTL_MODIFY_QP, &modify, false);
	}
}

/* What HELLO does, without a device process: the device connection is one of the fuzzed half. */
static void greet(struct run *run)
{
	struct device_client client = {
		.client_id = run->client->peer.client_id,
		.uid = run->client->peer.uid,
		.pid = run->client->peer.pid,
		.pid_fd = -1,
	};
	int sockets[2];

	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
	close(sockets[1]);
	client.connection_fd = sockets[0];
	assert(device_connection_create(&device.device.connections, &client, &run->connection) ==
	       0);
	run->client->device = &device.child;
	device.child.references++;
	run->client->has_greeted = true;
	list_remove(&run->client->peer.silent_node);
}

/* HELLO, OPEN_DEVICE, a PD, a CQ, a region, a window, an SRQ, an address handle, a QP
 * in a queue region. */
static void make_objects(struct run *run, struct ctl_call *call)
{
	const struct rnic_ctl_open_device open_device = {.flags = 0};
	struct rnic_ctl_create_cq cq = {.entries = 16};
	struct rnic_ctl_register_mr mr = {
		.access = 0x1f,
		.mode = RNIC_MEMORY_MAPPED,
		.address = 4096,
		.length = MEMORY_BYTES,
		.iova = 4096,
	};
	struct rnic_ctl_alloc_mw mw = {.type = RNIC_MW_TYPE_2};
	struct rnic_ctl_create_srq srq = {.wanted = {.max_wr = 8, .max_sge = 2}};
	struct rnic_ctl_create_ah ah = {
		.path = {.port = 1,
			 .is_global = 1,
			 .dest_gid = {{[10] = 0xff, 0xff, 127, 0, 0, 2}}},
	};
	struct rnic_handle made_cq;

	greet(run);
	make(run, call, RNIC_CTL_OPEN_DEVICE, &open_device, false);
	request(run, call, RNIC_CTL_ALLOC_PD, false);
	mr.pd = mw.pd = srq.pd = ah.pd = made(call);
	make(run, call, RNIC_CTL_CREATE_CQ, &cq, false);
	made_cq = made(call);
	make(run, call, RNIC_CTL_REGISTER_MR, &mr, true);
	make(run, call, RNIC_CTL_ALLOC_MW, &mw, false);
	make(run, call, RNIC_CTL_CREATE_SRQ, &srq, false);
	make(run, call, RNIC_CTL_CREATE_AH, &ah, false);
	make_qp(run, call, mr.pd, made_cq);
}

static void play(struct run *run)
{
	static struct ctl_call call;

	make_objects(run, &call);
	for (uint32_t i = 0;
	     i < REQUESTS_MAX && run->input.left > 0 && !run->client->peer.requests.is_broken &&
	     !run->connection->peer.requests.is_broken;
	     i++) {
		uint8_t operation = take_byte(&run->input);

		if (operation % 64 < RNIC_CTL_OPERATION_COUNT)
			ask(run, &call, operation % 64);
		else
			post(run, take_byte(&run->input));
		if (operation >= 192)
			turn();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = {.input = {data, size}};
	int sockets[2];

	if (device.cm == NULL)
		start_device();
	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	run.client = client_create(&device.clients, sockets[0], getpid(), getuid(), getuid());
	assert(run.client != NULL);
	play(&run);
	turn();
	served_peer_end(&run.client->peer);
	served_peer_end(&run.connection->peer);
	while (device.clients.peers.count > 0)
		client_teardown_run(&device.clients);
	while (device.device.connections.peers.count > 0)
		peer_teardown_run(&device.device.connections.peers, device.device.sessions.now_ns);
	close(sockets[1]);
	for (uint32_t i = 0; i < RESOURCE_COUNT; i++) {
		assert(device.clients.peers.quotas.usage[i] == 0);
		assert(device.device.connections.peers.quotas.usage[i] == 0);
	}
	return 0;
}
