/* SPDX-License-Identifier: MIT */
/* What one turn of a data path, or of queue pair 1, does at most: nobody waits long for another. */
#ifndef LIB_NIC_PATH_PATH_LIMITS_H
#define LIB_NIC_PATH_PATH_LIMITS_H

enum {
	LIMIT_TURN_RECEIVES = 256,  /* datagrams received */
	LIMIT_TURN_TRANSMITS = 128, /* packets built; the processor's cache holds their bytes */
	LIMIT_TURN_SERVICE_TRANSMITS = 64, /* packets of QP 1 built */
};

#endif
