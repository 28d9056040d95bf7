/* SPDX-License-Identifier: MIT */
/*
 * librnic-view.so: the C library's functions that take a path. Each replaces a path that the view
 * covers by that of its copy, and calls the next library's function. No state but the addresses of
 * those functions (view_next.c), no allocation, no lock.
 *
 * Functions of the C library call each other inside without coming here, so each function that
 * opens by name has its own entry: scandir() as well as opendir().
 */
#include "lib/dropin/view/view_next.h"
#include "lib/dropin/view/view_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8 && sizeof(ino_t) == 8, "one struct stat for all of stat's names");

/*
 * TAKES_PATH(name, result, parameters, directory, path, arguments): a function with `path`, which
 * is relative to `directory`, among its arguments. `arguments` contain PATH in its place.
 */
#define TAKES_PATH(name, result, parameters, directory, path, ...)                                 \
	VIEW_API result name parameters                                                            \
	{                                                                                          \
		char buffer[RNIC_VIEW_PATH_BYTES];                                                 \
		const char *PATH = rnic_view_redirect(directory, path, buffer);                    \
                                                                                                   \
		return NEXT(name)(__VA_ARGS__);                                                    \
	}

/* ---- open ---- */

/* open() has its third argument only when it may make a file. */
static mode_t creation_mode(int flags, va_list arguments)
{
	if ((flags & O_CREAT) == 0 && (flags & O_TMPFILE) != O_TMPFILE)
		return 0;
	return va_arg(arguments, mode_t);
}

#define OPENS(name)                                                                                \
	VIEW_API int name(const char *path, int flags, ...)                                        \
	{                                                                                          \
		char buffer[RNIC_VIEW_PATH_BYTES];                                                 \
		va_list arguments;                                                                 \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(arguments, flags);                                                        \
		mode = creation_mode(flags, arguments);                                            \
		va_end(arguments);                                                                 \
		return NEXT(name)(rnic_view_redirect(AT_FDCWD, path, buffer), flags, mode);        \
	}

#define OPENS_AT(name)                                                                             \
	VIEW_API int name(int fd, const char *path, int flags, ...)                                \
	{                                                                                          \
		char buffer[RNIC_VIEW_PATH_BYTES];                                                 \
		va_list arguments;                                                                 \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(arguments, flags);                                                        \
		mode = creation_mode(flags, arguments);                                            \
		va_end(arguments);                                                                 \
		return NEXT(name)(fd, rnic_view_redirect(fd, path, buffer), flags, mode);          \
	}

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

/* The functions that programs built with _FORTIFY_SOURCE call; no header declares them. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int fd, const char *path, int flags);
int __openat64_2(int fd, const char *path, int flags);

TAKES_PATH(__open_2, int, (const char *path, int flags), AT_FDCWD, path, PATH, flags)
TAKES_PATH(__open64_2, int, (const char *path, int flags), AT_FDCWD, path, PATH, flags)
TAKES_PATH(__openat_2, int, (int fd, const char *path, int flags), fd, path, fd, PATH, flags)
TAKES_PATH(__openat64_2, int, (int fd, const char *path, int flags), fd, path, fd, PATH, flags)

TAKES_PATH(fopen, FILE *, (const char *path, const char *mode), AT_FDCWD, path, PATH, mode)
TAKES_PATH(fopen64, FILE *, (const char *path, const char *mode), AT_FDCWD, path, PATH, mode)
TAKES_PATH(freopen, FILE *, (const char *path, const char *mode, FILE *file), AT_FDCWD, path, PATH,
	   mode, file)
TAKES_PATH(freopen64, FILE *, (const char *path, const char *mode, FILE *file), AT_FDCWD, path,
	   PATH, mode, file)

/* ---- directories ---- */

TAKES_PATH(opendir, DIR *, (const char *path), AT_FDCWD, path, PATH)
TAKES_PATH(chdir, int, (const char *path), AT_FDCWD, path, PATH)

#define SCANS(name, entry)                                                                         \
	TAKES_PATH(name, int,                                                                      \
		   (const char *path, struct entry ***list, int (*select)(const struct entry *),   \
		    int (*compare)(const struct entry **, const struct entry **)),                 \
		   AT_FDCWD, path, PATH, list, select, compare)
#define SCANS_AT(name, entry)                                                                      \
	TAKES_PATH(name, int,                                                                      \
		   (int fd, const char *path, struct entry ***list,                                \
		    int (*select)(const struct entry *),                                           \
		    int (*compare)(const struct entry **, const struct entry **)),                 \
		   fd, path, fd, PATH, list, select, compare)

SCANS(scandir, dirent)
SCANS(scandir64, dirent64)
SCANS_AT(scandirat, dirent)
SCANS_AT(scandirat64, dirent64)

/* ---- stat ---- */

#define STATS(name, stat)                                                                          \
	TAKES_PATH(name, int, (const char *path, struct stat *status), AT_FDCWD, path, PATH, status)
#define STATS_AT(name, stat)                                                                       \
	TAKES_PATH(name, int, (int fd, const char *path, struct stat *status, int flags), fd,      \
		   path, fd, PATH, status, flags)

STATS(stat, stat)
STATS(stat64, stat64)
STATS(lstat, stat)
STATS(lstat64, stat64)
STATS_AT(fstatat, stat)
STATS_AT(fstatat64, stat64)

