/* SPDX-License-Identifier: MIT */
/*
 * A client and a server in one process: two connected RC queue pairs of one device, each with a
 * memory region and a completion queue. The programs of this folder differ in what they send.
 *
 * Any call may fail, and any completion may be late or have an error. Then the attempt is over:
 * the program says why, closes all objects and begins again with what is missing. A program that
 * cannot go on for that reason ends well; wrong data do not.
 */
#ifndef TWO_SIDES_H
#define TWO_SIDES_H

#include <infiniband/verbs.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIT_WRONG_DATA 1
#define EXIT_NO_DEVICE	2

enum side { CLIENT, SERVER, SIDE_COUNT };

struct side_memory {
	void *start;
	size_t size_bytes;
};

/* What both queue pairs are made with; times and counts are coded as in struct ibv_qp_attr. */
struct connection_settings {
	uint8_t timeout;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint32_t entry_count; /* of each send queue, each receive queue and each completion queue */
};

/* Zeroed memory holds nothing, and can be closed. */
struct two_sides {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr[SIDE_COUNT];
	struct ibv_cq *cq[SIDE_COUNT];
	struct ibv_qp *qp[SIDE_COUNT];
	uint64_t deadline_ns;
};

/*
 * Makes and connects all objects. The memory stays the caller's, for as long as they exist. Returns
 * false when a call failed, which it has told on standard error; the caller closes in either case.
 */
bool two_sides_open(struct two_sides *sides, const struct side_memory memory[SIDE_COUNT],
		    const struct connection_settings *settings);

/* Destroys what exists. Afterwards the device reads and writes the memory no more. */
void two_sides_close(struct two_sides *sides);

/* True, after a line on standard error, when the attempt has lasted too long. */
bool two_sides_is_late(const struct two_sides *sides);

/* Says on standard error which call failed. `error` is an errno value. */
void report_call(const char *call, int error);

/* Says on standard error which completion has an error. */
void report_completion(enum side side, const struct ibv_wc *wc);

/*
 * Calls `attempt` until it returns true, or has failed so often that the peer counts as gone;
 * `name` is that of the program, for messages. Exits with EXIT_NO_DEVICE where the host has none.
 */
void run_attempts(const char *name, bool (*attempt)(void *state), void *state);

/* The byte at `offset` of block `number`. The next 255 blocks differ in each byte. */
uint8_t pattern_byte(uint32_t number, size_t offset);

void pattern_fill(uint8_t *bytes, size_t byte_count, uint32_t number);
bool pattern_matches(const uint8_t *bytes, size_t byte_count, uint32_t number);

#endif
