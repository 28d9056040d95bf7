/* SPDX-License-Identifier: MIT */
/* Protection domains: an identity that MRs, QPs and AHs share, and a count of who refers to it. */
#ifndef DAEMON_ENGINE_PD_H
#define DAEMON_ENGINE_PD_H

#include <stdint.h>

struct pd {
	uint32_t references; /* MRs, QPs and AHs that name it */
};

#endif
