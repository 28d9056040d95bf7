/* SPDX-License-Identifier: MIT */
#include "proto/wire/icrc.h"

#include "proto/base/be.h"
#include "proto/base/bits.h"
#include "proto/base/vector_registers.h"
#include "proto/wire/ip_header.h"

#include <isa-l/crc.h>

#include <assert.h>
#include <string.h>

/* The CRC of eight bytes 0xff: the local route header, which RoCEv2 does not have, all masked. */
#define CRC_OF_MASKED_LRH UINT32_C(0x2144df1c)

#define IPV4_FLAGS_AT 6

#define PSEUDO_HEADER_BYTES_MAX (RNIC_IPV6_HEADER_BYTES + RNIC_UDP_HEADER_BYTES + RNIC_BTH_BYTES)

/*
 * Polynomials modulo the CRC's, bit 31 being x^0 and bit 0 x^31. x^-1 exists because the CRC's
 * polynomial has a constant term. A packet is a whole number of 4-byte words, so two small tables
 * reach the inverse of every shift: word i is x^(-32 i), block i is x^(-1024 i).
 */
#define CRC_POLYNOMIAL	UINT32_C(0xedb88320)
#define WORDS_PER_BLOCK 32
#define BLOCKS_MAX	32

/* The don't-fragment bit in what difference_at_identification() returns. */
#define DIFFERENCE_OF_DF (UINT32_C(0x40) << 16)

/* Identification to the end of the pad: 16 bytes of IPv4, UDP, the packet without its ICRC. */
#define ID_TO_END_BYTES(length) (16 + RNIC_UDP_HEADER_BYTES + (length)-RNIC_ICRC_BYTES)

_Static_assert(ID_TO_END_BYTES(RNIC_PACKET_BYTES_MAX) / 4 < (BLOCKS_MAX + 1) * WORDS_PER_BLOCK,
	       "the tables reach the longest packet");

static const uint32_t inverse_of_words[WORDS_PER_BLOCK] = {
	0x80000000, 0x5b358fd3, 0x2e9bb40b, 0x36511375, 0x12a59a49, 0x278d6e4e, 0x21280f27,
	0x24ac08d5, 0x8df9403d, 0xd50cbcf7, 0xebd369b3, 0x3c790f42, 0x9d764201, 0x4cc54c19,
	0xe364fe50, 0x6fef6bf6, 0x5139de12, 0xbb26d682, 0x1a28419b, 0xb34f4a13, 0x17958e0b,
	0x9887f8d0, 0xa3b110ee, 0xa06cd294, 0xdb1c4863, 0x18760b90, 0xf11d96dd, 0x23744737,
	0xc31ec6b9, 0x1332af98, 0x6d1a2ff6, 0x16438de9,
};

static const uint32_t inverse_of_blocks[BLOCKS_MAX + 1] = {
	0x80000000, 0xba340226, 0x29c45641, 0x2c87538c, 0x12fbc105, 0x948e59af, 0x8b712bc1,
	0x3c4f050e, 0xecd30c55, 0xb856ae08, 0x930588dc, 0x93e27f2f, 0x3c4c471a, 0xbc2e9b14,
	0x25cd5760, 0x401ef0db, 0x3755ebd8, 0xbb5b9e1e, 0xe264a9e0, 0xe28939fa, 0xc3a68b42,
	0xee3102b3, 0x219c9d64, 0xab9ef0a3, 0x75cc86fa, 0x2bde52b6, 0xebcce135, 0x761d3ac8,
	0x84773a36, 0x48d9880a, 0x4e1b970f, 0xddf1f7e9, 0x24ee460c,
};

