/* SPDX-License-Identifier: MIT */
/* What programs of a small system find in their only library header. */
#ifndef RNIC_COMPAT_USER_USER_H
#define RNIC_COMPAT_USER_USER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#endif
