/* SPDX-License-Identifier: MIT */
/*
 * The language of fault rules, and the packets that a rule hits. Pure: no memory but the caller's.
 *
 *     SPEC    = ITEM {"," ITEM}
 *     ITEM    = "seed=" N | [ "rx:" | "tx:" ] ACTION [ "@" OPCODE ] { "/" OPTION }
 *     ACTION  = ( "drop" | "duplicate" | "reorder" | "corrupt" | "mark" )
 *               [ "=" PERCENT "%" ]
 *             | "delay=" TIME [ "+-" TIME ]                  TIME = N ( "ns" | "us" | "ms" | "s" )
 *     OPTION  = "first=" N | "every=" N | "count=" N | "behind=" N
 *
 * OPCODE is a name of opcode.h in lower case with "-" for blanks, or its first words:
 * "rc-write" is every RC write, "rc-acknowledge" every RC acknowledgement. A rule without OPCODE
 * applies to all packets. A percentage may have up to four decimals; without one the action always
 * happens. "mark" sets the mark of congestion in the IP header of packets that allow it (RFC 3168).
 * Of the packets that a rule applies to, "first" selects the first N and "every" each Nth; "count"
 * limits the hits; "behind" (for reorder, default 3) is the number of later packets that overtake.
 * Examples:
 *
 *     drop=1%                        duplicate=1%,reorder=1%,corrupt=1%,seed=7
 *     rx:delay=10ms+-2ms             drop@rc-acknowledge/first=1
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_RULE_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_RULE_H

#include "lib/nic/base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_RULES_MAX	      16
#define FAULT_RULE_TEXT_BYTES 96

enum fault_action {
	FAULT_DROP,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_CORRUPT,
	FAULT_DELAY,
	FAULT_MARK,
	FAULT_ACTION_COUNT,
};

struct fault_rule {
	char text[FAULT_RULE_TEXT_BYTES]; /* the text of the rule */
	enum fault_action action;
	bool is_receive;
	uint32_t chance_ppm; /* 1,000,000 is always */
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint32_t behind;
	uint64_t first;		    /* 0: no bound */
	uint64_t every;		    /* 1: each */
	uint64_t count;		    /* 0: no bound */
	uint64_t opcodes[256 / 64]; /* bit set: the rule applies to this opcode */
	uint64_t seen;		    /* packets that the rule applied to */
	uint64_t hits;		    /* packets that the rule acted on */
};

struct fault_plan {
	struct fault_rule rules[FAULT_RULES_MAX];
	uint32_t rule_count;
	uint64_t seed;
};

/* The effect of all rules together on one packet. */
struct fault_verdict {
	bool drop;
	bool duplicate;
	bool corrupt;
	bool mark;
	uint32_t behind; /* 0: not held back */
	uint64_t delay_ns;
};

/*
 * Reads `spec`. -EINVAL with a sentence in `message` that names the wrong piece; `plan` is
 * untouched then. An empty specification is an error too.
 */
int fault_plan_parse(struct fault_plan *plan, const char *spec, char *message,
		     size_t message_bytes);

/* Judges a packet by all rules in order and counts in them. */
struct fault_verdict fault_plan_judge(struct fault_plan *plan, struct prng *prng, bool is_receive,
				      uint8_t opcode);

#endif
