/* SPDX-License-Identifier: MIT */
/*
 * The counters of a stack of ports (port_stack.h) by number, with the names that listings show. All
 * stacks have the same counters, so that those of several processes add up by name.
 */
#ifndef LIB_NIC_PATH_STACK_COUNTERS_H
#define LIB_NIC_PATH_STACK_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct port_stack;

#define STACK_COUNTER_COUNT 12

/* Reads the counter numbered `index` of the stack's ports; `name` is static. False: no more. */
bool stack_counter_read(const struct port_stack *stack, uint32_t index, const char **name,
			uint64_t *value);

/*
 * The same for the counters of a port that the IBTA defines (IBTA 1.4, 16.1.3.5). `errors` are the
 * datagrams that the owner of the stack found damaged.
 */
bool stack_counter_read_port(const struct port_stack *stack, uint64_t errors, uint32_t index,
			     const char **name, uint64_t *value);

/* The number of datagrams that were lost because rules held too many back. */
uint64_t stack_lost_by_faults(const struct port_stack *stack);

/* Whether a rule is loaded. */
bool stack_counter_has_rules(const struct port_stack *stack);

/*
 * Stores the id of the rule in `slot` and the packets on which the rule acted; an id of 0: the slot
 * is empty.
 */
void stack_rule_read(const struct port_stack *stack, uint32_t slot, uint32_t *id, uint64_t *hits);

#endif
