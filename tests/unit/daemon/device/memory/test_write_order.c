/* SPDX-License-Identifier: MIT */
/*
 * A program polls memory while the device writes there. When the program sees the last byte, it
 * sees all bytes. An aligned word that it sees is old or new.
 *
 * The program is a child process. The payload arrives as a packet does: in pieces of 4 KiB, none of
 * which lies where its destination lies modulo 16. RNIC_TEST_LONG in the environment makes 10^6
 * rounds of each case.
 */
#include "daemon/device/memory/mapped_memory.h"
#include "daemon/device/memory/remote_memory.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	       4096
#define MESSAGE_MAX    65536
#define AREA_BYTES     (MESSAGE_MAX + 2 * PAGE)
#define PACKET_PAYLOAD 4096
#define PACKET_STRIDE  4112 /* headers, payload, ICRC */
#define PACKET_HEADERS 12
#define PACKETS	       (MESSAGE_MAX / PACKET_PAYLOAD)
#define SHORT_ROUNDS   10000
#define SHORT_SECONDS  2
#define LONG_ROUNDS    1000000
#define SPINS	       2000

enum kind { MAPPED, REMOTE };

struct shape {
	uint32_t bytes;
	uint32_t offset; /* past a page */
};

/* In memory that both processes share. */
struct control {
	struct shape shape;
	uint32_t rounds;
	atomic_uint wanted; /* rounds that the child is to watch, in all */
	atomic_uint seen;   /* rounds whose last byte the child has seen */
	uint64_t looks;
	uint64_t late; /* rounds whose last byte came before another byte */
	uint64_t torn; /* rounds in which a word was neither old nor new */
};

struct side {
	enum kind kind;
	pid_t pid;
	int memfd;
	struct remote_process process;
	struct remote_region remote;
	struct mapped_files files;
	struct mapped_region mapped;
	struct client_region *region;
};

static struct control *control;
static uint8_t *area; /* what the child polls */
static uint8_t packets[PACKETS * PACKET_STRIDE] __attribute__((aligned(64)));

/* Neighbours differ, and so do 0 and 1. */
static uint8_t byte_of(uint32_t round)
{
	return (uint8_t)(round % 251 + 1);
}

static uint64_t word_of(uint32_t round, uint32_t bytes)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return (bytes < 8 ? ones & ((UINT64_C(1) << bytes * 8) - 1) : ones) * byte_of(round);
}

/* The size of the words that are watched: of the message if it is one, else 8. */
static uint32_t word_bytes(struct shape shape)
{
	return shape.bytes < 8 ? shape.bytes : 8;
}

static uint64_t load(const uint8_t *at, uint32_t bytes)
{
	switch (bytes) {
	case 2:
		return __atomic_load_n((const uint16_t *)(const void *)at, __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED);
	default:
		return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
	}
}

/*
 * Looks at the aligned word number `number`, if the message has words, and returns whether the word
 * is neither old nor new. A word that begins in one packet and ends in the next is no word on the
 * way.
 */
static bool is_word_torn(const uint8_t *message, struct shape shape, uint32_t round,
			 uint64_t number)
{
	const uint32_t bytes = word_bytes(shape);
	const uint32_t first = -shape.offset % bytes;
	const uint32_t words = shape.bytes < first ? 0 : (shape.bytes - first) / bytes;
	uint32_t start;
	uint64_t word;

	if (words == 0)
		return false;
	start = first + (uint32_t)(number % words) * bytes;
	if (start / PACKET_PAYLOAD != (start + bytes - 1) / PACKET_PAYLOAD)
		return false;
	word = load(message + start, bytes);
	control->looks++;
	return word != word_of(round, bytes) && word != word_of(round - 1, bytes);
}

