/* SPDX-License-Identifier: MIT */
/* The daemon: options, one control plane, its loop, and an orderly end. */
#include "daemon/control/main/call_fence.h"
#include "daemon/control/main/control_plane.h"
#include "daemon/control/main/event_loop.h"
#include "daemon/control/main/options.h"
#include "daemon/control/main/service_manager.h"
#include "daemon/control/supervisor/device_launch.h"
#include "daemon/shared/base/capabilities.h"
#include "daemon/shared/base/heap.h"
#include "daemon/shared/base/identity.h"
#include "daemon/shared/base/log.h"
#include "daemon/shared/base/system_random.h"
#include "daemon/shared/quota/client_limits.h"
#include "lib/wait/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

/*
 * The kernel divides a core among threads that yield by their weights. A daemon at -5 looks three
 * times before a program on the same core looks once, a daemon at -10 nine times. Beside programs
 * that compute, a daemon at 0 moves half of the bytes that a daemon at -10 moves. The systemd unit
 * sets the same priority.
 */
#define RNICD_NICE (-5)

/*
 * What a daemon of root needs after its start. CAP_NET_ADMIN: large buffers for the sockets of new
 * addresses and lanes. CAP_KILL: to end device processes of other users, the kernel's signal at the
 * daemon's own end included.
 */
#define RNICD_CAPABILITIES (CAPABILITIES_BIT(CAP_NET_ADMIN) | CAPABILITIES_BIT(CAP_KILL))

/* What only device processes need: to become their user, and process_user.c for root's own. */
#define RNICD_DEVICE_CAPABILITIES                                                                  \
	(CAPABILITIES_BIT(CAP_SETUID) | CAPABILITIES_BIT(CAP_SETGID) |                             \
	 CAPABILITIES_BIT(CAP_SYS_PTRACE))

/*
 * Raises the limit of descriptors, because every client costs descriptors, and the priority, which
 * device processes of the same user inherit. A refused priority is no failure.
 */
static void rnicd_raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	heap_limit_mappings(LIMIT_HEAP_MAPPINGS);
	if (getpriority(PRIO_PROCESS, 0) > RNICD_NICE)
		setpriority(PRIO_PROCESS, 0, RNICD_NICE);
}

/*
 * A daemon of an ordinary user has no rights of root to give up, and gains none either by executing
 * its device program. A kernel without filters of system calls runs the daemon without the fence.
 */
