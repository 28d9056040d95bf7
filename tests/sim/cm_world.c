/* SPDX-License-Identifier: MIT */
#include "tests/sim/cm_world.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "proto/wire/packet.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_NS	  UINT64_C(20000)
#define LISTENER_WAIT_NS  5000000
#define SILENCE_BUDGET_NS (400 * CM_WORLD_S)
#define RECEIVE_BATCH	  16
#define TURNS_AT_ONCE_MAX 100000
#define QKEY		  0x01234567

static void *must(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

void cm_world_fail(struct cm_world *world, const char *format, ...)
{
	va_list arguments;

	if (world->failure[0] != '\0')
		return;
	va_start(arguments, format);
	vsnprintf(world->failure, sizeof(world->failure), format, arguments);
	va_end(arguments);
}

static void end_fail(const struct cm_end *end, const char *what)
{
	cm_world_fail(end->world, "connection %u, %s end on host %u, told \"%s\": %s", end->token,
		      end->is_active ? "active" : "passive", end->host, end->log, what);
}

/* --- what an end is told ---------------------------------------------------------------------- */

static char letter_of(enum cm_event_type type)
{
	static const char letters[CM_EVENT_COUNT] = {
		[CM_EVENT_CONNECT_REQUEST] = 'Q', [CM_EVENT_CONNECT_RESPONSE] = 'R',
		[CM_EVENT_UNREACHABLE] = 'U',	  [CM_EVENT_REJECTED] = 'J',
		[CM_EVENT_ESTABLISHED] = 'E',	  [CM_EVENT_DISCONNECTED] = 'D',
		[CM_EVENT_TIMEWAIT_EXIT] = 'T',
	};

	return letters[type];
}

static bool is_datagram(const struct cm_end *end)
{
	return end->plan->qp_type == RNIC_QP_TYPE_UD;
}

/* The events that may follow each event, whatever the network does. */
static bool may_follow(const struct cm_end *end, char letter)
{
	static const struct {
		const char *word;
		const char *letters;
	} active[] = {{"", "RJU"}, {"R", "DJ"}, {"RD", "T"}},
	  passive[] = {{"", "Q"}, {"Q", "EJU"}, {"QE", "D"}, {"QED", "T"}};
	size_t count = end->is_active ? RNIC_COUNT_OF(active) : RNIC_COUNT_OF(passive);

	if (is_datagram(end))
		return end->is_active ? end->log[0] == '\0' && strchr("EJU", letter) != NULL
				      : end->log[0] == '\0' && letter == 'Q';
	for (size_t i = 0; i < count; i++) {
		const char *word = end->is_active ? active[i].word : passive[i].word;
		const char *letters = end->is_active ? active[i].letters : passive[i].letters;

		if (strcmp(end->log, word) == 0)
			return strchr(letters, letter) != NULL;
	}
	return false;
}

static enum cm_phase phase_after(enum cm_event_type type, enum cm_phase before)
{
	switch (type) {
	case CM_EVENT_CONNECT_REQUEST:
		return CM_PHASE_REQUESTED;
	case CM_EVENT_CONNECT_RESPONSE:
		return CM_PHASE_ANSWERED;
	case CM_EVENT_ESTABLISHED:
		return CM_PHASE_CONNECTED;
	case CM_EVENT_TIMEWAIT_EXIT:
		return before;
	default:
		return CM_PHASE_CLOSED;
	}
}

static void check_phase(struct cm_end *end)
{
	if (end->connection != NULL && cm_connection_phase(end->connection) != end->phase)
		end_fail(end, "its phase is not what its holder did and was told");
}

static void note(struct cm_end *end, const struct cm_event *event)
{
	char letter = letter_of(event->type);
	size_t length = strlen(end->log);

	if (end->world->net.trace != NULL)
		fprintf(end->world->net.trace, "%12" PRIu64 "      host %u %s %u: %c %d\n",
			end->world->net.now_ns, end->host, end->is_active ? "active" : "passive",
			end->token, letter, event->status);
	if (!may_follow(end, letter)) {
		cm_world_fail(end->world, "connection %u, %s end, was told \"%s\" and then %c",
			      end->token, end->is_active ? "active" : "passive", end->log, letter);
		return;
	}
	end->log[length] = letter;
	end->phase = phase_after(event->type, end->phase);
	if (letter == 'J' || letter == 'U' || letter == 'D')
		end->status = event->status;
}

/* --- what comes with it ----------------------------------------------------------------------- */

static void token_write(uint8_t *bytes, uint32_t token)
{
	memcpy(bytes, &token, sizeof(token));
}

static uint32_t token_read(const uint8_t *bytes)
{
	uint32_t token;

	memcpy(&token, bytes, sizeof(token));
	return token;
}

static bool is_qp_of(const struct cm_end *peer, const struct cm_event *event)
{
	if (is_datagram(peer))
		return event->peer.qpn == peer->qp.qpn && event->peer.qkey == QKEY;
	return event->peer.qpn == peer->qp.qpn && event->peer.psn == peer->qp.psn &&
	       event->peer.responder_resources == peer->qp.initiator_depth &&
	       event->peer.initiator_depth == peer->qp.responder_resources;
}

/*
 * Whether the answer to `active` has the queue pair of a passive end. A host that restarts takes a
 * doubled request for a new one, and the answer of its first end may come last.
 */
static bool is_qp_of_any(const struct cm_end *active, const struct cm_event *event)
{
	for (const struct cm_end *end = active->world->ends; end != NULL; end = end->next)
		if (!end->is_active && end->active == active && is_qp_of(end, event))
			return true;
	return false;
}

static void check_private_data(struct cm_end *end, const struct cm_event *event)
{
	if (token_read(event->private_data) != end->token)
		end_fail(end, "the private data is not what the peer gave");
}

static void check_answer(struct cm_end *end, const struct cm_event *event)
{
	check_private_data(end, event);
	if (!is_qp_of_any(end, event))
		end_fail(end, "the queue pair is not the peer's");
}

/* The request for a datagram service names no queue pair. */
static void check_request(struct cm_end *end, const struct cm_end *active,
			  const struct cm_event *event)
{
	check_private_data(end, event);
	if (!is_datagram(end) && !is_qp_of(active, event))
		end_fail(end, "the queue pair is not the peer's");
}

struct cm_end *cm_world_peer(struct cm_world *world, const struct cm_end *active)
{
	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		if (!end->is_active && end->active == active)
			return end;
	return NULL;
}

static struct cm_end *end_create(struct cm_world *world, const struct cm_plan *plan, uint32_t token,
				 uint32_t host)
{
	struct cm_end *end = must(calloc(1, sizeof(*end)));

	end->world = world;
	end->plan = plan;
	end->token = token;
	end->host = host;
	end->incarnation = world->hosts[host].incarnation;
	end->act_at_ns = CM_NEVER;
	end->give_up_at_ns = CM_NEVER;
	end->qp = (struct cm_qp_parameters){
		.qpn = (uint32_t)prng_below(&world->prng, 1 << 24),
		.psn = (uint32_t)prng_below(&world->prng, 1 << 24),
		.qkey = QKEY,
		.responder_resources = (uint8_t)prng_below(&world->prng, 17),
		.initiator_depth = (uint8_t)prng_below(&world->prng, 17),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	end->next = world->ends;
	world->ends = end;
	return end;
}

static struct cm_end *find_active(struct cm_world *world, uint32_t token)
{
	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		if (end->is_active && end->token == token)
			return end;
	return NULL;
}

/* --- events ----------------------------------------------------------------------------------- */

static uint64_t after(const struct cm_world *world, uint64_t duration_ns)
{
	return duration_ns == CM_NEVER ? CM_NEVER : world->net.now_ns + duration_ns;
}

static bool is_closing_end(const struct cm_end *end)
{
	return end->plan->closing_end == CM_BOTH_CLOSE ||
	       (end->plan->closing_end == CM_ACTIVE_CLOSES) == end->is_active;
}

static bool ends_by_call(const struct cm_end *end)
{
	return (end->plan->ends_by_call & (end->is_active ? CM_ACTIVE_SIDE : CM_PASSIVE_SIDE)) != 0;
}

static void plan_close(struct cm_end *end)
{
	if (is_closing_end(end))
		end->act_at_ns = after(end->world, end->plan->hold_ns);
}

static void take_request(struct cm_host *host, const struct cm_event *event)
{
	struct cm_world *world = host->world;
	struct cm_end *active = find_active(world, token_read(event->private_data));
	struct cm_end *end;

	if (active == NULL || active->plan->to != host->index) {
		cm_world_fail(world, "host %u: a request that nobody made", host->index);
		return;
	}
	end = end_create(world, active->plan, active->token, host->index);
	end->active = active;
	end->connection = event->connection;
	cm_set_user(event->connection, end);
	note(end, event);
	check_request(end, active, event);
	/* A passive end that stood is protected by its timewait from requests that come late. */
	if (active->stood > 0 && !world->has_restarted)
		end_fail(end, "a request of a connection that stood already");
	if (is_datagram(end) && active->requests > 0 && !world->has_restarted)
		end_fail(end, "a request was shown twice");
	active->requests++;
	end->act_at_ns = after(world, end->plan->answer_after_ns);
}

/* Whether the tries of the end's DREQ may run out. */
static bool may_be_unanswered(const struct cm_end *end)
{
	return end->world->may_be_unreachable || end->world->has_restarted ||
	       end->plan->ends_by_call != 0;
}

/*
 * Whether all tries of the end may get lost. A peer that has not confirmed gets three REPs at most,
 * and its refusals of all three may be lost.
 */
static bool may_be_unreachable(const struct cm_end *end)
{
	return end->world->may_be_unreachable || end->world->has_restarted ||
	       (!end->is_active && !end->active->has_confirmed);
}

static bool on_event(void *context, const struct cm_event *event)
{
	struct cm_host *host = context;
	struct cm_end *end = event->user;

	if (event->type == CM_EVENT_CONNECT_REQUEST) {
		take_request(host, event);
		return true;
	}
	note(end, event);
	switch (event->type) {
	case CM_EVENT_CONNECT_RESPONSE:
		check_answer(end, event);
		end->act_at_ns = after(end->world, end->plan->confirm_after_ns);
		end->give_up_at_ns = CM_NEVER;
		break;
	case CM_EVENT_ESTABLISHED:
		if (is_datagram(end)) {
			check_answer(end, event);
			break;
		}
		if (!end->active->has_confirmed)
			end_fail(end, "it stands, and its peer does not know");
		end->active->stood++;
		end->give_up_at_ns = CM_NEVER;
		plan_close(end);
		break;
	case CM_EVENT_UNREACHABLE:
		if (!may_be_unreachable(end))
			end_fail(end, "the peer was there");
		end->act_at_ns = CM_NEVER;
		break;
	case CM_EVENT_DISCONNECTED:
		if (event->status != 0 && !may_be_unanswered(end))
			end_fail(end, "its peer answers farewells");
		end->is_parting = ends_by_call(end);
		end->act_at_ns =
			end->is_parting ? after(end->world, end->plan->part_after_ns) : CM_NEVER;
		break;
	default:
		end->act_at_ns = CM_NEVER;
		break;
	}
	return true;
}

/* --- what an end does ------------------------------------------------------------------------- */

static void end_destroy(struct cm_end *end)
{
	struct cm_connection *connection = end->connection;

	end->connection = NULL;
	end->act_at_ns = CM_NEVER;
	end->give_up_at_ns = CM_NEVER;
	end->has_closed = true;
	cm_destroy(connection, end->world->net.now_ns);
}

static void expect(struct cm_end *end, int result, const char *call)
{
	if (result != 0)
		end_fail(end, call);
}

static void answer(struct cm_end *end, enum cm_answer what)
{
	uint64_t now_ns = end->world->net.now_ns;
	uint8_t private_data[CM_PRIVATE_BYTES_MAX] = {0};
	const struct cm_accept accept = {
		.qp = end->qp,
		.ends_by_call = ends_by_call(end),
		.private_data = private_data,
		.private_bytes = is_datagram(end) ? CM_DATAGRAM_ACCEPT_PRIVATE_BYTES
						  : CM_ACCEPT_PRIVATE_BYTES,
	};
	uint16_t reason = is_datagram(end) ? RNIC_CM_SIDR_REJECT : RNIC_CM_REJECT_CONSUMER;

	token_write(private_data, end->token);
	switch (what) {
	case CM_ACCEPT:
		if (end->is_active) {
			end->has_confirmed = true;
			expect(end, cm_establish(end->connection, now_ns), "cannot establish");
			end->phase = CM_PHASE_CONNECTED;
			plan_close(end);
		} else {
			expect(end, cm_accept(end->connection, &accept, now_ns), "cannot accept");
			end->phase = CM_PHASE_ACCEPTED;
			if (end->plan->take_back_after_ns != 0)
				end->give_up_at_ns =
					after(end->world, end->plan->take_back_after_ns);
		}
		break;
	case CM_REJECT:
		expect(end, cm_reject(end->connection, reason, private_data, 4, now_ns),
		       "cannot reject");
		end->phase = CM_PHASE_CLOSED;
		break;
	case CM_DESTROY:
		end_destroy(end);
		break;
	case CM_IGNORE:
		break;
	}
}

static void end_act(struct cm_end *end)
{
	bool is_standing = end->is_active ? end->has_confirmed : strcmp(end->log, "QE") == 0;

	end->act_at_ns = CM_NEVER;
	is_standing |= end->is_parting;
	if (!is_standing) {
		answer(end, end->is_active ? end->plan->confirm : end->plan->answer);
		return;
	}
	end->has_closed = true;
	if (end->plan->closes_by_destroying)
		end_destroy(end);
	else
		expect(end, cm_disconnect(end->connection, end->world->net.now_ns),
		       "cannot disconnect");
}

struct cm_end *cm_world_connect(struct cm_world *world, const struct cm_plan *plan)
{
	struct cm_plan *copy = must(malloc(sizeof(*copy)));
	uint8_t private_data[CM_CONNECT_PRIVATE_BYTES] = {0};
	struct cm_connect connect;
	struct cm_end *end;

	*copy = *plan;
	world->plans =
		must(realloc(world->plans, (world->connect_count + 1) * sizeof(*world->plans)));
	world->plans[world->connect_count] = copy;
	end = end_create(world, copy, ++world->connect_count, plan->from);
	end->is_active = true;
	end->active = end;
	if (plan->qpn != 0)
		end->qp.qpn = plan->qpn;
	if (plan->give_up_after_ns != 0)
		end->give_up_at_ns = after(world, plan->give_up_after_ns);
	token_write(private_data, end->token);
	connect = (struct cm_connect){
		.port_space = is_datagram(end) ? RNIC_PORT_SPACE_UDP : RNIC_PORT_SPACE_TCP,
		.qp_type = plan->qp_type != 0 ? plan->qp_type : RNIC_QP_TYPE_RC,
		.source_port = 1234,
		.dest_port = plan->port != 0 ? plan->port : CM_WORLD_PORT,
		.path =
			{
				.source = world->hosts[plan->from].nic->gid,
				.dest = world->hosts[plan->to].nic->gid,
				.mtu = 3,
				.packet_lifetime =
					plan->packet_lifetime != 0 ? plan->packet_lifetime : 10,
			},
		.qp = end->qp,
		.response_timeout = plan->response_timeout != 0 ? plan->response_timeout : 12,
		.max_retries = plan->max_retries != 0 ? plan->max_retries : 15,
		.ends_by_call = ends_by_call(end),
		.private_data = private_data,
		.private_bytes = sizeof(private_data),
		.user = end,
	};
	expect(end,
	       cm_connect(world->hosts[plan->from].cm, &connect, world->net.now_ns,
			  &end->connection),
	       "cannot connect");
	return end;
}

/* --- hosts ------------------------------------------------------------------------------------ */

static void host_listen(struct cm_host *host)
{
	static const uint16_t port_spaces[] = {RNIC_PORT_SPACE_TCP, RNIC_PORT_SPACE_UDP};

	for (size_t i = 0; i < RNIC_COUNT_OF(port_spaces); i++) {
		const struct cm_bind bind = {
			.port_space = port_spaces[i],
			.address = {.port = CM_WORLD_PORT},
		};

		if (cm_bind(host->cm, &bind, &host->listeners[i]) != 0 ||
		    cm_listen(host->listeners[i], 0) != 0)
			abort();
	}
}

static void on_question(void *context, uint32_t qpn, uint32_t comm_id)
{
	struct cm_host *host = context;

	if (host->question_count < CM_WORLD_QUESTIONS)
		host->questions[host->question_count++] = (struct cm_question){qpn, comm_id};
}

/* Whether a QP of that number answers, on another host than `except`. */
static bool does_qp_answer(const struct cm_world *world, uint32_t qpn, uint32_t except)
{
	for (const struct cm_end *end = world->ends; end != NULL; end = end->next)
		if (end->qp.qpn == qpn && end->host != except && end->connection != NULL &&
		    cm_connection_phase(end->connection) == CM_PHASE_CONNECTED)
			return true;
	return false;
}

/* The QP that the connection manager of a host asks about; NULL: it is gone. */
static const struct cm_end *own_end_of_qp(const struct cm_host *host, uint32_t qpn)
{
	for (const struct cm_end *end = host->world->ends; end != NULL; end = end->next)
		if (end->host == host->index && end->qp.qpn == qpn && end->connection != NULL)
			return end;
	return NULL;
}

/* The device, of which nothing is lost: the peer answers if it still has the QP. */
static void host_answer_questions(struct cm_host *host)
{
	for (uint32_t i = 0; i < host->question_count; i++) {
		const struct cm_question *asked = &host->questions[i];
		const struct cm_end *own = own_end_of_qp(host, asked->qpn);
		struct cm_peer_answer answer = {.comm_id = asked->comm_id, .qpn = asked->qpn};
		struct cm_connection_info info;

		if (own == NULL)
			continue;
		cm_describe(own->connection, &info);
		host->heard += does_qp_answer(host->world, info.peer_qpn, host->index);
		answer.received_packets = host->heard;
		cm_peer_answered(host->cm, &answer, host->world->net.now_ns);
	}
	host->question_count = 0;
}

static void host_begin(struct cm_host *host)
{
	static const struct cm_sink sink = {.event = on_event, .ask_peer = on_question};
	const struct cm_config config = {
		.sink = &sink,
		.sink_context = host,
		.random = prng_source(&host->random),
		.ca_guid = host->index,
		.max_connections = 65536,
		.max_bindings = 16,
		.listener_wait_ns = LISTENER_WAIT_NS,
	};

	prng_init(&host->random, prng_next(&host->world->prng));
	host->incarnation++;
	host->cm = must(cm_create(&config));
	host_listen(host);
}

static void host_end(struct cm_host *host)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(host->listeners); i++)
		cm_unbind(host->cm, host->listeners[i]);
	cm_free(host->cm);
}

