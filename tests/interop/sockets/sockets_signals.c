/* SPDX-License-Identifier: MIT */
/*
 * Signals in the calls of rsocket.h that wait: as signal(7) says of sockets, a call goes on after a
 * handler with SA_RESTART and ends with EINTR after one without; a call with a time limit, and
 * rpoll(), end after both. sockets_signals ADDRESS, under rnic-run.
 */
#include "tests/interop/waiting_call.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define ROOM_BYTES (1u << 20) /* more than the buffers of both ends */

struct station {
	int listener;
	int client;
	int server;
	int accepted; /* by a call that waited; -1: none */
	struct sockaddr_in address;
};

static struct sockaddr_in device = {.sin_family = AF_INET};
static uint8_t bytes[ROOM_BYTES];

static int open_socket(int type)
{
	const int fd = rsocket(AF_INET, type, 0);

	assert_true(fd >= 0);
	return fd;
}

static void connect_to_listener(struct station *station)
{
	struct pollfd connected;

	station->client = open_socket(SOCK_STREAM | SOCK_NONBLOCK);
	connected = (struct pollfd){.fd = station->client, .events = POLLOUT};
	if (rconnect(station->client, (struct sockaddr *)&station->address,
		     sizeof(station->address)) != 0)
		assert_int_equal(errno, EINPROGRESS);
	assert_int_equal(rpoll(&connected, 1, 5000), 1);
	assert_int_equal(rfcntl(station->client, F_SETFL, 0), 0);
}

static void station_open(struct station *station)
{
	socklen_t size = sizeof(station->address);

	*station = (struct station){
		.listener = open_socket(SOCK_STREAM), .client = -1, .accepted = -1};
	assert_int_equal(rbind(station->listener, (struct sockaddr *)&device, sizeof(device)), 0);
	assert_int_equal(rlisten(station->listener, 4), 0);
	assert_int_equal(
		rgetsockname(station->listener, (struct sockaddr *)&station->address, &size), 0);
	connect_to_listener(station);
	station->server = raccept(station->listener, NULL, NULL);
	assert_true(station->server >= 0);
}

static void station_close(struct station *station)
{
	rclose(station->client);
	rclose(station->server);
	if (station->accepted >= 0)
		rclose(station->accepted);
	rclose(station->listener);
}

/* --- the calls, and what they wait for -------------------------------------------------------- */

/* The accepted end stays: closed at once, it might part before the client has confirmed. */
static int accept_one(void *at)
{
	struct station *station = at;

	station->accepted = raccept(station->listener, NULL, NULL);
	return station->accepted;
}

static void connect_once_more(void *at)
{
	struct station *station = at;

	rclose(station->client);
	connect_to_listener(station);
}

static int receive(void *at)
{
	struct station *station = at;

	return (int)rrecv(station->server, bytes, 1, 0);
}

static int read_all(void *at)
{
	struct station *station = at;

	return (int)rrecv(station->server, bytes, 8, MSG_WAITALL);
}

static void limit_to_a_minute(void *at)
{
	const struct timeval minute = {.tv_sec = 60};
	struct station *station = at;

	assert_int_equal(
		rsetsockopt(station->server, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute)), 0);
}

static void send_eight(void *at)
{
	struct station *station = at;

	assert_int_equal(rsend(station->client, "8 bytes", 8, 0), 8);
}

/* A call that has sent something answers that; only one without room for anything is interrupted.
 */
static int send_without_room(void *at)
{
	struct station *station = at;

	while (rsend(station->client, bytes, ROOM_BYTES, MSG_DONTWAIT) > 0)
		;
	return (int)rsend(station->client, bytes, 1, 0);
}

static void receive_much(void *at)
{
	struct station *station = at;

	assert_true(rrecv(station->server, bytes, ROOM_BYTES, 0) > 0);
}

static int poll_for_bytes(void *at)
{
	struct station *station = at;
	struct pollfd readable = {.fd = station->server, .events = POLLIN};

	return rpoll(&readable, 1, 60000);
}

/* The thread that waits must sleep nowhere else: rclose() waits for the peer. */
static void replace_server(void *at)
{
	struct station *station = at;

	rclose(station->server);
	station->server = open_socket(SOCK_STREAM);
}

/* To an address that nobody has. Closing the rsocket ends the call. */
static int connect_to_nobody(void *at)
{
	struct station *station = at;
	struct sockaddr_in nobody = station->address;
	int result;

	nobody.sin_addr.s_addr ^= htonl(0x40);
	result = rconnect(station->server, (struct sockaddr *)&nobody, sizeof(nobody));
	return result < 0 && errno == EBADF ? 0 : result;
}

static void close_it(void *at)
{
	struct station *station = at;

	assert_int_equal(rclose(station->server), 0);
	station->server = -1;
}

static const struct signal_case calls[] = {
	{"rconnect", connect_to_nobody, close_it, false, replace_server, true},
	{"raccept", accept_one, connect_once_more, false, NULL, false},
	{"rrecv", receive, send_eight, false, NULL, false},
	{"rrecv, MSG_WAITALL", read_all, send_eight, false, NULL, false},
	{"rrecv, SO_RCVTIMEO", receive, send_eight, true, limit_to_a_minute, false},
	{"rsend", send_without_room, receive_much, false, NULL, false},
	{"rpoll", poll_for_bytes, send_eight, true, NULL, false},
};

/* --- datagrams -------------------------------------------------------------------------------- */

static int receive_datagram(void *at)
{
	struct station *station = at;

	return (int)rrecvfrom(station->server, bytes, 8, 0, NULL, NULL);
}

static void send_datagram(void *at)
{
	struct station *station = at;

	assert_int_equal(rsendto(station->client, "8 bytes", 8, 0,
				 (struct sockaddr *)&station->address, sizeof(station->address)),
			 8);
}

static const struct signal_case datagram_call = {
	"rrecvfrom", receive_datagram, send_datagram, false, NULL, false};

static void signal_datagram_call(int flags)
{
	struct station station = {.listener = -1};
	socklen_t size = sizeof(station.address);

	station.server = open_socket(SOCK_DGRAM);
	station.client = open_socket(SOCK_DGRAM);
	assert_int_equal(rbind(station.server, (struct sockaddr *)&device, sizeof(device)), 0);
	assert_int_equal(rgetsockname(station.server, (struct sockaddr *)&station.address, &size),
			 0);
	signal_call(&datagram_call, &station, flags);
	rclose(station.client);
	rclose(station.server);
}

/* ---------------------------------------------------------------------------------------------- */

static void signal_all(int flags)
{
	for (unsigned i = 0; i < COUNT_OF(calls); i++) {
		struct station station;

		station_open(&station);
		signal_call(&calls[i], &station, flags);
		station_close(&station);
	}
	signal_datagram_call(flags);
}

int main(int argc, char **argv)
{
	if (argc != 2 || inet_pton(AF_INET, argv[1], &device.sin_addr) != 1)
		return 2;
	return run_signal_tests(signal_all);
}
