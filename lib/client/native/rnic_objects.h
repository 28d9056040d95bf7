/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the handles of <rnic/rnic.h>.
 *
 * Every object holds a reference to its context, and the context's memory goes with the last one.
 * The mapping of a shared region belongs to the object that the region serves, and that of a region
 * of queues to the context. Library and daemon share nothing but those mappings.
 */
#ifndef LIB_CLIENT_NATIVE_RNIC_OBJECTS_H
#define LIB_CLIENT_NATIVE_RNIC_OBJECTS_H

#include "lib/client/native/daemon_link.h"
#include "lib/client/native/queues/queue_memory.h"
#include "lib/client/native/queues/region_map.h"
#include "lib/client/native/spinlock.h"
#include "lib/client/native/faults/program_rules.h"
#include "proto/shm/cqe.h"
#include "proto/shm/region.h"
#include "proto/shm/wqe.h"

#include <rnic/rnic.h>

struct rnic_cm_id;
struct rnic_direct;
struct rnic_direct_device; /* direct_device.h */

struct rnic_context {
	struct rnic_link control; /* HELLO and the connection manager */
	struct rnic_link device;  /* everything else; lost together with `control` */
	atomic_uint references;
	struct rnic_device_attributes attributes;

	struct rnic_session_region *session;
	const struct rnic_status_region *status;
	int doorbell_fd;
	int async_fd;
	int memory_fd; /* reaches this memory, while it is on its way to the device; else -1 */
	struct rnic_spinlock doorbell_lock; /* guards the client's doorbell words */

	pthread_mutex_t objects_lock; /* guards what follows and the event counts of objects */
	pthread_cond_t acknowledged;
	struct rnic_cq **cqs; /* by slot */
	struct rnic_block *blocks;
	struct rnic_queue_memory queue_memory;
	struct rnic_cm_id **cm_ids; /* by slot; NULL before the first */
	bool fatal_reported;
	bool has_watch; /* the device knows whether it can watch this memory */

	/*
	 * By slot. Written under objects_lock and the locks of both completion queues; read under
	 * the lock of the completion queue whose entry names the slot.
	 */
	struct rnic_qp **qps;
	struct rnic_srq **srqs; /* likewise, for those of XRC */

	/* Of faults, for calls and completions; NULL: the daemon has none to tell. */
	struct verb_rules *rules;

	/* The device inside the program; NULL: a device process has it. */
	const struct rnic_direct_device *direct_calls;
	struct rnic_direct *direct;

	struct rnic_context *next; /* in the list of contexts of this process */
};

/* A block of rnic_alloc(). */
struct rnic_block {
	struct rnic_block *next;
	uint8_t *memory;
	size_t bytes;
	int fd;
};

struct rnic_pd {
	struct rnic_context *context;
	struct rnic_handle handle;
};

struct rnic_mr {
	struct rnic_context *context;
	struct rnic_handle handle;
	uint32_t lkey;
	uint32_t rkey;
};

struct rnic_mw {
	struct rnic_context *context;
	struct rnic_handle handle;
	uint32_t rkey; /* the first; later ones share its upper 24 bits */
};

struct rnic_ah {
	struct rnic_context *context;
	struct rnic_handle handle;
};

/*
 * Events that the library handed out and those that came back; the object may go when the two are
 * equal.
 */
struct rnic_event_count {
	uint32_t delivered;
	uint32_t acknowledged;
};

struct rnic_channel {
	struct rnic_context *context;
	struct rnic_handle handle;
	int fd;
};

struct rnic_cq {
	struct rnic_context *context;
	struct rnic_handle handle;
	struct rnic_channel *channel;
	void *user;
	struct rnic_event_count completion_events;
	struct rnic_event_count async_events;
	uint32_t references; /* queue pairs and XRC SRQs that complete here; under objects_lock */

	struct rnic_spinlock lock; /* guards what follows */
	struct rnic_cq_control *control;
	const struct rnic_cq_region *region;
	const struct rnic_cqe *entries;
	const uint64_t *times_ns; /* NULL: without RNIC_CQ_TIMESTAMPS */
	uint32_t flags;		  /* enum rnic_cq_flag */
	uint32_t slots;
	uint32_t entry_count; /* as granted */
	uint32_t consumer;
	uint32_t empty_polls; /* since the last entry */

	/* Of poll_rules.h. */
	bool is_overtaken; /* the second entry was taken before the first */
	bool is_judged;	   /* the first entry comes at due_ns */
	uint64_t due_ns;
};

/* The producing half of a work queue. */
struct rnic_work_queue {
	struct rnic_spinlock lock; /* guards all but the counts of entries given back */
	_Atomic uint32_t *shared_producer;
	uint8_t *entries;
	uint8_t *spill;
	uint32_t spill_stride_bytes;
	uint32_t mask;
	uint32_t depth;
	uint32_t max_sge;
	uint32_t producer;
	atomic_uint retired; /* entries ever given back; who polls advances it */
	const struct rnic_shared_index *consumer; /* of an SRQ: that count; NULL: `retired` is */
};

