/* SPDX-License-Identifier: MIT */
/* Proof that the messages lie as proto/ctl/README.md draws them. */
#include "proto/base/verb_rules.h"
#include "proto/ctl/ctl_message.h"

#include "proto/base/layout_assert.h"

RNIC_SIZE(struct rnic_gid, 16);
RNIC_AT(struct rnic_gid, bytes, 0);

RNIC_SIZE(struct rnic_path, 32);
RNIC_AT(struct rnic_path, dest_gid, 0);
RNIC_AT(struct rnic_path, flow_label, 16);
RNIC_AT(struct rnic_path, source_gid_index, 20);
RNIC_AT(struct rnic_path, hop_limit, 21);
RNIC_AT(struct rnic_path, traffic_class, 22);
RNIC_AT(struct rnic_path, service_level, 23);
RNIC_AT(struct rnic_path, port, 24);
RNIC_AT(struct rnic_path, is_global, 25);
RNIC_AT(struct rnic_path, reserved, 26);
RNIC_AT(struct rnic_path, dest_lid, 28);
RNIC_AT(struct rnic_path, source_path_bits, 30);
RNIC_AT(struct rnic_path, static_rate, 31);

RNIC_SIZE(struct rnic_qp_attributes, 116);
RNIC_AT(struct rnic_qp_attributes, state, 0);
RNIC_AT(struct rnic_qp_attributes, current_state, 4);
RNIC_AT(struct rnic_qp_attributes, qkey, 8);
RNIC_AT(struct rnic_qp_attributes, rq_psn, 12);
RNIC_AT(struct rnic_qp_attributes, sq_psn, 16);
RNIC_AT(struct rnic_qp_attributes, dest_qpn, 20);
RNIC_AT(struct rnic_qp_attributes, access_flags, 24);
RNIC_AT(struct rnic_qp_attributes, pkey_index, 28);
RNIC_AT(struct rnic_qp_attributes, path_mtu, 30);
RNIC_AT(struct rnic_qp_attributes, max_rd_atomic, 31);
RNIC_AT(struct rnic_qp_attributes, max_dest_rd_atomic, 32);
RNIC_AT(struct rnic_qp_attributes, min_rnr_timer, 33);
RNIC_AT(struct rnic_qp_attributes, port, 34);
RNIC_AT(struct rnic_qp_attributes, timeout, 35);
RNIC_AT(struct rnic_qp_attributes, retry_count, 36);
RNIC_AT(struct rnic_qp_attributes, rnr_retry, 37);
RNIC_AT(struct rnic_qp_attributes, en_sqd_async_notify, 38);
RNIC_AT(struct rnic_qp_attributes, path_migration_state, 39);
RNIC_AT(struct rnic_qp_attributes, sq_draining, 40);
RNIC_AT(struct rnic_qp_attributes, alternate_port, 41);
RNIC_AT(struct rnic_qp_attributes, alternate_timeout, 42);
RNIC_AT(struct rnic_qp_attributes, reserved, 43);
RNIC_AT(struct rnic_qp_attributes, alternate_pkey_index, 44);
RNIC_AT(struct rnic_qp_attributes, reserved_too, 46);
RNIC_AT(struct rnic_qp_attributes, rate_limit_kbps, 48);
RNIC_AT(struct rnic_qp_attributes, path, 52);
RNIC_AT(struct rnic_qp_attributes, alternate_path, 84);

RNIC_SIZE(struct rnic_qp_capacities, 20);
RNIC_AT(struct rnic_qp_capacities, max_send_wr, 0);
RNIC_AT(struct rnic_qp_capacities, max_recv_wr, 4);
RNIC_AT(struct rnic_qp_capacities, max_send_sge, 8);
RNIC_AT(struct rnic_qp_capacities, max_recv_sge, 12);
RNIC_AT(struct rnic_qp_capacities, max_inline_bytes, 16);

