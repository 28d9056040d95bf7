/* SPDX-License-Identifier: MIT */
/* Proof that the messages of the process link, and the shared pages, lie as both programs expect.
 */
#include "proto/ctl/process_message.h"

#include "proto/base/layout_assert.h"

RNIC_SIZE(struct rnic_process_header, 16);
RNIC_AT(struct rnic_process_header, magic, 0);
RNIC_AT(struct rnic_process_header, version, 4);
RNIC_AT(struct rnic_process_header, operation, 6);
RNIC_AT(struct rnic_process_header, bytes, 8);
RNIC_AT(struct rnic_process_header, reserved, 12);

RNIC_SIZE(struct rnic_process_start, 256);
RNIC_AT(struct rnic_process_start, lane, 0);
RNIC_AT(struct rnic_process_start, uid, 4);
RNIC_AT(struct rnic_process_start, flags, 8);
RNIC_AT(struct rnic_process_start, port, 12);
RNIC_AT(struct rnic_process_start, segmentation, 16);
RNIC_AT(struct rnic_process_start, poll, 20);
RNIC_AT(struct rnic_process_start, log_level, 24);
RNIC_AT(struct rnic_process_start, netdev_index, 28);
RNIC_AT(struct rnic_process_start, speed_mbps, 32);
RNIC_AT(struct rnic_process_start, peer_ports, 36);
RNIC_AT(struct rnic_process_start, memory_bytes, 40);
RNIC_AT(struct rnic_process_start, device, 48);
RNIC_AT(struct rnic_process_start, pkeys, 224);

RNIC_SIZE(struct rnic_process_ready, 280);
RNIC_AT(struct rnic_process_ready, status, 0);
RNIC_AT(struct rnic_process_ready, reserved, 4);
RNIC_AT(struct rnic_process_ready, udp_port, 8);
RNIC_AT(struct rnic_process_ready, reason, 24);

RNIC_SIZE(struct rnic_process_gid, 24);
RNIC_AT(struct rnic_process_gid, index, 0);
RNIC_AT(struct rnic_process_gid, reserved, 4);
RNIC_AT(struct rnic_process_gid, gid, 8);

RNIC_SIZE(struct rnic_process_facts, 816);
RNIC_AT(struct rnic_process_facts, sequence, 0);
RNIC_AT(struct rnic_process_facts, path_mtu_bytes, 8);
RNIC_AT(struct rnic_process_facts, hop_limit_ipv4, 12);
RNIC_AT(struct rnic_process_facts, hop_limit_ipv6, 13);
RNIC_AT(struct rnic_process_facts, is_cut, 14);
RNIC_AT(struct rnic_process_facts, netdev_index, 16);
RNIC_AT(struct rnic_process_facts, port, 20);
RNIC_AT(struct rnic_process_facts, gids, 40);

RNIC_SIZE(struct rnic_process_client, 32);
RNIC_AT(struct rnic_process_client, client_id, 0);
RNIC_AT(struct rnic_process_client, uid, 4);
RNIC_AT(struct rnic_process_client, pid, 8);
RNIC_AT(struct rnic_process_client, reserved, 12);
RNIC_AT(struct rnic_process_client, program, 16);

RNIC_SIZE(struct rnic_process_rows, 16);
RNIC_AT(struct rnic_process_rows, request_id, 0);
RNIC_AT(struct rnic_process_rows, kind, 4);
RNIC_AT(struct rnic_process_rows, cursor, 8);
RNIC_AT(struct rnic_process_rows, reserved, 12);

RNIC_SIZE(struct rnic_process_rows_reply, 24);
RNIC_AT(struct rnic_process_rows_reply, request_id, 0);
RNIC_AT(struct rnic_process_rows_reply, kind, 4);
RNIC_AT(struct rnic_process_rows_reply, row_count, 8);
RNIC_AT(struct rnic_process_rows_reply, row_bytes, 12);
RNIC_AT(struct rnic_process_rows_reply, next, 16);
RNIC_AT(struct rnic_process_rows_reply, reserved, 20);

RNIC_SIZE(struct rnic_process_packet, 40);
RNIC_AT(struct rnic_process_packet, source, 0);
RNIC_AT(struct rnic_process_packet, dest, 16);
RNIC_AT(struct rnic_process_packet, source_port, 32);
RNIC_AT(struct rnic_process_packet, traffic_class, 34);
RNIC_AT(struct rnic_process_packet, hop_limit, 35);
RNIC_AT(struct rnic_process_packet, datagram_bytes, 36);

RNIC_SIZE(struct rnic_process_group, 24);
RNIC_AT(struct rnic_process_group, group, 0);
RNIC_AT(struct rnic_process_group, status, 16);
RNIC_AT(struct rnic_process_group, reserved, 20);

