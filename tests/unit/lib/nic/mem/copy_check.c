/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/mem/copy_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "tests/unit/unit_test.h"

#define BYTES_MAX  300
#define SHIFTS	   33 /* past every block */
#define GUARD	   64
#define AREA_BYTES (GUARD + SHIFTS + BYTES_MAX + GUARD)

static uint8_t from[AREA_BYTES] __attribute__((aligned(64)));
static uint8_t to[AREA_BYTES] __attribute__((aligned(64)));
static uint8_t wanted[AREA_BYTES];
static char difference[80];

static bool copy_is_right(copy_function *copy, size_t to_shift, size_t from_shift, size_t bytes)
{
	memset(to, 0xee, sizeof(to));
	memset(wanted, 0xee, sizeof(wanted));
	memcpy(wanted + GUARD + to_shift, from + GUARD + from_shift, bytes);
	copy(to + GUARD + to_shift, from + GUARD + from_shift, bytes);
	if (memcmp(to, wanted, sizeof(to)) == 0)
		return true;
	snprintf(difference, sizeof(difference), "%zu bytes from shift %zu to shift %zu", bytes,
		 from_shift, to_shift);
	return false;
}

const char *copy_differs_from_memcpy(copy_function *write, copy_function *read)
{
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 37 + (i >> 8) + 1);
	for (size_t bytes = 0; bytes <= BYTES_MAX; bytes++)
		for (size_t shift = 0; shift < SHIFTS; shift++)
			if (!copy_is_right(write, shift, bytes % 16, bytes) ||
			    !copy_is_right(write, shift, 12, bytes) ||
			    !copy_is_right(read, bytes % 16, shift, bytes) ||
			    !copy_is_right(read, 12, shift, bytes))
				return difference;
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The least time of several runs, in ns for one copy. */
static double copy_ns(copy_function *copy, void *into, const void *out_of, size_t bytes)
{
	const uint32_t copies = 5000;
	uint64_t least = UINT64_MAX;

	for (unsigned run = 0; run < 40; run++) {
		uint64_t started = now_ns();

		for (uint32_t i = 0; i < copies; i++) {
			copy(into, out_of, bytes);
			__asm__ volatile("" ::: "memory");
		}
		started = now_ns() - started;
		least = started < least ? started : least;
	}
	return (double)least / copies;
}

static void copy_by_memcpy(void *into, const void *out_of, size_t bytes)
{
	memcpy(into, out_of, bytes);
}

void print_copy_speed(const char *write_name, copy_function *write, const char *read_name,
		      copy_function *read)
{
	static const size_t sizes[] = {8, 64, 256, 1024, 4096};
	static uint8_t packet[8192] __attribute__((aligned(4096)));
	static uint8_t memory[8192] __attribute__((aligned(4096)));

	for (unsigned i = 0; i < COUNT_OF(sizes); i++)
		for (unsigned shift = 0; shift < 24; shift += 12) {
			double plain = copy_ns(copy_by_memcpy, memory, packet + shift, sizes[i]);
			double writing = copy_ns(write, memory, packet + shift, sizes[i]);
			double reading = copy_ns(read, packet + shift, memory, sizes[i]);

			print_message("%4zu bytes, payload at %2u: memcpy %.1f ns, %s %.2f of "
				      "that, %s %.2f\n",
				      sizes[i], shift, plain, write_name, writing / plain,
				      read_name, reading / plain);
		}
}
