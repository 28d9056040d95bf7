/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/pcapng.h"

#include "proto/base/bits.h"
#include "tests/unit/lib/nic/port/pcapng_reader.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct world {
	struct pcapng file;
	struct reader reader;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct world));
	return *state == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void test_packets(void **state)
{
	static const struct {
		uint64_t time_ns;
		const char *text[2];
		bool is_outbound;
		const char *comment;
	} cases[] = {
		{UINT64_C(1700000000123456789), {"head", "body"}, true, NULL},
		{0, {"", ""}, false, NULL},
		{UINT64_MAX, {"h", ""}, false, "one"},
		{5, {"he", "bo1"}, true, "a comment of some words"},
		{6, {"", "xyz"}, true, ""},
	};
	struct world *world = *state;
	int fd = memfd_create("pcapng", MFD_CLOEXEC);

	pcapng_init(&world->file, fd, "rnic0");
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct pcapng_packet packet = {
			.time_ns = cases[i].time_ns,
			.is_outbound = cases[i].is_outbound,
			.comment = cases[i].comment,
			.pieces = {(const uint8_t *)cases[i].text[0],
				   (const uint8_t *)cases[i].text[1]},
			.piece_bytes = {strlen(cases[i].text[0]), strlen(cases[i].text[1])},
		};

		assert_int_equal(pcapng_write(&world->file, &packet), 0);
	}
	assert_int_equal(pcapng_flush(&world->file), 0);
	reader_read(&world->reader, fd);
	assert_string_equal(world->reader.interface, "rnic0");
	assert_int_equal(world->reader.packet_count, RNIC_COUNT_OF(cases));
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct reader_packet *packet = &world->reader.packets[i];
		size_t head = strlen(cases[i].text[0]), body = strlen(cases[i].text[1]);

		assert_int_equal(packet->time_ns, cases[i].time_ns);
		assert_int_equal(packet->is_outbound, cases[i].is_outbound);
		assert_string_equal(packet->comment,
				    cases[i].comment != NULL ? cases[i].comment : "");
		assert_int_equal(packet->length, head + body);
		assert_memory_equal(packet->bytes, cases[i].text[0], head);
		assert_memory_equal(packet->bytes + head, cases[i].text[1], body);
	}
	close(fd);
}

/* More than the buffer holds, without a flush in between. */
static void test_buffer_overflow(void **state)
{
	static uint8_t bytes[PCAPNG_PACKET_BYTES_MAX];
	struct world *world = *state;
	int fd = memfd_create("pcapng", MFD_CLOEXEC);

	pcapng_init(&world->file, fd, "rnic0");
	for (uint32_t i = 0; i < 100; i++) {
		struct pcapng_packet packet = {
			.pieces = {bytes, bytes},
			.piece_bytes = {i, PCAPNG_PACKET_BYTES_MAX - 2 * i},
		};

		assert_int_equal(pcapng_write(&world->file, &packet), 0);
	}
	assert_int_equal(pcapng_flush(&world->file), 0);
	reader_read(&world->reader, fd);
	assert_int_equal(world->reader.packet_count, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(world->reader.packets[i].length, PCAPNG_PACKET_BYTES_MAX - i);
	close(fd);
}

static void test_full_disk(void **state)
{
	struct world *world = *state;
	struct pcapng_packet packet = {.pieces = {(const uint8_t *)"", (const uint8_t *)""}};
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	pcapng_init(&world->file, fd, "rnic0");
	assert_int_equal(pcapng_write(&world->file, &packet), 0);
	assert_int_equal(pcapng_flush(&world->file), -ENOSPC);
	assert_int_equal(pcapng_write(&world->file, &packet), -ENOSPC);
	close(fd);
}

/* A write cut short ends the writing to a shared file: the rest would land behind others' blocks.
 */
static void test_shared_file(void **state)
{
	static const uint8_t bytes[PCAPNG_PACKET_BYTES_MAX];
	const struct pcapng_packet packet = {
		.pieces = {bytes, bytes},
		.piece_bytes = {0, sizeof(bytes)},
	};
	struct world *world = *state;
	struct pcapng *others = malloc(sizeof(*others));
	int fd = memfd_create("pcapng", MFD_CLOEXEC), ends[2];

	assert_non_null(others);
	fcntl(fd, F_SETFL, O_APPEND);
	pcapng_init(&world->file, fd, "rnic0");
	assert_int_equal(pcapng_flush(&world->file), 0);
	pcapng_init_shared(&world->file, fd);
	pcapng_init_shared(others, dup(fd));
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(pcapng_write(i % 2 == 0 ? &world->file : others, &packet), 0);
	assert_int_equal(pcapng_flush(&world->file), 0);
	assert_int_equal(pcapng_flush(others), 0);
	reader_read(&world->reader, fd);
	assert_int_equal(world->reader.packet_count, 20);
	close(others->fd);
	close(fd);
	free(others);

	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
	pcapng_init_shared(&world->file, ends[1]);
	assert_int_equal(pcapng_write(&world->file, &packet), 0);
	assert_int_equal(pcapng_flush(&world->file), -ENOSPC);
	assert_int_equal(pcapng_write(&world->file, &packet), -ENOSPC);
	close(ends[0]);
	close(ends[1]);
}

/* Moves what is in the pipe to the end of a file. */
static void drain(int pipe_fd, int file_fd)
{
	static uint8_t bytes[65536];
	ssize_t count;

	while ((count = read(pipe_fd, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(file_fd, bytes, (size_t)count), count);
}

/*
 * Writers of one pipe. While it is read nobody loses a block; when the reader stands still all
 * writing ends, and each block in the pipe is whole.
 */
static void test_shared_pipe(void **state)
{
	static const uint8_t bytes[1000];
	const struct pcapng_packet packet = {.pieces = {bytes, bytes},
					     .piece_bytes = {20, sizeof(bytes)}};
	struct world *world = *state;
	struct pcapng *writers[2] = {&world->file, malloc(sizeof(struct pcapng))};
	int fd = memfd_create("pcapng", MFD_CLOEXEC), ends[2];
	uint32_t written = 0, ended = 0;

	assert_non_null(writers[1]);
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	pcapng_enlarge_pipe(ends[1]);
	pcapng_init(writers[0], ends[1], "rnic0");
	assert_int_equal(pcapng_flush(writers[0]), 0);
	for (uint32_t i = 0; i < 2; i++)
		pcapng_init_shared(writers[i], ends[1]);
	for (; written < 1000; written++) {
		assert_int_equal(pcapng_write(writers[written % 2], &packet), 0);
		if (written % 16 == 0)
			drain(ends[0], fd);
	}
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(pcapng_flush(writers[i]), 0);
	drain(ends[0], fd);
	reader_read(&world->reader, fd);
	assert_int_equal(world->reader.packet_count, written);

	for (; ended < 2 && written < 100000; written++)
		ended += pcapng_write(writers[written % 2], &packet) == -EAGAIN &&
			 writers[1 - written % 2]->error != 0;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(writers[i]->error, -EAGAIN);
	drain(ends[0], fd);
	reader_read(&world->reader, fd);
	assert_true(world->reader.packet_count > 1000);
	close(fd);
	close(ends[0]);
	close(ends[1]);
	free(writers[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_buffer_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_pipe, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