RNIC_SIZE(struct rnic_device_attributes, 176);
RNIC_AT(struct rnic_device_attributes, name, 0);
RNIC_AT(struct rnic_device_attributes, netdev, 16);
RNIC_AT(struct rnic_device_attributes, firmware, 32);
RNIC_AT(struct rnic_device_attributes, node_guid, 48);
RNIC_AT(struct rnic_device_attributes, max_mr_bytes, 56);
RNIC_AT(struct rnic_device_attributes, page_sizes, 64);
RNIC_AT(struct rnic_device_attributes, vendor_id, 72);
RNIC_AT(struct rnic_device_attributes, vendor_part_id, 76);
RNIC_AT(struct rnic_device_attributes, hardware_version, 80);
RNIC_AT(struct rnic_device_attributes, netdev_index, 84);
RNIC_AT(struct rnic_device_attributes, max_qp, 88);
RNIC_AT(struct rnic_device_attributes, max_qp_wr, 92);
RNIC_AT(struct rnic_device_attributes, max_sge, 96);
RNIC_AT(struct rnic_device_attributes, max_inline_bytes, 100);
RNIC_AT(struct rnic_device_attributes, max_cq, 104);
RNIC_AT(struct rnic_device_attributes, max_cqe, 108);
RNIC_AT(struct rnic_device_attributes, max_mr, 112);
RNIC_AT(struct rnic_device_attributes, max_pd, 116);
RNIC_AT(struct rnic_device_attributes, max_ah, 120);
RNIC_AT(struct rnic_device_attributes, max_srq, 124);
RNIC_AT(struct rnic_device_attributes, max_srq_wr, 128);
RNIC_AT(struct rnic_device_attributes, max_srq_sge, 132);
RNIC_AT(struct rnic_device_attributes, max_mw, 136);
RNIC_AT(struct rnic_device_attributes, max_mcast_groups, 140);
RNIC_AT(struct rnic_device_attributes, max_qp_rd_atomic, 144);
RNIC_AT(struct rnic_device_attributes, max_message_bytes, 148);
RNIC_AT(struct rnic_device_attributes, gid_count, 152);
RNIC_AT(struct rnic_device_attributes, pkey_count, 156);
RNIC_AT(struct rnic_device_attributes, completion_vectors, 160);
RNIC_AT(struct rnic_device_attributes, local_ack_delay, 164);
RNIC_AT(struct rnic_device_attributes, features, 168);

RNIC_SIZE(struct rnic_ctl_header, 24);
RNIC_AT(struct rnic_ctl_header, magic, 0);
RNIC_AT(struct rnic_ctl_header, version, 4);
RNIC_AT(struct rnic_ctl_header, operation, 6);
RNIC_AT(struct rnic_ctl_header, request_id, 8);
RNIC_AT(struct rnic_ctl_header, bytes, 12);
RNIC_AT(struct rnic_ctl_header, status, 16);
RNIC_AT(struct rnic_ctl_header, reserved, 20);

RNIC_SIZE(struct rnic_ctl_refusal, 160);
RNIC_AT(struct rnic_ctl_refusal, reason, 0);

RNIC_SIZE(struct rnic_handle, 8);
RNIC_AT(struct rnic_handle, slot, 0);
RNIC_AT(struct rnic_handle, generation, 4);

RNIC_SIZE(struct rnic_ctl_object, 8);
RNIC_AT(struct rnic_ctl_object, handle, 0);

RNIC_SIZE(struct rnic_ctl_hello, 32);
RNIC_AT(struct rnic_ctl_hello, version_min, 0);
RNIC_AT(struct rnic_ctl_hello, version_max, 2);
RNIC_AT(struct rnic_ctl_hello, flags, 4);
RNIC_AT(struct rnic_ctl_hello, features, 8);
RNIC_AT(struct rnic_ctl_hello, program, 16);

RNIC_SIZE(struct rnic_ctl_hello_reply, 192);
RNIC_AT(struct rnic_ctl_hello_reply, version, 0);
RNIC_AT(struct rnic_ctl_hello_reply, flags, 2);
RNIC_AT(struct rnic_ctl_hello_reply, client_id, 4);
RNIC_AT(struct rnic_ctl_hello_reply, features, 8);
RNIC_AT(struct rnic_ctl_hello_reply, device, 16);

RNIC_SIZE(struct rnic_ctl_verb_rules_reply, 24);
RNIC_AT(struct rnic_ctl_verb_rules_reply, pid, 0);
RNIC_AT(struct rnic_ctl_verb_rules_reply, reserved, 4);
RNIC_AT(struct rnic_ctl_verb_rules_reply, program, 8);

