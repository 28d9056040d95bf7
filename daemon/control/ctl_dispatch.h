/* SPDX-License-Identifier: MIT */
/*
 * From a control request to the handler of its operation. Everything about a request that does not
 * need the operation's meaning (length, descriptors, order, who may ask) is checked here, by one
 * table, so that a handler finds a payload of the right size and can use it as its struct.
 */
#ifndef DAEMON_CONTROL_CTL_DISPATCH_H
#define DAEMON_CONTROL_CTL_DISPATCH_H

#include "common/ctl_call.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Carries out `call`, whose request is `received` bytes as they came, and makes its reply. One for
 * which too little is left waits until the clients that ended before it have been freed: a program
 * that is started again must not be refused for what it had itself. 0: send
 * the reply, which may be a refusal. -EINPROGRESS: the same call in a later turn goes on with it,
 * without its descriptors. -EPROTO: the client does not speak our protocol, and was broken.
 * Descriptors of the request that are left are the caller's to close.
 */
int ctl_dispatch(struct ctl_call *call, size_t received);

/* Bytes of the payload of a request for `operation`, which is below RNIC_CTL_OPERATION_COUNT. */
uint32_t ctl_request_bytes(uint16_t operation);

#endif
