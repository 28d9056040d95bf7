/* SPDX-License-Identifier: MIT */
/*
 * An opened device: the part that the contexts of one ibv_open_device() share. It holds the
 * connection to the daemon, and the objects that other contexts can import by their handles.
 *
 * The file behind cmd_fd names an opened device, so a duplicate of the descriptor finds it too. An
 * opened device lives as long as a context that uses it. It belongs to its process: the daemon
 * knows its clients by their connections and reaches the memory of one process through each.
 * Another process that has got cmd_fd opens the device itself and imports from this one. By handle
 * its programs import the exporter's objects; nobody can import theirs.
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
 * Connects to the daemon. The caller owns the one reference to *opened, and *cmd_fd. Errors are
 * those of rnic_open() and memfd_create().
 */
int rnic_verbs_opened_create(struct rnic_verbs_device *device, struct rnic_verbs_opened **opened,
			     int *cmd_fd);

/*
 * Connects to the daemon to import from what another process has opened. `cmd_fd` comes from that
 * process and stays the caller's. The caller owns the one reference to *opened. -EOPNOTSUPP: the
 * descriptor names no opened device, or no longer. Or errors of rnic_open().
 */
int rnic_verbs_opened_import(struct rnic_verbs_device *device, int cmd_fd,
			     struct rnic_verbs_opened **opened);

/* Whether the context's opened device imports from another process. */
bool rnic_verbs_is_importer(struct ibv_context *context);

/*
 * Takes a reference to the opened device that `cmd_fd` names. -EBADF: no descriptor. -EOPNOTSUPP:
 * this process has opened no such device.
 */
int rnic_verbs_opened_find(int cmd_fd, struct rnic_verbs_opened **opened);

/* Gives a reference back; the last one ends the connection. */
void rnic_verbs_opened_release(struct rnic_verbs_opened *opened);

struct rnic_context *rnic_verbs_opened_native(const struct rnic_verbs_opened *opened);
struct rnic_verbs_device *rnic_verbs_opened_device(const struct rnic_verbs_opened *opened);

/*
 * Makes an object known by its handle, and unknown again. The daemon does not know device memory,
 * so the opened device gives it a handle. `key` is an MR's lkey. Neither takes longer with more
 * objects; an object that was never made known may be made unknown.
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