void cm_world_restart(struct cm_world *world, uint32_t host)
{
	struct rnic_packet built;

	world->has_restarted = true;
	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		if (end->host == host && end->connection != NULL)
			end_destroy(end);
	/* Killed, it has no time for farewells. */
	while (cm_transmit(world->hosts[host].cm, &built))
		;
	host_end(&world->hosts[host]);
	host_begin(&world->hosts[host]);
}

static void host_receive(struct cm_host *host)
{
	struct port *port = &host->nic->port;
	struct datagram datagrams[RECEIVE_BATCH];
	uint64_t now_ns = host->world->net.now_ns;
	uint32_t count = port->ops->receive(port, datagrams, RECEIVE_BATCH, now_ns);

	for (uint32_t i = 0; i < count && !host->is_dead; i++) {
		const struct datagram *datagram = &datagrams[i];
		struct rnic_packet packet;

		if (rnic_icrc_check(&datagram->addresses, datagram->bytes, datagram->length,
				    NULL) != RNIC_ICRC_BAD &&
		    rnic_packet_decode(&packet, &datagram->addresses, datagram->bytes,
				       datagram->length) == 0)
			cm_receive(host->cm, &packet, now_ns);
	}
}

/* Whether a message gets onto the wire at all. */
static bool is_sent(struct cm_host *host, const struct rnic_packet *built)
{
	struct cm_world *world = host->world;
	struct rnic_cm_message message;
	bool is_lost;

	if (rnic_cm_decode(&message, built->payload, RNIC_MAD_BYTES) != 0) {
		cm_world_fail(world, "host %u: a message of ours cannot be decoded", host->index);
		return false;
	}
	is_lost = ((world->lose_first | world->lose_all) & CM_BIT(message.kind)) != 0;
	world->lose_first &= ~CM_BIT(message.kind);
	if (world->net.trace != NULL)
		fprintf(world->net.trace, "%12" PRIu64 " <- %u  %s %08x%s\n", world->net.now_ns,
			host->index, rnic_cm_kind_text(message.kind), message.rtu.local_comm_id,
			is_lost ? " (lost)" : "");
	return !host->is_dead && !is_lost;
}

