/* SPDX-License-Identifier: MIT */
#include "tools/lab/exchange/exchange_message.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

static struct lab_message hello(void)
{
	struct lab_message message = {
		.type = LAB_HELLO,
		.endpoint = {.mode = LAB_READ,
			     .mtu = 5,
			     .lid = 0x0102,
			     .qpn = 0xfedcba,
			     .psn = 0x123456,
			     .region_key = 0xdeadbeef,
			     .region_address = UINT64_C(0x0123456789abcdef),
			     .region_bytes = 4096,
			     .gid = {0x20, 0x01, [15] = 1}},
	};

	memset(message.endpoint.nonce, 0x5a, LAB_NONCE_BYTES);
	return message;
}

static struct lab_message challenge(void)
{
	struct lab_message message = {.type = LAB_CHALLENGE};

	message.challenge.methods = LAB_BY_SECRET | LAB_BY_LOCAL_USER;
	snprintf(message.challenge.place, LAB_PLACE_BYTES, "rnic-lab-0123");
	return message;
}

static struct lab_message proof(void)
{
	return (struct lab_message){.type = LAB_PROOF, .proof = {.method = LAB_BY_SECRET}};
}

static struct lab_message refusal(void)
{
	return (struct lab_message){.type = LAB_REFUSAL, .reason = "not today"};
}

static struct lab_message ready(void)
{
	return (struct lab_message){.type = LAB_READY};
}

static struct lab_message (*const all[])(void) = {hello, challenge, proof, refusal, ready};

/* Each comes out as it went in, and no part of it is taken for the whole. */
static void test_round_trips(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(all); i++) {
		uint8_t bytes[LAB_MESSAGE_BYTES_MAX], again[LAB_MESSAGE_BYTES_MAX];
		struct lab_message in = all[i](), out;
		size_t size = lab_message_encode(&in, bytes);

		assert_int_equal(lab_message_decode(bytes, size, &out), size);
		assert_int_equal(out.type, in.type);
		assert_int_equal(lab_message_encode(&out, again), size);
		assert_memory_equal(bytes, again, size);
		for (size_t part = 0; part < size; part++)
			assert_int_equal(lab_message_decode(bytes, part, &out), 0);
	}
}

/* The layout, field by field, that other builds rely on. */
static void test_bytes_of_hello(void **state)
{
	static const uint8_t wanted[] = {
		'R',  'L',  'A',  'B',	0,    1,    0,	  1,	0, 0, 0, 76, /* header */
		3,    5,    1,	  2,					     /* mode, mtu, lid */
		0,    0xfe, 0xdc, 0xba, 0,    0x12, 0x34, 0x56,		     /* qpn, psn */
		0xde, 0xad, 0xbe, 0xef,					     /* key */
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,		     /* address */
		0,    0,    0x10, 0,					     /* bytes */
		0x20, 0x01, 0,	  0,	0,    0,    0,	  0,	0, 0, 0, 0,  0, 0, 0, 1, /* gid */
		0x5a,									 /* nonce */
	};
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
	struct lab_message message = hello();

	(void)state;
	assert_int_equal(lab_message_encode(&message, bytes), 12 + 76);
	assert_memory_equal(bytes, wanted, sizeof(wanted));
}

struct damage {
	size_t offset;
	uint8_t value;
	int error;
};

static void expect_damage(struct lab_message message, const struct damage *damage)
{
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
	size_t size = lab_message_encode(&message, bytes);

	bytes[damage->offset] = damage->value;
	assert_int_equal(lab_message_decode(bytes, size, &message), damage->error);
}

static void test_damaged_hellos(void **state)
{
	static const struct damage damages[] = {
		{0, 'X', -EBADMSG},	  /* magic */
		{5, 2, -EPROTONOSUPPORT}, /* version */
		{7, 0, -EBADMSG},	  /* types that there are not */
		{7, 7, -EBADMSG},	  {6, 1, -EBADMSG},
		{11, 75, -EBADMSG},			     /* size of another type */
		{8, 0xff, -EBADMSG},	  {12, 0, -EBADMSG}, /* mode */
		{12, 5, -EBADMSG},	  {13, 0, -EBADMSG}, /* mtu */
		{13, 6, -EBADMSG},	  {16, 1, -EBADMSG}, /* qpn of 25 bits */
		{20, 1, -EBADMSG},			     /* psn of 25 bits */
		{36, 0x40, -EBADMSG},			     /* more than 1 GiB */
		{40, 0xff, -EBADMSG},			     /* multicast */
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(damages); i++)
		expect_damage(hello(), &damages[i]);
}

static void test_damaged_others(void **state)
{
	static const struct damage challenges[] = {
		{12, 0, -EBADMSG},    {12, 4, -EBADMSG}, {13, 1, -EBADMSG},
		{16, '\n', -EBADMSG}, {16, 0, -EBADMSG}, {79, 'x', -EBADMSG},
	};
	static const struct damage proofs[] = {
		{12, 0, -EBADMSG}, {12, 3, -EBADMSG}, {15, 1, -EBADMSG}};
	static const struct damage refusals[] = {{12, 0x1b, -EBADMSG},
						 {12 + LAB_REASON_BYTES - 1, 'x', -EBADMSG}};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(challenges); i++)
		expect_damage(challenge(), &challenges[i]);
	for (size_t i = 0; i < RNIC_COUNT_OF(proofs); i++)
		expect_damage(proof(), &proofs[i]);
	for (size_t i = 0; i < RNIC_COUNT_OF(refusals); i++)
		expect_damage(refusal(), &refusals[i]);
}

static void test_numbers_out_of_bounds(void **state)
{
	struct lab_message wrapping = hello(), nobody = hello(), special = hello();
	static const struct damage none = {0, 'R', -EBADMSG};

	(void)state;
	wrapping.endpoint.region_address = UINT64_MAX - 4095;
	expect_damage(wrapping, &none);
	special.endpoint.qpn = 1;
	expect_damage(special, &none);
	memset(nobody.endpoint.gid, 0, sizeof(nobody.endpoint.gid));
	nobody.endpoint.lid = 0;
	expect_damage(nobody, &none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),	      cmocka_unit_test(test_bytes_of_hello),
		cmocka_unit_test(test_damaged_hellos),	      cmocka_unit_test(test_damaged_others),
		cmocka_unit_test(test_numbers_out_of_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
