/* SPDX-License-Identifier: MIT */
/*
 * What plain UDP sockets do on this machine, to set beside what the RNIC does on top of them: a
 * stream cut and merged by the kernel (UDP_SEGMENT, UDP_GRO), and a ping-pong that blocks or spins.
 *
 *   udp_baseline receive                     and   udp_baseline send --to IP
 *   udp_baseline echo [--spin]               and   udp_baseline ping --to IP [--spin]
 *
 * Receivers print "ready" once they are bound. Each prints one JSON object at its end. A stream has
 * no flow control: what counts is what the receiver got.
 *
 * With --icrc a stream does what every RNIC over UDP sockets must do: each segment is a packet of
 * headers, payload and ICRC, the sender computes the ICRC, and the receiver checks the ICRC and
 * copies the payload to its place. Payload alone counts.
 */
#include "proto/base/vector_registers.h"

#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	DEFAULT_PORT = 4790,
	DATAGRAM_BYTES_MAX = 65507,
	SEGMENTS_MAX = 64,
	SEGMENT_BYTES_MAX = 32768,
	SOCKET_BUFFER_BYTES = 4 << 20,
	FIRST_DATAGRAM_SECONDS = 20, /* how long a receiver waits for somebody to begin */
	SILENCE_MILLISECONDS = 300,  /* what ends a stream */
	WARM_UP_ROUNDS = 200,
	CLOCK_EVERY = 64, /* sends between two looks at the clock */
	HEADER_BYTES = 20,
	ICRC_BYTES = 4,
	MESSAGE_PACKETS = 16, /* payload of so many packets has places of its own */
};

struct baseline_options {
	const char *mode;
	struct sockaddr_in peer;
	uint16_t port;
	uint32_t segment_bytes;
	uint32_t message_bytes;
	uint32_t rounds;
	double seconds;
	bool spin;
	bool icrc;
};

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "udp_baseline: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void set_option(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)) < 0)
		fail(what);
}

static void set_receive_timeout(int fd, uint64_t milliseconds)
{
	struct timeval timeout = {
		.tv_sec = (time_t)(milliseconds / 1000),
		.tv_usec = (suseconds_t)(milliseconds % 1000 * 1000),
	};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
		fail("SO_RCVTIMEO");
}

static int open_socket(uint16_t port)
{
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_ANY),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	set_option(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER_BYTES, "SO_RCVBUF");
	set_option(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER_BYTES, "SO_SNDBUF");
	set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "IP_MTU_DISCOVER");
	if (bind(fd, (struct sockaddr *)&local, sizeof(local)) < 0)
		fail("bind");
	return fd;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* Of a segment on the wire. */
static uint32_t packet_bytes(const struct baseline_options *options)
{
	return options->segment_bytes + (options->icrc ? HEADER_BYTES + ICRC_BYTES : 0);
}

static uint32_t packet_icrc(const uint8_t *packet, size_t bytes)
{
	uint32_t icrc = crc32_gzip_refl(0, packet, bytes - ICRC_BYTES);

	rnic_vector_registers_release();
	return icrc;
}

/* A new number in each header makes each ICRC another one. */
static void seal_packets(uint8_t *bytes, uint32_t packets, size_t each_bytes, uint32_t *number)
{
	for (uint32_t i = 0; i < packets; i++) {
		uint8_t *packet = bytes + i * each_bytes;
		uint32_t icrc;

		memcpy(packet, number, sizeof(*number));
		++*number;
		icrc = packet_icrc(packet, each_bytes);
		memcpy(packet + each_bytes - ICRC_BYTES, &icrc, sizeof(icrc));
	}
}

/* Checks each packet and copies its payload to its place. Returns the bytes of payload. */
static uint64_t place_packets(const uint8_t *bytes, size_t length, size_t each_bytes,
			      uint8_t *message)
{
	size_t payload_bytes = each_bytes - HEADER_BYTES - ICRC_BYTES;
	uint64_t placed_bytes = 0;

	errno = EBADMSG;
	if (length % each_bytes != 0)
		fail("length of packets");
	for (size_t at = 0; at < length; at += each_bytes) {
		const uint8_t *packet = bytes + at;
		uint32_t icrc, number;

		memcpy(&icrc, packet + each_bytes - ICRC_BYTES, sizeof(icrc));
		if (icrc != packet_icrc(packet, each_bytes))
			fail("ICRC");
		memcpy(&number, packet, sizeof(number));
		memcpy(message + number % MESSAGE_PACKETS * payload_bytes, packet + HEADER_BYTES,
		       payload_bytes);
		placed_bytes += payload_bytes;
	}
	/* Nobody reads the message, and the copies must not go for that. */
	__asm__ volatile("" : : "r"(message) : "memory");
	return placed_bytes;
}

