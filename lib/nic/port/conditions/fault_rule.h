/* SPDX-License-Identifier: MIT */
/*
 * The language of fault rules. Pure: no memory but the caller's.
 *
 *     SPEC    = ITEM {"," ITEM}
 *     ITEM    = "seed=" N | RULE { "/" OPTION }
 *     RULE    = [ "rx:" | "tx:" ] PACKET [ "@" OPCODE ]
 *             | "fail=" ERRNO [ "@" CALL ]
 *             | "cq:" COMPLETION [ "@" WORK ]
 *             | "end=" ( "memory-first" | "queue-pairs-first" )
 *     PACKET  = ( "drop" | "duplicate" | "reorder" | "corrupt" | "mark" | "rnr" )
 *               [ "=" PERCENT "%" ]
 *             | "delay=" TIME [ "+-" TIME ]                  TIME = N ( "ns" | "us" | "ms" | "s" )
 *     COMPLETION = "status=" STATUS | "delay=" TIME [ "+-" TIME ]
 *             | "reorder" [ "=" PERCENT "%" ] | "occupy=" N
 *     OPTION  = "qpn=" N | "peer=" ADDRESS | "psn=" N [ "-" N ] | "longer=" N
 *             | "program=" NAME | "pid=" N | "from=" TIME | "for=" TIME
 *             | "first=" N | "every=" N | "nth=" N | "pattern=" STEP { " " STEP }
 *             | "count=" N | "chance=" PERCENT "%" | "behind=" N | "seed=" N | "hold=" TIME
 *     STEP    = "ok" | "fail"
 *
 * Where: OPCODE is a name of opcode.h in lower case with "-" for blanks, or its first words:
 * "rc-write" is every RC write, "rc-acknowledge" every RC acknowledgement. "qpn" and "psn" are
 * those of the packet, whose queue pair is the destination's; "peer" is the other end; "longer" are
 * packets of more bytes, from the BTH to the ICRC. CALL is a function of libibverbs without its
 * prefix, or the first words of its name: "reg_mr", "create", "post"; "cm" ones are librdmacm's.
 * WORK is what completes: "send", "rdma-write", "recv". "program" (the name that rnicctl show
 * clients has) and "pid" are of calls, completions and ends, "qpn" also of completions: the own
 * queue pair's. "from" and "for" are a window of time, which begins when the rule is loaded. A rule
 * applies to all that it does not leave out.
 *
 * What: "mark" sets the mark of congestion in the IP header of packets that allow it (RFC 3168).
 * "rnr" makes an acknowledgement the answer of a receiver that was not ready. "behind" (for
 * reorder, default 3) is the number of later packets that overtake. "fail" lets a call fail with
 * ERRNO, a name or a number, and nothing happens. "status" changes what a completion says, and its
 * queue pair stays as it is. A "delay" lets polls wait. "reorder" of completions lets the next one
 * overtake that is of another queue pair. "occupy" keeps N entries of the queue from use. "end" is
 * the order in which a program that ends, or is killed, is taken down: "queue-pairs-first" is the
 * usual one, and its peers hear nothing any more; with "memory-first" its queue pairs refuse access
 * for the time of "hold" (default 1 s, at most 4 s), and then go. The first rule decides.
 *
 * How often: of what a rule applies to, "first" selects the first N, "every" each Nth, "nth" the
 * Nth alone, and "pattern" says it of one after the other; "count" limits the hits. A percentage
 * may have up to four decimals; without one the action always happens. Each rule draws by itself,
 * from its seed. Each device process counts packets and ends by itself, and each program its calls
 * and completions. Examples:
 *
 *     drop=1%                        duplicate=1%,reorder=1%,corrupt=1%,seed=7
 *     rx:delay=10ms+-2ms             drop@rc-acknowledge/first=1
 *     drop/peer=10.0.0.2/from=2s/for=500ms
 *     fail=ENOMEM@reg_mr/nth=3       cq:status=RETRY_EXC_ERR@rdma-write/count=1
 *     end=memory-first/program=server/hold=100ms
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_RULE_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_RULE_H

#include "lib/nic/base/prng.h"
#include "proto/base/verb_rules.h"
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
	FAULT_RNR,
	FAULT_ACTION_COUNT,
};

/* What a rule asks of a packet beyond the opcode; bits of fault_rule.where. */
enum fault_where {
	FAULT_WHERE_QPN = 1 << 0,
	FAULT_WHERE_PEER = 1 << 1,
	FAULT_WHERE_PSN = 1 << 2,
	FAULT_WHERE_LONGER = 1 << 3,
};

