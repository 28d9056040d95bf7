/* SPDX-License-Identifier: MIT */
/*
 * An RPC server and client in one program, an example of <rnic/rpc.h>:
 *
 *     rpc_echo serve PORT [SECONDS]       serves until a signal, or for so long
 *     rpc_echo echo HOST PORT BYTES       calls once with so much text, and waits for the answer
 *     rpc_echo add HOST PORT COUNT        adds 1 so many times, all calls in flight at once; the
 *                                         last total must be COUNT: none was lost, none done twice
 *     rpc_echo hold HOST PORT TIMEOUT_MS  a call without an answer; 0: without a deadline
 *     rpc_echo cancel HOST PORT 0         likewise, and the caller gives it up
 *     rpc_echo stranger HOST PORT 0       calls a service that the server does not have
 *     rpc_echo pour HOST PORT BYTES       a stream of so many bytes; with a negative number the
 *                                         server fails at their end
 *     rpc_echo spill HOST PORT BYTES      gives the stream up when half of it has come, and then
 *                                         calls pour
 *
 * With "--rc" first, the client uses a connection instead of datagrams. The exit status is that of
 * the call (enum rnic_rpc_status), or 100 when the program could not call.
 */
#include "rpc_echo.pb-c.h"

#include <rnic/rpc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXIT_ERROR 100

static void rpc_echo_print_line(void *user, const char *sentence)
{
	(void)user;
	fprintf(stderr, "rpc_echo: %s\n", sentence);
}

static bool waits_for_server;
static struct rnic_rpc_options rpc_options = {.log = rpc_echo_print_line};

static int error_exit(const char *what, int error)
{
	fprintf(stderr, "rpc_echo: %s: %s\n", what, strerror(-error));
	return EXIT_ERROR;
}

/* --- the server: methods are functions with protobuf-c's signatures -------------------------- */

static int64_t total;

static void echo(Rnic__Example__Echo_Service *service, const Rnic__Example__Text *input,
		 Rnic__Example__Text_Closure closure, void *user)
{
	(void)service;
	closure(input, user);
}

static void add(Rnic__Example__Echo_Service *service, const Rnic__Example__Amount *input,
		Rnic__Example__Amount_Closure closure, void *user)
{
	Rnic__Example__Amount output = RNIC__EXAMPLE__AMOUNT__INIT;

	(void)service;
	total += input->amount;
	output.amount = total;
	closure(&output, user);
}

/* The server answers a held call, to no effect, when nobody waits for it any more. */
#define HELD_MAX 64
static struct {
	Rnic__Example__Text_Closure closure;
	void *user;
} held[HELD_MAX];
static size_t held_count;

static void rpc_echo_hold(Rnic__Example__Echo_Service *service, const Rnic__Example__Text *input,
			  Rnic__Example__Text_Closure closure, void *user)
{
	(void)service;
	(void)input;
	if (held_count == HELD_MAX) {
		closure(NULL, user);
		return;
	}
	held[held_count].closure = closure;
	held[held_count++].user = user;
}

static void rpc_echo_let_go(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < held_count; i++) {
		if (rnic_rpc_time_left_ms(held[i].user) == 0)
			held[i].closure(NULL, held[i].user);
		else
			held[kept++] = held[i];
	}
	held_count = kept;
}

/*
 * A stream: byte i comes from pattern(). Now and then the stream has no bytes until the next turn.
 */
#define FLOW_REST_CHUNKS 8
struct flow {
	int64_t chunks;
	struct flow *next_resting;
	int64_t made;
	int64_t bytes;
	bool fails;
	Rnic__Example__Amount_Closure closure;
	void *user;
};

static char pattern(int64_t at)
{
	return (char)('a' + at % 23);
}

static struct flow *resting; /* a list */

static void wake_resting(void)
{
	while (resting != NULL) {
		struct flow *flow = resting;

		resting = flow->next_resting;
		flow->next_resting = NULL;
		rnic_rpc_wake_stream(flow->user);
	}
}

static void forget_resting(const struct flow *flow)
{
	struct flow **at = &resting;

	while (*at != NULL && *at != flow)
		at = &(*at)->next_resting;
	if (*at != NULL)
		*at = flow->next_resting;
}