/* What the four highest powers leave behind when multiplied by x^4. */
static const uint32_t remainder_of_nibble[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

/* Writes IP, UDP and base transport header, with ones where a router or a host may change them. */
static size_t pseudo_header_write(const struct rnic_addresses *addresses,
				  uint16_t ipv4_identification, const uint8_t *bytes, size_t length,
				  uint8_t out[PSEUDO_HEADER_BYTES_MAX])
{
	size_t datagram_bytes = length + RNIC_ICRC_BYTES;
	size_t ip_bytes =
		rnic_ip_header_write_unsummed(addresses, ipv4_identification, datagram_bytes, out);
	uint8_t *udp = out + ip_bytes;
	uint8_t *bth = udp + RNIC_UDP_HEADER_BYTES;

	if (ip_bytes == RNIC_IPV4_HEADER_BYTES) {
		out[1] = 0xff;
		out[8] = 0xff;
		rnic_be16_write(out + 10, 0xffff);
	} else {
		rnic_be32_write(out, UINT32_C(0x6fffffff));
		out[7] = 0xff;
	}
	rnic_udp_header_write(addresses, 0xffff, datagram_bytes, udp);
	memcpy(bth, bytes, RNIC_BTH_BYTES);
	bth[4] = 0xff;
	return ip_bytes + RNIC_UDP_HEADER_BYTES + RNIC_BTH_BYTES;
}

static uint32_t icrc_read(const uint8_t *bytes)
{
	return __builtin_bswap32(rnic_be32_read(bytes));
}

/* `length` counts the ICRC. */
static bool is_packet_length(size_t length)
{
	return length >= RNIC_BTH_BYTES + RNIC_ICRC_BYTES && length <= RNIC_PACKET_BYTES_MAX &&
	       length % 4 == 0;
}

static uint32_t crc_of(const uint8_t *pseudo_header, size_t pseudo_bytes, const uint8_t *bytes,
		       size_t length)
{
	uint32_t crc = crc32_gzip_refl(CRC_OF_MASKED_LRH, pseudo_header, pseudo_bytes);

	crc = crc32_gzip_refl(crc, bytes + RNIC_BTH_BYTES, length - RNIC_BTH_BYTES);
	rnic_vector_registers_release();
	return crc;
}

uint32_t rnic_icrc_compute(const struct rnic_addresses *addresses, uint16_t ipv4_identification,
			   const uint8_t *bytes, size_t length)
{
	uint8_t pseudo_header[PSEUDO_HEADER_BYTES_MAX];
	size_t pseudo_bytes;

	assert(length >= RNIC_BTH_BYTES && length <= RNIC_PACKET_BYTES_MAX - RNIC_ICRC_BYTES);
	pseudo_bytes =
		pseudo_header_write(addresses, ipv4_identification, bytes, length, pseudo_header);
	return crc_of(pseudo_header, pseudo_bytes, bytes, length);
}

bool rnic_icrc_is_right_as_shown(const struct rnic_datagram *datagram, size_t length)
{
	uint8_t pseudo_header[PSEUDO_HEADER_BYTES_MAX];
	size_t covered_bytes, pseudo_bytes;

	if (!is_packet_length(length))
		return false;
	covered_bytes = length - RNIC_ICRC_BYTES;
	pseudo_bytes = pseudo_header_write(&datagram->addresses, datagram->identification,
					   datagram->payload, covered_bytes, pseudo_header);
	if (rnic_addresses_are_ipv4(&datagram->addresses) && !datagram->dont_fragment)
		pseudo_header[IPV4_FLAGS_AT] = 0;
	return crc_of(pseudo_header, pseudo_bytes, datagram->payload, covered_bytes) ==
	       icrc_read(datagram->payload + covered_bytes);
}

void rnic_icrc_write(uint8_t *out, uint32_t icrc)
{
	rnic_be32_write(out, __builtin_bswap32(icrc));
}

/* polynomial * x modulo the CRC's polynomial. */
static uint32_t polynomial_shift(uint32_t polynomial)
{
	return polynomial >> 1 ^ (CRC_POLYNOMIAL & -(polynomial & 1));
}

/*
 * a * b modulo the CRC's polynomial, by four bits of `a` at a time, highest powers first. Bit by
 * bit takes twice as long, and all packets of a segmented send but the first need it.
 */
static uint32_t polynomial_multiply(uint32_t a, uint32_t b)
{
	uint32_t multiples[16] = {0};
	uint32_t product = 0;

	multiples[8] = b;
	for (uint32_t bit = 4; bit != 0; bit /= 2)
		multiples[bit] = polynomial_shift(multiples[2 * bit]);
	for (uint32_t bit = 2; bit < 16; bit *= 2)
		for (uint32_t rest = 1; rest < bit; rest++)
			multiples[bit + rest] = multiples[bit] ^ multiples[rest];
	for (uint32_t i = 0; i < 32; i += 4)
		product = product >> 4 ^ remainder_of_nibble[product & 15] ^ multiples[a >> i & 15];
	return product;
}

/*
 * The `difference` of two ICRCs before the CRC shifted it by all that follows the IPv4
 * identification. If the packets differ in the identification only, the result is its two bytes:
 * the first in bits 7:0, the second in bits 15:8, zeros above. Flags follow in bits 23:16.
 */
static uint32_t difference_at_identification(uint32_t difference, size_t length)
{
	size_t words = ID_TO_END_BYTES(length) / 4;
	uint32_t inverse = polynomial_multiply(inverse_of_words[words % WORDS_PER_BLOCK],
					       inverse_of_blocks[words / WORDS_PER_BLOCK]);

	return polynomial_multiply(difference, inverse);
}

enum rnic_icrc_verdict rnic_icrc_check_expecting(const struct rnic_addresses *addresses,
						 uint16_t expected, const uint8_t *bytes,
						 size_t length, uint16_t *ipv4_identification)
{
	enum rnic_icrc_verdict verdict = RNIC_ICRC_GOOD;
	uint32_t difference, identification = 0;

	if (!is_packet_length(length))
		return RNIC_ICRC_BAD;
	difference = rnic_icrc_compute(addresses, expected, bytes, length - RNIC_ICRC_BYTES) ^
		     icrc_read(bytes + length - RNIC_ICRC_BYTES);
	if (difference != 0) {
		if (!rnic_addresses_are_ipv4(addresses))
			return RNIC_ICRC_BAD;
		identification = difference_at_identification(difference, length);
		if ((identification & ~DIFFERENCE_OF_DF) >> 16 != 0)
			return RNIC_ICRC_BAD;
		verdict = RNIC_ICRC_GOOD_FOR_ID;
	}
	if (ipv4_identification != NULL)
		*ipv4_identification = expected ^ __builtin_bswap16((uint16_t)identification);
	return verdict;
}
