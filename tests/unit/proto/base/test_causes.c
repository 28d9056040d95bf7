/* SPDX-License-Identifier: MIT */
#include "proto/base/causes.h"
#include "proto/base/wc_status.h"

#include "tests/unit/unit_test.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void expect_sentence(const char *text, size_t most)
{
	const size_t length = strlen(text);

	assert_true(length > 20 && length < most);
	assert_true(isupper((unsigned char)text[0]) || strncmp(text, "rnicctl", 7) == 0);
	assert_int_equal(text[length - 1], '.');
	assert_null(strstr(text, "  "));
}

static void test_every_row_is_complete(void **state)
{
	const struct rnic_cause_row *row;
	uint32_t last_code = 0, count = 0;

	(void)state;
	for (; (row = rnic_cause_row(count)) != NULL; count++) {
		expect_sentence(row->sentence, 160); /* as rnicctl show prints it */
		expect_sentence(row->hint, 300);
		assert_true(isdigit((unsigned char)row->clause[0]));
		assert_true(row->status < RNIC_WC_STATUS_COUNT);
		assert_true(row->code > last_code);
		assert_ptr_equal(rnic_cause_of(row->code), row);
		last_code = row->code;
	}
	assert_true(count > 30);
	assert_null(rnic_cause_of(RNIC_CAUSE_PASS));
	assert_null(rnic_cause_of(0x181));
}

/* rnic-causes(7) is made from the same table, by a reader of its own. */
static void test_every_code_is_in_the_manual(void **state)
{
	const struct rnic_cause_row *row;
	static char page[1 << 16];
	FILE *file = fopen(CAUSE_PAGE, "r");
	char entry[64];

	(void)state;
	assert_non_null(file);
	assert_true(fread(page, 1, sizeof(page) - 1, file) > 0);
	fclose(file);
	for (uint32_t i = 0; (row = rnic_cause_row(i)) != NULL; i++) {
		snprintf(entry, sizeof(entry), "\n.BR 0x%02x \" %s\"\n", row->code, row->name);
		assert_non_null(strstr(page, entry));
		assert_ptr_equal(rnic_cause_named(row->name, strlen(row->name)), row);
	}
	assert_null(rnic_cause_named("REFUSEDX", strlen("REFUSE")));
}

static void test_every_status_has_a_name(void **state)
{
	(void)state;
	for (uint32_t status = 0; status < RNIC_WC_STATUS_COUNT; status++)
		assert_true(rnic_wc_status_name(status) != NULL &&
			    rnic_wc_status_text(status) != NULL);
	assert_string_equal(rnic_wc_status_name(RNIC_WC_RETRY_EXC_ERR), "RETRY_EXC_ERR");
	assert_null(rnic_wc_status_name(RNIC_WC_STATUS_COUNT));
	assert_string_equal(rnic_wc_status_text(RNIC_WC_RETRY_EXC_ERR),
			    "transport retry counter exceeded");
	assert_null(rnic_wc_status_text(RNIC_WC_STATUS_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_is_complete),
		cmocka_unit_test(test_every_code_is_in_the_manual),
		cmocka_unit_test(test_every_status_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