static void end_flow(struct flow *flow, bool is_good)
{
	Rnic__Example__Amount output = RNIC__EXAMPLE__AMOUNT__INIT;

	forget_resting(flow);
	output.amount = flow->made;
	flow->closure(is_good ? &output : NULL, flow->user);
	free(flow);
}

static size_t produce(void *user, void *room, size_t bytes)
{
	struct flow *flow = user;
	char *chunk = room;

	if (++flow->chunks % FLOW_REST_CHUNKS == 0 && room != NULL) {
		flow->next_resting = resting;
		resting = flow;
		return 0;
	}

	if (room == NULL || flow->made == flow->bytes) {
		end_flow(flow, room != NULL && !flow->fails);
		return 0;
	}
	if ((int64_t)bytes > flow->bytes - flow->made)
		bytes = (size_t)(flow->bytes - flow->made);
	for (size_t i = 0; i < bytes; i++)
		chunk[i] = pattern(flow->made++);
	return bytes;
}

static void pour(Rnic__Example__Echo_Service *service, const Rnic__Example__Amount *input,
		 Rnic__Example__Amount_Closure closure, void *user)
{
	struct flow *flow = calloc(1, sizeof(*flow));

	(void)service;
	if (flow == NULL || rnic_rpc_send_stream(user, produce, flow) != 0) {
		free(flow);
		closure(NULL, user);
		return;
	}
	flow->fails = input->amount < 0;
	flow->bytes = flow->fails ? -input->amount : input->amount;
	flow->closure = closure;
	flow->user = user;
}

static Rnic__Example__Echo_Service service = {
	.base = {.descriptor = NULL}, /* set by main() */
	.echo = echo,
	.add = add,
	.hold = rpc_echo_hold,
	.pour = pour,
};

static int rpc_echo_serve(uint16_t port, long seconds)
{
	time_t end = time(NULL) + seconds;
	struct rnic_rpc_server *server;
	int error = rnic_rpc_create_server(&rpc_options, port, &server);

	if (error != 0)
		return error_exit("making the server", error);
	error = rnic_rpc_server_add(server, &service.base);
	printf("port %u\n", rnic_rpc_server_port(server));
	fflush(stdout);
	while ((error == 0 || error == -EINTR) && (seconds == 0 || time(NULL) < end)) {
		error = rnic_rpc_server_turn(server, seconds == 0 ? -1 : 100);
		rpc_echo_let_go();
		wake_resting();
	}
	rnic_rpc_destroy_server(server);
	for (size_t i = 0; i < held_count; i++)
		held[i].closure(NULL, held[i].user);
	return error == 0 || error == -EINTR ? 0 : error_exit("serving", error);
}

/* --- clients ---------------------------------------------------------------------------------- */

static uint32_t call_echo(struct rnic_rpc_client *client, size_t bytes)
{
	const struct rnic_rpc_call_options options = {
		.timeout_ms = 30000, .is_idempotent = true, .wait_for_ready = waits_for_server};
	Rnic__Example__Text input = RNIC__EXAMPLE__TEXT__INIT;
	ProtobufCMessage *output = NULL;
	uint32_t status = RNIC_RPC_INTERNAL;
	int error;

	input.text = malloc(bytes + 1);
	if (input.text == NULL)
		return EXIT_ERROR;
	for (size_t i = 0; i < bytes; i++)
		input.text[i] = (char)('a' + i % 26);
	input.text[bytes] = 0;
	error = rnic_rpc_call(client, &rnic__example__echo__descriptor, 0, &input.base, &options,
			      &status, &output);
	if (error != 0)
		status = (uint32_t)error_exit("calling", error);
	if (output != NULL) {
		if (strcmp(((Rnic__Example__Text *)output)->text, input.text) != 0)
			status = (uint32_t)error_exit("the text came back changed", -EBADMSG);
		protobuf_c_message_free_unpacked(output, NULL);
	}
	free(input.text);
	return status;
}

static int64_t largest;
static long ended, failed;