static void host_transmit(struct cm_host *host)
{
	struct port *port = &host->nic->port;
	struct rnic_packet built;

	while (cm_transmit(host->cm, &built)) {
		uint8_t bytes[RNIC_PACKET_BYTES_MAX];
		size_t header_bytes = rnic_packet_encode_headers(&built, bytes);
		struct datagram datagram = {
			.addresses = built.addresses,
			.bytes = bytes,
			.length = rnic_packet_bytes(&built),
		};

		memcpy(bytes + header_bytes, built.payload, RNIC_MAD_BYTES);
		if (is_sent(host, &built))
			port->ops->transmit(port, &datagram, 1, host->world->net.now_ns);
	}
}

static uint64_t host_next_ns(const struct cm_host *host)
{
	if (sim_nic_has_arrivals(host->nic) || cm_has_ready(host->cm))
		return host->world->net.now_ns;
	return cm_next_deadline_ns(host->cm);
}

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_ns(const struct cm_world *world)
{
	uint64_t earliest_ns = sim_net_next_ns(&world->net);

	for (uint32_t i = 0; i < world->net.host_count; i++)
		earliest_ns = earlier(earliest_ns, host_next_ns(&world->hosts[i]));
	for (const struct cm_end *end = world->ends; end != NULL; end = end->next)
		earliest_ns = earlier(earliest_ns, earlier(end->act_at_ns, end->give_up_at_ns));
	return earliest_ns;
}

