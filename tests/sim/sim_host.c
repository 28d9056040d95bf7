/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_host.h"

#include "proto/base/bits.h"
#include "proto/wire/icrc.h"
#include "proto/wire/syndrome.h"
#include "tests/sim/invariants.h"
#include "tests/sim/recv_room_copy.h"
#include "tests/sim/sim_srq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of the BTH: FECN, BECN and reserved bits, which the ICRC masks. */
#define UNCOVERED_BYTE 4

/* The engine looks through all that it has now and then. */
#define TURNS_PER_CHECK 16

static struct cq *cq_of(struct sim_host *host, struct sim_qp *qp, const struct cqe *cqe)
{
	if (!cqe->is_recv)
		return &qp->send_cq;
	return qp->connection.type == RNIC_QP_TYPE_XRC_TARGET ? &host->xrc_cq : &qp->recv_cq;
}

static bool sink_completion(void *context, struct cq *cq, const struct cqe *cqe)
{
	struct sim_host *host = context;
	struct sim_qp *qp = cqe->qp->user;
	struct cqe delivered = *cqe;
	uint32_t times = 1;

	if (cqe->srq != NULL)
		sim_srq_complete(host, qp, &delivered);
	if (cq != cq_of(host, qp, cqe))
		oracle_fail(host->oracle, "%s: a completion in the wrong CQ", qp->end.name);
	if (!cqe->is_recv) {
		if (qp->send_cq_room == 0) {
			qp->was_full = true;
			return false;
		}
		qp->send_cq_room--;
	}
	if (cqe->status == RNIC_WC_SUCCESS)
		host->log.completions++;
	else if (cqe->status == RNIC_WC_WR_FLUSH_ERR)
		host->log.flushed_completions++;
	else
		host->log.error_completions++;
	if (host->sabotage != NULL)
		times = host->sabotage(&delivered);
	for (uint32_t i = 0; i < times; i++)
		oracle_complete(&qp->end, &delivered);
	if (cqe->srq != NULL)
		sim_srq_adopt(host, sim_srq_of(host, &cqe->srq->queue), (uint32_t)cqe->wr_id);
	return true;
}

static void sink_async_event(void *context, enum rnic_async_event_type type, void *object)
{
	struct sim_host *host = context;

	(void)object;
	host->async_events[type]++;
}

static uint32_t sink_refill(void *context, const struct recv_queue *queue,
			    const struct recv_room *room)
{
	struct sim_qp *qp = queue->user;
	struct sim_srq *shared = sim_srq_of(context, queue);
	uint32_t filled = 0;

	if (shared != NULL)
		return sim_srq_refill(shared, room);
	while (qp->ring_pushed < qp->ring_posted && filled < room->count) {
		const struct sim_receive *receive = &qp->ring[qp->ring_pushed];
		struct recv_wqe wqe = {
			.wr_id = qp->ring_pushed,
			.sge_count = receive->sge_count,
		};

		for (uint32_t i = 0; i < receive->sge_count; i++)
			wqe.length += receive->sges[i].length;
		recv_room_copy(room, filled++, &wqe, receive->sges);
		qp->ring_pushed++;
	}
	return filled;
}

static uint32_t sink_posted(void *context, const struct recv_queue *queue)
{
	const struct sim_srq *shared = sim_srq_of(context, queue);
	const struct sim_qp *qp = queue->user;

	if (shared != NULL)
		return shared->posted - shared->pushed;
	return qp->ring_posted - qp->ring_pushed;
}

static void sink_watch(void *context, struct recv_queue *queue)
{
	struct sim_qp *qp = queue->user;

	(void)context;
	qp->is_watched = true;
}

/* Hosts are reached by their own addresses only. */
static int sink_multicast(void *context, const struct rnic_gid *group, bool is_wanted)
{
	(void)context;
	(void)group;
	(void)is_wanted;
	return -EOPNOTSUPP;
}

static const struct engine_sink sink = {
	.cqe = sink_completion,
	.async_event = sink_async_event,
	.refill = sink_refill,
	.posted = sink_posted,
	.watch = sink_watch,
	.multicast = sink_multicast,
};

static const struct engine_sink sink_without_credits = {
	.cqe = sink_completion,
	.async_event = sink_async_event,
	.refill = sink_refill,
	.multicast = sink_multicast,
};

