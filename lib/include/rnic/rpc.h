/* SPDX-License-Identifier: MIT */
/*
 * Remote procedure calls over the RNIC: services and methods from .proto files, by protobuf-c's
 * service interface. The client finds the server by host and port. To compile a program with the
 * services of echo.proto, with the packages protobuf-c-compiler and libprotobuf-c-dev:
 *
 *	protoc-c --c_out=. echo.proto
 *	cc program.c echo.pb-c.c -lrnic-rpc -lrnic -lprotobuf-c
 *
 * tools/examples/rpc_echo.c is a server and a client.
 *
 * Messages travel in a conversation, which repairs loss, doubling and order. The conversation uses
 * datagrams of a UD queue pair, or a connection of RC queue pairs. Requests and answers beyond
 * 128 KiB, and streams, travel in parts: the receiving side grants parts as it has room. On a
 * connection the sender writes these into the receiver's memory by RDMA; on datagrams they travel
 * like everything else.
 *
 * A call executes at most once, also when its answer is lost and when client and server lose and
 * find each other again; enum rnic_rpc_status says what each error means for that. Every call ends:
 * within its deadline if it has one, else when the server is silent for some seconds. When nobody
 * listens at the port, the call ends at once, unless it is to wait.
 *
 * Functions return 0 or a negative errno, as in <rnic/rnic.h>: NULL is -EINVAL where no comment
 * makes an argument optional. rnic_refusal_reason() gives a sentence for each refusal of the
 * daemon. An object belongs to one thread at a time. Nothing happens in the background: the owner
 * calls the turn function, in a loop or whenever the object's descriptor is readable. The turn
 * function runs the closures. A closure may begin and cancel calls, but must not turn or destroy
 * its object. An owner that does not turn for some seconds loses the conversations; a client gets
 * another conversation with its next call.
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

/* Takes the news of conversations, a sentence without a full stop, for a log. */
typedef void rnic_rpc_log(void *user, const char *sentence);

/* The transport of a client's conversation; a server takes both, at the same port number. */
enum rnic_rpc_transport {
	RNIC_RPC_UD, /* datagrams: no set-up, and a client costs the server no queue pair */
	RNIC_RPC_RC, /* a connection; a server takes 2,048 of them */
};

/* The largest request or answer by default; an option can allow up to 1 GiB. */
#define RNIC_RPC_MESSAGE_BYTES (UINT64_C(64) << 20)

struct rnic_rpc_options {
	const char *socket_path; /* of the daemon; NULL: the default */
	rnic_rpc_log *log;	 /* NULL: none */
	void *log_user;
	enum rnic_rpc_transport transport; /* of a client */
	/*
	 * The largest answer that a client takes, or request that a server takes; 0:
	 * RNIC_RPC_MESSAGE_BYTES.
	 */
	uint64_t max_message_bytes;
	/*
	 * For a server, 0 for the defaults: the most bytes that it holds for clients: requests
	 * until they are answered, answers until the client confirms them, and stream bytes that
	 * the client has not taken. Beyond that calls end with OVERLOADED or, for an answer that is
	 * too large, with TOO_LARGE; streams wait; the server forgets clients without a
	 * conversation; a client that takes nothing any more loses its conversation.
	 */
	uint64_t max_client_answer_bytes; /* of one client; 256 MiB */
	uint64_t max_answer_bytes;	  /* of all; 1 GiB */
};

/* ---- clients ---- */

/*
 * Makes a client of the server at `host` (a name or an address) and `port`. The client looks for
 * the server when there are calls, and again after it lost the server. The call copies `options`,
 * which may be NULL. -EINVAL: no host or port, no such transport, or more than 1 GiB.
 * -EHOSTUNREACH: the name has no address; -EAGAIN: the name service does not answer. Errors of
 * rnic_open(): -ENOENT and -ECONNREFUSED mean that no daemon runs, -EACCES that this user is kept
 * out, as of rnic_query_device_at(). -ENOSPC, -ENOMEM, -EMFILE: the daemon or this process has no
 * more to give.
 */
