/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_conversation.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { SMALLEST_PAYLOAD = 64, SMALLEST_WINDOW = 4 };

const struct rpc_conversation_config rpc_conversation_defaults = {
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

/* The effect of a datagram on a conversation. */
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

static const enum action actions[RPC_CONVERSATION_STATES][RPC_PACKET_KINDS] = {
	[RPC_CONVERSATION_OPENING] =
		{
			[RPC_PACKET_OPENED] = ENTER,
			[RPC_PACKET_CLOSE] = END,
		},
	[RPC_CONVERSATION_OPEN] =
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
	[RPC_CLOSE_DONE] = -ESHUTDOWN,	     [RPC_CLOSE_NO_CONVERSATION] = -ECONNRESET,
	[RPC_CLOSE_PROTOCOL] = -EPROTO,	     [RPC_CLOSE_TOO_LARGE] = -EMSGSIZE,
	[RPC_CLOSE_REFUSED] = -ECONNREFUSED,
};

int rpc_conversation_check_config(const struct rpc_conversation_config *config)
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

/* In a conversation of an agreed size, more fragments may be in flight. */
static uint32_t large_window_packets(const struct rpc_conversation_config *config)
{
	return config->window_packets * (RPC_LARGE_WINDOW_PACKETS / RPC_WINDOW_PACKETS);
}

static uint32_t largest_window_packets(const struct rpc_conversation_config *config)
{
	return config->offer_bytes != 0 ? large_window_packets(config) : config->window_packets;
}

/* The largest fragment that this side may have to take. */
static uint32_t largest_payload_bytes(const struct rpc_conversation_config *config)
{
	const uint32_t datagram_bytes =
		config->offer_bytes != 0 ? config->offer_bytes : config->datagram_bytes;

	return datagram_bytes - RPC_HEADER_BYTES;
}

size_t rpc_conversation_memory_bytes(const struct rpc_conversation_config *config)
{
	return rpc_receiver_memory_bytes(largest_window_packets(config),
					 largest_payload_bytes(config), config->max_message_bytes);
}

static void rpc_conversation_begin(struct rpc_conversation *conversation,
				   const struct rpc_conversation_config *config,
				   const struct rpc_conversation_self *self, void *memory,
				   uint64_t now_ns)
{
	struct rpc_sender_limits limits = {
		.payload_bytes = config->datagram_bytes - RPC_HEADER_BYTES,
		.trial_ns = config->dead_ns,
		.window_packets = RPC_WINDOW_PACKETS,
		.rto_initial_ns = config->rto_initial_ns,
		.rto_min_ns = config->rto_min_ns,
		.rto_max_ns = config->rto_max_ns,
	};

	assert(rpc_conversation_check_config(config) == 0 && self->connection != 0);
	*conversation = (struct rpc_conversation){
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
	rpc_sender_init(&conversation->sender, &limits, self->first_sequence);
	rpc_receiver_init(&conversation->receiver, largest_window_packets(config),
			  largest_payload_bytes(config), config->max_message_bytes, memory);
	rpc_receiver_agree(&conversation->receiver, config->window_packets, limits.payload_bytes,
			   0);
}

void rpc_conversation_open(struct rpc_conversation *conversation,
			   const struct rpc_conversation_config *config,
			   const struct rpc_conversation_self *self, void *memory, uint64_t now_ns)
{
	rpc_conversation_begin(conversation, config, self, memory, now_ns);
	conversation->is_client = true;
	conversation->state = RPC_CONVERSATION_OPENING;
}

/* Uses datagrams of that size, which both sides take, and what comes with it; 0: there is none. */
static void agree(struct rpc_conversation *conversation, uint32_t datagram_bytes)
{
	const uint32_t part_bytes = conversation->config.datagram_bytes - RPC_HEADER_BYTES;
	const uint32_t payload_bytes = datagram_bytes - RPC_HEADER_BYTES;

	if (datagram_bytes == 0)
		return;
	conversation->datagram_bytes = datagram_bytes;
	conversation->sender.limits.payload_bytes = payload_bytes;
	conversation->sender.limits.part_bytes = part_bytes;
	conversation->sender.limits.window_packets = RPC_LARGE_WINDOW_PACKETS;
	conversation->sender.limits.asks = true;
	rpc_receiver_agree(&conversation->receiver, large_window_packets(&conversation->config),
			   payload_bytes, part_bytes);
}

static void learn_peer(struct rpc_conversation *conversation, const struct rpc_packet *packet)
{
	conversation->peer = packet->from;
	memcpy(conversation->peer_identity, packet->payload, RPC_IDENTITY_BYTES);
	rpc_receiver_start(&conversation->receiver, packet->sequence);
}

void rpc_conversation_lower_offer(struct rpc_conversation_config *config,
				  const struct rpc_packet *open)
{
	if (open->credit < config->datagram_bytes)
		config->offer_bytes = 0;
	else if (open->credit < config->offer_bytes)
		config->offer_bytes = open->credit;
}

void rpc_conversation_accept(struct rpc_conversation *conversation,
			     const struct rpc_conversation_config *config,
			     const struct rpc_conversation_self *self,
			     const struct rpc_packet *open, void *memory, uint64_t now_ns)
{
	assert(open->kind == RPC_PACKET_OPEN);
	rpc_conversation_begin(conversation, config, self, memory, now_ns);
	conversation->state = RPC_CONVERSATION_OPEN;
	learn_peer(conversation, open);
	rpc_conversation_lower_offer(&conversation->config, open);
	agree(conversation, conversation->config.offer_bytes);
}

static void rpc_conversation_end(struct rpc_conversation *conversation, int error, uint16_t close)
{
	conversation->state = RPC_CONVERSATION_CLOSED;
	conversation->error = error;
	conversation->owes_close = conversation->peer == 0 ? 0 : close;
}

static void end_by_peer(struct rpc_conversation *conversation, uint16_t code)
{
	size_t count = sizeof(close_errors) / sizeof(close_errors[0]);

	conversation->is_closed_by_peer = true;
	rpc_conversation_end(conversation, code > 0 && code < count ? close_errors[code] : -EPROTO,
			     0);
}

static bool check_sender(const struct rpc_conversation *conversation,
			 const struct rpc_packet *packet)
{
	if (packet->kind == RPC_PACKET_OPEN)
		return !conversation->is_client && packet->from == conversation->peer;
	if (packet->to != conversation->self.connection)
		return false;
	if (packet->kind == RPC_PACKET_OPENED && !conversation->is_client)
		return false;
	if (packet->kind == RPC_PACKET_CLOSE && packet->from == 0)
		return packet->code == RPC_CLOSE_NO_CONVERSATION ||
		       packet->code == RPC_CLOSE_REFUSED;
	return conversation->peer == 0 || packet->from == conversation->peer;
}

static void accept_fragment(struct rpc_conversation *conversation, const struct rpc_packet *packet)
{
	const uint32_t expected = conversation->receiver.cumulative;

	if (rpc_receiver_accept(&conversation->receiver, packet) != 0)
		rpc_conversation_end(conversation, -EPROTO, RPC_CLOSE_PROTOCOL);
	/* Without being asked, this side tells only of gaps, of their end, and of doubles. */
	if (!conversation->sender.limits.asks || packet->code == RPC_DATA_ASKS ||
	    packet->sequence != expected || conversation->receiver.cumulative - expected > 1)
		conversation->owes_ack = true;
}

/* The server agrees on no less than every conversation has, and on no more than was offered. */
static bool is_agreement_good(const struct rpc_conversation *conversation, uint32_t datagram_bytes)
{
	return datagram_bytes == 0 || (datagram_bytes >= conversation->config.datagram_bytes &&
				       datagram_bytes <= conversation->config.offer_bytes);
}

static void enter(struct rpc_conversation *conversation, const struct rpc_packet *opened)
{
	learn_peer(conversation, opened);
	conversation->owes_opening = false;
	conversation->open_timer_ns = RPC_NEVER;
	if (!is_agreement_good(conversation, opened->total)) {
		rpc_conversation_end(conversation, -EPROTO, RPC_CLOSE_PROTOCOL);
		return;
	}
	agree(conversation, opened->total);
	conversation->state = RPC_CONVERSATION_OPEN;
	conversation->owes_ack = true;
}

static void act(struct rpc_conversation *conversation, enum action action,
		const struct rpc_packet *packet)
{
	switch (action) {
	case DROP:
	case NOTE:
		break;
	case ENTER:
		enter(conversation, packet);
		break;
	case REPEAT_OPENED:
		conversation->owes_opening = true;
		break;
	case ACCEPT:
		accept_fragment(conversation, packet);
		break;
	case CONFIRM:
	case ANSWER:
		conversation->owes_ack = true;
		break;
	case END:
		end_by_peer(conversation, packet->code);
		break;
	}
}

void rpc_conversation_receive(struct rpc_conversation *conversation,
			      const struct rpc_packet *packet, uint64_t now_ns)
{
	enum action action = actions[conversation->state][packet->kind];

	if (action == DROP || !check_sender(conversation, packet)) {
		conversation->refused++;
		return;
	}
	if (packet->kind != RPC_PACKET_OPEN && packet->kind != RPC_PACKET_CLOSE &&
	    !rpc_sender_acknowledge(&conversation->sender, packet, now_ns)) {
		conversation->refused++;
		return;
	}
	conversation->received++;
	conversation->heard_ns = now_ns;
	conversation->unanswered_ns = RPC_NEVER;
	act(conversation, action, packet);
}

/* OPEN has the offer of this side, and OPENED what both sides have agreed on. */
static void choose_opening(struct rpc_conversation *conversation, struct rpc_packet *packet,
			   uint64_t now_ns)
{
	packet->kind = conversation->is_client ? RPC_PACKET_OPEN : RPC_PACKET_OPENED;
	packet->sequence = conversation->self.first_sequence;
	packet->payload = conversation->self.identity;
	packet->payload_bytes = RPC_IDENTITY_BYTES;
	conversation->owes_opening = false;
	if (conversation->is_client) {
		packet->credit = conversation->config.offer_bytes;
		conversation->open_timer_ns = now_ns + conversation->open_interval_ns;
	} else if (conversation->sender.limits.asks) {
		packet->total = conversation->datagram_bytes;
	}
}

static bool wants_ack(const struct rpc_conversation *conversation)
{
	return conversation->state == RPC_CONVERSATION_OPEN &&
	       (conversation->owes_ack || rpc_receiver_has_news(&conversation->receiver));
}

void rpc_conversation_hold_ack(struct rpc_conversation *conversation, uint64_t until_ns)
{
	conversation->ack_waits_until_ns = until_ns;
}

/* Chooses the kind of the due datagram and sets the fields that only this kind has. */
static bool choose(struct rpc_conversation *conversation, struct rpc_packet *packet,
		   uint64_t now_ns)
{
	if (conversation->owes_close != 0) {
		packet->kind = RPC_PACKET_CLOSE;
		packet->code = conversation->owes_close;
		conversation->owes_close = 0;
		return true;
	}
	if (conversation->state == RPC_CONVERSATION_CLOSED)
		return false;
	if (conversation->owes_opening) {
		choose_opening(conversation, packet, now_ns);
		return true;
	}
	if (conversation->state != RPC_CONVERSATION_OPEN)
		return false;
	if (rpc_sender_transmit(&conversation->sender, packet,
				conversation->datagram_bytes - RPC_HEADER_BYTES, now_ns))
		return true;
	if (conversation->owes_ping) {
		packet->kind = RPC_PACKET_PING;
		conversation->owes_ping = false;
		return true;
	}
	packet->kind = RPC_PACKET_ACK;
	return wants_ack(conversation) && now_ns >= conversation->ack_waits_until_ns;
}

/* Whether the packet, the last one that was written, wants to be looked at soon. */
static bool is_packet_urgent(const struct rpc_conversation *conversation,
			     const struct rpc_packet *packet)
{
	return packet->kind != RPC_PACKET_DATA || !conversation->sender.limits.asks ||
	       packet->code == RPC_DATA_ASKS;
}

/*
 * Writes more DATA behind the first packet of the datagram, which ends at `bytes`: a datagram costs
 * more than its bytes. The datagram stays of a size that every network carries. Returns its bytes.
 */
static uint32_t add_fragments(struct rpc_conversation *conversation, const struct rpc_packet *first,
			      uint8_t *datagram, uint32_t bytes, uint64_t now_ns)
{
	const uint32_t room = conversation->config.datagram_bytes;

	while (room > bytes + RPC_HEADER_BYTES) {
		struct rpc_packet packet = *first;

		packet.code = 0;
		if (!rpc_sender_transmit(&conversation->sender, &packet,
					 room - bytes - RPC_HEADER_BYTES, now_ns))
			break;
		conversation->is_urgent |= is_packet_urgent(conversation, &packet);
		bytes += (uint32_t)rpc_packet_encode(&packet, datagram + bytes, room - bytes);
	}
	return bytes;
}

uint32_t rpc_conversation_transmit(struct rpc_conversation *conversation, void *datagram,
				   uint64_t now_ns)
{
	struct rpc_packet packet = {.to = conversation->peer,
				    .from = conversation->self.connection};
	int bytes;

	if (!choose(conversation, &packet, now_ns))
		return 0;
	if (conversation->peer != 0)
		rpc_receiver_report(&conversation->receiver, &packet);
	conversation->owes_ack = false;
	if ((packet.kind == RPC_PACKET_DATA || packet.kind == RPC_PACKET_PING) &&
	    conversation->unanswered_ns == RPC_NEVER)
		conversation->unanswered_ns = now_ns;
	conversation->is_urgent = is_packet_urgent(conversation, &packet);
	bytes = rpc_packet_encode(&packet, datagram, conversation->datagram_bytes);
	assert(bytes > 0);
	if (packet.kind != RPC_PACKET_DATA || !conversation->sender.limits.asks)
		return (uint32_t)bytes;
	return add_fragments(conversation, &packet, datagram, (uint32_t)bytes, now_ns);
}

/* The time to ask the peer whether it is there, or whether it has credit again. */
static uint64_t ask_ns(const struct rpc_conversation *conversation)
{
	uint64_t since = conversation->heard_ns > conversation->asked_ns ? conversation->heard_ns
									 : conversation->asked_ns;

	if (conversation->state != RPC_CONVERSATION_OPEN)
		return RPC_NEVER;
	if (rpc_sender_is_blocked(&conversation->sender))
		return since + conversation->sender.rto_ns;
	return since + conversation->config.keepalive_ns;
}

/* The time to end a conversation whose oldest fragment does not arrive. */
static uint64_t stuck_ns(const struct rpc_conversation *conversation)
{
	return conversation->sender.stuck_ns == RPC_NEVER
		       ? RPC_NEVER
		       : conversation->sender.stuck_ns + conversation->config.dead_ns;
}

uint64_t rpc_conversation_next_deadline_ns(const struct rpc_conversation *conversation)
{
	uint64_t deadline = conversation->heard_ns + conversation->config.dead_ns;

	if (conversation->state == RPC_CONVERSATION_CLOSED)
		return RPC_NEVER;
	if (stuck_ns(conversation) < deadline)
		deadline = stuck_ns(conversation);
	if (conversation->open_timer_ns < deadline)
		deadline = conversation->open_timer_ns;
	if (conversation->sender.timer_ns < deadline)
		deadline = conversation->sender.timer_ns;
	if (ask_ns(conversation) < deadline)
		deadline = ask_ns(conversation);
	if (wants_ack(conversation) && conversation->ack_waits_until_ns != 0 &&
	    conversation->ack_waits_until_ns < deadline)
		deadline = conversation->ack_waits_until_ns;
	return deadline;
}

void rpc_conversation_tick(struct rpc_conversation *conversation, uint64_t now_ns)
{
	if (conversation->state == RPC_CONVERSATION_CLOSED)
		return;
	if (now_ns >= conversation->heard_ns + conversation->config.dead_ns) {
		rpc_conversation_end(conversation, -ETIMEDOUT, RPC_CLOSE_DONE);
		return;
	}
	if (now_ns >= stuck_ns(conversation)) {
		rpc_conversation_end(conversation, -EHOSTUNREACH, RPC_CLOSE_DONE);
		return;
	}
	if (now_ns >= conversation->open_timer_ns) {
		conversation->owes_opening = true;
		conversation->open_timer_ns = RPC_NEVER;
		conversation->open_interval_ns *= 2;
		if (conversation->open_interval_ns > conversation->config.rto_max_ns)
			conversation->open_interval_ns = conversation->config.rto_max_ns;
	}
	if (now_ns >= conversation->ack_waits_until_ns)
		conversation->ack_waits_until_ns = 0;
	if (now_ns >= ask_ns(conversation)) {
		conversation->owes_ping = true;
		conversation->asked_ns = now_ns;
	}
	rpc_sender_tick(&conversation->sender, now_ns);
}

int rpc_conversation_send(struct rpc_conversation *conversation, struct rpc_outgoing *message)
{
	if (conversation->state == RPC_CONVERSATION_CLOSED)
		return -ECONNRESET;
	if (message->length == 0 || message->length > RPC_MESSAGE_LIMIT_BYTES)
		return -EMSGSIZE;
	rpc_sender_push(&conversation->sender, message);
	return 0;
}

struct rpc_outgoing *rpc_conversation_take_released(struct rpc_conversation *conversation)
{
	return rpc_sender_take_released(&conversation->sender,
					conversation->state == RPC_CONVERSATION_CLOSED);
}

bool rpc_conversation_take(struct rpc_conversation *conversation, const uint8_t **bytes,
			   uint32_t *length)
{
	int taken;

	if (conversation->peer == 0)
		return false;
	taken = rpc_receiver_take(&conversation->receiver, bytes, length);
	if (taken < 0 && conversation->state != RPC_CONVERSATION_CLOSED)
		rpc_conversation_end(conversation, taken,
				     taken == -EMSGSIZE ? RPC_CLOSE_TOO_LARGE : RPC_CLOSE_PROTOCOL);
	return taken > 0;
}

void rpc_conversation_close(struct rpc_conversation *conversation)
{
	if (conversation->state != RPC_CONVERSATION_CLOSED)
		rpc_conversation_end(conversation, -ESHUTDOWN, RPC_CLOSE_DONE);
}

void rpc_conversation_lose(struct rpc_conversation *conversation)
{
	if (conversation->state != RPC_CONVERSATION_CLOSED)
		rpc_conversation_end(conversation, -ECONNRESET, 0);
}

const char *rpc_conversation_end_text(const struct rpc_conversation *conversation)
{
	const bool is_server = conversation->is_client; /* the peer */

	switch (conversation->error) {
	case -ESHUTDOWN:
		if (!conversation->is_closed_by_peer)
			return "this side closed it";
		return is_server ? "the server closed it" : "the client closed it";
	case -ETIMEDOUT:
		return is_server ? "the server is silent" : "the client is silent";
	case -EHOSTUNREACH:
		return is_server ? "datagrams no longer reach the server"
				 : "datagrams no longer reach the client";
	case -ECONNRESET:
		if (conversation->is_closed_by_peer)
			return is_server ? "the server does not know it, and may be a new one"
					 : "the client does not know it";
		return "the connection is lost";
	case -ECONNREFUSED:
		return "the server takes no more conversations";
	case -EMSGSIZE:
		return "a message was too large";
	default:
		return "a datagram broke the protocol";
	}
}

uint32_t rpc_conversation_refuse(const struct rpc_packet *packet, enum rpc_close code,
				 void *datagram, size_t room)
{
	struct rpc_packet answer = {
		.kind = RPC_PACKET_CLOSE, .to = packet->from, .code = (uint16_t)code};
	int bytes;

	if (packet->kind == RPC_PACKET_CLOSE)
		return 0;
	bytes = rpc_packet_encode(&answer, datagram, room);
	return bytes > 0 ? (uint32_t)bytes : 0;
}
