/* SPDX-License-Identifier: MIT */
/* Binding, resolving, and translating names into addresses. */
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

int rdma_bind_addr(struct rdma_cm_id *public, struct sockaddr *addr)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	struct rnic_cm_endpoints where;
	struct rnic_endpoint local;
	int error;

	if (addr == NULL)
		return rnic_cma_result(-EINVAL);
	error = rnic_cma_endpoint(addr, &local);
	if (error == 0)
		error = rnic_cma_bind(id, &local, &where);
	if (error == 0)
		error = rnic_cma_take_place(id, &where);
	return rnic_cma_result(error);
}

static int rdmacm_address_resolve(struct rnic_cma_id *id, const struct sockaddr *source,
				  const struct sockaddr *destination, uint32_t timeout_ms)
{
	struct rnic_endpoint from, to;
	int error = rnic_cma_endpoint(destination, &to);

	if (error == 0 && source != NULL)
		error = rnic_cma_endpoint(source, &from);
	if (error == 0)
		error = rnic_cma_choose_device(id, source != NULL ? &from : NULL, &to);
	if (error == 0)
		error = rnic_native.cm_resolve_address(id->native, source != NULL ? &from : NULL,
						       &to, timeout_ms);
	if (error != 0)
		return error;
	memcpy(&id->public.route.addr.dst_storage, destination,
	       rnic_cma_sockaddr_bytes(destination));
	return rnic_cma_complete(id);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr,
		      int timeout_ms)
{
	if (dst_addr == NULL || timeout_ms < 0)
		return rnic_cma_result(-EINVAL);
	return rnic_cma_result(
		rdmacm_address_resolve(rnic_cma_id(id), src_addr, dst_addr, (uint32_t)timeout_ms));
}

int rdma_resolve_route(struct rdma_cm_id *public, int timeout_ms)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	int error = timeout_ms < 0 ? -EINVAL
				   : rnic_native.cm_resolve_route(id->native, (uint32_t)timeout_ms);

	if (error == 0)
		error = rnic_cma_complete(id);
	return rnic_cma_result(error);
}

/* The port lies at the same place for both families. */
static __be16 port_of_address(const struct sockaddr *address)
{
	if (rnic_cma_sockaddr_bytes(address) == 0)
		return 0;
	return ((const struct sockaddr_in *)(const void *)address)->sin_port;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of_address(&id->route.addr.src_addr);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of_address(&id->route.addr.dst_addr);
}

/* --- names ----------------------------------------------------------------------------------- */

static struct sockaddr *copy_sockaddr(const struct sockaddr *address, socklen_t bytes)
{
	struct sockaddr *copy = malloc(bytes);

	if (copy != NULL)
		memcpy(copy, address, bytes);
	return copy;
}

/* Completes the type of queue pair and the port space where the caller left one of them open. */
static void choose_service(const struct rdma_addrinfo *hints, struct rdma_addrinfo *info)
{
	info->ai_qp_type = hints != NULL ? hints->ai_qp_type : 0;
	info->ai_port_space = hints != NULL ? hints->ai_port_space : 0;
	if (info->ai_qp_type == 0)
		info->ai_qp_type =
			info->ai_port_space == RDMA_PS_UDP || info->ai_port_space == RDMA_PS_IPOIB
				? IBV_QPT_UD
				: IBV_QPT_RC;
	if (info->ai_port_space == 0)
		info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

/* Puts a found address where the flags want it: the address to listen on, or to connect to. */
static int take_found(const struct addrinfo *found, struct rdma_addrinfo *info)
{
	struct sockaddr *address = copy_sockaddr(found->ai_addr, found->ai_addrlen);
	char *name = found->ai_canonname != NULL ? strdup(found->ai_canonname) : NULL;

	if (address == NULL || (found->ai_canonname != NULL && name == NULL)) {
		free(address);
		free(name);
		return EAI_MEMORY;
	}
	info->ai_family = found->ai_family;
	if (info->ai_flags & RAI_PASSIVE) {
		info->ai_src_addr = address;
		info->ai_src_len = found->ai_addrlen;
		info->ai_src_canonname = name;
	} else {
		info->ai_dst_addr = address;
		info->ai_dst_len = found->ai_addrlen;
		info->ai_dst_canonname = name;
	}
	return 0;
}

static int rdmacm_address_look_up(const char *node, const char *service,
				  const struct rdma_addrinfo *hints, struct rdma_addrinfo *info)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int error;

	if (info->ai_flags & RAI_PASSIVE)
		wanted.ai_flags |= AI_PASSIVE;
	if (info->ai_flags & RAI_NUMERICHOST)
		wanted.ai_flags |= AI_NUMERICHOST;
	if (hints != NULL && (info->ai_flags & RAI_FAMILY))
		wanted.ai_family = hints->ai_family;
	else if (node == NULL && (info->ai_flags & RAI_PASSIVE))
		/*
		 * The first address that the look-up would give, without the routes and files that
		 * sort addresses.
		 */
		wanted.ai_family = AF_INET;
	error = getaddrinfo(node, service, &wanted, &found);
	if (error != 0)
		return error;
	error = take_found(found, info);
	freeaddrinfo(found);
	return error;
}

/* The caller's own addresses, where the look-up gave none. */
static int take_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *info)
{
	if (hints == NULL)
		return 0;
	if (info->ai_src_addr == NULL && hints->ai_src_len > 0) {
		info->ai_src_addr = copy_sockaddr(hints->ai_src_addr, hints->ai_src_len);
		info->ai_src_len = hints->ai_src_len;
		if (info->ai_src_addr == NULL)
			return EAI_MEMORY;
	}
	if (info->ai_dst_addr == NULL && hints->ai_dst_len > 0) {
		info->ai_dst_addr = copy_sockaddr(hints->ai_dst_addr, hints->ai_dst_len);
		info->ai_dst_len = hints->ai_dst_len;
		if (info->ai_dst_addr == NULL)
			return EAI_MEMORY;
	}
	if (info->ai_family == 0 && info->ai_src_addr != NULL)
		info->ai_family = info->ai_src_addr->sa_family;
	if (info->ai_family == 0 && info->ai_dst_addr != NULL)
		info->ai_family = info->ai_dst_addr->sa_family;
	return 0;
}

/* The errno for an error of getaddrinfo(): this interface tells errors so. */
static int rdmacm_address_errno_of_eai(int error)
{
	switch (error) {
	case EAI_SYSTEM:
		return -errno;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_FAMILY:
		return -EAFNOSUPPORT;
	case EAI_NONAME:
		return -ENODATA;
	default:
		return -EINVAL;
	}
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *info;
	int error = 0;

	if (node == NULL && service == NULL && hints == NULL)
		return rnic_cma_result(-EINVAL);
	info = calloc(1, sizeof(*info));
	if (info == NULL)
		return rnic_cma_result(-ENOMEM);
	if (hints != NULL)
		info->ai_flags = hints->ai_flags;
	choose_service(hints, info);
	if (node != NULL || service != NULL)
		error = rdmacm_address_look_up(node, service, hints, info);
	if (error == 0)
		error = take_hints(hints, info);
	if (error != 0) {
		int translated = rdmacm_address_errno_of_eai(error);

		rdma_freeaddrinfo(info);
		return rnic_cma_result(translated);
	}
	*res = info;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res != NULL) {
		struct rdma_addrinfo *following = res->ai_next;

		free(res->ai_connect);
		free(res->ai_route);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
		res = following;
	}
}
