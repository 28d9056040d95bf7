/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_conversation.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { SMALLEST_PAYLOAD = 64, SMALLEST_WINDOW = 4 };

const struct rpc_session_config rpc_session_defaults = {
	.datagram_bytes = 1024,
	.offer_bytes = 4096,
	.window_packets = RPC_WINDOW_PACKETS,
	.max_message_bytes = RPC_BODY_INLINE_BYTES + 1024,
	.rto_initial_ns = 20 * MS,
	.rto_min_ns = 5 * MS,
	.rto_max_ns = 1000 * MS,
	.keepalive_ns = 1000 * MS,
	.dead_ns = 5000 * MS,
};

/* The effect of a datagram on a session. */
enum action {
	DROP,
	ENTER,	       /* the server has answered: open */
	REPEAT_OPENED, /* the answer was lost */
	CONFIRM,       /* a second answer: an ACK stops its repetition */
	ACCEPT,	       /* a fragment */
	NOTE,	       /* only an acknowledgement */
	ANSWER,	       /* a PING */
	END,
};

static const enum action actions[RPC_SESSION_STATES][RPC_PACKET_KINDS] = {
	[RPC_SESSION_OPENING] =
		{
			[RPC_PACKET_OPENED] = ENTER,
			[RPC_PACKET_CLOSE] = END,
		},
	[RPC_SESSION_OPEN] =
		{
			[RPC_PACKET_OPEN] = REPEAT_OPENED,
			[RPC_PACKET_OPENED] = CONFIRM,
			[RPC_PACKET_DATA] = ACCEPT,
			[RPC_PACKET_ACK] = NOTE,
			[RPC_PACKET_PING] = ANSWER,
			[RPC_PACKET_CLOSE] = END,
		},
};

static const int close_errors[] = {
	[RPC_CLOSE_DONE] = -ESHUTDOWN,	     [RPC_CLOSE_NO_SESSION] = -ECONNRESET,
	[RPC_CLOSE_PROTOCOL] = -EPROTO,	     [RPC_CLOSE_TOO_LARGE] = -EMSGSIZE,
	[RPC_CLOSE_REFUSED] = -ECONNREFUSED,
};

int rpc_session_check_config(const struct rpc_session_config *config)
{
	uint32_t window = config->window_packets;

	if (config->datagram_bytes < RPC_HEADER_BYTES + SMALLEST_PAYLOAD ||
	    config->datagram_bytes > RPC_DATAGRAM_MAX_BYTES)
		return -EINVAL;
	if (config->offer_bytes != 0 && (config->offer_bytes < config->datagram_bytes ||
					 config->offer_bytes > RPC_DATAGRAM_MAX_BYTES))
		return -EINVAL;
	if (window < SMALLEST_WINDOW || window > RPC_WINDOW_PACKETS || (window & (window - 1)) != 0)
		return -EINVAL;
	if (config->max_message_bytes == 0 || config->max_message_bytes > RPC_MESSAGE_LIMIT_BYTES)
		return -EINVAL;
	if (config->rto_min_ns == 0 || config->rto_initial_ns < config->rto_min_ns ||
	    config->rto_max_ns < config->rto_initial_ns || config->rto_max_ns > UINT64_MAX / 4)
		return -EINVAL;
	if (config->keepalive_ns == 0 || config->dead_ns <= config->keepalive_ns ||
	    config->dead_ns > UINT64_MAX / 4)
		return -EINVAL;
	return 0;
}

/* In a session of an agreed size, more fragments may be in flight. */
static uint32_t large_window_packets(const struct rpc_session_config *config)
{
	return config->window_packets * (RPC_LARGE_WINDOW_PACKETS / RPC_WINDOW_PACKETS);
}

static uint32_t largest_window_packets(const struct rpc_session_config *config)
{
	return config->offer_bytes != 0 ? large_window_packets(config) : config->window_packets;
}

/* The largest fragment that this side may have to take. */
static uint32_t largest_payload_bytes(const struct rpc_session_config *config)
{
	const uint32_t datagram_bytes =
		config->offer_bytes != 0 ? config->offer_bytes : config->datagram_bytes;

	return datagram_bytes - RPC_HEADER_BYTES;
}

