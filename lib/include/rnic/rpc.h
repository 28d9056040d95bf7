/* SPDX-License-Identifier: MIT */
/*
 * Remote procedure calls over the RNIC: services and methods from .proto files, by protobuf-c's
 * service interface, between a client and a server that is found by host and port.
 *
 * Messages travel in datagrams of a UD queue pair, through a session that repairs loss, doubling
 * and order, or in such a session over a connection of RC queue pairs. Of requests and answers
 * beyond 128 KiB, and of streams, the receiving side grants parts as it has room; on a connection
 * these are written into its memory by RDMA, on datagrams they travel like all else.
 *
 * A call executes at most once, also when its answer is lost and when client and server lose and
 * find each other again; see enum rnic_rpc_status for what an error says about it. Every call ends:
 * within its deadline if it has one, else when the server is silent for some seconds.
 *
 * Functions return 0 or a negative errno, as in <rnic/rnic.h>, whose rnic_refusal_reason() has a
 * sentence for what the daemon has refused. An object belongs to one thread at a time. Nothing
 * happens in the background: the owner calls the turn function, in a loop or whenever the object's
 * descriptor is readable. Closures run in there, and may begin and cancel calls, but must not turn
 * or destroy their object. Who does not turn for some seconds loses the sessions; a client gets
 * another one with its next call.
 */
#ifndef RNIC_RPC_H
#define RNIC_RPC_H

#include <rnic/rnic.h>
#include <rnic/rpc_status.h>

#include <protobuf-c/protobuf-c.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rnic_rpc_client;
struct rnic_rpc_server;

/* What happens to sessions, a sentence without a full stop, for a log. */
typedef void rnic_rpc_log(void *user, const char *sentence);

/* What a client's session travels on; a server takes both, at the same port number. */
enum rnic_rpc_transport {
	RNIC_RPC_UD, /* datagrams: nothing is set up, and a client costs the server no queue pair */
	RNIC_RPC_RC, /* a connection, of which a server takes 2,048 */
};

/* The largest request or answer unless an option says otherwise, which can say up to 1 GiB. */
#define RNIC_RPC_MESSAGE_BYTES (UINT64_C(64) << 20)

struct rnic_rpc_options {
	const char *socket_path; /* of the daemon; NULL: the default */
	rnic_rpc_log *log;	 /* NULL: none */
	void *log_user;
	enum rnic_rpc_transport transport; /* of a client */
	/* What a client takes as an answer, a server as a request; 0: RNIC_RPC_MESSAGE_BYTES. */
	uint64_t max_message_bytes;
	/* Of a server, 0 for the defaults: what it holds for clients at most, requests until they
	 * are answered, answers until they say that they have them, and what they have not taken of
	 * what is sent. Beyond it calls end with OVERLOADED or, if the answer is too large, with
	 * TOO_LARGE, streams wait, and clients without a session are forgotten; one that takes
	 * nothing any more loses its session. */
	uint64_t max_client_answer_bytes; /* of one client; 256 MiB */
	uint64_t max_answer_bytes;	  /* of all; 1 GiB */
};

/* ---- clients ---- */

/*
 * Makes a client of the server at `host` (a name or an address) and `port`. The server is looked
 * for when there are calls, and again after it was lost. `options` may be NULL, and is copied.
 * -EINVAL: no host or port, no such transport, or more than 1 GiB. -EHOSTUNREACH: the name has no
 * address; -EAGAIN: the name service does not answer. Errors of rnic_open(): -ENOENT, -ECONNREFUSED
 * and -EACCES say that there is no daemon to begin with. -ENOSPC, -ENOMEM, -EMFILE: no more is to
 * be had of the daemon, or of this process.
 */
RNIC_API int rnic_rpc_create_client(const struct rnic_rpc_options *options, const char *host,
				    uint16_t port, struct rnic_rpc_client **client);

/* Ends all calls, with CANCELLED; their closures run. Never fails. */
RNIC_API void rnic_rpc_destroy_client(struct rnic_rpc_client *client);

/* To poll(): readable when a turn has something to do. Do not read or close it. */
RNIC_API int rnic_rpc_client_fd(const struct rnic_rpc_client *client);

/*
 * Does what is to be done, after waiting for it for up to `timeout_ms` (0: no waiting, -1: however
 * long). Returns 0 also when nothing came. -EINTR: a signal came; turn again. -ENODEV, -EIO, and
 * for a daemon that hangs -ETIMEDOUT: it is gone and all calls have ended; destroy the client.
 */
RNIC_API int rnic_rpc_client_turn(struct rnic_rpc_client *client, int timeout_ms);

/*
 * Takes the result of a call: `output` is NULL unless status is OK, and gone when this returns.
 * `status` is an enum rnic_rpc_status, or a number that a newer server sent.
 */
typedef void rnic_rpc_closure(uint32_t status, const ProtobufCMessage *output, void *user);

struct rnic_rpc_call_options {
	uint32_t timeout_ms; /* 0: no deadline */
	bool is_idempotent;  /* may be executed again by another incarnation of the server */
};

/*
 * Begins a call of a method; `input` may be reused at once, `options` may be NULL. On success
 * `closure` runs exactly once, later, and *call names the call until then. -EINVAL: no such method,
 * or a name of a service that is empty or beyond 255 bytes. -EMSGSIZE: beyond 1 GiB. -EAGAIN: 256
 * calls are in flight; turn until one ends. -ENODEV, -EIO, -ETIMEDOUT: see rnic_rpc_client_turn().
 * -ENOMEM.
 */
