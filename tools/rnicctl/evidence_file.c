/* SPDX-License-Identifier: MIT */
/*
 * The file of rnicctl record save: JSON, {"format": "rnic-record", "version": 1, "boot_id",
 * "taken_us"} and an array of objects for each kind of row. rnicctl(1) describes the members. A
 * later version may add members; a reader takes those that it knows, and refuses a file that lacks
 * one of them.
 */
#include "tools/rnicctl/evidence.h"

#include "proto/base/bits.h"
#include "tools/rnicctl/explain_qp.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_FORMAT  "rnic-record"
#define FILE_VERSION 1
#define FILE_ROWS    100000 /* of a kind, at most */

struct file_field {
	const char *key;
	size_t offset;
	size_t bytes; /* 4 or 8: a number; else a text with a final zero */
	bool is_text;
};

#define NUMBER(row, member)                                                                        \
	{                                                                                          \
#member, offsetof(struct row, member), sizeof(((struct row *)0)->member), false    \
	}
#define TEXT(row, member)                                                                          \
	{                                                                                          \
#member, offsetof(struct row, member), sizeof(((struct row *)0)->member), true     \
	}

static const struct file_field record_fields[] = {
	NUMBER(rnic_show_record, client_id), NUMBER(rnic_show_record, pid),
	NUMBER(rnic_show_record, uid),	     NUMBER(rnic_show_record, qpn),
	NUMBER(rnic_show_record, peer_qpn),  NUMBER(rnic_show_record, age_us),
	NUMBER(rnic_show_record, event),     NUMBER(rnic_show_record, detail),
	NUMBER(rnic_show_record, extra),     NUMBER(rnic_show_record, run),
	NUMBER(rnic_show_record, psn),	     NUMBER(rnic_show_record, value),
	TEXT(rnic_show_record, program),
};
static const struct file_field qp_fields[] = {
	NUMBER(rnic_show_qp, client_id),
	NUMBER(rnic_show_qp, qpn),
	NUMBER(rnic_show_qp, type),
	NUMBER(rnic_show_qp, state),
	NUMBER(rnic_show_qp, peer_qpn),
	NUMBER(rnic_show_qp, send_posted),
	NUMBER(rnic_show_qp, recv_posted),
	NUMBER(rnic_show_qp, send_psn),
	NUMBER(rnic_show_qp, unacknowledged_psn),
	NUMBER(rnic_show_qp, expected_psn),
	TEXT(rnic_show_qp, last_error),
	TEXT(rnic_show_qp, waiting_for),
};
static const struct file_field trouble_fields[] = {
	NUMBER(rnic_show_trouble, age_ms), NUMBER(rnic_show_trouble, pid),
	NUMBER(rnic_show_trouble, uid),	   TEXT(rnic_show_trouble, program),
	TEXT(rnic_show_trouble, subject),  TEXT(rnic_show_trouble, reason),
};
static const struct file_field client_fields[] = {
	NUMBER(rnic_show_client, client_id),
	NUMBER(rnic_show_client, pid),
	NUMBER(rnic_show_client, uid),
	TEXT(rnic_show_client, program),
};

/* The kinds of rows, and where they are in struct evidence. */
static const struct file_kind {
	const char *name;
	const struct file_field *fields;
	size_t field_count;
	size_t row_bytes;
	size_t rows;  /* offset of the pointer */
	size_t count; /* offset of the count */
	bool has_words;
} kinds[] = {
	{"record", record_fields, RNIC_COUNT_OF(record_fields), sizeof(struct rnic_show_record),
	 offsetof(struct evidence, records), offsetof(struct evidence, record_count), true},
	{"qps", qp_fields, RNIC_COUNT_OF(qp_fields), sizeof(struct rnic_show_qp),
	 offsetof(struct evidence, qps), offsetof(struct evidence, qp_count), false},
	{"troubles", trouble_fields, RNIC_COUNT_OF(trouble_fields),
	 sizeof(struct rnic_show_trouble), offsetof(struct evidence, troubles),
	 offsetof(struct evidence, trouble_count), false},
	{"clients", client_fields, RNIC_COUNT_OF(client_fields), sizeof(struct rnic_show_client),
	 offsetof(struct evidence, clients), offsetof(struct evidence, client_count), false},
};

/* --- writing --------------------------------------------------------------------------------- */

static json_t *field_json(const struct file_field *field, const uint8_t *row)
{
	uint32_t word;
	uint64_t number;

	if (field->is_text)
		return json_stringn_nocheck(
			(const char *)row + field->offset,
			strnlen((const char *)row + field->offset, field->bytes));
	if (field->bytes == sizeof(number)) {
		memcpy(&number, row + field->offset, sizeof(number));
		return json_integer((json_int_t)(number & INT64_MAX));
	}
	memcpy(&word, row + field->offset, sizeof(word));
	return json_integer(word);
}

/* For readers that are no rnicctl, such as the page of rnicctl serve; not read back. */
static json_t *words_json(const uint8_t *row)
{
	char text[EXPLAIN_TEXT_BYTES];

	explain_step_text((const struct rnic_show_record *)(const void *)row, text, sizeof(text));
	return json_string(text);
}