static void turn(struct cm_world *world)
{
	sim_net_advance(&world->net);
	for (uint32_t i = 0; i < world->net.host_count; i++) {
		struct cm_host *host = &world->hosts[i];

		host_receive(host);
		if (cm_next_deadline_ns(host->cm) <= world->net.now_ns)
			cm_tick(host->cm, world->net.now_ns);
		host_answer_questions(host);
	}
	for (struct cm_end *end = world->ends; end != NULL; end = end->next) {
		if (end->give_up_at_ns <= world->net.now_ns)
			end_destroy(end);
		else if (end->act_at_ns <= world->net.now_ns)
			end_act(end);
		check_phase(end);
	}
	for (uint32_t i = 0; i < world->net.host_count; i++)
		host_transmit(&world->hosts[i]);
}

void cm_world_run(struct cm_world *world, uint64_t duration_ns)
{
	uint64_t end_ns = world->net.now_ns + duration_ns;
	uint32_t turns_at_once = 0;

	while (world->failure[0] == '\0') {
		uint64_t at_ns = next_ns(world);

		if (at_ns > end_ns)
			break;
		turns_at_once = at_ns > world->net.now_ns ? 0 : turns_at_once + 1;
		if (turns_at_once > TURNS_AT_ONCE_MAX)
			cm_world_fail(world, "time stands still");
		if (at_ns > world->net.now_ns)
			world->net.now_ns = at_ns;
		turn(world);
	}
	world->net.now_ns = end_ns;
}

