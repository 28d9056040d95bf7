/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/device/host_program/fake_device.h"

#include "daemon/device/device.h"
#include "daemon/device/link/link_client.h"
#include "daemon/device/link/stats_writer.h"

struct fake_device_half fake_device_half;

bool device_half_turn(struct device_half *half, uint64_t now_ns)
{
	(void)half;
	(void)now_ns;
	fake_device_half.turns++;
	if (fake_device_half.in_turn != NULL)
		fake_device_half.in_turn();
	fake_device_half.received += fake_device_half.arrivals;
	if (fake_device_half.later_deadline_ns != 0)
		fake_device_half.next_deadline_ns = fake_device_half.later_deadline_ns;
	return false;
}

bool device_half_turn_to_send(struct device_half *half, uint64_t now_ns)
{
	(void)half;
	(void)now_ns;
	fake_device_half.turns_to_send++;
	return false;
}

uint64_t device_half_next_deadline_ns(const struct device_half *half)
{
	(void)half;
	return fake_device_half.next_deadline_ns;
}

uint64_t device_half_received_datagrams(const struct device_half *half)
{
	(void)half;
	return fake_device_half.received;
}

bool device_half_has_work(const struct device_half *half)
{
	(void)half;
	return fake_device_half.has_work;
}

bool device_half_has_resumes(const struct device_half *half)
{
	(void)half;
	return false;
}

bool device_half_prepare_sleep(struct device_half *half)
{
	(void)half;
	return true;
}

void device_half_end_waits(struct device_half *half)
{
	(void)half;
	fake_device_half.ended_waits++;
}

void device_half_note_sleep(struct device_half *half)
{
	(void)half;
}

void device_half_withdraw_sleep(struct device_half *half)
{
	(void)half;
}

void device_half_wake_clients(struct device_half *half)
{
	(void)half;
}

void device_half_note_requests(struct device_half *half)
{
	(void)half;
}

bool device_half_serve(struct device_half *half)
{
	(void)half;
	return false;
}

bool device_half_poll(struct device_half *half)
{
	(void)half;
	return false;
}

void device_half_report(struct device_half *half)
{
	(void)half;
}

void device_half_end_client(struct device_half *half, uint32_t client_id)
{
	(void)half;
	(void)client_id;
}

int device_half_set_gid(struct device_half *half, uint32_t index, const struct rnic_gid *gid,
			const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	(void)half;
	(void)index;
	(void)gid;
	(void)sockets;
	(void)text;
	return 0;
}

/* --- the process around it -------------------------------------------------------------------- */

void card_writer_refresh(struct card_writer *writer, const struct device_half *half,
			 uint64_t now_ns)
{
	(void)writer;
	(void)half;
	(void)now_ns;
}

void card_writer_refresh_if_due(struct card_writer *writer, const struct device_half *half,
				uint64_t now_ns)
{
	(void)writer;
	(void)half;
	if (fake_device_half.card_due_ns == 0 || now_ns < fake_device_half.card_due_ns)
		return;
	fake_device_half.card_due_ns = 0;
	fake_device_half.card_refreshes++;
}

uint64_t card_writer_due_ns(const struct card_writer *writer, uint64_t active_ns)
{
	(void)writer;
	(void)active_ns;
	return fake_device_half.card_due_ns != 0 ? fake_device_half.card_due_ns : UINT64_MAX;
}

bool link_client_poll(struct link_client *link)
{
	(void)link;
	return false;
}

void link_client_tick(struct link_client *link, uint64_t now_ns)
{
	(void)link;
	(void)now_ns;
}

uint64_t link_client_next_deadline_ns(const struct link_client *link, uint64_t now_ns)
{
	(void)link;
	(void)now_ns;
	return UINT64_MAX;
}