static int run_send(const struct baseline_options *options)
{
	static uint8_t bytes[DATAGRAM_BYTES_MAX];
	uint32_t each_bytes = packet_bytes(options), number = 0;
	uint32_t segments = DATAGRAM_BYTES_MAX / each_bytes;
	size_t send_bytes;
	int fd = open_socket(0);
	uint64_t start_ns, end_ns, sends = 0;

	if (segments > SEGMENTS_MAX)
		segments = SEGMENTS_MAX;
	send_bytes = (size_t)segments * each_bytes;
	set_option(fd, IPPROTO_UDP, UDP_SEGMENT, (int)each_bytes, "UDP_SEGMENT");
	start_ns = now_ns();
	end_ns = start_ns + (uint64_t)(options->seconds * 1e9);
	do {
		for (uint32_t i = 0; i < CLOCK_EVERY; i++) {
			if (options->icrc)
				seal_packets(bytes, segments, each_bytes, &number);
			if (sendto(fd, bytes, send_bytes, 0,
				   (const struct sockaddr *)&options->peer,
				   sizeof(options->peer)) < 0)
				fail("send");
			sends++;
		}
	} while (now_ns() < end_ns);
	printf("{\"sent_bytes\": %llu, \"sends\": %llu, \"seconds\": %.6f}\n",
	       (unsigned long long)(sends * segments * options->segment_bytes),
	       (unsigned long long)sends, (double)(now_ns() - start_ns) / 1e9);
	close(fd);
	return EXIT_SUCCESS;
}

