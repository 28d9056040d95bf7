/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of rnicctl record save, and as the rows of two records. What is read is
 * explained in every way, and is the same when it is saved and read again. A text of JSON gets the
 * checksum of its content, so that damage reaches what is behind the checksum. The seeds are a
 * whole file, and the rows of connections that failed.
 */
#include "tests/fuzz/fuzz_seeds.h"
#include "tools/rnicctl/explain/explain_qp.h"
#include "tools/rnicctl/explain_report.h"

#include "proto/base/bits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN	  0x800001
#define PEER	  0x810002
#define ROW_BYTES 8 /* of the input, for a row */
#define ROWS_MAX  (FUZZ_SEED_BYTES_MAX / ROW_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere;
static int file_fd;
static char path[32];

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* What is printed goes nowhere; libFuzzer has its own stream. */
static void begin(void)
{
	if (nowhere != NULL)
		return;
	nowhere = fopen("/dev/null", "we");
	file_fd = memfd_create("record", MFD_CLOEXEC);
	require(nowhere != NULL && file_fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	stdout = nowhere;
}

static int load_quietly(struct evidence *evidence)
{
	FILE *own = stderr;
	int error;

	stderr = nowhere;
	error = evidence_load(evidence, path);
	stderr = own;
	return error;
}

/* --- judging --------------------------------------------------------------------------------- */

static void require_same(const void *a, size_t a_count, const void *b, size_t b_count, size_t bytes)
{
	require(a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * bytes) == 0));
}

static void check_round_trip(const struct evidence *evidence)
{
	struct evidence again;

	require(evidence_save(evidence, path) == 0);
	require(load_quietly(&again) == 0);
	require(strcmp(evidence->boot_id, again.boot_id) == 0);
	require_same(evidence->records, evidence->record_count, again.records, again.record_count,
		     sizeof(*again.records));
	require_same(evidence->qps, evidence->qp_count, again.qps, again.qp_count,
		     sizeof(*again.qps));
	require_same(evidence->troubles, evidence->trouble_count, again.troubles,
		     again.trouble_count, sizeof(*again.troubles));
	require_same(evidence->clients, evidence->client_count, again.clients, again.client_count,
		     sizeof(*again.clients));
	evidence_free(&again);
}

static void check_explanation(const struct evidence *sources, size_t count, uint32_t qpn)
{
	static struct explanation explanation;

	if (!explain_qp(sources, count, qpn, &explanation))
		return;
	require(explanation.step_count <= EXPLAIN_STEPS_MAX);
	require(explanation.error == NULL || explanation.cause != NULL ||
		explanation.detail[0] != '\0' || explanation.is_undetermined);
	for (size_t i = 0; i < explanation.step_count; i++)
		require(explanation.steps[i].row != NULL);
}

static void explain_all(const struct evidence *sources, size_t count, bool json)
{
	const struct explain_request request = {
		.sources = sources, .source_count = count, .json = json};

	explain_report_last(&request);
	explain_report_program(&request, json ? "prog" : "44");
	if (sources[0].record_count > 0)
		check_explanation(sources, count, sources[0].records[0].qpn);
	check_explanation(sources, count, OWN);
}

/* --- a file ---------------------------------------------------------------------------------- */

static void write_input(const uint8_t *data, size_t size)
{
	require(ftruncate(file_fd, 0) == 0);
	require(pwrite(file_fd, data, size, 0) == (ssize_t)size);
}

static void run_file(const uint8_t *data, size_t size)
{
	json_t *document = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct evidence evidence;

	if (json_is_object(document) && evidence_seal(document))
		require(json_dump_file(document, path, 0) == 0);
	else
		write_input(data, size);
	json_decref(document);
	if (load_quietly(&evidence) != 0)
		return;
	explain_all(&evidence, 1, size % 2 != 0);
	check_round_trip(&evidence);
	evidence_free(&evidence);
}

/* --- rows ------------------------------------------------------------------------------------ */

static uint32_t number_of(uint8_t byte)
{
	static const uint32_t numbers[] = {OWN, PEER, 0, OWN + 1, 7, 8, 0xffffff, UINT32_MAX};

	return numbers[byte % RNIC_COUNT_OF(numbers)];
}

static struct rnic_show_record row_of(const uint8_t byte[ROW_BYTES])
{
	return (struct rnic_show_record){
		.pid = byte[0] % 2 ? 44 : 45,
		.qpn = number_of(byte[1]),
		.peer_qpn = number_of(byte[1] >> 4),
		.age_us = (uint64_t)byte[2] << byte[3] % 56,
		.event = byte[4],
		.detail = byte[5],
		.extra = byte[6] % 8,
		.gaps = byte[6] >> 6,
		.psn = number_of(byte[7]),
		.value = number_of(byte[7] >> 4),
		.program = "prog",
	};
}

