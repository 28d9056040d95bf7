/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/row_kinds.h"

#include "proto/base/causes.h"
#include "proto/base/path_limit.h"
#include "proto/base/record.h"
#include "proto/ctl/ctl_cm.h"
#include "proto/ctl/ctl_message.h"
#include "proto/wire/peer_kind.h"

#include <string.h>

#define MEMBER(row, member) offsetof(struct row, member), sizeof(((struct row *)0)->member)
#define COUNT(array)	    (sizeof(array) / sizeof((array)[0]))

static const char *row_kinds_name_of(const char *const names[], size_t count, uint32_t value)
{
	return value < count && names[value] ? names[value] : "unknown";
}

static const char *qp_type_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_QP_TYPE_RC] = "RC",
		[RNIC_QP_TYPE_UC] = "UC",
		[RNIC_QP_TYPE_UD] = "UD",
		[RNIC_QP_TYPE_XRC_INITIATOR] = "XRC_INI",
		[RNIC_QP_TYPE_XRC_TARGET] = "XRC_TGT",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const char *qp_state_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_QP_STATE_RESET] = "RESET", [RNIC_QP_STATE_INIT] = "INIT",
		[RNIC_QP_STATE_RTR] = "RTR",	 [RNIC_QP_STATE_RTS] = "RTS",
		[RNIC_QP_STATE_SQD] = "SQD",	 [RNIC_QP_STATE_SQE] = "SQE",
		[RNIC_QP_STATE_ERR] = "ERR",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const char *memory_mode_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_MEMORY_MAPPED] = "mapped",     [RNIC_MEMORY_REMOTE] = "remote",
		[RNIC_MEMORY_PROC_MEM] = "proc_mem", [RNIC_MEMORY_PROCESS_VM] = "process_vm",
		[RNIC_MEMORY_NULL] = "null",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const char *watch_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_WATCH_NEEDLESS] = "-",
		[RNIC_WATCH_ON] = "watched",
		[RNIC_WATCH_OFF] = "not watched: RNIC_WATCH=off",
		[RNIC_WATCH_REFUSED] = "not watched: userfaultfd is refused",
		[RNIC_WATCH_HELD] = "not watched: another userfaultfd has the memory",
		[RNIC_WATCH_KIND] = "not watched: mapping of a file",
		[RNIC_WATCH_FULL] = "not watched: too many mappings",
		[RNIC_WATCH_USER] = "not watched: program of another user",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const char *port_space_name(uint32_t value)
{
	switch (value) {
	case RNIC_PORT_SPACE_IPOIB:
		return "IPOIB";
	case RNIC_PORT_SPACE_TCP:
		return "TCP";
	case RNIC_PORT_SPACE_UDP:
		return "UDP";
	case RNIC_PORT_SPACE_IB:
		return "IB";
	default:
		return "unknown";
	}
}

