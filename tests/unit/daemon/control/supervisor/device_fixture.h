/* SPDX-License-Identifier: MIT */
/*
 * A device set over a host of the test. Its device processes are children that do nothing; the test
 * holds their ends of the links and speaks for them.
 */
#ifndef TESTS_UNIT_DAEMON_CONTROL_SUPERVISOR_DEVICE_FIXTURE_H
#define TESTS_UNIT_DAEMON_CONTROL_SUPERVISOR_DEVICE_FIXTURE_H

#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/link/process_link.h"

#define FIXTURE_UID	 1000u
#define FIXTURE_SECOND	 UINT64_C(1000000000)
#define FIXTURE_LAUNCHES 8

/* For the budgets of processes. */
#define FIXTURE_MEMORY_BYTES (UINT64_C(1) << 34)
#define FIXTURE_PROCESSES    100

struct device_fixture {
	struct device_set set;
	struct device_set_host host;
	struct device_facts facts;
	uint64_t now_ns;
	/* Of the launched processes, the latest first. The test closes the ends of the links. */
	int link_fds[FIXTURE_LAUNCHES];
	pid_t pids[FIXTURE_LAUNCHES];
	uint32_t launch_count;
	bool has_no_pid_fds;		 /* of the next launches */
	bool is_undying;		 /* of the next launches: see fixture_let_die() */
	pid_t keepers[FIXTURE_LAUNCHES]; /* by launch; 0: of a process that may die */
	int death_fds[FIXTURE_LAUNCHES]; /* of those that cannot be killed: tell the end */
	int launch_error;		 /* of the next launches */
	int lane_error;			 /* of take_lane */
	int sockets_error;		 /* of open_sockets */
	int group_error;		 /* of open_group */
	uint32_t lanes_taken, lanes_given_back;
	uint32_t packet_count, trouble_count, gone_count;
	uint32_t gone_client_id; /* the last */
	struct rnic_process_packet packet;
	struct rnic_process_trouble trouble;
	struct process_receipt receipt; /* the last that fixture_expect() received */
};

/* The fixture of the running test: the launcher has no context. */
extern struct device_fixture *fixture;

/* For cmocka_unit_test_setup_teardown(). The daemon is root's; there is one GID, in slot 1. */
int device_fixture_open(void **state);
int device_fixture_close(void **state);

/* A GID that no address is needed for. */
struct rnic_gid fixture_gid_of(uint8_t number);

/* Runs a turn `after_ns` later. */
void fixture_turn(uint64_t after_ns);

/* Runs turns until the process is in `state`. */
void fixture_await(const struct device_child *process, enum device_child_state state);

/* Acquires the process of FIXTURE_UID. */
struct device_child *fixture_acquire(void);

/* Acquires the process, answers READY and takes GIDs and FACTS. */
struct device_child *fixture_serve(uid_t uid);

/*
 * Lets the undying process of a launch (counted from 0) end. Until then no signal changes it, its
 * PID descriptor is silent, and it cannot be reaped: as if it hung in the kernel.
 */
void fixture_let_die(uint32_t launch);

/* Receives the next message of the latest process, which must be an `operation`. */
void *fixture_expect(uint16_t operation);

/* Sends a message as the latest process. */
void fixture_say(uint16_t operation, const void *payload, size_t bytes);

/* Answers READY with `status`. */
void fixture_say_ready(int32_t status, const char *reason);

/* Waits until the threads have closed the links of all ended processes. */
void fixture_await_closes(void);

unsigned fixture_open_fds(void);

#endif