RNIC_SIZE(struct rnic_rule_often, 64);
RNIC_AT(struct rnic_rule_often, from_ns, 0);
RNIC_AT(struct rnic_rule_often, for_ns, 8);
RNIC_AT(struct rnic_rule_often, first, 16);
RNIC_AT(struct rnic_rule_often, every, 24);
RNIC_AT(struct rnic_rule_often, nth, 32);
RNIC_AT(struct rnic_rule_often, count, 40);
RNIC_AT(struct rnic_rule_often, pattern, 48);
RNIC_AT(struct rnic_rule_often, pattern_steps, 56);
RNIC_AT(struct rnic_rule_often, chance_ppm, 60);

RNIC_SIZE(struct rnic_verb_rule, 144);
RNIC_AT(struct rnic_verb_rule, id, 0);
RNIC_AT(struct rnic_verb_rule, action, 4);
RNIC_AT(struct rnic_verb_rule, calls, 8);
RNIC_AT(struct rnic_verb_rule, value, 16);
RNIC_AT(struct rnic_verb_rule, pid, 20);
RNIC_AT(struct rnic_verb_rule, qpn, 24);
RNIC_AT(struct rnic_verb_rule, has_qpn, 28);
RNIC_AT(struct rnic_verb_rule, delay_ns, 32);
RNIC_AT(struct rnic_verb_rule, jitter_ns, 40);
RNIC_AT(struct rnic_verb_rule, seed, 48);
RNIC_AT(struct rnic_verb_rule, loaded_ns, 56);
RNIC_AT(struct rnic_verb_rule, often, 64);
RNIC_AT(struct rnic_verb_rule, program, 128);

RNIC_SIZE(struct rnic_verb_rules_page, 16 + 144 * RNIC_VERB_RULES_MAX);
RNIC_AT(struct rnic_verb_rules_page, magic, 0);
RNIC_AT(struct rnic_verb_rules_page, reserved, 4);
RNIC_AT(struct rnic_verb_rules_page, kinds, 8);
RNIC_AT(struct rnic_verb_rules_page, sequence, 12);
RNIC_AT(struct rnic_verb_rules_page, rules, 16);

RNIC_SIZE(struct rnic_ctl_open_device, 8);
RNIC_AT(struct rnic_ctl_open_device, flags, 0);
RNIC_AT(struct rnic_ctl_open_device, reserved, 4);

RNIC_SIZE(struct rnic_ctl_open_device_reply, 8);
RNIC_AT(struct rnic_ctl_open_device_reply, client_id, 0);
RNIC_AT(struct rnic_ctl_open_device_reply, reserved, 4);

RNIC_SIZE(struct rnic_ctl_port_reply, 20);
RNIC_AT(struct rnic_ctl_port_reply, state, 0);
RNIC_AT(struct rnic_ctl_port_reply, max_mtu, 4);
RNIC_AT(struct rnic_ctl_port_reply, active_mtu, 5);
RNIC_AT(struct rnic_ctl_port_reply, own_gid_index, 6);
RNIC_AT(struct rnic_ctl_port_reply, reserved, 7);
RNIC_AT(struct rnic_ctl_port_reply, max_message_bytes, 8);
RNIC_AT(struct rnic_ctl_port_reply, gid_count, 12);
RNIC_AT(struct rnic_ctl_port_reply, speed_mbps, 16);

RNIC_SIZE(struct rnic_gid_entry, 24);
RNIC_AT(struct rnic_gid_entry, gid, 0);
RNIC_AT(struct rnic_gid_entry, netdev_index, 16);
RNIC_AT(struct rnic_gid_entry, reserved, 20);

RNIC_SIZE(struct rnic_ctl_pkeys_reply, 32);
RNIC_AT(struct rnic_ctl_pkeys_reply, pkeys, 0);

RNIC_SIZE(struct rnic_ctl_gids_reply, 776);
RNIC_AT(struct rnic_ctl_gids_reply, count, 0);
RNIC_AT(struct rnic_ctl_gids_reply, reserved, 4);
RNIC_AT(struct rnic_ctl_gids_reply, entries, 8);

RNIC_SIZE(struct rnic_ctl_pd_reply, 8);
RNIC_AT(struct rnic_ctl_pd_reply, pd, 0);

