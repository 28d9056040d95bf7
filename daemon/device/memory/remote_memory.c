/* SPDX-License-Identifier: MIT */
#include "device/memory/remote_memory.h"

#include "base/bits.h"
#include "base/checked.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The most pieces of one system call. Both arrays are on the stack. */
#define IOVECS 256

#define REMOTE_PAGE_BYTES 4096

/* A contiguous access below this size costs less through the descriptor. */
#define SMALL_BYTES 16384

/*
 * Reads within NEAR_BYTES of each other cost less together than apart: the kernel looks up the page
 * of each piece. WINDOW_BYTES bounds one such read, gaps included; its buffer is on the stack.
 */
#define NEAR_BYTES   256
#define WINDOW_BYTES 32768

enum direction { FROM_CLIENT, TO_CLIENT };

static const struct remote_region *region_of(const struct memory_transfer *transfer)
{
	assert(rnic_range_within(transfer->offset, transfer->length, transfer->region->bytes));
	return RNIC_CONTAINER_OF(transfer->region, const struct remote_region, region);
}

static uint64_t remote_memory_address_of(const struct memory_transfer *transfer)
{
	return region_of(transfer)->address + transfer->offset;
}

static struct iovec local_piece(const struct memory_transfer *transfer)
{
	return (struct iovec){transfer->bytes, transfer->length};
}

/*
 * Appends a piece, or lengthens the last piece when the new one continues it. Returns the new
 * count.
 */
static uint32_t append(struct iovec *pieces, uint32_t count, struct iovec piece)
{
	struct iovec *last = count > 0 ? &pieces[count - 1] : NULL;

	if (last != NULL &&
	    (uint8_t *)last->iov_base + last->iov_len == (uint8_t *)piece.iov_base) {
		last->iov_len += piece.iov_len;
		return count;
	}
	pieces[count] = piece;
	return count + 1;
}

/*
 * Returns how many transfers from the first on (at most IOVECS) are contiguous in the client's
 * memory.
 */
static uint32_t contiguous(const struct memory_transfer *transfers, uint32_t count)
{
	uint64_t end = remote_memory_address_of(&transfers[0]) + transfers[0].length;
	uint32_t next = 1;

	while (next < count && next < IOVECS && remote_memory_address_of(&transfers[next]) == end)
		end += transfers[next++].length;
	return next;
}

static uint64_t remote_memory_total_bytes(const struct memory_transfer *transfers, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += transfers[i].length;
	return bytes;
}

/* Moves contiguous transfers by one call. Returns bytes moved, or -EFAULT, -ESRCH. */
static ssize_t move_by_descriptor(int mem_fd, enum direction direction,
				  const struct memory_transfer *transfers, uint32_t count)
{
	off_t address = (off_t)remote_memory_address_of(&transfers[0]);
	struct iovec local[IOVECS];
	uint32_t pieces = 0;
	ssize_t ret;

	for (uint32_t i = 0; i < count; i++)
		pieces = append(local, pieces, local_piece(&transfers[i]));
	if (direction == FROM_CLIENT)
		ret = preadv(mem_fd, local, (int)pieces, address);
	else
		ret = pwritev(mem_fd, local, (int)pieces, address);
	if (ret < 0)
		return errno == ESRCH ? -ESRCH : -EFAULT;
	/* In an address space that has ended the kernel transfers 0 bytes. */
	return ret == 0 && remote_memory_total_bytes(transfers, count) > 0 ? -ESRCH : ret;
}

/*
 * Returns whether the PID still means the same process. No other process gets the PID while the
 * process exists and until its parent has waited for it.
 */
static bool is_same_process(const struct remote_process *process)
{
	return syscall(SYS_pidfd_send_signal, process->pid_fd, 0, NULL, 0) == 0 || errno == EPERM;
}

/*
 * Returns whether the window `piece` may grow up to a transfer at `address`: the gap must lie in a
 * page from which the window already reads bytes, so that reading the gap cannot fail by itself.
 */
static bool is_near(const struct iovec *piece, uint64_t address)
{
	uint64_t start = (uint64_t)(uintptr_t)piece->iov_base;
	uint64_t end = start + piece->iov_len;

	return address >= start && address <= end + NEAR_BYTES &&
	       address / REMOTE_PAGE_BYTES <= (end - 1) / REMOTE_PAGE_BYTES;
}

/*
 * Stores in `windows` the windows that cover all transfers. position[i] is the start of transfer i
 * when the windows lie one behind the other. Returns the number of windows; 0: the windows exceed
 * WINDOW_BYTES.
 */
static uint32_t plan_windows(const struct memory_transfer *transfers, uint32_t count,
			     struct iovec *windows, uint32_t *position)
{
	struct iovec *last = NULL;
	uint64_t before = 0; /* bytes of all windows before the last one */

