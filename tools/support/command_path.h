/* SPDX-License-Identifier: MIT */
/*
 * Whether a command that a person has typed is there, before it runs. What is there may still fail
 * to run; execvp(3) says why.
 */
#ifndef TOOLS_SUPPORT_COMMAND_PATH_H
#define TOOLS_SUPPORT_COMMAND_PATH_H

#define COMMAND_PATH_TEXT_BYTES 1024

/*
 * Returns 0; -ENOENT: there is no such command; -EACCES: it is a socket, or in a folder that is
 * closed. Then `text` is a sentence that says so and, where it can, what was meant.
 */
int command_path_check(const char *command, char text[COMMAND_PATH_TEXT_BYTES]);

#endif
