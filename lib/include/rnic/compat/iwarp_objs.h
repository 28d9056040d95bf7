/* SPDX-License-Identifier: MIT */
/* The structures of the context API under their usual name: see <iwarp.h>. */
#ifndef RNIC_COMPAT_IWARP_OBJS_H
#define RNIC_COMPAT_IWARP_OBJS_H

#include <rnic/connection.h>

#endif