/* --- the whole -------------------------------------------------------------------------------- */

void cm_world_links(struct cm_world *world, const struct sim_link *link)
{
	for (uint32_t from = 0; from < world->net.host_count; from++) {
		for (uint32_t to = 0; to < world->net.host_count; to++) {
			struct sim_link *to_change = sim_net_link(&world->net, from, to);
			uint64_t delay_ns = to_change->delay_ns;

			*to_change = *link;
			if (link->delay_ns == 0)
				to_change->delay_ns = delay_ns;
		}
	}
}

struct cm_world *cm_world_create(uint32_t hosts, uint64_t seed, FILE *trace)
{
	const struct sim_link link = {.delay_ns = DELAY_NS};
	struct cm_world *world = must(calloc(1, sizeof(*world)));

	prng_init(&world->prng, seed);
	if (!sim_net_init(&world->net, hosts, prng_next(&world->prng)))
		abort();
	world->net.trace = trace;
	world->hosts = must(calloc(hosts, sizeof(*world->hosts)));
	for (uint32_t i = 0; i < hosts; i++) {
		world->hosts[i].world = world;
		world->hosts[i].index = i;
		world->hosts[i].nic = &world->net.nics[i];
		host_begin(&world->hosts[i]);
	}
	cm_world_links(world, &link);
	return world;
}

