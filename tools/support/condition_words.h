/* SPDX-License-Identifier: MIT */
/* The words for conditions that happen once: of rnicctl link, event and qp, and of scenarios. */
#ifndef TOOLS_SUPPORT_CONDITION_WORDS_H
#define TOOLS_SUPPORT_CONDITION_WORDS_H

#include "proto/ctl/ctl_message.h"

struct condition_word {
	const char *name; /* NULL: the end of the words */
	enum rnic_condition condition;
	const char *object; /* what the next word names; NULL: a device, or nothing */
};

extern const struct condition_word condition_link_words[];
extern const struct condition_word condition_event_words[];
extern const struct condition_word condition_qp_words[];

#endif
