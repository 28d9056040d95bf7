/* SPDX-License-Identifier: MIT */
/* Connections: two QPs, brought to RTS as programs do it. */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT	  1
#define HOP_LIMIT 64
#define QKEY	  0x51515151

static uint8_t or_default(uint8_t given, uint8_t otherwise)
{
	if (given == 0)
		return otherwise;
	return given == SIM_ZERO ? 0 : given;
}

/* The same connection with every default filled in. */
static struct sim_connection complete(struct sim *sim, const struct sim_connection *given)
{
	struct sim_connection full = *given;

	full.type = or_default(given->type, RNIC_QP_TYPE_RC);
	full.path_mtu = or_default(given->path_mtu, 3);
	full.timeout = or_default(given->timeout, 10);
	full.retry_count = or_default(given->retry_count, 7);
	full.rnr_retry = or_default(given->rnr_retry, 7);
	full.min_rnr_timer = or_default(given->min_rnr_timer, 1);
	full.rd_atomic = or_default(given->rd_atomic, 16);
	full.sges = or_default(given->sges, 4);
	if (given->depth == 0)
		full.depth = 64;
	if (given->inline_bytes == 0)
		full.inline_bytes = 256;
	if (given->psn == 0)
		full.psn = (uint32_t)prng_below(&sim->prng, RNIC_PSN_MASK + 1);
	if (given->access_flags == 0)
		full.access_flags = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
				    RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_FLUSH_GLOBAL;
	if (given->send_cq_entries == 0)
		full.send_cq_entries = UINT32_MAX;
	return full;
}

static void modify(struct sim_qp *qp, struct rnic_qp_attributes *attributes,
		   enum rnic_qp_state state, uint32_t mask)
{
	int error;

	attributes->state = state;
	error = qp_modify(qp->qp, attributes, mask | RNIC_QP_ATTR_STATE);
	if (error != 0)
		oracle_fail(qp->end.oracle, "%s: to state %u: error %d", qp->end.name, state,
			    error);
}

/* The attributes that each step demands, by type: RC, UC, UD. */
struct steps {
	uint32_t init;
	uint32_t rtr;
	uint32_t rts;
};

static struct steps steps_of(uint8_t type)
{
	const uint32_t peer = RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |
			      RNIC_QP_ATTR_RQ_PSN;
	const uint32_t port = RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT;

	switch (type) {
	case RNIC_QP_TYPE_UD:
		return (struct steps){port | RNIC_QP_ATTR_QKEY, 0, RNIC_QP_ATTR_SQ_PSN};
	case RNIC_QP_TYPE_UC:
		return (struct steps){port | RNIC_QP_ATTR_ACCESS_FLAGS, peer, RNIC_QP_ATTR_SQ_PSN};
	case RNIC_QP_TYPE_XRC_INITIATOR:
		return (struct steps){port | RNIC_QP_ATTR_ACCESS_FLAGS, peer,
				      RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT |
					      RNIC_QP_ATTR_RNR_RETRY | RNIC_QP_ATTR_SQ_PSN |
					      RNIC_QP_ATTR_MAX_RD_ATOMIC};
	case RNIC_QP_TYPE_XRC_TARGET:
		return (struct steps){port | RNIC_QP_ATTR_ACCESS_FLAGS,
				      peer | RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC |
					      RNIC_QP_ATTR_MIN_RNR_TIMER,
				      RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_SQ_PSN};
	default:
		return (struct steps){
			port | RNIC_QP_ATTR_ACCESS_FLAGS,
			peer | RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER,
			RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
				RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_MAX_RD_ATOMIC,
		};
	}
}

static void bring_up(struct sim_qp *qp, const struct sim_connection *connection)
{
	struct rnic_qp_attributes attributes = {
		.access_flags = connection->access_flags,
		.qkey = QKEY,
		.port = PORT,
		.path_mtu = connection->path_mtu,
		.dest_qpn = qp->peer->qp->qpn,
		.rq_psn = qp->peer->start_psn,
		.sq_psn = qp->start_psn,
		.max_rd_atomic = connection->rd_atomic,
		.max_dest_rd_atomic = connection->rd_atomic,
		.min_rnr_timer = connection->min_rnr_timer,
		.timeout = connection->timeout,
		.retry_count = connection->retry_count,
		.rnr_retry = connection->rnr_retry,
		.path = {.dest_gid = qp->peer->host->nic->gid,
			 .hop_limit = HOP_LIMIT,
			 .is_global = 1,
			 .port = PORT},
	};
	struct steps steps = steps_of(connection->type);

	modify(qp, &attributes, RNIC_QP_STATE_INIT, steps.init);
	modify(qp, &attributes, RNIC_QP_STATE_RTR, steps.rtr);
	modify(qp, &attributes, RNIC_QP_STATE_RTS, steps.rts);
}