RNIC_SIZE(struct rnic_ctl_watch_memory, 8);
RNIC_AT(struct rnic_ctl_watch_memory, watch, 0);
RNIC_AT(struct rnic_ctl_watch_memory, has_descriptor, 4);

RNIC_SIZE(struct rnic_ctl_register_mr, 48);
RNIC_AT(struct rnic_ctl_register_mr, pd, 0);
RNIC_AT(struct rnic_ctl_register_mr, access, 8);
RNIC_AT(struct rnic_ctl_register_mr, mode, 12);
RNIC_AT(struct rnic_ctl_register_mr, address, 16);
RNIC_AT(struct rnic_ctl_register_mr, length, 24);
RNIC_AT(struct rnic_ctl_register_mr, iova, 32);
RNIC_AT(struct rnic_ctl_register_mr, memfd_offset, 40);

RNIC_SIZE(struct rnic_ctl_reregister_mr, 56);
RNIC_AT(struct rnic_ctl_reregister_mr, wanted, 0);
RNIC_AT(struct rnic_ctl_reregister_mr, mr, 48);

RNIC_SIZE(struct rnic_ctl_register_mr_reply, 16);
RNIC_AT(struct rnic_ctl_register_mr_reply, mr, 0);
RNIC_AT(struct rnic_ctl_register_mr_reply, lkey, 8);
RNIC_AT(struct rnic_ctl_register_mr_reply, rkey, 12);

RNIC_SIZE(struct rnic_ctl_alloc_mw, 16);
RNIC_AT(struct rnic_ctl_alloc_mw, pd, 0);
RNIC_AT(struct rnic_ctl_alloc_mw, type, 8);
RNIC_AT(struct rnic_ctl_alloc_mw, reserved, 12);

RNIC_SIZE(struct rnic_ctl_alloc_mw_reply, 16);
RNIC_AT(struct rnic_ctl_alloc_mw_reply, mw, 0);
RNIC_AT(struct rnic_ctl_alloc_mw_reply, rkey, 8);
RNIC_AT(struct rnic_ctl_alloc_mw_reply, reserved, 12);

RNIC_SIZE(struct rnic_ctl_import_pd, 8);
RNIC_AT(struct rnic_ctl_import_pd, name, 0);
RNIC_AT(struct rnic_ctl_import_pd, reserved, 4);

RNIC_SIZE(struct rnic_ctl_import_mr, 16);
RNIC_AT(struct rnic_ctl_import_mr, pd, 0);
RNIC_AT(struct rnic_ctl_import_mr, name, 8);
RNIC_AT(struct rnic_ctl_import_mr, reserved, 12);

RNIC_SIZE(struct rnic_ctl_import_mr_reply, 16);
RNIC_AT(struct rnic_ctl_import_mr_reply, length, 0);
RNIC_AT(struct rnic_ctl_import_mr_reply, lkey, 8);
RNIC_AT(struct rnic_ctl_import_mr_reply, rkey, 12);

RNIC_SIZE(struct rnic_ctl_channel_reply, 8);
RNIC_AT(struct rnic_ctl_channel_reply, channel, 0);

RNIC_SIZE(struct rnic_ctl_create_cq, 24);
RNIC_AT(struct rnic_ctl_create_cq, entries, 0);
RNIC_AT(struct rnic_ctl_create_cq, completion_vector, 4);
RNIC_AT(struct rnic_ctl_create_cq, channel, 8);
RNIC_AT(struct rnic_ctl_create_cq, flags, 16);
RNIC_AT(struct rnic_ctl_create_cq, reserved, 20);

RNIC_SIZE(struct rnic_ctl_cq_reply, 16);
RNIC_AT(struct rnic_ctl_cq_reply, cq, 0);
RNIC_AT(struct rnic_ctl_cq_reply, entries, 8);
RNIC_AT(struct rnic_ctl_cq_reply, slots, 12);

RNIC_SIZE(struct rnic_ctl_resize_cq, 16);
RNIC_AT(struct rnic_ctl_resize_cq, cq, 0);
RNIC_AT(struct rnic_ctl_resize_cq, entries, 8);
RNIC_AT(struct rnic_ctl_resize_cq, reserved, 12);

RNIC_SIZE(struct rnic_ctl_create_queue_region, 8);
RNIC_AT(struct rnic_ctl_create_queue_region, bytes, 0);

