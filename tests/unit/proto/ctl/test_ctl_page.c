/* SPDX-License-Identifier: MIT */
/*
 * The tables of messages in proto/ctl/README.md have each operation with its number, its name and
 * the bytes of its payloads.
 */
#include "proto/ctl/ctl_check.h"
#include "proto/ctl/ctl_message.h"
#include "proto/ctl/process_message.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>
#include <stdio.h>

#define LINE_BYTES 512

/* A row of a table whose first column is a number. */
struct row {
	unsigned number;
	char name[48];
	char third[48];	 /* control protocol: bytes of the request; process link: to whom */
	char fourth[48]; /* bytes of the reply; bytes */
};

static bool row_read(const char *line, struct row *row)
{
	return sscanf(line, "| %u | %47[A-Z_] | %47[^|]| %47[^|]|", &row->number, row->name,
		      row->third, row->fourth) == 4;
}

static void control_row_check(const struct row *row, unsigned number)
{
	assert_int_equal(row->number, number);
	assert_string_equal(row->name, rnic_ctl_operation_name(number));
	assert_int_equal(strtoul(row->third, NULL, 10), rnic_ctl_request_bytes(number));
	assert_int_equal(strtoul(row->fourth, NULL, 10), rnic_ctl_reply_bytes(number));
}

/* A message of the bytes that the page says is one, and a longer or shorter one is none. */
static void process_row_check(const struct row *row, unsigned number)
{
	static _Alignas(struct rnic_process_header) uint8_t message[RNIC_PROCESS_MESSAGE_BYTES];
	struct rnic_process_header *header = (struct rnic_process_header *)message;
	const size_t bytes = sizeof(*header) + strtoul(row->fourth, NULL, 10);

	assert_int_equal(row->number, number);
	for (size_t received = bytes - 1; received <= bytes + 1; received++) {
		*header = (struct rnic_process_header){
			.magic = RNIC_PROCESS_MAGIC,
			.version = RNIC_PROCESS_VERSION,
			.operation = (uint16_t)number,
			.bytes = (uint32_t)received,
		};
		assert_int_equal(rnic_process_check(message, received),
				 received == bytes ? 0 : -EPROTO);
	}
}

/* Checks the rows between a heading and the next one of its level; returns how many there are. */
static unsigned rows_check(const char *heading, void (*check)(const struct row *, unsigned))
{
	FILE *page = fopen(CTL_PAGE, "r");
	char line[LINE_BYTES];
	bool is_inside = false;
	unsigned count = 0;
	struct row row;

	assert_non_null(page);
	while (fgets(line, sizeof(line), page) != NULL) {
		if (strncmp(line, "## ", 3) == 0)
			is_inside = strcmp(line, heading) == 0;
		if (is_inside && row_read(line, &row))
			check(&row, ++count);
	}
	fclose(page);
	return count;
}

static void test_control_protocol(void **state)
{
	(void)state;
	assert_int_equal(rows_check("## Control protocol\n", control_row_check),
			 RNIC_CTL_OPERATION_COUNT - 1);
}

static void test_process_link(void **state)
{
	(void)state;
	assert_int_equal(rows_check("## The process link\n", process_row_check),
			 RNIC_PROCESS_OPERATION_COUNT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_protocol),
		cmocka_unit_test(test_process_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