/* The engine's QP behind `qp`, in RESET. */
static void make(struct sim_qp *qp)
{
	const struct sim_connection *connection = &qp->connection;
	bool is_target = connection->type == RNIC_QP_TYPE_XRC_TARGET;
	bool is_xrc = is_target || connection->type == RNIC_QP_TYPE_XRC_INITIATOR;
	const struct qp_config config = {
		.type = connection->type,
		.signal_all = connection->signal_all,
		.pd = is_target ? NULL : &qp->host->pd,
		.send_cq = is_target ? NULL : &qp->send_cq,
		.recv_cq = is_xrc ? NULL : &qp->recv_cq,
		.srq = connection->is_shared && !is_xrc ? qp->host->srq.srq : NULL,
		.xrcd = is_target ? &qp->host->xrcd : NULL,
		.capacities = {.max_send_wr = connection->depth,
			       .max_recv_wr = LIMIT_RECV_PREFETCH,
			       .max_send_sge = connection->sges,
			       .max_recv_sge = connection->sges,
			       .max_inline_bytes = connection->inline_bytes},
		.user = qp,
	};

	if (qp_create(&qp->host->engine, &config, &qp->qp) != 0)
		abort();
	qp->qp->recv_queue.user = qp;
	qp->is_watched = false;
}

static struct sim_qp *create_qp(struct sim *sim, uint32_t host,
				const struct sim_connection *connection)
{
	struct sim_qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		abort();
	qp->sim = sim;
	qp->host = &sim->hosts[host];
	qp->connection = *connection;
	make(qp);
	return qp;
}

static bool is_xrc(uint8_t type)
{
	return type == RNIC_QP_TYPE_XRC_INITIATOR || type == RNIC_QP_TYPE_XRC_TARGET;
}

/* A new life of a QP in RESET: an empty model, and ranges at the peer that are its own. */
static void begin(struct sim *sim, struct sim_qp *qp, const struct sim_connection *connection)
{
	struct sim_memory *remote = &qp->peer->host->memory;
	char name[sizeof(qp->end.name)];

	snprintf(name, sizeof(name), "host %u qp %06x", qp->host->index, qp->qp->qpn);
	oracle_end_fini(&qp->end);
	oracle_end_init(&qp->end, &sim->oracle, &qp->host->memory, name);
	qp->end.peer = &qp->peer->end;
	qp->end.type = is_xrc(connection->type) ? RNIC_QP_TYPE_RC : connection->type;
	qp->end.atomic_word = sim_memory_allocate(remote, &sim->prng, 8, 8);
	qp->end.hot = sim_memory_allocate(remote, &sim->prng, 64, 8);
	if (qp->end.hot.length == 0)
		abort();
	sim_window_renew(qp);
	memcpy(&qp->end.atomic_value, remote->arena + qp->end.atomic_word.offset, 8);
	qp->is_dead = false;
	qp->is_watched = false;
	qp->ring_posted = 0;
	qp->ring_pushed = 0;
	qp->send_cq_room = connection->send_cq_entries;
	if (connection->rnr_retry != 7)
		sim_may_fail(qp, RNIC_WC_RNR_RETRY_EXC_ERR);
}

/* Receives that the SRQ holds from lives before may name a key that the host has changed. */
static void allow_stale_receives(struct sim_qp *qp)
{
	if (!qp->connection.is_shared || !qp->host->has_changed_key)
		return;
	qp->end.may_stop = true;
	qp->end.legal_receive_errors |= STATUS_BIT(RNIC_WC_LOC_PROT_ERR);
	sim_may_fail(qp->peer, RNIC_WC_REM_OP_ERR);
}