RNIC_API int rnic_rpc_create_client(const struct rnic_rpc_options *options, const char *host,
				    uint16_t port, struct rnic_rpc_client **client);

/* Ends all calls, with CANCELLED, and runs their closures. Never fails. */
RNIC_API void rnic_rpc_destroy_client(struct rnic_rpc_client *client);

/*
 * The client's descriptor for poll(): readable when a turn has something to do. Do not read or
 * close it.
 */
RNIC_API int rnic_rpc_client_fd(const struct rnic_rpc_client *client);

/*
 * Waits for work, up to `timeout_ms` (0: no waiting, -1: without end), and does it. Returns 0 also
 * when nothing came. -EINTR: a signal came; turn again. -ENODEV, -EIO, and for a daemon that hangs
 * -ETIMEDOUT: the daemon is gone and all calls have ended; destroy the client.
 */
RNIC_API int rnic_rpc_client_turn(struct rnic_rpc_client *client, int timeout_ms);

/*
 * Takes the result of a call: `output` is NULL unless status is OK, and gone when the closure
 * returns. `status` is an enum rnic_rpc_status, or a number that a newer server sent.
 */
typedef void rnic_rpc_closure(uint32_t status, const ProtobufCMessage *output, void *user);

struct rnic_rpc_call_options {
	uint32_t timeout_ms; /* 0: no deadline */
	bool is_idempotent;  /* another incarnation of the server may execute it again */
	/*
	 * While nobody listens at the server's port, the call waits for somebody who does, for some
	 * seconds and within its deadline. Otherwise it ends at once with UNAVAILABLE, or with
	 * OUTCOME_UNKNOWN.
	 */
	bool wait_for_ready;
};

/*
 * Begins a call of a method. The caller may reuse `input` at once; `options` may be NULL. On
 * success `closure` runs exactly once, later, and *call names the call until then. -EINVAL: no such
 * method, or a service name that is empty or beyond 255 bytes. -EMSGSIZE: beyond 1 GiB. -EAGAIN:
 * 256 calls are in flight; turn until one ends. -ENODEV, -EIO, -ETIMEDOUT: see
 * rnic_rpc_client_turn(). -ENOMEM.
 */
RNIC_API int rnic_rpc_begin(struct rnic_rpc_client *client,
			    const ProtobufCServiceDescriptor *service, unsigned method,
			    const ProtobufCMessage *input,
			    const struct rnic_rpc_call_options *options, rnic_rpc_closure *closure,
			    void *user, uint64_t *call);

/*
 * Takes a chunk of a stream, a copy that the server cannot change; the copy is gone when the
 * function returns. The server makes more chunks only then.
 */
typedef void rnic_rpc_chunk(const void *bytes, size_t count, void *user);

/*
 * Begins a call whose method may send a stream before its answer: `chunk` runs for each chunk, in
 * order, then `closure`, with the same `user`. The division of the bytes into chunks has no
 * meaning. The client never sends such a call again: when the conversation is lost, the call ends
 * with OUTCOME_UNKNOWN. Errors as of rnic_rpc_begin().
 */
RNIC_API int rnic_rpc_begin_stream(struct rnic_rpc_client *client,
				   const ProtobufCServiceDescriptor *service, unsigned method,
				   const ProtobufCMessage *input,
				   const struct rnic_rpc_call_options *options,
				   rnic_rpc_chunk *chunk, rnic_rpc_closure *closure, void *user,
				   uint64_t *call);

/* Ends a call with CANCELLED at the next turn; does nothing for a call that has ended. */
RNIC_API void rnic_rpc_cancel(struct rnic_rpc_client *client, uint64_t call);

/*
 * Calls and waits, turning the client. On success *status says how the call ended. If that is OK,
 * the caller frees *output by protobuf_c_message_free_unpacked(), else *output is NULL. Errors as
 * of rnic_rpc_begin(), and only those: a daemon that goes away later ends the call with UNAVAILABLE
 * or OUTCOME_UNKNOWN. A signal does not end the call. A closure must not use this function.
 */
