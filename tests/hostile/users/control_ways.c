/* SPDX-License-Identifier: MIT */
#include "tests/hostile/users/control_ways.h"

#include "proto/ctl/ctl_cm.h"
#include "proto/ctl/ctl_message.h"
#include "tests/hostile/users/attack_tools.h"
#include "tests/hostile/users/control_caller.h"
#include "tests/unit/all_descriptors.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- control connections with watches ---- */

static int control_watch_sets[ATTACK_WATCH_SETS_MAX];
static unsigned control_watch_count, control_set_count;
static int control_fd = -1;

static void control_close(void)
{
	while (control_set_count > 0)
		close(control_watch_sets[--control_set_count]);
	close(control_fd);
	control_fd = -1;
}

static void control_ask(void)
{
	const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};

	control_caller_say(control_fd, RNIC_CTL_SHOW, &show, sizeof(show));
}

static void control_open(void)
{
	control_fd = control_caller_open(SOCK_NONBLOCK, RNIC_HELLO_ADMIN);
	if (control_fd < 0)
		return;
	control_set_count =
		attack_watch_descriptor(control_fd, control_watch_count, control_watch_sets);
	control_ask();
}

static void control_watches_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	control_watch_count = amount;
	control_open();
}

/* The control plane takes a message out and answers, for as long as it keeps the connection. */
static void control_watches_turn(struct bench *bench)
{
	(void)bench;
	if (control_fd < 0) {
		poll(NULL, 0, 10);
		control_open();
	} else if (control_caller_hear(control_fd) != CONTROL_CALLER_NO_REPLY) {
		control_ask();
	} else {
		control_close();
	}
}

/* ---- programs that greet and go, without end ---- */

static void greetings_turn(struct bench *bench)
{
	const int fd = control_caller_open(0, 0);

	(void)bench;
	if (fd < 0)
		poll(NULL, 0, 1); /* refused, or turned away */
	else
		close(fd);
}

/* ---- identifiers of the connection manager that come and go, without end ---- */

static int identifiers_fd;
static struct rnic_ctl_cm_create_id identifier_wanted = {
	.port_space = RNIC_PORT_SPACE_TCP,
	.qp_type = RNIC_QP_TYPE_RC,
};

/* Returns the descriptor of a client that has an event channel, which `wanted` names. */
static int open_cm_client(struct rnic_ctl_cm_create_id *wanted)
{
	const int fd = control_caller_open(0, 0);

	if (fd < 0)
		attack_die("a client of the connection manager");
	control_caller_say(fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0);
	if (control_caller_hear_answer(fd, &wanted->channel, sizeof(wanted->channel)) != 0)
		attack_die("a channel of the connection manager");
	return fd;
}

static void identifiers_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	(void)amount;
	identifiers_fd = open_cm_client(&identifier_wanted);
}

static void identifiers_turn(struct bench *bench)
{
	struct rnic_ctl_cm_id_reply made;
	struct rnic_ctl_cm_destroy_id done = {.taken = 0};

	(void)bench;
	control_caller_say(identifiers_fd, RNIC_CTL_CM_CREATE_ID, &identifier_wanted,
			   sizeof(identifier_wanted));
	if (control_caller_hear_answer(identifiers_fd, &made, sizeof(made)) != 0)
		attack_die("identifiers: make");
	done.id = made.id;
	control_caller_say(identifiers_fd, RNIC_CTL_CM_DESTROY_ID, &done, sizeof(done));
	if (control_caller_hear(identifiers_fd) != 0)
		attack_die("identifiers: destroy");
}

/* ---- listings without end, by all connections that a user may have ---- */

#define LISTED_IDS 4000

static struct pollfd *listers;
static unsigned lister_count;

/* Makes what is listed: identifiers of the connection manager. */
static void listings_make_ids(void)
{
	struct rnic_ctl_cm_create_id create = {
		.port_space = RNIC_PORT_SPACE_TCP,
		.qp_type = RNIC_QP_TYPE_RC,
	};
	const int fd = open_cm_client(&create);

	for (unsigned i = 0; i < LISTED_IDS; i++) {
		control_caller_say(fd, RNIC_CTL_CM_CREATE_ID, &create, sizeof(create));
		if (control_caller_hear(fd) != 0)
			attack_die("listings: an identifier");
	}
}

static void listings_ask(unsigned i)
{
	const struct rnic_ctl_show show = {
		.kind = i % 2 == 0 ? RNIC_SHOW_CM : RNIC_SHOW_CLIENTS,
	};

	control_caller_say(listers[i].fd, RNIC_CTL_SHOW, &show, sizeof(show));
}

static void listings_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	if (!take_all_descriptors())
		attack_die("RLIMIT_NOFILE");
	listings_make_ids();
	listers = calloc(amount, sizeof(*listers));
	while (lister_count < amount) {
		listers[lister_count] = (struct pollfd){
			.fd = control_caller_open(0, RNIC_HELLO_ADMIN),
			.events = POLLIN,
		};
		if (listers[lister_count].fd < 0)
			break;
		lister_count++;
	}
	if (lister_count < amount / 4)
		attack_die("listings: connections");
	for (unsigned i = 0; i < lister_count; i++)
		listings_ask(i);
}

static void listings_turn(struct bench *bench)
{
	(void)bench;
	poll(listers, lister_count, 100);
	for (unsigned i = 0; i < lister_count; i++) {
		if (listers[i].revents == 0)
			continue;
		if (control_caller_hear(listers[i].fd) == CONTROL_CALLER_NO_REPLY)
			listers[i].fd = -1;
		else
			listings_ask(i);
	}
}

/* ---- connections that say nothing ---- */

static int *sockets;
static unsigned socket_count;

/* -1: turned away. */
static int connect_silently(void)
{
	int fd = control_caller_connect(SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		attack_die("silent: socket");
	return fd;
}

static unsigned available_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > 100 ? (unsigned)limit.rlim_cur - 100 : 0;
}

static void silent_prepare(struct bench *bench, unsigned amount)
{
	(void)bench;
	if (!take_all_descriptors())
		attack_die("RLIMIT_NOFILE");
	socket_count = amount < available_descriptors() ? amount : available_descriptors();
	sockets = calloc(socket_count, sizeof(*sockets));
	for (unsigned i = 0; i < socket_count; i++)
		sockets[i] = connect_silently();
}

static void silent_turn(struct bench *bench)
{
	static unsigned next;

	(void)bench;
	if (sockets[next] >= 0)
		close(sockets[next]);
	sockets[next] = connect_silently();
	next = (next + 1) % socket_count;
}

static const struct attack_way control_ways[] = {
	{"control-watches", false, control_watches_prepare, control_watches_turn},
	{"listings", false, listings_prepare, listings_turn},
	{"greetings", false, NULL, greetings_turn},
	{"identifiers", false, identifiers_prepare, identifiers_turn},
	{"silent", false, silent_prepare, silent_turn},
};

const struct attack_way *control_way_find(const char *name)
{
	for (unsigned i = 0; i < COUNT_OF(control_ways); i++)
		if (strcmp(control_ways[i].name, name) == 0)
			return &control_ways[i];
	return NULL;
}
