/* SPDX-License-Identifier: MIT */
#include "daemon/device/memory/remote_memory.h"

#include "lib/nic/mem/ordered_copy.h"
#include "proto/base/bits.h"
#include "proto/base/checked.h"

#include <assert.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/*
 * The kernel copies by a string instruction of the processor. Between places that differ modulo
 * COPY_ALIGNMENT the instruction stores aligned words of 8 bytes in halves, which a program that
 * polls them sees, and takes up to sixteen times as long. So bytes that lie elsewhere go through a
 * stage first, which is on the stack. It holds what arrives in one buffer of UDP_GRO. The
 * instruction also splits words when it does not begin at one, so the bytes up to the first word
 * are a piece of their own.
 *
 * From FAST_STRING_BYTES on, one such instruction stores in any order, but two of them store one
 * after the other (Intel SDM, volume 1, 7.3.9.3, and volume 3, "Fast-String Operation and
 * Out-of-Order Stores"). So the last word of a long transfer is a piece of its own, too.
 */
#define COPY_ALIGNMENT	  16
#define WORD_BYTES	  8
#define STAGE_BYTES	  65536
#define FAST_STRING_BYTES 64

#define CPUID_FSRM (1U << 4) /* leaf 7, edx */

/* The pieces of a transfer by process_vm: bytes up to the first word, the rest, the last word. */
#define PROCESS_VM_PIECES 3

/*
 * The pieces of a transfer by the descriptor: words up to a multiple of COPY_ALIGNMENT, the rest,
 * the last word.
 */
#define DESCRIPTOR_PIECES 6

struct stage {
	uint8_t bytes[STAGE_BYTES] __attribute__((aligned(COPY_ALIGNMENT)));
	uint32_t used;
};

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
static uint32_t append_piece(struct iovec *pieces, uint32_t count, struct iovec piece)
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

/* Returns the result of a call by the descriptor: bytes moved, or -EFAULT, -ESRCH. */
static ssize_t descriptor_result(ssize_t ret, const struct memory_transfer *transfers,
				 uint32_t count)
{
	if (ret < 0)
		return errno == ESRCH ? -ESRCH : -EFAULT;
	/* In an address space that has ended the kernel transfers 0 bytes. */
	return ret == 0 && remote_memory_total_bytes(transfers, count) > 0 ? -ESRCH : ret;
}

/* Reads contiguous transfers by one call. Returns bytes read, or -EFAULT, -ESRCH. */
static ssize_t read_by_descriptor(int mem_fd, const struct memory_transfer *transfers,
				  uint32_t count)
{
	struct iovec local[IOVECS];
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < count; i++)
		pieces = append_piece(local, pieces, local_piece(&transfers[i]));
	return descriptor_result(
		preadv(mem_fd, local, (int)pieces, (off_t)remote_memory_address_of(&transfers[0])),
		transfers, count);
}

/*
 * Appends a piece that is written at `address`: if the piece is long, its last word, or the part of
 * a word at its end, apart from the others. Returns the new count.
 */
static uint32_t append_last_word_apart(struct iovec *pieces, uint32_t count, struct iovec piece,
				       uint64_t address)
{
	const uint64_t end = address + piece.iov_len;
	const size_t last = end % WORD_BYTES == 0 ? WORD_BYTES : end % WORD_BYTES;

	if (piece.iov_len >= FAST_STRING_BYTES) {
		piece.iov_len -= last;
		pieces[count++] = piece;
		piece = (struct iovec){(uint8_t *)piece.iov_base + piece.iov_len, last};
	}
	pieces[count] = piece;
	return count + 1;
}

/*
 * Cuts a transfer into aligned words up to the first multiple of COPY_ALIGNMENT, the rest, and the
 * last word. Returns the number of pieces.
 */
static uint32_t cut_into_pieces(const struct memory_transfer *transfer, struct iovec *pieces)
{
	uint64_t address = remote_memory_address_of(transfer);
	struct iovec rest = local_piece(transfer);
	uint32_t count = 0;

	for (size_t word = 1; word < COPY_ALIGNMENT && word <= rest.iov_len; word *= 2) {
		if ((address & word) == 0)
			continue;
		pieces[count++] = (struct iovec){rest.iov_base, word};
		rest.iov_base = (uint8_t *)rest.iov_base + word;
		rest.iov_len -= word;
		address += word;
	}
	return rest.iov_len > 0 ? append_last_word_apart(pieces, count, rest, address) : count;
}

/*
 * Writes contiguous transfers by one call. The kernel copies each piece from the start of a page,
 * wherever it lies here, so each long piece goes to a multiple of COPY_ALIGNMENT. Returns bytes
 * written, or -EFAULT, -ESRCH.
 */
