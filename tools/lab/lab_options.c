/* SPDX-License-Identifier: MIT */
#include "tools/lab/lab_options.h"

#include "proto/base/bits.h"
#include "tools/lab/link/segment_buffer.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_BIND = 256,
	OPTION_TIMEOUT,
	OPTION_TRIES,
	OPTION_ONCE,
	OPTION_MTU,
	OPTION_ACK_TIMEOUT,
	OPTION_RETRY_COUNT,
	OPTION_SEGMENTS,
	OPTION_ALLOW_LAMBDA,
	OPTION_SECRET,
	OPTION_TABLE,
	OPTION_CODE,
	OPTION_INPUT,
	OPTION_CPU_LIMIT,
	OPTION_WALL_LIMIT,
	OPTION_MEMORY_LIMIT,
	OPTION_BYTES,
	OPTION_COUNT,
	OPTION_RECEIVE_AFTER,
	OPTION_FAULT,
	OPTION_CAPTURES,
	OPTION_JSON,
	OPTION_INSIDE,
};

enum { TRACE_MTU_BYTES = 1024, TRACE_BYTES_MAX = 65536, TRACE_COUNT_MAX = 8 };
enum { BUFFER_BYTES = 4096, LAMBDA_BUFFER_BYTES = 1 << 20, LAMBDA_BUFFER_BYTES_MIN = 1024 };

static const struct argp_option argp_options[] = {
	{NULL, 0, NULL, 0, "Meeting the peer:", 1},
	{"port", 'p', "PORT", 0, "TCP port of the server (7471)", 1},
	{"bind", OPTION_BIND, "ADDRESS", 0, "address of the server (all)", 1},
	{"timeout", OPTION_TIMEOUT, "SECONDS", 0, "longest time for an answer of the peer (10)", 1},
	{"tries", OPTION_TRIES, "N", 0, "attempts to reach the server (5)", 1},
	{"once", OPTION_ONCE, NULL, 0, "end with the first served client, and with its status", 1},
	{NULL, 0, NULL, 0, "The RNIC:", 2},
	{"device", 'd', "NAME", 0, "RDMA device (the first)", 2},
	{"gid-index", 'g', "N", 0, "address to use (the best match for the peer's)", 2},
	{"mtu", OPTION_MTU, "BYTES", 0, "largest payload of a packet: 256 to 4096 (the port's)", 2},
	{"ack-timeout", OPTION_ACK_TIMEOUT, "N", 0, "4.096 us * 2^N before a retry: 1 to 31 (14)",
	 2},
	{"retry-count", OPTION_RETRY_COUNT, "N", 0,
	 "retries before the peer counts as gone: 0 to 7 (7)", 2},
	{"buffer-size", 'b', "BYTES", 0, "the longest message (4096, for lambda 1048576)", 2},
	{"segments", OPTION_SEGMENTS, "N", 0, "memory pieces of a message: 1 to 32 (1)", 2},
	{NULL, 0, NULL, 0, "Lambda, both sides:", 3},
	{"secret", OPTION_SECRET, "FILE", 0, "the secret of server and clients, at least 16 bytes",
	 3},
	{NULL, 0, NULL, 0, "Lambda, the server:", 4},
	{"allow-lambda", OPTION_ALLOW_LAMBDA, NULL, 0, "run the code of clients, confined", 4},
	{"table", OPTION_TABLE, "FILE", 0, "a file that functions may read", 4},
	{"cpu-limit", OPTION_CPU_LIMIT, "SECONDS", 0, "CPU time of a function (1)", 4},
	{"wall-limit", OPTION_WALL_LIMIT, "SECONDS", 0, "real time of a function (5)", 4},
	{"memory-limit", OPTION_MEMORY_LIMIT, "BYTES", 0, "stack of a function (1048576)", 4},
	{NULL, 0, NULL, 0, "Lambda, the client:", 5},
	{"code", OPTION_CODE, "FILE", 0, "the function, of rnic-lambda-cc (a word count)", 5},
	{"input", OPTION_INPUT, "FILE", 0, "the input (each line of the standard input)", 5},
	{NULL, 0, NULL, 0, "Trace:", 6},
	{"bytes", OPTION_BYTES, "BYTES", 0, "of each message: 1 to 65536 (3000)", 6},
	{"count", OPTION_COUNT, "N", 0, "work requests: 1 to 8 (1)", 6},
	{"fault", OPTION_FAULT, "SPEC", 0, "what goes wrong, as of rnicd(8), at the receiver", 6},
	{"receive-after", OPTION_RECEIVE_AFTER, "MS", 0,
	 "post the receives so long after the work requests: 1 to 1000", 6},
	{"captures", OPTION_CAPTURES, "DIRECTORY", 0, "keep a.pcapng and b.pcapng there", 6},
	{"json", OPTION_JSON, NULL, 0, "print JSON, one object a line", 6},
	{"inside", OPTION_INSIDE, "FD", OPTION_HIDDEN, "", 6},
	{0},
};

