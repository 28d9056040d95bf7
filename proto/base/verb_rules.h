/* SPDX-License-Identifier: MIT */
/*
 * Rules of faults for verbs calls and completions, as the control plane tells them to the library
 * of a program, which applies them by itself, on both paths.
 *
 * Two files of shared memory go with a device process, and all its clients have both. The control
 * plane writes the rules page, which clients can only map for reading. Clients write the hits page.
 * Neither side trusts what the other one wrote: the library takes a rule that it has checked once,
 * and the control plane takes a hit for a number to show.
 */
#ifndef PROTO_BASE_VERB_RULES_H
#define PROTO_BASE_VERB_RULES_H

#include "proto/base/rule_often.h"
#include "proto/base/verbs_types.h"

#include <stdatomic.h>
#include <stdint.h>

#define RNIC_VERB_RULES_MAGIC UINT32_C(0x6c756572) /* "reul" in a hex dump */
#define RNIC_VERB_RULES_MAX   64		   /* slots */

/* What a rule does; 0: it is one for packets, which the library does not get. */
enum rnic_verb_action {
	RNIC_VERB_NONE,
	RNIC_VERB_FAIL,	   /* a call fails with errno `value` */
	RNIC_VERB_STATUS,  /* a completion says status `value` */
	RNIC_VERB_DELAY,   /* a completion comes later */
	RNIC_VERB_REORDER, /* a completion comes behind the next one, of another queue pair */
	RNIC_VERB_OCCUPY,  /* `value` entries of a completion queue stay occupied */
	RNIC_VERB_ACTION_COUNT,
};

/* Calls that can fail; a bit each in rnic_verb_rule.calls. verb_names.c has their names. */
enum rnic_verb_call {
	RNIC_VERB_ALLOC_PD,
	RNIC_VERB_DEALLOC_PD,
	RNIC_VERB_REG_MR,
	RNIC_VERB_REREG_MR,
	RNIC_VERB_DEREG_MR,
	RNIC_VERB_ALLOC_MW,
	RNIC_VERB_DEALLOC_MW,
	RNIC_VERB_CREATE_COMP_CHANNEL,
	RNIC_VERB_DESTROY_COMP_CHANNEL,
	RNIC_VERB_CREATE_CQ,
	RNIC_VERB_RESIZE_CQ,
	RNIC_VERB_DESTROY_CQ,
	RNIC_VERB_CREATE_QP,
	RNIC_VERB_MODIFY_QP,
	RNIC_VERB_QUERY_QP,
	RNIC_VERB_DESTROY_QP,
	RNIC_VERB_CREATE_AH,
	RNIC_VERB_DESTROY_AH,
	RNIC_VERB_CREATE_SRQ,
	RNIC_VERB_MODIFY_SRQ,
	RNIC_VERB_QUERY_SRQ,
	RNIC_VERB_DESTROY_SRQ,
	RNIC_VERB_OPEN_XRCD,
	RNIC_VERB_CLOSE_XRCD,
	RNIC_VERB_OPEN_QP,
	RNIC_VERB_ATTACH_MCAST,
	RNIC_VERB_DETACH_MCAST,
	RNIC_VERB_QUERY_PORT,
	RNIC_VERB_QUERY_GID,
	RNIC_VERB_QUERY_PKEY,
	RNIC_VERB_IMPORT_PD,
	RNIC_VERB_IMPORT_MR,
	RNIC_VERB_CM_CREATE_ID,
	RNIC_VERB_CM_BIND_ADDR,
	RNIC_VERB_CM_RESOLVE_ADDR,
	RNIC_VERB_CM_RESOLVE_ROUTE,
	RNIC_VERB_CM_LISTEN,
	RNIC_VERB_CM_CONNECT,
	RNIC_VERB_CM_ACCEPT,
	RNIC_VERB_CM_DISCONNECT,
	RNIC_VERB_CM_JOIN_MULTICAST,
	RNIC_VERB_POST_SEND,
	RNIC_VERB_POST_RECV,
	RNIC_VERB_POST_SRQ_RECV,
	RNIC_VERB_CALL_COUNT,
};

#define RNIC_VERB_CALLS_THAT_POST                                                                  \
	(UINT64_C(1) << RNIC_VERB_POST_SEND | UINT64_C(1) << RNIC_VERB_POST_RECV |                 \
	 UINT64_C(1) << RNIC_VERB_POST_SRQ_RECV)

/* The bit of a completion's opcode in rnic_verb_rule.calls: receives have the upper half. */
static inline uint32_t rnic_verb_completion_bit(uint32_t wc_opcode)
{
	return (wc_opcode & 0x1f) | (wc_opcode >= RNIC_WC_RECV ? 32u : 0u);
}

struct rnic_verb_rule {
	uint32_t id;	 /* 0: the slot is empty */
	uint32_t action; /* enum rnic_verb_action */
	uint64_t calls;	 /* bits of enum rnic_verb_call, or of opcodes of completions */
	uint32_t value;
	uint32_t pid; /* 0: of any program */
	uint32_t qpn;
	uint32_t has_qpn; /* 0: of any queue pair */
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint64_t seed;
	uint64_t loaded_ns; /* of the monotonic clock */
	struct rnic_rule_often often;
	char program[RNIC_DEVICE_NAME_BYTES]; /* empty: any */
};

/* What the data path looks at: bits of rnic_verb_rules_page.kinds. */
enum rnic_verb_kind {
	RNIC_VERB_KIND_CALLS = 1 << 0,
	RNIC_VERB_KIND_POSTS = 1 << 1,
	RNIC_VERB_KIND_COMPLETIONS = 1 << 2,
};

/* The control plane makes `sequence` odd while it writes `rules`; `kinds` comes last. */
struct rnic_verb_rules_page {
	uint32_t magic;
	uint32_t reserved;
	_Atomic uint32_t kinds; /* that some rule has */
	_Atomic uint32_t sequence;
	struct rnic_verb_rule rules[RNIC_VERB_RULES_MAX];
};

/* By slot: the rule's id in the upper half, how often the rule acted in the lower one. */
struct rnic_verb_hits_page {
	_Atomic uint64_t words[RNIC_VERB_RULES_MAX];
};

/* The kinds of looks that a rule needs. */
static inline uint32_t rnic_verb_rule_kinds(const struct rnic_verb_rule *rule)
{
	uint32_t kinds = 0;

	if (rule->action == RNIC_VERB_NONE)
		return 0;
	if (rule->action != RNIC_VERB_FAIL)
		return RNIC_VERB_KIND_COMPLETIONS;
	if ((rule->calls & RNIC_VERB_CALLS_THAT_POST) != 0)
		kinds |= RNIC_VERB_KIND_POSTS;
	if ((rule->calls & ~RNIC_VERB_CALLS_THAT_POST) != 0)
		kinds |= RNIC_VERB_KIND_CALLS;
	return kinds;
}

#endif
