/* SPDX-License-Identifier: MIT */
/*
 * Nothing in this folder logs. A failure for which a person can do something gives a sentence in a
 * text of PORT_TEXT_BYTES, which the caller prints.
 */
#ifndef LIB_NIC_PORT_PORT_TEXT_H
#define LIB_NIC_PORT_PORT_TEXT_H

#include "lib/nic/port/port.h"

/* Writes the sentence, cut to the room, and returns `error`, a negative errno. */
int port_text_error(char text[PORT_TEXT_BYTES], int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
