/* SPDX-License-Identifier: MIT */
/*
 * What a service manager such as systemd hands to a daemon that it starts, and wants to hear: the
 * protocols of sd_listen_fds(3) and sd_notify(3), which are two variables of the environment each.
 * Both functions take their variables out of the environment, so that no child process believes
 * that the variables are for itself. Call them while the process has one thread.
 */
#ifndef DAEMON_CONTROL_MAIN_SERVICE_MANAGER_H
#define DAEMON_CONTROL_MAIN_SERVICE_MANAGER_H

/*
 * Stores the listening socket that the service manager opened for this process, or -1 when there is
 * none. The descriptor is the caller's, who checks what it is. -EINVAL: there is more than one
 * socket, or the variables are no numbers.
 */
int service_manager_take_socket(int *fd);

/*
 * Tells the service manager, if it wants to know, that the daemon serves. Negative errno: it cannot
 * be told.
 */
int service_manager_tell_ready(void);

#endif