static const char *port_state_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_PORT_DOWN] = "down",
		[RNIC_PORT_ACTIVE] = "active",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const char *mtu_name(uint32_t value)
{
	static const char *const names[] = {
		[1] = "256", [2] = "512", [3] = "1024", [4] = "2048", [5] = "4096",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const struct column device_columns[] = {
	{"name", "name", COLUMN_TEXT, MEMBER(rnic_show_device, device.name), NULL},
	{"pid", "daemon's pid", COLUMN_U32, MEMBER(rnic_show_device, pid), NULL},
	{"netdev", "network device", COLUMN_TEXT, MEMBER(rnic_show_device, device.netdev), NULL},
	{"state", "port state", COLUMN_NAMED_U32, MEMBER(rnic_show_device, port.state),
	 port_state_name},
	{"active_mtu", "MTU", COLUMN_NAMED_U32, MEMBER(rnic_show_device, port.active_mtu),
	 mtu_name},
	{"udp_port", "port", COLUMN_TEXT, MEMBER(rnic_show_device, udp_port), NULL},
	{"poll", "poll", COLUMN_TEXT, MEMBER(rnic_show_device, poll), NULL},
	{"segmentation", "segmentation", COLUMN_TEXT, MEMBER(rnic_show_device, segmentation), NULL},
	{"lanes", "lanes", COLUMN_TEXT, MEMBER(rnic_show_device, lanes), NULL},
	{"lane_count", NULL, COLUMN_U32, MEMBER(rnic_show_device, lane_count), NULL},
	{"source_ports", "source ports", COLUMN_TEXT, MEMBER(rnic_show_device, source_ports), NULL},
	{"unused_addresses", "unused addresses", COLUMN_U32,
	 MEMBER(rnic_show_device, unused_addresses), NULL},
	{"ecn", "ECN", COLUMN_TEXT, MEMBER(rnic_show_device, ecn), NULL},
	{"pkeys", "P_Keys", COLUMN_TEXT, MEMBER(rnic_show_device, pkeys), NULL},
	{"firmware", "version", COLUMN_TEXT, MEMBER(rnic_show_device, device.firmware), NULL},
	{"node_guid", "node GUID", COLUMN_HEX64, MEMBER(rnic_show_device, device.node_guid), NULL},
	{"gids", "GIDs", COLUMN_GIDS, MEMBER(rnic_show_device, gids), NULL},
	{"clients", NULL, COLUMN_U32, MEMBER(rnic_show_device, client_count), NULL},
	{"qps", NULL, COLUMN_U32, MEMBER(rnic_show_device, qp_count), NULL},
	{"mrs", NULL, COLUMN_U32, MEMBER(rnic_show_device, mr_count), NULL},
	{"mws", NULL, COLUMN_U32, MEMBER(rnic_show_device, mw_count), NULL},
	{"cqs", NULL, COLUMN_U32, MEMBER(rnic_show_device, cq_count), NULL},
	{"pds", NULL, COLUMN_U32, MEMBER(rnic_show_device, pd_count), NULL},
	{"srqs", NULL, COLUMN_U32, MEMBER(rnic_show_device, srq_count), NULL},
};

static const char *stop_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_PROGRAM_RUNS] = "-",
		[RNIC_PROGRAM_STOPPED] = "stopped",
		[RNIC_PROGRAM_TRACED] = "traced",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const struct column client_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_client, client_id), NULL},
	{"program", "PROGRAM", COLUMN_TEXT, MEMBER(rnic_show_client, program), NULL},
	{"pid", "PID", COLUMN_U32, MEMBER(rnic_show_client, pid), NULL},
	{"uid", "UID", COLUMN_U32, MEMBER(rnic_show_client, uid), NULL},
	{"qps", "QPS", COLUMN_U32, MEMBER(rnic_show_client, qp_count), NULL},
	{"mrs", "MRS", COLUMN_U32, MEMBER(rnic_show_client, mr_count), NULL},
	{"mws", "MWS", COLUMN_U32, MEMBER(rnic_show_client, mw_count), NULL},
	{"cqs", "CQS", COLUMN_U32, MEMBER(rnic_show_client, cq_count), NULL},
	{"pds", "PDS", COLUMN_U32, MEMBER(rnic_show_client, pd_count), NULL},
	{"srqs", "SRQS", COLUMN_U32, MEMBER(rnic_show_client, srq_count), NULL},
	{"registered_bytes", "REGISTERED", COLUMN_U64, MEMBER(rnic_show_client, registered_bytes),
	 NULL},
	{"open_ms", NULL, COLUMN_U64, MEMBER(rnic_show_client, open_ms), NULL},
	{"stop", NULL, COLUMN_NAMED_U32, MEMBER(rnic_show_client, stop), stop_name},
};