static int run_receive(const struct baseline_options *options)
{
	static uint8_t bytes[UINT16_MAX + 1], message[MESSAGE_PACKETS * SEGMENT_BYTES_MAX];
	int fd = open_socket(options->port);
	uint64_t first_ns = 0, last_ns = 0, received_bytes = 0, receives = 0;
	double seconds;

	set_option(fd, IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
	set_receive_timeout(fd, FIRST_DATAGRAM_SECONDS * UINT64_C(1000));
	say_ready();
	for (;;) {
		ssize_t length = recv(fd, bytes, sizeof(bytes), 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && errno != EAGAIN)
			fail("receive");
		if (length < 0)
			break;
		last_ns = now_ns();
		if (!first_ns) {
			/* The clock starts here, so these bytes do not count. */
			first_ns = last_ns;
			set_receive_timeout(fd, SILENCE_MILLISECONDS);
			continue;
		}
		received_bytes += options->icrc ? place_packets(bytes, (size_t)length,
								packet_bytes(options), message)
						: (uint64_t)length;
		receives++;
	}
	close(fd);
	if (receives == 0) {
		fprintf(stderr, "udp_baseline: nothing came\n");
		return EXIT_FAILURE;
	}
	seconds = (double)(last_ns - first_ns) / 1e9;
	printf("{\"received_bytes\": %llu, \"receives\": %llu, \"seconds\": %.6f, "
	       "\"gbit_per_second\": %.3f, \"segments_per_second\": %.0f}\n",
	       (unsigned long long)received_bytes, (unsigned long long)receives, seconds,
	       (double)received_bytes * 8 / seconds / 1e9,
	       (double)received_bytes / options->segment_bytes / seconds);
	return EXIT_SUCCESS;
}

/* Waits for a datagram as the options say; false when none came in time. */
static bool receive_one(int fd, const struct baseline_options *options, uint8_t *bytes,
			struct sockaddr_in *from, size_t *length_bytes)
{
	uint64_t deadline_ns = now_ns() + FIRST_DATAGRAM_SECONDS * UINT64_C(1000000000);
	uint32_t tries = 0;

	for (;;) {
		socklen_t from_bytes = sizeof(*from);
		ssize_t length = recvfrom(fd, bytes, options->message_bytes,
					  options->spin ? MSG_DONTWAIT : 0, (struct sockaddr *)from,
					  &from_bytes);

		if (length >= 0) {
			*length_bytes = (size_t)length;
			return true;
		}
		if (errno != EAGAIN && errno != EINTR)
			fail("receive");
		if (++tries % CLOCK_EVERY == 0 || !options->spin) {
			if (now_ns() >= deadline_ns)
				return false;
		}
	}
}

/* Sends back what comes, until an empty datagram does. */
static int run_echo(const struct baseline_options *options)
{
	uint8_t *bytes = calloc(1, options->message_bytes);
	int fd = open_socket(options->port);
	uint64_t echoes = 0;
	struct sockaddr_in from;
	size_t length;

	if (!bytes)
		fail("memory");
	set_receive_timeout(fd, FIRST_DATAGRAM_SECONDS * UINT64_C(1000));
	say_ready();
	while (receive_one(fd, options, bytes, &from, &length) && length > 0) {
		if (sendto(fd, bytes, length, 0, (struct sockaddr *)&from, sizeof(from)) < 0)
			fail("send");
		echoes++;
	}
	printf("{\"echoes\": %llu}\n", (unsigned long long)echoes);
	free(bytes);
	close(fd);
	return EXIT_SUCCESS;
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static uint32_t ping_once(int fd, const struct baseline_options *options, uint8_t *bytes)
{
	uint64_t start_ns = now_ns();
	struct sockaddr_in from;
	size_t length;

	if (sendto(fd, bytes, options->message_bytes, 0, (const struct sockaddr *)&options->peer,
		   sizeof(options->peer)) < 0)
		fail("send");
	if (!receive_one(fd, options, bytes, &from, &length)) {
		fprintf(stderr, "udp_baseline: no answer\n");
		exit(EXIT_FAILURE);
	}
	return (uint32_t)(now_ns() - start_ns);
}

static int run_ping(const struct baseline_options *options)
{
	uint8_t *bytes = calloc(1, options->message_bytes);
	uint32_t *round_ns = calloc(options->rounds, sizeof(*round_ns));
	uint32_t count = options->rounds;
	int fd = open_socket(0);
	double total_ns = 0;

	if (!bytes || !round_ns)
		fail("memory");
	set_receive_timeout(fd, FIRST_DATAGRAM_SECONDS * UINT64_C(1000));
	for (uint32_t i = 0; i < WARM_UP_ROUNDS; i++)
		ping_once(fd, options, bytes);
	for (uint32_t i = 0; i < count; i++) {
		round_ns[i] = ping_once(fd, options, bytes);
		total_ns += round_ns[i];
	}
	sendto(fd, bytes, 0, 0, (const struct sockaddr *)&options->peer, sizeof(options->peer));
	qsort(round_ns, count, sizeof(*round_ns), compare_u32);
	printf("{\"rounds\": %u, \"median_us\": %.3f, \"average_us\": %.3f, "
	       "\"p99_us\": %.3f}\n",
	       count, round_ns[count / 2] / 2e3, total_ns / count / 2e3,
	       round_ns[(uint64_t)count * 99 / 100] / 2e3);
	free(round_ns);
	free(bytes);
	close(fd);
	return EXIT_SUCCESS;
}

enum { KEY_TO = 256, KEY_PORT, KEY_SEGMENT, KEY_SIZE, KEY_ROUNDS, KEY_SECONDS, KEY_SPIN, KEY_ICRC };

static const struct argp_option argp_options[] = {
	{"to", KEY_TO, "IP", 0, "IPv4 address of the receiver or echo", 0},
	{"port", KEY_PORT, "NUMBER", 0, "UDP port of the receiver or echo (4790)", 0},
	{"segment", KEY_SEGMENT, "BYTES", 0, "Payload of a datagram of a stream (4096)", 0},
	{"seconds", KEY_SECONDS, "SECONDS", 0, "How long to send a stream (2)", 0},
	{"size", KEY_SIZE, "BYTES", 0, "Payload of a ping (64)", 0},
	{"rounds", KEY_ROUNDS, "NUMBER", 0, "How many pings (20000)", 0},
	{"spin", KEY_SPIN, NULL, 0, "Spin on the socket instead of blocking", 0},
	{"icrc", KEY_ICRC, NULL, 0, "Make, check and copy packets of a stream, with an ICRC", 0},
	{0},
};

static uint32_t parse_number(struct argp_state *state, const char *text, uint32_t max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || value == 0 || value > max)
		argp_error(state, "\"%s\" is not a number from 1 to %u", text, max);
	return (uint32_t)value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct baseline_options *options = state->input;

	switch (key) {
	case KEY_TO:
		if (inet_pton(AF_INET, argument, &options->peer.sin_addr) != 1)
			argp_error(state, "\"%s\" is not an IPv4 address", argument);
		options->peer.sin_family = AF_INET;
		return 0;
	case KEY_PORT:
		options->port = (uint16_t)parse_number(state, argument, UINT16_MAX);
		return 0;
	case KEY_SEGMENT:
		options->segment_bytes = parse_number(state, argument, SEGMENT_BYTES_MAX);
		return 0;
	case KEY_SECONDS:
		options->seconds = strtod(argument, NULL);
		return 0;
	case KEY_SIZE:
		options->message_bytes = parse_number(state, argument, DATAGRAM_BYTES_MAX);
		return 0;
	case KEY_ROUNDS:
		options->rounds = parse_number(state, argument, 100000000);
		return 0;
	case KEY_SPIN:
		options->spin = true;
		return 0;
	case KEY_ICRC:
		options->icrc = true;
		return 0;
	case ARGP_KEY_ARG:
		if (options->mode)
			return ARGP_ERR_UNKNOWN;
		options->mode = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "receive|send|echo|ping",
		.doc = "Bandwidth and latency of plain UDP sockets.",
	};
	static const struct {
		const char *name;
		bool needs_peer;
		int (*run)(const struct baseline_options *options);
	} modes[] = {
		{"receive", false, run_receive},
		{"send", true, run_send},
		{"echo", false, run_echo},
		{"ping", true, run_ping},
	};
	struct baseline_options options = {
		.port = DEFAULT_PORT,
		.segment_bytes = 4096,
		.message_bytes = 64,
		.rounds = 20000,
		.seconds = 2,
	};

	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	options.peer.sin_port = htons(options.port);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!options.mode || strcmp(options.mode, modes[i].name) != 0)
			continue;
		if (modes[i].needs_peer && options.peer.sin_family != AF_INET) {
			fprintf(stderr, "udp_baseline: %s needs --to\n", options.mode);
			return EXIT_FAILURE;
		}
		return modes[i].run(&options);
	}
	fprintf(stderr, "udp_baseline: say one of receive, send, echo, ping; see --help\n");
	return EXIT_FAILURE;
}
