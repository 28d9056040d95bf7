/* SPDX-License-Identifier: MIT */
/*
 * What the kernel makes of batches between two hosts: two network namespaces and a veth. The host A
 * sends, the host B has a group. Needs root.
 */
#include "daemon/control/lanes/lane_group.h"

#include "lib/nic/port/udp/udp_sockets.h"
#include "tests/unit/daemon/control/lanes/lane_group_fixture.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define LANES	  8
#define SOCKETS	  (1 + LANES)
#define BATCH	  32
#define QUIET_MS  5000 /* nothing more comes: longer than the kernel waits for an address */
#define DATAGRAMS 3200
#define ADDRESS_A "192.0.2.1"
#define ADDRESS_B "192.0.2.2"

struct hosts {
	int namespace_a, namespace_b;
	struct lane_group group_a, group_b;
	struct udp_lane_sockets senders; /* of the host A's lane 0x80 */
	struct udp_lane_sockets receivers[LANES];
	uint32_t arrived, misrouted, buffers;
};

static bool run(const char *command)
{
	int status = system(command);

	if (status != 0)
		print_message("skipped: \"%s\" failed\n", command);
	return status == 0;
}

static int new_namespace(void)
{
	if (unshare(CLONE_NEWNET) != 0)
		return -1;
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* False, with the reason in a line: this machine cannot. */
static bool hosts_connect(struct hosts *hosts)
{
	char command[128];

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return false;
	}
	hosts->namespace_b = new_namespace();
	hosts->namespace_a = new_namespace();
	if (hosts->namespace_a < 0 || hosts->namespace_b < 0) {
		print_message("skipped: no network namespaces\n");
		return false;
	}
	snprintf(command, sizeof(command),
		 "ip link add veth0 type veth peer name veth1 && ip link set veth1 netns "
		 "/proc/%d/fd/%d",
		 (int)getpid(), hosts->namespace_b);
	if (!run(command) ||
	    !run("ip address add " ADDRESS_A "/24 dev veth0 && ip link set veth0 up"))
		return false;
	assert_int_equal(setns(hosts->namespace_b, CLONE_NEWNET), 0);
	return run("ip address add " ADDRESS_B "/24 dev veth1 && ip link set veth1 up") &&
	       run("ethtool -K veth1 gro on >/dev/null");
}

static struct hosts *hosts_open(void)
{
	struct rnic_gid a = fixture_gid(ADDRESS_A), b = fixture_gid(ADDRESS_B);
	struct hosts *hosts = calloc(1, sizeof(*hosts));
	char text[PORT_TEXT_BYTES];

	assert_non_null(hosts);
	if (!hosts_connect(hosts)) {
		free(hosts);
		return NULL;
	}
	lane_fixture_open(&hosts->group_b, &b, 0, SOCKETS);
	for (uint32_t i = 0; i < LANES; i++)
		assert_int_equal(lane_group_take(&hosts->group_b, (uint8_t)(RNIC_LANE_FIRST + i),
						 &hosts->receivers[i], text),
				 0);
	assert_int_equal(setns(hosts->namespace_a, CLONE_NEWNET), 0);
	lane_fixture_open(&hosts->group_a, &a, 0, SOCKETS);
	assert_int_equal(lane_group_take(&hosts->group_a, RNIC_LANE_FIRST, &hosts->senders, text),
			 0);
	return hosts;
}

/* The namespaces end with their last descriptor and the process. */
static void hosts_close(struct hosts *hosts)
{
	for (uint32_t i = 0; i < LANES; i++)
		udp_lane_sockets_close(&hosts->receivers[i]);
	udp_lane_sockets_close(&hosts->senders);
	lane_group_close(&hosts->group_a);
	lane_group_close(&hosts->group_b);
	close(hosts->namespace_a);
	close(hosts->namespace_b);
	free(hosts);
}

/*
 * Receives what is there. The first datagram of each buffer is for the lane that got the buffer;
 * others may be misrouted.
 */
static void receive_all(struct hosts *hosts)
{
	struct lane_datagram buffer[1024];
	uint32_t count;

	for (uint32_t i = 0; i < LANES; i++) {
		const uint8_t lane = (uint8_t)(RNIC_LANE_FIRST + i);

		while ((count = lane_fixture_receive(hosts->receivers[i].receive_fd, buffer,
						     COUNT_OF(buffer))) > 0) {
			hosts->arrived += count;
			hosts->buffers++;
			assert_int_equal(buffer[0].bth[5], lane);
			for (uint32_t j = 0; j < count; j++)
				hosts->misrouted += buffer[j].bth[5] != lane;
		}
	}
}

/* Until `expected` datagrams are there, or none comes any more. */
static void receive_until(struct hosts *hosts, uint32_t expected)
{
	struct pollfd polled[LANES];

	for (uint32_t i = 0; i < LANES; i++)
		polled[i] = (struct pollfd){.fd = hosts->receivers[i].receive_fd, .events = POLLIN};
	do
		receive_all(hosts);
	while (hosts->arrived < expected && poll(polled, LANES, QUIET_MS) > 0);
}

