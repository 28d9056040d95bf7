/* SPDX-License-Identifier: MIT */
/* Proof that the messages of the connection manager lie as proto/ctl/README.md says. */
#include "proto/ctl/ctl_cm.h"

#include "proto/base/layout_assert.h"

RNIC_SIZE(struct rnic_endpoint, 24);
RNIC_AT(struct rnic_endpoint, address, 0);
RNIC_AT(struct rnic_endpoint, scope_id, 16);
RNIC_AT(struct rnic_endpoint, port, 20);
RNIC_AT(struct rnic_endpoint, family, 22);
RNIC_AT(struct rnic_endpoint, reserved, 23);

RNIC_SIZE(struct rnic_cm_parameters, 284);
RNIC_AT(struct rnic_cm_parameters, qpn, 0);
RNIC_AT(struct rnic_cm_parameters, qkey, 4);
RNIC_AT(struct rnic_cm_parameters, starting_psn, 8);
RNIC_AT(struct rnic_cm_parameters, responder_resources, 12);
RNIC_AT(struct rnic_cm_parameters, initiator_depth, 13);
RNIC_AT(struct rnic_cm_parameters, flow_control, 14);
RNIC_AT(struct rnic_cm_parameters, retry_count, 15);
RNIC_AT(struct rnic_cm_parameters, rnr_retry_count, 16);
RNIC_AT(struct rnic_cm_parameters, has_srq, 17);
RNIC_AT(struct rnic_cm_parameters, qp_type, 18);
RNIC_AT(struct rnic_cm_parameters, private_data_bytes, 19);
RNIC_AT(struct rnic_cm_parameters, ece_vendor_id, 20);
RNIC_AT(struct rnic_cm_parameters, ece_options, 24);
RNIC_AT(struct rnic_cm_parameters, private_data, 28);

RNIC_SIZE(struct rnic_ctl_cm_channel_reply, 8);
RNIC_AT(struct rnic_ctl_cm_channel_reply, channel, 0);

RNIC_SIZE(struct rnic_ctl_cm_send_events, 16);
RNIC_AT(struct rnic_ctl_cm_send_events, channel, 0);
RNIC_AT(struct rnic_ctl_cm_send_events, taken, 8);
RNIC_AT(struct rnic_ctl_cm_send_events, reserved, 12);

RNIC_SIZE(struct rnic_ctl_cm_create_id, 16);
RNIC_AT(struct rnic_ctl_cm_create_id, channel, 0);
RNIC_AT(struct rnic_ctl_cm_create_id, port_space, 8);
RNIC_AT(struct rnic_ctl_cm_create_id, qp_type, 12);

RNIC_SIZE(struct rnic_ctl_cm_id_reply, 8);
RNIC_AT(struct rnic_ctl_cm_id_reply, id, 0);

RNIC_SIZE(struct rnic_ctl_cm_destroy_id, 16);
RNIC_AT(struct rnic_ctl_cm_destroy_id, id, 0);
RNIC_AT(struct rnic_ctl_cm_destroy_id, taken, 8);
RNIC_AT(struct rnic_ctl_cm_destroy_id, reserved, 12);

RNIC_SIZE(struct rnic_ctl_cm_migrate, 24);
RNIC_AT(struct rnic_ctl_cm_migrate, id, 0);
RNIC_AT(struct rnic_ctl_cm_migrate, channel, 8);
RNIC_AT(struct rnic_ctl_cm_migrate, taken, 16);
RNIC_AT(struct rnic_ctl_cm_migrate, reserved, 20);

RNIC_SIZE(struct rnic_ctl_cm_set_option, 16);
RNIC_AT(struct rnic_ctl_cm_set_option, id, 0);
RNIC_AT(struct rnic_ctl_cm_set_option, option, 8);
RNIC_AT(struct rnic_ctl_cm_set_option, value, 12);

RNIC_SIZE(struct rnic_ctl_cm_bind, 32);
RNIC_AT(struct rnic_ctl_cm_bind, id, 0);
RNIC_AT(struct rnic_ctl_cm_bind, local, 8);

RNIC_SIZE(struct rnic_ctl_cm_endpoints_reply, 88);
RNIC_AT(struct rnic_ctl_cm_endpoints_reply, local, 0);
RNIC_AT(struct rnic_ctl_cm_endpoints_reply, peer, 24);
RNIC_AT(struct rnic_ctl_cm_endpoints_reply, path, 48);
RNIC_AT(struct rnic_ctl_cm_endpoints_reply, path_mtu, 80);
RNIC_AT(struct rnic_ctl_cm_endpoints_reply, reserved, 84);

