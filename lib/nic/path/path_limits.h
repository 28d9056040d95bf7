/* SPDX-License-Identifier: MIT */
/* What one turn of the data path does at most: no client waits long for another. */
#ifndef NIC_PATH_PATH_LIMITS_H
#define NIC_PATH_PATH_LIMITS_H

enum {
	LIMIT_TURN_RECEIVES = 256,  /* datagrams received */
	LIMIT_TURN_TRANSMITS = 256, /* packets built */
	/* Packets of QP 1 among them: a flood of CM requests leaves room for the other QPs. */
	LIMIT_TURN_SERVICE_TRANSMITS = 64,
};

#endif