static void note_total(const Rnic__Example__Amount *output, void *user)
{
	(void)user;
	ended++;
	if (output == NULL)
		failed++;
	else if (output->amount > largest)
		largest = output->amount;
}

/* Calls through the generated function, with the largest number in flight. */
static uint32_t call_add(struct rnic_rpc_client *client, long count)
{
	const struct rnic_rpc_call_options options = {.timeout_ms = 30000};
	ProtobufCService *stub =
		rnic_rpc_service(client, &rnic__example__echo__descriptor, &options);
	Rnic__Example__Amount one = RNIC__EXAMPLE__AMOUNT__INIT;
	int error = 0;
	long begun = 0;

	if (stub == NULL)
		return EXIT_ERROR;
	one.amount = 1;
	while (ended < count && (error == 0 || error == -EINTR)) {
		for (; begun < count && begun - ended < 200; begun++)
			rnic__example__echo__add(stub, &one, note_total, NULL);
		error = rnic_rpc_client_turn(client, -1);
	}
	protobuf_c_service_destroy(stub);
	printf("%ld calls, %ld failed, total %" PRId64 "\n", ended, failed, largest);
	return failed == 0 && largest == count ? RNIC_RPC_OK : RNIC_RPC_INTERNAL;
}

static uint32_t call_hold(struct rnic_rpc_client *client, uint32_t timeout_ms)
{
	const struct rnic_rpc_call_options options = {.timeout_ms = timeout_ms};
	Rnic__Example__Text input = RNIC__EXAMPLE__TEXT__INIT;
	ProtobufCMessage *output;
	uint32_t status;
	int error = rnic_rpc_call(client, &rnic__example__echo__descriptor, 2, &input.base,
				  &options, &status, &output);

	return error == 0 ? status : (uint32_t)error_exit("calling", error);
}

static void note_status(uint32_t status, const ProtobufCMessage *output, void *user)
{
	(void)output;
	*(uint32_t *)user = status;
}

/* Gives the call up once an echo has shown that the server has it. */
static uint32_t call_cancel(struct rnic_rpc_client *client)
{
	Rnic__Example__Text input = RNIC__EXAMPLE__TEXT__INIT;
	uint32_t status = RNIC_RPC_STATUS_COUNT;
	uint64_t call;
	int error = rnic_rpc_begin(client, &rnic__example__echo__descriptor, 2, &input.base, NULL,
				   note_status, &status, &call);

	if (error != 0)
		return (uint32_t)error_exit("calling", error);
	if (call_echo(client, 10) != RNIC_RPC_OK)
		return EXIT_ERROR;
	rnic_rpc_cancel(client, call);
	while (status == RNIC_RPC_STATUS_COUNT)
		if ((error = rnic_rpc_client_turn(client, -1)) != 0 && error != -EINTR)
			return (uint32_t)error_exit("waiting", error);
	return status;
}

struct drain {
	struct rnic_rpc_client *client;
	uint64_t call;
	int64_t come;
	int64_t enough; /* the size at which the client gives up */
	bool is_spoilt;
	bool has_ended;
	uint32_t status;
};

static void rpc_echo_take_chunk(const void *bytes, size_t count, void *user)
{
	struct drain *drain = user;
	const char *chunk = bytes;

	if (drain->come == 0)
		rpc_echo_print_line(NULL, "the first bytes have come");
	for (size_t i = 0; i < count; i++)
		drain->is_spoilt |= chunk[i] != pattern(drain->come++);
	if (drain->come >= drain->enough)
		rnic_rpc_cancel(drain->client, drain->call);
}

static void note_end(uint32_t status, const ProtobufCMessage *output, void *user)
{
	const Rnic__Example__Amount *amount = (const Rnic__Example__Amount *)output;
	struct drain *drain = user;

	drain->has_ended = true;
	drain->status = status;
	drain->is_spoilt |= amount != NULL && amount->amount != drain->come;
}

