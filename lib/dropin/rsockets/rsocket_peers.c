/* SPDX-License-Identifier: MIT */
/* The peers of a datagram socket, and the way to each. */
#include "lib/dropin/rdmacm/rdma_translate.h"
#include "lib/dropin/rsockets/rsocket_datagram.h"

#include "proto/wire/gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* Every sender becomes a peer, so their number needs a limit. */
#define PEERS_MAX 1024u

#define RESOLVE_TIMEOUT_MS 2000

/* --- addresses ------------------------------------------------------------------------------- */

static struct sockaddr_in *v4(const struct sockaddr_storage *address)
{
	return (struct sockaddr_in *)address;
}

static struct sockaddr_in6 *v6(const struct sockaddr_storage *address)
{
	return (struct sockaddr_in6 *)address;
}

void rnic_rsocket_unmap(struct sockaddr_storage *address)
{
	struct sockaddr_in plain = {.sin_family = AF_INET};

	if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6(address)->sin6_addr))
		return;
	plain.sin_port = v6(address)->sin6_port;
	memcpy(&plain.sin_addr, &v6(address)->sin6_addr.s6_addr[12], sizeof(plain.sin_addr));
	memset(address, 0, sizeof(*address));
	memcpy(address, &plain, sizeof(plain));
}

void rnic_rsocket_map(struct sockaddr_storage *address, int domain)
{
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};

	if (domain != AF_INET6 || address->ss_family != AF_INET)
		return;
	mapped.sin6_port = v4(address)->sin_port;
	mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&mapped.sin6_addr.s6_addr[12], &v4(address)->sin_addr, sizeof(struct in_addr));
	memset(address, 0, sizeof(*address));
	memcpy(address, &mapped, sizeof(mapped));
}

uint16_t rnic_rsocket_port_of(const struct sockaddr_storage *address)
{
	return ntohs(address->ss_family == AF_INET6 ? v6(address)->sin6_port
						    : v4(address)->sin_port);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		v6(address)->sin6_port = htons(port);
	else
		v4(address)->sin_port = htons(port);
}

struct rnic_rsocket_address rnic_rsocket_address_of(const struct sockaddr_storage *address)
{
	struct rnic_rsocket_address header = {.version = address->ss_family == AF_INET6 ? 6 : 4};

	if (header.version == 6)
		memcpy(header.bytes, &v6(address)->sin6_addr, 16);
	else
		memcpy(header.bytes, &v4(address)->sin_addr, 4);
	return header;
}

void rnic_rsocket_address_to(const struct rnic_rsocket_address *from, uint16_t port,
			     struct sockaddr_storage *address)
{
	memset(address, 0, sizeof(*address));
	address->ss_family = from->version == 6 ? AF_INET6 : AF_INET;
	if (from->version == 6)
		memcpy(&v6(address)->sin6_addr, from->bytes, 16);
	else
		memcpy(&v4(address)->sin_addr, from->bytes, 4);
	set_port(address, port);
}

bool rnic_rsocket_is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct rnic_rsocket_address first = rnic_rsocket_address_of(a);
	const struct rnic_rsocket_address second = rnic_rsocket_address_of(b);

	return a->ss_family == b->ss_family && rnic_rsocket_port_of(a) == rnic_rsocket_port_of(b) &&
	       memcmp(&first, &second, sizeof(first)) == 0;
}

