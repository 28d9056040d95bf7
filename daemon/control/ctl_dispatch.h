/* SPDX-License-Identifier: MIT */
/*
 * Passes a control request to the handler of its operation. One table checks everything that does
 * not need the operation's meaning: length, descriptors, order, and whether the client may ask. So
 * a handler finds a payload of the right size and can use the payload as its struct.
 */
#ifndef DAEMON_CONTROL_CTL_DISPATCH_H
#define DAEMON_CONTROL_CTL_DISPATCH_H

#include "common/ctl_call.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Carries out `call`, a request of `received` bytes exactly as received, and makes its reply. A
 * request that finds too few resources waits until the clients that ended before it have been
 * freed: a program that is started again must not be refused because of its own earlier objects.
 *
 * Returns 0: send the reply, which may be a refusal. -EINPROGRESS: call again with the same call in
 * a later turn, without its descriptors. -EPROTO: the client does not speak our protocol, and was
 * broken. The caller closes the descriptors of the request that are left.
 */
int ctl_dispatch(struct ctl_call *call, size_t received);

/*
 * Returns the payload bytes of a request for `operation`, which is below RNIC_CTL_OPERATION_COUNT.
 */
uint32_t ctl_request_bytes(uint16_t operation);

#endif