/* The first byte of a row says of which record the row is. */
static void run_rows(const uint8_t *data, size_t size)
{
	static struct rnic_show_record rows[2][ROWS_MAX];
	struct rnic_show_qp qps[] = {
		{.qpn = OWN, .peer_qpn = PEER, .state = data[1] % 8, .waiting_for = "a word"},
		{.qpn = PEER, .peer_qpn = OWN, .state = data[2] % 8, .expected_psn = data[3]},
	};
	struct evidence sources[] = {
		{.records = rows[0], .qps = &qps[0], .qp_count = data[0] >> 2 & 1},
		{.records = rows[1], .qps = &qps[1], .qp_count = data[0] >> 3 & 1},
	};

	for (size_t at = 4; at + ROW_BYTES <= size; at += ROW_BYTES) {
		struct evidence *source = &sources[data[at] >> 7];

		if (source->record_count < ROWS_MAX)
			source->records[source->record_count++] = row_of(data + at);
	}
	sources[0].boot_id[0] = data[0] >> 4 & 1 ? 'a' : '\0';
	sources[1].boot_id[0] = data[0] >> 5 & 1 ? 'a' : '\0';
	explain_all(sources, 1 + (data[0] >> 6 & 1), data[0] >> 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	if (size >= 4 && data[0] != '{' && data[0] % 2 == 0)
		run_rows(data, size);
	else
		run_file(data, size);
	return 0;
}

/* --- seeds ----------------------------------------------------------------------------------- */

static size_t seed_file(uint8_t out[FUZZ_SEED_BYTES_MAX])
{
	static const char text[] =
		"{\"format\":\"rnic-record\",\"version\":1,\"boot_id\":\"b\",\"taken_us\":9,"
		"\"record\":[{\"client_id\":1,\"pid\":44,\"uid\":0,\"qpn\":8388609,"
		"\"peer_qpn\":8454146,\"age_us\":9,\"event\":5,\"detail\":129,\"extra\":6,\"run\":"
		"0,"
		"\"psn\":7,\"value\":7,\"gaps\":0,\"program\":\"prog\"}],"
		"\"qps\":[{\"client_id\":1,\"qpn\":8388609,\"type\":1,\"state\":3,"
		"\"peer_qpn\":8454146,\"send_posted\":1,\"recv_posted\":0,\"send_psn\":1,"
		"\"unacknowledged_psn\":1,\"expected_psn\":1,\"last_error\":\"\","
		"\"waiting_for\":\"w\"}],"
		"\"troubles\":[{\"age_ms\":1,\"pid\":44,\"uid\":0,\"cause\":171,"
		"\"program\":\"prog\","
		"\"subject\":\"queue pair 0x800001\",\"reason\":\"r\"}],"
		"\"clients\":[{\"client_id\":1,\"pid\":44,\"uid\":0,\"stop\":0,"
		"\"program\":\"prog\"}]}";

	_Static_assert(sizeof(text) - 1 <= FUZZ_SEED_BYTES_MAX, "a seed");
	memcpy(out, text, sizeof(text) - 1);
	return sizeof(text) - 1;
}

/* Connected at both ends, silence, the end of the retries, and then one event of the peer. */
static size_t seed_rows(uint32_t number, uint8_t out[FUZZ_SEED_BYTES_MAX])
{
	const uint8_t events[][ROW_BYTES] = {
		{0x01, 0x02, 80, 16, RNIC_RECORD_CONNECTED, 0, 0, 0x10},
		{0x80, 0x02, 80, 16, RNIC_RECORD_CONNECTED, 0, 0, 0x01},
		{0x01, 0x10, 60, 16, RNIC_RECORD_POSITION, 0, 0, 0x45},
		{0x01, 0x10, 60, 16, RNIC_RECORD_TIMED_OUT, 7, 1, 0x44},
		{0x01, 0x10, 50, 16, RNIC_RECORD_TROUBLE, (uint8_t)(0x80 + number / 2 % 32), 6,
		 0x44},
		{0x80, 0x01, 70, 16, (uint8_t)(1 + number / 64 % RNIC_RECORD_PROGRAM_ENDED),
		 (uint8_t)(number % 2), 0, (uint8_t)(number % 3 ? 0x01 : 0x22)},
	};
	const uint8_t head[4] = {(uint8_t)(number << 2 & 0xfc), 6, 3, 8};

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), events, sizeof(events));
	return sizeof(head) + sizeof(events);
}

size_t fuzz_seed(uint32_t number, uint8_t out[FUZZ_SEED_BYTES_MAX])
{
	return number % 4 == 0 ? seed_file(out) : seed_rows(number, out);
}
