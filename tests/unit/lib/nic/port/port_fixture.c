/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/port/port_fixture.h"

#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define QUIET_MS 5000

uint64_t fixture_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct rnic_gid fixture_gid(const char *address)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, address, bytes) == 1)
		return rnic_gid_from_ipv4(bytes);
	assert_int_equal(inet_pton(AF_INET6, address, bytes), 1);
	return rnic_gid_from_ipv6(bytes);
}

struct rnic_gid fixture_own_gid(uint8_t host)
{
	uint32_t id = (uint32_t)getpid();
	uint8_t address[4] = {127, (uint8_t)(64 + (id >> 8) % 128), (uint8_t)id, host};

	return rnic_gid_from_ipv4(address);
}

uint16_t fixture_udp_port(void)
{
	return (uint16_t)(20000 + (uint32_t)getpid() % 10000);
}

/* The destination QPN is in lane 0, whatever the datagram. */
static uint8_t byte_of(uint32_t i, uint32_t offset)
{
	if (offset == 5)
		return 0;
	return (uint8_t)(i * 131 + offset * 7 + (offset >> 8));
}

struct datagram fixture_datagram(uint32_t i, const struct rnic_gid *source,
				 const struct rnic_gid *dest, uint32_t length)
{
	static uint8_t memory[FIXTURE_DATAGRAMS_MAX][RNIC_PACKET_BYTES_MAX];
	uint8_t *bytes = memory[i];

	for (uint32_t offset = 0; offset < length; offset++)
		bytes[offset] = byte_of(i, offset);
	return (struct datagram){
		.addresses = {.source = *source, .dest = *dest, .hop_limit = 64},
		.bytes = bytes,
		.length = length,
	};
}

bool fixture_is_datagram(const struct datagram *received, uint32_t i, uint32_t length)
{
	if (received->length != length + RNIC_ICRC_BYTES)
		return false;
	for (uint32_t offset = 0; offset < length; offset++)
		if (received->bytes[offset] != byte_of(i, offset))
			return false;
	return true;
}

static void remember_descriptor(void *context, int fd, bool for_writing)
{
	struct pollfd *watched = context;

	watched->fd = fd;
	watched->events = for_writing ? POLLIN | POLLOUT : POLLIN;
}

bool fixture_is_due(struct port *port, int timeout_ms)
{
	struct pollfd watched = {.fd = -1};
	int result;

	if (port->ops->next_deadline_ns(port) <= fixture_now_ns())
		return true;
	port->ops->watch(port, remember_descriptor, &watched);
	/* io_uring interrupts a wait to make its completions. */
	do
		result = poll(&watched, 1, timeout_ms);
	while (result < 0);
	return result > 0;
}

static void inbox_add(struct fixture_inbox *inbox, const struct datagram *datagram)
{
	uint32_t i = inbox->count++;

	assert_true(i < FIXTURE_DATAGRAMS_MAX);
	assert_true(datagram->length <= RNIC_PACKET_BYTES_MAX);
	memcpy(inbox->bytes[i], datagram->bytes, datagram->length);
	inbox->datagrams[i] = *datagram;
	inbox->datagrams[i].bytes = inbox->bytes[i];
}

void fixture_receive(struct port *port, struct fixture_inbox *inbox, uint32_t count, uint32_t max)
{
	struct datagram received[FIXTURE_DATAGRAMS_MAX];

	while (inbox->count < count) {
		uint32_t got = port->ops->receive(port, received, max, fixture_now_ns());

		assert_true(got <= max);
		for (uint32_t i = 0; i < got; i++)
			inbox_add(inbox, &received[i]);
		if (got == 0 && !fixture_is_due(port, QUIET_MS))
			break;
	}
}

void fixture_transmit(struct port *port, struct datagram *datagrams, uint32_t count)
{
	uint32_t taken = 0;

	while (taken < count) {
		uint32_t now = port->ops->transmit(port, datagrams + taken, count - taken,
						   fixture_now_ns());

		assert_true(now > 0);
		taken += now;
	}
}
