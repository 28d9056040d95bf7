/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a test script. An accepted script keeps the promises that the runner builds on:
 * lengths within their arrays, ranges of memory within a region.
 */
#include "tests/script/script_parser.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_step(const struct script *script, const struct script_step *step)
{
	require(step->after_ns <= step->until_ns);
	switch (step->kind) {
	case STEP_RECEIVE:
	case STEP_EXPECT:
		require(step->packet.values[FIELD_LEN] <= RNIC_PAYLOAD_BYTES_MAX);
		require(!step->packet.rkey.is_region ||
			step->packet.rkey.value < script->region_count);
		break;
	case STEP_POST_SEND:
	case STEP_POST_RECV:
		require(step->post.sge_count <= SCRIPT_SGES_MAX);
		break;
	case STEP_MEMORY:
	case STEP_STORE:
		require(script_find_region(script, step->memory.address, step->memory.length) !=
			NULL);
		break;
	case STEP_UNMAP:
	case STEP_DEREGISTER:
		require(step->number < script->region_count);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script_error error;
	struct script script;

	if (!script_parse("fuzz", (const char *)data, size, &script, &error)) {
		require(error.text[0] != '\0');
		return 0;
	}
	require(script.step_count <= SCRIPT_STEPS_MAX);
	for (uint32_t i = 0; i < script.step_count; i++)
		check_step(&script, &script.steps[i]);
	script_fini(&script);
	return 0;
}