size_t rpc_session_memory_bytes(const struct rpc_session_config *config)
{
	return rpc_receiver_memory_bytes(largest_window_packets(config),
					 largest_payload_bytes(config), config->max_message_bytes);
}

static void rpc_session_begin(struct rpc_session *session, const struct rpc_session_config *config,
			      const struct rpc_session_self *self, void *memory, uint64_t now_ns)
{
	struct rpc_sender_limits limits = {
		.payload_bytes = config->datagram_bytes - RPC_HEADER_BYTES,
		.trial_ns = config->dead_ns,
		.window_packets = RPC_WINDOW_PACKETS,
		.rto_initial_ns = config->rto_initial_ns,
		.rto_min_ns = config->rto_min_ns,
		.rto_max_ns = config->rto_max_ns,
	};

	assert(rpc_session_check_config(config) == 0 && self->connection != 0);
	*session = (struct rpc_session){
		.config = *config,
		.self = *self,
		.datagram_bytes = config->datagram_bytes,
		.owes_opening = true,
		.open_timer_ns = RPC_NEVER,
		.open_interval_ns = config->rto_initial_ns,
		.heard_ns = now_ns,
		.asked_ns = now_ns,
		.unanswered_ns = RPC_NEVER,
	};
	rpc_sender_init(&session->sender, &limits, self->first_sequence);
	rpc_receiver_init(&session->receiver, largest_window_packets(config),
			  largest_payload_bytes(config), config->max_message_bytes, memory);
	rpc_receiver_agree(&session->receiver, config->window_packets, limits.payload_bytes, 0);
}

void rpc_session_open(struct rpc_session *session, const struct rpc_session_config *config,
		      const struct rpc_session_self *self, void *memory, uint64_t now_ns)
{
	rpc_session_begin(session, config, self, memory, now_ns);
	session->is_client = true;
	session->state = RPC_SESSION_OPENING;
}

/* Uses datagrams of that size, which both sides take, and what comes with it; 0: there is none. */
static void agree(struct rpc_session *session, uint32_t datagram_bytes)
{
	const uint32_t part_bytes = session->config.datagram_bytes - RPC_HEADER_BYTES;
	const uint32_t payload_bytes = datagram_bytes - RPC_HEADER_BYTES;

	if (datagram_bytes == 0)
		return;
	session->datagram_bytes = datagram_bytes;
	session->sender.limits.payload_bytes = payload_bytes;
	session->sender.limits.part_bytes = part_bytes;
	session->sender.limits.window_packets = RPC_LARGE_WINDOW_PACKETS;
	session->sender.limits.asks = true;
	rpc_receiver_agree(&session->receiver, large_window_packets(&session->config),
			   payload_bytes, part_bytes);
}

static void learn_peer(struct rpc_session *session, const struct rpc_packet *packet)
{
	session->peer = packet->from;
	memcpy(session->peer_identity, packet->payload, RPC_IDENTITY_BYTES);
	rpc_receiver_start(&session->receiver, packet->sequence);
}

void rpc_session_lower_offer(struct rpc_session_config *config, const struct rpc_packet *open)
{
	if (open->credit < config->datagram_bytes)
		config->offer_bytes = 0;
	else if (open->credit < config->offer_bytes)
		config->offer_bytes = open->credit;
}

void rpc_session_accept(struct rpc_session *session, const struct rpc_session_config *config,
			const struct rpc_session_self *self, const struct rpc_packet *open,
			void *memory, uint64_t now_ns)
{
	assert(open->kind == RPC_PACKET_OPEN);
	rpc_session_begin(session, config, self, memory, now_ns);
	session->state = RPC_SESSION_OPEN;
	learn_peer(session, open);
	rpc_session_lower_offer(&session->config, open);
	agree(session, session->config.offer_bytes);
}

static void rpc_session_end(struct rpc_session *session, int error, uint16_t close)
{
	session->state = RPC_SESSION_CLOSED;
	session->error = error;
	session->owes_close = session->peer == 0 ? 0 : close;
}

static void end_by_peer(struct rpc_session *session, uint16_t code)
{
	size_t count = sizeof(close_errors) / sizeof(close_errors[0]);

	session->is_closed_by_peer = true;
	rpc_session_end(session, code > 0 && code < count ? close_errors[code] : -EPROTO, 0);
}

