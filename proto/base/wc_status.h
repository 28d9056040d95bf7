/* SPDX-License-Identifier: MIT */
/* What completion statuses are called, by headers and to people. */
#ifndef PROTO_BASE_WC_STATUS_H
#define PROTO_BASE_WC_STATUS_H

#include <stdint.h>

/*
 * The name of enum rnic_wc_status, as <infiniband/verbs.h> has it behind IBV_WC_: "RETRY_EXC_ERR".
 * The text is static. NULL: there is no such status.
 */
const char *rnic_wc_status_name(uint32_t status);

/* What ibv_wc_status_str() calls the status: "transport retry counter exceeded". Static, or NULL.
 */
const char *rnic_wc_status_text(uint32_t status);

#endif
