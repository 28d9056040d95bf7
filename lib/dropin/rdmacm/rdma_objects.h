/* SPDX-License-Identifier: MIT */
/*
 * The objects behind the handles of <rdma/rdma_cma.h>: an identifier of librdmacm is an identifier
 * of the native connection manager (<rnic/rnic_cm.h>) and, once an address of the device is chosen,
 * a context of libibverbs to make the queue pair with.
 *
 * The first member of each object is the public struct, which the application reads and partly
 * writes. All functions of the interface return 0, or -1 with errno (or NULL with errno).
 */
#ifndef LIB_DROPIN_RDMACM_RDMA_OBJECTS_H
#define LIB_DROPIN_RDMACM_RDMA_OBJECTS_H

#include "lib/dropin/rdmacm/rdma_interface.h"
#include "lib/dropin/verbs/ibv_native.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define RNIC_CMA_DEVICES_MAX 32
#define RNIC_CMA_OPTIONS_MAX 8 /* above the largest enum rnic_cm_option */

/*
 * A device as this process uses it for connections: a context of libibverbs, with the objects that
 * librdmacm makes in it by default. Identifiers and queue pairs share the context's session with
 * the daemon. The first channel opens the devices. Contexts stay open to the end of the process,
 * because programs keep using objects of a context after its identifier is gone.
 */
struct rnic_cma_device {
	struct ibv_context *verbs;
	struct rnic_context *native; /* of that context */
	struct ibv_device_attr attributes;
	pthread_mutex_t lock; /* guards what follows */
	struct ibv_pd *pd;    /* NULL before it is first needed */
	struct ibv_xrcd *xrcd;
};

struct rnic_cma_source; /* rdma_sources.h */

/*
 * A channel lives as long as the program has it, an identifier reports there, or a thread waits
 * there for an event. A program may destroy it while there are identifiers and threads.
 */
struct rnic_cma_channel {
	struct rdma_event_channel public;
	atomic_uint references;
	atomic_bool is_destroyed; /* by the program */
	pid_t owner;		  /* the process that made it, which a child of fork() is not */
	struct rnic_cma_source *sources; /* one for each device */
	uint32_t source_count;
	atomic_uint next_source; /* to look at first */
	atomic_bool has_waited;	 /* of several sources: a thread slept, so it does not poll */
	pthread_mutex_t lock;	 /* guards what follows, and the identifiers' part of it */
	pthread_cond_t changed;	 /* a request was adopted, or a removal acknowledged */
	struct rnic_cma_id *ids; /* that report here */
};

struct rnic_cma_multicast {
	struct rnic_cma_multicast *next;
	void *context; /* the application's, of the join */
	union ibv_gid group;
	bool is_send_only;
	bool is_attached; /* the identifier's queue pair receives it */
};

/* An identifier on a device. */
struct rnic_cma_place {
	struct rnic_cma_place *next;
	struct rnic_cma_device *device;
	struct rnic_cm_id *native;
};

struct rnic_cma_id {
	struct rdma_cm_id public;
	/* Where it is; the channel's lock guards this against the thread that takes events. */
	struct rnic_cma_device *device;	  /* NULL: nowhere yet */
	struct rnic_cm_id *native;	  /* likewise */
	struct rnic_cma_place *elsewhere; /* with any address: also on the other devices */
	struct rnic_cma_place *ended;	  /* where it was, while events are not acknowledged */
	bool is_bound;
	bool is_placed; /* where its address, or its peer's, puts it; under the channel's lock */
	struct {
		bool is_set;
		uint32_t value;
	} options[RNIC_CMA_OPTIONS_MAX];
	struct rnic_cma_id *next; /* of the channel's */
	bool is_synchronous;	  /* made without a channel: its calls wait for what they begin */
	bool closes_at_once;	  /* of an rsocket: its program need not answer the peer's end */
	bool has_failed;	  /* refused or unreachable: it will not be told of a disconnect */
	bool is_removal_told;	  /* of the loss of the daemon; under the channel's lock */
	bool is_removal_open;	  /* and it has not acknowledged that yet; under the same lock */
	atomic_bool has_flushed;  /* its queue pair was sent to ERR */
	bool owns_cqs;
	bool owns_srq_cqs;
	uint8_t initiator_depth; /* what this side agreed to */
	uint8_t responder_resources;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece;
	struct ibv_sa_path_rec path_record;
	pthread_mutex_t groups_lock; /* guards what follows, and which queue pair is attached */
	struct rnic_cma_multicast *groups;