static bool check_sender(const struct rpc_session *session, const struct rpc_packet *packet)
{
	if (packet->kind == RPC_PACKET_OPEN)
		return !session->is_client && packet->from == session->peer;
	if (packet->to != session->self.connection)
		return false;
	if (packet->kind == RPC_PACKET_OPENED && !session->is_client)
		return false;
	if (packet->kind == RPC_PACKET_CLOSE && packet->from == 0)
		return packet->code == RPC_CLOSE_NO_SESSION || packet->code == RPC_CLOSE_REFUSED;
	return session->peer == 0 || packet->from == session->peer;
}

static void accept_fragment(struct rpc_session *session, const struct rpc_packet *packet)
{
	const uint32_t expected = session->receiver.cumulative;

	if (rpc_receiver_accept(&session->receiver, packet) != 0)
		rpc_session_end(session, -EPROTO, RPC_CLOSE_PROTOCOL);
	/* Without being asked, this side tells only of gaps, of their end, and of doubles. */
	if (!session->sender.limits.asks || packet->code == RPC_DATA_ASKS ||
	    packet->sequence != expected || session->receiver.cumulative - expected > 1)
		session->owes_ack = true;
}

/* The server agrees on no less than every session has, and on no more than was offered. */
static bool is_agreement_good(const struct rpc_session *session, uint32_t datagram_bytes)
{
	return datagram_bytes == 0 || (datagram_bytes >= session->config.datagram_bytes &&
				       datagram_bytes <= session->config.offer_bytes);
}

static void enter(struct rpc_session *session, const struct rpc_packet *opened)
{
	learn_peer(session, opened);
	session->owes_opening = false;
	session->open_timer_ns = RPC_NEVER;
	if (!is_agreement_good(session, opened->total)) {
		rpc_session_end(session, -EPROTO, RPC_CLOSE_PROTOCOL);
		return;
	}
	agree(session, opened->total);
	session->state = RPC_SESSION_OPEN;
	session->owes_ack = true;
}

static void act(struct rpc_session *session, enum action action, const struct rpc_packet *packet)
{
	switch (action) {
	case DROP:
	case NOTE:
		break;
	case ENTER:
		enter(session, packet);
		break;
	case REPEAT_OPENED:
		session->owes_opening = true;
		break;
	case ACCEPT:
		accept_fragment(session, packet);
		break;
	case CONFIRM:
	case ANSWER:
		session->owes_ack = true;
		break;
	case END:
		end_by_peer(session, packet->code);
		break;
	}
}

void rpc_session_receive(struct rpc_session *session, const struct rpc_packet *packet,
			 uint64_t now_ns)
{
	enum action action = actions[session->state][packet->kind];

	if (action == DROP || !check_sender(session, packet)) {
		session->refused++;
		return;
	}
	if (packet->kind != RPC_PACKET_OPEN && packet->kind != RPC_PACKET_CLOSE &&
	    !rpc_sender_acknowledge(&session->sender, packet, now_ns)) {
		session->refused++;
		return;
	}
	session->received++;
	session->heard_ns = now_ns;
	session->unanswered_ns = RPC_NEVER;
	act(session, action, packet);
}

/* OPEN has the offer of this side, and OPENED what both sides have agreed on. */
static void choose_opening(struct rpc_session *session, struct rpc_packet *packet, uint64_t now_ns)
{
	packet->kind = session->is_client ? RPC_PACKET_OPEN : RPC_PACKET_OPENED;
	packet->sequence = session->self.first_sequence;
	packet->payload = session->self.identity;
	packet->payload_bytes = RPC_IDENTITY_BYTES;
	session->owes_opening = false;
	if (session->is_client) {
		packet->credit = session->config.offer_bytes;
		session->open_timer_ns = now_ns + session->open_interval_ns;
	} else if (session->sender.limits.asks) {
		packet->total = session->datagram_bytes;
	}
}

static bool wants_ack(const struct rpc_session *session)
{
	return session->state == RPC_SESSION_OPEN &&
	       (session->owes_ack || rpc_receiver_has_news(&session->receiver));
}

void rpc_session_hold_ack(struct rpc_session *session, uint64_t until_ns)
{
	session->ack_waits_until_ns = until_ns;
}

