/* SPDX-License-Identifier: MIT */
/* When the card of a device is written anew. */
#include "daemon/device/link/stats_writer.h"

#include "daemon/device/device.h"
#include "tests/unit/unit_test.h"

#include <sys/mman.h>
#include <unistd.h>

#define START_NS UINT64_C(1000000000)

static uint64_t packets;
static unsigned walks;

/* A device half that has one counter. */
bool device_half_counter(const struct device_half *half, uint32_t index, const char **name,
			 uint64_t *value)
{
	(void)half;
	*name = "packets";
	*value = packets;
	return index == 0;
}

bool device_half_port_counter(const struct device_half *half, uint32_t index, const char **name,
			      uint64_t *value)
{
	(void)half;
	(void)index;
	(void)name;
	(void)value;
	return false;
}

bool device_half_fault_counter(const struct device_half *half, uint32_t index,
			       struct rnic_show_counter *counter)
{
	(void)half;
	(void)index;
	(void)counter;
	return false;
}

void device_half_fill_card(const struct device_half *half, struct rnic_card *card)
{
	(void)half;
	(void)card;
	walks++;
}

static int set_up(void **state)
{
	static struct card_writer writer;
	const int fd = memfd_create("card", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(struct rnic_card)), 0);
	assert_int_equal(card_writer_open(&writer, fd), 0);
	close(fd);
	packets = 0;
	walks = 0;
	card_writer_refresh(&writer, NULL, START_NS);
	*state = &writer;
	return 0;
}

static int tear_down(void **state)
{
	card_writer_close(*state);
	return 0;
}

static uint64_t shown(const struct card_writer *writer)
{
	return writer->card->counters[0].value;
}

static void a_card_that_shows_all_is_never_due(void **state)
{
	const struct card_writer *writer = *state;

	assert_int_equal(card_writer_due_ns(writer, 0), UINT64_MAX);
	assert_int_equal(card_writer_due_ns(writer, START_NS), UINT64_MAX);
}

static void activity_is_shown_soon(void **state)
{
	struct card_writer *writer = *state;
	const uint64_t due_ns = card_writer_due_ns(writer, START_NS + 1);

	packets = 7;
	assert_int_equal(due_ns, START_NS + CARD_WRITER_REFRESH_NS);
	card_writer_refresh_if_due(writer, NULL, due_ns - 1);
	assert_int_equal(shown(writer), 0);
	card_writer_refresh_if_due(writer, NULL, due_ns);
	assert_int_equal(shown(writer), 7);
	assert_int_equal(card_writer_due_ns(writer, START_NS + 1), UINT64_MAX);
}

/* A change takes a walk over all queue pairs; counters alone do not. */
static void a_change_is_shown_sooner(void **state)
{
	struct card_writer *writer = *state;

	card_writer_note_change(writer);
	assert_int_equal(card_writer_due_ns(writer, 0), START_NS + CARD_WRITER_CHANGE_NS);
	assert_int_equal(walks, 1);
	card_writer_refresh_if_due(writer, NULL, START_NS + CARD_WRITER_CHANGE_NS);
	assert_int_equal(walks, 2);
	card_writer_refresh_if_due(writer, NULL, START_NS + 2 * CARD_WRITER_REFRESH_NS);
	assert_int_equal(walks, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_card_that_shows_all_is_never_due, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(activity_is_shown_soon, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_change_is_shown_sooner, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
