/* SPDX-License-Identifier: MIT */
/*
 * The helper is a program of its own, and not rnic-lab once more: a function can read all memory of
 * the child in which it runs. The addresses and the stack guard there are no other program's, and
 * there is little else.
 */
#include "tools/lab/lambda/sandbox_parts.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "rnic-lab starts this program: SOCKET TABLE\n");
		return EXIT_FAILURE;
	}
	sandbox_helper_run(atoi(argv[1]), atoi(argv[2]));
}
