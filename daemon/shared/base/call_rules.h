/* SPDX-License-Identifier: MIT */
/*
 * The beginning of each seccomp filter of the daemon, for all threads and for one architecture.
 */
#ifndef DAEMON_SHARED_BASE_CALL_RULES_H
#define DAEMON_SHARED_BASE_CALL_RULES_H

#include <seccomp.h>
#include <stdint.h>

/*
 * Stores at `filter` a filter that takes `action` for each call without a rule. The caller releases
 * the filter, also after an error. -ENOMEM: there is no filter; other errors are libseccomp's.
 */
int call_rules_begin(scmp_filter_ctx *filter, uint32_t action);

#endif
