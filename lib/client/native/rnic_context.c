/* SPDX-License-Identifier: MIT */
#include "lib/client/native/direct_library.h"
#include "lib/client/native/explain_hook.h"
#include "lib/client/native/fork_list.h"
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"
#include "proto/ctl/direct_device.h"
#include "proto/shm/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.11; older headers lack the constant. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/*
 * All contexts of the process, so that a child of fork() can close its copies of the parent's
 * connections: with a copy left open, the daemon would not see the parent die.
 */
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_context *contexts;

/* Devices inside this program have a lock, a thread and descriptors of their own. */
static void contexts_tell_devices(enum rnic_direct_fork phase)
{
	for (struct rnic_context *context = contexts; context != NULL; context = context->next)
		if (context->direct != NULL)
			context->direct_calls->fork(context->direct, phase);
}

static void contexts_before_fork(void)
{
	pthread_mutex_lock(&contexts_lock);
	contexts_tell_devices(RNIC_DIRECT_BEFORE_FORK);
}

static void contexts_after_fork_in_parent(void)
{
	contexts_tell_devices(RNIC_DIRECT_IN_PARENT);
	pthread_mutex_unlock(&contexts_lock);
}

/*
 * A thread that held a lock did not survive into the child, so nobody would ever release the lock.
 */
static void forget_locks(struct rnic_context *context)
{
	pthread_mutex_init(&context->objects_lock, NULL);
	pthread_cond_init(&context->acknowledged, NULL);
	rnic_spinlock_init(&context->doorbell_lock);
	if (context->rules != NULL)
		rnic_spinlock_init(&context->rules->lock);
	for (size_t slot = 0; slot < RNIC_SESSION_CQS_MAX; slot++)
		if (context->cqs[slot] != NULL)
			rnic_spinlock_init(&context->cqs[slot]->lock);
	for (size_t slot = 0; slot < RNIC_SESSION_QPS_MAX; slot++) {
		if (context->qps[slot] == NULL)
			continue;
		rnic_spinlock_init(&context->qps[slot]->send.lock);
		rnic_spinlock_init(&context->qps[slot]->recv.lock);
	}
	for (size_t slot = 0; slot < RNIC_SESSION_SRQS_MAX; slot++)
		if (context->srqs[slot] != NULL)
			rnic_spinlock_init(&context->srqs[slot]->recv.lock);
}

static void contexts_after_fork_in_child(void)
{
	contexts_tell_devices(RNIC_DIRECT_IN_CHILD);
	for (struct rnic_context *context = contexts; context != NULL; context = context->next) {
		rnic_link_forked(&context->control);
		rnic_link_forked(&context->device);
		context->device.serve = NULL;
		context->direct = NULL;
		if (context->memory_fd >= 0)
			close(context->memory_fd);
		context->memory_fd = -1;
		forget_locks(context);
	}
	contexts = NULL;
	pthread_mutex_unlock(&contexts_lock);
}

static struct rnic_fork_entry contexts_fork_entry = {
	.before = contexts_before_fork,
	.in_parent = contexts_after_fork_in_parent,
	.in_child = contexts_after_fork_in_child,
};

/* The peer of a program that exits still waits for the acknowledgement of the last message. */
static void __attribute__((destructor)) contexts_end_waits(void)
{
	if (pthread_mutex_trylock(&contexts_lock) != 0)
		return;
	for (struct rnic_context *context = contexts; context != NULL; context = context->next)
		if (context->direct != NULL)
			context->direct_calls->end_waits(context->direct);
	pthread_mutex_unlock(&contexts_lock);
}

static void contexts_add(struct rnic_context *context)
{
	pthread_mutex_lock(&contexts_lock);
	context->next = contexts;
	contexts = context;
	pthread_mutex_unlock(&contexts_lock);
}

static void contexts_remove(const struct rnic_context *context)
{
	pthread_mutex_lock(&contexts_lock);
	for (struct rnic_context **link = &contexts; *link != NULL; link = &(*link)->next) {
		if (*link == context) {
			*link = context->next;
			break;
		}
	}
	pthread_mutex_unlock(&contexts_lock);
}

/* Introduces the process. `call` says where the descriptor of the reply goes, if there is one. */
static int hello(struct rnic_link *control, uint32_t flags, struct rnic_call call,
		 struct rnic_device_attributes *attributes, struct rnic_ctl_hello_reply *reply)
{
	struct rnic_ctl_hello request = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = flags,
	};
	int error;

	call.operation = RNIC_CTL_HELLO;
	call.request = &request;
	call.request_bytes = sizeof(request);
	call.request_fd = -1;
	call.reply = reply;
	call.reply_bytes = sizeof(*reply);
	snprintf(request.program, sizeof(request.program), "%s", program_invocation_short_name);
	error = rnic_link_call(control, &call);
	if (error != 0)
		return error;
	*attributes = reply->device;
	attributes->name[sizeof(attributes->name) - 1] = 0;
	attributes->netdev[sizeof(attributes->netdev) - 1] = 0;
	attributes->firmware[sizeof(attributes->firmware) - 1] = 0;
	return 0;
}

