/* SPDX-License-Identifier: MIT */
/*
 * Nothing in this folder logs. What fails for a reason that a person can act on says so in a text
 * of PORT_TEXT_BYTES that the caller prints.
 */
#ifndef NIC_PORT_PORT_TEXT_H
#define NIC_PORT_PORT_TEXT_H

#include "port/port.h"

/* Writes the sentence, cut where it does not fit, and returns `error`, a negative errno. */
int port_text_error(char text[PORT_TEXT_BYTES], int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
