/* SPDX-License-Identifier: MIT */
/*
 * Prints a specification of the Container Device Interface: what a container runtime must mount and
 * set, so that unmodified programs in a container find the device of a daemon outside. It is the
 * folder of the socket and the libraries of this installation, and no device node. The daemon must
 * run: only an answer tells rnicd's socket from another.
 */
#include "tools/rnicctl/rnicctl.h"

#include "tools/rnicctl/cdi_folder.h"
#include "tools/rnicctl/daemon_reach.h"
#include "tools/support/install_tree.h"

#include <argp.h>
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CDI_VERSION "0.5.0" /* the oldest that podman 4 knows */
#define KIND	    "rnicd.local/rnic"
#define INSIDE	    "/opt/rnicd" /* where the libraries are in a container */

struct cdi_options {
	const char *socket;
	const char *device; /* its name in the specification; NULL: that of the socket */
};

struct cdi_paths {
	char socket[RNIC_SOCKET_PATH_BYTES];
	char folder[PATH_MAX]; /* of the socket, without symbolic links */
	char verbs[PATH_MAX], view[PATH_MAX];
	char isal[PATH_MAX]; /* empty: the drop-in libraries need no shared ISA-L */
	char isal_name[NAME_MAX + 1];
};

static const struct argp_option argp_options[] = {
	{"socket", 's', "PATH", 0, "The daemon's socket", 0},
	{"device", 'd', "NAME", 0, "Name of the device, default: that of the socket", 0},
	{"json", 'j', NULL, 0, "Print JSON, which a specification always is", 0},
	{0},
};

