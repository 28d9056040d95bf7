/* SPDX-License-Identifier: MIT */
/* The short names of types in programs of a small system. */
#ifndef RNIC_COMPAT_KERNEL_TYPES_H
#define RNIC_COMPAT_KERNEL_TYPES_H

#include <stdint.h>

typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint64_t uint64;

#endif