static void connect_pair(struct sim *sim, struct sim_qp *qp,
			 const struct sim_connection *connection)
{
	qp->start_psn = connection->psn & RNIC_PSN_MASK;
	qp->peer->start_psn = (connection->psn + 0x1234) & RNIC_PSN_MASK;
	begin(sim, qp, &qp->connection);
	begin(sim, qp->peer, &qp->peer->connection);
	allow_stale_receives(qp);
	allow_stale_receives(qp->peer);
	bring_up(qp, &qp->connection);
	bring_up(qp->peer, &qp->peer->connection);
}

static void create_ah(struct sim_qp *qp)
{
	const struct rnic_path path = {.dest_gid = qp->peer->host->nic->gid,
				       .hop_limit = HOP_LIMIT,
				       .is_global = 1,
				       .port = PORT};

	if (ah_init(&qp->host->engine, &qp->ah, &qp->host->pd, &path) != 0)
		abort();
}

struct sim_qp *sim_connect_with(struct sim *sim, uint32_t a, uint32_t b,
				const struct sim_connection *connection)
{
	struct sim_connection full = complete(sim, connection);
	struct sim_qp *qp = create_qp(sim, a, &full);

	if (is_xrc(full.type)) {
		full.type = RNIC_QP_TYPE_XRC_TARGET;
		full.is_shared = true;
	}
	qp->peer = create_qp(sim, b, &full);
	qp->peer->peer = qp;
	if (sim->qp_count + 2 > sim->qp_capacity) {
		sim->qp_capacity = 2 * sim->qp_capacity + 8;
		sim->qps = realloc(sim->qps, sim->qp_capacity * sizeof(struct sim_qp *));
		if (sim->qps == NULL)
			abort();
	}
	sim->qps[sim->qp_count++] = qp;
	sim->qps[sim->qp_count++] = qp->peer;
	create_ah(qp);
	create_ah(qp->peer);
	connect_pair(sim, qp, &full);
	return qp;
}

static void reset(struct sim_qp *qp)
{
	struct rnic_qp_attributes attributes = {0};

	modify(qp, &attributes, RNIC_QP_STATE_RESET, 0);
}

/* Ends both lives of a connection, and judges the memory that they leave. */
static void end_lives(struct sim_qp *qp)
{
	sim_enter_error(qp);
	sim_enter_error(qp->peer);
	oracle_finish(&qp->end);
	oracle_finish(&qp->peer->end);
	/* Packets still in flight are far behind the PSN that the next life expects. */
	qp->connection.psn = (qp->connection.psn + 0x155555) & RNIC_PSN_MASK;
}

void sim_reconnect(struct sim_qp *qp)
{
	end_lives(qp);
	reset(qp);
	reset(qp->peer);
	connect_pair(qp->sim, qp, &qp->connection);
}

/* The engine's QP is destroyed, and another takes its place. */
static void replace(struct sim_qp *qp, bool has_same_qpn)
{
	struct engine *engine = &qp->host->engine;
	uint32_t qpn = qp->qp->qpn;

	qp_destroy(qp->qp);
	make(qp);
	if (!has_same_qpn)
		return;
	/* As if the generator had drawn the same number again. */
	key_table_remove(&engine->qps, qp->qp->qpn);
	if (key_table_insert(&engine->qps, qpn, qp->qp) != 0)
		abort();
	qp->qp->qpn = qpn;
}

void sim_recreate(struct sim_qp *qp, bool has_same_qpn)
{
	end_lives(qp);
	replace(qp, has_same_qpn);
	replace(qp->peer, has_same_qpn);
	connect_pair(qp->sim, qp, &qp->connection);
}

void sim_restart(struct sim *sim, uint32_t host)
{
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		struct sim_qp *qp = sim->qps[i];

		if (qp->host->index != host)
			continue;
		/* Its program is gone: the model flushes all posted work. */
		sim_enter_error(qp);
		qp->is_dead = true;
		qp_destroy(qp->qp);
		sim_window_drop(qp);
		ah_fini(&qp->ah);
	}
	engine_flush(&sim->hosts[host].engine, sim->net.now_ns);
	sim_host_restart(&sim->hosts[host]);
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		if (sim->qps[i]->host->index != host)
			continue;
		make(sim->qps[i]);
		create_ah(sim->qps[i]);
	}
}
