/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/tree_files.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE_FILES_MODE 0755
#define TREE_FILES_OPEN 8 /* that nftw() has open at a time */

int tree_files_path(char path[PATH_MAX], const char *tree, const char *format, ...)
{
	char name[PATH_MAX / 2];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(name))
		return -ENAMETOOLONG;
	length = snprintf(path, PATH_MAX, "%s%s", tree, name);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int tree_files_add_directory(const char *tree, const char *directory)
{
	char path[PATH_MAX];
	size_t start = strlen(tree) + 1;
	int error = tree_files_path(path, tree, "%s/", directory);

	if (error != 0)
		return error;
	for (char *slash = strchr(path + start, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, TREE_FILES_MODE) != 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int tree_files_add_link(const char *tree, const char *target, const char *directory,
			const char *name)
{
	char path[PATH_MAX];
	int error = tree_files_path(path, tree, "%s/%s", directory, name);

	if (error != 0)
		return error;
	return symlink(target, path) == 0 || errno == EEXIST ? 0 : -errno;
}

int tree_files_add_text(const char *tree, const char *directory, const char *name, const char *text)
{
	char path[PATH_MAX];
	int error = tree_files_path(path, tree, "%s/%s", directory, name);
	FILE *file;

	if (error != 0)
		return error;
	file = fopen(path, "we");
	if (file == NULL)
		return -errno;
	fprintf(file, "%s\n", text);
	return fclose(file) == 0 ? 0 : -errno;
}

static int tree_files_remove_one(const char *path, const struct stat *status, int type,
				 struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

void tree_files_remove_all(const char *tree)
{
	nftw(tree, tree_files_remove_one, TREE_FILES_OPEN, FTW_DEPTH | FTW_PHYS);
}

int tree_files_remove(const char *tree, const char *directory, const char *name)
{
	char path[PATH_MAX];
	int error = tree_files_path(path, tree, "%s/%s", directory, name);

	if (error == 0)
		tree_files_remove_all(path);
	return error;
}