/* What goes first when a program ends. */
enum fault_end {
	FAULT_END_NONE, /* the rule is none of ends */
	FAULT_END_MEMORY_FIRST,
	FAULT_END_QUEUE_PAIRS_FIRST,
};

struct fault_rule {
	char text[FAULT_RULE_TEXT_BYTES]; /* the text of the rule */
	enum fault_action action;
	enum rnic_verb_action verb; /* not NONE: of calls or completions, and `action` is nothing */
	enum fault_end end;	    /* not NONE: of ends, and `action` is nothing */
	bool is_receive;
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint32_t behind;
	uint32_t where;		    /* enum fault_where */
	uint64_t opcodes[256 / 64]; /* bit set: the rule applies to this opcode */
	uint32_t qpn;
	uint32_t first_psn;
	uint32_t last_psn;
	uint32_t longer_bytes;
	struct rnic_gid peer;
	uint64_t hold_ns;		      /* of FAULT_END_MEMORY_FIRST */
	uint64_t calls;			      /* of verbs: bits as in rnic_verb_rule */
	uint32_t verb_value;		      /* as in rnic_verb_rule */
	uint32_t pid;			      /* 0: any */
	char program[RNIC_DEVICE_NAME_BYTES]; /* empty: any */
	struct rnic_rule_often often;
	bool has_seed; /* of its own, not the list's */
	uint64_t seed;
	uint64_t loaded_ns; /* when the windows begin */
	struct prng prng;
	uint64_t seen; /* packets, or ends, that the rule applied to */
	uint64_t hits; /* those that the rule acted on */
};

static inline bool fault_rule_has_opcode(const struct fault_rule *rule, uint8_t opcode)
{
	return (rule->opcodes[opcode / 64] >> opcode % 64 & 1) != 0;
}

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

/*
 * The same for the one rule of `text`, with `seed` where the text has none. -EINVAL for a text that
 * is not one rule.
 */
int fault_rule_load(struct fault_rule *rule, const char *text, uint64_t seed, uint64_t offset,
		    uint64_t now_ns);

/* Counts a packet, or an end, that the rule applies to. Returns whether the rule acts on this. */
bool fault_rule_acts(struct fault_rule *rule, uint64_t now_ns);

/* Whether the rule is one for packets. */
static inline bool fault_rule_is_for_packets(const struct fault_rule *rule)
{
	return rule->verb == RNIC_VERB_NONE && rule->end == FAULT_END_NONE;
}

/* Whether the rule is for the connection manager's packets alone, which the control plane sends. */
static inline bool fault_rule_is_for_cm(const struct fault_rule *rule)
{
	return fault_rule_is_for_packets(rule) && (rule->where & FAULT_WHERE_QPN) != 0 &&
	       rule->qpn == RNIC_GENERAL_SERVICES_QPN;
}

/*
 * Whether the rule has no effect where the device is inside its program: rules are not loaded there
 * for the packets of that device, which never outlives the memory of its program.
 */
static inline bool fault_rule_needs_process(const struct fault_rule *rule)
{
	return (fault_rule_is_for_packets(rule) && !fault_rule_is_for_cm(rule)) ||
	       rule->end == FAULT_END_MEMORY_FIRST;
}

/* What the library is to know of the rule; its action is NONE when the rule is for a device. */
void fault_rule_verb(const struct fault_rule *rule, uint32_t id, struct rnic_verb_rule *verb);

#endif
