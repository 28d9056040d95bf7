/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/qp_attributes.h"

#include "lib/nic/engine/engine_limits.h"
#include "proto/base/bits.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum treatment {
	TAKEN,	 /* as it is */
	KNOWN,	 /* refused with bits that have no meaning */
	BOUNDED, /* refused beyond its bounds */
	MASKED,	 /* the low bits count */
	REFUSED, /* whatever it is */
};

/* The member that an attribute of a modify stands for. All but TAKEN and REFUSED ones are numbers
 * of 1, 2 or 4 bytes. */
struct attribute {
	uint32_t mask;
	uint16_t offset;
	uint16_t bytes;
	enum treatment treatment;
	uint32_t least; /* BOUNDED */
	uint32_t most;	/* BOUNDED; of KNOWN and MASKED ones the bits */
};

#define ROW(mask_, member_, treatment_, least_, most_)                                             \
	{                                                                                          \
		.mask = RNIC_QP_ATTR_##mask_,                                                      \
		.offset = offsetof(struct rnic_qp_attributes, member_),                            \
		.bytes = sizeof(((struct rnic_qp_attributes *)0)->member_),                        \
		.treatment = (treatment_), .least = (least_), .most = (most_),                     \
	}

#define ACCESS_BITS                                                                                \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |            \
	 RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED |                \
	 RNIC_ACCESS_ON_DEMAND | RNIC_ACCESS_HUGETLB | RNIC_ACCESS_FLUSH_GLOBAL |                  \
	 RNIC_ACCESS_FLUSH_PERSISTENT | RNIC_ACCESS_OPTIONAL_RANGE)

/* clang-format off */
static const struct attribute rows[] = {
	ROW(EN_SQD_ASYNC_NOTIFY,  en_sqd_async_notify,	  BOUNDED, 0, 1),
	ROW(ACCESS_FLAGS,	  access_flags,		  KNOWN,   0, ACCESS_BITS),
	ROW(PKEY_INDEX,		  pkey_index,		  BOUNDED, 0, LIMIT_PKEYS - 1),
	ROW(PORT,		  port,			  BOUNDED, 1, 1),
	ROW(QKEY,		  qkey,			  TAKEN,   0, 0),
	ROW(AV,			  path,			  TAKEN,   0, 0),
	ROW(PATH_MTU,		  path_mtu,		  BOUNDED, 1, 5),
	ROW(TIMEOUT,		  timeout,		  BOUNDED, 0, 31),
	ROW(RETRY_COUNT,	  retry_count,		  MASKED,  0, 7),
	ROW(RNR_RETRY,		  rnr_retry,		  MASKED,  0, 7),
	ROW(RQ_PSN,		  rq_psn,		  MASKED,  0, RNIC_PSN_MASK),
	ROW(SQ_PSN,		  sq_psn,		  MASKED,  0, RNIC_PSN_MASK),
	ROW(MAX_RD_ATOMIC,	  max_rd_atomic,	  BOUNDED, 0, LIMIT_RD_ATOMIC),
	ROW(MAX_DEST_RD_ATOMIC,	  max_dest_rd_atomic,	  BOUNDED, 0, LIMIT_RD_ATOMIC),
	ROW(MIN_RNR_TIMER,	  min_rnr_timer,	  MASKED,  0, 31),
	ROW(DEST_QPN,		  dest_qpn,		  MASKED,  0, 0xffffff),
	/* A path never migrates: it stays in MIGRATED, and has no alternate one. */
	ROW(PATH_MIGRATION_STATE, path_migration_state,	  BOUNDED, 0, 0),
	ROW(ALTERNATE_PATH,	  alternate_path,	  REFUSED, 0, 0),
};
/* clang-format on */

const struct rnic_qp_attributes qp_attributes_at_reset = {.path_mtu = 1};

static uint32_t number_at(const struct rnic_qp_attributes *attributes, const struct attribute *row)
{
	const uint8_t *at = (const uint8_t *)attributes + row->offset;
	uint16_t half;
	uint32_t word;

	switch (row->bytes) {
	case 1:
		return *at;
	case 2:
		memcpy(&half, at, sizeof(half));
		return half;
	default:
		memcpy(&word, at, sizeof(word));
		return word;
	}
}

static void mask_number(struct rnic_qp_attributes *attributes, const struct attribute *row)
{
	uint8_t *at = (uint8_t *)attributes + row->offset;
	uint32_t word;

	if (row->bytes == 1) {
		*at &= (uint8_t)row->most;
		return;
	}
	memcpy(&word, at, sizeof(word));
	word &= row->most;
	memcpy(at, &word, sizeof(word));
}

static bool is_refused(const struct rnic_qp_attributes *attributes, const struct attribute *row)
{
	uint32_t value;

	switch (row->treatment) {
	case KNOWN:
		return (number_at(attributes, row) & ~row->most) != 0;
	case BOUNDED:
		value = number_at(attributes, row);
		return value < row->least || value > row->most;
	default:
		return row->treatment == REFUSED;
	}
}

uint32_t qp_attributes_refused(const struct rnic_qp_attributes *attributes, uint32_t mask)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++)
		if ((mask & rows[i].mask) && is_refused(attributes, &rows[i]))
			return rows[i].mask;
	return 0;
}

void qp_attributes_take(struct rnic_qp_attributes *to, const struct rnic_qp_attributes *from,
			uint32_t mask)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		const struct attribute *row = &rows[i];

		if (!(mask & row->mask))
			continue;
		memcpy((uint8_t *)to + row->offset, (const uint8_t *)from + row->offset,
		       row->bytes);
		if (row->treatment == MASKED)
			mask_number(to, row);
	}
}
