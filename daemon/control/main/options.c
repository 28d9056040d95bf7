/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/options.h"

#include "daemon/control/view/pci_shape.h"
#include "lib/nic/base/number_list.h"
#include "lib/nic/engine/objects/pkey.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_message.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS_SECONDS_MAX 1000000
#define OPTIONS_NODE_MAX    1023

enum {
	OPTION_NETDEV = 256,
	OPTION_ADDRESS,
	OPTION_NAME,
	OPTION_PCI,
	OPTION_NUMA,
	OPTION_SOCKET,
	OPTION_SOCKET_MODE,
	OPTION_USER,
	OPTION_GROUP,
	OPTION_PORT,
	OPTION_SEGMENTATION,
	OPTION_POLL,
	OPTION_PKEYS,
	OPTION_PEER_PORTS,
	OPTION_CM_TOS,
	OPTION_ECN,
	OPTION_FAULT,
	OPTION_CAPTURE,
	OPTION_ALLOW,
	OPTION_EXIT_WHEN_IDLE,
	OPTION_READY_FD,
	OPTION_LOG_LEVEL,
};

static const struct argp_option options_table[] = {
#define OPTION(name, key, argument, help) {name, key, argument, 0, help, 0},
#include "daemon/control/main/options.def"
#undef OPTION
	{0},
};

/* The words stand in the order of their enumerations. */
static const char *const options_ports[] = {"auto", "uring", "socket"};
static const char *const options_peer_ports[] = {"pinned", "any", "rnicd"};
static const char *const options_segmentations[] = {"auto", "on", "off"};
static const char *const options_switches[] = {"off", "on"};
static const char *const options_polls[] = {"adaptive", "busy", "sleep"};

/*
 * Returns the index of `argument` among `words`; ends the program when `argument` is none of them.
 */
static unsigned options_word(struct argp_state *state, const char *option, const char *argument,
			     const char *const *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(argument, words[i]) == 0)
			return i;
	argp_failure(state, 1, 0, "--%s does not know '%s'; see --help", option, argument);
	return 0;
}

#define OPTIONS_WORD(state, option, argument, words)                                               \
	options_word(state, option, argument, words, RNIC_COUNT_OF(words))

static int options_number(struct argp_state *state, const char *option, const char *argument,
			  int max)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(argument, &end, 10);
	if (errno != 0 || end == argument || *end != '\0' || value < 0 || value > max)
		argp_failure(state, 1, 0, "--%s needs a number from 0 to %d, not '%s'", option, max,
			     argument);
	return (int)value;
}

static void options_set_name(struct rnicd_options *options, struct argp_state *state,
			     const char *argument)
{
	if (argument[0] == '\0' || argument[0] == '.' || strlen(argument) >= RNIC_CTL_NAME_BYTES ||
	    strchr(argument, '/') != NULL)
		argp_failure(state, 1, 0,
			     "--name needs 1 to %d characters without '/', and no '.' first",
			     RNIC_CTL_NAME_BYTES - 1);
	options->name = argument;
}

static void options_set_pci(struct rnicd_options *options, struct argp_state *state,
			    const char *argument)
{
	if (!pci_shape_is_address(argument))
		argp_failure(state, 1, 0, "--pci needs an address such as 0000:18:00.0, not '%s'",
			     argument);
	options->pci = argument;
}

static void options_set_pkeys(struct rnicd_options *options, struct argp_state *state,
			      const char *argument)
{
	const int count = number_list_read(argument, options->pkeys, LIMIT_PKEYS);
	bool is_valid = count > 0;

	for (int i = 0; i < count; i++)
		is_valid = is_valid && pkey_is_valid(options->pkeys[i]);
	if (!is_valid)
		argp_failure(state, 1, 0,
			     "--pkeys needs up to %d keys such as 0xffff,0x8001, not '%s'",
			     LIMIT_PKEYS, argument);
	options->pkey_count = (uint32_t)count;
}

static void options_set_allowed(struct rnicd_options *options, struct argp_state *state,
				const char *argument)
{
	const char *next = argument;

	options->allowed_count = 0;
	for (;;) {
		char *end;
		unsigned long uid;

		errno = 0;
		uid = strtoul(next, &end, 10);
		if (errno != 0 || end == next || *next < '0' || *next > '9' || uid >= UINT32_MAX ||
		    (*end != '\0' && *end != ',') || options->allowed_count == OPTIONS_ALLOWED_MAX)
			break;
		options->allowed[options->allowed_count++] = (uid_t)uid;
		if (*end == '\0')
			return;
		next = end + 1;
	}
	argp_failure(state, 1, 0, "--allow needs up to %d user numbers such as 1000,1001, not '%s'",
		     OPTIONS_ALLOWED_MAX, argument);
}