	/* rdma_create_ep() for rdma_get_request(): what to make of each request. */
	bool has_template;
	struct ibv_qp_init_attr template;
	/* rdma_create_ep() for rdma_connect(): private data of the address information. */
	void *connect_data;
	size_t connect_bytes;
};

struct rnic_cma_event {
	struct rdma_cm_event public;
	struct rnic_cm_event native;
	bool is_native; /* it came from the daemon, and is to be acknowledged */
};

static inline struct rnic_cma_id *rnic_cma_id(struct rdma_cm_id *id)
{
	return (struct rnic_cma_id *)id;
}

static inline struct rnic_cma_channel *rnic_cma_channel(struct rdma_event_channel *channel)
{
	return (struct rnic_cma_channel *)channel;
}

/* Negative errno to -1 with errno set; 0 stays 0. */
int rnic_cma_result(int error);

/* Whether the error of a call says that the device is lost: its daemon ended, or hangs. */
static inline bool rnic_cma_is_loss(int error)
{
	return error == -ENODEV || error == -EIO || error == -ETIMEDOUT;
}

/* ---- rdma_devices.c ---- */

/*
 * The process's devices that are alive, in the order of the list of devices. Opens those that are
 * new, or that came back after their daemon or a fork() took them away. -ENODEV: there is none.
 */
int rnic_cma_devices_get(struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX], uint32_t *count);

/* The protection domain and the XRC domain for applications that name none. NULL, errno. */
struct ibv_pd *rnic_cma_device_pd(struct rnic_cma_device *device);
struct ibv_xrcd *rnic_cma_device_xrcd(struct rnic_cma_device *device);

/* ---- rdma_channel.c ---- */

/*
 * Puts the identifier on its channel's list; takes it off once it has no removal to acknowledge,
 * after which the channel may be gone.
 */
void rnic_cma_channel_enter(struct rnic_cma_id *id);
void rnic_cma_channel_leave(struct rnic_cma_id *id);

/*
 * A channel's memory stays until it was released as often as held. rnic_cma_channel_release() takes
 * a struct rnic_cma_channel, in the form of a clean-up of a cancelled thread.
 */
void rnic_cma_channel_hold(struct rnic_cma_channel *channel);
void rnic_cma_channel_release(void *channel);

/* ---- rdma_event.c ---- */

/*
 * For a synchronous identifier: waits for the end of the step that was begun. 0 at once for others.
 */
int rnic_cma_complete(struct rnic_cma_id *id);

/* ---- rdma_id.c ---- */

int rnic_cma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		       enum rdma_port_space port_space, enum ibv_qp_type qp_type);

/* The identifier of a request that came to `listener` by a device, for `channel`. -ENOMEM. */
int rnic_cma_adopt_request(struct rnic_cma_id *listener, struct rnic_cma_channel *channel,
			   struct rnic_cma_device *device, const struct rnic_cm_event *event,
			   struct rnic_cma_id **id);

/*
 * For an identifier that does not belong to the program: a peer that ends the connection does not
 * wait for rdma_disconnect(), and the queue pair goes to ERR with the event. The same for
 * identifiers of its requests.
 */
void rnic_cma_close_at_once(struct rdma_cm_id *id);

/*
 * Takes over the native identifier's place (addresses, path, device), as the daemon or an event
 * tells it. -ENOMEM and others: there is no protection domain to be had.
 */
int rnic_cma_take_place(struct rnic_cma_id *id, const struct rnic_cm_endpoints *where);
int rnic_cma_take_event_place(struct rnic_cma_id *id, const struct rnic_cm_event *event);

/* ---- rdma_bind.c ---- */

/*
 * Where the channel of a new identifier hears of one device only, puts the identifier there. An
 * error of rnic_cma_is_loss(): all devices are lost. Or errors of rnic_cm_create_id().
 */
