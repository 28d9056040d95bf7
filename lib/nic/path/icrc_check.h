/* SPDX-License-Identifier: MIT */
/*
 * Checks the ICRC of what a port received. A port does not see the IPv4 identification, which the
 * ICRC covers; the check expects the likely one, because that costs half (icrc.h). From a sender
 * that counts its packets, only an identification that fits the count passes
 * (identification_order.h).
 */
#ifndef LIB_NIC_PATH_ICRC_CHECK_H
#define LIB_NIC_PATH_ICRC_CHECK_H

#include "lib/nic/path/identification_order.h"
#include "lib/nic/port/port.h"

#include <stdbool.h>
#include <stdint.h>

/* Senders that are counted at a time; a new one takes the place of the one with the fewest. */
#define ICRC_SUSPECTS_MAX 4

/*
 * So many wrong ones of one sender in a row are no damage on a wire, or two of a sender that is
 * silent most of the time, as one is that repeats a connection request. Then eight times as many.
 */
#define ICRC_ACCUSED_FIRST  8
#define ICRC_ACCUSED_SLOW   2
#define ICRC_ACCUSED_NS	    UINT64_C(1000000000)
#define ICRC_ACCUSED_FACTOR 8

/* A sender whose last `bad` datagrams all had a wrong ICRC. */
struct icrc_suspect {
	struct rnic_gid source;
	uint64_t bad;
	uint64_t first_ns;   /* when the first of them came */
	uint64_t accused_at; /* the next number to tell */
};

/* All zero at first. */
struct icrc_check {
	bool is_counting_up;  /* identifications of packets that came in one buffer */
	bool is_from_counter; /* the last packet: its number is none of a segmented send */
	bool has_accused;     /* `accused` waits for icrc_check_take_accused() */
	uint64_t bad;	      /* datagrams */
	uint64_t doubtful;    /* datagrams whose identification does not fit their sender */
	uint32_t suspect_count;
	struct icrc_suspect suspects[ICRC_SUSPECTS_MAX];
	struct icrc_suspect accused;
	struct identification_order order;
};

/*
 * Whether the ICRC of a received datagram is right; counts a wrong one, and a doubtful one apart,
 * which makes nobody a suspect.
 */
bool icrc_check_is_good(struct icrc_check *check, const struct datagram *datagram);

/*
 * Fetches a sender from which nothing but wrong ICRCs came: something on the way changes packets.
 * One that goes on is there again when the packets are ICRC_ACCUSED_FACTOR times as many. Anybody
 * can forge the sender. False: there is none.
 */
bool icrc_check_take_accused(struct icrc_check *check, struct icrc_suspect *accused);

#endif
