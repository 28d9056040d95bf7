/* SPDX-License-Identifier: MIT */
/* rnicctl serve runs a program of its own, which needs a library that rnicctl does without. */
#include "tools/rnicctl/rnicctl.h"

#include "tools/support/install_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int serve_main(int argc, char **argv)
{
	char path[PATH_MAX];
	int error = install_tree_helper("rnicctl-serve", path);

	(void)argc;
	if (!error) {
		execv(path, argv);
		error = -errno;
	}
	fprintf(stderr, "rnicctl: rnicctl-serve is not installed with it: %s\n", strerror(-error));
	return EXIT_FAILURE;
}
