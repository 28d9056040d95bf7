/* SPDX-License-Identifier: MIT */
/* The file of rnicctl record save: whole, damaged in any place, and put together of two. */
#include "tools/rnicctl/explain/evidence.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *nowhere;
static int file_fd;
static char path[32]; /* of file_fd */

static struct rnic_show_record records[] = {
	{.client_id = 3,
	 .pid = 44,
	 .uid = 31001,
	 .qpn = 0x850123,
	 .age_us = UINT64_C(1) << 40,
	 .event = RNIC_RECORD_TIMED_OUT,
	 .value = UINT32_MAX,
	 .gaps = RNIC_RECORD_GAP_SHARED,
	 .program = "a\"b\\c"},
	{.event = RNIC_RECORD_LINK},
};
static struct rnic_show_qp qps[] = {{.qpn = 0x850123, .last_error = "a sentence"}};
static struct rnic_show_trouble troubles[] = {{.age_ms = 7, .reason = "another"}};
static struct rnic_show_client clients[] = {{.client_id = 3, .program = "prog"}};
static const struct evidence saved = {
	.boot_id = "12345678-1234-1234-1234-123456789abc",
	.taken_us = 123456789,
	.records = records,
	.record_count = RNIC_COUNT_OF(records),
	.qps = qps,
	.qp_count = RNIC_COUNT_OF(qps),
	.troubles = troubles,
	.trouble_count = RNIC_COUNT_OF(troubles),
	.clients = clients,
	.client_count = RNIC_COUNT_OF(clients),
};

static int make_file(void **state)
{
	(void)state;
	file_fd = memfd_create("record", MFD_CLOEXEC);
	nowhere = fopen("/dev/null", "we");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	return file_fd < 0 || nowhere == NULL;
}

static int close_file(void **state)
{
	(void)state;
	return fclose(nowhere) | close(file_fd);
}

/* Each damage is a complaint, of which there are thousands. */
static int load_quietly(struct evidence *found)
{
	FILE *own = stderr;
	int error;

	stderr = nowhere;
	error = evidence_load(found, path);
	stderr = own;
	return error;
}

static size_t read_file(char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, bytes, file);
	assert_true(length < bytes);
	fclose(file);
	text[length] = '\0';
	return length;
}

static void write_file(const char *text, size_t bytes)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

static void expect_saved(const struct evidence *found)
{
	assert_string_equal(found->boot_id, saved.boot_id);
	assert_int_equal(found->taken_us, saved.taken_us);
	assert_int_equal(found->record_count, saved.record_count);
	assert_memory_equal(found->records, records, sizeof(records));
	assert_int_equal(found->qp_count, saved.qp_count);
	assert_memory_equal(found->qps, qps, sizeof(qps));
	assert_int_equal(found->trouble_count, saved.trouble_count);
	assert_memory_equal(found->troubles, troubles, sizeof(troubles));
	assert_int_equal(found->client_count, saved.client_count);
	assert_memory_equal(found->clients, clients, sizeof(clients));
}

static void test_whole(void **state)
{
	struct evidence found;

	(void)state;
	assert_int_equal(evidence_save(&saved, path), 0);
	assert_int_equal(evidence_load(&found, path), 0);
	expect_saved(&found);
	evidence_free(&found);
}

/* Whatever changed in a file that is read nevertheless was only its spelling. */
static void load_damaged(const char *text, size_t bytes, uint32_t *refused)
{
	struct evidence found;
	int error;

	write_file(text, bytes);
	error = load_quietly(&found);
	if (error == 0)
		expect_saved(&found);
	else
		assert_int_equal(error, -EINVAL);
	*refused += error != 0;
	evidence_free(&found);
}

static void test_flipped_bits(void **state)
{
	static char text[16384];
	uint32_t refused = 0;
	size_t length;

	(void)state;
	assert_int_equal(evidence_save(&saved, path), 0);
	length = read_file(text, sizeof(text));
	for (size_t at = 0; at < length; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			text[at] = (char)(text[at] ^ 1 << bit);
			load_damaged(text, length, &refused);
			text[at] = (char)(text[at] ^ 1 << bit);
		}
	assert_true(refused > 7 * length);
}

static void test_cuts(void **state)
{
	static char text[16384];
	uint32_t refused = 0;
	size_t length;

	(void)state;
	assert_int_equal(evidence_save(&saved, path), 0);
	length = read_file(text, sizeof(text));
	for (size_t bytes = 0; bytes < length - 1; bytes++)
		load_damaged(text, bytes, &refused);
	assert_int_equal(refused, length - 1);
}

