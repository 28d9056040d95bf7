/* SPDX-License-Identifier: MIT */
/*
 * How long operations take on networks that lose packets, in virtual time, as a table that is kept
 * in the tree: the mean and the time that nine in ten need.
 *
 *     completion_times FILE            measures, and fails where FILE has notably better times
 *     completion_times --write FILE    makes FILE anew
 *
 * A cell is RUNS runs of one operation each, with seeds 0, 1, 2, ..., so that the same code gives
 * the same table. Between two hosts: 10 us each way, 10 Gb/s, path MTU 4096, ACK timeout code 8.
 */
#include "tests/sim/sim.h"

#include "proto/base/bits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 200

/*
 * A change that moves a few packets in time moves the dice of the losses too, and a few runs more
 * or less meet one that costs a timeout (4.2 ms, code 8 being less than the least). So the mean may
 * be worse by a share and by five such runs, and the time that is compared with the kept one of
 * nine in ten is what 17 in 20 need now.
 */
#define TOLERANCE_PERCENT 15
#define TOLERANCE_NS	  2000
#define TIMEOUTS_NS	  (5 * UINT64_C(4194304) / RUNS)

static const struct operation {
	const char *name;
	uint8_t opcode;
	uint32_t bytes;
	uint32_t count;
} operations[] = {
	{"write-8", RNIC_WR_RDMA_WRITE, 8, 1},
	{"write-64k", RNIC_WR_RDMA_WRITE, 65536, 1},
	{"write-1m", RNIC_WR_RDMA_WRITE, 1 << 20, 1},
	{"send-4k-x16", RNIC_WR_SEND, 4096, 16},
	{"read-64k", RNIC_WR_RDMA_READ, 65536, 1},
	{"read-1m", RNIC_WR_RDMA_READ, 1 << 20, 1},
	{"fetch-add-x16", RNIC_WR_ATOMIC_FETCH_ADD, 8, 16},
};

static const uint32_t losses_ppm[] = {0, 1000, 10000, 50000};

struct cell {
	uint64_t mean_ns;
	uint64_t p90_ns;
	uint64_t p85_ns; /* not in the file */
};

struct table {
	struct cell cells[RNIC_COUNT_OF(operations)][RNIC_COUNT_OF(losses_ppm)];
};

/* The time of one run; ends the program when the simulation finds something wrong. */
static uint64_t run(const struct operation *operation, uint32_t loss_ppm, uint64_t seed)
{
	struct sim *sim = sim_create(.seed = seed, .arena_bytes = 8 << 20);
	struct sim_qp *qp = sim_connect(sim, 0, 1, .path_mtu = 5, .timeout = 8);
	const struct sim_link link = {.bits_per_second = UINT64_C(10000000000),
				      .loss_ppm = loss_ppm};
	const char *failure;
	uint64_t elapsed_ns;

	sim_all_links(sim, &link);
	sim_may_lose_all(sim);
	for (uint32_t i = 0; i < operation->count; i++) {
		if (operation->opcode == RNIC_WR_SEND)
			sim_receive(qp->peer, .bytes = operation->bytes);
		sim_post(qp, .opcode = operation->opcode, .bytes = operation->bytes);
	}
	elapsed_ns = sim_run(sim, 10 * SIM_S);
	failure = sim_finish(sim);
	if (failure != NULL) {
		fprintf(stderr, "%s at %u ppm, seed %" PRIu64 ": %s\n", operation->name, loss_ppm,
			seed, failure);
		exit(1);
	}
	return elapsed_ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static struct cell measure_cell(const struct operation *operation, uint32_t loss_ppm)
{
	uint64_t times_ns[RUNS], sum_ns = 0;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		times_ns[seed] = run(operation, loss_ppm, seed);
		sum_ns += times_ns[seed];
	}
	qsort(times_ns, RUNS, sizeof(times_ns[0]), compare);
	return (struct cell){.mean_ns = sum_ns / RUNS,
			     .p90_ns = times_ns[RUNS * 9 / 10],
			     .p85_ns = times_ns[RUNS * 17 / 20]};
}

