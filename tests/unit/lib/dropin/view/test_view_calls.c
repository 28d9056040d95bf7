/* SPDX-License-Identifier: MIT */
/*
 * Each function that librnic-view.so replaces, called as a program calls it: ctest preloads the
 * library. The copy at hand has content of its own, so that a test can tell which file was reached.
 */
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEVICE	"/sys/class/infiniband/rnic-test"
#define FILE_AT DEVICE "/number"
#define LINK_AT DEVICE "/link"
#define TARGET	"number"
#define CONTENT "42\n"

static char folder[] = "/tmp/rnic-calls-XXXXXX";
static int sys_fd; /* of /sys, for paths relative to it */

#define RELATIVE "class/infiniband/rnic-test/number"

/* ---- what was reached ---- */

static bool reads_content(int fd)
{
	char text[8] = "";
	bool is_right = fd >= 0 && read(fd, text, sizeof(text)) == sizeof(CONTENT) - 1 &&
			strcmp(text, CONTENT) == 0;

	if (fd >= 0)
		close(fd);
	return is_right;
}

static bool streams_content(FILE *file)
{
	char text[8] = "";
	bool is_right = file != NULL && fgets(text, sizeof(text), file) != NULL &&
			strcmp(text, CONTENT) == 0;

	if (file != NULL)
		fclose(file);
	return is_right;
}

#define IS_FILE(status)	  (S_ISREG((status).st_mode) && (status).st_size == sizeof(CONTENT) - 1)
#define IS_TARGET(length) ((length) == sizeof(TARGET) - 1 && memcmp(text, TARGET, 6) == 0)