int rnic_query_device_at(const char *socket_path, struct rnic_device_attributes *attributes)
{
	RNIC_REFUSE_NULL(attributes);
	const struct rnic_call no_descriptor = {0};
	struct rnic_ctl_hello_reply reply;
	struct rnic_link link;
	int error;

	rnic_link_init(&link);
	error = rnic_link_open(&link, socket_path);
	if (error == 0)
		error = hello(&link, RNIC_HELLO_ADMIN, no_descriptor, attributes, &reply);
	rnic_link_close(&link);
	rnic_link_fini(&link);
	return error;
}

static int open_memory(void)
{
	return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

/*
 * The device reads it without end. A copy that stays anywhere else would make this process wait for
 * ever in munmap(2) after the device has ended.
 */
static int open_watch(void)
{
	return (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A child of fork() must not keep a way to its parent's memory. */
static void context_open_memory(struct rnic_context *context, int (*open_one)(void))
{
	pthread_mutex_lock(&contexts_lock);
	context->memory_fd = open_one();
	pthread_mutex_unlock(&contexts_lock);
}

static void context_close_memory(struct rnic_context *context)
{
	pthread_mutex_lock(&contexts_lock);
	if (context->memory_fd >= 0)
		close(context->memory_fd);
	context->memory_fd = -1;
	pthread_mutex_unlock(&contexts_lock);
}

/*
 * Opens the device. The process's memory travels as a descriptor, which needs no right to trace the
 * process; where the file cannot be opened the daemon tries process_vm_readv(2).
 */
static int open_device(struct rnic_context *context, int fds[4])
{
	struct rnic_ctl_open_device request = {0};
	struct rnic_ctl_open_device_reply reply;
	struct rnic_call call = RNIC_CALL(RNIC_CTL_OPEN_DEVICE, request, reply);
	int error;

	context_open_memory(context, open_memory);
	if (context->memory_fd >= 0)
		request.flags = RNIC_OPEN_MEMORY_FD;
	call.request_fd = context->memory_fd;
	call.reply_fds = fds;
	call.reply_fd_count = 4;
	error = rnic_link_call(&context->device, &call);
	context_close_memory(context);
	return error;
}

void rnic_context_watch_memory(struct rnic_context *context)
{
	const char *wanted = secure_getenv("RNIC_WATCH");
	struct rnic_ctl_watch_memory request = {.watch = RNIC_WATCH_ON};
	struct rnic_call call = {
		.operation = RNIC_CTL_WATCH_MEMORY,
		.request = &request,
		.request_bytes = sizeof(request),
		.request_fd = -1,
	};

	if (context->has_watch)
		return;
	context->has_watch = true;
	if (wanted != NULL && strcmp(wanted, "off") == 0)
		request.watch = RNIC_WATCH_OFF;
	else if (context->direct == NULL)
		context_open_memory(context, open_watch);
	call.request_fd = context->memory_fd;
	request.has_descriptor = context->memory_fd >= 0;
	if (request.watch == RNIC_WATCH_ON && context->direct == NULL && context->memory_fd < 0)
		request.watch = RNIC_WATCH_REFUSED;
	/* A refusal is no error: the device goes on without a watch. */
	rnic_link_call(&context->device, &call);
	context_close_memory(context);
}

/* The answer to HELLO brings the device connection. */
static int introduce_shared(struct rnic_context *context, struct rnic_ctl_hello_reply *reply)
{
	const struct rnic_call call = {.reply_link = &context->device, .reply_fd_count = 1};
	int error = hello(&context->control, 0, call, &context->attributes, reply);

	if (error == 0)
		rnic_link_adopt(&context->device, &context->control);
	return error;
}

static void serve_own_device(void *argument)
{
	const struct rnic_context *context = argument;

	context->direct_calls->serve(context->direct);
}

/*
 * Makes the device inside this program, which takes the process link that lies in
 * `context->device`. A fork() finds the descriptor there or in the device.
 */
static int create_own_device(struct rnic_context *context, uint32_t client_id)
{
	struct rnic_direct *direct;

	pthread_mutex_lock(&contexts_lock);
	direct = context->direct_calls->create(atomic_load(&context->device.fd), client_id);
	if (direct != NULL)
		atomic_store(&context->device.fd, -1);
	context->direct = direct;
	pthread_mutex_unlock(&contexts_lock);
	return direct != NULL ? 0 : -ENOMEM;
}

/* The answer to HELLO brings the process link of the device inside this program. */
static int introduce_direct(struct rnic_context *context, struct rnic_ctl_hello_reply *reply)
{
	const struct rnic_call call = {.reply_link = &context->device, .reply_fd_count = 1};
	int error = rnic_direct_find(&context->direct_calls);
	const bool is_found = error == 0;

	if (error == 0)
		error = hello(&context->control, RNIC_HELLO_DIRECT, call, &context->attributes,
			      reply);
	if (error == 0)
		error = create_own_device(context, reply->client_id);
	if (error == 0)
		error = context->direct_calls->open(context->direct, &context->device.fd);
	if (error != 0) {
		rnic_direct_complain(error, is_found ? rnic_refusal_reason() : "");
		return error;
	}
	context->device.serve = serve_own_device;
	context->device.serve_context = context;
	rnic_link_adopt(&context->device, &context->control);
	return 0;
}

/*
 * Learns the rules for calls and completions. A program that cannot, for want of descriptors or
 * memory, goes on without them.
 */
static void context_learn_rules(struct rnic_context *context)
{
	struct rnic_ctl_verb_rules_reply reply;
	struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_VERB_RULES, reply);
	int fds[2];

	call.reply_fds = fds;
	call.reply_fd_count = 2;
	if (rnic_link_call(&context->control, &call) != 0)
		return;
	context->rules = verb_rules_create(fds, reply.pid, reply.program);
	close(fds[0]);
	close(fds[1]);
	context->control.rules = context->rules;
	context->device.rules = context->rules;
}

/* Makes the process a client. */
static int introduce(struct rnic_context *context, int fds[4])
{
	struct rnic_ctl_hello_reply reply;
	int error = rnic_direct_is_wanted() ? introduce_direct(context, &reply)
					    : introduce_shared(context, &reply);

	if (error == 0)
		error = open_device(context, fds);
	if (error == 0 && (reply.features & RNIC_FEATURE_VERB_RULES) != 0)
		context_learn_rules(context);
	return error;
}

/*
 * Closes both connections. The control plane frees the numbers of a device inside this program when
 * that device has closed all that it has. The device itself stays as long as the context: threads
 * may be in calls of it.
 */
static void close_links(struct rnic_context *context)
{
	rnic_link_close(&context->device);
	if (context->direct != NULL)
		context->direct_calls->close(context->direct);
	rnic_link_close(&context->control);
}

static bool tables_allocate(struct rnic_context *context)
{
	context->qps = calloc(RNIC_SESSION_QPS_MAX, sizeof(struct rnic_qp *));
	context->cqs = calloc(RNIC_SESSION_CQS_MAX, sizeof(struct rnic_cq *));
	context->srqs = calloc(RNIC_SESSION_SRQS_MAX, sizeof(struct rnic_srq *));
	return context->qps != NULL && context->cqs != NULL && context->srqs != NULL;
}

static void tables_free(struct rnic_context *context)
{
	free(context->srqs);
	free(context->cqs);
	free(context->qps);
}

static void context_free(struct rnic_context *context)
{
	if (context->direct != NULL)
		context->direct_calls->destroy(context->direct);
	rnic_blocks_release(context);
	rnic_region_unmap(context->session, sizeof(*context->session));
	rnic_region_unmap(context->status, sizeof(*context->status));
	if (context->doorbell_fd >= 0)
		close(context->doorbell_fd);
	if (context->async_fd >= 0)
		close(context->async_fd);
	rnic_link_fini(&context->device);
	rnic_link_fini(&context->control);
	pthread_mutex_destroy(&context->objects_lock);
	pthread_cond_destroy(&context->acknowledged);
	rnic_queue_memory_free(&context->queue_memory);
	verb_rules_destroy(context->rules);
	tables_free(context);
	free(context->cm_ids);
	free(context);
}

static int map_session(struct rnic_context *context, int session_fd, int status_fd)
{
	void *session;
	void *status;
	int error = rnic_region_map(session_fd, RNIC_REGION_SESSION, sizeof(*context->session),
				    &session);

	if (error != 0)
		return error;
	context->session = session;
	error = rnic_region_map(status_fd, RNIC_REGION_STATUS, sizeof(*context->status), &status);
	if (error != 0)
		return error;
	context->status = status;
	return 0;
}

static struct rnic_context *context_new(void)
{
	struct rnic_context *context = calloc(1, sizeof(*context));

	if (context == NULL)
		return NULL;
	if (!tables_allocate(context)) {
		tables_free(context);
		free(context);
		return NULL;
	}
	rnic_link_init(&context->control);
	rnic_link_init(&context->device);
	context->queue_memory.link = &context->device;
	context->control.fork_lock = &contexts_lock;
	context->device.fork_lock = &contexts_lock;
	atomic_init(&context->references, 1);
	context->doorbell_fd = -1;
	context->async_fd = -1;
	context->memory_fd = -1;
	rnic_spinlock_init(&context->doorbell_lock);
	pthread_mutex_init(&context->objects_lock, NULL);
	pthread_cond_init(&context->acknowledged, NULL);
	return context;
}

static int open_once(const char *socket_path, struct rnic_context **opened)
{
	struct rnic_context *context = context_new();
	int fds[4];
	int error;

	if (context == NULL)
		return -ENOMEM;
	rnic_fork_list_add(&contexts_fork_entry);
	contexts_add(context);
	error = rnic_link_open(&context->control, socket_path);
	if (error == 0)
		error = introduce(context, fds);
	if (error != 0)
		goto close_context;
	context->doorbell_fd = fds[2];
	context->async_fd = fds[3];
	error = map_session(context, fds[0], fds[1]);
	close(fds[0]);
	close(fds[1]);
	if (error != 0)
		goto close_context;
	*opened = context;
	return 0;

close_context:
	close_links(context);
	contexts_remove(context);
	context_free(context);
	return error;
}

/*
 * The daemon may hand over a device process that is about to die, and has another one for whoever
 * comes next.
 */
int rnic_open(const char *socket_path, struct rnic_context **opened)
{
	RNIC_REFUSE_NULL(opened);
	int error = open_once(socket_path, opened);

	if (error == -ENODEV && rnic_refusal_reason()[0] == '\0')
		error = open_once(socket_path, opened);
	if (error == 0)
		rnic_explain_hook_set(socket_path);
	return error;
}

void rnic_close(struct rnic_context *context)
{
	if (context == NULL)
		return;
	close_links(context);
	contexts_remove(context);
	rnic_context_release(context);
}

void rnic_context_hold(struct rnic_context *context)
{
	atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
}

void rnic_context_release(struct rnic_context *context)
{
	unsigned before = atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel);

	assert(before > 0);
	if (before == 1)
		context_free(context);
}

int rnic_own_device_result(const struct rnic_context *context, int error)
{
	if (error == -EOPNOTSUPP && context->direct != NULL)
		rnic_direct_complain(error, rnic_refusal_reason());
	return error;
}

void *rnic_object_create(struct rnic_context *context, const struct rnic_call *call, size_t bytes,
			 int *error)
{
	void *object = malloc(bytes);

	*error = object == NULL ? -ENOMEM : rnic_link_call(&context->device, call);
	if (*error != 0) {
		free(object);
		return NULL;
	}
	rnic_context_hold(context);
	return object;
}

int rnic_object_destroy(struct rnic_context *context, enum rnic_ctl_operation operation,
			struct rnic_handle handle, void *object)
{
	int error = rnic_link_call_object(&context->device, operation, handle);

	if (error != 0 && rnic_context_lost(context) == 0)
		return error;
	rnic_context_release(context);
	free(object);
	return 0;
}

const struct rnic_device_attributes *rnic_get_device_attributes(const struct rnic_context *context)
{
	return context != NULL ? &context->attributes : NULL;
}

/*
 * A full counter already wakes the daemon, so EAGAIN needs no second try. A thread that took the
 * daemon's wish to be woken must not end here: no other thread would fulfil the wish.
 */
static void wake_daemon(const struct rnic_context *context)
{
	const uint64_t one = 1;
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	while (write(context->doorbell_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_setcancelstate(cancellation, NULL);
}

static void ring_own_device(const struct rnic_context *context, bool is_awaited)
{
	const bool wakes = rnic_wake_take(&context->session->need_wakeup);

	context->direct_calls->turn(context->direct,
				    (wakes ? (unsigned)RNIC_DIRECT_POST_WAKES : 0) |
					    (is_awaited ? (unsigned)RNIC_DIRECT_POST_AWAITED : 0));
}

void rnic_context_ring(struct rnic_context *context, enum rnic_doorbell_kind kind, uint32_t slot,
		       bool is_awaited)
{
	struct rnic_session_region *session = context->session;
	uint32_t consumer = rnic_index_load(&context->status->doorbell_consumer);
	uint32_t producer;

	rnic_spinlock_lock(&context->doorbell_lock);
	producer = atomic_load_explicit(&session->doorbell_producer.value, memory_order_relaxed);
	if (producer - consumer < RNIC_DOORBELL_SLOTS) {
		atomic_store_explicit(&session->doorbells[producer % RNIC_DOORBELL_SLOTS],
				      RNIC_DOORBELL(kind, slot), memory_order_relaxed);
		rnic_index_publish(&session->doorbell_producer, producer + 1);
	} else {
		rnic_index_publish(&session->doorbells_lost,
				   rnic_index_load(&session->doorbells_lost) + 1);
	}
	rnic_spinlock_unlock(&context->doorbell_lock);
	if (context->direct != NULL)
		ring_own_device(context, is_awaited);
	else if (rnic_wake_take(&session->need_wakeup))
		wake_daemon(context);
}
