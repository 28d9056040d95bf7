/* SPDX-License-Identifier: MIT */
/*
 * The hop limit that the kernel gives to the packets of an interface. A route may have one of its
 * own, which packets get from the kernel all the same (udp_control_write()); then query_qp and
 * captures have the interface's.
 */
#ifndef DAEMON_CONTROL_NETWORK_HOP_LIMITS_H
#define DAEMON_CONTROL_NETWORK_HOP_LIMITS_H

#include <stdint.h>

/* `family` is AF_INET or AF_INET6. 64, the kernel's own default, where the kernel does not say. */
uint8_t hop_limit_read(int family, const char *netdev);

#endif
