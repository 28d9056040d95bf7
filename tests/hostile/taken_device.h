/* SPDX-License-Identifier: MIT */
/*
 * The ways in which a device process that was taken over harms others, by the name of the folder in
 * which the test puts the daemon: FOLDER/bin/rnicd, FOLDER/libexec/rnicd-device.
 */
#ifndef TESTS_HOSTILE_TAKEN_DEVICE_H
#define TESTS_HOSTILE_TAKEN_DEVICE_H

/* The user whose device process is as it should be: the victim of hostile_users.sh. */
#define TAKEN_HONEST_USER 31002

#define TAKEN_PACKETS  "taken-packets"	/* hands in packets for all lanes without end */
#define TAKEN_SOCKETS  "taken-sockets"	/* keeps the sockets of addresses that are gone */
#define TAKEN_COUNTERS "taken-counters" /* has counted 2^64 - 1 of everything */
#define TAKEN_RECORDS                                                                              \
	"taken-records" /* writes nonsense as its flight recorder, and rows of others */

#endif
