/* SPDX-License-Identifier: MIT */
/*
 * The engine's own fields. The parts of the engine share them; an owner includes engine.h and uses
 * its functions.
 */
#ifndef LIB_NIC_ENGINE_ENGINE_STATE_H
#define LIB_NIC_ENGINE_ENGINE_STATE_H

#include "lib/nic/base/key_table.h"
#include "lib/nic/base/list.h"
#include "lib/nic/base/timer_heap.h"
#include "lib/nic/base/unknown_qp.h"
#include "lib/nic/engine/verdict.h"
#include "lib/nic/engine/counters.h"
#include "lib/nic/engine/engine_config.h"
#include "lib/nic/engine/engine_limits.h"
#include "lib/nic/engine/objects/kept_state.h"
#include "lib/nic/engine/objects/mr_refusal.h"
#include "lib/nic/engine/objects/pkey.h"
#include "lib/nic/engine/objects/placement_state.h"
#include "lib/nic/engine/objects/send_rooms.h"
#include "lib/nic/engine/reliability/pace.h"
#include "lib/nic/engine/reliability/parting.h"
#include "lib/nic/mem/memory_batch.h"
#include "lib/nic/recorder/recorder.h"

struct engine {
	struct engine_config config;
	struct key_table qps;		 /* QPN -> struct qp */
	struct key_table mrs;		 /* key >> 8 -> struct mr, of regions and windows */
	struct key_table srqs;		 /* number -> struct srq */
	struct timer_heap timers;	 /* struct qp.retry */
	struct timer_heap pace_timers;	 /* struct qp.congestion */
	struct timer_heap window_timers; /* struct peer_window */
	struct list ready; /* QPs that may have a packet to send, in order of service */
	struct list delayed_acknowledgements;  /* of QPs whose ACK waits, by the end of the wait */
	struct list withheld_acknowledgements; /* likewise of those that wait for a duplicate */
	struct list windows;		       /* struct peer_window */
	uint32_t window_count;
	struct list built;	  /* QPs that engine_packets_read() is to see */
	struct list mcast_groups; /* struct mcast_group */
	uint32_t mcast_group_count;
	struct pace pace;
	struct parting parting;
	uint32_t quantum;	    /* packets that the QP at the head has sent in its turn */
	struct memory_batch writes; /* inbound payload on its way to client memory */
	struct placement placement; /* and what waits for it */
	struct send_rooms send_rooms;
	struct kept_pool kept;
	struct rnic_gid gids[RNIC_GIDS_MAX]; /* our own addresses, by GID index; zero is empty */
	uint16_t pkeys[LIMIT_PKEYS];	     /* by P_Key index; 0 is empty */
	uint8_t hop_limit_ipv4;		     /* of packets to one host; 0: the path's */
	uint8_t hop_limit_ipv6;
	uint64_t counters[COUNTER_COUNT];
	enum verdict refusal_verdict; /* of the last packet that was not taken; PASS: none since */
	struct unknown_qp unknown;
	struct mr_refusal refusal; /* the last one */
	struct recorder recorder;
	uint64_t now_ns; /* of the call under way */
};

#endif
