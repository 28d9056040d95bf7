/* SPDX-License-Identifier: MIT */
/* Listings for subcommands that show something on the way. */
#ifndef TOOLS_RNICCTL_SHOW_H
#define TOOLS_RNICCTL_SHOW_H

#include "lib/client/admin/admin_link.h"

#include <stdbool.h>

/* Prints the rows of the kind `what`, as rnicctl show does. Errors as of admin_link_show(). */
int show_listing(struct admin_link *link, const char *what, bool is_json);

#endif