static void check_silence(struct cm_world *world)
{
	if (next_ns(world) != UINT64_MAX)
		cm_world_fail(world, "something still moves");
	for (uint32_t i = 0; i < world->net.host_count; i++) {
		const struct cm_connection *left = cm_next_connection(world->hosts[i].cm, NULL);
		struct cm_connection_info info;

		if (left == NULL)
			continue;
		cm_describe(left, &info);
		cm_world_fail(world, "host %u: a connection is left, %s", i, info.state);
	}
}

static void free_ends(struct cm_world *world)
{
	while (world->ends != NULL) {
		struct cm_end *end = world->ends;

		world->ends = end->next;
		if (end->connection != NULL)
			cm_destroy(end->connection, world->net.now_ns);
		free(end);
	}
}

const char *cm_world_finish(struct cm_world *world)
{
	static char failure[sizeof(world->failure)];

	for (struct cm_end *end = world->ends; end != NULL; end = end->next)
		if (end->connection != NULL)
			end_destroy(end);
	cm_world_run(world, SILENCE_BUDGET_NS);
	if (world->failure[0] == '\0')
		check_silence(world);
	free_ends(world);
	for (uint32_t i = 0; i < world->net.host_count; i++)
		host_end(&world->hosts[i]);
	sim_net_fini(&world->net);
	for (uint32_t i = 0; i < world->connect_count; i++)
		free(world->plans[i]);
	memcpy(failure, world->failure, sizeof(failure));
	free(world->plans);
	free(world->hosts);
	free(world);
	return failure[0] == '\0' ? NULL : failure;
}