static int rnicd_drop_rights(const struct rnicd_options *options,
			     const struct control_plane *control)
{
	char reason[CONTROL_REASON_BYTES];
	int result = 0;

	if (geteuid() == 0)
		result = capabilities_keep(RNICD_CAPABILITIES, RNICD_DEVICE_CAPABILITIES);
	if (result == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		result = -errno;
	if (result != 0) {
		log_error("cannot give up rights: %s", strerror(-result));
		return result;
	}
	result = device_launch_check(control->backplane.program, control->backplane.program_path,
				     reason, sizeof(reason));
	if (result != 0) {
		log_error("%s", reason);
		return result;
	}
	result = call_fence_install(control->backplane.program, options->port != UDP_PORT_SOCKET);
	if (result != 0)
		log_warning("no system calls are given up: %s", strerror(-result));
	return 0;
}

static void rnicd_announce(const struct rnicd_options *options, const struct control_plane *control)
{
	const int told = service_manager_tell_ready();

	log_info("%s on %s serves at %s (port %s)", options->name, control->addressing.netdev,
		 control->server.place.path, control->settings.udp_port);
	if (told != 0)
		log_warning("the service manager cannot be told: %s", strerror(-told));
	if (options->ready_fd < 0)
		return;
	if (write(options->ready_fd, "\n", 1) != 1)
		log_warning("nobody waits at --ready-fd: %s", strerror(errno));
	close(options->ready_fd);
}

static int rnicd_run(const struct rnicd_options *options, struct control_plane *control)
{
	struct event_loop *loop =
		event_loop_create(control, options->poll, options->exit_when_idle_ns);
	int status;

	if (loop == NULL) {
		log_error("cannot make the event loop");
		return 1;
	}
	rnicd_announce(options, control);
	status = event_loop_run(loop) ? EX_TEMPFAIL : 0;
	event_loop_destroy(loop);
	return status;
}

/*
 * Gives the descriptors 0 to 2 something to refer to where whoever started the daemon left them
 * closed. Else the next socket would become the standard error, and log lines would go to peers.
 */
static int rnicd_fill_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Without this check the byte for whoever waits would go to a file or socket of the daemon. */
static int rnicd_check_ready_fd(int fd)
{
	const int flags = fd < 0 ? O_WRONLY : fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	log_error("--ready-fd %d: %s", fd,
		  flags < 0 ? "this descriptor is not open" : "this descriptor is not for writing");
	return -EBADF;
}

/* Only root becomes somebody else. A user's group comes with the user. */
static int rnicd_find_identity(const struct rnicd_options *options, struct identity *identity)
{
	const struct identity own = identity_own();

	*identity = own;
	if (options->user != NULL && identity_find_user(options->user, &identity->uid) != 0) {
		log_error("--user: there is no user '%s'", options->user);
		return -ENOENT;
	}
	if (identity->uid != own.uid)
		identity->gid = identity_group_of(identity->uid);
	if (options->group != NULL && identity_find_group(options->group, &identity->gid) != 0) {
		log_error("--group: there is no group '%s'", options->group);
		return -ENOENT;
	}
	if (own.uid == 0 || (identity->uid == own.uid && identity->gid == own.gid))
		return 0;
	log_error("only root can become another user or group (--user, --group)");
	return -EPERM;
}

/* What must be in order before the daemon opens anything. */
static int rnicd_begin(const struct rnicd_options *options, struct identity *identity,
		       int *taken_fd)
{
	int result = rnicd_check_ready_fd(options->ready_fd);

	if (result != 0)
		return result;
	result = service_manager_take_socket(taken_fd);
	if (result != 0)
		log_error("the service manager hands over other descriptors than one socket");
	if (result == 0)
		result = rnicd_fill_descriptors();
	if (result != 0)
		return result;
	signal(SIGPIPE, SIG_IGN);
	rnicd_raise_limits();
	return rnicd_find_identity(options, identity);
}

static struct control_config rnicd_configure(const struct rnicd_options *options,
					     const struct identity *identity, int taken_fd,
					     struct system_random *random)
{
	struct control_config config = {
		.netdev = options->netdev,
		.address = options->address,
		.name = options->name,
		.pci = options->pci,
		.numa_node = options->numa_node,
		.socket_path = options->socket_path,
		.socket_mode = options->socket_mode,
		.taken_fd = taken_fd,
		.user = *identity,
		.fault = options->fault,
		.capture = options->capture,
		.port = options->port,
		.segmentation = options->segmentation,
		.segmentation_name = options->segmentation_name,
		.poll_name = options->poll_name,
		.poll = options->poll,
		.log_level = options->log_level,
		.allowed = options->allowed,
		.allowed_count = options->allowed_count,
		.has_ecn = options->has_ecn,
		.peer_ports = options->peer_ports,
		.cm_tos = options->cm_tos,
		.pkey_count = options->pkey_count,
		.random = system_random_source(random),
	};

	memcpy(config.pkeys, options->pkeys, sizeof(config.pkeys));
	return config;
}

int main(int argc, char **argv)
{
	struct rnicd_options options;
	struct identity identity;
	struct control_config config;
	struct system_random random;
	char reason[CONTROL_REASON_BYTES];
	struct control_plane *control;
	int status, taken_fd;

	options_parse(&options, argc, argv);
	log_set_level(options.log_level);
	if (rnicd_begin(&options, &identity, &taken_fd) != 0)
		return 1;
	config = rnicd_configure(&options, &identity, taken_fd, &random);
	status = system_random_init(&random);
	if (status != 0) {
		log_error("the kernel gives no random numbers: %s", strerror(-status));
		return 1;
	}
	control = calloc(1, sizeof(*control));
	if (control == NULL) {
		log_error("cannot start: %s", strerror(errno));
		return 1;
	}
	if (control_plane_open(control, &config, clock_now_ns(), reason) != 0) {
		log_error("%s", reason);
		free(control);
		return 1;
	}
	status = rnicd_drop_rights(&options, control) == 0 ? rnicd_run(&options, control) : 1;
	control_plane_close(control);
	free(control);
	return status;
}
