/* SPDX-License-Identifier: MIT */
/*
 * The part that contexts of one ibv_open_device() share: the connection to the daemon, and the
 * objects that other contexts can import by their handles.
 *
 * The file behind cmd_fd names a session, so a duplicate of the descriptor finds the session too. A
 * session lives as long as a context that uses it. Sessions belong to their process: the daemon
 * knows its clients by their connections and reaches the memory of one process through each.
 * Another process that has got cmd_fd makes a session of its own that imports from this one. By
 * handle its programs import the exporter's objects; nobody can import theirs.
 */
#ifndef LIB_DROPIN_VERBS_IBV_OPENED_H
#define LIB_DROPIN_VERBS_IBV_OPENED_H

#include "lib/dropin/verbs/ibv_objects.h"

enum rnic_verbs_export_kind {
	RNIC_VERBS_EXPORT_PD = 1,
	RNIC_VERBS_EXPORT_MR,
	RNIC_VERBS_EXPORT_DM,
};

/*
 * Connects to the daemon. The caller owns the session's one reference and *cmd_fd. Errors are those
 * of rnic_open() and memfd_create().
 */
int rnic_verbs_session_open(struct rnic_verbs_device *device, struct rnic_verbs_session **session,
			    int *cmd_fd);

/*
 * Connects to the daemon to import from the session of another process. `cmd_fd` is of that session
 * and stays the caller's. The caller owns the session's one reference. -EOPNOTSUPP: there is no
 * such session, or no longer. Or errors of rnic_open().
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
 * Makes an object known by its handle, and unknown again. The daemon does not know device memory,
 * so the session gives it a handle. `key` is an MR's lkey. Neither takes longer with more objects;
 * an object that was never made known may be made unknown.
 */
void rnic_verbs_export_add(struct ibv_context *context, struct rnic_verbs_export *export,
			   enum rnic_verbs_export_kind kind, uint32_t handle, uint32_t key);
void rnic_verbs_export_remove(struct rnic_verbs_export *export);

/* NULL: none. The caller knows that nobody destroys the object meanwhile. */
struct rnic_verbs_export *rnic_verbs_export_find(struct ibv_context *context,
						 enum rnic_verbs_export_kind kind, uint32_t handle);
struct rnic_verbs_mr *rnic_verbs_mr_of_key(struct ibv_context *context, uint32_t lkey);

/* Takes `bytes` of the device memory there is. -ENOMEM: it does not have them. */
int rnic_verbs_dm_take(struct ibv_context *context, size_t bytes);
void rnic_verbs_dm_give_back(struct ibv_context *context, size_t bytes);

#endif
