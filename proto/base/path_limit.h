/* SPDX-License-Identifier: MIT */
/* What keeps a program from sending faster to a destination, for people. */
#ifndef PROTO_BASE_PATH_LIMIT_H
#define PROTO_BASE_PATH_LIMIT_H

enum rnic_path_limit {
	RNIC_PATH_LIMIT_NOTHING,    /* the program has nothing posted */
	RNIC_PATH_LIMIT_PROGRAM,    /* what is posted has left; or it may read no more at a time */
	RNIC_PATH_LIMIT_WINDOW,	    /* as much is under way as may be */
	RNIC_PATH_LIMIT_PACE,	    /* packets of a long path leave one after the other */
	RNIC_PATH_LIMIT_PEER,	    /* has no receives posted, or does not answer */
	RNIC_PATH_LIMIT_LOSS,	    /* the window, which is smaller after a loss */
	RNIC_PATH_LIMIT_CONGESTION, /* the rate that notifications of congestion leave */
	RNIC_PATH_LIMIT_HOST,	    /* the processors and sockets of this host */
	RNIC_PATH_LIMIT_COUNT,
};

#endif
