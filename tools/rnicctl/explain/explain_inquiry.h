/* SPDX-License-Identifier: MIT */
/* Between the files that explain a queue pair: its two ends, and what is known of its error. */
#ifndef TOOLS_RNICCTL_EXPLAIN_INQUIRY_H
#define TOOLS_RNICCTL_EXPLAIN_INQUIRY_H

#include "proto/base/verbs_types.h"
#include "tools/rnicctl/explain/explanation.h"

#define EXPLAIN_US_PER_MS 1000.0

/* One end of a connection. */
struct end {
	const struct evidence *evidence; /* NULL: nobody knows */
	uint32_t qpn;
	uint32_t peer_qpn;
	int64_t shift_us;  /* from the ages of this end to those of the own */
	int64_t slack_us;  /* of the shift */
	bool is_unaligned; /* the shift is unknown: only the order of its own rows counts */
	const struct rnic_show_record *connected; /* since then; NULL: not recorded any more */
	const struct rnic_show_record *trouble;	  /* why it failed, or what it dropped */
	const struct rnic_show_qp *qp;		  /* NULL: it has ended */
};

/* An older event that explains the error. */
struct lead {
	uint32_t cause;
	bool at_peer;
	int64_t age_us;
	const struct rnic_show_record *row; /* NULL: no entry tells of it */
};

struct inquiry {
	struct end own;
	struct end peer;
	int64_t limit_us; /* leads are as old as this at least: the error, or the first time-out */
	struct lead lead;
	bool is_unordered; /* a lead of the peer was left out: nobody can say when it was */
};

static inline int64_t end_age(const struct end *end, const struct rnic_show_record *row)
{
	return (int64_t)row->age_us + end->shift_us;
}

static inline bool end_is_failed(uint32_t state)
{
	return state == RNIC_QP_STATE_ERR || state == RNIC_QP_STATE_SQE;
}

/* --- the two ends (explain_ends.c) ------------------------------------------------------------ */

/* Whether the entry is of the end's queue pair, since the end was connected. */
bool end_has(const struct end *end, const struct rnic_show_record *row);

/* The last entry that tells more than a position; NULL: there is none. */
const struct rnic_show_record *end_last(const struct end *end);

/* The first entry of the queue pair, which names its client; NULL: there is none. */
const struct rnic_show_record *end_first_of(const struct evidence *evidence, uint32_t qpn);

/* The living client whose queue pair it is; NULL: it has gone, or is not known. */
const struct rnic_show_client *end_client(const struct end *end);

/*
 * Whether the program is stopped, and the queue pair waits for it. A device that gives no word of
 * the queue pair is inside the program, and stopped with it.
 */
bool end_is_stopped(const struct end *end);

/* Finds queue pair `qpn`, of any peer (0) or of this one. False: the source has nothing of it. */
bool end_find(struct end *end, const struct evidence *evidence, uint32_t qpn, uint32_t peer_qpn);

/* Finds the other end in the sources, of which the first one has the own end. */
void inquiry_find_peer(struct inquiry *inquiry, const struct evidence *sources, size_t count);

/*
 * Takes as the other end the daemon that has a listener at the address that the own end asks for a
 * connection; no source has the own queue pair's peer.
 */
void inquiry_find_listener(struct inquiry *inquiry, const struct evidence *sources, size_t count);

/* The last PSN of this kind that the end's ring tells; false: none. */
bool end_psn(const struct end *end, enum rnic_record_event event, uint32_t *psn, uint32_t *value);

/* The PSN that the end expects next, or expected at its end; false: nobody knows. */
bool end_expected_psn(const struct end *end, uint32_t *psn);

/* --- words (explain_words.c) ------------------------------------------------------------------ */

/* The sentence of the trouble that names this queue pair, with its keys and addresses; or NULL. */
const struct rnic_show_trouble *end_trouble_text(const struct end *end);

/* What the network said of packets to the peer; NULL: nothing. */
const struct rnic_show_trouble *inquiry_network_trouble(const struct inquiry *inquiry);

/* Which requests may have been executed; nothing where that is no question. */
void explain_say_recovery(const struct inquiry *inquiry, char text[EXPLAIN_TEXT_BYTES]);

/* The lead, and how long before the error it was. */
void explain_say_lead(const struct inquiry *inquiry, char detail[EXPLAIN_TEXT_BYTES]);

/* Between what the cause is undetermined, and what would decide. */
void explain_say_undetermined(const struct inquiry *inquiry, size_t source_count,
			      struct explanation *explanation);

/* The same of a connection to which nothing came back, or only from the connection manager. */
void explain_say_unanswered(const struct inquiry *inquiry, bool has_heard,
			    struct explanation *explanation);

/* Says what the records lack, where that may hide a cause. */
void explain_say_gaps(const struct inquiry *inquiry, size_t source_count,
		      char text[EXPLAIN_TEXT_BYTES]);

/* --- the chain (explain_chain.c) -------------------------------------------------------------- */

/* Fills in the steps of the explanation, of both ends, the older ones first. */
void explain_tell_chain(const struct inquiry *inquiry, struct explanation *explanation);

#endif