RNIC_API int rnic_rpc_begin(struct rnic_rpc_client *client,
			    const ProtobufCServiceDescriptor *service, unsigned method,
			    const ProtobufCMessage *input,
			    const struct rnic_rpc_call_options *options, rnic_rpc_closure *closure,
			    void *user, uint64_t *call);

/*
 * Takes a chunk of a stream, a copy that the server cannot change; it is gone when this returns.
 * The server makes more only then.
 */
typedef void rnic_rpc_chunk(const void *bytes, size_t count, void *user);

/*
 * Begins a call whose method may send a stream before its answer: `chunk` runs for each, in order,
 * then `closure`, with the same `user`. How the bytes are divided into chunks means nothing. Such a
 * call is never sent again: when the session is lost it ends with OUTCOME_UNKNOWN. Errors as of
 * rnic_rpc_begin().
 */
RNIC_API int rnic_rpc_begin_stream(struct rnic_rpc_client *client,
				   const ProtobufCServiceDescriptor *service, unsigned method,
				   const ProtobufCMessage *input,
				   const struct rnic_rpc_call_options *options,
				   rnic_rpc_chunk *chunk, rnic_rpc_closure *closure, void *user,
				   uint64_t *call);

/* Ends a call with CANCELLED at the next turn; nothing if it has ended. */
RNIC_API void rnic_rpc_cancel(struct rnic_rpc_client *client, uint64_t call);

/*
 * Calls and waits, turning the client. On success *status says how the call ended, and *output, if
 * that is OK, is to be freed by protobuf_c_message_free_unpacked(), else NULL. Errors as of
 * rnic_rpc_begin(), and only those: a daemon that goes away later ends the call with UNAVAILABLE or
 * OUTCOME_UNKNOWN. A signal does not end it. Not in a closure.
 */
RNIC_API int rnic_rpc_call(struct rnic_rpc_client *client,
			   const ProtobufCServiceDescriptor *service, unsigned method,
			   const ProtobufCMessage *input,
			   const struct rnic_rpc_call_options *options, uint32_t *status,
			   ProtobufCMessage **output);

/*
 * The service as protobuf-c's generated functions want it: each call is begun with `options`, and
 * its closure gets NULL when it fails. Ended by protobuf_c_service_destroy(), before the client.
 * NULL: no memory.
 */
RNIC_API ProtobufCService *rnic_rpc_service(struct rnic_rpc_client *client,
					    const ProtobufCServiceDescriptor *service,
					    const struct rnic_rpc_call_options *options);

/* ---- servers ---- */

/*
 * Makes a server that is found at `port` of the device's addresses; 0 takes a free one, see
 * rnic_rpc_server_port(). `options` may be NULL, and is copied. -EINVAL: messages of more than 1
 * GiB. -EADDRINUSE: the port is taken. -EACCES, also: a port below 1024, which is root's. Other
 * errors as of rnic_rpc_create_client().
 */
RNIC_API int rnic_rpc_create_server(const struct rnic_rpc_options *options, uint16_t port,
				    struct rnic_rpc_server **server);

/*
 * Ends all sessions. Calls that a service has not answered yet may be answered later, to no effect:
 * their closures stay valid until they are called.
 */
RNIC_API void rnic_rpc_destroy_server(struct rnic_rpc_server *server);

/* Where it listens, for others to be told. */
RNIC_API uint16_t rnic_rpc_server_port(const struct rnic_rpc_server *server);

/*
 * Offers a service, under its full name; it stays the caller's and outlives the server. Its methods
 * run in rnic_rpc_server_turn(); each calls its closure exactly once, there or later in the same
 * thread, with the answer or with NULL for INTERNAL. -EEXIST: there is one of that name. -ENOMEM.
 */
RNIC_API int rnic_rpc_server_add(struct rnic_rpc_server *server, ProtobufCService *service);

/*
 * As of a client. When turning has failed for good, with -ENODEV, -EIO or -ETIMEDOUT, destroy the
 * server and make another.
 */
RNIC_API int rnic_rpc_server_fd(const struct rnic_rpc_server *server);
RNIC_API int rnic_rpc_server_turn(struct rnic_rpc_server *server, int timeout_ms);

/* ---- in methods: `closure_data` is what the method got, until it calls its closure ---- */

/* How long somebody waits for the answer; UINT32_MAX: without a deadline; 0: nobody does. */
RNIC_API uint32_t rnic_rpc_time_left_ms(const void *closure_data);

/*
 * Writes the next up to `bytes` bytes of a stream to `room` and returns how many. Returns 0 when it
 * has none now, see rnic_rpc_wake_stream(), and when it has called the closure, in here or before:
 * that ends the stream, with NULL as an error. With `room` NULL nobody wants the stream any more,
 * as its caller or the session is gone: it is not asked again, and is to call the closure soon. It
 * must not call the closure of another call.
 */
typedef size_t rnic_rpc_produce(void *user, void *room, size_t bytes);

/*
 * Sends a stream before the answer: `produce` is asked for chunks in rnic_rpc_server_turn(), when
 * the client has room for one. -EOPNOTSUPP: the call was not begun by rnic_rpc_begin_stream().
 * -EALREADY: it has a stream. -ECANCELED: the server is gone.
 */
RNIC_API int rnic_rpc_send_stream(void *closure_data, rnic_rpc_produce *produce, void *user);

/* A stream that had nothing may be asked again. */
RNIC_API void rnic_rpc_wake_stream(void *closure_data);

#ifdef __cplusplus
}
#endif

#endif
