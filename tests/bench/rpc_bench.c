/* SPDX-License-Identifier: MIT */
/*
 * Calls of 64 B by <rnic/rpc.h>, and the same protocol buffers echoed over a TCP connection; and a
 * stream of bytes from the server:
 *
 *     rpc_bench serve rdma|tcp PORT              prints "ready"; ends when its client says so
 *     rpc_bench call ud|rc|tcp HOST PORT SECONDS AT_ONCE
 *     rpc_bench stream ud|rc HOST PORT SECONDS
 *
 * The client keeps AT_ONCE calls under way and prints a line of JSON: calls, calls per second and
 * the median time from a call's beginning to its answer. Of a stream it prints the bytes, and their
 * rate from the first of them on.
 */
#include "rpc_echo.pb-c.h"

#include <rnic/rpc.h>

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	TEXT_BYTES = 62, /* with its tag and length a message of 64 B */
	AT_ONCE_MAX = 200,
	TIMES_MAX = 1 << 20,
	BUFFER_BYTES = 1 << 16,
	PREFIX_BYTES = 4,
};

struct bench {
	Rnic__Example__Text request;
	char text[TEXT_BYTES + 1];
	double end_s;
	long begun;
	long answered;
	double begin_s[AT_ONCE_MAX]; /* in turn: nearly all answers come in order */
	long at_once;
	double *times_s; /* of the first TIMES_MAX answers */
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "rpc_bench: %s: %s\n", what, strerror(-error));
	exit(1);
}

/* --- what both ways have in common ------------------------------------------------------------ */

static bool may_begin(const struct bench *bench)
{
	return bench->begun - bench->answered < bench->at_once && now_s() < bench->end_s;
}

static void note_begun(struct bench *bench)
{
	bench->begin_s[bench->begun++ % AT_ONCE_MAX] = now_s();
}