RNIC_SIZE(struct rnic_ctl_queue_region_reply, 8);
RNIC_AT(struct rnic_ctl_queue_region_reply, queue_region, 0);

RNIC_SIZE(struct rnic_ctl_create_qp, 96);
RNIC_AT(struct rnic_ctl_create_qp, pd, 0);
RNIC_AT(struct rnic_ctl_create_qp, send_cq, 8);
RNIC_AT(struct rnic_ctl_create_qp, recv_cq, 16);
RNIC_AT(struct rnic_ctl_create_qp, srq, 24);
RNIC_AT(struct rnic_ctl_create_qp, type, 32);
RNIC_AT(struct rnic_ctl_create_qp, signal_all, 36);
RNIC_AT(struct rnic_ctl_create_qp, capacities, 40);
RNIC_AT(struct rnic_ctl_create_qp, reserved, 60);
RNIC_AT(struct rnic_ctl_create_qp, xrcd, 64);
RNIC_AT(struct rnic_ctl_create_qp, queue_region, 72);
RNIC_AT(struct rnic_ctl_create_qp, entries_offset, 80);
RNIC_AT(struct rnic_ctl_create_qp, spill_offset, 88);

RNIC_SIZE(struct rnic_ctl_create_qp_reply, 12);
RNIC_AT(struct rnic_ctl_create_qp_reply, qp, 0);
RNIC_AT(struct rnic_ctl_create_qp_reply, qpn, 8);

RNIC_SIZE(struct rnic_ctl_modify_qp, 132);
RNIC_AT(struct rnic_ctl_modify_qp, qp, 0);
RNIC_AT(struct rnic_ctl_modify_qp, mask, 8);
RNIC_AT(struct rnic_ctl_modify_qp, rts_mask, 12);
RNIC_AT(struct rnic_ctl_modify_qp, attributes, 16);

RNIC_SIZE(struct rnic_ctl_query_qp_reply, 140);
RNIC_AT(struct rnic_ctl_query_qp_reply, attributes, 0);
RNIC_AT(struct rnic_ctl_query_qp_reply, capacities, 116);
RNIC_AT(struct rnic_ctl_query_qp_reply, signal_all, 136);

RNIC_SIZE(struct rnic_srq_attributes, 12);
RNIC_AT(struct rnic_srq_attributes, max_wr, 0);
RNIC_AT(struct rnic_srq_attributes, max_sge, 4);
RNIC_AT(struct rnic_srq_attributes, limit, 8);

RNIC_SIZE(struct rnic_ctl_create_srq, 40);
RNIC_AT(struct rnic_ctl_create_srq, pd, 0);
RNIC_AT(struct rnic_ctl_create_srq, xrcd, 8);
RNIC_AT(struct rnic_ctl_create_srq, cq, 16);
RNIC_AT(struct rnic_ctl_create_srq, wanted, 24);
RNIC_AT(struct rnic_ctl_create_srq, reserved, 36);

RNIC_SIZE(struct rnic_ctl_create_srq_reply, 24);
RNIC_AT(struct rnic_ctl_create_srq_reply, srq, 0);
RNIC_AT(struct rnic_ctl_create_srq_reply, number, 8);
RNIC_AT(struct rnic_ctl_create_srq_reply, granted, 12);

RNIC_SIZE(struct rnic_ctl_modify_srq, 24);
RNIC_AT(struct rnic_ctl_modify_srq, srq, 0);
RNIC_AT(struct rnic_ctl_modify_srq, mask, 8);
RNIC_AT(struct rnic_ctl_modify_srq, attributes, 12);

RNIC_SIZE(struct rnic_ctl_resize_srq_reply, 12);
RNIC_AT(struct rnic_ctl_resize_srq_reply, granted, 0);

RNIC_SIZE(struct rnic_ctl_query_srq_reply, 12);
RNIC_AT(struct rnic_ctl_query_srq_reply, attributes, 0);

RNIC_SIZE(struct rnic_ctl_open_xrcd, 8);
RNIC_AT(struct rnic_ctl_open_xrcd, flags, 0);
RNIC_AT(struct rnic_ctl_open_xrcd, reserved, 4);

