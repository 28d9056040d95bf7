/* SPDX-License-Identifier: MIT */
/* Protection domains: an identity that MRs, MWs, QPs and AHs share, and a count of who uses it. */
#ifndef DAEMON_ENGINE_PD_H
#define DAEMON_ENGINE_PD_H

#include <stdint.h>

struct pd {
	uint32_t references; /* MRs, MWs, QPs and AHs that name it */
};

#endif
