/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/capture.h"

#include "lib/nic/port/conditions/fault.h"
#include "lib/nic/port/udp/udp_port.h"
#include "proto/base/bits.h"
#include "proto/wire/icrc.h"
#include "proto/wire/ip_header.h"
#include "tests/unit/lib/nic/port/pcapng_reader.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* An end of a real wire whose traffic is captured: this end also receives all that it sends. */
struct world {
	char path[64];
	int fd;
	struct rnic_gid gid;
	struct capture *capture;
	struct port *port;
	struct fixture_inbox inbox;
	struct reader reader;
};

static struct world *world_create(struct rnic_gid gid, uint16_t udp_port)
{
	struct world *world = calloc(1, sizeof(*world));
	struct udp_options options = {.gids = &world->gid,
				      .gid_count = 1,
				      .udp_port = udp_port,
				      .segmentation = SEGMENTATION_ON};
	char text[PORT_TEXT_BYTES];
	struct port *udp;

	assert_non_null(world);
	world->gid = gid;
	snprintf(world->path, sizeof(world->path), "/tmp/rnic-capture-XXXXXX");
	world->fd = mkstemp(world->path);
	assert_true(world->fd >= 0);
	assert_int_equal(
		capture_open(&world->capture, world->path, "rnic0", fixture_now_ns(), text), 0);
	options.sink = capture_sink(world->capture);
	if (udp_socket_open(&udp, &options, fixture_now_ns(), text) < 0) {
		print_message("skipped: %s\n", text);
		capture_close(world->capture);
		unlink(world->path);
		close(world->fd);
		free(world);
		return NULL;
	}
	world->port = capture_stack(world->capture, udp);
	return world;
}

static void world_destroy(struct world *world)
{
	unlink(world->path);
	close(world->fd);
	free(world);
}

static uint16_t udp_sum_as_found(const struct rnic_datagram *datagram)
{
	return rnic_udp_checksum(&datagram->addresses, datagram->payload, datagram->payload_bytes);
}

/* Both directions of a GSO batch, as packets with their identification and a right ICRC. */
static void capture_test(struct world *world)
{
	static const char *const comments[2] = {"the ICRC is wrong", "damaged on purpose"};
	struct datagram datagrams[4];
	uint32_t next[2] = {0, 0};
	struct timespec now;

	for (uint32_t i = 0; i < 4; i++)
		datagrams[i] = fixture_datagram(i, &world->gid, &world->gid, i < 3 ? 1036 : 20);
	datagrams[2].damage = 1 + 8 * 600;
	fixture_transmit(world->port, datagrams, 4);
	fixture_receive(world->port, &world->inbox, 4, 3);
	assert_int_equal(world->inbox.count, 4);
	world->port->ops->close(world->port);

	reader_read(&world->reader, world->fd);
	assert_string_equal(world->reader.interface, "rnic0");
	assert_int_equal(world->reader.packet_count, 8);
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint32_t i = 0; i < 8; i++) {
		const struct reader_packet *packet = &world->reader.packets[i];
		uint32_t index = next[packet->is_outbound]++;
		bool is_damaged = index == 2;
		struct rnic_datagram found;
		uint16_t identification = 0;
		bool is_bad;

		assert_true(packet->time_ns / 1000000000 + 60 > (uint64_t)now.tv_sec);
		assert_true(packet->time_ns / 1000000000 < (uint64_t)now.tv_sec + 60);
		assert_int_equal(rnic_datagram_decode(&found, packet->bytes, packet->length), 0);
		assert_int_equal(found.payload_bytes, (index < 3 ? 1036 : 20) + RNIC_ICRC_BYTES);
		assert_int_equal(found.dest_port, RNIC_UDP_PORT);
		assert_int_equal(found.udp_checksum, udp_sum_as_found(&found));
		is_bad = rnic_icrc_check(&found.addresses, found.payload, found.payload_bytes,
					 &identification) == RNIC_ICRC_BAD;
		assert_int_equal(is_bad, is_damaged);
		assert_string_equal(packet->comment,
				    is_damaged ? comments[packet->is_outbound] : "");
		if (!is_damaged)
			assert_int_equal(identification, found.identification);
		if (!is_damaged && rnic_addresses_are_ipv4(&found.addresses))
			assert_int_equal(identification, index);
	}
	assert_int_equal(next[0], 4);
	assert_int_equal(next[1], 4);
}

static const char *say_whose(void *context, const uint8_t *bytes)
{
	(void)bytes;
	return context;
}