static error_t cdi_parse(int key, char *argument, struct argp_state *state)
{
	struct cdi_options *options = state->input;

	switch (key) {
	case 's':
		options->socket = argument;
		return 0;
	case 'd':
		options->device = argument;
		return 0;
	case 'j':
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A container need not have ISA-L, which alone the drop-in libraries use beside the C library. */
static void find_isal(struct cdi_paths *paths)
{
	char library[PATH_MAX + sizeof("/librdmacm.so.1")];
	Dl_info found;
	void *handle, *symbol;

	paths->isal[0] = '\0';
	snprintf(library, sizeof(library), "%s/librdmacm.so.1", paths->verbs);
	handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	if (!handle)
		return;
	symbol = dlsym(handle, "crc32_gzip_refl");
	if (symbol && dladdr(symbol, &found) && strstr(found.dli_fname, "libisal")) {
		const char *slash = strrchr(found.dli_fname, '/');

		snprintf(paths->isal_name, sizeof(paths->isal_name), "%s",
			 slash ? slash + 1 : found.dli_fname);
		if (!realpath(found.dli_fname, paths->isal))
			paths->isal[0] = '\0';
	}
	dlclose(handle);
}

/* A link would lead nowhere inside of a container, and elsewhere when somebody changes it. */
static int refuse_link(const char *socket)
{
	struct stat status;

	if (lstat(socket, &status) == 0 && !S_ISLNK(status.st_mode))
		return 0;
	fprintf(stderr, "rnicctl: %s is a symbolic link; give the path to which it leads\n",
		socket);
	return -1;
}

/* Stores the socket and its folder by the path that no symbolic link can change. */
static int resolve_socket(const char *given, struct cdi_paths *paths)
{
	const char *name = strrchr(given, '/') + 1;
	char folder[RNIC_SOCKET_PATH_BYTES];

	snprintf(folder, sizeof(folder), "%.*s", (int)(name - given), given);
	if (realpath(folder, paths->folder) == NULL) {
		fprintf(stderr, "rnicctl: %s: %s\n", folder, strerror(errno));
		return -1;
	}
	if (snprintf(paths->socket, sizeof(paths->socket), "%s/%s", paths->folder, name) >=
	    (int)sizeof(paths->socket)) {
		fprintf(stderr, "rnicctl: the path of the socket is too long: %s/%s\n",
			paths->folder, name);
		return -1;
	}
	if (strchr(paths->socket, ':') != NULL) {
		fprintf(stderr, "rnicctl: %s: a container would take the colon for the end\n",
			paths->socket);
		return -1;
	}
	return 0;
}

static int find_socket(const struct cdi_options *options, struct cdi_paths *paths)
{
	char given[RNIC_SOCKET_PATH_BYTES];
	struct admin_link link;

	if (daemon_reach_path(&link, options->socket, given) < 0)
		return -1;
	admin_link_close(&link);
	if (refuse_link(given) < 0 || resolve_socket(given, paths) < 0)
		return -1;
	return cdi_folder_check(paths->folder, link.owner);
}

static int find_paths(const struct cdi_options *options, struct cdi_paths *paths)
{
	if (find_socket(options, paths) < 0)
		return -1;
	if (install_tree_verbs_directory(paths->verbs) < 0 ||
	    install_tree_view_directory(paths->view) < 0) {
		fprintf(stderr, "rnicctl: no libibverbs.so.1 or librnic-view.so of rnicd near "
				"this program; install the verbs libraries of rnicd\n");
		return -1;
	}
	find_isal(paths);
	return 0;
}

static json_t *mount_of(const char *outside, const char *inside)
{
	return json_pack("{s:s, s:s, s:[s,s,s,s]}", "hostPath", outside, "containerPath", inside,
			 "options", "ro", "rbind", "nosuid", "nodev");
}

/* NULL: no memory, or a path that is no UTF-8, which JSON cannot hold. */
static json_t *mounts_of(const struct cdi_paths *paths)
{
	char outside[PATH_MAX + sizeof("/librnic-view.so")];
	char inside[sizeof(INSIDE "/lib/") + NAME_MAX];
	json_t *mounts;

	snprintf(outside, sizeof(outside), "%s/librnic-view.so", paths->view);
	mounts = json_pack("[o, o, o]", mount_of(paths->folder, paths->folder),
			   mount_of(paths->verbs, INSIDE "/verbs"),
			   mount_of(outside, INSIDE "/librnic-view.so"));
	if (mounts == NULL || !paths->isal[0])
		return mounts;
	snprintf(inside, sizeof(inside), INSIDE "/lib/%s", paths->isal_name);
	if (json_array_append_new(mounts, mount_of(paths->isal, inside)) == 0)
		return mounts;
	json_decref(mounts);
	return NULL;
}

/* NULL as of mounts_of(). */
static json_t *specification(const struct cdi_paths *paths, const char *device)
{
	return json_pack("{s:s, s:s, s:[{s:s, s:{s:[o,s,s], s:o}}]}", "cdiVersion", CDI_VERSION,
			 "kind", KIND, "devices", "name", device, "containerEdits", "env",
			 json_sprintf("RNIC_SOCKET=%s", paths->socket),
			 "LD_LIBRARY_PATH=" INSIDE "/verbs:" INSIDE "/lib",
			 "LD_PRELOAD=" INSIDE "/verbs/libibverbs.so.1:" INSIDE
			 "/verbs/librdmacm.so.1:" INSIDE "/librnic-view.so",
			 "mounts", mounts_of(paths));
}

static int print_document(const json_t *document)
{
	if (document == NULL) {
		fprintf(stderr, "rnicctl: a path is no UTF-8, or there is no memory\n");
		return EXIT_FAILURE;
	}
	if (json_dumpf(document, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0 ||
	    puts("") == EOF || fflush(stdout) != 0) {
		fprintf(stderr, "rnicctl: the specification cannot be written: %s\n",
			strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* The socket's name without its end: "eth0" of /run/rnicd/eth0.sock. */
static void name_of_socket(const char *socket, char name[RNIC_SOCKET_PATH_BYTES])
{
	static const char suffix[] = ".sock";
	size_t length;

	snprintf(name, RNIC_SOCKET_PATH_BYTES, "%s", strrchr(socket, '/') + 1);
	length = strlen(name);
	if (length > sizeof(suffix) - 1 &&
	    strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0)
		name[length - (sizeof(suffix) - 1)] = '\0';
}

/* What the Container Device Interface permits in the name of a device. */
static bool is_device_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t length = strlen(name);
	char allowed[sizeof(letters) + sizeof("_-.:")];

	snprintf(allowed, sizeof(allowed), "%s_-.:", letters);
	return length > 0 && strspn(name, allowed) == length && strchr(letters, name[0]) &&
	       strchr(letters, name[length - 1]);
}

int cdi_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = cdi_parse,
		.doc = "Print what a container needs for the device of a daemon, as a "
		       "specification of the Container Device Interface.",
	};
	struct cdi_options options = {0};
	struct cdi_paths paths;
	char name[RNIC_SOCKET_PATH_BYTES];
	json_t *document;
	int result;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (find_paths(&options, &paths) < 0)
		return EXIT_FAILURE;
	name_of_socket(paths.socket, name);
	if (options.device)
		snprintf(name, sizeof(name), "%s", options.device);
	if (!is_device_name(name)) {
		fprintf(stderr, "rnicctl: \"%s\" is no name of a device; give --device\n", name);
		return EXIT_FAILURE;
	}
	document = specification(&paths, name);
	result = print_document(document);
	json_decref(document);
	return result;
}
