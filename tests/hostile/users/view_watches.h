/* SPDX-License-Identifier: MIT */
/*
 * Watches on the files that the daemon writes for all users: the counters of the path view. The
 * kernel tells each watch of each write, in the time of whoever writes.
 */
#ifndef TESTS_HOSTILE_USERS_VIEW_WATCHES_H
#define TESTS_HOSTILE_USERS_VIEW_WATCHES_H

/*
 * Watches the counters by `amount` descriptors of their directories, held by as many processes as
 * that takes, and by all instances of inotify that the user may have. The processes end with this
 * one. Ends this process with status 1 where nothing can be watched.
 */
void view_watches_take(unsigned amount);

#endif