static void watch_round(uint32_t round)
{
	const struct shape shape = control->shape;
	const uint8_t *message = area + PAGE + shape.offset;
	const uint8_t value = byte_of(round);
	static uint8_t found[MESSAGE_MAX], expected[MESSAGE_MAX];
	uint64_t spins = 0;
	bool is_torn = false;

	while (__atomic_load_n(message + shape.bytes - 1, __ATOMIC_ACQUIRE) != value) {
		is_torn |= is_word_torn(message, shape, round, spins);
		if (++spins % SPINS == 0)
			sched_yield();
	}
	control->torn += is_torn;
	/* Our own copy is not what is tested, so any order will do. */
	memcpy(found, message, shape.bytes);
	memset(expected, value, shape.bytes);
	control->late += memcmp(found, expected, shape.bytes) != 0;
}

static void watch_for_ever(void)
{
	uint32_t seen = 0;

	for (;;) {
		for (uint32_t spins = 1; atomic_load(&control->wanted) == seen; spins++)
			if (spins % SPINS == 0)
				sched_yield();
		watch_round(++seen);
		atomic_store(&control->seen, seen);
	}
}

/* The transfers of one message; returns their number. */
static uint32_t make_transfers(struct side *side, struct memory_transfer *transfers, uint8_t value)
{
	const struct shape shape = control->shape;
	uint32_t count = 0;

	for (uint32_t done = 0; done < shape.bytes; done += PACKET_PAYLOAD, count++) {
		uint32_t left = shape.bytes - done;
		uint8_t *payload = packets + (size_t)count * PACKET_STRIDE + PACKET_HEADERS;

		transfers[count] = (struct memory_transfer){
			.region = side->region,
			.offset = PAGE + shape.offset + done,
			.bytes = payload,
			.length = left < PACKET_PAYLOAD ? left : PACKET_PAYLOAD,
		};
		memset(payload, value, transfers[count].length);
	}
	return count;
}

static void write_round(struct side *side, uint32_t round)
{
	struct memory_transfer transfers[PACKETS];
	uint32_t count = make_transfers(side, transfers, byte_of(round));
	int error = 0;

	atomic_store(&control->wanted, round);
	for (volatile uint32_t i = 0; i < round % 64; i++)
		;
	assert_int_equal(side->region->ops->write(transfers, count, &error), count);
	for (uint32_t spins = 1; atomic_load(&control->seen) != round; spins++)
		if (spins % SPINS == 0)
			sched_yield();
}

/* Without the stage of remote_memory.c, some processors split words in half of the rounds. */
static uint64_t splits_max(uint32_t rounds)
{
	return 3 + rounds / 1000;
}

/* Watches one message, written again and again. A loaded machine does not get far in a short run.
 */
static void watch_shape(struct side *side, struct shape shape, bool may_split)
{
	const bool is_long = getenv("RNIC_TEST_LONG") != NULL;
	const uint32_t most = is_long ? LONG_ROUNDS : SHORT_ROUNDS;
	const time_t end = time(NULL) + SHORT_SECONDS;
	uint32_t rounds = 0;

	control->shape = shape;
	/* The first round finds the bytes of other messages. */
	write_round(side, atomic_load(&control->seen) + 1);
	control->looks = 0;
	control->late = 0;
	control->torn = 0;
	while (rounds < most && (is_long || rounds == 0 || time(NULL) < end)) {
		write_round(side, atomic_load(&control->seen) + 1);
		rounds++;
	}
	print_message("%5u bytes at %2u: %u rounds, late %llu, %llu looks, torn %llu\n",
		      shape.bytes, shape.offset, rounds, (unsigned long long)control->late,
		      (unsigned long long)control->looks, (unsigned long long)control->torn);
	assert_int_equal(control->late, 0);
	assert_true(control->torn <= (may_split ? splits_max(rounds) : 0));
}

/* The one processor takes turns between the two sides; that shows nothing. */
static void run_on(unsigned number)
{
	static cpu_set_t allowed;
	cpu_set_t one;

	if (CPU_COUNT(&allowed) == 0)
		assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	CPU_ZERO(&one);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &allowed) && number-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one) == 1)
		sched_setaffinity(0, sizeof(one), &one);
}