/* An XRC domain. */
struct rnic_xrcd {
	struct rnic_context *context;
	struct rnic_handle handle;
};

struct rnic_srq {
	struct rnic_context *context;
	struct rnic_cq *cq; /* of XRC; else NULL */
	struct rnic_handle handle;
	uint32_t number;
	struct rnic_work_queue recv;
	struct rnic_srq_region *region;
	uint64_t region_bytes;
	void *user;
	struct rnic_event_count async_events;
};

struct rnic_qp {
	struct rnic_context *context;
	struct rnic_handle handle;
	uint32_t qpn;
	enum rnic_qp_type type;
	atomic_uint state; /* enum rnic_qp_state, as far as this spill knows */
	struct rnic_work_queue send;
	struct rnic_work_queue recv;
	uint32_t max_inline_bytes;
	struct rnic_queue_places places;
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	struct rnic_srq *srq;	/* NULL: receives are posted to `recv` */
	struct rnic_xrcd *xrcd; /* of an XRC target; else NULL */
	void *user;
	struct rnic_event_count async_events;
};

/* Makes an empty queue, which lies nowhere yet. */
void rnic_work_queue_init(struct rnic_work_queue *queue, uint32_t max_sge);

/*
 * Says where the queue of `plan` lies, when all entries and all spill areas begin at these
 * addresses, and which word is its index. Under its lock.
 */
void rnic_work_queue_place(struct rnic_work_queue *queue, const struct rnic_queue_plan *plan,
			   uint8_t *entries, uint8_t *spill, _Atomic uint32_t *producer,
			   uint32_t depth);

/*
 * 0 while both connections are alive, else a negative errno. The loss of the one link loses the
 * other one a moment later, so both are looked at.
 */
static inline int rnic_context_lost(const struct rnic_context *context)
{
	const int lost = rnic_link_lost(&context->device);

	return lost != 0 ? lost : rnic_link_lost(&context->control);
}

/*
 * Returns `error`. Where the device inside the program refuses what a device process would do, it
 * says why on standard error: few programs print more than the errno, and the one who set
 * RNIC_DIRECT must learn that this is the cause.
 */
int rnic_own_device_result(const struct rnic_context *context, int error);

/* The calling thread's next polls that find nothing return at once, as its first did. */
void rnic_poll_begin_anew(void);

/* References of objects to their context. */
void rnic_context_hold(struct rnic_context *context);
void rnic_context_release(struct rnic_context *context);

/*
 * Before the first region of this process's own memory: lets the device learn what the program
 * unmaps and moves, where kernel and user permit. Under objects_lock.
 */
void rnic_context_watch_memory(struct rnic_context *context);

/*
 * Makes the call that creates an object. The object has `bytes` on this spill, and a reference to
 * the context; the caller fills it in. NULL: -ENOMEM, or the error of the call.
 */
void *rnic_object_create(struct rnic_context *context, const struct rnic_call *call, size_t bytes,
			 int *error);

/*
 * Ends the object at the daemon, unless the daemon is gone, and then on this spill. Or returns the
 * daemon's refusal.
 */
int rnic_object_destroy(struct rnic_context *context, enum rnic_ctl_operation operation,
			struct rnic_handle handle, void *object);

/* Makes a request that the daemon answers with a protection domain, and the domain's object. */
int rnic_obtain_pd(struct rnic_context *context, enum rnic_ctl_operation operation,
		   const void *request, size_t request_bytes, struct rnic_pd **obtained);

/*
 * Tells the daemon that the queue of `kind` and `slot` has new entries, and wakes it. `is_awaited`:
 * the caller may sleep next.
 */
void rnic_context_ring(struct rnic_context *context, enum rnic_doorbell_kind kind, uint32_t slot,
		       bool is_awaited);

/* Finds the block of rnic_alloc() that holds the whole range, or NULL. Under objects_lock. */
const struct rnic_block *rnic_block_find(const struct rnic_context *context, const void *address,
					 size_t length);
void rnic_blocks_release(struct rnic_context *context);

/*
 * Takes one record from a pipe of events. The daemon writes whole records and pipes keep them
 * whole. -EPIPE: the daemon's end is closed. -EIO: no whole record. Or an errno of read(2).
 */
int rnic_event_record_take(int fd, struct rnic_event_record *record);

/* A source of events ended (-EPIPE) or broke (-EIO): the context is lost. Returns its errno. */
int rnic_events_lost(struct rnic_context *context, int error);

/*
 * Waits under objects_lock until all events handed out came back. A thread that is cancelled here
 * gives up the lock, and the object stays: its events may still come back.
 */
void rnic_event_count_wait(struct rnic_context *context, const struct rnic_event_count *count);

#endif