static uint32_t lab_options_number(struct argp_state *state, const char *what, const char *text,
				   uint32_t min, uint32_t max)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < min || value > max)
		argp_error(state, "%s is a number from %u to %u, not \"%s\"", what, min, max, text);
	return (uint32_t)value;
}

static uint32_t mtu(struct argp_state *state, const char *text)
{
	uint32_t bytes = lab_options_number(state, "--mtu", text, 256, 4096);

	if (!rnic_is_power_of_two(bytes))
		argp_error(state, "--mtu is 256, 512, 1024, 2048 or 4096");
	return bytes;
}

static enum lab_mode_id mode(struct argp_state *state, const char *name)
{
	static const char *const names[] = {
		[LAB_SEND] = "send",	 [LAB_WRITE] = "write", [LAB_READ] = "read",
		[LAB_LAMBDA] = "lambda", [LAB_TRACE] = "trace",
	};

	for (size_t i = LAB_SEND; i < RNIC_COUNT_OF(names); i++) {
		if (strcmp(names[i], name) == 0)
			return (enum lab_mode_id)i;
	}
	argp_error(state, "there is no mode \"%s\"", name);
	return 0;
}

static const struct trace_operation *operation(struct argp_state *state, const char *name)
{
	const struct trace_operation *found = trace_operation_find(name);

	if (found == NULL)
		argp_error(state, "trace shows send, write, write-imm, read or add, not \"%s\"",
			   name);
	return found;
}

static void argument(struct lab_options *options, char *text, struct argp_state *state)
{
	if (state->arg_num == 0)
		options->mode = mode(state, text);
	else if (state->arg_num == 1 && options->mode == LAB_TRACE)
		options->operation = operation(state, text);
	else if (state->arg_num == 1)
		options->server = text;
	else
		argp_error(state, "one server is enough");
}

static void lab_options_check(struct lab_options *options, struct argp_state *state)
{
	bool is_lambda = options->mode == LAB_LAMBDA, is_trace = options->mode == LAB_TRACE;

	if (is_trace && options->operation == NULL)
		argp_error(state, "trace what: send, write, write-imm, read or add?");
	if (is_trace && options->mtu_bytes == 0)
		options->mtu_bytes = TRACE_MTU_BYTES;
	if (options->buffer_bytes == 0)
		options->buffer_bytes = is_lambda ? LAMBDA_BUFFER_BYTES : BUFFER_BYTES;
	if (is_lambda && options->buffer_bytes < LAMBDA_BUFFER_BYTES_MIN)
		argp_error(state, "--buffer-size of lambda is at least %d",
			   LAMBDA_BUFFER_BYTES_MIN);
}

