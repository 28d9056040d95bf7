/* SPDX-License-Identifier: MIT */
/* The engine's own addresses: where packets come from and are answered from. */
#ifndef LIB_NIC_ENGINE_ENGINE_ADDRESSES_H
#define LIB_NIC_ENGINE_ENGINE_ADDRESSES_H

#include "proto/base/verbs_types.h"
#include "proto/wire/packet.h"

#include <stdint.h>

struct engine;

/*
 * The index of the address that answers packets to `dest`: the index of `dest`, or for a multicast
 * group the first of its family. 0 when there is none.
 */
uint32_t engine_gid_index(const struct engine *engine, const struct rnic_gid *dest);

/*
 * The hop limit that a queue pair or an address handle with `path` has. The interface's takes the
 * place of a program's, but for multicast groups: Linux does so when it resolves RoCE addresses
 * (ib_resolve_eth_dmac(), drivers/infiniband/core/verbs.c, 6.12), and many programs ask for 1.
 */
uint8_t engine_hop_limit(const struct engine *engine, const struct rnic_path *path);

/* The addresses of a packet that leaves by `path`. */
struct rnic_addresses engine_addresses(const struct engine *engine, const struct rnic_path *path);

#endif
