/* SPDX-License-Identifier: MIT */
/*
 * A copy climbs to an address of the shared side that is a multiple of 16 by pieces of 1, 2, 4 and
 * 8 bytes, goes on by blocks, and ends with pieces of 8, 4, 2 and 1 bytes. Each piece is naturally
 * aligned, so no aligned word lies in two pieces. The last block leaves at least one byte for the
 * pieces, which are what has release semantics.
 *
 * Volatile accesses and atomic ones keep the compiler from reordering, joining and splitting. On
 * x86-64 the processor keeps stores in order, and stores an aligned block of 16 bytes in words of
 * at least 8; processors with AVX2 store 32 aligned bytes in such halves. On aarch64 each register
 * of an aligned pair is stored as a whole.
 */
#include "lib/nic/mem/ordered_copy.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 16
#define ALWAYS	    static inline __attribute__((always_inline))

enum shared_side { SHARED_TO, SHARED_FROM };

/* Defines piece_N, which moves an aligned word of N bits. */
#define PIECE(bits)                                                                                \
	typedef uint##bits##_t __attribute__((may_alias)) word_##bits;                             \
	ALWAYS void piece_##bits(enum shared_side side, uint8_t *to, const uint8_t *from)          \
	{                                                                                          \
		word_##bits word;                                                                  \
                                                                                                   \
		if (side == SHARED_TO) {                                                           \
			memcpy(&word, from, sizeof(word));                                         \
			__atomic_store_n((word_##bits *)(void *)to, word, __ATOMIC_RELEASE);       \
		} else {                                                                           \
			word = __atomic_load_n((const word_##bits *)(const void *)from,            \
					       __ATOMIC_RELAXED);                                  \
			memcpy(to, &word, sizeof(word));                                           \
		}                                                                                  \
	}

PIECE(8)
PIECE(16)
PIECE(32)
PIECE(64)

/* Moves pieces until the shared side is at a multiple of BLOCK_BYTES. Returns the bytes moved. */
ALWAYS size_t climb(enum shared_side side, uint8_t *to, const uint8_t *from, size_t bytes)
{
	const uintptr_t start = side == SHARED_TO ? (uintptr_t)to : (uintptr_t)from;
	size_t done = 0;

	if ((start & 1) != 0 && bytes >= 1) {
		piece_8(side, to, from);
		done = 1;
	}
	if (((start + done) & 2) != 0 && bytes - done >= 2) {
		piece_16(side, to + done, from + done);
		done += 2;
	}
	if (((start + done) & 4) != 0 && bytes - done >= 4) {
		piece_32(side, to + done, from + done);
		done += 4;
	}
	if (((start + done) & 8) != 0 && bytes - done >= 8) {
		piece_64(side, to + done, from + done);
		done += 8;
	}
	return done;
}

/* Moves the last bytes, at most BLOCK_BYTES. */
ALWAYS void finish(enum shared_side side, uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t done = 0;

	for (; bytes - done >= 8; done += 8)
		piece_64(side, to + done, from + done);
	if ((bytes & 4) != 0) {
		piece_32(side, to + done, from + done);
		done += 4;
	}
	if ((bytes & 2) != 0) {
		piece_16(side, to + done, from + done);
		done += 2;
	}
	if ((bytes & 1) != 0)
		piece_8(side, to + done, from + done);
}

#if defined(__x86_64__)

#define LONG_BLOCK_BYTES 32

typedef long long block __attribute__((vector_size(BLOCK_BYTES), may_alias));
typedef long long loose_block __attribute__((vector_size(BLOCK_BYTES), may_alias, aligned(1)));
typedef long long long_block __attribute__((vector_size(LONG_BLOCK_BYTES), may_alias));
typedef long long loose_long_block
	__attribute__((vector_size(LONG_BLOCK_BYTES), may_alias, aligned(1)));

ALWAYS void block_move(enum shared_side side, uint8_t *to, const uint8_t *from)
{
	if (side == SHARED_TO)
		*(volatile block *)(void *)to = *(const loose_block *)(const void *)from;
	else
		*(loose_block *)(void *)to = *(const volatile block *)(const void *)from;
}

#define LONG_MOVE(side, to, from, at)                                                              \
	do {                                                                                       \
		if ((side) == SHARED_TO)                                                           \
			*(volatile long_block *)(void *)((to) + (at)) =                            \
				*(const loose_long_block *)(const void *)((from) + (at));          \
		else                                                                               \
			*(loose_long_block *)(void *)((to) + (at)) =                               \
				*(const volatile long_block *)(const void *)((from) + (at));       \
	} while (0)

/* Moves all but 1 to 32 bytes; the shared side is at a multiple of 16. */
__attribute__((target("avx2"))) ALWAYS size_t long_blocks_move(enum shared_side side, uint8_t *to,
							       const uint8_t *from, size_t bytes)
{
	const uintptr_t start = side == SHARED_TO ? (uintptr_t)to : (uintptr_t)from;
	size_t done = start & BLOCK_BYTES;

	if (done != 0)
		block_move(side, to, from);
	for (; bytes - done > 4 * LONG_BLOCK_BYTES; done += 4 * LONG_BLOCK_BYTES) {
		LONG_MOVE(side, to + done, from + done, 0);
		LONG_MOVE(side, to + done, from + done, LONG_BLOCK_BYTES);
		LONG_MOVE(side, to + done, from + done, 2 * LONG_BLOCK_BYTES);
		LONG_MOVE(side, to + done, from + done, 3 * LONG_BLOCK_BYTES);
	}
	for (; bytes - done > LONG_BLOCK_BYTES; done += LONG_BLOCK_BYTES)
		LONG_MOVE(side, to + done, from + done, 0);
	return done;
}

__attribute__((target("avx2"), noinline)) static size_t
long_blocks_write(uint8_t *to, const uint8_t *from, size_t bytes)
{
	return long_blocks_move(SHARED_TO, to, from, bytes);
}

__attribute__((target("avx2"), noinline)) static size_t
long_blocks_read(uint8_t *to, const uint8_t *from, size_t bytes)
{
	return long_blocks_move(SHARED_FROM, to, from, bytes);
}

/* From this size on long blocks gain more than the call costs. */
#define LONG_BLOCKS_FROM 128

/* Moves all but 1 to 16 bytes; the shared side is at a multiple of 16. */
ALWAYS size_t blocks_move(enum shared_side side, uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t done = 0;

	if (bytes >= LONG_BLOCKS_FROM && __builtin_cpu_supports("avx2"))
		done = side == SHARED_TO ? long_blocks_write(to, from, bytes)
					 : long_blocks_read(to, from, bytes);
	for (; bytes - done > BLOCK_BYTES; done += BLOCK_BYTES)
		block_move(side, to + done, from + done);
	return done;
}

#else

struct block {
	uint64_t words[BLOCK_BYTES / sizeof(uint64_t)];
} __attribute__((may_alias));

#if defined(__aarch64__)

ALWAYS void block_store(uint8_t *to, struct block bytes)
{
	__asm__ volatile("stp %x1, %x2, %0"
			 : "=Q"(*(struct block *)(void *)to)
			 : "r"(bytes.words[0]), "r"(bytes.words[1]));
}

ALWAYS struct block block_load(const uint8_t *from)
{
	struct block bytes;

	__asm__ volatile("ldp %x0, %x1, %2"
			 : "=&r"(bytes.words[0]), "=r"(bytes.words[1])
			 : "Q"(*(const struct block *)(const void *)from));
	return bytes;
}

#else

ALWAYS void block_store(uint8_t *to, struct block bytes)
{
	word_64 *words = (void *)to;

	__atomic_store_n(&words[0], bytes.words[0], __ATOMIC_RELAXED);
	__atomic_store_n(&words[1], bytes.words[1], __ATOMIC_RELAXED);
}

ALWAYS struct block block_load(const uint8_t *from)
{
	const word_64 *words = (const void *)from;

	return (struct block){{__atomic_load_n(&words[0], __ATOMIC_RELAXED),
			       __atomic_load_n(&words[1], __ATOMIC_RELAXED)}};
}

#endif

/* Returns the bytes moved: all but 1 to 16. */
ALWAYS size_t blocks_move(enum shared_side side, uint8_t *to, const uint8_t *from, size_t bytes)
{
	struct block block;
	size_t done = 0;

	for (; bytes - done > BLOCK_BYTES; done += BLOCK_BYTES) {
		if (side == SHARED_TO) {
			memcpy(&block, from + done, sizeof(block));
			block_store(to + done, block);
		} else {
			block = block_load(from + done);
			memcpy(to + done, &block, sizeof(block));
		}
	}
	return done;
}

#endif

ALWAYS void copy(enum shared_side side, uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t done = climb(side, to, from, bytes);

	if (bytes - done > BLOCK_BYTES)
		done += blocks_move(side, to + done, from + done, bytes - done);
	finish(side, to + done, from + done, bytes - done);
}

void ordered_write(void *shared, const void *from, size_t bytes)
{
	copy(SHARED_TO, shared, from, bytes);
}

void ordered_read(void *to, const void *shared, size_t bytes)
{
	copy(SHARED_FROM, to, shared, bytes);
}
