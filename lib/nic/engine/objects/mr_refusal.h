/* SPDX-License-Identifier: MIT */
/* Why a key did not grant an access. */
#ifndef LIB_NIC_ENGINE_OBJECTS_MR_REFUSAL_H
#define LIB_NIC_ENGINE_OBJECTS_MR_REFUSAL_H

#include <stdint.h>

/* Of all members of a refusal only those that its fault is about are set. */
enum mr_fault {
	MR_FAULT_KEY = 1, /* names nothing in the protection domain */
	MR_FAULT_RIGHTS,
	MR_FAULT_WINDOW, /* used as an lkey, or of type 2 and bound through another QP */
	MR_FAULT_RANGE,
};

struct mr_refusal {
	enum mr_fault fault;
	uint32_t key;
	uint32_t missing_access; /* of RIGHTS */
	uint64_t address;	 /* of RANGE: what was wanted, and what there is */
	uint64_t length;
	uint64_t region_address;
	uint64_t region_length;
};

/* Writes the refusal as a sentence for people; `key_name` is "rkey" or "lkey". */
void mr_refusal_text(const struct mr_refusal *refusal, const char *key_name, char *text,
		     uint32_t text_bytes);

#endif