static const char *peer_kind_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_PEER_KIND_UNKNOWN] = "-",
		[RNIC_PEER_KIND_RNICD] = "rnicd",
		[RNIC_PEER_KIND_RXE] = "rxe",
		[RNIC_PEER_KIND_OTHER] = "other",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const struct column qp_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_qp, client_id), NULL},
	{"qpn", "QPN", COLUMN_HEX32, MEMBER(rnic_show_qp, qpn), NULL},
	{"type", "TYPE", COLUMN_NAMED_U32, MEMBER(rnic_show_qp, type), qp_type_name},
	{"state", "STATE", COLUMN_NAMED_U32, MEMBER(rnic_show_qp, state), qp_state_name},
	{"peer_gid", "PEER", COLUMN_GID, MEMBER(rnic_show_qp, peer_gid), NULL},
	{"peer_qpn", "PEER QPN", COLUMN_HEX32, MEMBER(rnic_show_qp, peer_qpn), NULL},
	{"peer_kind", "KIND", COLUMN_NAMED_U32, MEMBER(rnic_show_qp, peer_kind), peer_kind_name},
	{"peer_port", NULL, COLUMN_U32, MEMBER(rnic_show_qp, peer_port), NULL},
	{"path_mtu", "MTU", COLUMN_U32, MEMBER(rnic_show_qp, path_mtu_bytes), NULL},
	{"send_psn", "SEND PSN", COLUMN_HEX32, MEMBER(rnic_show_qp, send_psn), NULL},
	{"unacknowledged_psn", "UNACKED", COLUMN_HEX32, MEMBER(rnic_show_qp, unacknowledged_psn),
	 NULL},
	{"expected_psn", "EXPECTED", COLUMN_HEX32, MEMBER(rnic_show_qp, expected_psn), NULL},
	{"packets_in_flight", "IN FLIGHT", COLUMN_U32, MEMBER(rnic_show_qp, packets_in_flight),
	 NULL},
	{"send_posted", "SENDS", COLUMN_U32, MEMBER(rnic_show_qp, send_posted), NULL},
	{"recv_posted", "RECVS", COLUMN_U32, MEMBER(rnic_show_qp, recv_posted), NULL},
	{"retransmitted_packets", "RESENT", COLUMN_U64, MEMBER(rnic_show_qp, retransmitted_packets),
	 NULL},
	{"timeouts", "TIMEOUTS", COLUMN_U64, MEMBER(rnic_show_qp, timeouts), NULL},
	{"sent_packets", NULL, COLUMN_U64, MEMBER(rnic_show_qp, sent_packets), NULL},
	{"received_packets", NULL, COLUMN_U64, MEMBER(rnic_show_qp, received_packets), NULL},
	{"sent_bytes", NULL, COLUMN_U64, MEMBER(rnic_show_qp, sent_bytes), NULL},
	{"received_bytes", NULL, COLUMN_U64, MEMBER(rnic_show_qp, received_bytes), NULL},
	{"rnr_naks_received", NULL, COLUMN_U64, MEMBER(rnic_show_qp, rnr_naks_received), NULL},
	{"sequence_naks_received", NULL, COLUMN_U64, MEMBER(rnic_show_qp, sequence_naks_received),
	 NULL},
	{"duplicates_received", NULL, COLUMN_U64, MEMBER(rnic_show_qp, duplicates_received), NULL},
	{"completions", NULL, COLUMN_U64, MEMBER(rnic_show_qp, completions), NULL},
	{"waiting_for", "waiting for", COLUMN_SENTENCE, MEMBER(rnic_show_qp, waiting_for), NULL},
	{"last_error", "last error", COLUMN_SENTENCE, MEMBER(rnic_show_qp, last_error), NULL},
	{"timeout", "timeout", COLUMN_SENTENCE, MEMBER(rnic_show_qp, timeout), NULL},
};

