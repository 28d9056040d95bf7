/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/view_path.h"

#include "proto/base/bits.h"
#include "proto/base/path_view.h"

#include <string.h>

/* The next component of a path and its length; 0 at the end. Skips slashes and ".". */
static size_t next_component(const char **path)
{
	for (;;) {
		size_t length;

		while (**path == '/')
			(*path)++;
		length = strcspn(*path, "/");
		if (length != 1 || **path != '.')
			return length;
		(*path)++;
	}
}

/* The part of `path` behind the directory `root`; NULL when the path is not in there. */
static const char *skip_root(const char *path, const char *root)
{
	for (;;) {
		size_t wanted = next_component(&root);
		size_t found;

		if (wanted == 0)
			return path;
		found = next_component(&path);
		if (found != wanted || memcmp(path, root, wanted) != 0)
			return NULL;
		path += found;
		root += wanted;
	}
}

/* Whether `path` never leads above its start. */
static bool stays_below(const char *path)
{
	unsigned depth = 0;
	size_t length;

	while ((length = next_component(&path)) > 0) {
		if (length != 2 || path[0] != '.' || path[1] != '.')
			depth++;
		else if (depth-- == 0)
			return false;
		path += length;
	}
	return true;
}

static bool concatenate(char joined[RNIC_VIEW_PATH_BYTES], const char *const *parts, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(parts[i]);

		if (length >= RNIC_VIEW_PATH_BYTES - used)
			return false;
		memcpy(joined + used, parts[i], length);
		used += length;
	}
	joined[used] = '\0';
	return true;
}

bool rnic_view_map(const char *tree, const char *path, char mapped[RNIC_VIEW_PATH_BYTES])
{
	static const char *const roots[] = {RNIC_VIEW_ROOTS};

	if (path[0] != '/')
		return false;
	for (size_t i = 0; i < RNIC_COUNT_OF(roots); i++) {
		const char *rest = skip_root(path, roots[i]);

		if (rest != NULL)
			return stays_below(rest) &&
			       concatenate(mapped, (const char *[]){tree, roots[i], rest}, 3);
	}
	return false;
}

/* Whether the first component of the path is one to go down. */
static bool begins_below(const char *path)
{
	size_t length = next_component(&path);

	return length > 0 && (length != 2 || path[0] != '.' || path[1] != '.');
}

/* The part of `path` from the name of a bus on, such as "pci0000:18"; NULL: it is not in one. */
static const char *skip_to_bus(const char *path)
{
	static const char folder[] = "/sys/devices";
	const char *rest = skip_root(path, folder);

	if (rest == NULL || next_component(&rest) == 0)
		return NULL;
	return strncmp(rest, RNIC_VIEW_PCI_MARK, sizeof(RNIC_VIEW_PCI_MARK) - 1) == 0 ? rest : NULL;
}

/*
 * The part of `path` from the name of an interface on; NULL: the path is not in its folder of
 * devices. `end` is where the name of the folder ends.
 */
static const char *skip_to_netdev(const char *path, const char **end)
{
	const char *rest = skip_root(path, RNIC_VIEW_NET), *netdev;
	size_t length;

	if (rest == NULL || (length = next_component(&rest)) == 0)
		return NULL;
	netdev = rest;
	*end = skip_root(rest + length, RNIC_VIEW_NET_FOLDER);
	return *end != NULL && stays_below(*end) ? netdev : NULL;
}

/* What the view has of an interface, if it has anything: `rest` comes from skip_to_netdev(). */
static bool map_netdev(const char *tree, const char *rest, const char *end,
		       char mapped[RNIC_VIEW_PATH_BYTES], char probe[RNIC_VIEW_PATH_BYTES])
{
	if (!concatenate(mapped, (const char *[]){tree, RNIC_VIEW_NET "/", rest}, 3) ||
	    !concatenate(probe, (const char *[]){mapped}, 1))
		return false;
	probe[strlen(probe) - strlen(end)] = '\0';
	return true;
}

bool rnic_view_map_there(const char *tree, const char *path, char mapped[RNIC_VIEW_PATH_BYTES],
			 char probe[RNIC_VIEW_PATH_BYTES])
{
	static const char *const roots[] = {RNIC_VIEW_PCI_DEVICES, RNIC_VIEW_PCI_DRIVERS,
					    RNIC_VIEW_PCI_BUSES, RNIC_VIEW_ROOTS};
	const char *rest = path[0] == '/' ? skip_to_bus(path) : NULL;
	const char *end;

	if (rest != NULL)
		return concatenate(mapped, (const char *[]){tree, "/sys/devices/", rest}, 3) &&
		       concatenate(probe, (const char *[]){mapped}, 1);
	rest = path[0] == '/' ? skip_to_netdev(path, &end) : NULL;
	if (rest != NULL)
		return map_netdev(tree, rest, end, mapped, probe);
	for (size_t i = 0; path[0] == '/' && i < RNIC_COUNT_OF(roots); i++) {
		rest = skip_root(path, roots[i]);
		if (rest == NULL)
			continue;
		if (!concatenate(mapped, (const char *[]){tree, roots[i], rest}, 3))
			return false;
		if (stays_below(rest))
			return concatenate(probe, (const char *[]){tree, roots[i]}, 2);
		return begins_below(rest) && concatenate(probe, (const char *[]){mapped}, 1);
	}
	return false;
}

bool rnic_view_join(const char *directory, const char *relative, char joined[RNIC_VIEW_PATH_BYTES])
{
	return concatenate(joined, (const char *[]){directory, "/", relative}, 3);
}