int rnic_cma_begin(struct rnic_cma_id *id);

/*
 * Binds the identifier: to the device that has the address, and any address on all devices. Errors
 * as of rnic_cm_bind().
 */
int rnic_cma_bind(struct rnic_cma_id *id, const struct rnic_endpoint *local,
		  struct rnic_cm_endpoints *where);

/*
 * Puts an identifier that is on no device yet, or on all, on the one that leads from `source`
 * (NULL: any address) to `destination`. Negative errno.
 */
int rnic_cma_choose_device(struct rnic_cma_id *id, const struct rnic_endpoint *source,
			   const struct rnic_endpoint *destination);

/* Listens on the identifier's device, or on all. Errors as of rnic_cm_listen(). */
int rnic_cma_listen(struct rnic_cma_id *id, uint32_t backlog, struct rnic_cm_endpoints *where);

/*
 * Moves the identifier with all its devices to report to `channel`. -ENODEV: the channel does not
 * hear of one of the devices. Or an errno of rnic_cm_migrate().
 */
int rnic_cma_report_to(struct rnic_cma_id *id, struct rnic_cma_channel *channel);

/* Sets an option on all devices of the identifier, and on those that it comes to later. */
int rnic_cma_set_option(struct rnic_cma_id *id, enum rnic_cm_option option, uint32_t value);

/*
 * Lets a thread that polls take an event of the identifier that is announced, before the end takes
 * the event back (rnic_cm_let_take()).
 */
void rnic_cma_let_take(struct rnic_cma_id *id);

/* Ends the identifier on all its devices. Errors as of rnic_cm_end_id(). */
int rnic_cma_end(struct rnic_cma_id *id);

/* Frees what has ended, once all events are acknowledged. */
void rnic_cma_free_natives(struct rnic_cma_id *id);

/* ---- rdma_route.c ---- */

/* The source of the channel whose device has the address. NULL: none has. */
struct rnic_cma_source *rnic_cma_owner(struct rnic_cma_channel *channel,
				       const struct rnic_endpoint *address);

/* The source of the channel whose device leads to the address. NULL: none in particular. */
struct rnic_cma_source *rnic_cma_way_to(struct rnic_cma_channel *channel,
					const struct rnic_endpoint *destination);

/* ---- rdma_groups.c ---- */

/*
 * Puts the group on the identifier's list, which owns the group from here on; takes the group off,
 * for the caller to free. False: another thread has left the group, and freed it.
 */
void rnic_cma_group_enlist(struct rnic_cma_id *id, struct rnic_cma_multicast *group);
bool rnic_cma_group_delist(struct rnic_cma_id *id, const struct rnic_cma_multicast *group);

/* Detaches the queue pair, and takes the group off for the caller to free. NULL: no such group. */
struct rnic_cma_multicast *rnic_cma_group_take(struct rnic_cma_id *id,
					       const struct rnic_gid *group);

/*
 * The daemon has joined the group: attaches the identifier's queue pair, if it has one and is to
 * receive. -EINVAL: another thread has left the group meanwhile. Or an errno of attaching.
 */
int rnic_cma_multicast_attach(struct rnic_cma_id *id, const struct rnic_gid *group);

/* The context that the application gave when it joined the group; NULL also when it has left. */
void *rnic_cma_multicast_context(struct rnic_cma_id *id, const struct rnic_gid *group);

/*
 * Takes the queue pair from the identifier and out of its groups, so that the caller can destroy
 * it.
 */
struct ibv_qp *rnic_cma_multicast_take_qp(struct rnic_cma_id *id);

/*
 * Forgets all groups. A queue pair that is still attached is the application's, which may have
 * destroyed it by itself.
 */
void rnic_cma_multicast_forget(struct rnic_cma_id *id);

/* ---- rdma_qp.c ---- */

/*
 * Brings the identifier's queue pair, if there is one, to the state of the connection. Negative
 * errno.
 */
int rnic_cma_qp_to_rts(struct rnic_cma_id *id);
void rnic_cma_qp_to_error(struct rnic_cma_id *id);

#endif