static void note_answered(struct bench *bench)
{
	double took_s = now_s() - bench->begin_s[bench->answered % AT_ONCE_MAX];

	if (bench->answered < TIMES_MAX)
		bench->times_s[bench->answered] = took_s;
	bench->answered++;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_result(struct bench *bench, double seconds)
{
	long count = bench->answered < TIMES_MAX ? bench->answered : TIMES_MAX;

	if (count == 0)
		die("measuring", -ETIMEDOUT);
	qsort(bench->times_s, (size_t)count, sizeof(*bench->times_s), compare);
	printf("{\"calls\": %ld, \"calls_per_second\": %.1f, \"median_us\": %.2f, "
	       "\"p99_us\": %.2f}\n",
	       bench->answered, (double)bench->answered / seconds, bench->times_s[count / 2] * 1e6,
	       bench->times_s[count * 99 / 100] * 1e6);
}

/* --- by RDMA ---------------------------------------------------------------------------------- */

static bool is_over;

static void echo(Rnic__Example__Echo_Service *service, const Rnic__Example__Text *input,
		 Rnic__Example__Text_Closure closure, void *user)
{
	(void)service;
	is_over |= input->text[0] == 0;
	closure(input, user);
}

struct flow {
	Rnic__Example__Amount_Closure closure;
	void *user;
};

/* Bytes without end, until nobody wants more. */
static size_t produce(void *user, void *room, size_t bytes)
{
	struct flow *flow = user;

	if (room != NULL) {
		memset(room, 'x', bytes);
		return bytes;
	}
	flow->closure(NULL, flow->user);
	free(flow);
	return 0;
}

static void pour(Rnic__Example__Echo_Service *service, const Rnic__Example__Amount *input,
		 Rnic__Example__Amount_Closure closure, void *user)
{
	struct flow *flow = malloc(sizeof(*flow));

	(void)service;
	(void)input;
	if (flow == NULL)
		die("preparing a stream", -ENOMEM);
	*flow = (struct flow){.closure = closure, .user = user};
	if (rnic_rpc_send_stream(user, produce, flow) != 0)
		die("sending a stream", -EINVAL);
}

static int serve_rdma(uint16_t port)
{
	Rnic__Example__Echo_Service service = {.echo = echo, .pour = pour};
	struct rnic_rpc_server *server;
	int error = rnic_rpc_create_server(NULL, port, &server);

	service.base.descriptor = &rnic__example__echo__descriptor;
	service.base.invoke = protobuf_c_service_invoke_internal;
	if (error == 0)
		error = rnic_rpc_server_add(server, &service.base);
	if (error != 0)
		die("making the server", error);
	printf("ready\n");
	fflush(stdout);
	while (error == 0 && !is_over)
		error = rnic_rpc_server_turn(server, -1);
	rnic_rpc_destroy_server(server);
	return error == 0 ? 0 : 1;
}

static void take_answer(uint32_t status, const ProtobufCMessage *output, void *user)
{
	(void)output;
	if (status != RNIC_RPC_OK) {
		fprintf(stderr, "rpc_bench: %s\n", rnic_rpc_status_text(status));
		exit(1);
	}
	note_answered(user);
}

static void ignore_answer(uint32_t status, const ProtobufCMessage *output, void *user)
{
	(void)status;
	(void)output;
	*(bool *)user = true;
}

static void begin(struct rnic_rpc_client *client, const Rnic__Example__Text *request,
		  rnic_rpc_closure *closure, void *user)
{
	uint64_t call;
	int error = rnic_rpc_begin(client, &rnic__example__echo__descriptor, 0, &request->base,
				   NULL, closure, user, &call);

	if (error != 0)
		die("calling", error);
}

static void end_server(struct rnic_rpc_client *client)
{
	Rnic__Example__Text last = RNIC__EXAMPLE__TEXT__INIT;
	bool has_ended = false;

	begin(client, &last, ignore_answer, &has_ended);
	while (!has_ended && rnic_rpc_client_turn(client, -1) == 0)
		;
}

static double call_rdma(struct bench *bench, enum rnic_rpc_transport transport, const char *host,
			uint16_t port)
{
	const struct rnic_rpc_options options = {.transport = transport};
	struct rnic_rpc_client *client;
	double begin_s = now_s();
	int error = rnic_rpc_create_client(&options, host, port, &client);

	while (error == 0 && (may_begin(bench) || bench->answered < bench->begun)) {
		while (may_begin(bench)) {
			note_begun(bench);
			begin(client, &bench->request, take_answer, bench);
		}
		error = rnic_rpc_client_turn(client, -1);
	}
	if (error != 0)
		die("calling", error);
	begin_s = now_s() - begin_s;
	end_server(client);
	rnic_rpc_destroy_client(client);
	return begin_s;
}

enum { POUR_METHOD = 3 };

struct taken {
	double first_s;
	double last_s;
	uint64_t first_bytes; /* of the first chunk, from whose end on the time counts */
	uint64_t bytes;
	bool has_ended;
};

static void take_bytes(const void *bytes, size_t count, void *user)
{
	struct taken *taken = user;

	(void)bytes;
	taken->last_s = now_s();
	if (taken->bytes == 0) {
		taken->first_s = taken->last_s;
		taken->first_bytes = count;
	}
	taken->bytes += count;
}

static void end_stream(uint32_t status, const ProtobufCMessage *output, void *user)
{
	struct taken *taken = user;

	(void)output;
	taken->has_ended = true;
	if (status == RNIC_RPC_CANCELLED)
		return;
	fprintf(stderr, "rpc_bench: %s\n", rnic_rpc_status_text(status));
	exit(1);
}

static int take_stream(const char *route, const char *host, uint16_t port, double duration_s)
{
	const struct rnic_rpc_options options = {
		.transport = strcmp(route, "rc") == 0 ? RNIC_RPC_RC : RNIC_RPC_UD};
	Rnic__Example__Amount amount = RNIC__EXAMPLE__AMOUNT__INIT;
	struct taken taken = {0};
	struct rnic_rpc_client *client;
	double begin_s = now_s();
	uint64_t call;
	int error = rnic_rpc_create_client(&options, host, port, &client);

	if (error == 0)
		error = rnic_rpc_begin_stream(client, &rnic__example__echo__descriptor, POUR_METHOD,
					      &amount.base, NULL, take_bytes, end_stream, &taken,
					      &call);
	while (error == 0 && now_s() < begin_s + duration_s)
		error = rnic_rpc_client_turn(client, 100);
	if (error == 0 && taken.last_s <= taken.first_s)
		error = -ETIMEDOUT;
	if (error != 0)
		die("taking a stream", error);
	rnic_rpc_cancel(client, call);
	while (!taken.has_ended && rnic_rpc_client_turn(client, -1) == 0)
		;
	end_server(client);
	rnic_rpc_destroy_client(client);
	printf("{\"bytes\": %llu, \"gbit_per_s\": %.3f, \"first_ms\": %.2f}\n",
	       (unsigned long long)taken.bytes,
	       (double)(taken.bytes - taken.first_bytes) * 8e-9 / (taken.last_s - taken.first_s),
	       (taken.first_s - begin_s) * 1e3);
	return 0;
}

/* --- by TCP: the length, 32 bits, before each message ----------------------------------------- */

struct stream {
	int fd;
	size_t in_bytes;
	size_t out_bytes;
	uint8_t in[BUFFER_BYTES];
	uint8_t out[BUFFER_BYTES];
};

static void put(struct stream *stream, const Rnic__Example__Text *text)
{
	size_t bytes = rnic__example__text__get_packed_size(text);
	uint32_t prefix = htobe32((uint32_t)bytes);

	memcpy(stream->out + stream->out_bytes, &prefix, PREFIX_BYTES);
	rnic__example__text__pack(text, stream->out + stream->out_bytes + PREFIX_BYTES);
	stream->out_bytes += PREFIX_BYTES + bytes;
}

static void flush_stream(struct stream *stream)
{
	for (size_t sent = 0; sent < stream->out_bytes;) {
		ssize_t count = write(stream->fd, stream->out + sent, stream->out_bytes - sent);

		if (count < 0)
			die("sending", -errno);
		sent += (size_t)count;
	}
	stream->out_bytes = 0;
}

/* Reads what there is; false: the end. */
static bool fill(struct stream *stream)
{
	ssize_t count =
		read(stream->fd, stream->in + stream->in_bytes, BUFFER_BYTES - stream->in_bytes);

	if (count < 0)
		die("receiving", -errno);
	stream->in_bytes += (size_t)count;
	return count > 0;
}

/* The next whole message, or NULL. */
static Rnic__Example__Text *get(struct stream *stream, size_t *at)
{
	Rnic__Example__Text *text;
	uint32_t bytes;

	if (stream->in_bytes - *at < PREFIX_BYTES)
		return NULL;
	memcpy(&bytes, stream->in + *at, PREFIX_BYTES);
	bytes = be32toh(bytes);
	if (stream->in_bytes - *at - PREFIX_BYTES < bytes)
		return NULL;
	text = rnic__example__text__unpack(NULL, bytes, stream->in + *at + PREFIX_BYTES);
	if (text == NULL)
		die("unpacking", -EBADMSG);
	*at += PREFIX_BYTES + bytes;
	return text;
}

static void drop_taken(struct stream *stream, size_t taken)
{
	stream->in_bytes -= taken;
	memmove(stream->in, stream->in + taken, stream->in_bytes);
}

static void set_address(struct sockaddr_in *address, const char *host, uint16_t port)
{
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (host != NULL && inet_pton(AF_INET, host, &address->sin_addr) != 1)
		die("the address", -EINVAL);
}

static int serve_tcp(uint16_t port)
{
	static struct stream stream;
	Rnic__Example__Text *text;
	struct sockaddr_in address;
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_address(&address, NULL, port);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 1) != 0)
		die("listening", -errno);
	printf("ready\n");
	fflush(stdout);
	stream.fd = accept(listener, NULL, NULL);
	if (stream.fd < 0)
		die("accepting", -errno);
	setsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (fill(&stream)) {
		size_t at = 0;

		while ((text = get(&stream, &at)) != NULL) {
			put(&stream, text);
			rnic__example__text__free_unpacked(text, NULL);
		}
		drop_taken(&stream, at);
		flush_stream(&stream);
	}
	close(stream.fd);
	close(listener);
	return 0;
}

