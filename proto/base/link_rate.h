/* SPDX-License-Identifier: MIT */
/*
 * The speed of a network interface in the terms of InfiniBand: the codes of width and speed (IBTA
 * 1.4, 14.2.5.6), and the line of sysfs. Programs compare both, so that one table has both.
 */
#ifndef PROTO_BASE_LINK_RATE_H
#define PROTO_BASE_LINK_RATE_H

#include "proto/base/bits.h"

struct rnic_link_rate {
	uint32_t mbps;
	uint8_t width;
	uint8_t speed;
	const char *text; /* of ports/1/rate in sysfs */
};

/* The speed of an interface that has none, as lo: the speed that the kernel gives to a veth. */
#define RNIC_LINK_UNKNOWN_MBPS 10000

/*
 * The largest rate that is not above the speed. 2.5 Gb/s is the least that InfiniBand has a code
 * for, and what rdma_rxe says of slow interfaces. Only they get it: a program that reads the line
 * as whole numbers (atop 2.8) finds 2 Gb/s there, and no lane.
 */
static inline struct rnic_link_rate rnic_link_rate(uint32_t mbps)
{
	static const struct rnic_link_rate rates[] = {
		{400000, 2, 128, "400 Gb/sec (4X NDR)"}, {200000, 2, 64, "200 Gb/sec (4X HDR)"},
		{100000, 2, 32, "100 Gb/sec (4X EDR)"},	 {50000, 1, 64, "50 Gb/sec (1X HDR)"},
		{40000, 2, 4, "40 Gb/sec (4X QDR)"},	 {25000, 1, 32, "25 Gb/sec (1X EDR)"},
		{10000, 1, 4, "10 Gb/sec (1X QDR)"},	 {5000, 1, 2, "5 Gb/sec (1X DDR)"},
	};

	if (mbps == 0)
		mbps = RNIC_LINK_UNKNOWN_MBPS;
	for (size_t i = 0; i < RNIC_COUNT_OF(rates); i++)
		if (mbps >= rates[i].mbps)
			return rates[i];
	return (struct rnic_link_rate){2500, 1, 1, "2.5 Gb/sec (1X SDR)"};
}

#endif