static const char *path_limit_name(uint32_t value)
{
	static const char *const names[RNIC_PATH_LIMIT_COUNT] = {
		[RNIC_PATH_LIMIT_NOTHING] = "-",
		[RNIC_PATH_LIMIT_PROGRAM] = "program",
		[RNIC_PATH_LIMIT_WINDOW] = "window",
		[RNIC_PATH_LIMIT_PACE] = "pace",
		[RNIC_PATH_LIMIT_PEER] = "peer",
		[RNIC_PATH_LIMIT_LOSS] = "loss",
		[RNIC_PATH_LIMIT_CONGESTION] = "congestion",
		[RNIC_PATH_LIMIT_HOST] = "host",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const struct column path_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_path, client_id), NULL},
	{"peer_gid", "PEER", COLUMN_GID, MEMBER(rnic_show_path, peer_gid), NULL},
	{"qps", "QPS", COLUMN_U32, MEMBER(rnic_show_path, qp_count), NULL},
	{"least_round_trip_us", "LEAST US", COLUMN_U64, MEMBER(rnic_show_path, least_round_trip_us),
	 NULL},
	{"smoothed_round_trip_us", "SMOOTHED US", COLUMN_U64,
	 MEMBER(rnic_show_path, smoothed_round_trip_us), NULL},
	{"rate_mbit_per_s", "MBIT/S", COLUMN_U64, MEMBER(rnic_show_path, rate_mbit_per_s), NULL},
	{"window_bytes", "WINDOW", COLUMN_U64, MEMBER(rnic_show_path, window_bytes), NULL},
	{"in_flight_bytes", "IN FLIGHT", COLUMN_U64, MEMBER(rnic_show_path, in_flight_bytes), NULL},
	{"limit", "LIMIT", COLUMN_NAMED_U32, MEMBER(rnic_show_path, limit), path_limit_name},
};

static const struct column mr_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_mr, client_id), NULL},
	{"lkey", "LKEY", COLUMN_HEX32, MEMBER(rnic_show_mr, lkey), NULL},
	{"rkey", "RKEY", COLUMN_HEX32, MEMBER(rnic_show_mr, rkey), NULL},
	{"access", "ACCESS", COLUMN_ACCESS, MEMBER(rnic_show_mr, access), NULL},
	{"iova", "ADDRESS", COLUMN_HEX64, MEMBER(rnic_show_mr, iova), NULL},
	{"length", "BYTES", COLUMN_U64, MEMBER(rnic_show_mr, length), NULL},
	{"mode", "MODE", COLUMN_NAMED_U32, MEMBER(rnic_show_mr, mode), memory_mode_name},
	{"watch", "WATCH", COLUMN_NAMED_U32, MEMBER(rnic_show_mr, watch), watch_name},
};

static const struct column mw_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_mw, client_id), NULL},
	{"type", "TYPE", COLUMN_U32, MEMBER(rnic_show_mw, type), NULL},
	{"rkey", "RKEY", COLUMN_HEX32, MEMBER(rnic_show_mw, rkey), NULL},
	{"bound", "BOUND", COLUMN_U32, MEMBER(rnic_show_mw, is_bound), NULL},
	{"lkey", "REGION", COLUMN_HEX32, MEMBER(rnic_show_mw, lkey), NULL},
	{"qpn", "QPN", COLUMN_HEX32, MEMBER(rnic_show_mw, qpn), NULL},
	{"access", "ACCESS", COLUMN_ACCESS, MEMBER(rnic_show_mw, access), NULL},
	{"iova", "ADDRESS", COLUMN_HEX64, MEMBER(rnic_show_mw, iova), NULL},
	{"length", "BYTES", COLUMN_U64, MEMBER(rnic_show_mw, length), NULL},
};

