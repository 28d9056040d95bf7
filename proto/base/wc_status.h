/* SPDX-License-Identifier: MIT */
/* The names of completion statuses. */
#ifndef PROTO_BASE_WC_STATUS_H
#define PROTO_BASE_WC_STATUS_H

#include <stdint.h>

/*
 * The name of enum rnic_wc_status, as <infiniband/verbs.h> has it behind IBV_WC_: "RETRY_EXC_ERR".
 * The text is static. NULL: there is no such status.
 */
const char *rnic_wc_status_name(uint32_t status);

#endif
