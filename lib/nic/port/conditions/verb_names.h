/* SPDX-License-Identifier: MIT */
/* The names that rules of faults have for calls, what completes, statuses and errnos. */
#ifndef LIB_NIC_PORT_CONDITIONS_VERB_NAMES_H
#define LIB_NIC_PORT_CONDITIONS_VERB_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* The bits, as in rnic_verb_rule.calls, of all calls whose name begins with the words; 0: none. */
uint64_t verb_calls(const char *text, size_t length);
uint64_t verb_works(const char *text, size_t length);

/* The status of a failed completion (enum rnic_wc_status), by name or number; 0: none. */
uint32_t verb_status(const char *text, size_t length);

/* An errno, by name or number; 0: none. */
uint32_t verb_errno(const char *text, size_t length);

#endif