static int register_keys(struct sim_host *host)
{
	static const uint32_t rights[SIM_KEY_COUNT] = {
		[SIM_KEY_ALL] = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
				RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |
				RNIC_ACCESS_FLUSH_GLOBAL,
		[SIM_KEY_NO_ATOMIC] = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
				      RNIC_ACCESS_REMOTE_READ,
		[SIM_KEY_READ_ONLY] = RNIC_ACCESS_REMOTE_READ,
		[SIM_KEY_LOCAL_ONLY] = RNIC_ACCESS_LOCAL_WRITE,
		[SIM_KEY_OTHER_PD] = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
				     RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC,
		[SIM_KEY_STALE] = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
				  RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC,
		[SIM_KEY_PATTERN] = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
				    RNIC_ACCESS_REMOTE_READ,
		[SIM_KEY_WINDOWS] = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND,
	};

	for (uint32_t key = 0; key < SIM_KEY_COUNT; key++) {
		struct mr *mr = &host->mrs[key];
		struct model_memory *memory =
			key == SIM_KEY_PATTERN ? &host->pattern : &host->arena;
		int error;

		*mr = (struct mr){
			.pd = key == SIM_KEY_OTHER_PD ? &host->other_pd : &host->pd,
			.region = &memory->region,
			.iova = UINT64_C(0x7f0000000000) + ((uint64_t)key << 33),
			.length = memory->region.bytes,
			.access = rights[key],
		};
		error = mr_register(&host->engine, mr);
		if (error != 0)
			return error;
	}
	mr_deregister(&host->engine, &host->mrs[SIM_KEY_STALE]);
	return 0;
}

static int start_engine(struct sim_host *host)
{
	int error;

	prng_init(&host->random, host->seed);
	error = engine_init(&host->engine, &host->engine_config);
	if (error != 0)
		return error;
	engine_set_gid(&host->engine, 0, &host->nic->gid);
	error = register_keys(host);
	if (error == 0)
		error = sim_srq_start(host);
	if (error != 0)
		engine_fini(&host->engine);
	return error;
}

int sim_host_init(struct sim_host *host, struct sim_net *net, struct oracle *oracle,
		  const struct sim_host_config *config)
{
	int error;

	memset(host, 0, offsetof(struct sim_host, bytes));
	host->index = config->index;
	host->net = net;
	host->nic = &net->nics[config->index];
	host->port = host->receiver = host->sender = &host->nic->port;
	host->oracle = oracle;
	host->batch = config->batch;
	host->seed = config->seed;
	if (!sim_memory_init(&host->memory, config->arena_bytes))
		return -ENOMEM;
	model_memory_init(&host->arena, host->memory.arena, config->arena_bytes, config->is_direct);
	model_memory_init(&host->pattern, NULL, config->pattern_bytes, config->is_direct);
	host->arena.region.space = &host->memory;
	host->pattern.region.space = &host->memory;
	host->engine_config = (struct engine_config){
		.sink = config->has_no_credits ? &sink_without_credits : &sink,
		.sink_context = host,
		.random = prng_source(&host->random),
		.max_qps = config->max_qps,
		.max_mrs = SIM_KEY_COUNT + config->max_qps, /* a window each */
		.line_rate = config->line_rate,
		.kept_packets = config->kept_packets,
		.has_ecn = config->has_ecn,
		.record = config->has_no_recorder ? NULL : &host->record,
	};
	error = start_engine(host);
	if (error != 0)
		sim_memory_fini(&host->memory);
	return error;
}

/* Ends the engine, which must own nothing any more. */
static void stop_engine(struct sim_host *host)
{
	sim_srq_stop(host);
	for (uint32_t key = 0; key < SIM_KEY_COUNT; key++) {
		if (key != SIM_KEY_STALE)
			mr_deregister(&host->engine, &host->mrs[key]);
	}
	if (host->pd.references != 0 || host->other_pd.references != 0)
		oracle_fail(host->oracle, "host %u: a protection domain is still referenced",
			    host->index);
	if (!memory_batch_is_empty(&host->engine.writes))
		oracle_fail(host->oracle, "host %u: payload is still on its way", host->index);
	engine_fini(&host->engine);
}

void sim_host_restart(struct sim_host *host)
{
	stop_engine(host);
	sim_host_check_counters(host);
	host->log = (struct sim_packet_log){0};
	host->pending_count = 0;
	host->seed++;
	if (start_engine(host) != 0)
		abort();
}

void sim_host_fini(struct sim_host *host)
{
	stop_engine(host);
	free(host->srq.receives);
	free(host->xrc_srq.receives);
	host->port->ops->close(host->port);
	if (!host->nic->is_closed)
		oracle_fail(host->oracle, "host %u: the RNIC was not closed", host->index);
	sim_memory_fini(&host->memory);
}

uint64_t sim_host_next_ns(const struct sim_host *host)
{
	uint64_t engine_ns, port_ns;

	if (host->is_dirty || sim_nic_has_arrivals(host->nic))
		return host->net->now_ns;
	engine_ns = engine_next_deadline_ns(&host->engine);
	port_ns = host->port->ops->next_deadline_ns(host->port);
	return engine_ns < port_ns ? engine_ns : port_ns;
}

