/* SPDX-License-Identifier: MIT */
/*
 * Right inputs of a fuzz target, for targets whose decoder refuses nearly all random bytes. Such a
 * target defines fuzz_seed(), and CMake names it SEEDED: then libFuzzer and fuzz_driver.c begin
 * with these inputs and change some bytes of them.
 */
#ifndef TESTS_FUZZ_FUZZ_SEEDS_H
#define TESTS_FUZZ_FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_SEED_BYTES_MAX 1024

/* Writes the input with this number, any number, and returns its bytes. */
size_t fuzz_seed(uint32_t number, uint8_t out[FUZZ_SEED_BYTES_MAX]);

#endif