/* ---- one function each ---- */

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int fd, const char *path, int flags);
int __openat64_2(int fd, const char *path, int flags);
ssize_t __readlink_chk(const char *path, char *text, size_t bytes, size_t room);
ssize_t __readlinkat_chk(int fd, const char *path, char *text, size_t bytes, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

#define CHECK(name, ...)                                                                           \
	static bool check_##name(void)                                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

CHECK(open, return reads_content(open(FILE_AT, O_RDONLY));)
CHECK(open64, return reads_content(open64(FILE_AT, O_RDONLY));)
CHECK(openat, return reads_content(openat(sys_fd, RELATIVE, O_RDONLY));)
CHECK(openat64, return reads_content(openat64(sys_fd, RELATIVE, O_RDONLY));)
CHECK(open_2, return reads_content(__open_2(FILE_AT, O_RDONLY));)
CHECK(open64_2, return reads_content(__open64_2(FILE_AT, O_RDONLY));)
CHECK(openat_2, return reads_content(__openat_2(sys_fd, RELATIVE, O_RDONLY));)
CHECK(openat64_2, return reads_content(__openat64_2(AT_FDCWD, FILE_AT, O_RDONLY));)
CHECK(fopen, return streams_content(fopen(FILE_AT, "r"));)
CHECK(fopen64, return streams_content(fopen64(FILE_AT, "r"));)
CHECK(freopen, return streams_content(freopen(FILE_AT, "r", fopen("/dev/null", "r")));)
CHECK(freopen64, return streams_content(freopen64(FILE_AT, "r", fopen("/dev/null", "r")));)
CHECK(stat, struct stat s; return stat(FILE_AT, &s) == 0 && IS_FILE(s);)
CHECK(stat64, struct stat64 s; return stat64(FILE_AT, &s) == 0 && IS_FILE(s);)
CHECK(lstat, struct stat s; return lstat(LINK_AT, &s) == 0 && S_ISLNK(s.st_mode);)
CHECK(lstat64, struct stat64 s; return lstat64(LINK_AT, &s) == 0 && S_ISLNK(s.st_mode);)
CHECK(fstatat, struct stat s; return fstatat(sys_fd, RELATIVE, &s, 0) == 0 && IS_FILE(s);)
CHECK(fstatat64, struct stat64 s; return fstatat64(sys_fd, RELATIVE, &s, 0) == 0 && IS_FILE(s);)
CHECK(statx, struct statx s;
      return statx(sys_fd, RELATIVE, 0, STATX_SIZE, &s) == 0 && s.stx_size == sizeof(CONTENT) - 1;)
CHECK(access, return access(FILE_AT, R_OK) == 0;)
CHECK(eaccess, return eaccess(FILE_AT, R_OK) == 0;)
CHECK(euidaccess, return euidaccess(FILE_AT, R_OK) == 0;)
CHECK(faccessat, return faccessat(sys_fd, RELATIVE, R_OK, 0) == 0;)
CHECK(readlink, char text[64]; return IS_TARGET(readlink(LINK_AT, text, sizeof(text)));)
CHECK(readlinkat, char text[64];
      return IS_TARGET(readlinkat(AT_FDCWD, LINK_AT, text, sizeof(text)));)
CHECK(readlink_chk, char text[64]; return IS_TARGET(__readlink_chk(LINK_AT, text, 64, 64));)
CHECK(readlinkat_chk, char text[64];
      return IS_TARGET(__readlinkat_chk(AT_FDCWD, LINK_AT, text, 64, 64));)
CHECK(listxattr, return listxattr(FILE_AT, NULL, 0) >= 0 || errno == ENOTSUP;)
CHECK(llistxattr, return llistxattr(LINK_AT, NULL, 0) >= 0 || errno == ENOTSUP;)
CHECK(getxattr, return getxattr(FILE_AT, "user.no", NULL, 0) < 0 && errno != ENOENT;)
CHECK(lgetxattr, return lgetxattr(LINK_AT, "user.no", NULL, 0) < 0 && errno != ENOENT;)

static bool is_file_and_free(char *path)
{
	const char *name = path != NULL ? strrchr(path, '/') : NULL;
	bool is_right = name != NULL && strcmp(name, "/" TARGET) == 0;

	free(path);
	return is_right;
}

CHECK(realpath, return is_file_and_free(realpath(LINK_AT, NULL));)
CHECK(realpath_chk, char text[PATH_MAX];
      return __realpath_chk(LINK_AT, text, sizeof(text)) != NULL;)
CHECK(canonicalize, return is_file_and_free(canonicalize_file_name(LINK_AT));)

/* Programs that old still run, but none can be linked any more. */
typedef int old_stat(int version, const char *path, struct stat *status);
typedef int old_stat_at(int version, int fd, const char *path, struct stat *status, int flags);

static bool check_old_stats(void)
{
	static const char *const names[] = {"__xstat", "__xstat64", "__lxstat", "__lxstat64"};
	static const char *const names_at[] = {"__fxstatat", "__fxstatat64"};
	struct stat status;

	for (size_t i = 0; i < RNIC_COUNT_OF(names); i++) {
		old_stat *function = (old_stat *)dlsym(RTLD_DEFAULT, names[i]);

		if (function == NULL || function(1, FILE_AT, &status) != 0 || !IS_FILE(status))
			return false;
	}
	for (size_t i = 0; i < RNIC_COUNT_OF(names_at); i++) {
		old_stat_at *function = (old_stat_at *)dlsym(RTLD_DEFAULT, names_at[i]);

		if (function == NULL || function(1, sys_fd, RELATIVE, &status, 0) != 0 ||
		    !IS_FILE(status))
			return false;
	}
	return true;
}

static bool check_opendir(void)
{
	DIR *directory = opendir(DEVICE);
	bool is_found = false;
	struct dirent *entry;

	if (directory == NULL)
		return false;
	while ((entry = readdir(directory)) != NULL)
		is_found |= strcmp(entry->d_name, TARGET) == 0;
	closedir(directory);
	return is_found;
}

#define SCAN(name, entry, ...)                                                                     \
	static bool check_##name(void)                                                             \
	{                                                                                          \
		struct entry **list;                                                               \
		int count = name(__VA_ARGS__, &list, NULL, NULL);                                  \
                                                                                                   \
		for (int i = 0; i < count; i++)                                                    \
			free(list[i]);                                                             \
		if (count >= 0)                                                                    \
			free(list);                                                                \
		return count == 4; /* with "." and ".." */                                         \
	}

SCAN(scandir, dirent, DEVICE)
SCAN(scandir64, dirent64, DEVICE)
SCAN(scandirat, dirent, sys_fd, "class/infiniband/rnic-test")
SCAN(scandirat64, dirent64, sys_fd, "class/infiniband/rnic-test")

#define GLOB(name, type, release)                                                                  \
	static bool check_##name(void)                                                             \
	{                                                                                          \
		type found;                                                                        \
		bool is_right;                                                                     \
                                                                                                   \
		if (name("/sys/class/infiniband/*/n[u]mber", 0, NULL, &found) != 0)                \
			return false;                                                              \
		is_right = found.gl_pathc == 1 && strcmp(found.gl_pathv[0], FILE_AT) == 0;         \
		release(&found);                                                                   \
		return is_right;                                                                   \
	}

GLOB(glob, glob_t, globfree)
GLOB(glob64, glob64_t, globfree64)

static const struct {
	bool (*check)(void);
	const char *name;
} checks[] = {
#define ROW(name)                                                                                  \
	{                                                                                          \
		check_##name, #name                                                                \
	}
	ROW(open),	   ROW(open64),	      ROW(openat),	   ROW(openat64),
	ROW(open_2),	   ROW(open64_2),     ROW(openat_2),	   ROW(openat64_2),
	ROW(fopen),	   ROW(fopen64),      ROW(freopen),	   ROW(freopen64),
	ROW(stat),	   ROW(stat64),	      ROW(lstat),	   ROW(lstat64),
	ROW(fstatat),	   ROW(fstatat64),    ROW(statx),	   ROW(access),
	ROW(eaccess),	   ROW(euidaccess),   ROW(faccessat),	   ROW(readlink),
	ROW(readlinkat),   ROW(readlink_chk), ROW(readlinkat_chk), ROW(listxattr),
	ROW(llistxattr),   ROW(getxattr),     ROW(lgetxattr),	   ROW(realpath),
	ROW(realpath_chk), ROW(canonicalize), ROW(old_stats),	   ROW(opendir),
	ROW(scandir),	   ROW(scandir64),    ROW(scandirat),	   ROW(scandirat64),
	ROW(glob),	   ROW(glob64),
#undef ROW
};

/* ---- tests ---- */

static void make_entry(const char *suffix, bool is_link)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/s.view%s", folder, suffix);
	if (is_link) {
		assert_int_equal(symlink(TARGET, path), 0);
	} else {
		fd = open(path, O_WRONLY | O_CREAT, 0444);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, CONTENT, sizeof(CONTENT) - 1), sizeof(CONTENT) - 1);
		close(fd);
	}
}

