/* SPDX-License-Identifier: MIT */
/* The field table as a whole: nothing overlaps, nothing is lost, and garbage is refused. */
#include "proto/mad/cm_message.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define DATA_BITS (8 * RNIC_MAD_DATA_BYTES)

struct span {
	uint32_t bit;
	uint32_t width;
};

#define FIELD_SPAN(message, name, byte, bit, width) {8 * (byte) + (bit), width},
#define BYTES_SPAN(message, name, byte, length)	    {8 * (byte), 8 * (length)},

static const struct span req_spans[] = {RNIC_CM_FIELDS_REQ(FIELD_SPAN, BYTES_SPAN)};
static const struct span mra_spans[] = {RNIC_CM_FIELDS_MRA(FIELD_SPAN, BYTES_SPAN)};
static const struct span rej_spans[] = {RNIC_CM_FIELDS_REJ(FIELD_SPAN, BYTES_SPAN)};
static const struct span rep_spans[] = {RNIC_CM_FIELDS_REP(FIELD_SPAN, BYTES_SPAN)};
static const struct span rtu_spans[] = {RNIC_CM_FIELDS_RTU(FIELD_SPAN, BYTES_SPAN)};
static const struct span dreq_spans[] = {RNIC_CM_FIELDS_DREQ(FIELD_SPAN, BYTES_SPAN)};
static const struct span drep_spans[] = {RNIC_CM_FIELDS_DREP(FIELD_SPAN, BYTES_SPAN)};
static const struct span sidr_req_spans[] = {RNIC_CM_FIELDS_SIDR_REQ(FIELD_SPAN, BYTES_SPAN)};
static const struct span sidr_rep_spans[] = {RNIC_CM_FIELDS_SIDR_REP(FIELD_SPAN, BYTES_SPAN)};
static const struct span lap_spans[] = {RNIC_CM_FIELDS_LAP(FIELD_SPAN, BYTES_SPAN)};
static const struct span apr_spans[] = {RNIC_CM_FIELDS_APR(FIELD_SPAN, BYTES_SPAN)};

#define MESSAGE(kind, spans)                                                                       \
	{                                                                                          \
		kind, spans, RNIC_COUNT_OF(spans)                                                  \
	}

static const struct {
	enum rnic_cm_kind kind;
	const struct span *spans;
	size_t count;
} messages[] = {
	MESSAGE(RNIC_CM_REQ, req_spans),	   MESSAGE(RNIC_CM_MRA, mra_spans),
	MESSAGE(RNIC_CM_REJ, rej_spans),	   MESSAGE(RNIC_CM_REP, rep_spans),
	MESSAGE(RNIC_CM_RTU, rtu_spans),	   MESSAGE(RNIC_CM_DREQ, dreq_spans),
	MESSAGE(RNIC_CM_DREP, drep_spans),	   MESSAGE(RNIC_CM_SIDR_REQ, sidr_req_spans),
	MESSAGE(RNIC_CM_SIDR_REP, sidr_rep_spans), MESSAGE(RNIC_CM_LAP, lap_spans),
	MESSAGE(RNIC_CM_APR, apr_spans),
};

static void start_mad(uint8_t bytes[RNIC_MAD_BYTES], uint32_t kind)
{
	const struct rnic_mad_header header = {
		.base_version = 1,
		.management_class = 7,
		.class_version = 2,
		.method = 3,
		.transaction_id = 99,
		.attribute_id = (uint16_t)kind,
	};

	memset(bytes, 0, RNIC_MAD_BYTES);
	rnic_mad_header_encode(&header, bytes);
}

/* Every message ends with its private data, at the end of the MAD. */
static void test_fields_do_not_overlap(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(messages); i++) {
		uint32_t end = 0;

		for (size_t j = 0; j < messages[i].count; j++) {
			assert_true(messages[i].spans[j].bit >= end);
			end = messages[i].spans[j].bit + messages[i].spans[j].width;
		}
		assert_int_equal(end, DATA_BITS);
	}
}