static void measure(struct table *table)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++)
		for (size_t j = 0; j < RNIC_COUNT_OF(losses_ppm); j++)
			table->cells[i][j] = measure_cell(&operations[i], losses_ppm[j]);
}

static void print_row(FILE *out, size_t i, size_t j, const struct cell *cell)
{
	fprintf(out, "%-14s %8u %12" PRIu64 " %12" PRIu64 "\n", operations[i].name, losses_ppm[j],
		cell->mean_ns, cell->p90_ns);
}

static int write_table(const struct table *table, const char *path)
{
	FILE *out = fopen(path, "w");

	if (out == NULL) {
		perror(path);
		return 1;
	}
	fprintf(out, "# Virtual time of operations, of %d runs each; see completion_times.c.\n",
		RUNS);
	fprintf(out, "# operation   loss [ppm]    mean [ns]     p90 [ns]\n");
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++)
		for (size_t j = 0; j < RNIC_COUNT_OF(losses_ppm); j++)
			print_row(out, i, j, &table->cells[i][j]);
	return fclose(out) == 0 ? 0 : 1;
}

/* Every cell must be in the file, in this order. */
static bool read_table(struct table *table, const char *path)
{
	FILE *in = fopen(path, "r");
	char line[128];
	size_t row = 0;

	if (in == NULL) {
		perror(path);
		return false;
	}
	while (fgets(line, sizeof(line), in) != NULL) {
		size_t i = row / RNIC_COUNT_OF(losses_ppm), j = row % RNIC_COUNT_OF(losses_ppm);
		char name[32];
		uint32_t loss_ppm;
		struct cell cell;

		if (line[0] == '#')
			continue;
		if (i == RNIC_COUNT_OF(operations) ||
		    sscanf(line, "%31s %" SCNu32 " %" SCNu64 " %" SCNu64, name, &loss_ppm,
			   &cell.mean_ns, &cell.p90_ns) != 4 ||
		    strcmp(name, operations[i].name) != 0 || loss_ppm != losses_ppm[j])
			break;
		table->cells[i][j] = cell;
		row++;
	}
	fclose(in);
	if (row == RNIC_COUNT_OF(operations) * RNIC_COUNT_OF(losses_ppm))
		return true;
	fprintf(stderr, "%s is not of this program: make it anew with --write\n", path);
	return false;
}

static uint64_t with_tolerance(uint64_t ns)
{
	return ns + ns * TOLERANCE_PERCENT / 100 + TOLERANCE_NS;
}

static bool is_worse(const struct cell *now, const struct cell *kept, uint32_t loss_ppm)
{
	uint64_t timeouts_ns = loss_ppm != 0 ? TIMEOUTS_NS : 0;

	return now->mean_ns > with_tolerance(kept->mean_ns) + timeouts_ns ||
	       now->p85_ns > with_tolerance(kept->p90_ns);
}

static int check_table(const struct table *now, const char *path)
{
	struct table kept;
	int worse = 0;

	if (!read_table(&kept, path))
		return 1;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		for (size_t j = 0; j < RNIC_COUNT_OF(losses_ppm); j++) {
			const struct cell *cell = &now->cells[i][j];

			print_row(stdout, i, j, cell);
			if (!is_worse(cell, &kept.cells[i][j], losses_ppm[j]))
				continue;
			printf("worse than what is kept: ");
			print_row(stdout, i, j, &kept.cells[i][j]);
			worse++;
		}
	}
	if (worse > 0)
		printf("%d of the times are notably worse than in %s\n", worse, path);
	return worse > 0;
}

int main(int argc, char **argv)
{
	bool is_write = argc == 3 && strcmp(argv[1], "--write") == 0;
	struct table table;

	if (argc != 2 && !is_write) {
		fprintf(stderr, "usage: completion_times [--write] FILE\n");
		return 2;
	}
	measure(&table);
	return is_write ? write_table(&table, argv[2]) : check_table(&table, argv[1]);
}
