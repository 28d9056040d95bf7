/* SPDX-License-Identifier: MIT */
#include "port/conditions/pcapng.h"

#include "base/bits.h"
#include "pcapng_reader.h"
#include "unit_test.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_buffer_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
