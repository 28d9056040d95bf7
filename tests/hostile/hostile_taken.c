/* SPDX-License-Identifier: MIT */
/*
 * A device process that was taken over, with its real confinement, harms its own lane and nobody
 * else: what it hands in is bounded, an address that goes is not lost to others by its sockets,
 * its counters do not fill the totals, and its record tells of nobody else.
 *
 * usage: hostile_taken RNICD TAKEN_DEVICE RNICCTL
 */
#include "proto/base/lane.h"
#include "proto/base/record.h"
#include "tests/hostile/played_peer.h"
#include "tests/hostile/taken_device.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS	     "fd77::2"
#define UP_TO_DEVICE 1 /* steps of a client */
#define WAIT_MS	     30000

/* What lane 0 takes of one device process: at once, and in a second. */
#define LANE_ZERO_BURST	 32
#define LANE_ZERO_RATE	 100
#define MEASURED_SECONDS 2

static const char *daemon_program, *device_program, *control_program;
static char folder[] = "/tmp/rnic-taken-XXXXXX";

/* Runs a command, which the machine must be able to do. */
static void shell(const char *command)
{
	assert_int_equal(system(command), 0);
}

/* Starts the daemon of folder/WAY, whose device processes are taken over in this way. */
static void start_taken(const char *way, const char *address)
{
	char program[256], command[2048];
	char *arguments[] = {(char *)way, program};

	snprintf(program, sizeof(program), "%s/%s/bin/rnicd", folder, way);
	assert_true(snprintf(command, sizeof(command),
			     "cd %s && mkdir -p %s/bin %s/libexec && cp %s %s/bin/rnicd && "
			     "cp %s %s/libexec/rnicd-device",
			     folder, way, way, daemon_program, way, device_program,
			     way) < (int)sizeof(command));
	shell(command);
	assert_true(hostile_arguments(2, arguments));
	hostile_start_at(address, "pinned");
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t counter_of(int admin_fd, const char *name)
{
	const struct played_peer viewer = {.admin_fd = admin_fd};

	return played_peer_counter(&viewer, name);
}

/* --- packets ---------------------------------------------------------------------------------- */

/* A process that floods its link hands in few packets for lane 0, and the daemon answers. */
static void test_packets(void **state)
{
	struct hostile_client client;
	uint64_t handed_in, lost;
	double start, seconds;
	int admin_fd;

	(void)state;
	start_taken(TAKEN_PACKETS, NULL);
	admin_fd = hostile_connect_as_administrator(&rnicd);
	hostile_client_open(&client, &rnicd, UP_TO_DEVICE);
	while (counter_of(admin_fd, "cm_rcvd_mads") == 0)
		poll(NULL, 0, 1);
	start = now_seconds();
	handed_in = counter_of(admin_fd, "cm_rcvd_mads");
	lost = counter_of(admin_fd, "misrouted_lost_pkts");
	while ((seconds = now_seconds() - start) < MEASURED_SECONDS)
		poll(NULL, 0, 100);
	handed_in = counter_of(admin_fd, "cm_rcvd_mads") - handed_in;
	seconds = now_seconds() - start;
	lost = counter_of(admin_fd, "misrouted_lost_pkts") - lost;
	print_message("in %.1f s lane 0 took %u packets of the process, and %u others were lost\n",
		      seconds, (unsigned)handed_in, (unsigned)lost);
	assert_true(handed_in > 0);
	assert_true((double)handed_in <= LANE_ZERO_BURST + LANE_ZERO_RATE * (seconds + 1));
	assert_true(lost > 10 * handed_in);
	close(admin_fd);
	hostile_client_close(&client);
	hostile_stop(NULL);
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* Waits until the device has the address, for which it makes a GID. */
static void wait_for_address(const struct hostile_client *client, bool is_there)
{
	struct rnic_ctl_gids_reply gids;
	struct hostile_reply reply;

	for (int i = 0;; i++) {
		hostile_must(client->fd, RNIC_CTL_QUERY_GIDS, NULL, 0, &reply);
		memcpy(&gids, reply.payload, sizeof(gids));
		if ((gids.entries[0].gid.bytes[0] == 0xfd) == is_there)
			return;
		assert_true(i < WAIT_MS);
		poll(NULL, 0, 1);
	}
}

/*
 * A process keeps the sockets of an address that is gone, and claims that it has not: it is ended,
 * and the device has the address when it comes back.
 */
static void test_sockets(void **state)
{
	struct hostile_client client;

	(void)state;
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) {
		print_message("skipped: no network namespace of the test's own\n");
		skip();
	}
	shell("ip link set lo up && ip address add " ADDRESS "/128 dev lo nodad");
	start_taken(TAKEN_SOCKETS, ADDRESS);
	hostile_client_open(&client, &rnicd, UP_TO_DEVICE);
	wait_for_address(&client, true);
	shell("ip address del " ADDRESS "/128 dev lo");
	wait_for_address(&client, false);
	hostile_expect_hang_up(client.fd);
	hostile_client_close(&client);
	shell("ip address add " ADDRESS "/128 dev lo nodad");
	hostile_client_open(&client, &rnicd, UP_TO_DEVICE);
	wait_for_address(&client, true);
	hostile_client_close(&client);
	hostile_stop(NULL);
}

/* --- counters --------------------------------------------------------------------------------- */

static bool has_device_process(void)
{
	char path[64];
	FILE *children;
	int pid, count;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)rnicd.pid, (int)rnicd.pid);
	children = fopen(path, "re");
	assert_non_null(children);
	count = fscanf(children, "%d", &pid);
	fclose(children);
	return count == 1;
}

