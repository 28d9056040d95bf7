/* SPDX-License-Identifier: MIT */
/* The functions that compilers call by themselves: linked into a lambda that needs them. */
#include <stddef.h>
#include <stdint.h>

/* A compiler must not turn these loops into calls of the functions themselves. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *left, const void *right, size_t bytes);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	uint8_t *restrict target = to;
	const uint8_t *restrict source = from;

	for (size_t i = 0; i < bytes; i++)
		target[i] = source[i];
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	uint8_t *target = to;
	const uint8_t *source = from;

	if ((uintptr_t)target - (uintptr_t)source >= bytes)
		return memcpy(to, from, bytes);
	while (bytes-- > 0)
		target[bytes] = source[bytes];
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	uint8_t *target = to;

	for (size_t i = 0; i < bytes; i++)
		target[i] = (uint8_t)value;
	return to;
}

int memcmp(const void *left, const void *right, size_t bytes)
{
	const uint8_t *one = left, *other = right;

	for (size_t i = 0; i < bytes; i++) {
		if (one[i] != other[i])
			return one[i] - other[i];
	}
	return 0;
}