TAKES_PATH(statx, int, (int fd, const char *path, int flags, unsigned mask, struct statx *status),
	   fd, path, fd, PATH, flags, mask, status)

/*
 * The names of stat() in programs that were built before glibc 2.33. On machines with one layout of
 * struct stat the version that they pass says nothing.
 */
#define OLD_STAT(name, now, stat)                                                                  \
	int name(int version, const char *path, struct stat *status);                              \
	VIEW_API int name(int version, const char *path, struct stat *status)                      \
	{                                                                                          \
		(void)version;                                                                     \
		return now(path, status);                                                          \
	}
#define OLD_STAT_AT(name, now, stat)                                                               \
	int name(int version, int fd, const char *path, struct stat *status, int flags);           \
	VIEW_API int name(int version, int fd, const char *path, struct stat *status, int flags)   \
	{                                                                                          \
		(void)version;                                                                     \
		return now(fd, path, status, flags);                                               \
	}

OLD_STAT(__xstat, stat, stat)
OLD_STAT(__xstat64, stat64, stat64)
OLD_STAT(__lxstat, lstat, stat)
OLD_STAT(__lxstat64, lstat64, stat64)
OLD_STAT_AT(__fxstatat, fstatat, stat)
OLD_STAT_AT(__fxstatat64, fstatat64, stat64)

/* ---- access, links, attributes ---- */

TAKES_PATH(access, int, (const char *path, int mode), AT_FDCWD, path, PATH, mode)
TAKES_PATH(eaccess, int, (const char *path, int mode), AT_FDCWD, path, PATH, mode)
TAKES_PATH(euidaccess, int, (const char *path, int mode), AT_FDCWD, path, PATH, mode)
TAKES_PATH(faccessat, int, (int fd, const char *path, int mode, int flags), fd, path, fd, PATH,
	   mode, flags)

ssize_t __readlink_chk(const char *path, char *text, size_t bytes, size_t room);
ssize_t __readlinkat_chk(int fd, const char *path, char *text, size_t bytes, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

TAKES_PATH(readlink, ssize_t, (const char *path, char *text, size_t bytes), AT_FDCWD, path, PATH,
	   text, bytes)
TAKES_PATH(readlinkat, ssize_t, (int fd, const char *path, char *text, size_t bytes), fd, path, fd,
	   PATH, text, bytes)
TAKES_PATH(__readlink_chk, ssize_t, (const char *path, char *text, size_t bytes, size_t room),
	   AT_FDCWD, path, PATH, text, bytes, room)
TAKES_PATH(__readlinkat_chk, ssize_t,
	   (int fd, const char *path, char *text, size_t bytes, size_t room), fd, path, fd, PATH,
	   text, bytes, room)
TAKES_PATH(realpath, char *, (const char *path, char *resolved), AT_FDCWD, path, PATH, resolved)
TAKES_PATH(__realpath_chk, char *, (const char *path, char *resolved, size_t room), AT_FDCWD, path,
	   PATH, resolved, room)
TAKES_PATH(canonicalize_file_name, char *, (const char *path), AT_FDCWD, path, PATH)

TAKES_PATH(getxattr, ssize_t, (const char *path, const char *name, void *value, size_t bytes),
	   AT_FDCWD, path, PATH, name, value, bytes)
TAKES_PATH(lgetxattr, ssize_t, (const char *path, const char *name, void *value, size_t bytes),
	   AT_FDCWD, path, PATH, name, value, bytes)
TAKES_PATH(listxattr, ssize_t, (const char *path, char *list, size_t bytes), AT_FDCWD, path, PATH,
	   list, bytes)
TAKES_PATH(llistxattr, ssize_t, (const char *path, char *list, size_t bytes), AT_FDCWD, path, PATH,
	   list, bytes)

/* ---- patterns ---- */

static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static void glob_closedir(void *directory)
{
	closedir(directory);
}

static struct dirent *glob_readdir(void *directory)
{
	return readdir(directory);
}

static struct dirent64 *glob_readdir64(void *directory)
{
	return readdir64(directory);
}

/* glob() takes the functions that it looks with: those above. */
#define GLOBS(name, type, suffix)                                                                  \
	VIEW_API int name(const char *pattern, int flags, int (*failed)(const char *, int),        \
			  type *found)                                                             \
	{                                                                                          \
		char buffer[RNIC_VIEW_PATH_BYTES];                                                 \
                                                                                                   \
		if ((flags & GLOB_ALTDIRFUNC) != 0 ||                                              \
		    rnic_view_redirect(AT_FDCWD, pattern, buffer) == pattern)                      \
			return NEXT(name)(pattern, flags, failed, found);                          \
		found->gl_opendir = glob_opendir;                                                  \
		found->gl_closedir = glob_closedir;                                                \
		found->gl_readdir = glob_readdir##suffix;                                          \
		found->gl_stat = stat##suffix;                                                     \
		found->gl_lstat = lstat##suffix;                                                   \
		return NEXT(name)(pattern, flags | GLOB_ALTDIRFUNC, failed, found);                \
	}

GLOBS(glob, glob_t, )
GLOBS(glob64, glob64_t, 64)
