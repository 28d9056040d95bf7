/* SPDX-License-Identifier: MIT */
/*
 * A client reads the server's blocks by RDMA READ, several at a time.
 *
 * MISTAKE: the client of unread_status_wrong counts completions and does not read their status, so
 * a block whose READ failed counts as arrived. The data show that at the end.
 * Right: a completion with an error ends the attempt, and the next one reads what is missing.
 */
#include "two_sides.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_COUNT 128
#define BLOCK_BYTES 4096
#define WINDOW	    8

struct reading {
	struct two_sides sides;
	uint8_t remote[BLOCK_COUNT][BLOCK_BYTES];
	uint8_t local[BLOCK_COUNT][BLOCK_BYTES];
	bool has_arrived[BLOCK_COUNT];
	uint32_t next; /* the first block that this attempt has not considered */
	uint32_t under_way;
	bool has_failed;
};

static bool start_read(struct reading *reading, uint32_t block)
{
	struct ibv_sge sge = {.addr = (uintptr_t)reading->local[block],
			      .length = BLOCK_BYTES,
			      .lkey = reading->sides.mr[CLIENT]->lkey};
	struct ibv_send_wr wr = {
		.wr_id = block,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.wr.rdma = {.remote_addr = (uintptr_t)reading->remote[block],
			    .rkey = reading->sides.mr[SERVER]->rkey},
	};
	struct ibv_send_wr *bad;
	return ibv_post_send(reading->sides.qp[CLIENT], &wr, &bad) == 0;
}

/* A READ that could not be posted gets another chance in the next turn. */
static void start_reads(struct reading *reading)
{
	while (reading->next < BLOCK_COUNT && reading->under_way < WINDOW) {
		if (!reading->has_arrived[reading->next]) {
			if (!start_read(reading, reading->next))
				return;
			reading->under_way++;
		}
		reading->next++;
	}
}

static void on_read_end(struct reading *reading, const struct ibv_wc *wc)
{
#ifndef HAS_MISTAKE
	if (wc->status != IBV_WC_SUCCESS) {
		report_completion(CLIENT, wc);
		reading->has_failed = true;
		return;
	}
#endif
	reading->under_way--;
	reading->has_arrived[wc->wr_id] = true;
}

static bool read_blocks(void *state)
{
	struct reading *reading = state;
	const struct side_memory memory[SIDE_COUNT] = {
		[CLIENT] = {reading->local, sizeof(reading->local)},
		[SERVER] = {reading->remote, sizeof(reading->remote)},
	};
	/* A peer that is silent for about a tenth of a second counts as gone. */
	const struct connection_settings settings = {
		.timeout = 12, .retry_count = 2, .rnr_retry = 7, .entry_count = 16};
	reading->next = 0;
	reading->under_way = 0;
	reading->has_failed = !two_sides_open(&reading->sides, memory, &settings);
	while (!reading->has_failed && (reading->next < BLOCK_COUNT || reading->under_way > 0)) {
		start_reads(reading);
		struct ibv_wc wc;
		int count = ibv_poll_cq(reading->sides.cq[CLIENT], 1, &wc);
		if (count > 0)
			on_read_end(reading, &wc);
		reading->has_failed |= count < 0 || two_sides_is_late(&reading->sides);
	}
	two_sides_close(&reading->sides);
	return !reading->has_failed;
}

int main(int argc, char **argv)
{
	static struct reading reading;
	(void)argc;
	for (uint32_t i = 0; i < BLOCK_COUNT; i++)
		pattern_fill(reading.remote[i], BLOCK_BYTES, i);
	run_attempts(argv[0], read_blocks, &reading);
	uint32_t arrived_count = 0;
	uint32_t wrong_count = 0;
	for (uint32_t i = 0; i < BLOCK_COUNT; i++) {
		if (!reading.has_arrived[i])
			continue;
		arrived_count++;
		wrong_count += !pattern_matches(reading.local[i], BLOCK_BYTES, i);
	}
	printf("%u of %u blocks arrived, %u are wrong\n", arrived_count, BLOCK_COUNT, wrong_count);
	return wrong_count > 0 ? EXIT_WRONG_DATA : EXIT_SUCCESS;
}