static double call_tcp(struct bench *bench, const char *host, uint16_t port)
{
	static struct stream stream;
	struct sockaddr_in address;
	double begin_s = now_s();
	int one = 1;

	set_address(&address, host, port);
	stream.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(stream.fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die("connecting", -errno);
	setsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (may_begin(bench) || bench->answered < bench->begun) {
		Rnic__Example__Text *text;
		size_t at = 0;

		while (may_begin(bench)) {
			note_begun(bench);
			put(&stream, &bench->request);
		}
		flush_stream(&stream);
		if (!fill(&stream))
			die("receiving", -ECONNRESET);
		while ((text = get(&stream, &at)) != NULL) {
			rnic__example__text__free_unpacked(text, NULL);
			note_answered(bench);
		}
		drop_taken(&stream, at);
	}
	close(stream.fd);
	return now_s() - begin_s;
}

static int run_client(const char *route, const char *host, uint16_t port, double duration_s,
		      long at_once)
{
	static struct bench bench;
	double seconds;

	rnic__example__text__init(&bench.request);
	memset(bench.text, 'x', TEXT_BYTES);
	bench.request.text = bench.text;
	bench.end_s = now_s() + duration_s;
	bench.at_once = at_once < AT_ONCE_MAX ? at_once : AT_ONCE_MAX;
	bench.times_s = calloc(TIMES_MAX, sizeof(*bench.times_s));
	if (bench.times_s == NULL)
		die("preparing", -ENOMEM);
	if (strcmp(route, "tcp") == 0)
		seconds = call_tcp(&bench, host, port);
	else
		seconds = call_rdma(&bench, strcmp(route, "rc") == 0 ? RNIC_RPC_RC : RNIC_RPC_UD,
				    host, port);
	print_result(&bench, seconds);
	free(bench.times_s);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		uint16_t port = (uint16_t)atoi(argv[3]);

		return strcmp(argv[2], "tcp") == 0 ? serve_tcp(port) : serve_rdma(port);
	}
	if (argc == 7 && strcmp(argv[1], "call") == 0)
		return run_client(argv[2], argv[3], (uint16_t)atoi(argv[4]), atof(argv[5]),
				  atol(argv[6]));
	if (argc == 6 && strcmp(argv[1], "stream") == 0)
		return take_stream(argv[2], argv[3], (uint16_t)atoi(argv[4]), atof(argv[5]));
	fprintf(stderr, "usage: rpc_bench serve rdma|tcp PORT\n"
			"       rpc_bench call ud|rc|tcp HOST PORT SECONDS AT_ONCE\n"
			"       rpc_bench stream ud|rc HOST PORT SECONDS\n");
	return 1;
}
