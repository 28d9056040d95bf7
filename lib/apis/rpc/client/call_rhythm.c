/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/client/call_rhythm.h"

void call_rhythm_ended(struct call_rhythm *rhythm, uint64_t now_ns)
{
	rhythm->ended_ns = now_ns;
}

void call_rhythm_began(struct call_rhythm *rhythm, uint64_t now_ns)
{
	if (rhythm->ended_ns == 0)
		return;
	if (now_ns - rhythm->ended_ns > CALL_RHYTHM_SOON_NS)
		rhythm->prompt = 0;
	else if (rhythm->prompt < CALL_RHYTHM_TIMES)
		rhythm->prompt++;
	rhythm->ended_ns = 0;
}

bool call_rhythm_is_prompt(const struct call_rhythm *rhythm)
{
	return rhythm->prompt == CALL_RHYTHM_TIMES;
}
