/* SPDX-License-Identifier: MIT */
/*
 * The RNIC as a machine without I/O, clock, threads or allocation on the data path. The owner
 * pushes packets in, pulls packets out, tells the time, and makes all calls from one thread.
 * Nothing in the engine is global, so a process can hold many.
 *
 *     engine_receive() ...   engine_flush()          a batch in, then its payload and completions
 *     engine_transmit() ...  engine_packets_read()   a batch out, once its payload was read
 *     engine_tick()                                  at engine_next_deadline_ns()
 *
 * Objects (PD, MR, CQ, QP, AH) are made and destroyed by their own headers' calls between those,
 * never from within a sink callback.
 */
#ifndef LIB_NIC_ENGINE_ENGINE_H
#define LIB_NIC_ENGINE_ENGINE_H

#include "lib/nic/engine/engine_addresses.h"
#include "lib/nic/engine/engine_config.h"
#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/objects/engine_cqe.h"
#include "lib/nic/engine/verdict.h"
#include "lib/nic/engine/packet_builder.h"

/*
 * Sets up `engine`, in the caller's memory. -ENOMEM, -EINVAL for a zero maximum or a lane that no
 * engine has.
 */
int engine_init(struct engine *engine, const struct engine_config *config);

/* All objects must have been destroyed (asserted). */
void engine_fini(struct engine *engine);

/* Our address at `index`, zero: none; the sender's address of QPs whose path names that index. */
void engine_set_gid(struct engine *engine, uint32_t index, const struct rnic_gid *gid);

/* The time of what follows outside of packets and ticks, for the record. */
void engine_tell_time(struct engine *engine, uint64_t now_ns);

/* The link of the port goes down or comes up, for the record. */
void engine_note_link(struct engine *engine, bool is_up);

/* The partition key at `index`, 0 for none. At first there is PKEY_DEFAULT at index 0. */
void engine_set_pkey(struct engine *engine, uint32_t index, uint16_t pkey);

/* The longest payload of a datagram from now on, for queue pairs that become ready to receive. */
void engine_set_port_mtu(struct engine *engine, uint32_t port_mtu_bytes);

/*
 * The hop limits of packets to one host, for paths that are set up from now on. 0, as at the start:
 * that of the path.
 */
void engine_set_hop_limits(struct engine *engine, uint8_t ipv4, uint8_t ipv6);

/* One packet in, its ICRC found right. `packet->payload` must stay valid until engine_flush(). */
void engine_receive(struct engine *engine, const struct rnic_packet *packet, uint64_t now_ns);

/*
 * Puts all payload received so far into client memory and delivers the completions that waited for
 * it. To be called after a batch of engine_receive() and before the buffers they came in are used
 * again. Failures become NAKs and QP errors.
 */
void engine_flush(struct engine *engine, uint64_t now_ns);

/*
 * Returns the verdict on the last packet of engine_receive() that was not taken, VERDICT_PASS where
 * all were since the last call: why a queue pair dropped, refused, or had the packet already.
 */
enum verdict engine_take_refusal(struct engine *engine);

/* Fetches who keeps naming a queue pair that is not there: unknown_qp_take(). */
bool engine_take_unknown_qp(struct engine *engine, struct unknown_qp *taken);

/*
 * Builds at most one packet; false when nothing may be sent now. Successive packets of one QP and
 * one message tend to follow each other, so that the caller can send them as one segmented
 * datagram.
 */
bool engine_transmit(struct engine *engine, struct packet_builder *out, uint64_t now_ns);

/*
 * The payload of a packet from engine_transmit() could not be read from client memory (-EFAULT,
 * -ESRCH). The packet must not be sent, nor any of the same QP that was built after it. A request's
 * WQE completes in error, a READ response turns into a NAK.
 */
void engine_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn,
			   bool is_response, int error, uint64_t now_ns);

/*
 * The payload of all packets from engine_transmit() was read, and failures were reported. Messages
 * that nobody acknowledges (UC, UD) are done now, and their buffers belong to the client again;
 * binds and invalidations whose turn has come are executed. To be called after each batch of
 * engine_transmit(), also when that built nothing.
 */
void engine_packets_read(struct engine *engine, uint64_t now_ns);

/*
 * Acknowledgements that wait for a request (delayed_acknowledgement.h) leave with the next
 * engine_transmit(). To be called before queue pairs are modified or destroyed: the client knows of
 * the messages that they are for. `none_came`: the owner is about to sleep, because no request
 * came. Returns whether there were any.
 */
bool engine_end_waits(struct engine *engine, bool none_came);

/*
 * The same for all acknowledgements that are owed, before anything else, since the owner ends.
 * Returns whether there are any.
 */
bool engine_hasten_acknowledgements(struct engine *engine);

/* The earliest instant at which engine_tick() has something to do; UINT64_MAX when none. */
uint64_t engine_next_deadline_ns(const struct engine *engine);

/* Runs the timers that have expired. Never late, as often as the owner likes. */
void engine_tick(struct engine *engine, uint64_t now_ns);

/* Whether engine_transmit() may have something to build. */
static inline bool engine_has_ready(const struct engine *engine)
{
	return !list_is_empty(&engine->ready) || !parting_is_empty(&engine->parting);
}

#endif