static bool rsocket_peers_is_any(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&v6(address)->sin6_addr)
					      : v4(address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

int rnic_rsocket_own_address(struct rnic_rsocket_datagram *datagram,
			     struct sockaddr_storage *address)
{
	struct sockaddr_storage any = {.ss_family = (sa_family_t)datagram->rs.domain};
	socklen_t bytes = rnic_cma_sockaddr_bytes((struct sockaddr *)&any);

	if (!datagram->is_bound) {
		if (bind(datagram->rs.fd, (struct sockaddr *)&any, bytes) != 0)
			return -errno;
		datagram->is_bound = true;
	}
	memset(address, 0, sizeof(*address));
	bytes = sizeof(*address);
	if (getsockname(datagram->rs.fd, (struct sockaddr *)address, &bytes) != 0)
		return -errno;
	rnic_rsocket_unmap(address);
	return 0;
}

/* --- the way to a peer ----------------------------------------------------------------------- */

static int resolve_from(const struct sockaddr_storage *source, const struct sockaddr_storage *peer,
			struct rdma_cm_id **resolved)
{
	struct rdma_cm_id *id;
	int error;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP) != 0)
		return -errno;
	if (rdma_resolve_addr(id, (struct sockaddr *)source, (struct sockaddr *)peer,
			      RESOLVE_TIMEOUT_MS) == 0 &&
	    rdma_resolve_route(id, RESOLVE_TIMEOUT_MS) == 0) {
		*resolved = id;
		return 0;
	}
	error = -errno;
	rdma_destroy_id(id);
	return error;
}

/* The way to a peer, as far as it does not depend on the socket's state. */
struct route {
	struct sockaddr_storage source;
	struct ibv_ah_attr attributes;
	struct rdma_cm_id *id;
};

