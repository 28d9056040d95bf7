/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/scenario_play.h"

#include "lib/client/admin/admin_link.h"
#include "lib/wait/clock.h"
#include "tools/rnic-run/complaint.h"
#include "tools/support/condition_object.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

/* The state of one line on one device. */
struct played {
	bool is_on;
	uint32_t rule; /* its number in the daemon; 0: none */
};

struct player {
	const struct scenario *scenario;
	struct scenario_report *report;
	uint32_t device_count;
	struct admin_link links[RNIC_SOCKETS_MAX];
	struct played played[SCENARIO_LINES_MAX][RNIC_SOCKETS_MAX];
	bool has_begun[SCENARIO_LINES_MAX];
};

static bool line_is_on(const struct player *player, const struct scenario_line *line,
		       uint32_t device)
{
	char name[RNIC_DEVICE_NAME_BYTES];

	snprintf(name, sizeof(name), "rnic%u", device);
	return line->device[0] == '\0' || strcmp(line->device, name) == 0 ||
	       strncmp(line->device, player->links[device].device.netdev, sizeof(name)) == 0;
}

static void complain_of_line(const struct player *player, uint32_t place, const char *reason)
{
	const struct scenario_line *line = &player->scenario->lines[place];

	complain("%s: line %u, \"%s\": %s", player->scenario->name, line->number,
		 scenario_line_words(line), reason);
}

/* The daemon says "rule 7". */
static uint32_t rule_number(const char *text)
{
	unsigned number = 0;

	return sscanf(text, "rule %u", &number) == 1 ? number : 0;
}

static int begin_line(struct player *player, uint32_t place, uint32_t device)
{
	const struct scenario_line *line = &player->scenario->lines[place];
	struct played *played = &player->played[place][device];
	struct admin_link *link = &player->links[device];
	struct rnic_ctl_condition condition = {.condition = line->condition};
	char text[RNIC_CTL_TEXT_BYTES];
	int error = 0;

	if (line->object[0] != '\0')
		error = condition_object_find(link, line->object, &condition);
	if (line->condition == RNIC_CONDITION_FAULT_ADD) {
		condition.number = line->number;
		snprintf(condition.text, sizeof(condition.text), "%s", line->rule);
	}
	if (!error)
		error = admin_link_condition(link, &condition, text);
	if (error) {
		if (!player->scenario->is_quiet || line->at_ns == 0)
			complain_of_line(player, place, link->reason);
		return error;
	}
	if (line->condition == RNIC_CONDITION_FAULT_ADD)
		played->rule = rule_number(text);
	else
		player->report->hits[place]++;
	played->is_on = scenario_line_cuts(line) || played->rule != 0;
	return 0;
}

static void note_hits(struct player *player, uint32_t place, struct admin_link *link, uint32_t rule)
{
	struct scenario_report *report = player->report;
	const struct rnic_show_fault *faults;
	size_t count;
	void *rows;

	if (admin_link_show(link, RNIC_SHOW_FAULTS, sizeof(*faults), &rows, &count) != 0)
		return;
	faults = rows;
	for (size_t i = 0; i < count; i++) {
		if (faults[i].id != rule || faults[i].hits == 0)
			continue;
		report->actors[place] =
			report->hits[place] == 0 ? faults[i].actor : RNIC_FAULT_ACTORS;
		report->hits[place] += faults[i].hits;
	}
	free(rows);
}

static void end_line(struct player *player, uint32_t place, uint32_t device)
{
	struct played *played = &player->played[place][device];
	struct admin_link *link = &player->links[device];
	struct rnic_ctl_condition condition = {.condition = RNIC_CONDITION_LINK_UP};
	char text[RNIC_CTL_TEXT_BYTES];

	if (!played->is_on)
		return;
	played->is_on = false;
	if (played->rule != 0) {
		note_hits(player, place, link, played->rule);
		condition.condition = RNIC_CONDITION_FAULT_DELETE;
		condition.number = played->rule;
	}
	if (admin_link_condition(link, &condition, text) != 0)
		complain_of_line(player, place, link->reason);
}

/* Begins and ends what is due at `age_ns`. Returns how long nothing else is, or the first error. */
static int play_due(struct player *player, uint64_t age_ns, uint64_t *next_ns)
{
	int error = 0;

	*next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < player->scenario->count; i++) {
		const struct scenario_line *line = &player->scenario->lines[i];
		const uint64_t end_ns = line->for_ns != 0 ? line->at_ns + line->for_ns : UINT64_MAX;
		const bool begins = !player->has_begun[i] && line->at_ns <= age_ns;
		uint64_t due_ns = UINT64_MAX;

		for (uint32_t device = 0; device < player->device_count; device++) {
			if (begins && line_is_on(player, line, device) && error == 0)
				error = begin_line(player, i, device);
			if (end_ns <= age_ns)
				end_line(player, i, device);
		}
		player->has_begun[i] |= begins;
		if (!player->has_begun[i])
			due_ns = line->at_ns;
		else if (end_ns > age_ns)
			due_ns = end_ns;
		if (due_ns < *next_ns)
			*next_ns = due_ns;
	}
	return error;
}

