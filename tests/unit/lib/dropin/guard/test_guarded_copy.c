/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/lib/nic/mem/copy_check.h"
#include "tests/unit/unit_test.h"

static void write_all(void *to, const void *from, size_t bytes)
{
	CHECK(guard->write(to, from, bytes) == 0);
}

static void read_all(void *to, const void *from, size_t bytes)
{
	CHECK(guard->read(to, from, bytes) == 0);
}

static void copy_small_sizes(void)
{
	const char *difference;

	open_guard();
	difference = copy_differs_from_memcpy(write_all, read_all);
	if (difference != NULL)
		check_failed(__FILE__, __LINE__, difference);
}

/* Every length at every alignment of both sides: the bytes arrive, and no others change. */
SUCCEEDS(the_bytes_arrive, copy_small_sizes)

static void use_atomics(void)
{
	static uint64_t word = 40;
	uint64_t original = 0;

	open_guard();
	CHECK(guard->fetch_add(&word, 2, &original) == 0);
	CHECK(original == 40 && word == 42);
	CHECK(guard->fetch_add(&word, UINT64_MAX, &original) == 0);
	CHECK(original == 42 && word == 41);
	CHECK(guard->compare_swap(&word, 40, 7, &original) == 0);
	CHECK(original == 41 && word == 41);
	CHECK(guard->compare_swap(&word, 41, UINT64_C(7) << 60, &original) == 0);
	CHECK(original == 41 && word == UINT64_C(7) << 60);
}

SUCCEEDS(atomics_change_a_word_and_return_the_old_one, use_atomics)

#define ATOMIC_ROUNDS 200000

static uint64_t shared_word;

