/* SPDX-License-Identifier: MIT */
/*
 * The responder's execution of a request whose checks all passed: bytes go into memory, receive
 * WQEs are taken and completed, READs and atomics take responder resources until they are answered.
 *
 * Invariant: only the attempt finds what is refused here (memory that is gone); the client hears
 * nothing of such a message.
 */
#ifndef LIB_NIC_ENGINE_RESPONDER_RESPONDER_EXECUTE_H
#define LIB_NIC_ENGINE_RESPONDER_RESPONDER_EXECUTE_H

#include "lib/nic/engine/verdict.h"

#include <stdint.h>

struct request;

/* VERDICT_PASS, also when an earlier failure brought the QP into ERR meanwhile; or what failed. */
enum verdict responder_execute(struct request *request);

/*
 * Puts `length` bytes of the request's packet behind the first `skip` bytes of the receive WQE
 * under way, which has room for them. `bytes` stays good until engine->writes is flushed.
 */
enum verdict responder_scatter(struct request *request, uint32_t skip, const uint8_t *bytes,
			       uint32_t length);

#endif