static void end_all(struct player *player)
{
	for (uint32_t i = 0; i < player->scenario->count; i++)
		for (uint32_t device = 0; device < player->device_count; device++)
			end_line(player, i, device);
}

static int open_links(struct player *player, const struct rnic_socket_list *sockets)
{
	for (uint32_t i = 0; i < sockets->count; i++) {
		struct admin_link *link = &player->links[i];
		const int error = admin_link_open(link, sockets->paths[i], "rnic-run");

		if (error) {
			complain("%s", link->reason);
			return error;
		}
		player->device_count++;
	}
	return 0;
}

/* Each line must be for some device. */
static int check_devices(const struct player *player)
{
	for (uint32_t i = 0; i < player->scenario->count; i++) {
		const struct scenario_line *line = &player->scenario->lines[i];
		uint32_t device = 0;

		while (device < player->device_count && !line_is_on(player, line, device))
			device++;
		if (device == player->device_count) {
			complain_of_line(player, i, "the program has no such device");
			return -ENODEV;
		}
	}
	return 0;
}

static int play_until_stopped(struct player *player, int stop_fd, uint64_t began_ns,
			      uint64_t next_ns)
{
	for (;;) {
		struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
		const uint64_t age_ns = clock_now_ns() - began_ns;
		int wait_ms = -1;

		if (next_ns <= age_ns) {
			play_due(player, age_ns, &next_ns);
			continue;
		}
		if (next_ns != UINT64_MAX)
			wait_ms = (int)((next_ns - age_ns + NS_PER_MS - 1) / NS_PER_MS);
		if (poll(&stop, 1, wait_ms) > 0)
			return 0;
	}
}

/* The process that plays: nothing of a terminal ends it before everything is unloaded. */
static _Noreturn void play(struct player *player, const struct rnic_socket_list *sockets,
			   int ready_fd, int stop_fd)
{
	uint64_t next_ns;
	int error;

	setsid();
	signal(SIGPIPE, SIG_IGN);
	error = open_links(player, sockets);
	if (!error)
		error = check_devices(player);
	if (!error)
		error = play_due(player, 0, &next_ns);
	if (!error && write(ready_fd, "", 1) == 1)
		play_until_stopped(player, stop_fd, clock_now_ns(), next_ns);
	end_all(player);
	_exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int start_process(struct scenario_play *scenario_play, struct player *player,
			 const struct rnic_socket_list *sockets)
{
	int ready[2], stop[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(stop, O_CLOEXEC) < 0) {
		close(ready[0]);
		close(ready[1]);
		return -errno;
	}
	scenario_play->pid = fork();
	if (scenario_play->pid == 0) {
		close(stop[1]);
		play(player, sockets, ready[1], stop[0]);
	}
	close(ready[1]);
	close(stop[0]);
	scenario_play->stop_fd = stop[1];
	if (scenario_play->pid < 0 || read(ready[0], &byte, 1) != 1) {
		close(ready[0]);
		return -ECHILD;
	}
	close(ready[0]);
	return 0;
}

int scenario_play_start(struct scenario_play *scenario_play, const struct scenario *scenario,
			const struct rnic_socket_list *sockets)
{
	struct player *player = calloc(1, sizeof(*player));
	struct scenario_report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error;

	if (player == NULL || report == MAP_FAILED) {
		complain("out of memory");
		free(player);
		return -ENOMEM;
	}
	player->scenario = scenario;
	player->report = report;
	*scenario_play = (struct scenario_play){.pid = -1, .stop_fd = -1, .report = report};
	error = start_process(scenario_play, player, sockets);
	free(player);
	if (error)
		scenario_play_end(scenario_play, &(struct scenario_report){0});
	return error;
}

void scenario_play_end(struct scenario_play *scenario_play, struct scenario_report *report)
{
	if (scenario_play->stop_fd >= 0)
		close(scenario_play->stop_fd);
	while (scenario_play->pid > 0 && waitpid(scenario_play->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*report = *scenario_play->report;
	munmap(scenario_play->report, sizeof(*scenario_play->report));
}

void scenario_report_print(const struct scenario *scenario, const struct scenario_report *report)
{
	for (uint32_t i = 0; i < scenario->count; i++)
		complain("%s: line %u, \"%s\": %" PRIu64 " hit%s", scenario->name,
			 scenario->lines[i].number, scenario_line_words(&scenario->lines[i]),
			 report->hits[i], report->hits[i] == 1 ? "" : "s");
}
