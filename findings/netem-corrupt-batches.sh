#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# "corrupt 50%" of netem damages far fewer packets, if a program sends several at once
# (UDP_SEGMENT). tc-netem(8) says that the error comes "for a chosen percent of packets". netem
# chooses once for all that was sent at once. Only if that is chosen, netem cuts it, damages the
# first packet, and chooses again for each of the others. So of batches of ten, half of the first
# packets are damaged and a quarter of the others: 27 of 100 packets instead of 50. With
# "corrupt 1%" it is 1 in 100 first packets, and 1 in 10,000 others. Below, nearly all damaged
# packets do not arrive, since their checksum is wrong; one whose Ethernet source is damaged does.
#
# Seen with Linux 6.12.117 of Debian 13.
# What helps: let the program send its packets singly while netem is to damage them.
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make trixie 6.12.117+deb13-amd64 6.12.117-1 gcc libc6-dev
cat >"$root/batches.c" <<'END'
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PACKETS = 10000, BYTES = 1000, BATCH_MAX = 10 };

static char packets[BATCH_MAX * BYTES];
static struct sockaddr_in address = {.sin_family = AF_INET};

static void send_packets(int s, int at_once)
{
	if (at_once > 1)
		setsockopt(s, IPPROTO_UDP, UDP_SEGMENT, &(int){BYTES}, sizeof(int));
	for (int i = 0; i < PACKETS / at_once; i++) {
		sendto(s, packets, (size_t)at_once * BYTES, 0, (struct sockaddr *)&address,
		       sizeof(address));
		usleep(100 * at_once);
	}
}

/* Ends when nothing has come for 5 s. */
static int count_arriving(int s)
{
	struct timeval idle = {5, 0};
	int arrived = 0;

	setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &(int){32 << 20}, sizeof(int));
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	while (recv(s, packets, BYTES, 0) > 0)
		arrived++;
	return arrived;
}

/* batches PACKETS_AT_ONCE: sends them; batches: prints how many of a hundred arrive. */
int main(int count, char **words)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	address.sin_port = htons(4791);
	address.sin_addr.s_addr = inet_addr("10.9.9.2");
	if (count > 1)
		send_packets(s, atoi(words[1]));
	else if (bind(s, (struct sockaddr *)&address, sizeof(address)) == 0)
		printf("@@ %d\n", (count_arriving(s) + PACKETS / 200) * 100 / PACKETS);
}
END
guest_program /batches
for module in veth sch_netem; do guest_module $module; done
guest_file /sbin/tc
mapfile -t arrived < <(guest_run '
	unshare -n sleep 1000 &
	far=$!
	sleep 1
	/sbin/ip link add va type veth peer name vb netns $far
	/sbin/ip address add 10.9.9.1/24 dev va; /sbin/ip link set va up
	nsenter -t $far -n /sbin/ip address add 10.9.9.2/24 dev vb
	nsenter -t $far -n /sbin/ip link set vb up
	ping -c 1 10.9.9.2
	/sbin/tc qdisc add dev va root netem limit 10000 corrupt 50%
	for at_once in 1 10; do
		nsenter -t $far -n /batches & sleep 1
		/batches $at_once; wait $!
	done')
echo "of 100 packets that are sent singly ${arrived[0]} arrive," \
	"and ${arrived[1]} of those that are sent ten at once"
[[ ${arrived[0]} =~ ^(49|5[012])$ && ${arrived[1]} =~ ^7[2-9]$ ]] ||
	{ echo "this is new"; exit 1; }
