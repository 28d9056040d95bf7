/* SPDX-License-Identifier: MIT */
/*
 * A wire with a round trip: carries packets between two tap devices, which it makes, and which a
 * script moves into the namespaces of two hosts. Root.
 *
 *   path_forwarder LEFT RIGHT [--round-trip TIME] [--rate BITS] [--queue BYTES] [--loss PERCENT]
 *                  [--segments whole|cut] [--seed N]
 *
 *   host --- LEFT --> queue --> line of a rate --> half a round trip --> RIGHT --- host
 *
 * and the same the other way. Packets leave in the order in which they came, as the delay is the
 * same for all. What finds the queue full, what is lost by chance, and what a device refuses is
 * counted. The kernel hands over runs of segments as one packet (`whole`), so that the wire is not
 * the bottleneck. With --loss or --rate the kernel cuts them before, as a network does.
 *
 * Prints "ready" once the devices are there, and at its end (SIGTERM, SIGINT) one JSON object.
 */
#include "lib/nic/base/prng.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* USO of <linux/if_tun.h>, which older headers lack. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

enum {
	HEADER_BYTES = sizeof(struct virtio_net_hdr),
	PACKET_BYTES_MAX = HEADER_BYTES + 65536 + 64,
	BATCH = 64, /* packets that are taken from one device before the other has its turn */
	ALIGNMENT = 16,
};

/* Room for what 20 Gb/s have under way in 200 ms; pages that are never used cost nothing. */
#define STORE_BYTES ((uint64_t)512 << 20)

/* Lies in the store in front of the packet's bytes. */
struct held {
	uint64_t due_ns;
	uint32_t bytes; /* 0: the rest of the store was too small, the next begins at its start */
	uint32_t reserved;
};

/* One direction: a ring of packets by their time. */
struct way {
	int from, to;
	uint8_t *store;
	uint64_t head, tail;   /* they only grow; the place is the remainder by STORE_BYTES */
	uint64_t line_free_ns; /* when the line has sent what is in the queue */
	bool is_blocked;       /* the device takes no more for now */
	uint64_t carried, lost, overflowed, refused;
};

struct forwarder_options {
	const char *names[2];
	uint64_t delay_ns; /* half of the round trip */
	uint64_t bits_per_second;
	uint64_t queue_bytes;
	double loss;
	bool cut;
	uint64_t seed;
};

static struct forwarder_options options = {.queue_bytes = STORE_BYTES / 4, .seed = 1};
static struct prng losses;
static volatile sig_atomic_t is_ended;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "path_forwarder: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* The same losses for the same seed. */
static bool is_lost(void)
{
	return (double)(prng_next(&losses) >> 11) * 0x1p-53 < options.loss;
}

static int open_tap(const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	const unsigned checksum = TUN_F_CSUM;
	const unsigned segments = checksum | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_USO4 | TUN_F_USO6;
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		fail("/dev/net/tun");
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		fail(name);
	if (ioctl(fd, TUNSETOFFLOAD, options.cut ? checksum : segments) < 0)
		fail("TUNSETOFFLOAD");
	return fd;
}

/* --- what is under way ------------------------------------------------------------------------ */

static struct held *held_at(const struct way *way, uint64_t place)
{
	return (struct held *)(way->store + place % STORE_BYTES);
}

/* Where the next packet of any size goes; NULL: the store is full. */
static struct held *find_room(struct way *way)
{
	const uint64_t needed = sizeof(struct held) + PACKET_BYTES_MAX;
	const uint64_t rest = STORE_BYTES - way->tail % STORE_BYTES;
	const uint64_t skipped = rest < needed ? rest : 0;

	if (way->tail - way->head + skipped + needed > STORE_BYTES)
		return NULL;
	if (skipped > 0)
		held_at(way, way->tail)->bytes = 0;
	way->tail += skipped;
	return held_at(way, way->tail);
}

