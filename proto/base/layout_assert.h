/* SPDX-License-Identifier: MIT */
/* Compile-time proof that a shared struct has the layout of its contract. */
#ifndef PROTO_BASE_LAYOUT_ASSERT_H
#define PROTO_BASE_LAYOUT_ASSERT_H

#include <stddef.h>

#define RNIC_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)

#define RNIC_AT(type, member, offset)                                                              \
	_Static_assert(offsetof(type, member) == (offset), "offset of " #member " in " #type)

#endif
