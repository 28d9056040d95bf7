/* SPDX-License-Identifier: MIT */
/*
 * The file of rnicctl record save: JSON, {"format": "rnic-record", "version": 1, "boot_id",
 * "taken_us", "crc32"} and an array of objects for each kind of row. rnicctl(1) describes the
 * members. A later version may add members; a reader takes those that it knows, and refuses a file
 * that lacks one of them. The checksum is of the content, not of the spelling: a file that was
 * indented anew is good, one with another value or of two files is not.
 */
#include "tools/rnicctl/explain/evidence.h"

#include "proto/base/bits.h"
#include "tools/rnicctl/explain/explanation.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_FORMAT   "rnic-record"
#define FILE_VERSION  1
#define FILE_CHECKSUM "crc32"
#define FILE_ROWS     400000 /* of a kind, at most */
#define FILE_BYTES    (256 * 1024 * 1024)

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
	NUMBER(rnic_show_record, gaps),	     TEXT(rnic_show_record, program),
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
	NUMBER(rnic_show_trouble, uid),	   NUMBER(rnic_show_trouble, cause),
	TEXT(rnic_show_trouble, program),  TEXT(rnic_show_trouble, subject),
	TEXT(rnic_show_trouble, reason),
};
static const struct file_field client_fields[] = {
	NUMBER(rnic_show_client, client_id), NUMBER(rnic_show_client, pid),
	NUMBER(rnic_show_client, uid),	     NUMBER(rnic_show_client, stop),
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

/* The CRC-32 of the document without its checksum, in the one spelling that jansson has for it. */
static bool checksum_of(json_t *document, uint32_t *checksum)
{
	json_t *bare = json_copy(document);
	char *text;

	json_object_del(bare, FILE_CHECKSUM);
	text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(bare);
	if (text == NULL)
		return false;
	*checksum = crc32_gzip_refl(0, (const uint8_t *)text, strlen(text));
	free(text);
	return true;
}

bool evidence_seal(json_t *document)
{
	uint32_t checksum;

	return checksum_of(document, &checksum) &&
	       json_object_set_new(document, FILE_CHECKSUM, json_integer(checksum)) == 0;
}

/* Other bytes act on the terminal that they are printed on, or are no UTF-8. */
static bool is_plain(char byte)
{
	return byte >= ' ' && byte <= '~';
}

static bool text_is_plain(const char *text)
{
	while (is_plain(*text))
		text++;
	return *text == '\0';
}

/* --- writing --------------------------------------------------------------------------------- */

static json_t *text_json(const char *text, size_t bytes)
{
	char *plain = strndup(text, bytes);
	json_t *value;

	for (char *byte = plain; byte != NULL && *byte != '\0'; byte++)
		if (!is_plain(*byte))
			*byte = '?';
	value = json_string(plain);
	free(plain);
	return value;
}

static json_t *field_json(const struct file_field *field, const uint8_t *row)
{
	uint32_t word;
	uint64_t number;

	if (field->is_text)
		return text_json((const char *)row + field->offset, field->bytes);
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

/* A file that evidence_load() would refuse is not written. */
static bool fits_file(const struct evidence *evidence)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(kinds); i++)
		if (*(const size_t *)((const uint8_t *)evidence + kinds[i].count) > FILE_ROWS)
			return false;
	return true;
}

