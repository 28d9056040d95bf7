/* SPDX-License-Identifier: MIT */
#include "rdma_cm_helpers.h"

#include <netdb.h>
#include <stdlib.h>

#include "common.h"
#include "rdma_builders.h"
#include "sample_wait.h"

#define BACKLOG	    64
#define RETRIES	    7 /* the largest value */
#define RNR_RETRIES 6 /* 7 would mean for ever */

/* Reasons of a REJ (IBTA 1.4, table 108). */
#define REASON_OF_PORT 8
#define REASON_OF_MTU  26
#define REASON_OF_APP  28

/* --- the event loop -------------------------------------------------------------------------- */

static int make_channel(struct rdma_ctx *ctx)
{
	ctx->events = rdma_create_event_channel();
	if (!CHECK(ctx->events != NULL, "rdma_create_event_channel"))
		return -1;
	return make_nonblocking(ctx->events->fd);
}

static bool has_private_data(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_ESTABLISHED ||
	       type == RDMA_CM_EVENT_REJECTED;
}

/* 1: a notice, 0: there is none now. */
static int take_notice(struct rdma_ctx *ctx, struct cm_notice *notice)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(ctx->events, &event) != 0)
		return CHECK(errno == EAGAIN || errno == EINTR, "rdma_get_cm_event") ? 0 : -1;
	*notice = (struct cm_notice){
		.type = event->event,
		.status = event->status,
		.id = event->id,
	};
	if (has_private_data(event->event)) {
		const struct rdma_conn_param *parameters = &event->param.conn;

		notice->responder_resources = parameters->responder_resources;
		notice->initiator_depth = parameters->initiator_depth;
		if (parameters->private_data != NULL) {
			notice->private_bytes = parameters->private_data_len;
			memcpy(notice->private_data, parameters->private_data,
			       notice->private_bytes);
		}
	}
	rdma_ack_cm_event(event);
	return 1;
}

/* These events end every attempt. */
static bool ends_hope(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return true;
	default:
		return false;
	}
}

static const char *reason_text(int reason)
{
	switch (reason) {
	case REASON_OF_PORT:
		return "nobody listens at that port";
	case REASON_OF_MTU:
		return "the path MTU is too large for the peer";
	default:
		return "the program of the peer refused";
	}
}

/* A status is an errno; that of a rejection is the reason on the wire. */
static void explain(const struct cm_notice *notice)
{
	struct private_data limits;

	if (notice->type != RDMA_CM_EVENT_REJECTED) {
		LOG("%s%s%s", rdma_event_str(notice->type), notice->status != 0 ? ": " : "",
		    notice->status != 0 ? strerror(abs(notice->status)) : "");
	} else if (notice->status == REASON_OF_APP &&
		   private_data_decode(notice->private_data, notice->private_bytes, &limits) == 0) {
		LOG("the server refuses: it has sample %d, and %u bytes", (int)limits.sample,
		    limits.bytes);
	} else {
		LOG("refused, reason %d: %s", notice->status, reason_text(notice->status));
	}
}

int cm_wait(struct rdma_ctx *ctx, enum rdma_cm_event_type type, struct cm_notice *notice)
{
	const int64_t deadline_ms = deadline_from_now(ctx);

	for (;;) {
		const int count = take_notice(ctx, notice);

		if (count < 0)
			return -1;
		if (count == 0) {
			if (wait_ready(ctx, READY_EVENT, deadline_ms) >= 0)
				continue;
			LOG("the wait for %s failed", rdma_event_str(type));
			return -1;
		}
		if (notice->type == RDMA_CM_EVENT_DISCONNECTED)
			ctx->is_disconnected = true;
		if (notice->type == type)
			return 0;
		/* A listener's channel also reports requests that it has not taken yet. */
		if (notice->id == ctx->id && ends_hope(notice->type)) {
			explain(notice);
			return -1;
		}
	}
}

