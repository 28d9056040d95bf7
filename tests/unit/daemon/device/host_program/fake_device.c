/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/device/host_program/fake_device.h"

#include "daemon/device/device.h"
#include "daemon/device/link/link_client.h"
#include "daemon/device/link/stats_writer.h"

struct fake_device fake_device;

bool device_turn(struct device *device, uint64_t now_ns)
{
	(void)device;
	(void)now_ns;
	fake_device.turns++;
	if (fake_device.in_turn != NULL)
		fake_device.in_turn();
	fake_device.received += fake_device.arrivals;
	if (fake_device.later_deadline_ns != 0)
		fake_device.next_deadline_ns = fake_device.later_deadline_ns;
	return false;
}

bool device_turn_to_send(struct device *device, uint64_t now_ns)
{
	(void)device;
	(void)now_ns;
	fake_device.turns_to_send++;
	return false;
}

uint64_t device_next_deadline_ns(const struct device *device)
{
	(void)device;
	return fake_device.next_deadline_ns;
}

uint64_t device_received_datagrams(const struct device *device)
{
	(void)device;
	return fake_device.received;
}

bool device_has_work(const struct device *device)
{
	(void)device;
	return fake_device.has_work;
}

bool device_has_resumes(const struct device *device)
{
	(void)device;
	return false;
}

bool device_prepare_sleep(struct device *device)
{
	(void)device;
	return true;
}

void device_note_refusals(const struct device *device)
{
	(void)device;
}

void device_acknowledge_all(struct device *device)
{
	(void)device;
	fake_device.farewells++;
}

void device_note_sleep(struct device *device)
{
	(void)device;
}

void device_withdraw_sleep(struct device *device)
{
	(void)device;
}

void device_wake_clients(struct device *device)
{
	(void)device;
}

void device_note_requests(struct device *device)
{
	(void)device;
}

bool device_serve(struct device *device)
{
	(void)device;
	return false;
}

bool device_poll(struct device *device)
{
	(void)device;
	return false;
}

void device_report(struct device *device)
{
	(void)device;
}

void device_end_client(struct device *device, uint32_t client_id)
{
	(void)device;
	(void)client_id;
}

int device_set_gid(struct device *device, uint32_t index, const struct rnic_gid *gid,
		   const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	(void)device;
	(void)index;
	(void)gid;
	(void)sockets;
	(void)text;
	return 0;
}

/* --- the process around it -------------------------------------------------------------------- */

void stats_writer_refresh(struct stats_writer *writer, const struct device *device, uint64_t now_ns)
{
	(void)writer;
	(void)device;
	(void)now_ns;
}

void stats_writer_refresh_if_due(struct stats_writer *writer, const struct device *device,
				 uint64_t now_ns)
{
	(void)writer;
	(void)device;
	if (fake_device.stats_due_ns == 0 || now_ns < fake_device.stats_due_ns)
		return;
	fake_device.stats_due_ns = 0;
	fake_device.stats_refreshes++;
}

uint64_t stats_writer_due_ns(const struct stats_writer *writer, uint64_t active_ns)
{
	(void)writer;
	(void)active_ns;
	return fake_device.stats_due_ns != 0 ? fake_device.stats_due_ns : UINT64_MAX;
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