/* No total is full, neither while the process counts too much nor after its end. */
static void test_counters(void **state)
{
	static const char *const names[] = {"sent_pkts", "rcvd_pkts", "icrc_errors"};
	struct hostile_client client;
	int admin_fd;

	(void)state;
	start_taken(TAKEN_COUNTERS, NULL);
	admin_fd = hostile_connect_as_administrator(&rnicd);
	hostile_client_open(&client, &rnicd, UP_TO_DEVICE);
	for (int round = 0; round < 2; round++) {
		poll(NULL, 0, 200);
		for (size_t i = 0; i < COUNT_OF(names); i++)
			assert_true(counter_of(admin_fd, names[i]) < UINT32_MAX);
		if (round == 1)
			break;
		hostile_client_close(&client);
		for (int i = 0; has_device_process(); i++) {
			assert_true(i < WAIT_MS);
			poll(NULL, 0, 1);
		}
	}
	close(admin_fd);
	hostile_stop(NULL);
}

/* --- records ---------------------------------------------------------------------------------- */

/* Calls `judge` for each row of a listing, and returns how many there were. */
static uint32_t each_row(int admin_fd, uint32_t kind, size_t row_bytes,
			 void (*judge)(const void *row, uint8_t lane), uint8_t lane)
{
	const struct played_peer viewer = {.admin_fd = admin_fd};
	struct rnic_ctl_show request = {.kind = kind};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;
	uint32_t count = 0;

	do {
		played_peer_show(&viewer, &request, &reply, &answer);
		assert_int_equal(answer.row_bytes, row_bytes);
		for (uint32_t i = 0; i < answer.row_count; i++)
			judge(reply.payload + sizeof(answer) + i * row_bytes, lane);
		count += answer.row_count;
		request.cursor = answer.next;
	} while (answer.next != 0);
	return count;
}

static void judge_record(const void *bytes, uint8_t lane)
{
	struct rnic_show_record row;

	memcpy(&row, bytes, sizeof(row));
	assert_true(row.event > RNIC_RECORD_OWNER && row.event < RNIC_RECORD_EVENT_COUNT);
	assert_true(row.qpn == 0 || row.qpn >> RNIC_LANE_BITS == lane);
	assert_int_equal(row.uid, getuid());
	assert_non_null(memchr(row.program, 0, sizeof(row.program)));
}

static void judge_qp(const void *bytes, uint8_t lane)
{
	struct rnic_show_qp row;

	memcpy(&row, bytes, sizeof(row));
	assert_int_equal(row.qpn >> RNIC_LANE_BITS, lane);
	assert_int_equal(row.last_error[0], '?');
	assert_non_null(memchr(row.last_error, 0, sizeof(row.last_error)));
}

/* What rnicctl makes of the record ends well, or with a sentence; the file can be read again. */
static void ask_rnicctl(uint32_t qpn)
{
	char command[4096];

	assert_true(snprintf(command, sizeof(command),
			     "cd %s && %s record --socket %s save nonsense && "
			     "{ %s explain --socket %s --peer nonsense 0x%06x && "
			     "%s explain --socket %s --peer nonsense --last; } >said 2>&1; "
			     "test $? -le 1 && ! grep -qa '[[:cntrl:]]' said",
			     folder, control_program, rnicd.path, control_program, rnicd.path, qpn,
			     control_program, rnicd.path) < (int)sizeof(command));
	shell(command);
}

/* A process that writes any bytes as its record tells only of its own queue pairs and user. */
static void test_records(void **state)
{
	struct hostile_client client;
	uint32_t records = 0;
	uint8_t lane;
	int admin_fd;

	(void)state;
	start_taken(TAKEN_RECORDS, NULL);
	admin_fd = hostile_connect_as_administrator(&rnicd);
	hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
	lane = (uint8_t)(client.qpn >> RNIC_LANE_BITS);
	for (int round = 0; round < 20; round++) {
		records += each_row(admin_fd, RNIC_SHOW_RECORD, sizeof(struct rnic_show_record),
				    judge_record, lane);
		assert_int_equal(each_row(admin_fd, RNIC_SHOW_QPS, sizeof(struct rnic_show_qp),
					  judge_qp, lane),
				 1);
	}
	ask_rnicctl(client.qpn);
	hostile_client_close(&client);
	for (int i = 0; has_device_process(); i++) {
		assert_true(i < WAIT_MS);
		poll(NULL, 0, 1);
	}
	records += each_row(admin_fd, RNIC_SHOW_RECORD, sizeof(struct rnic_show_record),
			    judge_record, lane);
	print_message("%u rows of its record\n", (unsigned)records);
	assert_true(records > 1000);
	ask_rnicctl(client.qpn);
	close(admin_fd);
	hostile_stop(NULL);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL || chmod(folder, 0755) != 0;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets), cmocka_unit_test(test_counters),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_sockets), /* last: it leaves the network */
	};

	if (argc != 4) {
		fprintf(stderr, "usage: hostile_taken RNICD TAKEN_DEVICE RNICCTL\n");
		return 2;
	}
	daemon_program = argv[1];
	device_program = argv[2];
	control_program = argv[3];
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