static int rsocket_peers_find_gid(const struct rdma_cm_id *id, const union ibv_gid *wanted,
				  uint8_t *index)
{
	struct ibv_port_attr port;
	int error = ibv_query_port(id->verbs, id->port_num, &port);

	if (error != 0)
		return -error;
	for (int i = 0; i < port.gid_tbl_len && i <= UINT8_MAX; i++) {
		union ibv_gid gid;

		if (ibv_query_gid(id->verbs, id->port_num, i, &gid) != 0)
			return -errno;
		if (memcmp(&gid, wanted, sizeof(gid)) != 0)
			continue;
		*index = (uint8_t)i;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static int describe_way(const struct rdma_cm_id *id, struct ibv_ah_attr *attributes)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;

	*attributes = (struct ibv_ah_attr){
		.is_global = 1,
		.grh =
			{
				.dgid = path->dgid,
				.flow_label = ntohl(path->flow_label),
				.hop_limit = path->hop_limit,
				.traffic_class = path->traffic_class,
			},
		.sl = path->sl,
		.port_num = id->port_num,
	};
	return rsocket_peers_find_gid(id, &path->sgid, &attributes->grh.sgid_index);
}

/*
 * Resolves from the address that the socket is bound to. A socket bound to any address, or to one
 * of loopback that the device does not have, uses the device's address. The daemon may take long,
 * so the call runs without the lock.
 */
static int rsocket_peers_resolve(const struct sockaddr_storage *own,
				 const struct sockaddr_storage *peer, struct route *route)
{
	const bool is_fixed = !rsocket_peers_is_any(own);
	struct sockaddr_storage source = *own;
	int error = -EADDRNOTAVAIL;

	set_port(&source, 0);
	if (is_fixed)
		error = resolve_from(&source, peer, &route->id);
	if (error != 0)
		error = resolve_from(NULL, peer, &route->id);
	if (error != 0)
		return error;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a failed call leaves an errno. */
	route->source = is_fixed ? *own : route->id->route.addr.src_storage;
	set_port(&route->source, rnic_rsocket_port_of(own));
	error = describe_way(route->id, &route->attributes);
	if (error != 0)
		rdma_destroy_id(route->id);
	return error;
}

/* --- peers ----------------------------------------------------------------------------------- */

static void destroy_peer(struct rnic_rsocket_peer *peer)
{
	if (peer->ah != NULL)
		ibv_destroy_ah(peer->ah);
	free(peer);
}

static void rsocket_peers_forget_oldest(struct rnic_rsocket_datagram *datagram)
{
	struct rnic_rsocket_peer **link = &datagram->peers;

	while ((*link)->next != NULL)
		link = &(*link)->next;
	destroy_peer(*link);
	*link = NULL;
	datagram->peer_count--;
}

static struct rnic_rsocket_peer *rsocket_peers_take(struct rnic_rsocket_datagram *datagram,
						    const struct sockaddr_storage *address)
{
	for (struct rnic_rsocket_peer **link = &datagram->peers; *link != NULL;
	     link = &(*link)->next) {
		struct rnic_rsocket_peer *peer = *link;

		if (!rnic_rsocket_is_same(&peer->address, address))
			continue;
		*link = peer->next;
		return peer;
	}
	return NULL;
}

/* Adds the peer at the end of the route. The first identifier keeps the queue pair. */
static int rsocket_peers_admit(struct rnic_rsocket_datagram *datagram,
			       const struct sockaddr_storage *address, struct route *route,
			       struct rnic_rsocket_peer **admitted)
{
	struct rnic_rsocket_peer *peer = calloc(1, sizeof(*peer));
	int error = 0;

	if (peer == NULL)
		return -ENOMEM;
	peer->address = *address;
	peer->source = route->source;
	memcpy(&peer->gid, &route->attributes.grh.dgid, sizeof(peer->gid));
	if (datagram->id == NULL)
		error = rnic_rsocket_ud_create(datagram, route->id);
	if (error == 0) {
		peer->ah = ibv_create_ah(datagram->id->pd, &route->attributes);
		error = peer->ah != NULL ? 0 : -errno;
	}
	if (error != 0) {
		destroy_peer(peer);
		return error;
	}
	if (datagram->peer_count == PEERS_MAX)
		rsocket_peers_forget_oldest(datagram);
	datagram->peer_count++;
	*admitted = peer;
	return 0;
}

/* Gives up the lock meanwhile: another thread may get to know the same peer. */
static int discover(struct rnic_rsocket_datagram *datagram, const struct sockaddr_storage *address,
		    struct rnic_rsocket_peer **discovered)
{
	struct sockaddr_storage own;
	struct route route;
	int error = rnic_rsocket_own_address(datagram, &own);
	int cancellation;

	if (error != 0)
		return error;
	rnic_rsocket_unlock(&datagram->rs);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	error = rsocket_peers_resolve(&own, address, &route);
	pthread_setcancelstate(cancellation, NULL);
	rnic_rsocket_lock(&datagram->rs);
	if (error != 0)
		return error;
	*discovered = rsocket_peers_take(datagram, address);
	if (*discovered == NULL)
		error = rsocket_peers_admit(datagram, address, &route, discovered);
	if (route.id != datagram->id)
		rdma_destroy_id(route.id);
	return error;
}

int rnic_rsocket_find_peer(struct rnic_rsocket_datagram *datagram,
			   const struct sockaddr_storage *address, struct rnic_rsocket_peer **found)
{
	/*
	 * The caller's address may be a member of the socket, which changes while the lock is given
	 * up.
	 */
	const struct sockaddr_storage wanted = *address;
	struct rnic_rsocket_peer *peer = rsocket_peers_take(datagram, &wanted);
	int error = peer != NULL ? 0 : discover(datagram, &wanted, &peer);

	if (error != 0)
		return error;
	peer->next = datagram->peers;
	datagram->peers = peer;
	*found = peer;
	return 0;
}

bool rnic_rsocket_is_from(const struct rnic_rsocket_datagram *datagram,
			  const struct sockaddr_storage *address, const struct rnic_gid *source)
{
	struct rnic_endpoint endpoint;

	if (rnic_cma_endpoint((const struct sockaddr *)address, &endpoint) != 0)
		return false;
	if (rnic_gid_equal(&endpoint.address, source))
		return true;
	for (const struct rnic_rsocket_peer *peer = datagram->peers; peer != NULL;
	     peer = peer->next)
		if (rnic_rsocket_is_same(&peer->address, address))
			return rnic_gid_equal(&peer->gid, source);
	return false;
}

void rnic_rsocket_forget_peers(struct rnic_rsocket_datagram *datagram)
{
	while (datagram->peers != NULL)
		rsocket_peers_forget_oldest(datagram);
}
