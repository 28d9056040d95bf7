/* SPDX-License-Identifier: MIT */
/*
 * What contexts share that came from one ibv_open_device(): the connection to the daemon, and the
 * objects that the others can import by their handles.
 *
 * A session is known by the file behind cmd_fd, so a duplicate of the descriptor finds it too. It
 * lives as long as a context that uses it. Sessions belong to their process, since the daemon knows
 * its clients by their connections and reaches the memory of one process through each. Another
 * process that has got cmd_fd makes a session of its own that imports from this one: what its
 * programs import by handle are the exporter's objects, and its own can be imported by nobody.
 */
#ifndef LIB_VERBS_IBV_SESSION_H
#define LIB_VERBS_IBV_SESSION_H

#include "verbs/ibv_objects.h"

enum rnic_verbs_export_kind {
	RNIC_VERBS_EXPORT_PD = 1,
	RNIC_VERBS_EXPORT_MR,
	RNIC_VERBS_EXPORT_DM,
};

/*
 * Connects to the daemon. The session has one reference, the caller's; so is *cmd_fd. Errors are
 * those of rnic_open() and memfd_create().
 */
int rnic_verbs_session_open(struct rnic_verbs_device *device, struct rnic_verbs_session **session,
			    int *cmd_fd);

/*
 * Connects to the daemon for what the session of another process has, whose cmd_fd this is and
 * stays the caller's. The session has one reference, the caller's. -EOPNOTSUPP: there is no such
 * session, or no more. Or errors of rnic_open().
 */
int rnic_verbs_session_import(struct rnic_verbs_device *device, int cmd_fd,
			      struct rnic_verbs_session **session);

/* Whether the context's session is one that imports from another process. */
bool rnic_verbs_is_importer(struct ibv_context *context);

/*
 * Takes a reference to the session of `cmd_fd`. -EBADF: no descriptor. -EOPNOTSUPP: no session of
 * this process.
 */
int rnic_verbs_session_find(int cmd_fd, struct rnic_verbs_session **session);

/* Gives a reference back; the last one ends the connection. */
void rnic_verbs_session_release(struct rnic_verbs_session *session);

struct rnic_context *rnic_verbs_session_native(const struct rnic_verbs_session *session);
struct rnic_verbs_device *rnic_verbs_session_device(const struct rnic_verbs_session *session);

/*
 * Makes an object known by its handle, and the other way round. Device memory, which the daemon
 * does not know of, is given one. `key` is an MR's lkey.
 */
void rnic_verbs_export_add(struct ibv_context *context, struct rnic_verbs_export *export,
			   enum rnic_verbs_export_kind kind, uint32_t handle, uint32_t key);
void rnic_verbs_export_remove(struct ibv_context *context, struct rnic_verbs_export *export);

/* NULL: none. The caller knows that nobody destroys the object meanwhile. */
struct rnic_verbs_export *rnic_verbs_export_find(struct ibv_context *context,
						 enum rnic_verbs_export_kind kind, uint32_t handle);
struct rnic_verbs_mr *rnic_verbs_mr_of_key(struct ibv_context *context, uint32_t lkey);

/* Takes `bytes` of the device memory there is. -ENOMEM: it does not have them. */
int rnic_verbs_dm_take(struct ibv_context *context, size_t bytes);
void rnic_verbs_dm_give_back(struct ibv_context *context, size_t bytes);

#endif
