/* SPDX-License-Identifier: MIT */
/*
 * Lists of small numbers as a command line has them: "0xffff,0x8001,77". Pure.
 */
#ifndef LIB_NIC_BASE_NUMBER_LIST_H
#define LIB_NIC_BASE_NUMBER_LIST_H

#include <stdint.h>

/*
 * Reads 1 to `max` numbers of 16 bits, decimal or hexadecimal, with one comma between two and
 * nothing else. Returns how many, or -EINVAL; then `numbers` may hold some of them.
 */
int number_list_read(const char *text, uint16_t *numbers, uint32_t max);

#endif
