/* SPDX-License-Identifier: MIT */
/*
 * The works of a server's calls. A work begins with its request and ends with the service's
 * closure. The work outlives the server if the service keeps it longer.
 */
#ifndef LIB_APIS_RPC_SERVER_SERVER_WORK_H
#define LIB_APIS_RPC_SERVER_SERVER_WORK_H

#include "lib/apis/rpc/server/server_conversations.h"
#include "lib/apis/rpc/transport/bulk_transfer.h"
#include "lib/apis/rpc/transport/transport_device.h"

#include <rnic/rpc.h>

struct server_work;
struct server_transfer;

struct server_calls {
	struct server_conversations *conversations;
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
	bool is_stalled;  /* the service has no bytes at present */
	bool is_over;	  /* nobody wants more, and the service knows */
	bool is_asked;	  /* produce() runs now: the end of the work must wait */
	struct bulk_out out;
	rnic_rpc_produce *produce;
	void *user;
};

struct server_work {
	struct server_calls *calls; /* NULL: the server is gone */
	struct server_client *client;
	uint32_t connection; /* of the conversation that asked last */
	uint64_t call;
	uint64_t deadline_ns;
	ProtobufCService *service;
	unsigned method;
	ProtobufCMessage *input;
	ProtobufCAllocator allocator; /* of the input */
	uint64_t input_bytes;	      /* that the input has taken, counted for the client */
	bool lacks_room;	      /* for the input */
	struct shared_message
		*fallback; /* INTERNAL, for the case that there is no memory for an answer */
	struct shared_message
		*answer; /* of a work that ended while the server asked it for a chunk */
	struct server_body body;
	struct server_stream stream;
	struct server_work *next;
	struct server_work **link; /* the pointer to this one */
};

/* Allocates all memory that a call needs, before the call is noted as begun; NULL: no memory. */
struct server_work *server_work_create(struct server_calls *calls,
				       struct server_conversation *conversation,
				       const struct rpc_frame *request);
void server_work_free(struct server_work *work);

/* Puts the work into its server's list, and nothing else. */
void server_work_link(struct server_work *work);
void server_work_unlink(struct server_work *work);

/* The work of that call, or NULL. */
struct server_work *server_work_find(const struct server_calls *calls,
				     const struct server_client *client, uint64_t call);

#endif