static void *add_by_processor(void *argument)
{
	(void)argument;
	for (uint32_t i = 0; i < ATOMIC_ROUNDS; i++)
		__atomic_fetch_add(&shared_word, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void add_by_compare_swap(uint64_t add)
{
	uint64_t expected = __atomic_load_n(&shared_word, __ATOMIC_RELAXED);
	uint64_t original;

	for (;;) {
		CHECK(guard->compare_swap(&shared_word, expected, expected + add, &original) == 0);
		if (original == expected)
			return;
		expected = original;
	}
}

static void add_beside_the_processor(void)
{
	const uint64_t add = UINT64_C(1) << 32;
	pthread_t thread;
	uint64_t original;

	open_guard();
	CHECK(pthread_create(&thread, NULL, add_by_processor, NULL) == 0);
	for (uint32_t i = 0; i < ATOMIC_ROUNDS; i += 2) {
		CHECK(guard->fetch_add(&shared_word, add, &original) == 0);
		add_by_compare_swap(add);
	}
	pthread_join(thread, NULL);
	CHECK(shared_word == (ATOMIC_ROUNDS * add + ATOMIC_ROUNDS));
}

SUCCEEDS(atomics_are_atomic_with_the_processors_own, add_beside_the_processor)

/* ---- order ---- */

#define ROUNDS_MAX   20000
#define ROUNDS_NS    UINT64_C(150000000) /* for one length at one shift */
#define BYTES_MAX    65536
#define POLLS_A_LOOK 1000

/* A polling reader of a message; the round is what each of its bytes has. */
static struct {
	uint8_t *message;
	size_t bytes;
	atomic_uint seen; /* the last round that the reader has seen whole */
	atomic_bool is_over;
	atomic_uint late; /* messages with the last byte there and another one missing */
	atomic_uint torn; /* aligned words that were neither old nor new */
} reader;

static bool is_torn(const uint8_t *word)
{
	uint64_t value = __atomic_load_n((const uint64_t *)(const void *)word, __ATOMIC_RELAXED);

	return value != (value & 0xff) * UINT64_C(0x0101010101010101);
}

/* Waits for the round's last byte and looks at an aligned word meanwhile. */
static bool wait_for_round(uint8_t round)
{
	const uintptr_t start = (uintptr_t)reader.message;
	const size_t word = (size_t)(((start + 7) & ~UINT64_C(7)) - start);
	const uint8_t *last = reader.message + reader.bytes - 1;

	for (uint32_t polls = 1; __atomic_load_n(last, __ATOMIC_ACQUIRE) != round; polls++) {
		if (word + 8 <= reader.bytes && is_torn(reader.message + word))
			atomic_fetch_add(&reader.torn, 1);
		if (atomic_load(&reader.is_over))
			return false;
		if (polls % POLLS_A_LOOK == 0)
			sched_yield();
	}
	return true;
}

static void *read_messages(void *argument)
{
	(void)argument;
	for (uint32_t round = 1; wait_for_round((uint8_t)round); round++) {
		for (size_t i = 0; i < reader.bytes; i++)
			if (__atomic_load_n(&reader.message[i], __ATOMIC_RELAXED) !=
			    (uint8_t)round) {
				atomic_fetch_add(&reader.late, 1);
				break;
			}
		atomic_store(&reader.seen, round);
	}
	return NULL;
}

static void send_message(void *to, const void *from, size_t bytes)
{
	struct rnic_guard_turn turn;

	CHECK(guard->turn_begin(&turn) == 0);
	CHECK(guard->write(to, from, bytes) == 0);
	guard->turn_end(&turn);
}

/* What the reader must find: the last byte first, and the others once the reader has looked. */
static void send_last_byte_first(void *to, const void *from, size_t bytes)
{
	const unsigned seen = atomic_load(&reader.seen);

	__atomic_store_n((uint8_t *)to + bytes - 1, ((const uint8_t *)from)[bytes - 1],
			 __ATOMIC_RELEASE);
	while (atomic_load(&reader.seen) == seen)
		sched_yield();
	memcpy(to, from, bytes - 1);
}

typedef void send_function(void *to, const void *from, size_t bytes);

/* Sends messages one after the other, each when the reader has seen the one before. */
static void send_messages(send_function *send, uint8_t *message, size_t bytes, uint32_t rounds)
{
	static uint8_t payload[BYTES_MAX];
	const uint64_t end_ns = monotonic_ns() + ROUNDS_NS;
	pthread_t thread;

	memset(message, 0, bytes);
	reader.message = message;
	reader.bytes = bytes;
	atomic_store(&reader.seen, 0);
	atomic_store(&reader.is_over, false);
	CHECK(pthread_create(&thread, NULL, read_messages, NULL) == 0);
	for (uint32_t round = 1; round == 1 || (round <= rounds && monotonic_ns() < end_ns);
	     round++) {
		memset(payload, (uint8_t)round, bytes);
		send(message, payload, bytes);
		for (uint32_t polls = 1; atomic_load(&reader.seen) != round; polls++)
			if (polls % POLLS_A_LOOK == 0)
				sched_yield();
	}
	atomic_store(&reader.is_over, true);
	pthread_join(thread, NULL);
}

static void let_a_reader_poll(void)
{
	static const size_t sizes[] = {8, 64, 4096, BYTES_MAX};
	static const size_t shifts[] = {0, 8, 13};
	uint8_t *memory = map_pages(BYTES_MAX / page_bytes() + 1, PROT_READ | PROT_WRITE);

	open_guard();
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		for (size_t j = 0; j < COUNT_OF(shifts); j++)
			send_messages(send_message, memory + shifts[j], sizes[i], ROUNDS_MAX);
	CHECK(atomic_load(&reader.late) == 0);
	CHECK(atomic_load(&reader.torn) == 0);
}

SUCCEEDS(the_last_byte_comes_last_and_words_come_whole, let_a_reader_poll)

static void let_a_reader_find_disorder(void)
{
	uint8_t *memory = map_pages(1, PROT_READ | PROT_WRITE);

	send_messages(send_last_byte_first, memory, 64, 10);
	CHECK(atomic_load(&reader.late) > 0);
}

SUCCEEDS(the_reader_would_see_a_copy_without_order, let_a_reader_find_disorder)

/* ---- speed ---- */

static void measure(void)
{
	open_guard();
	print_copy_speed("guarded write", write_all, "guarded read", read_all);
}

/* Reported, not judged: a loaded machine may say anything. */
SUCCEEDS(the_speed_is_measured, measure)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_arrive),
		cmocka_unit_test(atomics_change_a_word_and_return_the_old_one),
		cmocka_unit_test(atomics_are_atomic_with_the_processors_own),
		cmocka_unit_test(the_last_byte_comes_last_and_words_come_whole),
		cmocka_unit_test(the_reader_would_see_a_copy_without_order),
		cmocka_unit_test(the_speed_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