static json_t *rows_json(const struct file_kind *kind, const struct evidence *evidence)
{
	const uint8_t *rows = *(uint8_t *const *)((const uint8_t *)evidence + kind->rows);
	const size_t count = *(const size_t *)((const uint8_t *)evidence + kind->count);
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();

		for (size_t f = 0; f < kind->field_count; f++)
			json_object_set_new(
				object, kind->fields[f].key,
				field_json(&kind->fields[f], rows + i * kind->row_bytes));
		if (kind->has_words)
			json_object_set_new(object, "text", words_json(rows + i * kind->row_bytes));
		json_array_append_new(array, object);
	}
	return array;
}

int evidence_save(const struct evidence *evidence, const char *path)
{
	json_t *document =
		json_pack("{ss si ss sI}", "format", FILE_FORMAT, "version", FILE_VERSION,
			  "boot_id", evidence->boot_id, "taken_us", (json_int_t)evidence->taken_us);
	int error = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(kinds); i++)
		json_object_set_new(document, kinds[i].name, rows_json(&kinds[i], evidence));
	errno = 0;
	if (json_dump_file(document, path, JSON_INDENT(1) | JSON_PRESERVE_ORDER) != 0) {
		error = errno != 0 ? -errno : -EIO;
		fprintf(stderr, "rnicctl: cannot write %s: %s\n", path, strerror(-error));
	}
	json_decref(document);
	return error;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Whether the member was there and fits. */
static bool field_read(const struct file_field *field, const json_t *object, uint8_t *row)
{
	const json_t *member = json_object_get(object, field->key);
	const char *text = json_string_value(member);
	json_int_t number = json_integer_value(member);
	uint32_t word = (uint32_t)number;

	if (field->is_text) {
		if (text == NULL || strlen(text) >= field->bytes)
			return false;
		memcpy(row + field->offset, text, strlen(text) + 1);
		return true;
	}
	if (!json_is_integer(member) || number < 0 ||
	    (field->bytes == sizeof(word) && number > UINT32_MAX))
		return false;
	if (field->bytes == sizeof(word))
		memcpy(row + field->offset, &word, sizeof(word));
	else
		memcpy(row + field->offset, &number, sizeof(number));
	return true;
}

static bool row_read(const struct file_kind *kind, const json_t *object, uint8_t *row)
{
	for (size_t f = 0; f < kind->field_count; f++)
		if (!field_read(&kind->fields[f], object, row))
			return false;
	return true;
}

static bool rows_read(const struct file_kind *kind, const json_t *document,
		      struct evidence *evidence)
{
	const json_t *array = json_object_get(document, kind->name);
	const size_t count = json_array_size(array);
	uint8_t *rows;

	if (!json_is_array(array) || count > FILE_ROWS)
		return false;
	rows = calloc(count + 1, kind->row_bytes);
	if (rows == NULL)
		return false;
	*(uint8_t **)((uint8_t *)evidence + kind->rows) = rows;
	*(size_t *)((uint8_t *)evidence + kind->count) = count;
	for (size_t i = 0; i < count; i++)
		if (!row_read(kind, json_array_get(array, i), rows + i * kind->row_bytes))
			return false;
	return true;
}

static int complain_of_file(const char *path, const char *what)
{
	fprintf(stderr, "rnicctl: %s is no record that can be read: %s\n", path, what);
	return -EINVAL;
}

static bool clock_read(const json_t *document, struct evidence *evidence)
{
	const char *boot_id = json_string_value(json_object_get(document, "boot_id"));
	const json_t *taken_us = json_object_get(document, "taken_us");

	if (boot_id == NULL || strlen(boot_id) >= sizeof(evidence->boot_id) ||
	    !json_is_integer(taken_us) || json_integer_value(taken_us) < 0)
		return false;
	memcpy(evidence->boot_id, boot_id, strlen(boot_id) + 1);
	evidence->taken_us = (uint64_t)json_integer_value(taken_us);
	return true;
}

static int document_read(const json_t *document, const char *path, struct evidence *evidence)
{
	const char *format = json_string_value(json_object_get(document, "format"));
	const json_t *version = json_object_get(document, "version");

	if (format == NULL || strcmp(format, FILE_FORMAT) != 0)
		return complain_of_file(path, "it is not of rnicctl record save");
	if (!json_is_integer(version) || json_integer_value(version) != FILE_VERSION)
		return complain_of_file(path, "it is of another version of rnicctl");
	if (!clock_read(document, evidence))
		return complain_of_file(path, "its clock is missing or damaged");
	for (size_t i = 0; i < RNIC_COUNT_OF(kinds); i++) {
		if (rows_read(&kinds[i], document, evidence))
			continue;
		evidence_free(evidence);
		return complain_of_file(path, "rows are missing or damaged");
	}
	return 0;
}

int evidence_load(struct evidence *evidence, const char *path)
{
	json_error_t where;
	json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	int error;

	*evidence = (struct evidence){0};
	if (document == NULL)
		return complain_of_file(path, where.text);
	error = document_read(document, path, evidence);
	json_decref(document);
	return error;
}
