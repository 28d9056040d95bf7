/* SPDX-License-Identifier: MIT */
/*
 * Says why tools that send management datagrams themselves (perfquery, smpquery, ibping) find no
 * device: what they print names a kernel module, which would not help.
 */
#ifndef LIB_DROPIN_VIEW_VIEW_UMAD_H
#define LIB_DROPIN_VIEW_VIEW_UMAD_H

/*
 * Writes one line to standard error, once in a process, when `path` is the file that libibumad
 * reads before it opens a port. ibstat, which opens none, does not read it. Writes nothing when
 * descriptor 2 is another file than at the start of the program. Keeps errno.
 */
void rnic_view_explain_umad(const char *path);

#endif