static void keep(struct way *way, const struct held *held)
{
	way->tail += (sizeof(*held) + held->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct held *oldest(struct way *way)
{
	if (way->head != way->tail && held_at(way, way->head)->bytes == 0)
		way->head += STORE_BYTES - way->head % STORE_BYTES;
	return way->head == way->tail ? NULL : held_at(way, way->head);
}

static void drop_oldest(struct way *way, const struct held *held)
{
	way->head += (sizeof(*held) + held->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- the line --------------------------------------------------------------------------------- */

/* Sets when the packet arrives; false: the queue has no room. */
static bool schedule(struct way *way, struct held *held, uint64_t now_ns)
{
	const uint64_t bits = (uint64_t)(held->bytes - HEADER_BYTES) * 8;

	held->due_ns = now_ns + options.delay_ns;
	if (options.bits_per_second == 0)
		return true;
	if (way->line_free_ns < now_ns)
		way->line_free_ns = now_ns;
	if ((double)(way->line_free_ns - now_ns) * (double)options.bits_per_second / 8e9 >
	    (double)options.queue_bytes)
		return false;
	way->line_free_ns += bits * RNIC_NS_PER_SECOND / options.bits_per_second;
	held->due_ns = way->line_free_ns + options.delay_ns;
	return true;
}

/* Takes what the host sends. Returns whether there may be more. */
static bool take(struct way *way)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		static uint8_t overflow[PACKET_BYTES_MAX];
		struct held *held = find_room(way);
		ssize_t bytes = read(way->from, held != NULL ? (void *)(held + 1) : overflow,
				     PACKET_BYTES_MAX);

		if (bytes <= HEADER_BYTES) {
			/* EIO: the device is down, or its namespace is gone. */
			if (bytes < 0 && errno != EAGAIN && errno != EINTR && errno != EIO)
				fail("read");
			return false;
		}
		if (options.loss > 0 && is_lost()) {
			way->lost++;
			continue;
		}
		if (held != NULL)
			held->bytes = (uint32_t)bytes;
		/* A time from before the packet came would make the round trip shorter. */
		if (held != NULL && schedule(way, held, clock_now_ns()))
			keep(way, held);
		else
			way->overflowed++;
	}
	return true;
}

/* Gives the other host what is due. */
static void give(struct way *way, uint64_t now_ns)
{
	struct held *held;

	while (!way->is_blocked && (held = oldest(way)) != NULL && held->due_ns <= now_ns) {
		if (write(way->to, held + 1, held->bytes) >= 0) {
			way->carried++;
		} else if (errno == EAGAIN) {
			way->is_blocked = true;
			return;
		} else {
			way->refused++; /* the device is down, for example */
		}
		drop_oldest(way, held);
	}
}

/* How long nothing is due; UINT64_MAX: nothing is under way. */
static uint64_t idle_ns(struct way *way, uint64_t now_ns)
{
	const struct held *held = way->is_blocked ? NULL : oldest(way);

	if (held == NULL)
		return UINT64_MAX;
	return held->due_ns > now_ns ? held->due_ns - now_ns : 0;
}

static void watch(int epoll_fd, int fd, uint32_t index, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u32 = index};

	if (epoll_ctl(epoll_fd, operation, fd, &event) < 0)
		fail("epoll_ctl");
}

/* Sleeps until a packet comes or is due. */
static void sleep_until_news(int epoll_fd, struct way ways[2])
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t left_ns = idle_ns(&ways[0], now_ns), right_ns = idle_ns(&ways[1], now_ns);
	const uint64_t ns = left_ns < right_ns ? left_ns : right_ns;
	const struct timespec wait = {.tv_sec = (time_t)(ns / RNIC_NS_PER_SECOND),
				      .tv_nsec = (long)(ns % RNIC_NS_PER_SECOND)};
	struct epoll_event events[2];
	int count = epoll_pwait2(epoll_fd, events, 2, ns == UINT64_MAX ? NULL : &wait, NULL);

	if (count < 0 && errno != EINTR)
		fail("epoll_pwait2");
	/* The device of way i gives to way i, and takes from the other. */
	for (int i = 0; i < count; i++)
		if (events[i].events & EPOLLOUT)
			ways[1 - events[i].data.u32].is_blocked = false;
}

