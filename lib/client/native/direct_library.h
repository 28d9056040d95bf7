/* SPDX-License-Identifier: MIT */
/*
 * Finds librnic-direct.so, which is the device inside the program (direct_device.h). The
 * library is loaded where RNIC_DIRECT asks for it, and stays.
 */
#ifndef LIB_CLIENT_NATIVE_DIRECT_LIBRARY_H
#define LIB_CLIENT_NATIVE_DIRECT_LIBRARY_H

#include <stdbool.h>

struct rnic_direct_device;

/*
 * Whether the environment asks for the device inside the program, RNIC_DIRECT=1, and this build has
 * it (-DRNIC_DIRECT=ON).
 */
bool rnic_direct_is_wanted(void);

/*
 * Loads the library that lies beside the caller's own, one folder above, or in the folder `rnic`
 * there. -ENOENT: there is none that can be loaded; -ENOEXEC: it is of another build.
 */
int rnic_direct_find(const struct rnic_direct_device **calls);

/*
 * Says on standard error why the device does not run inside this program. The program itself only
 * finds no device. `reason` is the control plane's sentence; where it is empty, `error` is told.
 */
void rnic_direct_complain(int error, const char *reason);

#endif
