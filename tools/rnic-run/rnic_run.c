/* SPDX-License-Identifier: MIT */
/*
 * rnic-run: runs a program with our verbs libraries before the system's, and with the path view at
 * the kernel's places, on a daemon that it starts when none answers. rnic-run becomes the program,
 * so that pid, signals and exit status are the program's own. With a scenario the program is a
 * child.
 */
#include "lib/nic/port/conditions/fault_reader.h"
#include "proto/base/bits.h"
#include "proto/base/path_view.h"
#include "proto/ctl/direct_device.h"
#include "tools/rnic-run/complaint.h"
#include "tools/rnic-run/daemon_hold.h"
#include "tools/rnic-run/explained_run.h"
#include "tools/rnic-run/explore.h"
#include "tools/rnic-run/explore_fault.h"
#include "tools/rnic-run/merged_view.h"
#include "tools/rnic-run/run_devices.h"
#include "tools/rnic-run/scenario_file.h"
#include "tools/rnic-run/scenario_play.h"
#include "tools/rnic-run/scenario_save.h"
#include "tools/rnic-run/supervised.h"
#include "tools/rnic-run/view_namespace.h"
#include "tools/support/command_path.h"
#include "tools/support/install_tree.h"
#include "tools/support/machine_socket.h"
#include "tools/support/socket_option.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_options {
	struct run_devices devices;
	char **command;
	const char *scenario;		/* NULL: none */
	const char *save;		/* the file for a scenario; NULL: none is named */
	struct explore_options explore; /* runs 0: none */
	bool in_namespace;
	bool is_direct;
	bool is_explained;
};

/* The places of the libraries that the command gets. */
struct run_libraries {
	char verbs_directory[PATH_MAX];
	char view_directory[PATH_MAX]; /* that of the guard and the direct device, too */
};

enum {
	KEY_NETDEV = 256,
	KEY_ADDRESS,
	KEY_NO_DAEMON,
	KEY_FAULT,
	KEY_NAMESPACE,
	KEY_DIRECT,
	KEY_SCENARIO,
	KEY_EXPLORE,
	KEY_CLASSES,
	KEY_SEED,
	KEY_BUDGET,
	KEY_SAVE,
	KEY_EXPLAIN,
};

#define GUARD_LIBRARY	"librnic-guard.so"
#define VIEW_TREE_BYTES MERGED_VIEW_PATH_BYTES

_Static_assert(VIEW_TREE_BYTES >= RNIC_SOCKET_PATH_BYTES + sizeof(RNIC_VIEW_SUFFIX),
	       "room for the view of one socket");

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0,
	 "The daemon's socket, or a directory of sockets; once for each device", 0},
	{"netdev", KEY_NETDEV, "IF", 0, "Network interface of a new daemon, for each socket", 0},
	{"address", KEY_ADDRESS, "IP", 0, "Address of a new daemon, for each socket", 0},
	{"fault", KEY_FAULT, "SPEC", 0, "Faults that a new daemon injects", 0},
	{"scenario", KEY_SCENARIO, "FILE", 0, "Play the conditions of the file while COMMAND runs",
	 0},
	{"explore", KEY_EXPLORE, "N", 0,
	 "Run COMMAND N times under scenarios that are drawn, and make the one that fails small",
	 0},
	{"classes", KEY_CLASSES, "CLASS,...", 0,
	 "explore: these of loss, errno, events, order, delay; otherwise all", 0},
	{"seed", KEY_SEED, "N", 0, "explore: draw other scenarios than with 1", 0},
	{"budget", KEY_BUDGET, "TIME", 0, "explore: how long a run may take, such as 5s", 0},
	{"save", KEY_SAVE, "FILE", 0, "Write the run of a scenario, or what --explore finds", 0},
	{"ns", KEY_NAMESPACE, NULL, 0,
	 "Show sysfs and /dev by a mount namespace, for static programs too", 0},
#ifdef RNIC_WITH_DIRECT
	{"direct", KEY_DIRECT, NULL, 0, "Run the device inside COMMAND", 0},
#endif
	{"explain", KEY_EXPLAIN, NULL, 0,
	 "When COMMAND fails, print what the device knows of COMMAND", 0},
	{"no-daemon", KEY_NO_DAEMON, NULL, 0, "Start no daemon", 0},
	{0},
};

static uint64_t explore_read_number(const char *text, uint64_t most, const struct argp_state *state)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text == '-' || end == text || *end != '\0' || errno != 0 || number > most)
		argp_error(state, "\"%s\" is not a number of at most %llu", text,
			   (unsigned long long)most);
	return number;
}