/* A bit that a field owns comes back, alone; a reserved one does not. */
static void test_bits_one_by_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(messages); i++) {
		size_t span = 0;

		for (uint32_t bit = 0; bit < DATA_BITS; bit++) {
			const struct span *here = &messages[i].spans[span];
			uint8_t bytes[RNIC_MAD_BYTES], encoded[RNIC_MAD_BYTES];
			struct rnic_cm_message message;

			start_mad(bytes, messages[i].kind);
			if (bit >= here->bit)
				bytes[RNIC_MAD_HEADER_BYTES + bit / 8] = (uint8_t)(0x80 >> bit % 8);
			start_mad(encoded, messages[i].kind);
			encoded[RNIC_MAD_HEADER_BYTES + bit / 8] = (uint8_t)(0x80 >> bit % 8);
			assert_int_equal(rnic_cm_decode(&message, encoded, sizeof(encoded)), 0);
			assert_int_equal(message.kind, messages[i].kind);
			assert_int_equal(message.transaction_id, 99);
			rnic_cm_encode(&message, encoded);
			assert_memory_equal(encoded, bytes, sizeof(bytes));
			if (bit + 1 == here->bit + here->width)
				span++;
		}
	}
}

static void test_values(void **state)
{
	struct rnic_cm_message message = {
		.kind = RNIC_CM_REQ,
		.req =
			{
				.local_qpn = 0xabcdef,
				.responder_resources = 7,
				.remote_response_timeout = 20,
				.transport = RNIC_CM_TRANSPORT_EXTENDED,
				.flow_control = 1,
				.starting_psn = 0x123456,
				.local_response_timeout = 31,
				.retry_count = 5,
				.primary_flow_label = 0xfedcb,
				.primary_rate = 0x2a,
			},
	};
	uint8_t bytes[RNIC_MAD_BYTES];
	const uint8_t *data = bytes + RNIC_MAD_HEADER_BYTES;

	(void)state;
	rnic_cm_encode(&message, bytes);
	assert_memory_equal(data + 32, ((const uint8_t[]){0xab, 0xcd, 0xef, 7}), 4);
	assert_int_equal(data[43], 20 << 3 | 3 << 1 | 1);
	assert_memory_equal(data + 44, ((const uint8_t[]){0x12, 0x34, 0x56, 31 << 3 | 5}), 4);
	assert_memory_equal(data + 88, ((const uint8_t[]){0xfe, 0xdc, 0xb0, 0x2a}), 4);
}

static void test_what_is_no_message(void **state)
{
	static const struct {
		uint32_t byte;
		uint8_t value;
		int error;
	} cases[] = {
		{0, 2, -EPROTO},	 {1, 0x03, -EPROTO},	  {2, 1, -EPROTO},
		{3, 0x01, -EPROTO},	 {16, 1, -EOPNOTSUPP},	  {17, 0x0f, -EOPNOTSUPP},
		{17, 0x1b, -EOPNOTSUPP}, {17, 0xff, -EOPNOTSUPP},
	};
	struct rnic_cm_message message = {.transaction_id = 1234};
	uint8_t bytes[RNIC_MAD_BYTES];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		start_mad(bytes, RNIC_CM_REQ);
		bytes[cases[i].byte] = cases[i].value;
		assert_int_equal(rnic_cm_decode(&message, bytes, sizeof(bytes)), cases[i].error);
	}
	start_mad(bytes, RNIC_CM_REQ);
	assert_int_equal(rnic_cm_decode(&message, bytes, RNIC_MAD_BYTES - 1), -EBADMSG);
	assert_int_equal(rnic_cm_decode(&message, bytes, RNIC_MAD_BYTES + 4), -EBADMSG);
	assert_int_equal(rnic_cm_decode(&message, bytes, 0), -EBADMSG);
	assert_int_equal(message.transaction_id, 1234);
}

static void test_texts(void **state)
{
	(void)state;
	assert_string_equal(rnic_cm_kind_text(RNIC_CM_REQ), "REQ");
	assert_string_equal(rnic_cm_kind_text(RNIC_CM_SIDR_REP), "SIDR_REP");
	assert_string_equal(rnic_cm_kind_text(RNIC_CM_APR), "APR");
	assert_null(rnic_cm_kind_text(RNIC_CM_REQ - 1));
	assert_null(rnic_cm_kind_text(RNIC_CM_APR + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_do_not_overlap),
		cmocka_unit_test(test_bits_one_by_one),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_no_message),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