/* Chooses the kind of the due datagram and sets the fields that only this kind has. */
static bool choose(struct rpc_session *session, struct rpc_packet *packet, uint64_t now_ns)
{
	if (session->owes_close != 0) {
		packet->kind = RPC_PACKET_CLOSE;
		packet->code = session->owes_close;
		session->owes_close = 0;
		return true;
	}
	if (session->state == RPC_SESSION_CLOSED)
		return false;
	if (session->owes_opening) {
		choose_opening(session, packet, now_ns);
		return true;
	}
	if (session->state != RPC_SESSION_OPEN)
		return false;
	if (rpc_sender_transmit(&session->sender, packet,
				session->datagram_bytes - RPC_HEADER_BYTES, now_ns))
		return true;
	if (session->owes_ping) {
		packet->kind = RPC_PACKET_PING;
		session->owes_ping = false;
		return true;
	}
	packet->kind = RPC_PACKET_ACK;
	return wants_ack(session) && now_ns >= session->ack_waits_until_ns;
}

/* Whether the packet, the last one that was written, wants to be looked at soon. */
static bool is_packet_urgent(const struct rpc_session *session, const struct rpc_packet *packet)
{
	return packet->kind != RPC_PACKET_DATA || !session->sender.limits.asks ||
	       packet->code == RPC_DATA_ASKS;
}

/*
 * Writes more DATA behind the first packet of the datagram, which ends at `bytes`: a datagram costs
 * more than its bytes. The datagram stays of a size that every network carries. Returns its bytes.
 */
static uint32_t add_fragments(struct rpc_session *session, const struct rpc_packet *first,
			      uint8_t *datagram, uint32_t bytes, uint64_t now_ns)
{
	const uint32_t room = session->config.datagram_bytes;

	while (room > bytes + RPC_HEADER_BYTES) {
		struct rpc_packet packet = *first;

		packet.code = 0;
		if (!rpc_sender_transmit(&session->sender, &packet, room - bytes - RPC_HEADER_BYTES,
					 now_ns))
			break;
		session->is_urgent |= is_packet_urgent(session, &packet);
		bytes += (uint32_t)rpc_packet_encode(&packet, datagram + bytes, room - bytes);
	}
	return bytes;
}

uint32_t rpc_session_transmit(struct rpc_session *session, void *datagram, uint64_t now_ns)
{
	struct rpc_packet packet = {.to = session->peer, .from = session->self.connection};
	int bytes;

	if (!choose(session, &packet, now_ns))
		return 0;
	if (session->peer != 0)
		rpc_receiver_report(&session->receiver, &packet);
	session->owes_ack = false;
	if ((packet.kind == RPC_PACKET_DATA || packet.kind == RPC_PACKET_PING) &&
	    session->unanswered_ns == RPC_NEVER)
		session->unanswered_ns = now_ns;
	session->is_urgent = is_packet_urgent(session, &packet);
	bytes = rpc_packet_encode(&packet, datagram, session->datagram_bytes);
	assert(bytes > 0);
	if (packet.kind != RPC_PACKET_DATA || !session->sender.limits.asks)
		return (uint32_t)bytes;
	return add_fragments(session, &packet, datagram, (uint32_t)bytes, now_ns);
}

/* The time to ask the peer whether it is there, or whether it has credit again. */
static uint64_t ask_ns(const struct rpc_session *session)
{
	uint64_t since =
		session->heard_ns > session->asked_ns ? session->heard_ns : session->asked_ns;

	if (session->state != RPC_SESSION_OPEN)
		return RPC_NEVER;
	if (rpc_sender_is_blocked(&session->sender))
		return since + session->sender.rto_ns;
	return since + session->config.keepalive_ns;
}

/* The time to end a session whose oldest fragment does not arrive. */
static uint64_t stuck_ns(const struct rpc_session *session)
{
	return session->sender.stuck_ns == RPC_NEVER
		       ? RPC_NEVER
		       : session->sender.stuck_ns + session->config.dead_ns;
}

uint64_t rpc_session_next_deadline_ns(const struct rpc_session *session)
{
	uint64_t deadline = session->heard_ns + session->config.dead_ns;

	if (session->state == RPC_SESSION_CLOSED)
		return RPC_NEVER;
	if (stuck_ns(session) < deadline)
		deadline = stuck_ns(session);
	if (session->open_timer_ns < deadline)
		deadline = session->open_timer_ns;
	if (session->sender.timer_ns < deadline)
		deadline = session->sender.timer_ns;
	if (ask_ns(session) < deadline)
		deadline = ask_ns(session);
	if (wants_ack(session) && session->ack_waits_until_ns != 0 &&
	    session->ack_waits_until_ns < deadline)
		deadline = session->ack_waits_until_ns;
	return deadline;
}