int evidence_save(const struct evidence *evidence, const char *path)
{
	json_t *document;
	int error = 0;

	if (!fits_file(evidence)) {
		fprintf(stderr, "rnicctl: there are more rows than a file may have; rnicctl record "
				"save as one user has the rows of that user\n");
		return -E2BIG;
	}
	document =
		json_pack("{ss si ss sI}", "format", FILE_FORMAT, "version", FILE_VERSION,
			  "boot_id", evidence->boot_id, "taken_us", (json_int_t)evidence->taken_us);
	for (size_t i = 0; i < RNIC_COUNT_OF(kinds); i++)
		json_object_set_new(document, kinds[i].name, rows_json(&kinds[i], evidence));
	errno = 0;
	if (!evidence_seal(document) ||
	    json_dump_file(document, path, JSON_INDENT(1) | JSON_PRESERVE_ORDER) != 0) {
		error = errno != 0 ? -errno : -EIO;
		fprintf(stderr, "rnicctl: cannot write %s: %s\n", path, strerror(-error));
	}
	json_decref(document);
	return error;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool text_read(const struct file_field *field, const char *text, uint8_t *row)
{
	if (text == NULL || strlen(text) >= field->bytes || !text_is_plain(text))
		return false;
	memcpy(row + field->offset, text, strlen(text) + 1);
	return true;
}

/* Whether the member was there and fits. */
static bool field_read(const struct file_field *field, const json_t *object, uint8_t *row)
{
	const json_t *member = json_object_get(object, field->key);
	json_int_t number = json_integer_value(member);
	uint32_t word = (uint32_t)number;

	if (field->is_text)
		return text_read(field, json_string_value(member), row);
	if (!json_is_integer(member) || number < 0 ||
	    (field->bytes == sizeof(word) && number > UINT32_MAX))
		return false;
	if (field->bytes == sizeof(word))
		memcpy(row + field->offset, &word, sizeof(word));
	else
		memcpy(row + field->offset, &number, sizeof(number));
	return true;
}

/* What is wrong with a file: a sentence's part, with its own words for each place. */
struct file_fault {
	char what[128];
};

/* False, with the first member that is missing or damaged as the fault. */
static bool row_read(const struct file_kind *kind, size_t number, const json_t *object,
		     uint8_t *row, struct file_fault *fault)
{
	for (size_t f = 0; f < kind->field_count; f++) {
		if (field_read(&kind->fields[f], object, row))
			continue;
		snprintf(fault->what, sizeof(fault->what),
			 "\"%s\" of row %zu of \"%s\" is missing or damaged", kind->fields[f].key,
			 number, kind->name);
		return false;
	}
	return true;
}

static bool rows_read(const struct file_kind *kind, const json_t *document,
		      struct evidence *evidence, struct file_fault *fault)
{
	const json_t *array = json_object_get(document, kind->name);
	const size_t count = json_array_size(array);
	uint8_t *rows;

	snprintf(fault->what, sizeof(fault->what), "\"%s\" is missing or too long", kind->name);
	if (!json_is_array(array) || count > FILE_ROWS)
		return false;
	rows = calloc(count + 1, kind->row_bytes);
	if (rows == NULL)
		return false;
	*(uint8_t **)((uint8_t *)evidence + kind->rows) = rows;
	*(size_t *)((uint8_t *)evidence + kind->count) = count;
	for (size_t i = 0; i < count; i++)
		if (!row_read(kind, i, json_array_get(array, i), rows + i * kind->row_bytes, fault))
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
	static const struct file_field clock_fields[] = {
		TEXT(evidence, boot_id),
		NUMBER(evidence, taken_us),
	};

	return field_read(&clock_fields[0], document, (uint8_t *)evidence) &&
	       field_read(&clock_fields[1], document, (uint8_t *)evidence);
}

static bool is_sealed(json_t *document)
{
	const json_t *written = json_object_get(document, FILE_CHECKSUM);
	uint32_t checksum;

	return json_is_integer(written) && checksum_of(document, &checksum) &&
	       json_integer_value(written) == checksum;
}

static int document_read(json_t *document, const char *path, struct evidence *evidence)
{
	const char *format = json_string_value(json_object_get(document, "format"));
	const json_t *version = json_object_get(document, "version");
	struct file_fault fault;

	if (format == NULL || strcmp(format, FILE_FORMAT) != 0)
		return complain_of_file(path, "it is not of rnicctl record save");
	if (!json_is_integer(version) || json_integer_value(version) != FILE_VERSION)
		return complain_of_file(path, "it is of another version of rnicctl");
	if (!is_sealed(document))
		return complain_of_file(path, "it was changed, or put together of two; its "
					      "checksum is of another content");
	if (!clock_read(document, evidence))
		return complain_of_file(path, "its clock is missing or damaged");
	for (size_t i = 0; i < RNIC_COUNT_OF(kinds); i++) {
		if (rows_read(&kinds[i], document, evidence, &fault))
			continue;
		evidence_free(evidence);
		return complain_of_file(path, fault.what);
	}
	return 0;
}

/* The parser has no bound of its own. */
static bool is_too_long(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > FILE_BYTES;
}

int evidence_load(struct evidence *evidence, const char *path)
{
	json_error_t where;
	json_t *document;
	int error;

	*evidence = (struct evidence){0};
	if (is_too_long(path))
		return complain_of_file(path, "it is too long");
	document = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	if (document == NULL)
		return complain_of_file(path, where.text);
	error = document_read(document, path, evidence);
	json_decref(document);
	return error;
}
