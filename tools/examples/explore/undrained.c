/* SPDX-License-Identifier: MIT */
/*
 * A client writes several pieces of data into the server's memory, each as a few WRITEs from one
 * buffer, which the next piece uses again. Then it destroys the queue pair.
 *
 * MISTAKE: the client of undrained_wrong does not wait until the queue is drained. It pauses for
 * long enough, as it believes, looks at the completions that are there, and goes on. WRITEs that
 * are still under way then send the next piece's bytes, or are lost with the queue pair.
 * Right: the client counts the completions of all WRITEs before it touches the buffer.
 */
#include "two_sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIECE_COUNT 6
#define WRITE_COUNT 16 /* for one piece */
#define WRITE_BYTES 4096
#define PIECE_BYTES (WRITE_COUNT * WRITE_BYTES)
#define PAUSE_NS    80000000L

struct writing {
	struct two_sides sides;
	uint8_t buffer[PIECE_BYTES];
	uint8_t remote[PIECE_COUNT][PIECE_BYTES];
	uint32_t done_count; /* pieces; an attempt begins with the next */
};

static bool start_write(struct writing *writing, uint32_t index)
{
	size_t offset = (size_t)index * WRITE_BYTES;
	struct ibv_sge sge = {.addr = (uintptr_t)&writing->buffer[offset],
			      .length = WRITE_BYTES,
			      .lkey = writing->sides.mr[CLIENT]->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {.remote_addr = (uintptr_t)&writing->remote[writing->done_count][offset],
			    .rkey = writing->sides.mr[SERVER]->rkey},
	};
	struct ibv_send_wr *bad;
	int error = ibv_post_send(writing->sides.qp[CLIENT], &wr, &bad);
	if (error != 0)
		report_call("ibv_post_send", error);
	return error == 0;
}

/* Takes what is there. Returns the number of completions, or -1 when one has an error. */
static int completions_there(struct writing *writing)
{
	int taken_count = 0;
	struct ibv_wc wc;
	int count;
	while ((count = ibv_poll_cq(writing->sides.cq[CLIENT], 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			report_completion(CLIENT, &wc);
			return -1;
		}
		taken_count++;
	}
	return count < 0 ? -1 : taken_count;
}

#ifdef HAS_MISTAKE
static bool finish_piece(struct writing *writing)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	return completions_there(writing) >= 0;
}
#else
static bool finish_piece(struct writing *writing)
{
	int completed_count = 0;
	while (completed_count < WRITE_COUNT) {
		int count = completions_there(writing);
		if (count < 0 || two_sides_is_late(&writing->sides))
			return false;
		completed_count += count;
	}
	return true;
}
#endif

static bool write_piece(struct writing *writing)
{
	pattern_fill(writing->buffer, PIECE_BYTES, writing->done_count);
	for (uint32_t i = 0; i < WRITE_COUNT; i++)
		if (!start_write(writing, i))
			return false;
	return finish_piece(writing);
}

static bool write_pieces(void *state)
{
	struct writing *writing = state;
	const struct side_memory memory[SIDE_COUNT] = {
		[CLIENT] = {writing->buffer, sizeof(writing->buffer)},
		[SERVER] = {writing->remote, sizeof(writing->remote)},
	};
	const struct connection_settings settings = {
		.timeout = 15, .retry_count = 7, .rnr_retry = 7, .entry_count = 128};
	bool goes_on = two_sides_open(&writing->sides, memory, &settings);
	while (goes_on && writing->done_count < PIECE_COUNT) {
		goes_on = write_piece(writing);
		writing->done_count += goes_on;
	}
	two_sides_close(&writing->sides);
	return goes_on;
}

int main(int argc, char **argv)
{
	static struct writing writing;
	(void)argc;
	run_attempts(argv[0], write_pieces, &writing);
	uint32_t wrong_count = 0;
	for (uint32_t i = 0; i < writing.done_count; i++)
		wrong_count += !pattern_matches(writing.remote[i], PIECE_BYTES, i);
	printf("%u of %u pieces are written, %u are wrong\n", writing.done_count, PIECE_COUNT,
	       wrong_count);
	return wrong_count > 0 ? EXIT_WRONG_DATA : EXIT_SUCCESS;
}
