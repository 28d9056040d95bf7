/* SPDX-License-Identifier: MIT */
/*
 * The rules of a --fault for hosts that show what is lost. A rule for packets that names no way
 * becomes one for received packets: the sender's capture has such a packet, and the receiver's says
 * which rule took it. A packet that is dropped before it leaves is in no capture.
 */
#ifndef TOOLS_LAB_TRACE_TRACE_FAULT_H
#define TOOLS_LAB_TRACE_TRACE_FAULT_H

/* The text is the caller's to free. -ENOMEM. */
int trace_fault_for_receivers(const char *spec, char **text);

#endif
