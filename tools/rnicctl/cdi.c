/* SPDX-License-Identifier: MIT */
/*
 * Prints a specification of the Container Device Interface: what a container runtime must mount and
 * set, so that unmodified programs in a container find the device of a daemon outside. It is the
 * folder of the socket and the libraries of this installation, and no device node. The daemon need
 * not run yet.
 */
#include "cdi.h"

#include "admin/install_tree.h"
#include "admin/socket_option.h"

#include <argp.h>
#include <dirent.h>
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
	char folder[RNIC_SOCKET_PATH_BYTES]; /* of the socket */
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

/* Whether a daemon makes a file of this name: NAME.sock, NAME.sock.view and the like. */
static bool is_of_daemon(const char *entry, const char *socket_name)
{
	const char *suffix = strstr(entry, ".sock");
	const size_t length = strlen(socket_name);

	if (suffix != NULL && suffix > entry && (suffix[5] == '\0' || suffix[5] == '.'))
		return entry[0] != '.';
	return strncmp(entry, socket_name, length) == 0 &&
	       (entry[length] == '\0' || entry[length] == '.');
}

static int refuse_folder(const char *folder, const char *entry)
{
	fprintf(stderr,
		"rnicctl: containers would see all of %s, and %s in it; give the socket a folder "
		"of its own\n",
		folder, entry);
	return -1;
}

/*
 * A container sees all of the folder, so it must hold sockets of daemons alone, and nobody else may
 * put anything there: the runtime directory of a user has the user's bus and agents.
 */
static int check_folder(const char *folder, const char *socket_name)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	struct stat status;
	int result = 0;

	if (directory == NULL || fstat(dirfd(directory), &status) < 0) {
		fprintf(stderr, "rnicctl: %s: %s\n", folder, strerror(errno));
		if (directory != NULL)
			closedir(directory);
		return -1;
	}
	if (status.st_mode & S_ISVTX)
		result = refuse_folder(folder, "what any user puts");
	while (result == 0 && (entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    !is_of_daemon(entry->d_name, socket_name))
			result = refuse_folder(folder, entry->d_name);
	closedir(directory);
	return result;
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

static int find_paths(const struct cdi_options *options, struct cdi_paths *paths)
{
	char *name;

	if (socket_option_resolve("rnicctl", options->socket, paths->socket) < 0)
		return -1;
	if (strchr(paths->socket, ':') != NULL) {
		fprintf(stderr, "rnicctl: %s: a container would take the colon for the end\n",
			paths->socket);
		return -1;
	}
	snprintf(paths->folder, sizeof(paths->folder), "%s", paths->socket);
	name = strrchr(paths->folder, '/');
	name[name == paths->folder] = '\0';
	if (check_folder(paths->folder, strrchr(paths->socket, '/') + 1) < 0)
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