int cm_look(struct rdma_ctx *ctx)
{
	struct cm_notice notice;
	const int count = take_notice(ctx, &notice);

	if (count == 1 && ends_hope(notice.type))
		ctx->is_disconnected = true;
	return count < 0 ? -1 : 0;
}

/* --- a client -------------------------------------------------------------------------------- */

static int resolve(struct rdma_ctx *ctx, struct sockaddr *address)
{
	struct cm_notice notice;

	if (make_channel(ctx) != 0)
		return -1;
	if (!CHECK(rdma_create_id(ctx->events, &ctx->id, ctx, RDMA_PS_TCP) == 0, "rdma_create_id"))
		return -1;
	if (!CHECK(rdma_resolve_addr(ctx->id, NULL, address, ctx->timeout_ms) == 0,
		   "rdma_resolve_addr"))
		return -1;
	if (cm_wait(ctx, RDMA_CM_EVENT_ADDR_RESOLVED, &notice) != 0)
		return -1;
	if (!CHECK(rdma_resolve_route(ctx->id, ctx->timeout_ms) == 0, "rdma_resolve_route"))
		return -1;
	return cm_wait(ctx, RDMA_CM_EVENT_ROUTE_RESOLVED, &notice);
}

/* No more READs at a time than the device has and the peer wants. */
static uint8_t at_most(int device, uint8_t wanted)
{
	return device < wanted ? (uint8_t)device : wanted;
}

static int say_hello(struct rdma_ctx *ctx, const struct private_data *hello,
		     struct private_data *answer)
{
	uint8_t encoded[PRIVATE_DATA_BYTES];
	struct rdma_conn_param parameters = {
		.private_data = encoded,
		.private_data_len = sizeof(encoded),
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};
	struct ibv_device_attr device;
	struct cm_notice notice;

	if (!CHECK_NUMBER(ibv_query_device(ctx->id->verbs, &device), "ibv_query_device"))
		return -1;
	parameters.initiator_depth = at_most(device.max_qp_init_rd_atom, 1);
	private_data_encode(hello, encoded);
	if (!CHECK(rdma_connect(ctx->id, &parameters) == 0, "rdma_connect"))
		return -1;
	if (cm_wait(ctx, RDMA_CM_EVENT_ESTABLISHED, &notice) != 0)
		return -1;
	errno = -private_data_decode(notice.private_data, notice.private_bytes, answer);
	return CHECK(errno == 0, "the server's answer") ? 0 : -1;
}

static int look_up(const char *host, const char *port, int family, int flags,
		   struct addrinfo **addresses)
{
	const struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags,
	};
	const int error = getaddrinfo(host, port, &hints, addresses);

	if (error == 0)
		return 0;
	LOG("%s, port %s: %s", host != NULL ? host : "*", port,
	    error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
	return -1;
}

int cm_dial(struct rdma_ctx *ctx, const char *host, const char *port,
	    const struct private_data *hello, struct private_data *answer)
{
	struct addrinfo *addresses;
	int result = -1;

	if (look_up(host, port, AF_UNSPEC, 0, &addresses) != 0)
		return -1;
	for (struct addrinfo *at = addresses; at != NULL && result != 0; at = at->ai_next) {
		cm_close(ctx);
		result = resolve(ctx, at->ai_addr);
		if (result == 0)
			result = build_all(ctx);
		if (result == 0)
			result = say_hello(ctx, hello, answer);
	}
	freeaddrinfo(addresses);
	return result;
}

/* --- a server -------------------------------------------------------------------------------- */

static int listen_at(struct rdma_ctx *listener, struct sockaddr *address)
{
	if (make_channel(listener) != 0)
		return -1;
	if (!CHECK(rdma_create_id(listener->events, &listener->id, listener, RDMA_PS_TCP) == 0,
		   "rdma_create_id"))
		return -1;
	if (!CHECK(rdma_bind_addr(listener->id, address) == 0, "rdma_bind_addr"))
		return -1;
	if (!CHECK(rdma_listen(listener->id, BACKLOG) == 0, "rdma_listen"))
		return -1;
	return 0;
}

