/* SPDX-License-Identifier: MIT */
/*
 * The calls of a server: requests become works of the services, answers go into the history and
 * back. Bodies that are too large for a message come and go in chunks (server_bodies.h).
 *
 * A work begins with its request and ends with the service's closure. It outlives the server if the
 * service keeps it longer.
 */
#ifndef LIB_RPC_SERVER_SERVER_CALLS_H
#define LIB_RPC_SERVER_SERVER_CALLS_H

#include "rpc/transport/bulk_transfer.h"
#include "rpc/transport/transport_device.h"
#include "rpc/server/server_sessions.h"

#include <rnic/rpc.h>

struct server_work;
struct server_transfer;

struct server_calls {
	struct server_sessions *sessions;
	struct transport_device *device;
	uint64_t max_request_bytes;
	ProtobufCService **services;
	size_t service_count;
	struct server_work *works;	   /* a list */
	struct server_transfer *transfers; /* a list */
	uint32_t stream_count;		   /* works that stream */
};

/* A request whose body comes in chunks. */
struct server_body {
	bool is_coming;
	struct bulk_in in;
	uint8_t *bytes;
	uint64_t total;
	uint64_t received;
};

/* Chunks that the service makes before its answer. */
struct server_stream {
	bool is_accepted; /* by the caller */
	bool is_stalled;  /* it has nothing at present */
	bool is_over;	  /* nobody wants more, and the service knows */
	bool is_asked;	  /* runs now: what it ends must wait */
	struct bulk_out out;
	rnic_rpc_produce *produce;
	void *user;
};

struct server_work {
	struct server_calls *calls; /* NULL: the server is gone */
	struct server_client *client;
	uint32_t connection; /* of the session that asked last */
	uint64_t call;
	uint64_t deadline_ns;
	ProtobufCService *service;
	unsigned method;
	ProtobufCMessage *input;
	ProtobufCAllocator allocator;	 /* of the input */
	uint64_t input_bytes;		 /* that it has taken, counted for the client */
	bool lacks_room;		 /* for the input */
	struct shared_message *fallback; /* INTERNAL, when there is no memory for an answer */
	struct shared_message *answer;	 /* of one that ended while it was asked for a chunk */
	struct server_body body;
	struct server_stream stream;
	struct server_work *next;
	struct server_work **link; /* what points to this one */
};

/* Takes the messages of the session. */
void server_calls_take(struct server_calls *calls, struct server_session *session);

/* Gives up what only that session could bring or take. */
void server_calls_session_ended(struct server_calls *calls, const struct server_session *session);

/* The server ends: what the services still have answers nobody. */
void server_calls_close(struct server_calls *calls);

/* -EEXIST, -ENOMEM. */
int server_calls_add(struct server_calls *calls, ProtobufCService *service);

/* The work of that call, or NULL. */
struct server_work *server_calls_find(const struct server_calls *calls,
				      const struct server_client *client, uint64_t call);

/* Sends a copy of the frame. */
void server_calls_send(struct server_calls *calls, struct server_session *session,
		       const struct rpc_frame *frame);

/* The request is there, whole: runs the method, or answers why not. */
void server_work_execute(struct server_work *work, const uint8_t *input, size_t bytes);

/* Answers, with a reference that it takes over (NULL: the fallback), and ends the work. */
void server_work_complete(struct server_work *work, struct shared_message *answer);

/* Ends the work without an answer; the call was not executed. */
void server_work_drop(struct server_work *work);

#endif
