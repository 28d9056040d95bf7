/* SPDX-License-Identifier: MIT */
/*
 * The descriptors of a device process at its start: 0 to 2 as inherited, the process link, and
 * nothing else. Whatever else the parent process forgot to close is closed here, so that no
 * descriptor of the control plane or of another user lives on in this process.
 */
#ifndef DAEMON_DEVICE_HOST_PROCESS_OWN_DESCRIPTORS_H
#define DAEMON_DEVICE_HOST_PROCESS_OWN_DESCRIPTORS_H

/*
 * Opens /dev/null in the place of a missing descriptor below the link, and closes all descriptors
 * above the link. Makes the link non-blocking and close-on-exec. Returns 0, or a negative errno:
 * -ENOTSOCK when the link is no SOCK_SEQPACKET socket of the local family.
 */
int own_descriptors_check(void);

#endif