static void print_packet(const struct sim_host *host, const struct rnic_packet *packet,
			 const char *mark)
{
	FILE *trace = host->net->trace;

	fprintf(trace, "%12" PRIu64 " %s %u  %s qp %06x psn %06x", host->net->now_ns, mark,
		host->index, packet->row->name, packet->dest_qpn, packet->psn.value);
	if (packet->payload_bytes != 0)
		fprintf(trace, " len %u", packet->payload_bytes);
	if ((packet->row->headers & RNIC_HEADER_RETH) != 0)
		fprintf(trace, " reth len %u", packet->reth.length);
	if ((packet->row->headers & RNIC_HEADER_AETH) != 0)
		fprintf(trace, " msn %u %s", packet->aeth.msn,
			rnic_syndrome_text(packet->aeth.syndrome));
	fprintf(trace, "%s\n", packet->ack_request ? " ack?" : "");
}

static void accept_datagram(struct sim_host *host, const struct datagram *datagram)
{
	struct rnic_packet packet;
	enum rnic_icrc_verdict verdict =
		rnic_icrc_check(&datagram->addresses, datagram->bytes, datagram->length, NULL);

	/* A check without the identification has 16 bits of strength: damage may pass, rarely. */
	if (datagram->damage != 0 && verdict == RNIC_ICRC_GOOD_FOR_ID)
		verdict = RNIC_ICRC_BAD;
	if (verdict == RNIC_ICRC_BAD) {
		host->log.bad_icrc++;
		if (datagram->damage == 0)
			oracle_fail(host->oracle, "host %u: a good ICRC was refused", host->index);
		return;
	}
	if (datagram->damage != 0 && (datagram->damage - 1) / 8 != UNCOVERED_BYTE) {
		oracle_fail(host->oracle, "host %u: the ICRC let damage pass", host->index);
		return;
	}
	if (rnic_packet_decode(&packet, &datagram->addresses, datagram->bytes, datagram->length) !=
	    0) {
		oracle_fail(host->oracle, "host %u: a packet of ours cannot be decoded",
			    host->index);
		return;
	}
	host->log.accepted++;
	if (host->net->trace != NULL)
		print_packet(host, &packet, "     -> ");
	engine_receive(&host->engine, &packet, host->net->now_ns);
}

static void receive(struct sim_host *host)
{
	uint64_t now_ns = host->net->now_ns;
	struct datagram datagrams[SIM_BATCH];
	uint32_t count;

	do {
		count = host->receiver->ops->receive(host->receiver, datagrams, host->batch,
						     now_ns);
		for (uint32_t i = 0; i < count; i++)
			accept_datagram(host, &datagrams[i]);
		engine_flush(&host->engine, now_ns);
	} while (count == host->batch && !oracle_has_failed(host->oracle));
}

static void log_built(struct sim_host *host, const struct rnic_packet *packet)
{
	enum rnic_syndrome_kind kind = rnic_syndrome_kind(packet->aeth.syndrome);

	host->log.built++;
	host->log.built_bytes += packet->payload_bytes;
	if (packet->row->operation != RNIC_OPERATION_ACKNOWLEDGE)
		return;
	if (kind == RNIC_SYNDROME_RNR_NAK)
		host->log.sent_rnr_naks++;
	else if (kind == RNIC_SYNDROME_NAK &&
		 rnic_syndrome_value(packet->aeth.syndrome) == RNIC_NAK_PSN_SEQUENCE_ERROR)
		host->log.sent_sequence_naks++;
	else if (kind == RNIC_SYNDROME_NAK)
		host->log.sent_naks++;
}

/* Headers, payload and pad into `bytes`; the length, or the error of the client's memory. */
static int encode(struct sim_host *host, const struct packet_builder *builder, uint8_t *bytes)
{
	const struct rnic_packet *packet = &builder->packet;
	size_t length = rnic_packet_encode_headers(packet, bytes);
	uint32_t copied = 0;

	for (uint32_t i = 0; i < builder->piece_count; i++) {
		const struct payload_piece *piece = &builder->pieces[i];
		struct memory_transfer transfer = {piece->region, piece->offset,
						   bytes + length + copied, piece->length};
		int error = 0;

		if (copied + piece->length > RNIC_PAYLOAD_BYTES_MAX) {
			oracle_fail(host->oracle, "host %u: a payload of more than 4096 bytes",
				    host->index);
			return -EFAULT;
		}
		if (piece->region == NULL)
			memcpy(transfer.bytes, piece->inline_bytes, piece->length);
		else if (piece->region->ops->read(&transfer, 1, &error) != 1)
			return error;
		copied += piece->length;
	}
	if (copied != packet->payload_bytes)
		oracle_fail(host->oracle, "host %u: %u bytes of pieces for a payload of %u",
			    host->index, copied, packet->payload_bytes);
	memset(bytes + length + copied, 0, rnic_pad_bytes(copied));
	return (int)(length + copied + rnic_pad_bytes(copied));
}