static void forward(struct way ways[2])
{
	bool was_blocked[2] = {false, false};
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	for (uint32_t i = 0; i < 2; i++)
		watch(epoll_fd, ways[i].from, i, EPOLL_CTL_ADD, EPOLLIN);
	while (!is_ended) {
		bool has_more = false;

		for (uint32_t i = 0; i < 2; i++) {
			has_more |= take(&ways[i]);
			give(&ways[i], clock_now_ns());
			if (ways[i].is_blocked == was_blocked[i])
				continue;
			was_blocked[i] = ways[i].is_blocked;
			watch(epoll_fd, ways[i].to, 1 - i, EPOLL_CTL_MOD,
			      was_blocked[i] ? EPOLLIN | EPOLLOUT : EPOLLIN);
		}
		if (!has_more)
			sleep_until_news(epoll_fd, ways);
	}
	close(epoll_fd);
}

/* --- options ---------------------------------------------------------------------------------- */

enum { KEY_ROUND_TRIP = 256, KEY_RATE, KEY_QUEUE, KEY_LOSS, KEY_SEGMENTS, KEY_SEED };

static const struct argp_option argp_options[] = {
	{"round-trip", KEY_ROUND_TRIP, "MS", 0, "Milliseconds, fractions allowed (0)", 0},
	{"rate", KEY_RATE, "BITS", 0, "Bits a second of the line each way; 0: no limit (0)", 0},
	{"queue", KEY_QUEUE, "BYTES", 0, "What waits for the line (128 MiB)", 0},
	{"loss", KEY_LOSS, "PERCENT", 0, "Packets that are lost, each way (0)", 0},
	{"segments", KEY_SEGMENTS, "whole|cut", 0, "Runs of segments as one packet (whole)", 0},
	{"seed", KEY_SEED, "N", 0, "Of the losses (1)", 0},
	{0},
};

static double number(struct argp_state *state, const char *argument)
{
	char *end;
	double value = strtod(argument, &end);

	if (end == argument || *end != '\0' || !(value >= 0) || value > 1e12)
		argp_error(state, "\"%s\" is no number from 0 on", argument);
	return value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	switch (key) {
	case KEY_ROUND_TRIP:
		options.delay_ns = (uint64_t)(number(state, argument) * 1e6 / 2);
		return 0;
	case KEY_RATE:
		options.bits_per_second = (uint64_t)number(state, argument);
		return 0;
	case KEY_QUEUE:
		options.queue_bytes = (uint64_t)number(state, argument);
		return 0;
	case KEY_LOSS:
		options.loss = number(state, argument) / 100;
		return 0;
	case KEY_SEGMENTS:
		options.cut = strcmp(argument, "cut") == 0;
		return 0;
	case KEY_SEED:
		options.seed = (uint64_t)number(state, argument);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num >= 2)
			return ARGP_ERR_UNKNOWN;
		options.names[state->arg_num] = argument;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num != 2)
			argp_usage(state);
		options.cut |= options.loss > 0 || options.bits_per_second > 0;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void end(int signal_number)
{
	(void)signal_number;
	is_ended = 1;
}

static void open_way(struct way *way, int from, int to)
{
	*way = (struct way){.from = from, .to = to};
	way->store = mmap(NULL, STORE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (way->store == MAP_FAILED)
		fail("mmap");
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "LEFT RIGHT",
		.doc = "Carries packets between two tap devices, with a round trip.",
	};
	const struct sigaction action = {.sa_handler = end};
	struct way ways[2];
	int left, right;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	prng_init(&losses, options.seed);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	left = open_tap(options.names[0]);
	right = open_tap(options.names[1]);
	open_way(&ways[0], left, right);
	open_way(&ways[1], right, left);
	puts("ready");
	fflush(stdout);
	forward(ways);
	printf("{\"carried\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"overflowed\": %" PRIu64
	       ", \"refused\": %" PRIu64 "}\n",
	       ways[0].carried + ways[1].carried, ways[0].lost + ways[1].lost,
	       ways[0].overflowed + ways[1].overflowed, ways[0].refused + ways[1].refused);
	return EXIT_SUCCESS;
}
