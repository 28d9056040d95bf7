/* SPDX-License-Identifier: MIT */
/*
 * The objects of a puppet, and the lines that move it.
 *
 * A puppet owns one device context and up to PUPPET_OBJECTS objects in it; the number of an object
 * is its place in the table plus 1, so that 0 is none. A command either answers one line and
 * returns 0, or prints nothing and returns a positive errno.
 */
#ifndef TESTS_INTEROP_RXE_PUPPET_H
#define TESTS_INTEROP_RXE_PUPPET_H

#include <infiniband/verbs.h>

#include <stdbool.h>
#include <stdint.h>

#define PUPPET_OBJECTS	 64
#define PUPPET_SGES	 4
#define PUPPET_ARGUMENTS 48

enum puppet_kind {
	PUPPET_NONE,
	PUPPET_PD,
	PUPPET_MR,
	PUPPET_MW,
	PUPPET_CQ,
	PUPPET_SRQ,
	PUPPET_QP,
	PUPPET_AH,
};

struct puppet_object {
	enum puppet_kind kind;
	union {
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_mw *mw;
		struct ibv_cq *cq;
		struct ibv_srq *srq;
		struct ibv_qp *qp;
		struct ibv_ah *ah;
	};
	uint8_t *memory; /* of an MR */
	uint64_t bytes;
	struct ibv_comp_channel *channel; /* of a CQ */
};

struct puppet {
	struct ibv_context *context;
	struct puppet_object objects[PUPPET_OBJECTS];
};

struct arguments {
	int count;
	const char *names[PUPPET_ARGUMENTS];
	const char *texts[PUPPET_ARGUMENTS];
	const char *rest; /* all that follows the command, as it was */
};

struct command {
	const char *name;
	int (*run)(struct puppet *puppet, const struct arguments *arguments);
};

/* Cuts the line behind the command; the pieces point into it or, for rest, into static memory. */
void arguments_split(struct arguments *arguments, char *line);
/* 0 when there is none of that name. */
uint64_t argument(const struct arguments *arguments, const char *name);
/* NULL when there is none of that name. */
const char *argument_text(const struct arguments *arguments, const char *name);

__attribute__((format(printf, 1, 2))) void answer(const char *format, ...);
void answer_done(void); /* without a number */

/* NULL when the number names no object of that kind. */
struct puppet_object *puppet_find(struct puppet *puppet, enum puppet_kind kind, uint64_t number);

int puppet_open(struct puppet *puppet, const struct arguments *arguments);
int puppet_close(struct puppet *puppet, const struct arguments *arguments);
int puppet_gid(struct puppet *puppet, const struct arguments *arguments);
int puppet_pd(struct puppet *puppet, const struct arguments *arguments);
int puppet_mr(struct puppet *puppet, const struct arguments *arguments);
int puppet_mw(struct puppet *puppet, const struct arguments *arguments);
int puppet_cq(struct puppet *puppet, const struct arguments *arguments);
int puppet_srq(struct puppet *puppet, const struct arguments *arguments);
int puppet_qp(struct puppet *puppet, const struct arguments *arguments);
int puppet_modify(struct puppet *puppet, const struct arguments *arguments);
int puppet_query(struct puppet *puppet, const struct arguments *arguments);
int puppet_ah(struct puppet *puppet, const struct arguments *arguments);
int puppet_destroy(struct puppet *puppet, const struct arguments *arguments);
int puppet_reset(struct puppet *puppet, const struct arguments *arguments);

#endif
