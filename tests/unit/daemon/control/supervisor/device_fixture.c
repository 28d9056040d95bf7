/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/supervisor/device_fixture.h"

#include "lib/wait/clock.h"
#include "tests/unit/unit_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct device_fixture *fixture;

static int fixture_take_lane(void *context, uid_t uid, uint8_t *lane, char text[DEVICE_TEXT_BYTES])
{
	(void)context;
	(void)uid;
	if (fixture->lane_error != 0) {
		snprintf(text, DEVICE_TEXT_BYTES, "no lane is left");
		return fixture->lane_error;
	}
	*lane = (uint8_t)(RNIC_LANE_FIRST + fixture->lanes_taken++ % 100);
	return 0;
}

static void fixture_give_lane_back(void *context, uint8_t lane)
{
	(void)context;
	(void)lane;
	fixture->lanes_given_back++;
}

static int fixture_open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int fixture_open_sockets(void *context, uint8_t lane, uint32_t index,
				struct device_lane_sockets *sockets, char text[DEVICE_TEXT_BYTES])
{
	(void)context;
	assert_true(lane >= RNIC_LANE_FIRST);
	assert_true(index < RNIC_GIDS_MAX);
	if (fixture->sockets_error != 0) {
		snprintf(text, DEVICE_TEXT_BYTES, "no sockets");
		return fixture->sockets_error;
	}
	for (size_t i = 0; i < COUNT_OF(sockets->fds); i++)
		sockets->fds[i] = fixture_open_null();
	return 0;
}

static int fixture_open_group(void *context, const struct rnic_gid *group)
{
	(void)context;
	(void)group;
	return fixture->group_error != 0 ? fixture->group_error : fixture_open_null();
}

static void fixture_packet(void *context, uint8_t from_lane,
			   const struct rnic_process_packet *packet, uint8_t *datagram)
{
	(void)context;
	(void)datagram;
	assert_true(from_lane >= RNIC_LANE_FIRST);
	fixture->packet = *packet;
	fixture->packet_count++;
}

static void fixture_trouble(void *context, const struct device_child *process,
			    const struct rnic_process_trouble *trouble)
{
	(void)context;
	(void)process;
	fixture->trouble = *trouble;
	fixture->trouble_count++;
}

static void fixture_client_gone(void *context, const struct device_child *process,
				uint32_t client_id)
{
	(void)context;
	(void)process;
	fixture->gone_client_id = client_id;
	fixture->gone_count++;
}

static void fixture_exit(int number)
{
	(void)number;
	_exit(0);
}

/* The child only waits for its end; it must hold no descriptor of the test. */
static pid_t fixture_fork(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGUSR1, fixture_exit);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		for (;;)
			pause();
	}
	/* The child has closed all that it inherited when the pipe has no writer any more. */
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

