/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/segmentation.h"

#include "proto/wire/gid.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EVERY_NS	 UINT64_C(200000000)
#define AVOID_NS	 UINT64_C(10000000000)
#define SOCKETS_TEXT_MAX 8192

bool segmentation_is_captured(const char *text)
{
	const char *line = strchr(text, '\n'); /* the first line names the columns */

	while (line != NULL) {
		unsigned int protocol, running;

		line++;
		if (sscanf(line, "%*s %*s %*s %x %*s %u", &protocol, &running) == 2 &&
		    protocol == ETH_P_ALL && running != 0)
			return true;
		line = strchr(line, '\n');
	}
	return false;
}

static void segmentation_look(struct segmentation *segmentation, uint64_t now_ns)
{
	char text[SOCKETS_TEXT_MAX];
	ssize_t length = pread(segmentation->packet_sockets_fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	segmentation->is_on = !segmentation_is_captured(text);
	segmentation->look_again_ns = now_ns + LOOK_EVERY_NS;
}

void segmentation_open(struct segmentation *segmentation, enum segmentation_mode mode,
		       uint64_t now_ns)
{
	*segmentation = (struct segmentation){
		.is_on = mode != SEGMENTATION_OFF,
		.packet_sockets_fd = -1,
	};
	if (mode != SEGMENTATION_AUTO)
		return;
	segmentation->packet_sockets_fd = open("/proc/net/packet", O_RDONLY | O_CLOEXEC);
	if (segmentation->packet_sockets_fd >= 0)
		segmentation_look(segmentation, now_ns);
}

void segmentation_close(struct segmentation *segmentation)
{
	if (segmentation->packet_sockets_fd >= 0)
		close(segmentation->packet_sockets_fd);
	segmentation->packet_sockets_fd = -1;
}

bool segmentation_is_on(struct segmentation *segmentation, uint64_t now_ns)
{
	if (segmentation->packet_sockets_fd >= 0 && now_ns >= segmentation->look_again_ns)
		segmentation_look(segmentation, now_ns);
	return segmentation->is_on;
}

static const struct segmentation_detour *find_detour(const struct segmentation *segmentation,
						     const struct rnic_gid *dest)
{
	for (uint32_t i = 0; i < segmentation->detour_count && i < SEGMENTATION_DETOURS_MAX; i++)
		if (rnic_gid_equal(&segmentation->detours[i].dest, dest))
			return &segmentation->detours[i];
	return NULL;
}

void segmentation_avoid(struct segmentation *segmentation, const struct rnic_gid *dest,
			uint64_t now_ns)
{
	const struct segmentation_detour *known = find_detour(segmentation, dest);
	uint32_t slot = known != NULL ? (uint32_t)(known - segmentation->detours)
				      : segmentation->detour_count++ % SEGMENTATION_DETOURS_MAX;

	segmentation->detours[slot] =
		(struct segmentation_detour){.dest = *dest, .until_ns = now_ns + AVOID_NS};
}

bool segmentation_is_avoided(const struct segmentation *segmentation, const struct rnic_gid *dest,
			     uint64_t now_ns)
{
	const struct segmentation_detour *detour = find_detour(segmentation, dest);

	return detour != NULL && now_ns < detour->until_ns;
}
