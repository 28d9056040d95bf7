/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/mr_refusal.h"

#include "proto/base/bits.h"
#include "proto/base/verbs_types.h"

#include <inttypes.h>
#include <stdio.h>

/* Of the rights that a request can ask for; of several that miss the first is named. */
static const char *name_access(uint32_t access)
{
	static const struct {
		uint32_t access;
		const char *name;
	} names[] = {
		{RNIC_ACCESS_LOCAL_WRITE, "IBV_ACCESS_LOCAL_WRITE"},
		{RNIC_ACCESS_REMOTE_WRITE, "IBV_ACCESS_REMOTE_WRITE"},
		{RNIC_ACCESS_REMOTE_READ, "IBV_ACCESS_REMOTE_READ"},
		{RNIC_ACCESS_REMOTE_ATOMIC, "IBV_ACCESS_REMOTE_ATOMIC"},
		{RNIC_ACCESS_FLUSH_GLOBAL, "IBV_ACCESS_FLUSH_GLOBAL"},
		{RNIC_ACCESS_FLUSH_PERSISTENT, "IBV_ACCESS_FLUSH_PERSISTENT"},
	};

	for (size_t i = 0; i < RNIC_COUNT_OF(names); i++)
		if (access & names[i].access)
			return names[i].name;
	return "this access";
}

void mr_refusal_text(const struct mr_refusal *refusal, const char *key_name, char *text,
		     uint32_t text_bytes)
{
	switch (refusal->fault) {
	case MR_FAULT_KEY:
		snprintf(text, text_bytes,
			 "The queue pair's protection domain has no memory region with the "
			 "%s 0x%06" PRIx32
			 ": it is deregistered, of another domain, or was never handed out.",
			 key_name, refusal->key);
		break;
	case MR_FAULT_RIGHTS:
		snprintf(text, text_bytes,
			 "The memory region of %s 0x%06" PRIx32 " was registered without %s.",
			 key_name, refusal->key, name_access(refusal->missing_access));
		break;
	case MR_FAULT_WINDOW:
		snprintf(text, text_bytes,
			 "The %s 0x%06" PRIx32 " is that of a memory window that this queue pair "
			 "cannot use.",
			 key_name, refusal->key);
		break;
	case MR_FAULT_RANGE:
		snprintf(text, text_bytes,
			 "%" PRIu64 " bytes at 0x%" PRIx64
			 " do not lie in the memory of %s 0x%06" PRIx32 ", which is %" PRIu64
			 " bytes at 0x%" PRIx64 ".",
			 refusal->length, refusal->address, key_name, refusal->key,
			 refusal->region_length, refusal->region_address);
		break;
	}
}