/* Sets a member of a document that is sealed after that: only the reader's own checks are left. */
static int load_changed(const char *kind, const char *member, json_t *value)
{
	json_t *document = json_load_file(path, 0, NULL);
	struct evidence found;
	int error;

	assert_non_null(document);
	json_object_set_new(kind == NULL ? document
					 : json_array_get(json_object_get(document, kind), 0),
			    member, value);
	assert_true(evidence_seal(document));
	assert_int_equal(json_dump_file(document, path, JSON_INDENT(1)), 0);
	error = load_quietly(&found);
	evidence_free(&found);
	json_decref(document);
	return error;
}

static void test_values(void **state)
{
	static const char long_text[] = "a text that no program's name is as long as, in any row";
	static const struct {
		const char *kind, *member, *value;
		int error;
	} cases[] = {
		{"record", "qpn", "4294967296", -EINVAL},
		{"record", "qpn", "-1", -EINVAL},
		{"record", "qpn", "1.0", -EINVAL},
		{"record", "qpn", "\"1\"", -EINVAL},
		{"record", "qpn", "null", -EINVAL},
		{"record", "age_us", "-1", -EINVAL},
		{"record", "age_us", "9223372036854775807", 0},
		{"record", "event", "4000000000", 0},
		{"record", "program", "7", -EINVAL},
		{"record", "program", "\"\\u001b[2J\"", -EINVAL},
		{"record", "unknown", "7", 0},
		{"record", "program", "\"\\u009b2J\"", -EINVAL},
		{"qps", "waiting_for", "\"a\\nb\"", -EINVAL},
		{NULL, "qps", "{}", -EINVAL},
		{NULL, "qps", "[7]", -EINVAL},
		{NULL, "qps", "[]", 0},
		{NULL, "version", "2", -EINVAL},
		{NULL, "format", "\"pcap\"", -EINVAL},
		{NULL, "taken_us", "-1", -EINVAL},
		{NULL, "boot_id", "\"a\\u001b\"", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		assert_int_equal(evidence_save(&saved, path), 0);
		assert_int_equal(load_changed(cases[i].kind, cases[i].member,
					      json_loads(cases[i].value, JSON_DECODE_ANY, NULL)),
				 cases[i].error);
	}
	assert_int_equal(evidence_save(&saved, path), 0);
	assert_int_equal(load_changed("record", "program", json_string(long_text)), -EINVAL);
}

/* The rows of one record with the clock of another one are nobody's. */
static void test_two_in_one(void **state)
{
	struct evidence other = saved, found;
	json_t *first, *second;

	(void)state;
	assert_int_equal(evidence_save(&saved, path), 0);
	first = json_load_file(path, 0, NULL);
	other.taken_us++;
	assert_int_equal(evidence_save(&other, path), 0);
	second = json_load_file(path, 0, NULL);
	json_object_set(first, "taken_us", json_object_get(second, "taken_us"));
	json_array_extend(json_object_get(first, "record"), json_object_get(second, "record"));
	assert_int_equal(json_dump_file(first, path, 0), 0);
	assert_int_equal(load_quietly(&found), -EINVAL);
	/* Another spelling of a whole record is good. */
	assert_int_equal(json_dump_file(second, path, JSON_INDENT(8) | JSON_SORT_KEYS), 0);
	assert_int_equal(evidence_load(&found, path), 0);
	assert_int_equal(found.taken_us, other.taken_us);
	evidence_free(&found);
	json_decref(first);
	json_decref(second);
}

/* Bytes of a text that are no printable ASCII make no file that cannot be written or read. */
static void test_text_of_any_bytes(void **state)
{
	struct rnic_show_client odd[] = {{.program = "a\033b\xff"}};
	struct evidence some = {.clients = odd, .client_count = 1}, found;

	(void)state;
	assert_int_equal(evidence_save(&some, path), 0);
	assert_int_equal(load_quietly(&found), 0);
	assert_string_equal(found.clients[0].program, "a?b?");
	evidence_free(&found);
}

static void test_too_many_rows(void **state)
{
	const struct evidence many = {.qp_count = 400001};

	(void)state;
	assert_int_equal(evidence_save(&many, path), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_two_in_one),
		cmocka_unit_test(test_too_many_rows),
		cmocka_unit_test(test_text_of_any_bytes),
	};

	return cmocka_run_group_tests(tests, make_file, close_file);
}
