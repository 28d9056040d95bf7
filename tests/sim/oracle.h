/* SPDX-License-Identifier: MIT */
/*
 * The oracle: what a pair of connected QPs owes to its programs, kept as a model beside the engine
 * and compared with each completion as it comes.
 *
 *   - every work entry completes exactly once, in order; what is skipped was unsignaled and has
 * succeeded
 *   - when it has succeeded, the bytes it moved are in place and equal to the model's
 *   - receives complete in order, each with the next message of the peer, once
 *   - an atomic was carried out once: its original value and the final word follow from the others
 *   - an error is one that the work itself or its surroundings explain; after it all is flushed.
 *     No order holds between two work queues: where payload finds no memory, one queue may be
 *     flushed before the other names the error
 *   - UC: a message may be lost, but one that is received is whole, in order, and received once;
 *     UD: a received message is a datagram that was sent, behind a header of 40 bytes
 *   - once a memory window is closed nothing is read or written through it any more
 *   - failed work has left each byte old or new, and nothing else in memory has changed; of a READ
 *     beyond the end of its region, only whole packets from within the region may have come
 *
 * It knows nothing of packets or time. The first violation is kept as a sentence; later ones are
 * not.
 */
#ifndef TESTS_SIM_ORACLE_H
#define TESTS_SIM_ORACLE_H

#include "lib/nic/engine/engine.h"
#include "tests/sim/sim_memory.h"

#include <stdbool.h>
#include <stdint.h>

#define ORACLE_FAILURE_BYTES 400
#define STATUS_BIT(status)   (UINT32_C(1) << (status))

/* State that all ends of one simulation share. */
struct oracle {
	char failure[ORACLE_FAILURE_BYTES]; /* "" while all is well */
	uint64_t now_ns;
	uint8_t *expected; /* scratch */
	uint32_t expected_capacity;
};

enum window_state {
	WINDOW_FREE,
	WINDOW_OPENING, /* a bind is posted */
	WINDOW_OPEN,
	WINDOW_CLOSING,	 /* its own end has posted the closing work: accesses race with that */
	WINDOW_GIVEN_UP, /* the peer has posted a SEND that invalidates it: nothing may follow */
};

/*
 * The window of an end, through which its peer reaches `span`. Whenever the program learns that it
 * is closed, all of the span gets other bytes, which no access may bring to light or replace.
 */
struct model_window {
	enum window_state state;
	uint32_t generation; /* how often it was closed */
	uint32_t key;	     /* that it was last bound with */
	struct span span;    /* of this end's arena: half to be read, half to be written */
	uint32_t written;    /* bytes of the second half that works have for themselves */
};

struct model_work {
	uint8_t opcode; /* enum rnic_wr_opcode */
	uint8_t flags;	/* enum rnic_send_flag */
	uint8_t status;
	bool is_complete;
	bool is_hot;	 /* writes a range that others write too */
	bool is_pattern; /* its bytes are a function of the offset and checked by the region */
	bool is_placed;	 /* the peer's receive completion has shown its bytes */
	bool is_window_access; /* goes through the peer's window */
	bool opens_window;     /* of its own end; BIND_MW */
	bool closes_window;    /* of its own end; BIND_MW, LOCAL_INVALIDATE */
	uint8_t piece_count;
	uint32_t legal; /* bits of statuses that the work itself explains */
	uint32_t bytes;
	uint32_t immediate;
	struct span *pieces; /* of the poster's arena; the poster owns them */
	const uint8_t *inline_bytes;
	const uint8_t *window_bytes; /* that a READ through the peer's window must return */
	uint32_t window_generation;
	uint32_t window_key;	  /* BIND_MW: the key of its own window */
	struct span remote;	  /* of the peer's arena */
	struct span granted;	  /* of the peer's arena: what a refused READ may bring of it */
	uint64_t atomic_original; /* the expected original value */
	uint64_t atomic_result;	  /* the final word */
};

struct model_receive {
	struct span *pieces;
	uint32_t piece_count;
	uint32_t bytes;
	uint32_t legal;
	uint8_t status;
	bool is_complete;
};

/* One QP. */
struct oracle_end {
	struct oracle *oracle;
	struct oracle_end *peer;
	struct sim_memory *memory;
	char name[24];
	uint8_t type; /* enum rnic_qp_type */
	struct model_work *wqes;
	uint32_t work_count;
	uint32_t work_capacity;
	uint32_t completed; /* works [0, completed) are accounted for */
	struct model_receive *receives;
	uint32_t receive_count;
	uint32_t receive_capacity;
	uint32_t received;     /* receives [0, received) have completed */
	uint32_t next_message; /* of the peer's works: none before it is still to be received */
	uint32_t legal_errors; /* explained by the surroundings, for any work */
	uint32_t legal_receive_errors;
	bool may_stop;		 /* something that brings the QP into error was done to it */
	bool has_stopped;	 /* a completion has shown that it is in error */
	bool has_cause;		 /* that completion, or one since, names the error */
	bool sends_have_stopped; /* one of its sends has shown it; UC, UD: receives go on */
	bool receives_have_stopped;
	uint64_t atomic_value;	 /* of the word below when all posted so far is done */
	struct span atomic_word; /* of the peer's arena */
	struct span hot;	 /* of the peer's arena */
	struct model_window window;
};

void oracle_fini(struct oracle *oracle);

/* Keeps the first violation. */
void oracle_fail(struct oracle *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool oracle_has_failed(const struct oracle *oracle)
{
	return oracle->failure[0] != '\0';
}

void oracle_end_init(struct oracle_end *end, struct oracle *oracle, struct sim_memory *memory,
		     const char *name);
void oracle_end_fini(struct oracle_end *end);

/* A zeroed entry behind all others, to be filled in. Entries posted earlier may move. */
struct model_work *oracle_add_work(struct oracle_end *end);
struct model_receive *oracle_add_receive(struct oracle_end *end);

/* The bytes in front of a message in its receive. */
uint32_t oracle_header_bytes(const struct oracle_end *end);

/* A completion of this end's QP; wr_id is the index of the work or receive. */
void oracle_complete(struct oracle_end *end, const struct cqe *cqe);

/* Any bytes may lie in these pieces. */
void oracle_adopt(struct sim_memory *memory, const struct span *pieces, uint32_t count);

/* The engine has retired works [0, retired): works without completion must have been unsignaled. */
void oracle_retire(struct oracle_end *end, uint32_t retired);

/*
 * Both QPs have been brought into error and flushed: nothing may be left, and failed work is judged
 * byte by byte. Call for both ends, then compare arena and shadow.
 */
void oracle_finish(struct oracle_end *end);

#endif