static const struct column cq_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_cq, client_id), NULL},
	{"slot", "CQ", COLUMN_U32, MEMBER(rnic_show_cq, slot), NULL},
	{"entries", "ENTRIES", COLUMN_U32, MEMBER(rnic_show_cq, entries), NULL},
	{"used", "USED", COLUMN_U32, MEMBER(rnic_show_cq, used), NULL},
	{"armed", "ARMED", COLUMN_U32, MEMBER(rnic_show_cq, armed), NULL},
	{"overrun", "OVERRUN", COLUMN_U32, MEMBER(rnic_show_cq, overrun), NULL},
	{"completions", "COMPLETIONS", COLUMN_U64, MEMBER(rnic_show_cq, completions), NULL},
	{"users", "USERS", COLUMN_U32, MEMBER(rnic_show_cq, users), NULL},
};

static const struct column pd_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_pd, client_id), NULL},
	{"slot", "PD", COLUMN_U32, MEMBER(rnic_show_pd, slot), NULL},
	{"users", "USERS", COLUMN_U32, MEMBER(rnic_show_pd, users), NULL},
};

static const struct column srq_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_srq, client_id), NULL},
	{"number", "SRQN", COLUMN_HEX32, MEMBER(rnic_show_srq, number), NULL},
	{"qps", "QPS", COLUMN_U32, MEMBER(rnic_show_srq, qp_count), NULL},
	{"max_wr", "ENTRIES", COLUMN_U32, MEMBER(rnic_show_srq, max_wr), NULL},
	{"max_sge", "SGES", COLUMN_U32, MEMBER(rnic_show_srq, max_sge), NULL},
	{"posted", "POSTED", COLUMN_U32, MEMBER(rnic_show_srq, posted), NULL},
	{"limit", "LIMIT", COLUMN_U32, MEMBER(rnic_show_srq, limit), NULL},
	{"xrc", "XRC", COLUMN_U32, MEMBER(rnic_show_srq, is_xrc), NULL},
};

static const struct column cm_columns[] = {
	{"client", "CLIENT", COLUMN_U32, MEMBER(rnic_show_cm, client_id), NULL},
	{"id", "ID", COLUMN_U32, MEMBER(rnic_show_cm, slot), NULL},
	{"port_space", "SPACE", COLUMN_NAMED_U32, MEMBER(rnic_show_cm, port_space),
	 port_space_name},
	{"type", "TYPE", COLUMN_NAMED_U32, MEMBER(rnic_show_cm, qp_type), qp_type_name},
	{"local_gid", "LOCAL", COLUMN_GID, MEMBER(rnic_show_cm, local), NULL},
	{"local_port", "PORT", COLUMN_U32, MEMBER(rnic_show_cm, local_port), NULL},
	{"peer_gid", "PEER", COLUMN_GID, MEMBER(rnic_show_cm, peer), NULL},
	{"peer_port", "PORT", COLUMN_U32, MEMBER(rnic_show_cm, peer_port), NULL},
	{"waiting_events", "EVENTS", COLUMN_U32, MEMBER(rnic_show_cm, waiting_events), NULL},
	{"state", "STATE", COLUMN_TEXT, MEMBER(rnic_show_cm, state), NULL},
	{"message_state", "MESSAGES", COLUMN_TEXT, MEMBER(rnic_show_cm, message_state), NULL},
	{"waiting_for", "waiting for", COLUMN_SENTENCE, MEMBER(rnic_show_cm, waiting_for), NULL},
	{"last_error", "last error", COLUMN_SENTENCE, MEMBER(rnic_show_cm, last_error), NULL},
};

/* The log of an older daemon names no causes. */
static const char *cause_name(uint32_t value)
{
	const struct rnic_cause_row *row = rnic_cause_of(value);

	return row != NULL ? row->name : "-";
}

