/* SPDX-License-Identifier: MIT */
#include "lab_options.h"

#include "base/bits.h"
#include "segment_buffer.h"

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
};

static const struct argp_option argp_options[] = {
	{NULL, 0, NULL, 0, "Meeting the peer:", 1},
	{"port", 'p', "PORT", 0, "TCP port of the server (7471)", 1},
	{"bind", OPTION_BIND, "ADDRESS", 0, "where the server listens (everywhere)", 1},
	{"timeout", OPTION_TIMEOUT, "SECONDS", 0, "that the peer may take to answer (10)", 1},
	{"tries", OPTION_TRIES, "N", 0, "to reach the server (5)", 1},
	{"once", OPTION_ONCE, NULL, 0, "end with the first client, and with its status", 1},
	{NULL, 0, NULL, 0, "The RNIC:", 2},
	{"device", 'd', "NAME", 0, "RDMA device (the first)", 2},
	{"gid-index", 'g', "N", 0, "address to use (the one that fits that of the peer)", 2},
	{"mtu", OPTION_MTU, "BYTES", 0, "of a packet: 256 to 4096 (the port's)", 2},
	{"ack-timeout", OPTION_ACK_TIMEOUT, "N", 0, "4.096 us * 2^N to a retry: 1 to 31 (14)", 2},
	{"retry-count", OPTION_RETRY_COUNT, "N", 0, "before the peer counts as gone: 0 to 7 (7)",
	 2},
	{"buffer-size", 'b', "BYTES", 0, "the longest message (4096)", 2},
	{"segments", OPTION_SEGMENTS, "N", 0, "pieces of memory that a message is in: 1 to 32 (1)",
	 2},
	{0},
};

static uint32_t number(struct argp_state *state, const char *what, const char *text, uint32_t min,
		       uint32_t max)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < min || value > max)
		argp_error(state, "%s is a number from %u to %u, not \"%s\"", what, min, max, text);
	return (uint32_t)value;
}

static uint32_t mtu(struct argp_state *state, const char *text)
{
	uint32_t bytes = number(state, "--mtu", text, 256, 4096);

	if (!rnic_is_power_of_two(bytes))
		argp_error(state, "--mtu is 256, 512, 1024, 2048 or 4096");
	return bytes;
}

static enum lab_mode_id mode(struct argp_state *state, const char *name)
{
	static const char *const names[] = {
		[LAB_SEND] = "send",
		[LAB_WRITE] = "write",
		[LAB_READ] = "read",
	};

	for (size_t i = LAB_SEND; i < RNIC_COUNT_OF(names); i++) {
		if (strcmp(names[i], name) == 0)
			return (enum lab_mode_id)i;
	}
	argp_error(state, "there is no mode \"%s\"", name);
	return 0;
}

static void argument(struct lab_options *options, char *text, struct argp_state *state)
{
	if (state->arg_num == 0)
		options->mode = mode(state, text);
	else if (state->arg_num == 1)
		options->server = text;
	else
		argp_error(state, "one server is enough");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct lab_options *options = state->input;

	switch (key) {
	case 'p':
		options->port = (uint16_t)number(state, "--port", text, 0, UINT16_MAX);
		break;
	case OPTION_BIND:
		options->bind_address = text;
		break;
	case OPTION_TIMEOUT:
		options->timeout_s = number(state, "--timeout", text, 1, 3600);
		break;
	case OPTION_TRIES:
		options->tries = number(state, "--tries", text, 1, 100);
		break;
	case OPTION_ONCE:
		options->is_once = true;
		break;
	case 'd':
		options->device = text;
		break;
	case 'g':
		options->gid_index = (int)number(state, "--gid-index", text, 0, UINT8_MAX);
		break;
	case OPTION_MTU:
		options->mtu_bytes = mtu(state, text);
		break;
	case OPTION_ACK_TIMEOUT:
		options->ack_timeout = (uint8_t)number(state, "--ack-timeout", text, 1, 31);
		break;
	case OPTION_RETRY_COUNT:
		options->retry_count = (uint8_t)number(state, "--retry-count", text, 0, 7);
		break;
	case 'b':
		options->buffer_bytes =
			number(state, "--buffer-size", text, 16, LAB_REGION_BYTES_MAX / 2);
		break;
	case OPTION_SEGMENTS:
		options->segments = number(state, "--segments", text, 1, SEGMENTS_MAX);
		break;
	case ARGP_KEY_ARG:
		argument(options, text, state);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which mode: send, write or read?");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void lab_options_read(struct lab_options *options, int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "send|write|read [SERVER]",
		.doc = "The operations of an RDMA network interface, one at a time: a server "
		       "without "
		       "SERVER, its client with the server's name or address.",
	};

	*options = (struct lab_options){
		.port = LAB_DEFAULT_PORT,
		.timeout_s = 10,
		.tries = 5,
		.gid_index = LAB_GID_BY_ADDRESS,
		.ack_timeout = 14,
		.retry_count = 7,
		.buffer_bytes = 4096,
		.segments = 1,
	};
	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
