/* SPDX-License-Identifier: MIT */
/*
 * A script as the parser leaves it: settings of the queue pair under test, memory regions, and one
 * step for each line that does or expects something. Grammar: README.md.
 *
 * The caller of script_parse() owns the script and gives it to script_fini(). Every number in it
 * fits the field it is for, and every region that a step names exists; a runner checks nothing of
 * that again.
 */
#ifndef TESTS_SCRIPT_SCRIPT_H
#define TESTS_SCRIPT_SCRIPT_H

#include "tests/script/script_packet.h"

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_REGIONS_MAX  8
#define SCRIPT_STEPS_MAX    512
#define SCRIPT_SGES_MAX	    4
#define SCRIPT_POSTS_MAX    64
#define SCRIPT_LINE_BYTES   256
#define SCRIPT_INLINE_BYTES 256

/* The numbers of the queue pair under test that a script can set. */
enum script_setting {
	SETTING_MTU, /* bytes */
	SETTING_TIMEOUT,
	SETTING_RETRY,
	SETTING_RNR_RETRY,
	SETTING_MIN_RNR_TIMER,
	SETTING_SEND_PSN,
	SETTING_RECV_PSN,
	SETTING_MAX_RD_ATOMIC,
	SETTING_MAX_DEST_RD_ATOMIC,
	SETTING_ACCESS,	 /* enum rnic_access */
	SETTING_STATE,	 /* enum rnic_qp_state that it is brought to */
	SETTING_SEND_CQ, /* completions that fit */
	SETTING_RECV_CQ,
	SETTING_PKEY, /* of our QP */
	SETTING_ECN,  /* 1: on */
	SETTING_QP,   /* enum script_qp */
	SETTING_SRQ_LIMIT,
	SETTING_QKEY, /* of our QP, if it is of UD */
	SETTING_KEEP, /* packets behind gaps that the engine keeps */
	SETTING_COUNT,
};

/* The queue pair under test. */
enum script_qp {
	SCRIPT_QP_RC,
	SCRIPT_QP_RC_SRQ,     /* RC whose receives come from an SRQ */
	SCRIPT_QP_XRC_TARGET, /* the same, of XRC */
	SCRIPT_QP_XRC_INITIATOR,
	SCRIPT_QP_UD,
	SCRIPT_QP_COUNT,
};

/* A region, or (with length 0) a window, whose name stands for a key in the same way. */
struct script_region {
	char name[16];
	uint64_t address;
	uint32_t length;
	uint32_t access; /* enum rnic_access */
	bool is_of_other_pd;
	uint8_t window_type; /* enum rnic_mw_type; 0: a region */
};

struct script_sge {
	uint64_t address;
	uint32_t length;
	struct script_key lkey;
};

struct script_post {
	uint64_t wr_id;
	struct script_sge sges[SCRIPT_SGES_MAX];
	uint32_t sge_count;
	bool is_malformed;
	/* Of sends only. */
	uint8_t opcode; /* enum rnic_wr_opcode */
	uint8_t flags;	/* enum rnic_send_flag */
	uint64_t remote_address;
	struct script_key rkey;
	uint64_t compare;
	uint64_t swap_or_add;
	uint32_t immediate;
	uint32_t srqn; /* XRC */
	uint32_t qkey; /* UD */
	struct script_key inv;
	uint32_t access;       /* BIND_MW; the SGE is the bound range */
	uint32_t flush_length; /* FLUSH */
	uint32_t flush_type;
};

struct script_completion {
	uint64_t wr_id;
	uint8_t status; /* enum rnic_wc_status */
	bool has_opcode;
	bool has_length;
	bool has_immediate;
	bool has_invalidate;
	bool is_solicited;
	uint8_t opcode; /* enum rnic_wc_opcode */
	uint32_t length;
	uint32_t immediate;
	struct script_key inv;
};

struct script_memory {
	uint64_t address;
	uint32_t length;
	struct script_pattern pattern;
};

enum step_kind {
	STEP_RECEIVE, /* < */
	STEP_EXPECT,  /* > */
	STEP_POST_SEND,
	STEP_POST_RECV,
	STEP_COMPLETE,
	STEP_EVENT,
	STEP_STATE,
	STEP_MEMORY,
	STEP_STORE,
	STEP_COUNTER,
	STEP_MODIFY,
	STEP_PROBE,
	STEP_UNMAP,
	STEP_DEREGISTER,
	STEP_NOTHING,
};

struct script_step {
	enum step_kind kind;
	uint32_t line;
	uint64_t after_ns; /* since the step before: from `after_ns` to `until_ns` */
	uint64_t until_ns;
	char source[SCRIPT_LINE_BYTES]; /* the line, without its comment */
	union {
		struct script_packet packet;
		struct script_post post;
		struct script_completion cqe;
		struct script_memory memory;
		struct {
			uint32_t index; /* enum counter */
			uint64_t value;
		} counter;
		uint32_t number; /* event, state, region's index */
	};
};

struct script {
	const char *name; /* of the file, for messages; the caller's */
	uint64_t settings[SETTING_COUNT];
	struct script_region regions[SCRIPT_REGIONS_MAX];
	uint32_t region_count;
	struct script_step *steps;
	uint32_t step_count;
};

/* The region that covers the range; NULL when none does. */
const struct script_region *script_find_region(const struct script *script, uint64_t address,
					       uint64_t length);

#endif
