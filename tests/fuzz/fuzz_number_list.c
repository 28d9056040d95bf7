/* SPDX-License-Identifier: MIT */
/* Any text as the list of numbers that an option takes: never more than asked for. */
#include "lib/nic/base/number_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t numbers[MAX];
	char *text = malloc(size + 1);
	uint32_t max;
	int count;

	assert(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	max = (uint32_t)size % (MAX + 1);
	count = number_list_read(text, numbers, max);
	assert(count <= (int)max && count != 0);
	free(text);
	return 0;
}
