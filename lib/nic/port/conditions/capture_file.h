/* SPDX-License-Identifier: MIT */
/*
 * The file of a capture, in a directory where strangers may have been first. What a stranger put at
 * the path is neither followed nor written: no file changes that is not the capture's, and nobody
 * reads the packets who could not read a new file.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_CAPTURE_FILE_H
#define LIB_NIC_PORT_CONDITIONS_CAPTURE_FILE_H

#include "lib/nic/port/port.h"

/*
 * Creates the file `path` for this user alone, or empties a file of this user that is there. Takes
 * also a named pipe of this user, a device, and what an open descriptor names (/dev/fd/N). The
 * descriptor does not wait; `flags` are for it, O_APPEND or 0. Waits for the first reader of a
 * pipe. Errors, with a sentence in `text`: -EPERM another user's file, or one with a second name;
 * -ELOOP a symbolic link; those of open(2).
 */
int capture_file_open(const char *path, int flags, char text[PORT_TEXT_BYTES]);

#endif
