/* SPDX-License-Identifier: MIT */
/*
 * Whether a program begins its next call soon after calls have ended. A program that has done so
 * CALL_RHYTHM_TIMES in a row most likely does so again.
 */
#ifndef LIB_APIS_RPC_CLIENT_CALL_RHYTHM_H
#define LIB_APIS_RPC_CLIENT_CALL_RHYTHM_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_RHYTHM_SOON_NS UINT64_C(200000)
#define CALL_RHYTHM_TIMES   4

/* Zero at first. */
struct call_rhythm {
	uint64_t ended_ns; /* of the latest calls that ended; 0: others have begun since */
	uint32_t prompt;   /* times in a row that the next call began soon */
};

/* Calls have ended at `now_ns`; a call begins at `now_ns`. */
void call_rhythm_ended(struct call_rhythm *rhythm, uint64_t now_ns);
void call_rhythm_began(struct call_rhythm *rhythm, uint64_t now_ns);

/* Whether the next call is likely to begin within CALL_RHYTHM_SOON_NS of the end of calls. */
bool call_rhythm_is_prompt(const struct call_rhythm *rhythm);

#endif