static void child_run(pid_t parent)
{
	run_on(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		watch_for_ever();
	_exit(1);
}

static void open_remote(struct side *side)
{
	char path[64];
	int pid_fd = (int)syscall(SYS_pidfd_open, side->pid, 0);
	int mem_fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)side->pid);
	mem_fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(remote_process_init(&side->process, side->pid, pid_fd, mem_fd), 0);
	assert_int_equal(
		remote_region_init(&side->remote, &side->process, (uintptr_t)area, AREA_BYTES), 0);
	side->region = &side->remote.region;
}

static int start(void **state, enum kind kind)
{
	const int shared = kind == MAPPED ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	struct side *side = calloc(1, sizeof(*side));
	const pid_t parent = getpid();

	assert_non_null(side);
	*side = (struct side){.kind = kind, .memfd = -1};
	if (kind == MAPPED) {
		side->memfd = memfd_create("order", MFD_ALLOW_SEALING | MFD_CLOEXEC);
		assert_int_equal(ftruncate(side->memfd, AREA_BYTES), 0);
		assert_int_equal(fcntl(side->memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	}
	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, shared, side->memfd, 0);
	assert_ptr_not_equal(control, MAP_FAILED);
	assert_ptr_not_equal(area, MAP_FAILED);
	side->pid = fork();
	assert_true(side->pid >= 0);
	if (side->pid == 0)
		child_run(parent);
	run_on(0);
	if (kind != MAPPED) {
		open_remote(side);
	} else {
		assert_int_equal(
			mapped_region_open(&side->mapped, &side->files, side->memfd, 0, AREA_BYTES),
			0);
		side->region = &side->mapped.region;
	}
	*state = side;
	return 0;
}

static int start_mapped(void **state)
{
	return start(state, MAPPED);
}

static int start_remote(void **state)
{
	return start(state, REMOTE);
}

static int tear_down(void **state)
{
	struct side *side = *state;

	kill(side->pid, SIGKILL);
	assert_int_equal(waitpid(side->pid, NULL, 0), side->pid);
	if (side->kind == MAPPED) {
		mapped_region_close(&side->mapped);
		close(side->memfd);
	} else {
		remote_process_fini(&side->process);
	}
	munmap(area, AREA_BYTES);
	munmap(control, sizeof(*control));
	free(side);
	return 0;
}

/* Mapped memory: words of each size, and messages. */
static void mapped_memory_is_written_in_order(void **state)
{
	static const struct shape shapes[] = {
		{2, 6},	   {4, 12},    {8, 0},	   {8, 8},     {8, 13},	    {64, 0},
		{64, 8},   {64, 13},   {75, 8},	   {4091, 0},  {4091, 8},   {4096, 0},
		{4096, 8}, {4096, 13}, {65536, 0}, {65536, 8}, {65536, 13},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		watch_shape(*state, shapes[i], false);
}

/*
 * Memory that the kernel writes for us. The processor may split the kernel's copy, in one of some
 * ten thousand rounds of most runs, and in 8 of 10,000 rounds of 8 bytes in one run.
 */
static void remote_memory_is_written_in_order(void **state)
{
	static const struct shape shapes[] = {
		{8, 0},	   {8, 8},     {8, 13},	   {64, 0},    {64, 8},
		{64, 13},  {75, 8},    {4091, 0},  {4091, 8},  {4096, 0},
		{4096, 8}, {4096, 13}, {65536, 0}, {65536, 8}, {65536, 13},
	};
	struct side *side = *state;

	if (!side->process.has_process_vm) {
		print_message("skipped: process_vm_writev of a child is not permitted here\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		watch_shape(side, shapes[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(mapped_memory_is_written_in_order, start_mapped,
						tear_down),
		cmocka_unit_test_setup_teardown(remote_memory_is_written_in_order, start_remote,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
