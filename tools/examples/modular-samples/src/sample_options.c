/* SPDX-License-Identifier: MIT */
#include "sample_options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

#define MAX_BYTES    (1u << 30)
#define MAX_MESSAGES 100000000u
#define MAX_SECONDS  (INT_MAX / 1000)
#define MAX_PORT     65535

static const char server_usage[] =
	" [-a ADDRESS] [-s BYTES] [-n CLIENTS] [-t SECONDS] [-v] [PORT]\n"
	"  -a  listen at this address only\n"
	"  -s  size of the buffer (65536)\n"
	"  -n  end after so many clients (none: until a signal)\n"
	"  -t  how long to wait for a client that was accepted (10)\n"
	"  -v  show what is built\n";

static const char client_usage[] = " [-s BYTES] [-c COUNT] [-t SECONDS] [-v] HOST [PORT]\n"
				   "  -s  size of a message (4096)\n"
				   "  -c  how many messages, one after the other (4)\n"
				   "  -t  how long to wait for anything (10)\n"
				   "  -v  show what is built\n";

_Noreturn static void show_usage(const char *usage, int status)
{
	fprintf(status == 0 ? stdout : stderr, "usage: %s%s", program_invocation_short_name, usage);
	exit(status);
}

static uint32_t number(const char *text, uint32_t most, const char *usage)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno == 0 && end != text && *end == '\0' && *text != '-' && value > 0 && value <= most)
		return (uint32_t)value;
	LOG("%s is no number from 1 to %u", text, most);
	show_usage(usage, 2);
}

/* A number, or the name of a service. The resolver would cut a number to 16 bits. */
static const char *port_of(const char *text, const char *usage)
{
	if (text[strspn(text, "-0123456789")] == '\0')
		number(text, MAX_PORT, usage);
	return text;
}

static void read_options(int argc, char **argv, const char *letters, const char *usage,
			 struct sample_options *options)
{
	int letter;

	while ((letter = getopt(argc, argv, letters)) != -1) {
		switch (letter) {
		case 'a':
			options->host = optarg;
			break;
		case 's':
			options->bytes = number(optarg, MAX_BYTES, usage);
			break;
		case 'c':
			options->messages = number(optarg, MAX_MESSAGES, usage);
			break;
		case 'n':
			options->clients = number(optarg, MAX_MESSAGES, usage);
			break;
		case 't':
			options->timeout_ms = (int)number(optarg, MAX_SECONDS, usage) * 1000;
			break;
		case 'v':
			options->dump = true;
			break;
		default:
			show_usage(usage, letter == 'h' ? 0 : 2);
		}
	}
}

void options_of_server(int argc, char **argv, const char *port, struct sample_options *options)
{
	*options = (struct sample_options){.port = port, .bytes = 65536, .timeout_ms = 10000};
	read_options(argc, argv, "a:s:n:t:vh", server_usage, options);
	if (argc - optind > 1)
		show_usage(server_usage, 2);
	if (optind < argc)
		options->port = port_of(argv[optind], server_usage);
}

void options_of_client(int argc, char **argv, const char *port, struct sample_options *options)
{
	*options = (struct sample_options){
		.port = port,
		.bytes = 4096,
		.messages = 4,
		.timeout_ms = 10000,
	};
	read_options(argc, argv, "s:c:t:vh", client_usage, options);
	if (argc - optind < 1 || argc - optind > 2)
		show_usage(client_usage, 2);
	options->host = argv[optind];
	if (argc - optind == 2)
		options->port = port_of(argv[optind + 1], client_usage);
}

struct rdma_ctx options_context(const struct sample_options *options, int stop)
{
	return (struct rdma_ctx){
		.stop = stop,
		.timeout_ms = options->timeout_ms,
		.dump = options->dump,
	};
}