static void forget(struct hosts *hosts)
{
	hosts->arrived = hosts->misrouted = hosts->buffers = 0;
}

/* One batch to several lanes goes whole to the lane of its first datagram. */
static void check_mixed_batch(struct hosts *hosts)
{
	struct lane_datagram batch[BATCH];

	for (uint32_t i = 0; i < BATCH; i++)
		batch[i] = lane_fixture_datagram((RNIC_LANE_FIRST + 3 + i % 4) << 16, i);
	assert_int_equal(
		lane_fixture_send(hosts->senders.send_fds[0], &hosts->group_b, batch, BATCH),
		sizeof(batch));
	receive_until(hosts, BATCH);
	assert_int_equal(hosts->arrived, BATCH);
	assert_int_equal(hosts->buffers, 1);
	assert_int_equal(hosts->misrouted, BATCH / 4 * 3);
	forget(hosts);
}

/*
 * The host A sends batches as single packets, and the host B merges what has one source port. A
 * sender that mixes destination lanes makes misrouted packets; a sender with a source port for each
 * does not.
 */
static void check_gro(struct hosts *hosts, bool is_mixing)
{
	struct lane_datagram batch[BATCH];

	for (uint32_t sent = 0; sent < DATAGRAMS; sent += BATCH) {
		uint32_t lane = RNIC_LANE_FIRST + sent / BATCH % LANES;

		for (uint32_t i = 0; i < BATCH; i++) {
			if (is_mixing)
				lane = RNIC_LANE_FIRST + i % LANES;
			batch[i] = lane_fixture_datagram(lane << 16, sent + i);
		}
		lane_fixture_send(hosts->senders.send_fds[is_mixing ? 0 : lane % LANES],
				  &hosts->group_b, batch, BATCH);
		receive_all(hosts);
	}
	receive_until(hosts, DATAGRAMS);
	print_message("%s: %u datagrams in %u buffers, %u misrouted\n",
		      is_mixing ? "one source port" : "a source port for each lane", hosts->arrived,
		      hosts->buffers, hosts->misrouted);
	assert_int_equal(hosts->arrived, DATAGRAMS);
	assert_true(is_mixing || hosts->misrouted == 0);
	forget(hosts);
}

static void test_batches(void **state)
{
	struct hosts *hosts = hosts_open();

	(void)state;
	if (hosts == NULL)
		return;
	check_mixed_batch(hosts);
	/* A veth with TSO does no GRO. */
	if (run("ethtool -K veth0 tso off tx-udp-segmentation off >/dev/null")) {
		check_gro(hosts, true);
		check_gro(hosts, false);
	}
	hosts_close(hosts);
}

/* Captures all IPv4 packets that reach the host B. */
static int open_capture(struct hosts *hosts)
{
	int fd;

	assert_int_equal(setns(hosts->namespace_b, CLONE_NEWNET), 0);
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));
	assert_true(fd >= 0);
	assert_int_equal(setns(hosts->namespace_a, CLONE_NEWNET), 0);
	return fd;
}

/* The next captured packets have the identifications 0, 1, 2, ... and never fragment. */
static void expect_identifications(int capture_fd, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct {
			struct iphdr ip;
			uint8_t rest[512];
		} packet;

		assert_true(lane_fixture_wait(capture_fd));
		assert_true(recv(capture_fd, &packet, sizeof(packet), 0) >=
			    (ssize_t)sizeof(packet.ip));
		assert_int_equal(packet.ip.protocol, IPPROTO_UDP);
		assert_int_equal(ntohs(packet.ip.id), i);
		assert_int_equal(ntohs(packet.ip.frag_off), IP_DF);
	}
}

static void test_identifications(void **state)
{
	struct hosts *hosts = hosts_open();
	struct lane_datagram batch[BATCH];
	int capture_fd;

	(void)state;
	if (hosts == NULL)
		return;
	if (!run("ethtool -K veth0 tx-udp-segmentation off >/dev/null")) {
		hosts_close(hosts);
		return;
	}
	capture_fd = open_capture(hosts);
	for (uint32_t i = 0; i < BATCH; i++)
		batch[i] = lane_fixture_datagram(RNIC_LANE_FIRST << 16, i);
	for (uint32_t i = 0; i < 3; i++) {
		lane_fixture_send(hosts->senders.send_fds[i], &hosts->group_b, batch, 1);
		expect_identifications(capture_fd, 1);
		lane_fixture_send(hosts->senders.send_fds[i], &hosts->group_b, batch, BATCH);
		expect_identifications(capture_fd, BATCH);
	}
	close(capture_fd);
	hosts_close(hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_identifications),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