RNIC_API int rnic_rpc_call(struct rnic_rpc_client *client,
			   const ProtobufCServiceDescriptor *service, unsigned method,
			   const ProtobufCMessage *input,
			   const struct rnic_rpc_call_options *options, uint32_t *status,
			   ProtobufCMessage **output);

/*
 * The service as protobuf-c's generated functions want it: each call begins with `options`, and its
 * closure gets NULL when the call fails. protobuf_c_service_destroy() ends the service, before the
 * client. NULL: no memory.
 */
RNIC_API ProtobufCService *rnic_rpc_service(struct rnic_rpc_client *client,
					    const ProtobufCServiceDescriptor *service,
					    const struct rnic_rpc_call_options *options);

/* ---- servers ---- */

/*
 * Makes a server at `port` of the device's addresses; 0 takes a free port, see
 * rnic_rpc_server_port(). The call copies `options`, which may be NULL. -EINVAL: messages of more
 * than 1 GiB. -EADDRINUSE: the port is taken. -EACCES, also: a port below 1024, which is root's.
 * Other errors as of rnic_rpc_create_client().
 */
RNIC_API int rnic_rpc_create_server(const struct rnic_rpc_options *options, uint16_t port,
				    struct rnic_rpc_server **server);

/*
 * Ends all conversations. A service may answer its open calls later, to no effect: their closures
 * stay valid until the service calls them.
 */
RNIC_API void rnic_rpc_destroy_server(struct rnic_rpc_server *server);

/* The port of the server, to tell to its clients. */
RNIC_API uint16_t rnic_rpc_server_port(const struct rnic_rpc_server *server);

/*
 * Offers a service, under its full name. The caller keeps the service, which must outlive the
 * server. Its methods run in rnic_rpc_server_turn(). Each method calls its closure exactly once,
 * there or later in the same thread, with the answer, or with NULL for INTERNAL. -EEXIST: the
 * server has a service of that name. -ENOMEM.
 */
RNIC_API int rnic_rpc_server_add(struct rnic_rpc_server *server, ProtobufCService *service);

/*
 * The descriptor and the turn of a server: see rnic_rpc_client_fd() and rnic_rpc_client_turn().
 * When turning has failed for good, with -ENODEV, -EIO or -ETIMEDOUT, destroy the server and make
 * another.
 */
RNIC_API int rnic_rpc_server_fd(const struct rnic_rpc_server *server);
RNIC_API int rnic_rpc_server_turn(struct rnic_rpc_server *server, int timeout_ms);

/* ---- in methods: `closure_data` is what the method got, until it calls its closure ---- */

/*
 * The time that the caller still waits for the answer; UINT32_MAX: without a deadline; 0: nobody
 * waits.
 */
RNIC_API uint32_t rnic_rpc_time_left_ms(const void *closure_data);

/*
 * Writes the next up to `bytes` bytes of a stream to `room` and returns their number. Returns 0
 * when the stream has no bytes now, see rnic_rpc_wake_stream(), and when the function has called
 * the closure, in this call or before: the closure ends the stream, with NULL as an error. `room`
 * NULL means that nobody wants the stream any more, because its caller or the conversation is gone:
 * the server does not ask again, and the method must call the closure soon. The function must not
 * call the closure of another call.
 */
typedef size_t rnic_rpc_produce(void *user, void *room, size_t bytes);

/*
 * Sends a stream before the answer: rnic_rpc_server_turn() asks `produce` for chunks when the
 * client has room for one. -EOPNOTSUPP: the caller did not use rnic_rpc_begin_stream(). -EALREADY:
 * the call has a stream. -ECANCELED: the server is gone.
 */
RNIC_API int rnic_rpc_send_stream(void *closure_data, rnic_rpc_produce *produce, void *user);

/* Tells the server to ask a stream again that had no bytes. */
RNIC_API void rnic_rpc_wake_stream(void *closure_data);

#ifdef __cplusplus
}
#endif

#endif