/* What a rule drops on the way out is in the file with a right ICRC, and is named as not sent. */
static void test_dropped_outbound(void **state)
{
	struct world *world = world_create(fixture_own_gid(52), 0);
	struct datagram datagrams[3];
	struct port *fault;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_non_null(world);
	assert_int_equal(fault_open(world->port, "tx:drop=100%", &fault, text, sizeof(text)), 0);
	fault_tell_capture(fault, world->capture);
	capture_expect_notes(world->capture, say_whose, (void *)"mine");
	for (uint32_t i = 0; i < 2; i++)
		datagrams[i] = fixture_datagram(i, &world->gid, &world->gid, 1036);
	datagrams[1].addresses.source_port = RNIC_UDP_PORT;
	datagrams[2] = datagrams[1];
	datagrams[2].length = 0; /* its bytes could not be read */
	fixture_transmit(fault, datagrams, 3);
	fault->ops->close(fault);

	reader_read(&world->reader, world->fd);
	assert_int_equal(world->reader.packet_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct reader_packet *packet = &world->reader.packets[i];
		struct rnic_datagram found;

		assert_true(packet->is_outbound);
		assert_string_equal(packet->comment, "mine, dropped by rule 1, not sent");
		assert_int_equal(rnic_datagram_decode(&found, packet->bytes, packet->length), 0);
		assert_true(rnic_icrc_is_right_as_shown(&found, found.payload_bytes));
	}
	world_destroy(world);
}

static void test_ipv4(void **state)
{
	struct world *world = world_create(fixture_own_gid(51), 0);

	(void)state;
	assert_non_null(world);
	capture_test(world);
	world_destroy(world);
}

static void test_ipv6(void **state)
{
	struct world *world = world_create(fixture_gid("::1"), fixture_udp_port());

	(void)state;
	if (world == NULL)
		skip();
	/* The ICRC covers the source port, which is the one of the socket. */
	capture_test(world);
	world_destroy(world);
}

/* Captured packets are in the file after 100 ms, without more traffic. */
static void test_flush(void **state)
{
	struct world *world = world_create(fixture_own_gid(52), 0);
	struct port *port;
	struct datagram datagram, received;
	uint64_t now_ns = fixture_now_ns(), deadline_ns;

	(void)state;
	assert_non_null(world);
	port = world->port;
	port->ops->receive(port, &received, 1, now_ns);
	reader_read(&world->reader, world->fd);
	assert_int_equal(world->reader.packet_count, 0);
	assert_int_equal(port->ops->next_deadline_ns(port), UINT64_MAX);

	datagram = fixture_datagram(0, &world->gid, &world->gid, 20);
	assert_int_equal(port->ops->transmit(port, &datagram, 1, now_ns), 1);
	deadline_ns = port->ops->next_deadline_ns(port);
	assert_int_equal(deadline_ns, now_ns + 100000000);
	reader_read(&world->reader, world->fd);
	assert_int_equal(world->reader.packet_count, 0);
	port->ops->receive(port, &received, 0, deadline_ns);
	reader_read(&world->reader, world->fd);
	assert_int_equal(world->reader.packet_count, 1);
	port->ops->close(port);
	world_destroy(world);
}

/* A full disk ends the capture with one sentence, and traffic goes on. */
static void test_full_disk(void **state)
{
	struct rnic_gid gid = fixture_own_gid(53);
	struct udp_options options = {.gids = &gid, .gid_count = 1};
	struct fixture_inbox *inbox = calloc(1, sizeof(*inbox));
	char text[PORT_TEXT_BYTES];
	struct capture *capture;
	struct datagram datagram;
	struct port *udp, *port;

	(void)state;
	assert_non_null(inbox);
	assert_int_equal(capture_open(&capture, "/dev/full", "rnic0", fixture_now_ns(), text), 0);
	assert_false(capture_take_failure(capture, text));
	options.sink = capture_sink(capture);
	assert_int_equal(udp_socket_open(&udp, &options, fixture_now_ns(), text), 0);
	port = capture_stack(capture, udp);
	for (uint32_t i = 0; i < 40; i++) {
		datagram = fixture_datagram(i, &gid, &gid, 4108);
		fixture_transmit(port, &datagram, 1);
		fixture_receive(port, inbox, i + 1, 1);
	}
	assert_int_equal(inbox->count, 40);
	assert_true(capture_take_failure(capture, text));
	assert_string_equal(text, "the capture ends here: No space left on device");
	assert_false(capture_take_failure(capture, text));
	port->ops->close(port);
	free(inbox);
}

/* What a file begins with is there before the first packet; a failure to write it is told. */
static void test_shared_file(void **state)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	char path[] = "/tmp/rnic-capture-XXXXXX", text[PORT_TEXT_BYTES];
	int reading = mkstemp(path), fd;

	(void)state;
	assert_true(reading >= 0 && reader != NULL);
	assert_int_equal(capture_create_file(&fd, path, "rnic7", text), 0);
	assert_true((fcntl(fd, F_GETFL) & O_APPEND) != 0);
	reader_read(reader, reading);
	assert_string_equal(reader->interface, "rnic7");
	assert_int_equal(reader->packet_count, 0);
	close(fd);
	close(reading);
	unlink(path);
	assert_int_equal(capture_create_file(&fd, "/dev/full", "rnic7", text), -ENOSPC);
	assert_string_equal(text, "cannot write a capture to /dev/full: No space left on device");
	free(reader);
}

/*
 * Another holder of a capture to a pipe makes its open file wait for the reader, who does not read:
 * this capture ends, and does not wait.
 */
