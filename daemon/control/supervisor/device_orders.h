/* SPDX-License-Identifier: MIT */
/* Gives device processes orders, which rnicctl wants carried out, and gets their answers. */
#ifndef DAEMON_CONTROL_SUPERVISOR_DEVICE_ORDERS_H
#define DAEMON_CONTROL_SUPERVISOR_DEVICE_ORDERS_H

#include "proto/ctl/process_message.h"

#include <stdint.h>

struct device_child;

/*
 * Gives the process an order, whose request_id this function chooses and stores at `request_id`; 0
 * there before the first call. -EINPROGRESS: call again when device_set_take_news() says so. 0, or
 * the negative errno of the answer with its sentence in `reason`. -ETIMEDOUT: the process does not
 * answer, -ENODEV: it has ended; both without a sentence.
 */
int device_orders_give(struct device_child *process, const struct rnic_process_order *order,
		       uint32_t *request_id, char reason[RNIC_CTL_TEXT_BYTES]);

#endif
