/* SPDX-License-Identifier: MIT */
/* The table of a context's identifiers of the connection manager. */
#include "lib/client/native/cm/rnic_cm_objects.h"

#include <errno.h>
#include <stdlib.h>

static int cm_enter(struct rnic_cm_id *id)
{
	struct rnic_context *context = id->context;
	int error = 0;

	pthread_mutex_lock(&context->objects_lock);
	if (context->cm_ids == NULL)
		context->cm_ids = calloc(RNIC_CM_IDS_MAX, sizeof(struct rnic_cm_id *));
	if (context->cm_ids == NULL)
		error = -ENOMEM;
	else
		context->cm_ids[id->handle.slot] = id;
	pthread_mutex_unlock(&context->objects_lock);
	return error;
}

int rnic_cm_adopt_id(struct rnic_cm_channel *channel, struct rnic_handle handle, void *user,
		     struct rnic_cm_id **adopted)
{
	struct rnic_context *context = channel->context;
	struct rnic_cm_id *id;
	int error;

	if (handle.slot >= RNIC_CM_IDS_MAX)
		return -EIO;
	id = malloc(sizeof(*id));
	if (id == NULL)
		return -ENOMEM;
	*id = (struct rnic_cm_id){
		.context = context,
		.channel = channel,
		.handle = handle,
		.user = user,
	};
	error = cm_enter(id);
	if (error != 0) {
		free(id);
		return error;
	}
	rnic_context_hold(context);
	*adopted = id;
	return 0;
}

struct rnic_cm_id *rnic_cm_find_id(const struct rnic_context *context, struct rnic_handle handle)
{
	struct rnic_cm_id *id;

	if (context->cm_ids == NULL || handle.slot >= RNIC_CM_IDS_MAX)
		return NULL;
	id = context->cm_ids[handle.slot];
	return id != NULL && id->handle.generation == handle.generation ? id : NULL;
}

void rnic_cm_leave_table(struct rnic_cm_id *id)
{
	struct rnic_context *context = id->context;

	pthread_mutex_lock(&context->objects_lock);
	/* The daemon may have given the slot to another identifier meanwhile. */
	if (context->cm_ids[id->handle.slot] == id)
		context->cm_ids[id->handle.slot] = NULL;
	pthread_mutex_unlock(&context->objects_lock);
}