RNIC_SIZE(struct rnic_ctl_xrcd_reply, 8);
RNIC_AT(struct rnic_ctl_xrcd_reply, xrcd, 0);

RNIC_SIZE(struct rnic_ctl_open_qp, 16);
RNIC_AT(struct rnic_ctl_open_qp, xrcd, 0);
RNIC_AT(struct rnic_ctl_open_qp, qpn, 8);
RNIC_AT(struct rnic_ctl_open_qp, reserved, 12);

RNIC_SIZE(struct rnic_ctl_open_qp_reply, 16);
RNIC_AT(struct rnic_ctl_open_qp_reply, qp, 0);
RNIC_AT(struct rnic_ctl_open_qp_reply, state, 8);
RNIC_AT(struct rnic_ctl_open_qp_reply, reserved, 12);

RNIC_SIZE(struct rnic_ctl_create_ah, 40);
RNIC_AT(struct rnic_ctl_create_ah, pd, 0);
RNIC_AT(struct rnic_ctl_create_ah, path, 8);

RNIC_SIZE(struct rnic_ctl_ah_reply, 8);
RNIC_AT(struct rnic_ctl_ah_reply, ah, 0);

RNIC_SIZE(struct rnic_ctl_mcast, 24);
RNIC_AT(struct rnic_ctl_mcast, qp, 0);
RNIC_AT(struct rnic_ctl_mcast, group, 8);

RNIC_SIZE(struct rnic_show_fault, 144);
RNIC_AT(struct rnic_show_fault, id, 0);
RNIC_AT(struct rnic_show_fault, uid, 4);
RNIC_AT(struct rnic_show_fault, is_of_all, 8);
RNIC_AT(struct rnic_show_fault, actor, 12);
RNIC_AT(struct rnic_show_fault, hits, 16);
RNIC_AT(struct rnic_show_fault, seed, 24);
RNIC_AT(struct rnic_show_fault, text, 32);

RNIC_SIZE(struct rnic_ctl_condition, 1040);
RNIC_AT(struct rnic_ctl_condition, text, 16);
RNIC_AT(struct rnic_ctl_condition, condition, 0);
RNIC_AT(struct rnic_ctl_condition, client_id, 4);
RNIC_AT(struct rnic_ctl_condition, number, 8);
RNIC_AT(struct rnic_ctl_condition, reserved, 12);

RNIC_SIZE(struct rnic_ctl_condition_reply, 160);
RNIC_AT(struct rnic_ctl_condition_reply, text, 0);

RNIC_SIZE(struct rnic_ctl_show, 8);
RNIC_AT(struct rnic_ctl_show, kind, 0);
RNIC_AT(struct rnic_ctl_show, cursor, 4);

RNIC_SIZE(struct rnic_ctl_show_reply, 16);
RNIC_AT(struct rnic_ctl_show_reply, kind, 0);
RNIC_AT(struct rnic_ctl_show_reply, row_count, 4);
RNIC_AT(struct rnic_ctl_show_reply, row_bytes, 8);
RNIC_AT(struct rnic_ctl_show_reply, next, 12);

RNIC_SIZE(struct rnic_show_device, 1352);
RNIC_AT(struct rnic_show_device, device, 0);
RNIC_AT(struct rnic_show_device, port, 176);
RNIC_AT(struct rnic_show_device, udp_port, 196);
RNIC_AT(struct rnic_show_device, poll, 212);
RNIC_AT(struct rnic_show_device, segmentation, 228);
RNIC_AT(struct rnic_show_device, pid, 244);
RNIC_AT(struct rnic_show_device, client_count, 248);
RNIC_AT(struct rnic_show_device, qp_count, 252);
RNIC_AT(struct rnic_show_device, mr_count, 256);
RNIC_AT(struct rnic_show_device, cq_count, 260);
RNIC_AT(struct rnic_show_device, pd_count, 264);
RNIC_AT(struct rnic_show_device, mw_count, 268);
RNIC_AT(struct rnic_show_device, gids, 272);
RNIC_AT(struct rnic_show_device, srq_count, 1048);
RNIC_AT(struct rnic_show_device, lane_count, 1052);
RNIC_AT(struct rnic_show_device, ecn, 1056);
RNIC_AT(struct rnic_show_device, pkeys, 1072);
RNIC_AT(struct rnic_show_device, lanes, 1184);
RNIC_AT(struct rnic_show_device, source_ports, 1248);
RNIC_AT(struct rnic_show_device, unused_addresses, 1344);

