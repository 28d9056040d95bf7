/* SPDX-License-Identifier: MIT */
/*
 * The language of fault rules. Pure: no memory but the caller's.
 *
 *     SPEC    = ITEM {"," ITEM}
 *     ITEM    = "seed=" N | [ "rx:" | "tx:" ] ACTION [ "@" OPCODE ] { "/" OPTION }
 *     ACTION  = ( "drop" | "duplicate" | "reorder" | "corrupt" | "mark" )
 *               [ "=" PERCENT "%" ]
 *             | "delay=" TIME [ "+-" TIME ]                  TIME = N ( "ns" | "us" | "ms" | "s" )
 *     OPTION  = "qpn=" N | "peer=" ADDRESS | "psn=" N [ "-" N ] | "from=" TIME | "for=" TIME
 *             | "first=" N | "every=" N | "nth=" N | "pattern=" STEP { " " STEP }
 *             | "count=" N | "behind=" N | "seed=" N         STEP = "ok" | "fail"
 *
 * Where: OPCODE is a name of opcode.h in lower case with "-" for blanks, or its first words:
 * "rc-write" is every RC write, "rc-acknowledge" every RC acknowledgement. "qpn" and "psn" are
 * those of the packet, whose queue pair is the destination's; "peer" is the other end. "from" and
 * "for" are a window of time, which begins when the rule is loaded. A rule applies to all packets
 * that it does not leave out.
 *
 * What: "mark" sets the mark of congestion in the IP header of packets that allow it (RFC 3168).
 * "behind" (for reorder, default 3) is the number of later packets that overtake.
 *
 * How often: of the packets that a rule applies to, "first" selects the first N, "every" each Nth,
 * "nth" the Nth alone, and "pattern" says it of one after the other; "count" limits the hits. A
 * percentage may have up to four decimals; without one the action always happens. Each rule draws
 * by itself, from its seed. Examples:
 *
 *     drop=1%                        duplicate=1%,reorder=1%,corrupt=1%,seed=7
 *     rx:delay=10ms+-2ms             drop@rc-acknowledge/first=1
 *     drop/peer=10.0.0.2/from=2s/for=500ms
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_RULE_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_RULE_H

#include "lib/nic/base/prng.h"
#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_RULE_TEXT_BYTES 112
#define FAULT_PATTERN_MAX     64 /* steps */

enum fault_action {
	FAULT_DROP,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_CORRUPT,
	FAULT_DELAY,
	FAULT_MARK,
	FAULT_ACTION_COUNT,
};

/* What a rule asks of a packet beyond the opcode; bits of fault_rule.where. */
enum fault_where {
	FAULT_WHERE_QPN = 1 << 0,
	FAULT_WHERE_PEER = 1 << 1,
	FAULT_WHERE_PSN = 1 << 2,
};

struct fault_rule {
	char text[FAULT_RULE_TEXT_BYTES]; /* the text of the rule */
	enum fault_action action;
	bool is_receive;
	uint32_t chance_ppm; /* 1,000,000 is always */
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint32_t behind;
	uint32_t where;		    /* enum fault_where */
	uint64_t opcodes[256 / 64]; /* bit set: the rule applies to this opcode */
	uint32_t qpn;
	uint32_t first_psn;
	uint32_t last_psn;
	struct rnic_gid peer;
	uint64_t from_ns;	/* since loaded_ns */
	uint64_t for_ns;	/* 0: for ever */
	uint64_t first;		/* 0: no bound */
	uint64_t every;		/* 1: each */
	uint64_t nth;		/* 0: any */
	uint64_t count;		/* 0: no bound */
	uint64_t pattern;	/* bit set: fail */
	uint32_t pattern_steps; /* 0: no pattern */
	bool has_seed;		/* of its own, not the list's */
	uint64_t seed;
	uint64_t loaded_ns; /* when the windows begin */
	struct prng prng;
	uint64_t seen; /* packets that the rule applied to */
	uint64_t hits; /* packets that the rule acted on */
};

/*
 * Reads the rules of `spec`, at most `max`, and stores their number at `count`. -EINVAL with a
 * sentence in `message`, which names line and column, and what is expected there. `rules` is
 * undefined then. An empty specification is an error too. `line` counts from 1: that of the text in
 * a file.
 */
int fault_rules_parse(const char *spec, uint32_t line, struct fault_rule *rules, uint32_t max,
		      uint32_t *count, char *message, size_t message_bytes);

/*
 * Begins a rule that was read: its windows at `now_ns`, its random numbers from its seed plus
 * `offset`: processes that share a rule then hit different packets.
 */
void fault_rule_begin(struct fault_rule *rule, uint64_t offset, uint64_t now_ns);

#endif