/* The unspecified IPv6 address includes the IPv4 addresses. */
int cm_listen(struct rdma_ctx *listener, const char *host, const char *port)
{
	const int families[] = {host == NULL ? AF_INET6 : AF_UNSPEC, AF_INET};
	int result = -1;

	for (size_t i = 0; i < (host == NULL ? 2 : 1) && result != 0; i++) {
		struct addrinfo *addresses;

		if (look_up(host, port, families[i], AI_PASSIVE, &addresses) != 0)
			continue;
		for (struct addrinfo *at = addresses; at != NULL && result != 0; at = at->ai_next) {
			cm_close(listener);
			result = listen_at(listener, at->ai_addr);
		}
		freeaddrinfo(addresses);
	}
	return result;
}

int cm_adopt(struct rdma_ctx *ctx, const struct cm_notice *request)
{
	ctx->id = request->id;
	if (make_channel(ctx) != 0)
		return -1;
	return CHECK(rdma_migrate_id(ctx->id, ctx->events) == 0, "rdma_migrate_id") ? 0 : -1;
}

int cm_accept(struct rdma_ctx *ctx, const struct cm_notice *request,
	      const struct private_data *answer)
{
	uint8_t encoded[PRIVATE_DATA_BYTES];
	struct rdma_conn_param parameters = {
		.private_data = encoded,
		.private_data_len = sizeof(encoded),
		.rnr_retry_count = RNR_RETRIES,
	};
	struct ibv_device_attr device;
	struct cm_notice notice;

	if (!CHECK_NUMBER(ibv_query_device(ctx->id->verbs, &device), "ibv_query_device"))
		return -1;
	parameters.responder_resources =
		at_most(device.max_qp_rd_atom, request->responder_resources);
	parameters.initiator_depth = at_most(device.max_qp_init_rd_atom, request->initiator_depth);
	private_data_encode(answer, encoded);
	if (!CHECK(rdma_accept(ctx->id, &parameters) == 0, "rdma_accept"))
		return -1;
	return cm_wait(ctx, RDMA_CM_EVENT_ESTABLISHED, &notice);
}

void cm_refuse(struct rdma_cm_id *id, const struct private_data *limits)
{
	uint8_t encoded[PRIVATE_DATA_BYTES];

	private_data_encode(limits, encoded);
	(void)CHECK(rdma_reject(id, encoded, sizeof(encoded)) == 0, "rdma_reject");
	rdma_destroy_id(id);
}

/* --- both ------------------------------------------------------------------------------------ */

const char *cm_peer_name(struct rdma_cm_id *id, char *text, size_t room)
{
	const struct sockaddr *peer = rdma_get_peer_addr(id);
	const socklen_t bytes = peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							    : sizeof(struct sockaddr_in);
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(peer, bytes, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(text, room, "%s port %s", host, port);
	else
		snprintf(text, room, "somebody");
	return text;
}

void cm_disconnect(struct rdma_ctx *ctx)
{
	struct cm_notice notice;

	if (ctx->id == NULL || ctx->qp == NULL)
		return;
	if (rdma_disconnect(ctx->id) == 0 && !ctx->is_disconnected)
		(void)cm_wait(ctx, RDMA_CM_EVENT_DISCONNECTED, &notice);
}

void cm_close(struct rdma_ctx *ctx)
{
	build_release(ctx);
	if (ctx->id != NULL)
		(void)CHECK(rdma_destroy_id(ctx->id) == 0, "rdma_destroy_id");
	if (ctx->events != NULL)
		rdma_destroy_event_channel(ctx->events);
	ctx->id = NULL;
	ctx->events = NULL;
	ctx->is_disconnected = false;
}