RNIC_SIZE(struct rnic_show_client, 72);
RNIC_AT(struct rnic_show_client, client_id, 0);
RNIC_AT(struct rnic_show_client, pid, 4);
RNIC_AT(struct rnic_show_client, uid, 8);
RNIC_AT(struct rnic_show_client, qp_count, 12);
RNIC_AT(struct rnic_show_client, mr_count, 16);
RNIC_AT(struct rnic_show_client, cq_count, 20);
RNIC_AT(struct rnic_show_client, pd_count, 24);
RNIC_AT(struct rnic_show_client, mw_count, 28);
RNIC_AT(struct rnic_show_client, registered_bytes, 32);
RNIC_AT(struct rnic_show_client, program, 40);
RNIC_AT(struct rnic_show_client, srq_count, 56);
RNIC_AT(struct rnic_show_client, stop, 60);
RNIC_AT(struct rnic_show_client, open_ms, 64);

RNIC_SIZE(struct rnic_show_qp, 632);
RNIC_AT(struct rnic_show_qp, client_id, 0);
RNIC_AT(struct rnic_show_qp, qpn, 4);
RNIC_AT(struct rnic_show_qp, type, 8);
RNIC_AT(struct rnic_show_qp, state, 12);
RNIC_AT(struct rnic_show_qp, peer_qpn, 16);
RNIC_AT(struct rnic_show_qp, path_mtu_bytes, 20);
RNIC_AT(struct rnic_show_qp, peer_gid, 24);
RNIC_AT(struct rnic_show_qp, send_posted, 40);
RNIC_AT(struct rnic_show_qp, recv_posted, 44);
RNIC_AT(struct rnic_show_qp, send_psn, 48);
RNIC_AT(struct rnic_show_qp, unacknowledged_psn, 52);
RNIC_AT(struct rnic_show_qp, expected_psn, 56);
RNIC_AT(struct rnic_show_qp, packets_in_flight, 60);
RNIC_AT(struct rnic_show_qp, sent_packets, 64);
RNIC_AT(struct rnic_show_qp, received_packets, 72);
RNIC_AT(struct rnic_show_qp, sent_bytes, 80);
RNIC_AT(struct rnic_show_qp, received_bytes, 88);
RNIC_AT(struct rnic_show_qp, retransmitted_packets, 96);
RNIC_AT(struct rnic_show_qp, timeouts, 104);
RNIC_AT(struct rnic_show_qp, rnr_naks_received, 112);
RNIC_AT(struct rnic_show_qp, sequence_naks_received, 120);
RNIC_AT(struct rnic_show_qp, duplicates_received, 128);
RNIC_AT(struct rnic_show_qp, completions, 136);
RNIC_AT(struct rnic_show_qp, last_error, 144);
RNIC_AT(struct rnic_show_qp, waiting_for, 304);
RNIC_AT(struct rnic_show_qp, peer_kind, 464);
RNIC_AT(struct rnic_show_qp, peer_port, 468);
RNIC_AT(struct rnic_show_qp, timeout, 472);

RNIC_SIZE(struct rnic_show_path, 72);
RNIC_AT(struct rnic_show_path, client_id, 0);
RNIC_AT(struct rnic_show_path, qp_count, 4);
RNIC_AT(struct rnic_show_path, peer_gid, 8);
RNIC_AT(struct rnic_show_path, limit, 24);
RNIC_AT(struct rnic_show_path, reserved, 28);
RNIC_AT(struct rnic_show_path, least_round_trip_us, 32);
RNIC_AT(struct rnic_show_path, smoothed_round_trip_us, 40);
RNIC_AT(struct rnic_show_path, rate_mbit_per_s, 48);
RNIC_AT(struct rnic_show_path, window_bytes, 56);
RNIC_AT(struct rnic_show_path, in_flight_bytes, 64);

RNIC_SIZE(struct rnic_show_mr, 40);
RNIC_AT(struct rnic_show_mr, client_id, 0);
RNIC_AT(struct rnic_show_mr, lkey, 4);
RNIC_AT(struct rnic_show_mr, rkey, 8);
RNIC_AT(struct rnic_show_mr, access, 12);
RNIC_AT(struct rnic_show_mr, iova, 16);
RNIC_AT(struct rnic_show_mr, length, 24);
RNIC_AT(struct rnic_show_mr, mode, 32);
RNIC_AT(struct rnic_show_mr, watch, 36);

