/* SPDX-License-Identifier: MIT */
#include "private_data.h"
#include "tests/unit/unit_test.h"

static const struct private_data offer = {
	.sample = SAMPLE_IMMEDIATE,
	.seed = 0x01020304,
	.address = 0x1112131415161718,
	.remote_key = 0x21222324,
	.bytes = 0x31323334,
	.messages = 0x41424344,
};

/* Computers of both byte orders must make these. */
static const uint8_t encoded_offer[PRIVATE_DATA_BYTES] = {
	'r',  'd',  'm',  's',	1,    2,    0,	  32,	0x01, 0x02, 0x03,
	0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22,
	0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44,
};

static void assert_is_offer(const struct private_data *data)
{
	assert_int_equal(data->sample, offer.sample);
	assert_int_equal(data->seed, offer.seed);
	assert_int_equal(data->address, offer.address);
	assert_int_equal(data->remote_key, offer.remote_key);
	assert_int_equal(data->bytes, offer.bytes);
	assert_int_equal(data->messages, offer.messages);
}

static void encodes_to_the_bytes_agreed_upon(void **state)
{
	uint8_t encoded[PRIVATE_DATA_BYTES];

	(void)state;
	private_data_encode(&offer, encoded);
	assert_memory_equal(encoded, encoded_offer, sizeof(encoded));
}

static void decodes_what_was_encoded(void **state)
{
	struct private_data data;

	(void)state;
	assert_int_equal(private_data_decode(encoded_offer, sizeof(encoded_offer), &data), 0);
	assert_is_offer(&data);
}

/* A REQ carries 56 bytes for the application, a REP 196, however many were given. */
static void ignores_what_the_transport_appends(void **state)
{
	uint8_t padded[196] = {0};
	struct private_data data;

	(void)state;
	memcpy(padded, encoded_offer, sizeof(encoded_offer));
	padded[sizeof(padded) - 1] = 0xff;
	assert_int_equal(private_data_decode(padded, sizeof(padded), &data), 0);
	assert_is_offer(&data);
}

static void refuses_every_shorter_length(void **state)
{
	struct private_data data = offer;

	(void)state;
	for (size_t length = 0; length < PRIVATE_DATA_BYTES; length++)
		assert_int_equal(private_data_decode(encoded_offer, length, &data), -EMSGSIZE);
	assert_is_offer(&data);
}

/* One byte of a good offer is changed, or as many as `count` from there on. */
static const struct {
	size_t at;
	size_t count;
	uint8_t value;
	int error;
} spoilt[] = {
	{0, 1, 'R', -EPROTO},	     /* magic */
	{3, 1, 0, -EPROTO},	     /* its end */
	{4, 1, 0, -EPROTONOSUPPORT}, /* version */
	{4, 1, 2, -EPROTONOSUPPORT}, /* a later one */
	{5, 1, 0, -EINVAL},	     /* sample */
	{5, 1, 3, -EINVAL},	     /* one that there is not */
	{6, 1, 1, -EMSGSIZE},	     /* length 288 */
	{7, 1, 31, -EMSGSIZE},	     /* too short */
	{7, 1, 33, -EMSGSIZE},	     /* too long */
	{12, 8, 0xff, -EINVAL},	     /* a buffer beyond the last address */
	{24, 4, 0, -EINVAL},	     /* no bytes */
	{28, 4, 0, -EINVAL},	     /* no messages */
};

static void refuses_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		uint8_t bytes[PRIVATE_DATA_BYTES];
		struct private_data data = offer;

		memcpy(bytes, encoded_offer, sizeof(bytes));
		memset(bytes + spoilt[i].at, spoilt[i].value, spoilt[i].count);
		assert_int_equal(private_data_decode(bytes, sizeof(bytes), &data), spoilt[i].error);
		assert_is_offer(&data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_to_the_bytes_agreed_upon),
		cmocka_unit_test(decodes_what_was_encoded),
		cmocka_unit_test(ignores_what_the_transport_appends),
		cmocka_unit_test(refuses_every_shorter_length),
		cmocka_unit_test(refuses_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
