/* SPDX-License-Identifier: MIT */
#include "tests/hostile/key_predictor.h"

#include "lib/nic/base/key_table.h"
#include "lib/nic/base/prng.h"

#include <assert.h>
#include <string.h>

#define STATE_BITS 256
#define KEY_BITS   24
#define TAG_BITS   8

/* A sum, modulo 2, of bits of the unknown state: bit i says whether bit i takes part. */
struct sum {
	uint64_t bits[STATE_BITS / 64];
	bool value; /* of the sum, where it is known */
};

/* The state of the generator after some draws: each bit is a sum of bits of the unknown state. */
struct symbolic {
	struct sum words[4][64];
};

static void add(struct sum *to, const struct sum *other)
{
	for (uint32_t i = 0; i < STATE_BITS / 64; i++)
		to->bits[i] ^= other->bits[i];
	to->value ^= other->value;
}

static void add_word(struct sum to[64], const struct sum other[64])
{
	for (uint32_t bit = 0; bit < 64; bit++)
		add(&to[bit], &other[bit]);
}

static void symbolic_begin(struct symbolic *state)
{
	memset(state, 0, sizeof(*state));
	for (uint32_t word = 0; word < 4; word++)
		for (uint32_t bit = 0; bit < 64; bit++)
			state->words[word][bit].bits[word] = UINT64_C(1) << bit;
}

/* What prng_next() does to the state. */
static void symbolic_step(struct symbolic *state)
{
	struct sum shifted[64] = {0};
	struct sum rotated[64];

	memcpy(shifted + 17, state->words[1], (64 - 17) * sizeof(shifted[0]));
	add_word(state->words[2], state->words[0]);
	add_word(state->words[3], state->words[1]);
	add_word(state->words[1], state->words[2]);
	add_word(state->words[0], state->words[3]);
	add_word(state->words[2], shifted);
	for (uint32_t bit = 0; bit < 64; bit++)
		rotated[(bit + 45) % 64] = state->words[3][bit];
	memcpy(state->words[3], rotated, sizeof(rotated));
}

/*
 * The low byte of a draw, rotl(word 1 * 5, 7) * 9, shows the lowest bit of word 1: 57 is the
 * inverse of 9 modulo 256, the rotation moves bit 0 to bit 7, and 5 is odd.
 */
static bool lowest_bit(uint8_t drawn)
{
	return (uint8_t)(drawn * 57) >> 7;
}

static uint32_t lowest_unknown(const struct sum *sum)
{
	for (uint32_t i = 0; i < STATE_BITS / 64; i++)
		if (sum->bits[i] != 0)
			return 64 * i + (uint32_t)__builtin_ctzll(sum->bits[i]);
	return STATE_BITS;
}

static bool has(const struct sum *sum, uint32_t unknown)
{
	return sum->bits[unknown / 64] >> unknown % 64 & 1;
}

/*
 * Adds an equation to those solved so far: solved[i] has the unknown i, and no other one does.
 * False when the equation contradicts them.
 */
static bool learn(struct sum solved[STATE_BITS], bool is_solved[STATE_BITS], struct sum equation)
{
	uint32_t unknown;

	for (uint32_t i = 0; i < STATE_BITS; i++)
		if (is_solved[i] && has(&equation, i))
			add(&equation, &solved[i]);
	unknown = lowest_unknown(&equation);
	if (unknown == STATE_BITS)
		return !equation.value;
	for (uint32_t i = 0; i < STATE_BITS; i++)
		if (is_solved[i] && has(&solved[i], unknown))
			add(&solved[i], &equation);
	solved[unknown] = equation;
	is_solved[unknown] = true;
	return true;
}

bool key_predictor_solve(const uint32_t *keys, uint32_t count, uint64_t state[4])
{
	static struct sum solved[STATE_BITS];
	static struct symbolic symbolic;
	bool is_solved[STATE_BITS] = {false};
	bool is_consistent = true;

	assert(count >= KEY_PREDICTOR_LEAST);
	symbolic_begin(&symbolic);
	for (uint32_t i = 0; i < count; i++) {
		struct sum equation;

		symbolic_step(&symbolic); /* the upper bits of the key */
		equation = symbolic.words[1][0];
		equation.value = lowest_bit((uint8_t)keys[i]);
		is_consistent &= learn(solved, is_solved, equation);
		symbolic_step(&symbolic);
	}
	memset(state, 0, 4 * sizeof(state[0]));
	for (uint32_t i = 0; i < STATE_BITS; i++)
		if (is_solved[i] && solved[i].value)
			state[i / 64] |= UINT64_C(1) << i % 64;
	return is_consistent;
}

void key_predictor_draw(const uint64_t state[4], uint32_t *keys, uint32_t count)
{
	struct prng prng;
	const struct random_source random = prng_source(&prng);
	struct key_table table;

	memcpy(prng.state, state, sizeof(prng.state));
	key_table_init(&table, KEY_BITS, 1, 0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = 0;
		int result = key_table_insert_random(&table, &random, &table, &index);

		assert(result == 0);
		(void)result;
		keys[i] = index << TAG_BITS |
			  (uint32_t)random_source_below(&random, UINT32_C(1) << TAG_BITS);
	}
	for (uint32_t i = 0; i < count; i++)
		key_table_remove(&table, keys[i] >> TAG_BITS);
	key_table_fini(&table);
}
