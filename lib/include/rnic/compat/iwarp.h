/* SPDX-License-Identifier: MIT */
/*
 * The context API under its usual name: programs that include <iwarp.h> and link -liwarp compile
 * with -I.../include/rnic/compat. <rnic/connection.h> is the manual.
 */
#ifndef RNIC_COMPAT_IWARP_H
#define RNIC_COMPAT_IWARP_H

#include <rnic/connection.h>

#endif