	for (uint32_t i = 0; i < count; i++) {
		uint64_t address = remote_memory_address_of(&transfers[i]);
		uint64_t end = address + transfers[i].length;

		if (last == NULL || !is_near(last, address)) {
			before += last == NULL ? 0 : last->iov_len;
			last = last == NULL ? windows : last + 1;
			*last = (struct iovec){(void *)(uintptr_t)address, 0};
		}
		position[i] = (uint32_t)(before + (address - (uintptr_t)last->iov_base));
		if (end > (uintptr_t)last->iov_base + last->iov_len)
			last->iov_len = end - (uintptr_t)last->iov_base;
		if (before + last->iov_len > WINDOW_BYTES)
			return 0;
	}
	return last == NULL ? 0 : (uint32_t)(last - windows) + 1;
}

/*
 * Reads transfers that lie close together with fewer pieces than transfers. Returns false when
 * windows gain nothing or the read failed: the caller reads each transfer as it is, which finds the
 * failed one.
 */
static bool try_read_windows(const struct remote_process *process,
			     const struct memory_transfer *transfers, uint32_t count)
{
	uint8_t bytes[WINDOW_BYTES];
	struct iovec windows[IOVECS];
	uint32_t position[IOVECS];
	struct iovec local = {bytes, 0};
	uint32_t window_count = plan_windows(transfers, count, windows, position);

	if (window_count == 0 || window_count > count / 2)
		return false;
	for (uint32_t i = 0; i < window_count; i++)
		local.iov_len += windows[i].iov_len;
	if (process_vm_readv(process->pid, &local, 1, windows, window_count, 0) !=
	    (ssize_t)local.iov_len)
		return false;
	for (uint32_t i = 0; i < count; i++)
		memcpy(transfers[i].bytes, bytes + position[i], transfers[i].length);
	return true;
}

/* Moves any transfers by one call. Returns bytes moved, or -EFAULT, -ESRCH, -EPERM. */
static ssize_t move_by_process_vm(const struct remote_process *process, enum direction direction,
				  const struct memory_transfer *transfers, uint32_t count)
{
	struct iovec local[IOVECS];
	struct iovec remote[IOVECS];
	uint32_t local_count = 0;
	uint32_t remote_count = 0;
	ssize_t ret;

	if (!is_same_process(process))
		return -ESRCH;
	if (direction == FROM_CLIENT && try_read_windows(process, transfers, count))
		return (ssize_t)remote_memory_total_bytes(transfers, count);
	for (uint32_t i = 0; i < count; i++) {
		void *address = (void *)(uintptr_t)remote_memory_address_of(&transfers[i]);

		local_count = append(local, local_count, local_piece(&transfers[i]));
		remote_count =
			append(remote, remote_count, (struct iovec){address, transfers[i].length});
	}
	if (direction == FROM_CLIENT)
		ret = process_vm_readv(process->pid, local, local_count, remote, remote_count, 0);
	else
		ret = process_vm_writev(process->pid, local, local_count, remote, remote_count, 0);
	if (ret < 0)
		return errno == ESRCH || errno == EPERM ? -errno : -EFAULT;
	return ret;
}

/* Moves `*tried` of the transfers by one call. Returns bytes moved, or -EFAULT, -ESRCH. */
static ssize_t move_some(struct remote_process *process, enum direction direction,
			 const struct memory_transfer *transfers, uint32_t count, uint32_t *tried)
{
	const bool is_on_demand = region_of(&transfers[0])->is_on_demand;
	uint32_t run = contiguous(transfers, count);
	ssize_t ret;

	if (process->has_process_vm && (process->mem_fd < 0 || is_on_demand || run < count ||
					remote_memory_total_bytes(transfers, run) >= SMALL_BYTES)) {
		*tried = count < IOVECS ? count : IOVECS;
		ret = move_by_process_vm(process, direction, transfers, *tried);
		if (ret != -EPERM)
			return ret;
		/* The client changed its user: process_vm is closed for good. */
		process->has_process_vm = false;
	}
	*tried = run;
	if (process->mem_fd < 0 || is_on_demand)
		return -EFAULT;
	return move_by_descriptor(process->mem_fd, direction, transfers, run);
}

/* Returns how many whole transfers `bytes` cover. */
static uint32_t whole_transfers(const struct memory_transfer *transfers, uint32_t count,
				ssize_t bytes)
{
	uint64_t left = bytes > 0 ? (uint64_t)bytes : 0;
	uint32_t whole = 0;

	while (whole < count && transfers[whole].length <= left)
		left -= transfers[whole++].length;
	return whole;
}

/*
 * Moves all transfers. When a call stops short, the transfer at the stop is tried alone: that
 * separates its own failure from a failure of its neighbour in the same merged piece, and gives the
 * reason.
 */
static uint32_t move_all(enum direction direction, const struct memory_transfer *transfers,
			 uint32_t count, int *error)
{
	struct remote_process *process = region_of(&transfers[0])->process;
	bool is_alone = false;
	uint32_t done = 0;

	while (done < count) {
		const struct memory_transfer *next = &transfers[done];
		uint32_t tried;
		ssize_t ret =
			move_some(process, direction, next, is_alone ? 1 : count - done, &tried);
		uint32_t moved = whole_transfers(next, tried, ret);

		if (moved < tried && tried == 1) {
			*error = ret == -ESRCH ? -ESRCH : -EFAULT;
			break;
		}
		done += moved;
		is_alone = moved < tried;
	}
	return done;
}

