/* SPDX-License-Identifier: MIT */
/*
 * A device without objects, for tests of the turns that threads take: each turn leaves the
 * next deadline, and may do what the test says.
 */
#ifndef TESTS_UNIT_DAEMON_DEVICE_HOST_PROGRAM_FAKE_DEVICE_H
#define TESTS_UNIT_DAEMON_DEVICE_HOST_PROGRAM_FAKE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct fake_device {
	uint64_t next_deadline_ns;  /* UINT64_MAX: none */
	uint64_t later_deadline_ns; /* what a turn leaves there; 0: as it is */
	uint32_t arrivals;	    /* of datagrams, in each turn */
	uint32_t received;
	uint32_t turns; /* that look for arrivals */
	uint32_t turns_to_send;
	uint32_t farewells;
	uint64_t stats_due_ns; /* 0: the statistics page is fresh */
	uint32_t stats_refreshes;
	bool has_work;	       /* left by each turn */
	void (*in_turn)(void); /* what happens during a turn; NULL: nothing */
};

extern struct fake_device fake_device;

#endif
