/* SPDX-License-Identifier: MIT */
#include "verbs/ibv_native.h"

#include "verbs/ibv_translate.h"

#define ENTRY(function) .function = rnic_##function,

const struct rnic_native_table rnic_native = {.bytes = sizeof(rnic_native),
					      .context = rnic_verbs_native,
					      .ah_attr = rnic_verbs_ah_attr,
					      .qp_attr = rnic_verbs_qp_attr,
					      RNIC_NATIVE_FUNCTIONS(ENTRY)};