static const struct column trouble_columns[] = {
	{"age_ms", "MS AGO", COLUMN_U64, MEMBER(rnic_show_trouble, age_ms), NULL},
	{"program", "PROGRAM", COLUMN_TEXT, MEMBER(rnic_show_trouble, program), NULL},
	{"pid", "PID", COLUMN_U32, MEMBER(rnic_show_trouble, pid), NULL},
	{"uid", "UID", COLUMN_U32, MEMBER(rnic_show_trouble, uid), NULL},
	{"cause", "CAUSE", COLUMN_NAMED_U32, MEMBER(rnic_show_trouble, cause), cause_name},
	{"subject", "WHAT", COLUMN_TEXT, MEMBER(rnic_show_trouble, subject), NULL},
	{"reason", "why", COLUMN_SENTENCE, MEMBER(rnic_show_trouble, reason), NULL},
};

static const char *fault_owner_name(uint32_t value)
{
	return value != 0 ? "all" : "own";
}

static const struct column fault_columns[] = {
	{"rule", "RULE", COLUMN_U32, MEMBER(rnic_show_fault, id), NULL},
	{"hits", "HITS", COLUMN_U64, MEMBER(rnic_show_fault, hits), NULL},
	{"uid", "UID", COLUMN_U32, MEMBER(rnic_show_fault, uid), NULL},
	{"packets", "PACKETS", COLUMN_NAMED_U32, MEMBER(rnic_show_fault, is_of_all),
	 fault_owner_name},
	{"seed", "SEED", COLUMN_U64, MEMBER(rnic_show_fault, seed), NULL},
	{"text", "TEXT", COLUMN_TEXT, MEMBER(rnic_show_fault, text), NULL},
};