RNIC_SIZE(struct rnic_show_mw, 48);
RNIC_AT(struct rnic_show_mw, client_id, 0);
RNIC_AT(struct rnic_show_mw, type, 4);
RNIC_AT(struct rnic_show_mw, rkey, 8);
RNIC_AT(struct rnic_show_mw, is_bound, 12);
RNIC_AT(struct rnic_show_mw, access, 16);
RNIC_AT(struct rnic_show_mw, lkey, 20);
RNIC_AT(struct rnic_show_mw, qpn, 24);
RNIC_AT(struct rnic_show_mw, reserved, 28);
RNIC_AT(struct rnic_show_mw, iova, 32);
RNIC_AT(struct rnic_show_mw, length, 40);

RNIC_SIZE(struct rnic_show_cq, 40);
RNIC_AT(struct rnic_show_cq, client_id, 0);
RNIC_AT(struct rnic_show_cq, slot, 4);
RNIC_AT(struct rnic_show_cq, entries, 8);
RNIC_AT(struct rnic_show_cq, used, 12);
RNIC_AT(struct rnic_show_cq, armed, 16);
RNIC_AT(struct rnic_show_cq, overrun, 20);
RNIC_AT(struct rnic_show_cq, completions, 24);
RNIC_AT(struct rnic_show_cq, users, 32);
RNIC_AT(struct rnic_show_cq, number, 36);

RNIC_SIZE(struct rnic_show_pd, 16);
RNIC_AT(struct rnic_show_pd, client_id, 0);
RNIC_AT(struct rnic_show_pd, slot, 4);
RNIC_AT(struct rnic_show_pd, users, 8);
RNIC_AT(struct rnic_show_pd, number, 12);

RNIC_SIZE(struct rnic_show_srq, 32);
RNIC_AT(struct rnic_show_srq, client_id, 0);
RNIC_AT(struct rnic_show_srq, number, 4);
RNIC_AT(struct rnic_show_srq, qp_count, 8);
RNIC_AT(struct rnic_show_srq, max_wr, 12);
RNIC_AT(struct rnic_show_srq, max_sge, 16);
RNIC_AT(struct rnic_show_srq, limit, 20);
RNIC_AT(struct rnic_show_srq, posted, 24);
RNIC_AT(struct rnic_show_srq, is_xrc, 28);

RNIC_SIZE(struct rnic_show_trouble, 296);
RNIC_AT(struct rnic_show_trouble, age_ms, 0);
RNIC_AT(struct rnic_show_trouble, pid, 8);
RNIC_AT(struct rnic_show_trouble, uid, 12);
RNIC_AT(struct rnic_show_trouble, cause, 16);
RNIC_AT(struct rnic_show_trouble, program, 24);
RNIC_AT(struct rnic_show_trouble, subject, 40);
RNIC_AT(struct rnic_show_trouble, reason, 136);

RNIC_SIZE(struct rnic_show_record, 72);
RNIC_AT(struct rnic_show_record, client_id, 0);
RNIC_AT(struct rnic_show_record, pid, 4);
RNIC_AT(struct rnic_show_record, uid, 8);
RNIC_AT(struct rnic_show_record, qpn, 12);
RNIC_AT(struct rnic_show_record, age_us, 16);
RNIC_AT(struct rnic_show_record, peer_qpn, 24);
RNIC_AT(struct rnic_show_record, event, 28);
RNIC_AT(struct rnic_show_record, detail, 32);
RNIC_AT(struct rnic_show_record, extra, 36);
RNIC_AT(struct rnic_show_record, run, 40);
RNIC_AT(struct rnic_show_record, psn, 44);
RNIC_AT(struct rnic_show_record, value, 48);
RNIC_AT(struct rnic_show_record, gaps, 52);
RNIC_AT(struct rnic_show_record, program, 56);

RNIC_SIZE(struct rnic_show_counter, 56);
RNIC_AT(struct rnic_show_counter, name, 0);
RNIC_AT(struct rnic_show_counter, value, 48);