RNIC_SIZE(struct rnic_ctl_cm_resolve_address, 64);
RNIC_AT(struct rnic_ctl_cm_resolve_address, id, 0);
RNIC_AT(struct rnic_ctl_cm_resolve_address, source, 8);
RNIC_AT(struct rnic_ctl_cm_resolve_address, destination, 32);
RNIC_AT(struct rnic_ctl_cm_resolve_address, timeout_ms, 56);
RNIC_AT(struct rnic_ctl_cm_resolve_address, reserved, 60);

RNIC_SIZE(struct rnic_ctl_cm_resolve_route, 16);
RNIC_AT(struct rnic_ctl_cm_resolve_route, id, 0);
RNIC_AT(struct rnic_ctl_cm_resolve_route, timeout_ms, 8);
RNIC_AT(struct rnic_ctl_cm_resolve_route, reserved, 12);

RNIC_SIZE(struct rnic_ctl_cm_listen, 16);
RNIC_AT(struct rnic_ctl_cm_listen, id, 0);
RNIC_AT(struct rnic_ctl_cm_listen, backlog, 8);
RNIC_AT(struct rnic_ctl_cm_listen, reserved, 12);

RNIC_SIZE(struct rnic_ctl_cm_connect, 300);
RNIC_AT(struct rnic_ctl_cm_connect, id, 0);
RNIC_AT(struct rnic_ctl_cm_connect, reject_reason, 8);
RNIC_AT(struct rnic_ctl_cm_connect, ends_by_call, 12);
RNIC_AT(struct rnic_ctl_cm_connect, parameters, 16);

RNIC_SIZE(struct rnic_ctl_cm_notify, 16);
RNIC_AT(struct rnic_ctl_cm_notify, id, 0);
RNIC_AT(struct rnic_ctl_cm_notify, event, 8);
RNIC_AT(struct rnic_ctl_cm_notify, reserved, 12);

RNIC_SIZE(struct rnic_ctl_cm_qp_attributes, 16);
RNIC_AT(struct rnic_ctl_cm_qp_attributes, id, 0);
RNIC_AT(struct rnic_ctl_cm_qp_attributes, state, 8);
RNIC_AT(struct rnic_ctl_cm_qp_attributes, next_state, 12);

RNIC_SIZE(struct rnic_ctl_cm_qp_attributes_reply, 120);
RNIC_AT(struct rnic_ctl_cm_qp_attributes_reply, attributes, 0);
RNIC_AT(struct rnic_ctl_cm_qp_attributes_reply, mask, 116);

RNIC_SIZE(struct rnic_ctl_cm_multicast, 40);
RNIC_AT(struct rnic_ctl_cm_multicast, id, 0);
RNIC_AT(struct rnic_ctl_cm_multicast, group, 8);
RNIC_AT(struct rnic_ctl_cm_multicast, is_send_only, 32);
RNIC_AT(struct rnic_ctl_cm_multicast, reserved, 36);

RNIC_SIZE(struct rnic_ctl_cm_event, 524);
RNIC_AT(struct rnic_ctl_cm_event, type, 0);
RNIC_AT(struct rnic_ctl_cm_event, status, 4);
RNIC_AT(struct rnic_ctl_cm_event, id, 8);
RNIC_AT(struct rnic_ctl_cm_event, listener, 16);
RNIC_AT(struct rnic_ctl_cm_event, local, 24);
RNIC_AT(struct rnic_ctl_cm_event, peer, 48);
RNIC_AT(struct rnic_ctl_cm_event, path, 72);
RNIC_AT(struct rnic_ctl_cm_event, path_mtu, 104);
RNIC_AT(struct rnic_ctl_cm_event, port_space, 108);
RNIC_AT(struct rnic_ctl_cm_event, parameters, 112);
RNIC_AT(struct rnic_ctl_cm_event, attributes, 396);
RNIC_AT(struct rnic_ctl_cm_event, mask, 512);
RNIC_AT(struct rnic_ctl_cm_event, is_last, 516);
RNIC_AT(struct rnic_ctl_cm_event, moves, 520);

RNIC_SIZE(struct rnic_show_cm, 416);
RNIC_AT(struct rnic_show_cm, client_id, 0);
RNIC_AT(struct rnic_show_cm, slot, 4);
RNIC_AT(struct rnic_show_cm, port_space, 8);
RNIC_AT(struct rnic_show_cm, qp_type, 12);
RNIC_AT(struct rnic_show_cm, local, 16);
RNIC_AT(struct rnic_show_cm, peer, 32);
RNIC_AT(struct rnic_show_cm, local_port, 48);
RNIC_AT(struct rnic_show_cm, peer_port, 52);
RNIC_AT(struct rnic_show_cm, waiting_events, 56);
RNIC_AT(struct rnic_show_cm, number, 60);
RNIC_AT(struct rnic_show_cm, state, 64);
RNIC_AT(struct rnic_show_cm, message_state, 80);
RNIC_AT(struct rnic_show_cm, last_error, 96);
RNIC_AT(struct rnic_show_cm, waiting_for, 256);