static uint64_t read_budget(char *text, const struct argp_state *state)
{
	char message[128];
	struct fault_reader reader = {text, 1, text, text + strlen(text), message, sizeof(message)};
	uint64_t budget_ns;

	if (fault_reader_time(&reader, &budget_ns) != 0 || reader.at != reader.end ||
	    budget_ns == 0)
		argp_error(state, "\"%s\" is not a time of at most 60s, such as 5s", text);
	return budget_ns;
}

static void take_explore(int key, char *argument, struct explore_options *explore,
			 const struct argp_state *state)
{
	switch (key) {
	case KEY_EXPLORE:
		explore->runs = (uint32_t)explore_read_number(argument, 1000000, state);
		if (explore->runs == 0)
			argp_error(state, "no run explores nothing");
		break;
	case KEY_CLASSES:
		if (explore_classes_read(argument, &explore->classes) != 0)
			argp_error(state,
				   "\"%s\": the classes are loss, errno, events, order, delay",
				   argument);
		break;
	case KEY_SEED:
		explore->seed = explore_read_number(argument, UINT32_MAX, state);
		break;
	default:
		explore->budget_ns = read_budget(argument, state);
		break;
	}
}

static error_t run_parse(int key, char *argument, struct argp_state *state)
{
	struct run_options *options = state->input;

	struct run_devices *devices = &options->devices;

	switch (key) {
	case 's':
		/* It has complained by itself. */
		if (socket_option_add("rnic-run", argument, &devices->sockets) < 0)
			exit(EXIT_FAILURE);
		return 0;
	case KEY_NETDEV:
		return -run_values_add(&devices->netdevs, argument);
	case KEY_ADDRESS:
		return -run_values_add(&devices->addresses, argument);
	case KEY_FAULT:
		devices->fault = argument;
		return 0;
	case KEY_SAVE:
		options->save = argument;
		return 0;
	case KEY_SCENARIO:
		options->scenario = argument;
		return 0;
	case KEY_EXPLORE:
	case KEY_CLASSES:
	case KEY_SEED:
	case KEY_BUDGET:
		take_explore(key, argument, &options->explore, state);
		return 0;
	case KEY_NAMESPACE:
		options->in_namespace = true;
		return 0;
	case KEY_DIRECT:
		options->is_direct = true;
		return 0;
	case KEY_EXPLAIN:
		options->is_explained = true;
		return 0;
	case KEY_NO_DAEMON:
		devices->may_start = false;
		return 0;
	case ARGP_KEY_ARG:
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which command?");
		return EINVAL;
	case ARGP_KEY_END:
		if (options->scenario != NULL && options->explore.runs != 0)
			argp_error(state, "--explore makes scenarios, and takes none");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Puts `first` before the present value of the variable. */
static int prepend(const char *variable, const char *first)
{
	const char *rest = getenv(variable);
	char *joined;
	int error;

	if (!rest || !rest[0])
		return setenv(variable, first, 1);
	if (asprintf(&joined, "%s:%s", first, rest) < 0)
		return -1;
	error = setenv(variable, joined, 1);
	free(joined);
	return error;
}

/*
 * The address sanitizer of gcc refuses a program whose first library is not the sanitizer's, and
 * ours come first. Options of the user follow, so that they prevail.
 */
#define SANITIZER_OPTION "verify_asan_link_order=0"

/*
 * LD_LIBRARY_PATH serves dlopen() and programs that link the libraries; LD_PRELOAD also serves
 * programs whose own RPATH names the system's directory. `view_directory` is the shim's.
 */
static int set_variables(const char *socket, const char *verbs_directory,
			 const char *view_directory)
{
	char *preload;
	int error;

	if (asprintf(&preload, "%s/libibverbs.so.1:%s/librdmacm.so.1:%s/librnic-view.so",
		     verbs_directory, verbs_directory, view_directory) < 0)
		return -1;
	error = setenv("RNIC_SOCKET", socket, 1) || prepend("LD_LIBRARY_PATH", verbs_directory) ||
		prepend("LD_PRELOAD", preload) || prepend("ASAN_OPTIONS", SANITIZER_OPTION);
	free(preload);
	return error ? -1 : 0;
}

/* Whether the directory has what --direct loads. */
static bool has_direct_libraries(const char *directory)
{
	static const char *const names[] = {GUARD_LIBRARY, RNIC_DIRECT_LIBRARY};
	char path[PATH_MAX + NAME_MAX];

	for (unsigned i = 0; i < RNIC_COUNT_OF(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		if (access(path, R_OK) < 0) {
			complain("--direct needs %s: %s", path, strerror(errno));
			return false;
		}
	}
	return true;
}

/* The guard stands behind ours and before the C library, whose calls of signals it takes. */
static int set_direct(const char *guard_directory)
{
	char *preload;
	int error;

	if (asprintf(&preload, "%s/" GUARD_LIBRARY, guard_directory) < 0)
		return -1;
	error = prepend("LD_PRELOAD", preload) || setenv("RNIC_DIRECT", "1", 1);
	free(preload);
	return error ? -1 : 0;
}

static int find_libraries(struct run_libraries *libraries, bool is_direct)
{
	if (install_tree_verbs_directory(libraries->verbs_directory) < 0 ||
	    install_tree_view_directory(libraries->view_directory) < 0) {
		complain("no libibverbs.so.1 or librnic-view.so of rnicd near this program; build "
			 "or install rnicd with its verbs libraries");
		return -1;
	}
	return is_direct && !has_direct_libraries(libraries->view_directory) ? -1 : 0;
}

static int prepare_environment(const struct run_libraries *libraries, const char *socket,
			       bool is_direct)
{
	if ((is_direct && set_direct(libraries->view_directory) < 0) || socket == NULL ||
	    set_variables(socket, libraries->verbs_directory, libraries->view_directory) < 0) {
		complain("out of memory");
		return -1;
	}
	return 0;
}

/*
 * A daemon in another container may have shared its socket alone. That is enough for verbs, and for
 * what the shim answers by netlink.
 */
static bool has_view_of(const char *tree)
{
	if (access(tree, X_OK) == 0)
		return true;
	fprintf(stderr,
		"rnic-run: %s: %s; /sys/class/infiniband and /dev/infiniband stay as they "
		"are\n",
		tree, strerror(errno));
	return false;
}

static int find_merged_view(const struct rnic_socket_list *sockets, char tree[VIEW_TREE_BYTES],
			    bool *is_there)
{
	struct rnic_device_list devices;
	int error = rnic_device_list_ask(sockets, &devices);

	*is_there = false;
	for (uint32_t i = 0; error == 0 && !*is_there && i < devices.count; i++) {
		snprintf(tree, VIEW_TREE_BYTES, "%s%s", devices.devices[i].socket_path,
			 RNIC_VIEW_SUFFIX);
		*is_there = has_view_of(tree);
	}
	if (*is_there)
		error = merged_view_start(&devices, tree);
	free(devices.devices);
	return error;
}

/* Finds the view of the command's devices, and shows it: by a namespace, or by the shim. */
static int show_view(const struct rnic_socket_list *sockets, bool in_namespace)
{
	char tree[VIEW_TREE_BYTES];
	bool is_there;

	/* Below another rnic-run, this process has a shim too, and needs the real paths. */
	if (setenv(RNIC_VIEW_VARIABLE, RNIC_VIEW_IN_PLACE, 1) < 0)
		return -1;
	if (sockets->count > 1) {
		if (find_merged_view(sockets, tree, &is_there) != 0)
			return -1;
	} else {
		snprintf(tree, sizeof(tree), "%s%s", sockets->paths[0], RNIC_VIEW_SUFFIX);
		is_there = has_view_of(tree);
	}
	if (in_namespace)
		return is_there ? view_namespace_enter(tree) : -1;
	if (!is_there)
		return 0;
	return sockets->count > 1 ? setenv(RNIC_VIEW_VARIABLE, tree, 1)
				  : unsetenv(RNIC_VIEW_VARIABLE);
}

/* ---- which daemon ---- */

static void say_machine(const char *sentence)
{
	complain("%s", sentence);
}

/*
 * Adds the sockets of the user's daemons, where no option has. Where the user names none and has no
 * daemon, a daemon of the machine comes before a new one; rnic-run starts none in its place.
 */
static int choose_sockets(struct run_devices *devices)
{
	struct machine_search search = {
		.program = "rnic-run",
		.netdev = devices->netdevs.values[0],
		.address = devices->addresses.values[0],
		.say = say_machine,
	};
	struct machine_socket machine;
	char *own = devices->sockets.paths[0];

	if (devices->sockets.count > 0)
		return 0;
	if (socket_option_add("rnic-run", NULL, &devices->sockets) < 0)
		return -1;
	search.own = own;
	/* Faults are for a new daemon alone. */
	if (socket_option_is_named(NULL) || devices->fault != NULL ||
	    machine_socket_find(&search, &machine) != 0)
		return 0;
	complain("using the machine's rnicd on %s (interface %s, user %u)", machine.path,
		 machine.netdev, (unsigned)machine.owner);
	memcpy(own, machine.path, sizeof(machine.path));
	devices->may_start = false;
	return 0;
}

/* ---- the command ---- */

/*
 * Before a daemon starts for it: whether the command is there. Returns 0, or the exit status after
 * a complaint.
 */
static int check_command(const char *command)
{
	char sentence[COMMAND_PATH_TEXT_BYTES];
	int error = command_path_check(command, sentence);

	if (error == 0)
		return 0;
	complain("%s", sentence);
	return error == -ENOENT ? 127 : 126;
}

/* Becomes the command. Returns the exit status when that fails. */
static int become_command(char **command)
{
	execvp(command[0], command);
	fprintf(stderr, "rnic-run: %s: %s\n", command[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* Not all rules reach a device inside the command. */
static int check_direct(const struct scenario *scenario)
{
	for (uint32_t i = 0; i < scenario->count; i++) {
		const struct scenario_line *line = &scenario->lines[i];

		if (!line->needs_process)
			continue;
		complain("%s: line %u, \"%s\": this rule does not reach programs that run with "
			 "--direct: leave that out, or load the rule where the peer is, with rx: "
			 "for what this end sends",
			 scenario->name, line->number, scenario_line_words(line));
		return -EBUSY;
	}
	return 0;
}

static int read_scenario(const struct run_options *options, struct scenario *scenario)
{
	char message[SCENARIO_FAULT_BYTES];

	if (scenario_read(scenario, options->scenario, message) != 0) {
		complain("%s", message);
		return -1;
	}
	return options->is_direct ? check_direct(scenario) : 0;
}

/* Plays the scenario while the command runs. Returns the exit status of a failure to begin. */
static int run_scenario(const struct run_options *options, const struct scenario *scenario)
{
	const struct supervised_options supervised = {.command = options->command, .output_fd = -1};
	struct scenario_report report;
	struct supervised_end end;
	struct scenario_play play;
	int error;

	supervised_prepare();
	if (scenario_play_start(&play, scenario, &options->devices.sockets) < 0)
		return EXIT_FAILURE;
	error = supervised_run(&supervised, &end);
	scenario_play_end(&play, &report);
	if (error)
		return EXIT_FAILURE;
	scenario_report_print(scenario, &report);
	if (options->save != NULL)
		scenario_save(scenario, &report, options->save);
	supervised_exit(end.status);
}

static int run_explore(struct run_options *options)
{
	options->explore.command = options->command;
	options->explore.sockets = &options->devices.sockets;
	options->explore.save = options->save != NULL ? options->save : "explore.scenario";
	options->explore.is_direct = options->is_direct;
	return explore(&options->explore);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = run_parse,
		.args_doc = "COMMAND [ARG...]",
		.doc = "Run COMMAND on an emulated RDMA network interface.\v"
		       "The exit status is that of COMMAND; 127 when it was not found, 126 when it "
		       "cannot "
		       "be executed, 1 when there is no daemon, or no namespace for --ns.",
	};
	struct run_options options = {
		.devices.may_start = true,
		.explore = {.classes = EXPLORE_ALL_CLASSES, .seed = 1},
	};
	struct run_devices *devices = &options.devices;
	struct run_libraries libraries;
	struct scenario scenario;
	char *joined;
	int status;

	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options);
	if (options.scenario != NULL && read_scenario(&options, &scenario) != 0)
		return EXIT_FAILURE;
	status = check_command(options.command[0]);
	if (status != 0)
		return status;
	if (find_libraries(&libraries, options.is_direct) < 0 || choose_sockets(devices) < 0 ||
	    run_devices_ensure(devices) < 0 ||
	    show_view(&devices->sockets, options.in_namespace) < 0)
		return EXIT_FAILURE;
	joined = run_devices_join(devices);
	if (prepare_environment(&libraries, joined, options.is_direct) < 0)
		return EXIT_FAILURE;
	free(joined);
	for (uint32_t i = 0; devices->may_start && i < devices->sockets.count; i++)
		daemon_hold(devices->sockets.paths[i]);
	if (options.explore.runs == 0 && (options.is_explained || explained_run_is_wanted()) &&
	    explained_run_fork(&devices->sockets, options.command[0]) < 0)
		return EXIT_FAILURE;
	if (options.scenario != NULL)
		return run_scenario(&options, &scenario);
	return options.explore.runs != 0 ? run_explore(&options) : become_command(options.command);
}
