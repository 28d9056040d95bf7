/* SPDX-License-Identifier: MIT */
#include "mem/ordered_copy.h"
#include "unit_test.h"

#include <stdio.h>
#include <time.h>

#define BYTES_MAX  300
#define SHIFTS	   33 /* past every block */
#define GUARD	   64
#define AREA_BYTES (GUARD + SHIFTS + BYTES_MAX + GUARD)

typedef void copy_function(void *to, const void *from, size_t bytes);

static uint8_t from[AREA_BYTES] __attribute__((aligned(64)));
static uint8_t to[AREA_BYTES] __attribute__((aligned(64)));
static uint8_t wanted[AREA_BYTES];

static void check_copy(copy_function *copy, size_t to_shift, size_t from_shift, size_t bytes)
{
	memset(to, 0xee, sizeof(to));
	memset(wanted, 0xee, sizeof(wanted));
	memcpy(wanted + GUARD + to_shift, from + GUARD + from_shift, bytes);
	copy(to + GUARD + to_shift, from + GUARD + from_shift, bytes);
	if (memcmp(to, wanted, sizeof(to)) != 0)
		fail_msg("%zu bytes from shift %zu to shift %zu", bytes, from_shift, to_shift);
}

/* Every length at every alignment of both sides: the bytes arrive, and no others change. */
static void the_bytes_arrive(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 37 + (i >> 8) + 1);
	for (size_t bytes = 0; bytes <= BYTES_MAX; bytes++)
		for (size_t shift = 0; shift < SHIFTS; shift++) {
			check_copy(ordered_write, shift, bytes % 16, bytes);
			check_copy(ordered_write, shift, 12, bytes);
			check_copy(ordered_read, bytes % 16, shift, bytes);
			check_copy(ordered_read, 12, shift, bytes);
		}
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

/* Reported, not judged: a loaded machine may say anything. */
static void the_speed_is_measured(void **state)
{
	static const size_t sizes[] = {8, 64, 256, 1024, 4096};
	static uint8_t packet[8192] __attribute__((aligned(4096)));
	static uint8_t memory[8192] __attribute__((aligned(4096)));

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned shift = 0; shift < 24; shift += 12) {
			double plain = copy_ns(copy_by_memcpy, memory, packet + shift, sizes[i]);
			double write = copy_ns(ordered_write, memory, packet + shift, sizes[i]);
			double read = copy_ns(ordered_read, packet + shift, memory, sizes[i]);

			print_message("%4zu bytes, payload at %2u: memcpy %.1f ns, ordered_write "
				      "%.2f of that, ordered_read %.2f\n",
				      sizes[i], shift, plain, write / plain, read / plain);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_arrive),
		cmocka_unit_test(the_speed_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