static uint32_t call_pour(struct rnic_rpc_client *client, int64_t bytes, int64_t enough)
{
	struct drain drain = {.client = client, .enough = enough};
	Rnic__Example__Amount input = RNIC__EXAMPLE__AMOUNT__INIT;
	int error;

	input.amount = bytes;
	error = rnic_rpc_begin_stream(client, &rnic__example__echo__descriptor, 3, &input.base,
				      NULL, rpc_echo_take_chunk, note_end, &drain, &drain.call);
	if (error != 0)
		return (uint32_t)error_exit("calling", error);
	while (!drain.has_ended)
		if ((error = rnic_rpc_client_turn(client, -1)) != 0 && error != -EINTR)
			return (uint32_t)error_exit("waiting", error);
	printf("%" PRId64 " bytes came\n", drain.come);
	return drain.is_spoilt ? (uint32_t)error_exit("the stream", -EBADMSG) : drain.status;
}

/* A stream that is given up must not disturb the next one. */
static uint32_t call_spill(struct rnic_rpc_client *client, int64_t bytes)
{
	uint32_t status = call_pour(client, bytes, bytes / 2);

	if (status != RNIC_RPC_CANCELLED)
		return EXIT_ERROR;
	return call_pour(client, bytes, INT64_MAX);
}

static uint32_t call_stranger(struct rnic_rpc_client *client)
{
	ProtobufCServiceDescriptor stranger = rnic__example__echo__descriptor;
	Rnic__Example__Text input = RNIC__EXAMPLE__TEXT__INIT;
	ProtobufCMessage *output;
	uint32_t status;
	int error;

	stranger.name = "rnic.example.Stranger";
	error = rnic_rpc_call(client, &stranger, 0, &input.base, NULL, &status, &output);
	return error == 0 ? status : (uint32_t)error_exit("calling", error);
}

static int run_client(const char *what, const char *host, uint16_t port, long number)
{
	struct rnic_rpc_client *client;
	uint32_t status = EXIT_ERROR;
	int error = rnic_rpc_create_client(&rpc_options, host, port, &client);

	if (error != 0)
		return error_exit("making the client", error);
	if (strcmp(what, "echo") == 0)
		status = call_echo(client, (size_t)number);
	else if (strcmp(what, "add") == 0)
		status = call_add(client, number);
	else if (strcmp(what, "hold") == 0)
		status = call_hold(client, (uint32_t)number);
	else if (strcmp(what, "cancel") == 0)
		status = call_cancel(client);
	else if (strcmp(what, "stranger") == 0)
		status = call_stranger(client);
	else if (strcmp(what, "pour") == 0)
		status = call_pour(client, number, INT64_MAX);
	else if (strcmp(what, "spill") == 0)
		status = call_spill(client, number);
	rnic_rpc_destroy_client(client);
	printf("%s: %s\n", what, rnic_rpc_status_text(status));
	return (int)status;
}

/* False, and a sentence: the text is no port. */
static bool parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && value <= UINT16_MAX) {
		*port = (uint16_t)value;
		return true;
	}
	fprintf(stderr, "rpc_echo: %s is no port from 0 to %d\n", text, UINT16_MAX);
	return false;
}

int main(int argc, char **argv)
{
	uint16_t port;

	service.base.descriptor = &rnic__example__echo__descriptor;
	service.base.invoke = protobuf_c_service_invoke_internal;
	for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; argc--, argv++) {
		if (strcmp(argv[1], "--rc") == 0)
			rpc_options.transport = RNIC_RPC_RC;
		else if (strcmp(argv[1], "--wait") == 0)
			waits_for_server = true;
		else
			break;
	}
	if (argc >= 3 && strcmp(argv[1], "serve") == 0)
		return parse_port(argv[2], &port)
			       ? rpc_echo_serve(port, argc > 3 ? atol(argv[3]) : 0)
			       : EXIT_ERROR;
	if (argc == 5)
		return parse_port(argv[3], &port)
			       ? run_client(argv[1], argv[2], port, atol(argv[4]))
			       : EXIT_ERROR;
	fprintf(stderr, "usage: rpc_echo serve PORT [SECONDS]\n"
			"       rpc_echo [--rc] [--wait] echo|add|hold|cancel|stranger|pour|spill "
			"HOST PORT "
			"NUMBER\n");
	return EXIT_ERROR;
}