static ssize_t write_by_descriptor(int mem_fd, const struct memory_transfer *transfers,
				   uint32_t count)
{
	struct iovec local[IOVECS];
	uint32_t pieces = 0;

	assert(count <= IOVECS / DESCRIPTOR_PIECES);
	for (uint32_t i = 0; i < count; i++)
		pieces += cut_into_pieces(&transfers[i], local + pieces);
	return descriptor_result(
		pwritev(mem_fd, local, (int)pieces, (off_t)remote_memory_address_of(&transfers[0])),
		transfers, count);
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

/* Returns the result of a process_vm call: bytes moved, or -EFAULT, -ESRCH, -EPERM. */
static ssize_t process_vm_result(ssize_t ret)
{
	if (ret < 0)
		return errno == ESRCH || errno == EPERM ? -errno : -EFAULT;
	return ret;
}

static struct iovec remote_piece(const struct memory_transfer *transfer)
{
	return (struct iovec){(void *)(uintptr_t)remote_memory_address_of(transfer),
			      transfer->length};
}

/* Reads any transfers by one call. Returns bytes read, or -EFAULT, -ESRCH, -EPERM. */
static ssize_t read_by_process_vm(const struct remote_process *process,
				  const struct memory_transfer *transfers, uint32_t count)
{
	struct iovec local[IOVECS];
	struct iovec remote[IOVECS];
	uint32_t local_count = 0;
	uint32_t remote_count = 0;

	if (!is_same_process(process))
		return -ESRCH;
	if (try_read_windows(process, transfers, count))
		return (ssize_t)remote_memory_total_bytes(transfers, count);
	for (uint32_t i = 0; i < count; i++) {
		local_count = append_piece(local, local_count, local_piece(&transfers[i]));
		remote_count = append_piece(remote, remote_count, remote_piece(&transfers[i]));
	}
	return process_vm_result(
		process_vm_readv(process->pid, local, local_count, remote, remote_count, 0));
}

/*
 * Stores in `*piece` where the bytes of the transfer lie at a place that equals their destination
 * modulo COPY_ALIGNMENT. Returns false when the stage has no room for them. What is longer than the
 * stage goes from where it lies; the payload of a packet never is.
 */
static bool try_stage(struct stage *stage, const struct memory_transfer *transfer,
		      struct iovec *piece)
{
	const uint32_t phase = (uint32_t)(remote_memory_address_of(transfer) % COPY_ALIGNMENT);
	const uint32_t start = (uint32_t)rnic_round_up(stage->used, COPY_ALIGNMENT) + phase;

	*piece = local_piece(transfer);
	if ((uintptr_t)transfer->bytes % COPY_ALIGNMENT == phase ||
	    transfer->length > STAGE_BYTES - COPY_ALIGNMENT)
		return true;
	if (start > STAGE_BYTES || transfer->length > STAGE_BYTES - start)
		return false;
	piece->iov_base = stage->bytes + start;
	/* memcpy(3) takes long for some pairs of places, and the stage has them all. */
	ordered_write(piece->iov_base, transfer->bytes, transfer->length);
	stage->used = start + transfer->length;
	return true;
}

/*
 * Appends the bytes of a transfer, which lie in `piece` as they will lie in the client's memory
 * modulo WORD_BYTES: those up to the first word, and the last word, apart from the others. Returns
 * the new count.
 */
static uint32_t append_by_words(struct iovec *pieces, uint32_t count, struct iovec piece)
{
	const size_t before = -(uintptr_t)piece.iov_base % WORD_BYTES;

	if (before > 0 && before < piece.iov_len) {
		pieces[count++] = (struct iovec){piece.iov_base, before};
		piece.iov_base = (uint8_t *)piece.iov_base + before;
		piece.iov_len -= before;
	}
	return append_last_word_apart(pieces, count, piece, (uintptr_t)piece.iov_base);
}

/*
 * Writes the transfers for which there is room, at most `*tried`, by one call, and stores their
 * number in `*tried`. Returns bytes written, or -EFAULT, -ESRCH, -EPERM.
 */
static ssize_t write_by_process_vm(const struct remote_process *process,
				   const struct memory_transfer *transfers, uint32_t *tried)
{
	struct iovec local[PROCESS_VM_PIECES * IOVECS];
	struct iovec remote[IOVECS];
	struct iovec piece;
	struct stage stage;
	uint32_t local_count = 0;
	uint32_t remote_count = 0;
	uint32_t count = 0;

	static_assert(PROCESS_VM_PIECES * IOVECS <= IOV_MAX, "one call takes all pieces");
	if (!is_same_process(process))
		return -ESRCH;
	stage.used = 0;
	while (count < *tried && try_stage(&stage, &transfers[count], &piece)) {
		local_count = append_by_words(local, local_count, piece);
		remote_count = append_piece(remote, remote_count, remote_piece(&transfers[count]));
		count++;
	}
	*tried = count;
	return process_vm_result(
		process_vm_writev(process->pid, local, local_count, remote, remote_count, 0));
}

/*
 * Reads `*tried` of the transfers by one call. One small access costs less by the descriptor, and a
 * page that process_vm does not read alone (the program has protected it since its registration) is
 * read by nothing else. Returns bytes read, or -EFAULT, -ESRCH.
 */
static ssize_t read_some(struct remote_process *process, const struct memory_transfer *transfers,
			 uint32_t count, uint32_t *tried)
{
	const bool has_descriptor = process->mem_fd >= 0 && !region_of(&transfers[0])->is_on_demand;
	uint32_t run = contiguous(transfers, count);
	ssize_t ret;

	if (process->has_process_vm && (!has_descriptor || run < count ||
					remote_memory_total_bytes(transfers, run) >= SMALL_BYTES)) {
		*tried = count < IOVECS ? count : IOVECS;
		ret = read_by_process_vm(process, transfers, *tried);
		/* -EPERM: the client changed its user, and process_vm is closed for good. */
		if (ret == -EPERM)
			process->has_process_vm = false;
		else if (ret == -ESRCH || *tried > 1 || !has_descriptor ||
			 ret == (ssize_t)transfers[0].length)
			return ret;
	}
	*tried = run;
	if (!has_descriptor)
		return -EFAULT;
	return read_by_descriptor(process->mem_fd, transfers, run);
}

/*
 * Returns whether one call by the descriptor keeps order and words, and costs less than process_vm:
 * one small transfer to a multiple of COPY_ALIGNMENT, where the kernel copies within itself by the
 * string instruction. Elsewhere that copy may go downwards.
 */
static bool is_for_descriptor(const struct remote_process *process,
			      const struct memory_transfer *transfer)
{
	return process->has_fast_short_copy &&
	       remote_memory_address_of(transfer) % COPY_ALIGNMENT == 0 &&
	       transfer->length < SMALL_BYTES;
}

/*
 * Writes `*tried` of the transfers by one call, by process_vm where possible: the descriptor cannot
 * keep every word whole. A page that process_vm does not write alone (the program has protected it
 * since its registration) is written by the descriptor, as a device writes a pinned page. Returns
 * bytes written, or -EFAULT, -ESRCH.
 */
static ssize_t write_some(struct remote_process *process, const struct memory_transfer *transfers,
			  uint32_t count, uint32_t *tried)
{
	const bool has_descriptor = process->mem_fd >= 0 && !region_of(&transfers[0])->is_on_demand;
	const uint32_t run = contiguous(transfers, count);
	ssize_t ret;

	if (process->has_process_vm &&
	    !(has_descriptor && count == 1 && is_for_descriptor(process, transfers))) {
		*tried = count < IOVECS ? count : IOVECS;
		ret = write_by_process_vm(process, transfers, tried);
		if (ret == -EPERM)
			process->has_process_vm = false;
		else if (ret == -ESRCH || *tried > 1 || !has_descriptor ||
			 ret == (ssize_t)transfers[0].length)
			return ret;
	}
	*tried = run < IOVECS / DESCRIPTOR_PIECES ? run : IOVECS / DESCRIPTOR_PIECES;
	if (!has_descriptor)
		return -EFAULT;
	return write_by_descriptor(process->mem_fd, transfers, *tried);
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
		uint32_t wanted = is_alone ? 1 : count - done;
		ssize_t ret = direction == FROM_CLIENT ? read_some(process, next, wanted, &tried)
						       : write_some(process, next, wanted, &tried);
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

const struct client_memory_ops remote_memory_ops = {
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

/*
 * Returns whether the processor copies short pieces fast by its string instruction (FSRM). The
 * kernel then copies by nothing else.
 */
static bool has_fast_short_copy(void)
{
#if defined(__x86_64__)
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & CPUID_FSRM) != 0;
#else
	return false;
#endif
}

int remote_process_init(struct remote_process *process, pid_t pid, int pid_fd, int mem_fd)
{
	struct remote_process made = {
		.pid = pid, .pid_fd = pid_fd, .mem_fd = mem_fd, .watch = RNIC_WATCH_OFF};
	int ret;

	if (mem_fd >= 0 && !is_process_memory(mem_fd))
		return -EINVAL;
	ret = probe_process_vm(&made);
	if (ret < 0 && mem_fd < 0)
		return ret;
	made.has_process_vm = ret == 0;
	made.has_fast_short_copy = has_fast_short_copy();
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
		.region = {.ops = &remote_memory_ops, .space = process, .bytes = bytes},
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