static const char *const directories[] = {"", "/sys", "/sys/class", "/sys/class/infiniband",
					  DEVICE};

static int make_tree(void **state)
{
	char path[128];

	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	for (size_t i = 0; i < RNIC_COUNT_OF(directories); i++) {
		snprintf(path, sizeof(path), "%s/s.view%s", folder, directories[i]);
		if (mkdir(path, 0755) != 0)
			return -1;
	}
	make_entry(FILE_AT, false);
	make_entry(LINK_AT, true);
	snprintf(path, sizeof(path), "%s/s", folder);
	sys_fd = open("/sys", O_PATH | O_DIRECTORY);
	return setenv("RNIC_SOCKET", path, 1);
}

static int remove_tree(void **state)
{
	char path[128];

	(void)state;
	close(sys_fd);
	snprintf(path, sizeof(path), "%s/s.view" FILE_AT, folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/s.view" LINK_AT, folder);
	unlink(path);
	for (size_t i = RNIC_COUNT_OF(directories); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/s.view%s", folder, directories[i]);
		if (rmdir(path) != 0)
			return -1;
	}
	return rmdir(folder);
}

static void test_every_function(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(checks); i++)
		if (!checks[i].check())
			fail_msg("%s does not reach the copy", checks[i].name);
}

static void test_chdir(void **state)
{
	char *before = getcwd(NULL, 0);

	(void)state;
	assert_int_equal(chdir(DEVICE), 0);
	assert_true(reads_content(open(TARGET, O_RDONLY)));
	assert_int_equal(chdir(before), 0);
	free(before);
}

/* Everything else is as it was: names, errors, files that are made with a mode. */
static void test_other_paths(void **state)
{
	mode_t mask = umask(0);
	struct stat status;
	char path[64];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/infiniband", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0640);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_int_equal(unlink(path), 0);
	umask(mask);
	errno = 0;
	assert_int_equal(open("/nonexistent/file", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(access(DEVICE "/missing", F_OK), -1);
	assert_int_equal(errno, ENOENT);
}

static void *run_checks(void *failed)
{
	for (unsigned round = 0; round < 20; round++)
		for (size_t i = 0; i < RNIC_COUNT_OF(checks); i++)
			if (!checks[i].check())
				*(const char **)failed = checks[i].name;
	return NULL;
}

static void test_threads_and_fork(void **state)
{
	const char *failed[4] = {0};
	pthread_t threads[4];
	int status;
	pid_t child;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_checks, &failed[i]), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(reads_content(open(FILE_AT, O_RDONLY)) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		if (failed[i] != NULL)
			fail_msg("%s fails in a thread", failed[i]);
	}
}

static void test_disabled(void **state)
{
	(void)state;
	setenv("RNIC_DISABLE", "1", 1);
	assert_int_equal(access(FILE_AT, F_OK), -1);
	unsetenv("RNIC_DISABLE");
	assert_int_equal(access(FILE_AT, F_OK), 0);
}

/* The first sendmsg() and recvmsg() of this process are those of the plugin's thread. */
static void test_waiting_constructor(void **state)
{
	void *plugin;

	(void)state;
	alarm(10); /* a deadlock ends the process */
	plugin = dlopen(WAITING_PLUGIN, RTLD_NOW);
	alarm(0);
	assert_non_null(plugin);
	dlclose(plugin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_function), cmocka_unit_test(test_chdir),
		cmocka_unit_test(test_other_paths),    cmocka_unit_test(test_threads_and_fork),
		cmocka_unit_test(test_disabled),       cmocka_unit_test(test_waiting_constructor),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
