/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rdmacm/rdma_translate.h"

#include "proto/wire/gid.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " differs")

SAME_VALUE(RNIC_CM_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_RESOLVED);
SAME_VALUE(RNIC_CM_ADDR_ERROR, RDMA_CM_EVENT_ADDR_ERROR);
SAME_VALUE(RNIC_CM_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED);
SAME_VALUE(RNIC_CM_ROUTE_ERROR, RDMA_CM_EVENT_ROUTE_ERROR);
SAME_VALUE(RNIC_CM_CONNECT_REQUEST, RDMA_CM_EVENT_CONNECT_REQUEST);
SAME_VALUE(RNIC_CM_CONNECT_RESPONSE, RDMA_CM_EVENT_CONNECT_RESPONSE);
SAME_VALUE(RNIC_CM_CONNECT_ERROR, RDMA_CM_EVENT_CONNECT_ERROR);
SAME_VALUE(RNIC_CM_UNREACHABLE, RDMA_CM_EVENT_UNREACHABLE);
SAME_VALUE(RNIC_CM_REJECTED, RDMA_CM_EVENT_REJECTED);
SAME_VALUE(RNIC_CM_ESTABLISHED, RDMA_CM_EVENT_ESTABLISHED);
SAME_VALUE(RNIC_CM_DISCONNECTED, RDMA_CM_EVENT_DISCONNECTED);
SAME_VALUE(RNIC_CM_DEVICE_REMOVAL, RDMA_CM_EVENT_DEVICE_REMOVAL);
SAME_VALUE(RNIC_CM_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_JOIN);
SAME_VALUE(RNIC_CM_MULTICAST_ERROR, RDMA_CM_EVENT_MULTICAST_ERROR);
SAME_VALUE(RNIC_CM_ADDR_CHANGE, RDMA_CM_EVENT_ADDR_CHANGE);
SAME_VALUE(RNIC_CM_TIMEWAIT_EXIT, RDMA_CM_EVENT_TIMEWAIT_EXIT);
SAME_VALUE(RNIC_PORT_SPACE_IPOIB, RDMA_PS_IPOIB);
SAME_VALUE(RNIC_PORT_SPACE_TCP, RDMA_PS_TCP);
SAME_VALUE(RNIC_PORT_SPACE_UDP, RDMA_PS_UDP);
SAME_VALUE(RNIC_PORT_SPACE_IB, RDMA_PS_IB);

#define DEFAULT_PKEY		0xffff
#define SELECT_EXACTLY		2  /* of a path record's selectors (IBTA 1.4, 15.2.5.16) */
#define DEFAULT_PACKET_LIFETIME 14 /* as the daemon assumes it */

int rnic_cma_result(int error)
{
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

int rnic_cma_endpoint(const struct sockaddr *address, struct rnic_endpoint *endpoint)
{
	*endpoint = (struct rnic_endpoint){0};
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *ipv4 = (const void *)address;

		endpoint->family = 4;
		endpoint->port = be16toh(ipv4->sin_port);
		endpoint->address = rnic_gid_from_ipv4((const uint8_t *)&ipv4->sin_addr);
		return 0;
	}
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *ipv6 = (const void *)address;

		endpoint->family = IN6_IS_ADDR_V4MAPPED(&ipv6->sin6_addr) ? 4 : 6;
		endpoint->port = be16toh(ipv6->sin6_port);
		endpoint->scope_id = ipv6->sin6_scope_id;
		endpoint->address = rnic_gid_from_ipv6((const uint8_t *)&ipv6->sin6_addr);
		return 0;
	}
	return -EAFNOSUPPORT;
}

void rnic_cma_sockaddr(const struct rnic_endpoint *endpoint, struct sockaddr *address)
{
	memset(address, 0, sizeof(struct sockaddr_storage));
	if (endpoint->family == 4) {
		struct sockaddr_in *ipv4 = (void *)address;

		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htobe16(endpoint->port);
		if (rnic_gid_is_ipv4(&endpoint->address))
			memcpy(&ipv4->sin_addr, rnic_gid_ipv4(&endpoint->address), 4);
	} else if (endpoint->family == 6) {
		struct sockaddr_in6 *ipv6 = (void *)address;

		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htobe16(endpoint->port);
		ipv6->sin6_scope_id = endpoint->scope_id;
		memcpy(&ipv6->sin6_addr, endpoint->address.bytes, 16);
	}
}

socklen_t rnic_cma_sockaddr_bytes(const struct sockaddr *address)
{
	switch (address->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

void rnic_cma_route(const struct rnic_cm_endpoints *where, struct rnic_cma_id *id)
{
	const struct rnic_path *path = &where->path;
	struct rdma_route *route = &id->public.route;
	struct ibv_sa_path_rec *record = &id->path_record;
	union ibv_gid source;

	memcpy(&source, where->local.address.bytes, sizeof(source));
	route->addr.addr.ibaddr.sgid = source;
	memcpy(&route->addr.addr.ibaddr.dgid, path->dest_gid.bytes, 16);
	route->addr.addr.ibaddr.pkey = htobe16(DEFAULT_PKEY);
	*record = (struct ibv_sa_path_rec){
		.sgid = source,
		.flow_label = htobe32(path->flow_label),
		.hop_limit = path->hop_limit,
		.traffic_class = path->traffic_class,
		.reversible = 1,
		.numb_path = 1,
		.pkey = htobe16(DEFAULT_PKEY),
		.sl = path->service_level,
		.mtu_selector = SELECT_EXACTLY,
		.mtu = (uint8_t)where->path_mtu,
		.rate_selector = SELECT_EXACTLY,
		.packet_life_time_selector = SELECT_EXACTLY,
		.packet_life_time = DEFAULT_PACKET_LIFETIME,
	};
	memcpy(&record->dgid, path->dest_gid.bytes, 16);
	route->path_rec = record;
	route->num_paths = 1;
}

void rnic_cma_conn_param(const struct rnic_cm_parameters *from, struct rdma_conn_param *to)
{
	*to = (struct rdma_conn_param){
		.private_data = from->private_data_bytes > 0 ? from->private_data : NULL,
		.private_data_len = from->private_data_bytes,
		.responder_resources = from->responder_resources,
		.initiator_depth = from->initiator_depth,
		.flow_control = from->flow_control,
		.retry_count = from->retry_count,
		.rnr_retry_count = from->rnr_retry_count,
		.srq = from->has_srq,
		.qp_num = from->qpn,
	};
}

void rnic_cma_ud_param(const struct rnic_cm_event *from, struct rdma_ud_param *to)
{
	*to = (struct rdma_ud_param){
		.private_data = from->parameters.private_data_bytes > 0
					? from->parameters.private_data
					: NULL,
		.private_data_len = from->parameters.private_data_bytes,
		.qp_num = from->parameters.qpn,
		.qkey = from->parameters.qkey,
	};
	rnic_native.ah_attr(&from->path, &to->ah_attr);
}