void rpc_session_tick(struct rpc_session *session, uint64_t now_ns)
{
	if (session->state == RPC_SESSION_CLOSED)
		return;
	if (now_ns >= session->heard_ns + session->config.dead_ns) {
		rpc_session_end(session, -ETIMEDOUT, RPC_CLOSE_DONE);
		return;
	}
	if (now_ns >= stuck_ns(session)) {
		rpc_session_end(session, -EHOSTUNREACH, RPC_CLOSE_DONE);
		return;
	}
	if (now_ns >= session->open_timer_ns) {
		session->owes_opening = true;
		session->open_timer_ns = RPC_NEVER;
		session->open_interval_ns *= 2;
		if (session->open_interval_ns > session->config.rto_max_ns)
			session->open_interval_ns = session->config.rto_max_ns;
	}
	if (now_ns >= session->ack_waits_until_ns)
		session->ack_waits_until_ns = 0;
	if (now_ns >= ask_ns(session)) {
		session->owes_ping = true;
		session->asked_ns = now_ns;
	}
	rpc_sender_tick(&session->sender, now_ns);
}

int rpc_session_send(struct rpc_session *session, struct rpc_outgoing *message)
{
	if (session->state == RPC_SESSION_CLOSED)
		return -ECONNRESET;
	if (message->length == 0 || message->length > RPC_MESSAGE_LIMIT_BYTES)
		return -EMSGSIZE;
	rpc_sender_push(&session->sender, message);
	return 0;
}

struct rpc_outgoing *rpc_session_take_released(struct rpc_session *session)
{
	return rpc_sender_take_released(&session->sender, session->state == RPC_SESSION_CLOSED);
}

bool rpc_session_take(struct rpc_session *session, const uint8_t **bytes, uint32_t *length)
{
	int taken;

	if (session->peer == 0)
		return false;
	taken = rpc_receiver_take(&session->receiver, bytes, length);
	if (taken < 0 && session->state != RPC_SESSION_CLOSED)
		rpc_session_end(session, taken,
				taken == -EMSGSIZE ? RPC_CLOSE_TOO_LARGE : RPC_CLOSE_PROTOCOL);
	return taken > 0;
}

void rpc_session_close(struct rpc_session *session)
{
	if (session->state != RPC_SESSION_CLOSED)
		rpc_session_end(session, -ESHUTDOWN, RPC_CLOSE_DONE);
}

void rpc_session_lose(struct rpc_session *session)
{
	if (session->state != RPC_SESSION_CLOSED)
		rpc_session_end(session, -ECONNRESET, 0);
}

const char *rpc_session_end_text(const struct rpc_session *session)
{
	const bool is_server = session->is_client; /* the peer */

	switch (session->error) {
	case -ESHUTDOWN:
		if (!session->is_closed_by_peer)
			return "this side closed it";
		return is_server ? "the server closed it" : "the client closed it";
	case -ETIMEDOUT:
		return is_server ? "the server is silent" : "the client is silent";
	case -EHOSTUNREACH:
		return is_server ? "datagrams no longer reach the server"
				 : "datagrams no longer reach the client";
	case -ECONNRESET:
		if (session->is_closed_by_peer)
			return is_server ? "the server does not know it, and may be a new one"
					 : "the client does not know it";
		return "the connection is lost";
	case -ECONNREFUSED:
		return "the server takes no more sessions";
	case -EMSGSIZE:
		return "a message was too large";
	default:
		return "a datagram broke the protocol";
	}
}

uint32_t rpc_session_refuse(const struct rpc_packet *packet, enum rpc_close code, void *datagram,
			    size_t room)
{
	struct rpc_packet answer = {
		.kind = RPC_PACKET_CLOSE, .to = packet->from, .code = (uint16_t)code};
	int bytes;

	if (packet->kind == RPC_PACKET_CLOSE)
		return 0;
	bytes = rpc_packet_encode(&answer, datagram, room);
	return bytes > 0 ? (uint32_t)bytes : 0;
}
