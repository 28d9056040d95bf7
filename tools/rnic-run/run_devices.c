/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/run_devices.h"

#include "lib/client/admin/admin_link.h"
#include "tools/rnic-run/complaint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int run_values_add(struct run_values *values, const char *value)
{
	if (values->count == RNIC_SOCKETS_MAX)
		return -E2BIG;
	values->values[values->count++] = value;
	return 0;
}

/* An option of new daemons says one thing of each daemon, so it comes once for each, or not. */
static int run_values_check(const struct run_devices *devices, const struct run_values *values,
			    const char *option)
{
	if (values->count == 0 || values->count == devices->sockets.count)
		return 0;
	complain("%u sockets, and %u times %s: give it once for each socket, in the same order",
		 devices->sockets.count, values->count, option);
	return -EINVAL;
}

static void remove_socket(struct rnic_socket_list *list, uint32_t index)
{
	const uint32_t below = (UINT32_C(1) << index) - 1;

	list->count--;
	memmove(list->paths[index], list->paths[index + 1],
		(list->count - index) * sizeof(list->paths[0]));
	list->found = (list->found & below) | (list->found >> 1 & ~below);
}

/* A daemon that was killed leaves its socket, and a directory of sockets shows that one too. */
static void leave_out_silent(struct rnic_socket_list *list)
{
	for (uint32_t i = list->count; i-- > 0;)
		if ((list->found & UINT32_C(1) << i) != 0 &&
		    !admin_link_has_daemon(list->paths[i], "rnic-run"))
			remove_socket(list, i);
}

static const char *value_of(const struct run_values *values, uint32_t index)
{
	return index < values->count ? values->values[index] : NULL;
}

int run_devices_ensure(struct run_devices *devices)
{
	int error;

	leave_out_silent(&devices->sockets);
	if (devices->sockets.count == 0) {
		complain("no rnicd answers on the sockets of the directory");
		return -ENOENT;
	}
	error = run_values_check(devices, &devices->netdevs, "--netdev");
	if (!error)
		error = run_values_check(devices, &devices->addresses, "--address");
	for (uint32_t i = 0; !error && i < devices->sockets.count; i++) {
		const struct captive_options options = {
			.socket = devices->sockets.paths[i],
			.netdev = value_of(&devices->netdevs, i),
			.address = value_of(&devices->addresses, i),
			.fault = devices->fault,
			.may_start = devices->may_start,
		};

		error = captive_ensure_daemon(&options);
	}
	return error;
}

char *run_devices_join(const struct run_devices *devices)
{
	const struct rnic_socket_list *list = &devices->sockets;
	char *joined = malloc(list->count * sizeof(list->paths[0]));
	size_t used = 0;

	if (!joined)
		return NULL;
	for (uint32_t i = 0; i < list->count; i++) {
		size_t length = strlen(list->paths[i]);

		memcpy(joined + used, list->paths[i], length);
		used += length;
		joined[used++] = i + 1 < list->count ? ':' : '\0';
	}
	return joined;
}
