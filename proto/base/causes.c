/* SPDX-License-Identifier: MIT */
#include "proto/base/causes.h"

#include "proto/base/bits.h"

#include <string.h>

static const struct rnic_cause_row rows[] = {
#define CAUSE(code, name, status, clause, sentence, hint)                                          \
	{(code), RNIC_WC_##status, #name, (clause), (sentence), (hint)},
#include "proto/base/causes.def"
#undef CAUSE
};

const struct rnic_cause_row *rnic_cause_row(uint32_t index)
{
	return index < RNIC_COUNT_OF(rows) ? &rows[index] : NULL;
}

const struct rnic_cause_row *rnic_cause_of(uint32_t code)
{
	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

const struct rnic_cause_row *rnic_cause_named(const char *name, size_t length)
{
	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++)
		if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
			return &rows[i];
	return NULL;
}