/* A child that has ended, while its keeper, which is its parent, neither reaps it nor ends. */
static pid_t fixture_fork_undying(pid_t *keeper)
{
	int told[2];
	pid_t pid;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* for fixture_let_die() */
	assert_int_equal(pipe(told), 0);
	*keeper = fork();
	assert_true(*keeper >= 0);
	if (*keeper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid = fork();
		if (pid == 0)
			_exit(0);
		if (write(told[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		for (;;)
			pause();
	}
	assert_int_equal(read(told[0], &pid, sizeof(pid)), sizeof(pid));
	close(told[0]);
	close(told[1]);
	assert_true(pid > 0);
	return pid;
}

void fixture_let_die(uint32_t launch)
{
	pid_t *keeper = &fixture->keepers[launch];

	assert_true(*keeper > 0);
	assert_int_equal(kill(*keeper, SIGKILL), 0);
	assert_int_equal(waitpid(*keeper, NULL, 0), *keeper);
	*keeper = 0;
	assert_int_equal(eventfd_write(fixture->death_fds[launch], 1), 0);
	close(fixture->death_fds[launch]);
}

static int fixture_launch(const char *program, int link_fd, int log_fd, bool limits_files,
			  pid_t *pid, int *pid_fd)
{
	(void)program;
	(void)limits_files;
	(void)log_fd;
	if (fixture->launch_error != 0)
		return fixture->launch_error;
	if (fixture->is_undying) {
		assert_true(fixture->launch_count < FIXTURE_LAUNCHES);
		*pid = fixture_fork_undying(&fixture->keepers[fixture->launch_count]);
		*pid_fd = eventfd(0, EFD_CLOEXEC);
		fixture->death_fds[fixture->launch_count] = dup(*pid_fd);
	} else {
		*pid = fixture_fork();
		*pid_fd = fixture->has_no_pid_fds ? -1 : (int)syscall(SYS_pidfd_open, *pid, 0);
	}
	if (fixture->launch_count > 0 && fixture->link_fds[FIXTURE_LAUNCHES - 1] >= 0)
		close(fixture->link_fds[FIXTURE_LAUNCHES - 1]);
	memmove(fixture->link_fds + 1, fixture->link_fds,
		(FIXTURE_LAUNCHES - 1) * sizeof(fixture->link_fds[0]));
	memmove(fixture->pids + 1, fixture->pids,
		(FIXTURE_LAUNCHES - 1) * sizeof(fixture->pids[0]));
	fixture->link_fds[0] = fcntl(link_fd, F_DUPFD_CLOEXEC, 0);
	fixture->pids[0] = *pid;
	fixture->launch_count++;
	return 0;
}

struct rnic_gid fixture_gid_of(uint8_t number)
{
	struct rnic_gid gid = {{0}};

	gid.bytes[0] = 0xfd;
	gid.bytes[15] = number;
	return gid;
}

int device_fixture_open(void **state)
{
	struct device_set_config config = {.program_path = "/rnicd-device",
					   .launch = fixture_launch};
	struct rnic_gid gid = fixture_gid_of(1);

	fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	memset(fixture->link_fds, 0xff, sizeof(fixture->link_fds));
	fixture->host = (struct device_set_host){
		.take_lane = fixture_take_lane,
		.give_lane_back = fixture_give_lane_back,
		.open_sockets = fixture_open_sockets,
		.open_group = fixture_open_group,
		.packet = fixture_packet,
		.trouble = fixture_trouble,
		.client_gone = fixture_client_gone,
	};
	config.host = &fixture->host;
	config.facts = &fixture->facts;
	config.capture_fd = -1;
	config.start.speed_mbps = 4242;
	config.memory_bytes = FIXTURE_MEMORY_BYTES;
	config.process_max = FIXTURE_PROCESSES;
	fixture->facts.gids.count = 2;
	fixture->facts.gids.entries[1].gid = gid;
	fixture->now_ns = clock_now_ns();
	assert_int_equal(device_set_open(&fixture->set, &config), 0);
	device_set_set_gid(&fixture->set, 1, &gid);
	device_set_set_facts(&fixture->set, 1024);
	device_set_turn(&fixture->set, fixture->now_ns);
	*state = fixture;
	return 0;
}

void fixture_await_closes(void)
{
	const struct list *node;

	list_for_each (node, &fixture->set.processes)
		while (device_child_is_closing(list_entry(node, const struct device_child, node)))
			poll(NULL, 0, 1);
}

int device_fixture_close(void **state)
{
	struct list *node;

	list_for_each (node, &fixture->set.processes) {
		struct device_child *process = list_entry(node, struct device_child, node);

		process->references = 0;
		device_child_happen(process, DEVICE_CHILD_END, NULL);
	}
	fixture_await_closes();
	for (uint32_t i = 0; i < FIXTURE_LAUNCHES; i++)
		if (fixture->keepers[i] != 0)
			fixture_let_die(i);
	/* The children do not look at their links. */
	for (uint32_t i = 0; i < FIXTURE_LAUNCHES && i < fixture->launch_count; i++)
		kill(fixture->pids[i], SIGKILL);
	device_set_close(&fixture->set);
	assert_int_equal(fixture->lanes_taken, fixture->lanes_given_back);
	for (uint32_t i = 0; i < FIXTURE_LAUNCHES; i++)
		if (fixture->link_fds[i] >= 0)
			close(fixture->link_fds[i]);
	free(fixture);
	fixture = NULL;
	(void)state;
	return 0;
}

void fixture_turn(uint64_t after_ns)
{
	fixture->now_ns += after_ns;
	device_set_note_events(&fixture->set);
	device_set_turn(&fixture->set, fixture->now_ns);
}

void fixture_await(const struct device_child *process, enum device_child_state state)
{
	for (int i = 0; i < 5000 && process->state != state; i++) {
		struct pollfd events = {.fd = fixture->set.common.epoll_fd, .events = POLLIN};

		poll(&events, 1, 1);
		fixture_turn(0);
	}
	assert_int_equal(process->state, state);
}

struct device_child *fixture_acquire(void)
{
	char reason[DEVICE_TEXT_BYTES];
	struct device_child *process;

	assert_int_equal(device_set_acquire(&fixture->set, FIXTURE_UID, &process, reason), 0);
	return process;
}

struct device_child *fixture_serve(uid_t uid)
{
	char reason[DEVICE_TEXT_BYTES];
	struct device_child *process;

	assert_int_equal(device_set_acquire(&fixture->set, uid, &process, reason), 0);
	fixture_expect(RNIC_PROCESS_START);
	fixture_say_ready(0, "");
	fixture_turn(0);
	fixture_expect(RNIC_PROCESS_GID);
	fixture_expect(RNIC_PROCESS_FACTS);
	return process;
}

void *fixture_expect(uint16_t operation)
{
	process_receipt_drop(&fixture->receipt);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), 0);
	assert_int_equal(fixture->receipt.header.operation, operation);
	/* The test looks at their number only. */
	for (unsigned i = 0; i < fixture->receipt.fd_count; i++) {
		close(fixture->receipt.fds[i]);
		fixture->receipt.fds[i] = -1;
	}
	return fixture->receipt.payload;
}

void fixture_say(uint16_t operation, const void *payload, size_t bytes)
{
	const struct process_letter letter = {
		.operation = operation, .payload = payload, .payload_bytes = bytes};

	assert_int_equal(process_link_send(fixture->link_fds[0], &letter), 0);
}

void fixture_say_ready(int32_t status, const char *reason)
{
	struct rnic_process_ready ready = {.status = status, .udp_port = "socket"};

	snprintf(ready.reason, sizeof(ready.reason), "%s", reason);
	fixture_say(RNIC_PROCESS_READY, &ready, sizeof(ready));
}

unsigned fixture_open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(directory);
	fixture_await_closes();
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}