/* Without write permission for the owner the daemon's own user could not connect. */
static mode_t options_mode(struct argp_state *state, const char *argument)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(argument, &end, 8);
	if (errno != 0 || end == argument || *end != '\0' || value < 0 || value > 0777 ||
	    (value & S_IWUSR) == 0)
		argp_failure(state, 1, 0,
			     "--socket-mode needs permissions such as 0660 or 0600, not '%s'",
			     argument);
	return (mode_t)value;
}

/* Where an option that is a text as given is stored; NULL: it is none. */
static const char **options_text(struct rnicd_options *options, int key)
{
	switch (key) {
	case OPTION_NETDEV:
		return &options->netdev;
	case OPTION_ADDRESS:
		return &options->address;
	case OPTION_SOCKET:
		return &options->socket_path;
	case OPTION_USER:
		return &options->user;
	case OPTION_GROUP:
		return &options->group;
	case OPTION_FAULT:
		return &options->fault;
	case OPTION_CAPTURE:
		return &options->capture;
	default:
		return NULL;
	}
}

/* What programs see of the device itself. False: another option. */
static bool options_parse_look(struct rnicd_options *options, int key, char *argument,
			       struct argp_state *state)
{
	switch (key) {
	case OPTION_NAME:
		options_set_name(options, state, argument);
		return true;
	case OPTION_PCI:
		options_set_pci(options, state, argument);
		return true;
	case OPTION_NUMA:
		options->numa_node = options_number(state, "numa", argument, OPTIONS_NODE_MAX);
		return true;
	case ARGP_KEY_END:
		if (options->numa_node >= 0 && options->pci == NULL)
			argp_failure(state, 1, 0, "--numa is for a device with --pci");
		return true;
	default:
		return false;
	}
}

static error_t options_parse_one(int key, char *argument, struct argp_state *state)
{
	struct rnicd_options *options = state->input;
	const char **text = options_text(options, key);

	if (text != NULL) {
		*text = argument;
		return 0;
	}
	if (options_parse_look(options, key, argument, state))
		return 0;
	switch (key) {
	case OPTION_SOCKET_MODE:
		options->socket_mode = options_mode(state, argument);
		break;
	case OPTION_PORT:
		options->port = OPTIONS_WORD(state, "port", argument, options_ports);
		break;
	case OPTION_SEGMENTATION:
		options->segmentation =
			OPTIONS_WORD(state, "segmentation", argument, options_segmentations);
		options->segmentation_name = argument;
		break;
	case OPTION_POLL:
		options->poll = OPTIONS_WORD(state, "poll", argument, options_polls);
		options->poll_name = argument;
		break;
	case OPTION_PKEYS:
		options_set_pkeys(options, state, argument);
		break;
	case OPTION_PEER_PORTS:
		options->peer_ports =
			OPTIONS_WORD(state, "peer-ports", argument, options_peer_ports);
		break;
	case OPTION_ECN:
		options->has_ecn = OPTIONS_WORD(state, "ecn", argument, options_switches) == 1;
		break;
	case OPTION_CM_TOS:
		options->cm_tos = (uint8_t)options_number(state, "cm-tos", argument, UINT8_MAX);
		break;
	case OPTION_ALLOW:
		options_set_allowed(options, state, argument);
		break;
	case OPTION_EXIT_WHEN_IDLE:
		options->exit_when_idle_ns =
			(uint64_t)options_number(state, "exit-when-idle", argument,
						 OPTIONS_SECONDS_MAX) *
			RNIC_NS_PER_SECOND;
		break;
	case OPTION_READY_FD:
		options->ready_fd = options_number(state, "ready-fd", argument, INT32_MAX);
		break;
	case OPTION_LOG_LEVEL:
		if (!log_parse_level(argument, &options->log_level))
			argp_failure(state, 1, 0, "--log-level does not know '%s'; see --help",
				     argument);
		break;
	case ARGP_KEY_ARG:
		argp_failure(state, 1, 0,
			     "'%s' has no option before it, such as --address, --netdev or "
			     "--socket; see --help",
			     argument);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void options_parse(struct rnicd_options *options, int argc, char **argv)
{
	const struct argp argp = {
		.options = options_table,
		.parser = options_parse_one,
		.doc = "A RoCEv2 network interface in user space.",
	};

	*options = (struct rnicd_options){
		.name = "rnic0",
		.segmentation_name = "auto",
		.poll_name = "adaptive",
		.log_level = LOG_LEVEL_INFO,
		.exit_when_idle_ns = UINT64_MAX,
		.ready_fd = -1,
		.numa_node = -1,
		.socket_mode = 0666,
	};
	argp_err_exit_status = 1;
	argv[0] = program_invocation_short_name; /* getopt begins its lines with this name, too */
	if (argp_parse(&argp, argc, argv, 0, NULL, options) != 0)
		exit(1);
}