static uint32_t remote_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	return move_all(FROM_CLIENT, transfers, count, error);
}

static uint32_t remote_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	return move_all(TO_CLIENT, transfers, count, error);
}

static int move_word(struct client_region *region, enum direction direction, uint64_t offset,
		     uint64_t *word)
{
	const struct memory_transfer transfer = {
		.region = region,
		.offset = offset,
		.bytes = (uint8_t *)word,
		.length = sizeof(*word),
	};
	int error = 0;

	return move_all(direction, &transfer, 1, &error) == 1 ? 0 : error;
}

static int remote_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
			       uint64_t swap, uint64_t *original)
{
	uint64_t found;
	int ret = move_word(region, FROM_CLIENT, offset, &found);

	if (ret == 0 && found == compare)
		ret = move_word(region, TO_CLIENT, offset, &swap);
	if (ret == 0)
		*original = found;
	return ret;
}

static int remote_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			    uint64_t *original)
{
	uint64_t found;
	uint64_t sum;
	int ret = move_word(region, FROM_CLIENT, offset, &found);

	if (ret < 0)
		return ret;
	sum = found + add;
	ret = move_word(region, TO_CLIENT, offset, &sum);
	if (ret == 0)
		*original = found;
	return ret;
}

static int remote_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	return move_word(region, TO_CLIENT, offset, &value);
}

static const struct client_memory_ops remote_ops = {
	.read = remote_read,
	.write = remote_write,
	.compare_swap = remote_compare_swap,
	.fetch_add = remote_fetch_add,
	.store = remote_store,
};

/*
 * Returns whether `fd` is a /proc/PID/mem. Reading any other file from a client could block, or do
 * worse, so this check comes before any read. The check asks the file system nothing before the
 * kernel itself has said that the file may be a /proc/PID/mem, so it never asks a FUSE server of
 * another user either.
 */
static bool is_process_memory(int fd)
{
	static const char ending[] = "/mem";
	char link[64];
	char path[256];
	struct statfs filesystem;
	struct stat status;
	ssize_t length;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	if (length < (ssize_t)strlen(ending) || length == (ssize_t)sizeof(path) ||
	    memcmp(path + length - strlen(ending), ending, strlen(ending)) != 0)
		return false;
	return fstatfs(fd, &filesystem) == 0 && filesystem.f_type == PROC_SUPER_MAGIC &&
	       fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/*
 * Probes for permission. The kernel checks permission before the address: with permission, address
 * 0 gives -EFAULT.
 */
static int probe_process_vm(const struct remote_process *process)
{
	uint8_t byte;
	struct iovec local = {&byte, 1};
	struct iovec remote = {NULL, 1};

	if (process->pid_fd < 0)
		return -EPERM;
	if (!is_same_process(process))
		return -ESRCH;
	if (process_vm_readv(process->pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT)
		return errno == ESRCH ? -ESRCH : -EPERM;
	return 0;
}

int remote_process_init(struct remote_process *process, pid_t pid, int pid_fd, int mem_fd)
{
	struct remote_process made = {.pid = pid, .pid_fd = pid_fd, .mem_fd = mem_fd};
	int ret;

	if (mem_fd >= 0 && !is_process_memory(mem_fd))
		return -EINVAL;
	ret = probe_process_vm(&made);
	if (ret < 0 && mem_fd < 0)
		return ret;
	made.has_process_vm = ret == 0;
	*process = made;
	return 0;
}

void remote_process_fini(struct remote_process *process)
{
	if (process->mem_fd >= 0)
		close(process->mem_fd);
	if (process->pid_fd >= 0)
		close(process->pid_fd);
	*process = (struct remote_process){.pid_fd = -1, .mem_fd = -1};
}

int remote_region_init(struct remote_region *region, struct remote_process *process,
		       uint64_t address, uint64_t bytes)
{
	uint64_t end;

	if (bytes == 0 || !rnic_try_add(address, bytes, &end))
		return -EINVAL;
	*region = (struct remote_region){
		.region = {.ops = &remote_ops, .space = process, .bytes = bytes},
		.process = process,
		.address = address,
	};
	return 0;
}

int remote_region_init_on_demand(struct remote_region *region, struct remote_process *process,
				 uint64_t address, uint64_t bytes)
{
	int ret;

	if (!process->has_process_vm)
		return -EOPNOTSUPP;
	ret = remote_region_init(region, process, address, bytes);
	if (ret < 0)
		return ret;
	region->is_on_demand = true;
	/*
	 * Give the region a space of its own: all transfers of one call must be of the same kind.
	 */
	region->region.space = &process->has_process_vm;
	return 0;
}