/* Encodes the batch; returns how many failed for lack of memory, listed in `failed`. */
static uint32_t encode_batch(struct sim_host *host, uint32_t built, uint32_t *failed, int *errors)
{
	uint32_t failures = 0;

	host->pending_first = 0;
	host->pending_count = 0;
	for (uint32_t i = 0; i < built; i++) {
		const struct packet_builder *builder = &host->builders[i];
		bool is_dead = false;
		int length;

		for (uint32_t f = 0; f < failures; f++)
			is_dead = is_dead || host->builders[failed[f]].qp == builder->qp;
		if (is_dead)
			continue;
		length = encode(host, builder, host->bytes[i]);
		if (length < 0) {
			errors[failures] = length;
			failed[failures++] = i;
			continue;
		}
		host->pending[host->pending_count++] = (struct datagram){
			.addresses = builder->packet.addresses,
			.bytes = host->bytes[i],
			.length = (uint32_t)length,
		};
		if (host->net->trace != NULL)
			print_packet(host, &builder->packet, "<-");
	}
	return failures;
}

/* As the data path does, calls a port that has nothing to send when a held datagram is due. */
static bool transmit_pending(struct sim_host *host)
{
	struct port *port = host->sender;
	uint32_t sent;

	if (host->pending_count == 0 && port->ops->next_deadline_ns(port) > host->net->now_ns)
		return true;
	sent = port->ops->transmit(port, &host->pending[host->pending_first], host->pending_count,
				   host->net->now_ns);

	host->pending_first += sent;
	host->pending_count -= sent;
	return host->pending_count == 0;
}

static void transmit(struct sim_host *host)
{
	uint64_t now_ns = host->net->now_ns;
	uint32_t failed[SIM_BATCH];
	int errors[SIM_BATCH];
	uint32_t built;

	while (transmit_pending(host) && !oracle_has_failed(host->oracle)) {
		uint32_t failures;

		for (built = 0; built < host->batch; built++) {
			if (!engine_transmit(&host->engine, &host->builders[built], now_ns))
				break;
			log_built(host, &host->builders[built].packet);
		}
		failures = encode_batch(host, built, failed, errors);
		for (uint32_t i = 0; i < failures; i++) {
			const struct packet_builder *builder = &host->builders[failed[i]];

			engine_payload_failed(&host->engine, builder->qp, builder->packet.psn,
					      !builder->packet.row->is_request, errors[i], now_ns);
		}
		engine_packets_read(&host->engine, now_ns);
		if (built == 0 && !engine_has_ready(&host->engine))
			break;
	}
}

void sim_host_turn(struct sim_host *host)
{
	uint64_t now_ns = host->net->now_ns;
	struct burst_watch watch;

	host->is_dirty = false;
	receive(host);
	if (engine_next_deadline_ns(&host->engine) <= now_ns)
		engine_tick(&host->engine, now_ns);
	burst_watch_begin(&watch, &host->engine);
	transmit(host);
	burst_watch_end(&watch, &host->engine);
	if (engine_next_deadline_ns(&host->engine) <= now_ns)
		host->is_dirty = true;
	if (host->turns++ % TURNS_PER_CHECK == 0)
		engine_check_invariants(&host->engine);
}

void sim_host_check_counters(struct sim_host *host)
{
	const struct sim_packet_log *log = &host->log;
	const struct {
		enum counter counter;
		uint64_t seen;
	} pairs[] = {
		{COUNTER_SENT_PACKETS, log->built},
		{COUNTER_SENT_BYTES, log->built_bytes},
		{COUNTER_RECEIVED_PACKETS, log->accepted},
		{COUNTER_SENT_RNR_NAKS, log->sent_rnr_naks},
		{COUNTER_SENT_SEQUENCE_NAKS, log->sent_sequence_naks},
		{COUNTER_SENT_NAKS, log->sent_naks},
		{COUNTER_COMPLETIONS, log->completions},
		{COUNTER_ERROR_COMPLETIONS, log->error_completions},
		{COUNTER_FLUSHED_COMPLETIONS, log->flushed_completions},
	};

	for (size_t i = 0; i < RNIC_COUNT_OF(pairs); i++) {
		uint64_t counted = host->engine.counters[pairs[i].counter];

		if (counted != pairs[i].seen)
			oracle_fail(host->oracle,
				    "host %u: counter %s is %" PRIu64 ", seen were %" PRIu64,
				    host->index, counter_name(pairs[i].counter), counted,
				    pairs[i].seen);
	}
}