/* The options of both sides and all modes. */
static error_t parse_link(int key, char *text, struct argp_state *state)
{
	struct lab_options *options = state->input;

	switch (key) {
	case 'p':
		options->port = (uint16_t)lab_options_number(state, "--port", text, 0, UINT16_MAX);
		break;
	case OPTION_BIND:
		options->bind_address = text;
		break;
	case OPTION_TIMEOUT:
		options->timeout_s = lab_options_number(state, "--timeout", text, 1, 3600);
		break;
	case OPTION_TRIES:
		options->tries = lab_options_number(state, "--tries", text, 1, 100);
		break;
	case OPTION_ONCE:
		options->is_once = true;
		break;
	case 'd':
		options->device = text;
		break;
	case 'g':
		options->gid_index =
			(int)lab_options_number(state, "--gid-index", text, 0, UINT8_MAX);
		break;
	case OPTION_MTU:
		options->mtu_bytes = mtu(state, text);
		break;
	case OPTION_ACK_TIMEOUT:
		options->ack_timeout =
			(uint8_t)lab_options_number(state, "--ack-timeout", text, 1, 31);
		break;
	case OPTION_RETRY_COUNT:
		options->retry_count =
			(uint8_t)lab_options_number(state, "--retry-count", text, 0, 7);
		break;
	case 'b':
		options->buffer_bytes = lab_options_number(state, "--buffer-size", text, 16,
							   LAB_REGION_BYTES_MAX / 2);
		break;
	case OPTION_SEGMENTS:
		options->segments = lab_options_number(state, "--segments", text, 1, SEGMENTS_MAX);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse_lambda(int key, char *text, struct argp_state *state)
{
	struct lab_options *options = state->input;

	switch (key) {
	case OPTION_ALLOW_LAMBDA:
		options->is_lambda_allowed = true;
		break;
	case OPTION_SECRET:
		options->secret = text;
		break;
	case OPTION_TABLE:
		options->table = text;
		break;
	case OPTION_CODE:
		options->code = text;
		break;
	case OPTION_INPUT:
		options->input = text;
		break;
	case OPTION_CPU_LIMIT:
		options->cpu_limit_s = lab_options_number(state, "--cpu-limit", text, 1, 3600);
		break;
	case OPTION_WALL_LIMIT:
		options->wall_limit_s = lab_options_number(state, "--wall-limit", text, 1, 3600);
		break;
	case OPTION_MEMORY_LIMIT:
		options->memory_limit_bytes =
			lab_options_number(state, "--memory-limit", text, 1 << 16, 1 << 30);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse_trace(int key, char *text, struct argp_state *state)
{
	struct lab_options *options = state->input;

	switch (key) {
	case OPTION_BYTES:
		options->bytes = lab_options_number(state, "--bytes", text, 1, TRACE_BYTES_MAX);
		break;
	case OPTION_COUNT:
		options->count = lab_options_number(state, "--count", text, 1, TRACE_COUNT_MAX);
		break;
	case OPTION_RECEIVE_AFTER:
		options->receive_after_ms =
			lab_options_number(state, "--receive-after", text, 1, 1000);
		break;
	case OPTION_FAULT:
		options->fault = text;
		break;
	case OPTION_CAPTURES:
		options->captures = text;
		break;
	case OPTION_JSON:
		options->is_json = true;
		break;
	case OPTION_INSIDE:
		options->inside_fd = (int)lab_options_number(state, "--inside", text, 0, INT_MAX);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t lab_options_parse(int key, char *text, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		argument(state->input, text, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which mode: send, write, read, lambda or trace?");
		return 0;
	case ARGP_KEY_END:
		lab_options_check(state->input, state);
		return 0;
	default:
		if (parse_link(key, text, state) == 0)
			return 0;
		if (parse_lambda(key, text, state) == 0)
			return 0;
		return parse_trace(key, text, state);
	}
}

void lab_options_read(struct lab_options *options, int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = lab_options_parse,
		.args_doc = "send|write|read|lambda|trace "
			    "[SERVER|send|write|write-imm|read|add]",
		.doc = "The operations of an RDMA network interface, one at a time. Without SERVER "
		       "this is a server, with a server's name or address its client. Trace "
		       "runs an operation between two hosts of its own, and shows each step and "
		       "packet.",
	};

	*options = (struct lab_options){
		.port = LAB_DEFAULT_PORT,
		.timeout_s = 10,
		.tries = 5,
		.gid_index = LAB_GID_BY_ADDRESS,
		.ack_timeout = 14,
		.retry_count = 7,
		.segments = 1,
		.cpu_limit_s = 1,
		.wall_limit_s = 5,
		.memory_limit_bytes = 1 << 20,
		.bytes = 3000,
		.count = 1,
		.inside_fd = -1,
		.arguments = argv,
	};
	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