RNIC_SIZE(struct rnic_process_trouble, 272);
RNIC_AT(struct rnic_process_trouble, client_id, 0);
RNIC_AT(struct rnic_process_trouble, undelivered_error, 4);
RNIC_AT(struct rnic_process_trouble, cause, 8);
RNIC_AT(struct rnic_process_trouble, subject, 16);
RNIC_AT(struct rnic_process_trouble, reason, 112);

RNIC_SIZE(struct rnic_process_client_gone, 8);
RNIC_AT(struct rnic_process_client_gone, client_id, 0);
RNIC_AT(struct rnic_process_client_gone, reserved, 4);

RNIC_SIZE(struct rnic_process_probe, 24);
RNIC_AT(struct rnic_process_probe, qpn, 0);
RNIC_AT(struct rnic_process_probe, number, 4);
RNIC_AT(struct rnic_process_probe, status, 8);
RNIC_AT(struct rnic_process_probe, reserved, 12);
RNIC_AT(struct rnic_process_probe, received_packets, 16);

RNIC_SIZE(struct rnic_process_order, 16);
RNIC_AT(struct rnic_process_order, request_id, 0);
RNIC_AT(struct rnic_process_order, condition, 4);
RNIC_AT(struct rnic_process_order, client_id, 8);
RNIC_AT(struct rnic_process_order, number, 12);

RNIC_SIZE(struct rnic_process_order_reply, 168);
RNIC_AT(struct rnic_process_order_reply, request_id, 0);
RNIC_AT(struct rnic_process_order_reply, status, 4);
RNIC_AT(struct rnic_process_order_reply, reason, 8);

RNIC_SIZE(struct rnic_process_rule, 128);
RNIC_AT(struct rnic_process_rule, id, 0);
RNIC_AT(struct rnic_process_rule, reserved, 4);
RNIC_AT(struct rnic_process_rule, seed, 8);
RNIC_AT(struct rnic_process_rule, text, 16);

RNIC_SIZE(struct rnic_process_rules, 8192);
RNIC_AT(struct rnic_process_rules, rules, 0);

RNIC_SIZE(struct rnic_facts_page, 16);
RNIC_AT(struct rnic_facts_page, magic, 0);
RNIC_AT(struct rnic_facts_page, reserved, 4);
RNIC_AT(struct rnic_facts_page, sequence, 8);

RNIC_SIZE(struct rnic_stats_counter, 64);
RNIC_AT(struct rnic_stats_counter, value, 0);
RNIC_AT(struct rnic_stats_counter, kind, 8);
RNIC_AT(struct rnic_stats_counter, reserved, 12);
RNIC_AT(struct rnic_stats_counter, name, 16);

RNIC_SIZE(struct rnic_stats_rule, 16);
RNIC_AT(struct rnic_stats_rule, id, 0);
RNIC_AT(struct rnic_stats_rule, reserved, 4);
RNIC_AT(struct rnic_stats_rule, hits, 8);

RNIC_SIZE(struct rnic_stats_page, 11320);
RNIC_AT(struct rnic_stats_page, magic, 0);
RNIC_AT(struct rnic_stats_page, bytes, 4);
RNIC_AT(struct rnic_stats_page, facts_sequence, 8);
RNIC_AT(struct rnic_stats_page, gids_used, 16);
RNIC_AT(struct rnic_stats_page, session_count, 20);
RNIC_AT(struct rnic_stats_page, pd_count, 24);
RNIC_AT(struct rnic_stats_page, mr_count, 28);
RNIC_AT(struct rnic_stats_page, mw_count, 32);
RNIC_AT(struct rnic_stats_page, cq_count, 36);
RNIC_AT(struct rnic_stats_page, qp_count, 40);
RNIC_AT(struct rnic_stats_page, srq_count, 44);
RNIC_AT(struct rnic_stats_page, counter_count, 48);
RNIC_AT(struct rnic_stats_page, reserved, 52);
RNIC_AT(struct rnic_stats_page, counters, 56);
RNIC_AT(struct rnic_stats_page, rules, 10296);

RNIC_SIZE(struct rnic_stats_file, 416824);
RNIC_AT(struct rnic_stats_file, page, 0);
RNIC_AT(struct rnic_stats_file, qp_owners, 11320);
RNIC_AT(struct rnic_stats_file, record, 273464);

_Static_assert(sizeof(struct rnic_process_header) + sizeof(struct rnic_process_rules) <=
		       RNIC_PROCESS_MESSAGE_BYTES,
	       "the longest message fits");
_Static_assert(_Alignof(struct rnic_process_facts) <= sizeof(struct rnic_process_header),
	       "a payload is aligned when its message is");