static const char *record_event_name(uint32_t value)
{
	static const char *const names[] = {
		[RNIC_RECORD_POSITION] = "position",
		[RNIC_RECORD_TAKEN] = "taken",
		[RNIC_RECORD_STATE] = "state",
		[RNIC_RECORD_TROUBLE] = "trouble",
		[RNIC_RECORD_DROPPED] = "dropped",
		[RNIC_RECORD_NAK_SENT] = "nak_sent",
		[RNIC_RECORD_NAK_RECEIVED] = "nak_received",
		[RNIC_RECORD_TIMED_OUT] = "timed_out",
		[RNIC_RECORD_SENT_AGAIN] = "sent_again",
		[RNIC_RECORD_SEND_FAILED] = "send_failed",
		[RNIC_RECORD_RECEIVE_FAILED] = "receive_failed",
		[RNIC_RECORD_CONNECTED] = "connected",
		[RNIC_RECORD_QP_TOOK] = "qp_took",
		[RNIC_RECORD_QP_ENDED] = "qp_ended",
		[RNIC_RECORD_REGION_ENDED] = "region_ended",
		[RNIC_RECORD_LINK] = "link",
		[RNIC_RECORD_ADDRESS] = "address",
		[RNIC_RECORD_UNKNOWN_QP] = "unknown_qp",
		[RNIC_RECORD_PROGRAM_ENDED] = "program_ended",
		[RNIC_RECORD_CM_SENT] = "cm_sent",
		[RNIC_RECORD_CM_RECEIVED] = "cm_received",
		[RNIC_RECORD_DEVICE_FAILED] = "device_failed",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const char *record_gaps_name(uint32_t value)
{
	static const char *const names[] = {
		[0] = "own",
		[RNIC_RECORD_GAP_SHARED] = "shared",
		[RNIC_RECORD_GAP_OLDER] = "own, older entries lost",
		[RNIC_RECORD_GAP_SHARED | RNIC_RECORD_GAP_OLDER] = "shared, older entries lost",
	};
	return row_kinds_name_of(names, COUNT(names), value);
}

static const struct column record_columns[] = {
	{"age_us", "US AGO", COLUMN_U64, MEMBER(rnic_show_record, age_us), NULL},
	{"program", "PROGRAM", COLUMN_TEXT, MEMBER(rnic_show_record, program), NULL},
	{"pid", "PID", COLUMN_U32, MEMBER(rnic_show_record, pid), NULL},
	{"uid", NULL, COLUMN_U32, MEMBER(rnic_show_record, uid), NULL},
	{"qpn", "QPN", COLUMN_HEX32, MEMBER(rnic_show_record, qpn), NULL},
	{"peer_qpn", "PEER", COLUMN_HEX32, MEMBER(rnic_show_record, peer_qpn), NULL},
	{"event", "EVENT", COLUMN_NAMED_U32, MEMBER(rnic_show_record, event), record_event_name},
	{"detail", "DETAIL", COLUMN_HEX32, MEMBER(rnic_show_record, detail), NULL},
	{"extra", "EXTRA", COLUMN_U32, MEMBER(rnic_show_record, extra), NULL},
	{"run", "RUN", COLUMN_U32, MEMBER(rnic_show_record, run), NULL},
	{"psn", "PSN", COLUMN_HEX32, MEMBER(rnic_show_record, psn), NULL},
	{"value", "VALUE", COLUMN_HEX32, MEMBER(rnic_show_record, value), NULL},
	{"gaps", "RING", COLUMN_NAMED_U32, MEMBER(rnic_show_record, gaps), record_gaps_name},
};

static const struct column counter_columns[] = {
	{"name", "NAME", COLUMN_TEXT, MEMBER(rnic_show_counter, name), NULL},
	{"value", "VALUE", COLUMN_U64, MEMBER(rnic_show_counter, value), NULL},
};

#define KIND(kind, name, row, layout, columns)                                                     \
	{                                                                                          \
		kind, name, sizeof(struct row), layout, columns, COUNT(columns)                    \
	}

const struct row_kind row_kinds[ROW_KIND_COUNT] = {
	KIND(RNIC_SHOW_DEVICE, "device", rnic_show_device, ROW_LAYOUT_RECORD, device_columns),
	KIND(RNIC_SHOW_CLIENTS, "clients", rnic_show_client, ROW_LAYOUT_TABLE, client_columns),
	KIND(RNIC_SHOW_QPS, "qps", rnic_show_qp, ROW_LAYOUT_TABLE, qp_columns),
	KIND(RNIC_SHOW_PATHS, "paths", rnic_show_path, ROW_LAYOUT_TABLE, path_columns),
	KIND(RNIC_SHOW_MRS, "mrs", rnic_show_mr, ROW_LAYOUT_TABLE, mr_columns),
	KIND(RNIC_SHOW_MWS, "mws", rnic_show_mw, ROW_LAYOUT_TABLE, mw_columns),
	KIND(RNIC_SHOW_CQS, "cqs", rnic_show_cq, ROW_LAYOUT_TABLE, cq_columns),
	KIND(RNIC_SHOW_PDS, "pds", rnic_show_pd, ROW_LAYOUT_TABLE, pd_columns),
	KIND(RNIC_SHOW_SRQS, "srqs", rnic_show_srq, ROW_LAYOUT_TABLE, srq_columns),
	KIND(RNIC_SHOW_CM, "cm", rnic_show_cm, ROW_LAYOUT_TABLE, cm_columns),
	KIND(RNIC_SHOW_FAULTS, "faults", rnic_show_fault, ROW_LAYOUT_TABLE, fault_columns),
	KIND(RNIC_SHOW_TROUBLES, "troubles", rnic_show_trouble, ROW_LAYOUT_TABLE, trouble_columns),
	KIND(RNIC_SHOW_RECORD, "record", rnic_show_record, ROW_LAYOUT_TABLE, record_columns),
	KIND(RNIC_SHOW_COUNTERS, "counters", rnic_show_counter, ROW_LAYOUT_PAIRS, counter_columns),
};

const struct row_kind *row_kind_of(uint32_t kind)
{
	const struct row_kind *found = row_kinds;

	while (found->kind != kind)
		found++;
	return found;
}

const struct column *row_kind_column(const struct row_kind *kind, const char *key)
{
	for (size_t i = 0; i < kind->column_count; i++)
		if (strcmp(kind->columns[i].key, key) == 0)
			return &kind->columns[i];
	return NULL;
}