static void test_shared_pipe(void **state)
{
	static uint8_t bytes[4096];
	char path[64], text[PORT_TEXT_BYTES];
	struct capture *capture;
	int reading, others;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/rnic-capture-pipe-%d", (int)getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	reading = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reading >= 0);
	assert_int_equal(capture_create_file(&others, path, "rnic7", text), 0);
	assert_int_equal(capture_open_fd(&capture, fcntl(others, F_DUPFD_CLOEXEC, 0),
					 fixture_now_ns(), text),
			 0);
	while (write(others, bytes, sizeof(bytes)) > 0)
		continue;
	assert_int_equal(fcntl(others, F_SETFL, 0), 0);

	alarm(10);
	for (uint32_t i = 0; i < 200; i++) {
		struct datagram datagram = {.bytes = bytes, .length = 1000};
		const struct segment_sink *sink = capture_sink(capture);

		sink->sent(sink->context, &datagram, 0, fixture_now_ns());
	}
	alarm(0);
	assert_true(capture_take_failure(capture, text));
	capture_close(capture);
	close(others);
	close(reading);
	unlink(path);
}

#define STRANGER 31001

/* A place at which somebody was first: a directory with the file "victim" of this user. */
struct place {
	char directory[64], victim[96], path[96];
};

static void place_make(struct place *place)
{
	int fd;

	snprintf(place->directory, sizeof(place->directory), "/tmp/rnic-capture-XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->victim, sizeof(place->victim), "%s/victim", place->directory);
	snprintf(place->path, sizeof(place->path), "%s/capture", place->directory);
	fd = open(place->victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "whole", 5), 5);
	close(fd);
}

static void place_remove(const struct place *place)
{
	unlink(place->path);
	unlink(place->victim);
	assert_int_equal(rmdir(place->directory), 0);
}

/* The capture is refused, and the victim's file is whole. */
static void place_expect_refusal(const struct place *place, int error, const char *reason)
{
	char text[PORT_TEXT_BYTES];
	struct stat status;
	int fd;

	assert_int_equal(capture_create_file(&fd, place->path, "rnic7", text), error);
	assert_non_null(strstr(text, reason));
	assert_non_null(strstr(text, place->path));
	assert_int_equal(stat(place->victim, &status), 0);
	assert_int_equal(status.st_size, 5);
	unlink(place->path);
}

static void test_somebody_was_first(void **state)
{
	struct place place;
	struct stat status;

	(void)state;
	place_make(&place);
	assert_int_equal(symlink(place.victim, place.path), 0);
	place_expect_refusal(&place, -ELOOP, "symbolic link");
	assert_int_equal(symlink("nowhere", place.path), 0);
	place_expect_refusal(&place, -ELOOP, "symbolic link");
	assert_int_equal(link(place.victim, place.path), 0);
	place_expect_refusal(&place, -EPERM, "second name");
	if (geteuid() == 0) {
		for (unsigned is_pipe = 0; is_pipe < 2; is_pipe++) {
			const mode_t type = is_pipe ? S_IFIFO : S_IFREG;

			assert_int_equal(mknod(place.path, type | 0666, 0), 0);
			assert_int_equal(chown(place.path, STRANGER, STRANGER), 0);
			assert_int_equal(stat(place.path, &status), 0);
			place_expect_refusal(&place, -EPERM, "user 31001");
		}
	}
	place_remove(&place);
}

/* An own file is emptied, and an open file may be named by its descriptor. */
static void test_own_files(void **state)
{
	char text[PORT_TEXT_BYTES], name[32];
	struct place place;
	struct stat status;
	int fd, own;

	(void)state;
	place_make(&place);
	assert_int_equal(rename(place.victim, place.path), 0);
	assert_int_equal(truncate(place.path, 100000), 0);
	assert_int_equal(capture_create_file(&fd, place.path, "rnic7", text), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_true(status.st_size > 0 && status.st_size < 100000);
	close(fd);
	unlink(place.path);
	own = open(place.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	snprintf(name, sizeof(name), "/dev/fd/%d", own);
	assert_int_equal(capture_create_file(&fd, name, "rnic7", text), 0);
	assert_int_equal(fstat(own, &status), 0);
	assert_true(status.st_size > 0);
	close(fd);
	close(own);
	place_remove(&place);
}

static void test_no_such_directory(void **state)
{
	char text[PORT_TEXT_BYTES];
	struct capture *capture;

	(void)state;
	assert_int_equal(capture_open(&capture, "/nonexistent/x.pcapng", "rnic0", 0, text),
			 -ENOENT);
	assert_string_equal(text, "cannot write a capture to /nonexistent/x.pcapng: "
				  "No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),	    cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_flush),	    cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_shared_pipe), cmocka_unit_test(test_no_such_directory),
		cmocka_unit_test(test_shared_file), cmocka_unit_test(test_somebody_was_first),
		cmocka_unit_test(test_own_files),   cmocka_unit_test(test_dropped_outbound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
