/* SPDX-License-Identifier: MIT */
/*
 * Finds the state of a xoshiro256** generator from memory keys that it drew, and so all keys that
 * it will draw: what an attacker does with keys of his own where keys come from prng.h.
 */
#ifndef TESTS_HOSTILE_KEY_PREDICTOR_H
#define TESTS_HOSTILE_KEY_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Keys that it needs; more only confirm the result. */
#define KEY_PREDICTOR_LEAST 300

/* Draws `count` keys from the generator in this state as an engine does, none twice. */
void key_predictor_draw(const uint64_t state[4], uint32_t *keys, uint32_t count);

/*
 * Stores the state that drew `keys[0 .. count)`, at least KEY_PREDICTOR_LEAST of them. False: no
 * state did; the stored one fits some of the keys.
 */
bool key_predictor_solve(const uint32_t *keys, uint32_t count, uint64_t state[4]);

#endif
